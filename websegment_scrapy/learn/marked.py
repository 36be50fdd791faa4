"""What people said is wrong on pages (`measure.marks`), as something to learn from.

Only what was said is learned, nothing of the rest of the page:

- a block that should be content or template is one text block, or several, of which the answer is
  known (`marked_blocks`), for the model of the main text;
- a border that should be elsewhere says of some leaves which segments they are in
  (`marked_example`), for ``auto``. What was not said to be wrong about the segments on both sides
  is taken to be right: cut in two they are two segments, joined they are one.

Segments are told apart by the engine that found them, so the marks of one page and one engine are
taken together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import numpy as np

from websegment_scrapy.content.text import block_text
from websegment_scrapy.exceptions import AnalysisError
from websegment_scrapy.learn.examples import Example
from websegment_scrapy.measure.marks import BLOCKS, nodes_below
from websegment_scrapy.page.build import build_tree
from websegment_scrapy.page.subtrees import range_sums, uniform_ranges
from websegment_scrapy.segment.costs import measure_page

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from websegment_scrapy.measure.marks import Mark
    from websegment_scrapy.page.tree import PageTree

__all__ = ["MarkedBlocks", "marked_blocks", "marked_example", "marked_examples", "marked_pages"]

MOSTLY = 0.5
"""Share of a text block's words from which a mark speaks of it."""


@dataclass(frozen=True, slots=True, eq=False)
class MarkedBlocks:
    """A page some of whose text blocks are known.

    Attributes
    ----------
    host, tree
        The site and the page.
    shares
        1 for a block that is content, 0 for one that is not.
    known
        Which blocks were marked.
    """

    host: str
    tree: PageTree
    shares: NDArray[np.float64]
    known: NDArray[np.bool_]


def marked_pages(marks: Sequence[Mark]) -> list[MarkedBlocks]:
    """Return the pages of which blocks were marked, as far as these are found."""
    found = []
    for own in _together(mark for mark in marks if mark.kind in BLOCKS):
        page = marked_blocks(own)
        if page is not None:
            found.append(page)
    return found


def marked_blocks(marks: Sequence[Mark]) -> MarkedBlocks | None:
    """Find the text blocks that marks of one page speak of; of a block the last mark counts."""
    try:
        tree = build_tree(marks[0].html, estimate_layout=False)
    except AnalysisError:
        return None
    text = block_text(tree)
    shares, known = np.zeros(len(text)), np.zeros(len(text), dtype=bool)
    for mark in marks:
        inside = nodes_below(tree, mark.xpaths)[text.blocks.nodes]
        words = np.bincount(text.blocks.of_node, text.node_words * inside, len(text))
        meant = (words > 0) & (words > MOSTLY * text.words)
        known |= meant
        shares[meant] = float(mark.kind == "content")
    host = urlsplit(marks[0].url).hostname or marks[0].url
    return MarkedBlocks(host, tree, shares, known) if known.any() else None


def marked_examples(marks: Sequence[Mark]) -> list[Example]:
    """Return the pages of which borders were marked, as far as these are found."""
    found = []
    for own in _together(mark for mark in marks if mark.border is not None):
        example = marked_example(own)
        if example is not None:
            found.append(example)
    return found


def marked_example(marks: Sequence[Mark]) -> Example | None:
    """Prepare a page, without layout, whose segments are known where marks speak of them."""
    try:
        tree = build_tree(marks[0].html)
    except AnalysisError:
        return None
    gold = _segments_of(tree, marks)
    if len(gold) < 2 or not (gold >= 0).any():
        return None
    measures = measure_page(tree)
    skeleton = measures.features.skeleton
    low, high = skeleton.low, skeleton.high
    is_uniform = uniform_ranges(gold, low, high)
    # The row of a segment has all of its leaves and no other.
    size = np.bincount(gold[gold >= 0])
    first = gold[np.minimum(low, len(gold) - 1)]
    is_segment = is_uniform & (first >= 0) & (high - low == size[np.maximum(first, 0)])
    target = np.full(len(gold), -1, dtype=np.int32)
    for row in np.flatnonzero(is_segment).tolist():
        target[low[row] : high[row]] = row
    return Example(
        name=marks[0].url,
        tree=tree,
        measures=measures,
        gold=gold,
        target=target,
        is_segment=is_segment,
        is_uniform=is_uniform,
        known=range_sums(gold >= 0, low, high) > 0,
        counted=(gold >= 0) & tree.is_text[tree.leaves],
        informative=-1,
    )


def _segments_of(tree: PageTree, marks: Sequence[Mark]) -> NDArray[np.int32]:
    """Return the segment of each leaf that marks speak of, -1 for the others.

    First the segments as they were found, then each cut in two at every place where it should be
    cut; last the parts on both sides of each place where they should be joined become one.
    """
    leaves = tree.leaves
    paths = {path: leaf for leaf, path in enumerate(tree.xpaths(leaves.tolist()))}
    label = np.full(len(leaves), -1, dtype=np.int64)
    known: dict[tuple[str, ...], int] = {}

    def members(xpaths: Iterable[str]) -> NDArray[np.bool_]:
        return nodes_below(tree, set(xpaths))[leaves]

    placed = [mark for mark in marks if mark.border and set(mark.border.between) <= set(paths)]
    borders = [(mark, mark.border) for mark in placed if mark.border]
    for mark, border in borders:
        for xpaths in (mark.xpaths,) if border.should == "cut" else border.sides:
            if xpaths not in known:
                known[xpaths] = len(known)
                label[members(xpaths)] = known[xpaths]
    following = len(known)
    for _, border in borders:
        if border.should == "cut":
            after = members(border.sides[1]) & (label >= 0)
            for old in np.unique(label[after]).tolist():
                label[after & (label == old)] = following
                following += 1
    for _, border in borders:
        if border.should == "join":
            one, two = (int(label[paths[path]]) for path in border.between)
            label[label == two] = one
    return label.astype(np.int32)


def _together(marks: Iterable[Mark]) -> list[list[Mark]]:
    """Put the marks of one page, and of one engine's segments, together."""
    found: dict[tuple[str, ...], list[Mark]] = {}
    for mark in marks:
        engine = mark.engine if mark.border is not None else ""
        found.setdefault((mark.url, mark.html, engine), []).append(mark)
    return list(found.values())
