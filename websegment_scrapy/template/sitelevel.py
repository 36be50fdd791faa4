"""SiteLevel(θ): what occurs on many pages of a site is its template.

PageLevel paper, sections 3 and 5.1: a DOM node is a template when it occurs on at least
θ = 10 % of the site's pages, and an internal node also when more than 85 % of its HTML lies in
templates. The paper had 100 to 200 pages of each site; for sites of which fewer are known the
rule needs more care, because 10 % of 8 pages is a single page:

- below `min_pages` pages a site has no verdict;
- a part must be on at least `MIN_COUNT` pages, on sites of fewer than ten pages on half of them
  and on at least three;
- few words repeat by chance ("2 cups of flour" in recipes): a part of fewer than 40 letters must
  be on a quarter of the pages, one of fewer than 12 on half;
- a page that says the same as one counted before is not counted: many copies of one page do not
  make its content a template.

A site is not one author. What some of its pages repeat may be what another page is for: a press
release, a licence, a post that others quote, or text that somebody on a shared host repeats so that
it vanishes elsewhere. Menus, footers and notes on cookies are on most pages. So running text of a
page (`BODY_LETTERS`) is a template only when it is on most pages of the site (`BODY_THETA`);
shorter pieces of it as well when they are most of what the page has (`OWN_SHARE`); and a page that
would be left with next to nothing keeps its running text unless nearly all pages have it
(`SITE_THETA`).

That is decided by what each page has, not by where it stands: on a forum or a wiki the pages of an
author have no folder of their own.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from websegment_scrapy.page.tags import NOT_RENDERED, VOID
from websegment_scrapy.page.tree import TEXT
from websegment_scrapy.template.hashes import HashedNodes, hash_nodes, page_parts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from websegment_scrapy.page.tree import PageTree

__all__ = [
    "MIN_PAGES",
    "THETA",
    "SiteCounter",
    "SiteVerdict",
    "site_verdict",
    "template_nodes",
]

THETA = 0.10
"""Share of a site's pages on which a template occurs (PageLevel, section 5.1)."""

MEDIUM_THETA, SHORT_THETA = 0.25, 0.50
"""The same for parts of medium length and for short ones (`hashes.length_class`)."""

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

MIN_COUNT = 5
"""Pages on which a template occurs at least."""

LEAST_COUNT = 3
"""The same on a site of fewer than ten pages, where it must be half of them."""

MIN_PAGES = 5
"""Pages of a site below which nothing is said about it (``ALGORITHMS``, section 1)."""

INSIDE = 0.85
"""Share of an internal node's HTML within templates that makes it one (PageLevel, section 5.1)."""

REST_LETTERS = 24
"""What such a node has besides is a template too when it is this short: a menu's active item."""

_LARGE = frozenset({"html", "body", "main", "article"})


@dataclass(frozen=True, slots=True, eq=False)
class SiteVerdict:
    """What a site repeats.

    Attributes
    ----------
    pages
        Pages that were counted.
    templates
        Hashes of the parts that are templates, ascending.
    shares
        On which share of the pages each of them is.
    """

    pages: int
    templates: NDArray[np.int64]
    shares: NDArray[np.float64]


def needed_pages(pages: int, theta: float = THETA) -> tuple[int, int, int]:
    """Return on how many of a site's pages a short, a medium and a long part must occur."""
    least = min(MIN_COUNT, max(LEAST_COUNT, -(-pages // 2)))
    shares = (max(SHORT_THETA, theta), max(MEDIUM_THETA, theta), theta)
    short, medium, long = (max(least, math.ceil(share * pages - 1e-9)) for share in shares)
    return short, medium, long


def site_verdict(
    parts: NDArray[np.int64],
    counts: NDArray[np.int64],
    pages: int,
    *,
    theta: float = THETA,
    min_pages: int = MIN_PAGES,
) -> SiteVerdict | None:
    """Say what a site repeats, or nothing while too few of its pages are known.

    Parameters
    ----------
    parts, counts
        The site's parts and on how many pages each was counted.
    pages
        Pages counted.
    theta
        Share of pages from which on a part is a template.
    min_pages
        Pages below which there is no verdict.
    """
    if pages < min_pages:
        return None
    needed = np.array([*needed_pages(pages, theta), pages + 1])
    chosen = np.flatnonzero(counts >= needed[parts & 3])
    chosen = chosen[np.argsort(parts[chosen])]
    return SiteVerdict(pages, parts[chosen], counts[chosen] / pages)


class SiteCounter:
    """Counts one site's parts in memory; the database does the same (``store``).

    All pages count and nothing is forgotten: for a sample of a site's pages.
    """

    def __init__(self) -> None:
        self.pages = 0
        self._counts: Counter[int] = Counter()
        self._whole: set[int] = set()

    def add(self, tree: PageTree, hashed: HashedNodes | None = None) -> bool:
        """Count a page; say whether it counted (a copy of an earlier one does not)."""
        return self.add_parts(page_parts(tree, hashed))

    def add_parts(self, parts: Iterable[int] | NDArray[np.int64]) -> bool:
        """Count a page by its `page_parts`."""
        found = [int(part) for part in parts]
        if not found or found[0] in self._whole:
            return False
        self._whole.add(found[0])
        self._counts.update(found)
        self.pages += 1
        return True

    def verdict(self, *, theta: float = THETA, min_pages: int = MIN_PAGES) -> SiteVerdict | None:
        """Return the verdict on the pages so far."""
        parts = np.fromiter(self._counts.keys(), np.int64, len(self._counts))
        counts = np.fromiter(self._counts.values(), np.int64, len(self._counts))
        return site_verdict(parts, counts, self.pages, theta=theta, min_pages=min_pages)


def template_nodes(
    tree: PageTree, verdict: SiteVerdict | None, hashed: HashedNodes | None = None
) -> NDArray[np.bool_]:
    """Say of each node whether it belongs to the site's template.

    A node does when it or an ancestor is a part that the verdict names, or, for an internal node,
    when more than 85 % of the characters of its HTML do (text and tags without attributes;
    elements without text weigh nothing). Such a node may hold content: what lies
    in it stays what it is, unless it is short (`REST_LETTERS`) and the node none of ``html``,
    ``body``, ``main`` and ``article``. A part with running text must be on most pages
    (`BODY_THETA`, `SITE_THETA`). Without a verdict nothing is a template.
    """
    if verdict is None or not len(tree) or not len(verdict.templates):
        return np.zeros(len(tree), dtype=bool)
    hashed = hashed or hash_nodes(tree)
    share, running = _shares(hashed, verdict), _running_letters(tree, hashed)
    letters = np.where(tree.visible & (tree.text_end > tree.text_start), hashed.letters, 0)

    def templates(theta: float, least: int) -> tuple[NDArray[np.bool_], int]:
        parts = (share > 0) & ((share >= theta) | (running < least))
        found = _template_nodes(tree, hashed, parts)
        return found, int(letters[~found].sum())

    found, left = templates(BODY_THETA, BODY_LETTERS)
    careful, most = templates(BODY_THETA, RUNNING_LETTERS)
    if left < OWN_SHARE * most:
        found, left = careful, most
    if left < LEFT_LETTERS:
        careful, most = templates(SITE_THETA, RUNNING_LETTERS)
        return careful if most >= BODY_LETTERS else found
    return found


def _shares(hashed: HashedNodes, verdict: SiteVerdict) -> NDArray[np.float64]:
    """Return on which share of the site's pages each node is, 0 for what is no template."""
    own = hashed.hashes.view(np.int64)
    place = np.minimum(np.searchsorted(verdict.templates, own), len(verdict.templates) - 1)
    known = hashed.part & (verdict.templates[place] == own)
    return np.where(known, verdict.shares[place], 0.0)


def _running_letters(tree: PageTree, hashed: HashedNodes) -> NDArray[np.int64]:
    """Count the letters of running text in each node: texts of some length outside of links."""
    is_text = tree.text_end > tree.text_start
    running = is_text & (hashed.letters >= RUNNING_LETTERS) & ~_spread(tree, tree.link >= 0)
    return _below(tree, np.where(running, hashed.letters, 0))


def _template_nodes(
    tree: PageTree, hashed: HashedNodes, parts: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Spread the parts that are templates over the page."""
    inside = _spread(tree, parts)
    text = _below(tree, tree.text_end - tree.text_start)
    covered_text = _below(tree, np.where(inside, tree.text_end - tree.text_start, 0))
    inside |= (covered_text == text) & (text > 0)
    weight = np.where(text > 0, _characters(tree), 0)
    total, covered = _below(tree, weight), _below(tree, np.where(inside, weight, 0))
    mostly = (total > 0) & (covered > INSIDE * total)
    is_text = tree.text_end > tree.text_start
    rest = _below(tree, np.where(is_text & ~inside, hashed.letters, 0))
    large = np.array([name in _LARGE for name in tree.tags], dtype=bool)[tree.tag]
    return inside | mostly | _spread(tree, mostly & (rest <= REST_LETTERS) & ~large)


def _spread(tree: PageTree, nodes: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the nodes and all below them."""
    change = np.zeros(len(tree) + 1, dtype=np.int64)
    chosen = np.flatnonzero(nodes)
    np.add.at(change, chosen, 1)
    np.add.at(change, tree.end[chosen], -1)
    spread: NDArray[np.bool_] = np.cumsum(change[:-1]) > 0
    return spread


def _below(tree: PageTree, values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sum values over each node's subtree."""
    sums = np.concatenate(([0], np.cumsum(values)))
    below: NDArray[np.int64] = sums[tree.end] - sums[:-1]
    return below


def _characters(tree: PageTree) -> NDArray[np.int64]:
    """Return each node's own characters: its text, or its tags without attributes."""
    sizes = {name: len(name) + 2 if name in VOID else 2 * len(name) + 5 for name in tree.tags}
    sizes |= dict.fromkeys(NOT_RENDERED | {TEXT}, 0)
    table = np.array([sizes[name] for name in tree.tags], dtype=np.int64)
    characters: NDArray[np.int64] = table[tree.tag] + (tree.text_end - tree.text_start)
    return characters
