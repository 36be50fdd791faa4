"""Text of leaves in reading order, with the lines and paragraphs a reader sees."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from websegment_scrapy.page.gaps import bits_by_tag, gap_bits
from websegment_scrapy.page.tags import BLOCK, HEADINGS, TABLE_CELLS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from websegment_scrapy.page.tree import PageTree

__all__ = ["Reader", "break_bits"]

PARAGRAPH, LINE, CELL, SPACE = 1, 2, 4, 8

_LINE_TAGS = frozenset({"br", "li", "dt", "dd", "tr", "option", "summary", "legend", "caption"})
_TAG_BITS = (
    dict.fromkeys(BLOCK | HEADINGS, PARAGRAPH)
    | dict.fromkeys(_LINE_TAGS, LINE)
    | dict.fromkeys(TABLE_CELLS, CELL)
    | dict.fromkeys(("thead", "tbody", "tfoot"), LINE)
    | dict.fromkeys(("button", "select", "input", "textarea", "iframe", "svg"), SPACE)
)
_SEPARATORS = [
    "\n\n"
    if gap & PARAGRAPH
    else "\n"
    if gap & LINE
    else "\t"
    if gap & CELL
    else " " * (gap // SPACE)
    for gap in range(2 * SPACE)
]
"""What stands between two texts, by the bits of the tags between them."""

_INLINE_DISPLAYS = ("inline", "contents", "none", "ruby")


def break_bits(tree: PageTree) -> NDArray[np.uint8]:
    """Say of each element what its tags do to the text around them.

    A rendered page's own styles count: a ``span`` shown as a block breaks the paragraph, a
    ``div`` shown inline does not; boxes inside a line separate words.
    """
    bits = bits_by_tag(tree, _TAG_BITS)
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
        leaves = tree.leaves if nodes is None else nodes
        leaves = leaves[tree.text_end[leaves] > tree.text_start[leaves]]
        self.tree = tree
        self.place = {leaf: place for place, leaf in enumerate(leaves.tolist())}
        self.start = tree.text_start[leaves].tolist()
        self.end = tree.text_end[leaves].tolist()
        self.separators = ["", *self._separators(leaves)]

    def text(self, leaves: NDArray[np.int32] | NDArray[np.int64]) -> str:
        """Return the text of ``leaves``, which are nodes in document order."""
        text, start, end = self.tree.text, self.start, self.end
        pieces: list[str] = []
        previous = -1
        for leaf in leaves[self.tree.text_end[leaves] > self.tree.text_start[leaves]].tolist():
            place = self.place[leaf]
            if pieces:
                pieces.append(self.separators[place] if place == previous + 1 else "\n\n")
            pieces.append(text[start[place] : end[place]])
            previous = place
        return "".join(pieces).strip()

    def _separators(self, leaves: NDArray[np.int32] | NDArray[np.int64]) -> list[str]:
        """Return what stands between each two texts that follow each other."""
        gaps = gap_bits(self.tree, leaves, break_bits(self.tree))
        gaps[self.tree.space_before[leaves[1:]]] |= SPACE
        found = [_SEPARATORS[gap] for gap in gaps.tolist()]
        for leaf, blank in self.tree.blank_before.items():
            place = self.place.get(leaf, 0) - 1
            if place >= 0 and not gaps[place] & (PARAGRAPH | LINE | CELL):
                found[place] = blank
        return found
