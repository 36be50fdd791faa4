"""The main text of a page: what is not template, in reading order; and the roles of segments.

The papers take the largest segment that is not half links (GCuts, section 5.3; Block Fusion,
section 5.4): that is the method ``largest``. Where templateness is known, the main text is made of
all text that is not template, wherever it stands, and segments get their roles by it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from websegment_scrapy.content.page_templates import PageTemplates
from websegment_scrapy.page.reading import Reader
from websegment_scrapy.page.told import BODY, told_texts
from websegment_scrapy.template.repeated import template_nodes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from websegment_scrapy.page.tree import PageTree
    from websegment_scrapy.segment.segments import Role, Segment
    from websegment_scrapy.template.hashes import HashedNodes
    from websegment_scrapy.template.sitelevel import SiteVerdict

__all__ = [
    "assign_roles",
    "kept_text",
    "largest_segment",
    "main_segment",
    "page_words",
    "reader_of",
    "roles_by_templateness",
    "told_text",
]

MOSTLY = 0.5
"""Share of its words from which a segment is main text."""

EDGE = 0.15
"""Top and bottom share of a page's leaves in which what is no main text is header or footer."""


def main_segment(segments: tuple[Segment, ...]) -> Segment | None:
    """Return the largest segment that is not mostly links; of equal ones the first."""
    candidates = [segment for segment in segments if segment.words and not segment.is_mostly_links]
    return max(candidates, key=lambda segment: segment.words, default=None)


def assign_roles(segments: tuple[Segment, ...]) -> tuple[Segment, ...]:
    """Give the main segment its role."""
    main = main_segment(segments)
    return tuple(
        replace(segment, role="main") if segment is main else segment for segment in segments
    )


def largest_segment(
    tree: PageTree,
    segments: tuple[Segment, ...],
    site: SiteVerdict | None = None,
    hashed: HashedNodes | None = None,
) -> PageTemplates:
    """Return the papers' rule as templates: all is template but the main segment."""
    nodes = tree.texts
    main = main_segment(segments)
    kept = np.zeros(len(nodes), dtype=bool)
    if main is not None:
        kept = np.isin(nodes, tree.leaves[main.leaves])
    repeated = template_nodes(tree, site, hashed)[nodes]
    return PageTemplates(nodes, np.where(kept, 0.0, 1.0), kept, kept & ~repeated, repeated)


def kept_text(tree: PageTree, templates: PageTemplates) -> str:
    """Return the text that is not template, in reading order."""
    if not len(templates.main):
        return told_text(tree)
    return reader_of(tree, templates).text(templates.main)


def reader_of(tree: PageTree, templates: PageTemplates) -> Reader:
    """Return the reader of all that the main text can be made of, whatever the site repeats."""
    nodes = templates.candidates
    if not tree.visible[nodes].all():
        return Reader(tree, templates.nodes)
    # A visible text without an area (a zero-width character, content that waits to be scrolled to)
    # is no leaf, but stands in its place among them. An estimate of the layout decides nothing.
    shown = tree.leaves if tree.layout == "rendered" else np.flatnonzero(tree.visible)
    return Reader(tree, np.union1d(shown, nodes))


def told_text(tree: PageTree) -> str:
    """Return what a page without main text tells machines instead.

    The longest ``articleBody`` of its JSON-LD; the description of a page that has no text at all
    because a script would have brought it.
    """
    bodies = told_texts(tree.scripts, (BODY,))
    if bodies:
        return max(bodies, key=len)
    return "" if tree.text else tree.head.description


def page_words(tree: PageTree, words: Mapping[int, Sequence[str]]) -> int:
    """Count the words of all text that can be read, of which the main text is a part.

    That of the leaves, and that which is hidden and can be opened; on a page that was not
    rendered all that is hidden may be such text. ``words`` are those of each text node.
    """
    found = tree.readable.copy()
    found[tree.leaves] = True
    return sum(len(words[node]) for node in np.flatnonzero(found & tree.is_text).tolist())


def roles_by_templateness(
    tree: PageTree, segments: tuple[Segment, ...], templates: PageTemplates
) -> tuple[Segment, ...]:
    """Give each segment its templateness and, by it, its role.

    Templateness is the mean over its leaves by their characters. A segment is ``main`` when most of
    its characters are main text; otherwise ``navigation`` when it is mostly links, ``header`` or
    ``footer`` when it lies in an element of that name or at the page's edge, else ``other``.
    """
    if not segments:
        return ()
    scores = templates.of_leaves(tree)
    leaves = tree.leaves
    weight = np.maximum(tree.text_end[leaves] - tree.text_start[leaves], 1).astype(np.float64)
    is_main = np.isin(leaves, templates.main)
    is_text = tree.is_text[leaves]
    inside = {name: tree.inside(name)[leaves] for name in ("header", "footer")}
    # All leaves, segment after segment: numbers of a segment are sums over a range.
    order = np.concatenate([segment.leaves for segment in segments])
    first = np.cumsum([0, *(len(segment.leaves) for segment in segments[:-1])])
    size, score = weight[order], scores[order]
    texts = np.where(is_text[order], size, 0.0)
    total = np.add.reduceat(size, first).tolist()
    kept = np.add.reduceat(texts * is_main[order], first)
    is_kept = (kept > MOSTLY * np.maximum(np.add.reduceat(texts, first), 1.0)).tolist()
    edges = _edge_roles(order, first, len(leaves), inside)
    found = []
    for number, segment in enumerate(segments):
        role: Role = edges[number]
        if is_kept[number]:
            role = "main"
        elif segment.is_mostly_links:
            role = "navigation"
        own = slice(first[number], first[number] + len(segment.leaves))
        templateness = float(score[own] @ size[own] / total[number])
        found.append(replace(segment, role=role, templateness=templateness))
    return tuple(found)


def _edge_roles(
    order: NDArray[np.int32],
    first: NDArray[np.int64],
    count: int,
    inside: dict[str, NDArray[np.bool_]],
) -> list[Role]:
    """Return for each segment what its place says of it."""
    in_footer, in_header = (
        np.logical_and.reduceat(inside[name][order], first) for name in ("footer", "header")
    )
    last = order[np.append(first[1:], len(order)) - 1]
    roles = np.select(
        [in_footer, in_header, order[first] >= (1 - EDGE) * count, last < EDGE * count],
        ["footer", "header", "footer", "header"],
        "other",
    )
    found: list[Role] = roles.tolist()
    return found
