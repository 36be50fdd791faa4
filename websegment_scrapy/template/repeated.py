"""Which nodes of a page belong to its site's template, by SiteLevel's verdict.

A site is not one author. What some of its pages repeat may be what another page is for: a press
release, a licence, a post that others quote, or text that somebody on a shared host repeats so that
it vanishes elsewhere. Menus, footers and notes on cookies are on most pages. So running text of a
page (`BODY_LETTERS`) is a template only when it is on most pages of the site (`BODY_THETA`);
shorter pieces of it as well when they are most of what the page has (`OWN_SHARE`); and a page that
would be left with next to nothing keeps its running text unless nearly all pages have it
(`SITE_THETA`).

That is decided by what each page has, not by where it stands: on a forum or a wiki the pages of an
author have no folder of their own.

What it takes of a page is its `Outline`, which can be kept without the page.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from websegment_scrapy.page.subtrees import lies_in, subtree_sums
from websegment_scrapy.page.tags import NOT_RENDERED, VOID
from websegment_scrapy.page.tree import TEXT
from websegment_scrapy.template.hashes import HashedNodes, hash_nodes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from websegment_scrapy.page.tree import PageTree
    from websegment_scrapy.template.sitelevel import SiteVerdict

__all__ = ["Outline", "outline_of", "template_nodes", "template_outline"]

BODY_LETTERS = 250
"""Letters of running text, about 45 words, from which on a part may be what a page is for."""

RUNNING_LETTERS = 40
"""Letters of a text outside of links from which on it is running text."""

BODY_THETA, SITE_THETA = 0.50, 0.90
"""Share of pages on which such a part is a template, and the same where a page has little else:
no part of a host can have its way with another unless it is that much of the host."""

OWN_SHARE = 0.5
"""Share of a page's letters that what fewer pages repeat may not take away from it."""

LEFT_LETTERS = 80
"""A page that would be left with fewer letters, about 15 words, has little else."""

INSIDE = 0.85
"""Share of an internal node's HTML within templates that makes it one (PageLevel, section 5.1)."""

REST_LETTERS = 24
"""What such a node has besides is a template too when it is this short: a menu's active item."""

_LARGE = frozenset({"html", "body", "main", "article"})


@dataclass(frozen=True, slots=True, eq=False)
class Outline:
    """Nodes of a page in document order: all that a verdict is asked about.

    Attributes
    ----------
    end
        One past the last node of each node's subtree.
    part
        The hash of each part; 0 for nodes that are none.
    characters
        Of each node's own HTML: its text, or its tags without attributes.
    text
        Of its own text; 0 for elements.
    letters
        Of its own text's words.
    running
        The same where it is running text, 0 elsewhere.
    shown
        Whether it is visible.
    large
        Whether it is ``html``, ``body``, ``main`` or ``article``.
    """

    end: NDArray[np.int64]
    part: NDArray[np.int64]
    characters: NDArray[np.int64]
    text: NDArray[np.int64]
    letters: NDArray[np.int64]
    running: NDArray[np.int64]
    shown: NDArray[np.bool_]
    large: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.end)

    def with_text(self) -> tuple[Outline, NDArray[np.int64]]:
        """Return the nodes that have text, themselves or below, and which of all nodes they are.

        What is said of them is the same as in the whole outline.
        """
        chosen = np.flatnonzero(subtree_sums(self.end, self.text))
        picked = {each.name: getattr(self, each.name)[chosen] for each in fields(self)}
        return Outline(**{**picked, "end": np.searchsorted(chosen, picked["end"])}), chosen


def outline_of(tree: PageTree, hashed: HashedNodes | None = None) -> Outline:
    """Return the outline of a page: all of its nodes."""
    hashed = hashed or hash_nodes(tree)
    text = (tree.text_end - tree.text_start).astype(np.int64)
    letters = np.where(text > 0, hashed.letters, 0)
    end = tree.end.astype(np.int64)
    linked = lies_in(end, tree.link >= 0)
    sizes = {name: len(name) + 2 if name in VOID else 2 * len(name) + 5 for name in tree.tags}
    sizes |= dict.fromkeys(NOT_RENDERED | {TEXT}, 0)
    tags = np.array([(sizes[name], name in _LARGE) for name in tree.tags], dtype=np.int64)
    of_tag = tags.reshape(-1, 2)[tree.tag]
    return Outline(
        end=end,
        part=np.where(hashed.part, hashed.hashes.view(np.int64), 0),
        characters=of_tag[:, 0] + text,
        text=text,
        letters=letters,
        running=np.where((letters >= RUNNING_LETTERS) & ~linked, letters, 0),
        shown=tree.visible,
        large=of_tag[:, 1] > 0,
    )


def template_nodes(
    tree: PageTree, verdict: SiteVerdict | None, hashed: HashedNodes | None = None
) -> NDArray[np.bool_]:
    """Say of each node of a page whether it belongs to the site's template (`template_outline`)."""
    if verdict is None or not len(tree) or not len(verdict.templates):
        return np.zeros(len(tree), dtype=bool)
    return template_outline(outline_of(tree, hashed), verdict)


def template_outline(outline: Outline, verdict: SiteVerdict | None) -> NDArray[np.bool_]:
    """Say of each node whether it belongs to the site's template.

    A node does when it or an ancestor is a part that the verdict names, or, for an internal node,
    when more than 85 % of the characters of its HTML do (text and tags without attributes;
    elements without text weigh nothing). Such a node may hold content: what lies
    in it stays what it is, unless it is short (`REST_LETTERS`) and the node none of ``html``,
    ``body``, ``main`` and ``article``. A part with running text must be on most pages
    (`BODY_THETA`, `SITE_THETA`). Without a verdict nothing is a template.
    """
    if verdict is None or not len(outline) or not len(verdict.templates):
        return np.zeros(len(outline), dtype=bool)
    share = _shares(outline, verdict)
    running = subtree_sums(outline.end, outline.running)
    letters = np.where(outline.shown, outline.letters, 0)

    def templates(theta: float, least: int) -> tuple[NDArray[np.bool_], int]:
        parts = (share > 0) & ((share >= theta) | (running < least))
        found = _templates(outline, parts)
        return found, int(letters[~found].sum())

    found, left = templates(BODY_THETA, BODY_LETTERS)
    careful, most = templates(BODY_THETA, RUNNING_LETTERS)
    if left < OWN_SHARE * most:
        found, left = careful, most
    if left < LEFT_LETTERS:
        careful, most = templates(SITE_THETA, RUNNING_LETTERS)
        return careful if most >= BODY_LETTERS else found
    return found


def _shares(outline: Outline, verdict: SiteVerdict) -> NDArray[np.float64]:
    """Return on which share of the site's pages each node is, 0 for what is no template."""
    place = np.searchsorted(verdict.templates, outline.part)
    place = np.minimum(place, len(verdict.templates) - 1)
    known = (outline.part != 0) & (verdict.templates[place] == outline.part)
    return np.where(known, verdict.shares[place], 0.0)


def _templates(outline: Outline, parts: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Spread the parts that are templates over the page."""
    end = outline.end
    inside = lies_in(end, parts)
    text = subtree_sums(end, outline.text)
    inside |= (subtree_sums(end, np.where(inside, outline.text, 0)) == text) & (text > 0)
    weight = np.where(text > 0, outline.characters, 0)
    total, covered = subtree_sums(end, weight), subtree_sums(end, np.where(inside, weight, 0))
    mostly = (total > 0) & (covered > INSIDE * total)
    rest = subtree_sums(end, np.where(inside, 0, outline.letters))
    return inside | mostly | lies_in(end, mostly & (rest <= REST_LETTERS) & ~outline.large)
