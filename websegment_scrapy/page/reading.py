"""Text of leaves in reading order, with the lines and paragraphs a reader sees."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from websegment_scrapy.page.gaps import bits_by_tag, gap_bits
from websegment_scrapy.page.tags import BLOCK, HEADINGS, TABLE_CELLS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from websegment_scrapy.page.tree import PageTree

__all__ = ["Reader", "break_bits", "tag_bits"]

PARAGRAPH, LINE, CELL, SPACE = 1, 2, 4, 8
CUTTING = PARAGRAPH | LINE | CELL
"""What parts two blocks of text."""


_LINE_TAGS = frozenset({"br", "li", "dt", "dd", "tr", "option", "summary", "legend", "caption"})
_TAG_BITS = (
    dict.fromkeys(BLOCK | HEADINGS, PARAGRAPH)
    | dict.fromkeys(_LINE_TAGS, LINE)
    | dict.fromkeys(TABLE_CELLS, CELL)
    | dict.fromkeys(("thead", "tbody", "tfoot"), LINE)
    | dict.fromkeys(("button", "select", "input", "textarea", "iframe", "svg"), SPACE)
)
_INLINE_DISPLAYS = ("inline", "contents", "none", "ruby")


def tag_bits(tree: PageTree) -> NDArray[np.uint8]:
    """Say of each element what its tags do to the text around them, whatever its style."""
    return bits_by_tag(tree, _TAG_BITS)


def break_bits(tree: PageTree) -> NDArray[np.uint8]:
    """Say of each element what its tags do to the text around them.

    A rendered page's own styles count: a ``span`` shown as a block breaks the paragraph, a
    ``div`` shown inline does not; boxes inside a line separate words.
    """
    bits = tag_bits(tree)
    if tree.layout != "rendered":
        return bits
    displays = [style.display for style in tree.styles]
    inline = np.array([name.startswith(_INLINE_DISPLAYS) for name in displays], dtype=bool)
    boxed = np.array([name.startswith("inline-") for name in displays], dtype=bool)
    is_element = tree.text_end == tree.text_start
    shown = is_element & tree.visible
    becomes_block = shown & ~inline[tree.style] & (bits & (PARAGRAPH | LINE | CELL) == 0)
    bits[becomes_block] |= PARAGRAPH
    becomes_inline = shown & inline[tree.style] & (bits & PARAGRAPH != 0)
    bits[becomes_inline] = SPACE
    bits[shown & boxed[tree.style] & (bits == 0)] = SPACE
    return bits


class Reader:
    """Joins the text of any leaves of one page into lines and paragraphs.

    Paragraphs are separated by an empty line, list items and rows by a line break, cells by a
    tab; text that the page runs together stays together, and ``pre`` keeps its white space.
    Where other text lies between two leaves, a paragraph ends.

    Parameters
    ----------
    tree
        The page.
    nodes
        The text nodes that are there to be read; by default the visible ones.
    """

    def __init__(self, tree: PageTree, nodes: NDArray[np.int64] | None = None) -> None:
        self.tree = tree
        leaves = tree.leaves if nodes is None else nodes
        leaves = leaves[tree.text_end[leaves] > tree.text_start[leaves]]
        gaps = gap_bits(tree, leaves, break_bits(tree)).tolist()
        self.before = dict(
            zip(leaves[1:].tolist(), zip(leaves[:-1].tolist(), gaps, strict=True), strict=True)
        )

    def text(self, leaves: NDArray[np.int32] | NDArray[np.int64]) -> str:
        """Return the text of ``leaves``, which are nodes in document order."""
        tree, pieces, previous = self.tree, [], -1
        for leaf in leaves.tolist():
            if tree.text_end[leaf] == tree.text_start[leaf]:
                continue
            if previous >= 0:
                pieces.append(self._separator(previous, leaf))
            pieces.append(tree.text_of(leaf))
            previous = leaf
        return "".join(pieces).strip()

    def _separator(self, previous: int, leaf: int) -> str:
        neighbour, gap = self.before[leaf]
        if neighbour != previous or gap & PARAGRAPH:
            return "\n\n"
        if gap & LINE:
            return "\n"
        if gap & CELL:
            return "\t"
        blank = self.tree.blank_before.get(leaf)
        if blank is not None:
            return blank
        return " " if gap & SPACE or self.tree.space_before[leaf] else ""
