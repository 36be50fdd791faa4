"""Text of leaves in reading order, with the lines and paragraphs a reader sees."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from websegment_scrapy.page.gaps import bits_by_tag, gap_bits
from websegment_scrapy.page.tags import BLOCK, HEADINGS, TABLE_CELLS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from websegment_scrapy.page.tree import PageTree

__all__ = ["APART", "Reader", "break_bits", "tag_bits"]

PARAGRAPH, LINE, CELL, SPACE = 1, 2, 4, 8
CUTTING = PARAGRAPH | LINE | CELL
"""What parts two blocks of text."""

APART = "\n\n"
"""What stands between two paragraphs, and between texts that do not follow each other."""

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
    shown = tree.visible & ~tree.is_text
    becomes_block = shown & ~inline[tree.style] & (bits & CUTTING == 0)
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
        leaves = leaves[tree.is_text[leaves]]
        self.tree = tree
        self.place = {leaf: place for place, leaf in enumerate(leaves.tolist())}
        self.start = tree.text_start[leaves].tolist()
        self.end = tree.text_end[leaves].tolist()
        self.separators = ["", *self._separators(leaves)]

    def text(self, leaves: NDArray[np.int32] | NDArray[np.int64]) -> str:
        """Return the text of ``leaves``, which are nodes in document order."""
        return "".join(chain.from_iterable(self.pieces(leaves))).strip()

    def pieces(self, leaves: NDArray[np.int32] | NDArray[np.int64]) -> Iterator[tuple[str, str]]:
        """Yield the text of each leaf that has some, after what stands between it and the last."""
        text, start, end, separators = self.tree.text, self.start, self.end, self.separators
        previous = -1
        for leaf in leaves.tolist():
            place = self.place.get(leaf)
            if place is None:
                continue  # it has no text
            if previous < 0:
                separator = ""
            else:
                separator = separators[place] if place == previous + 1 else APART
            yield separator, text[start[place] : end[place]]
            previous = place

    def _separators(self, leaves: NDArray[np.int32] | NDArray[np.int64]) -> list[str]:
        """Return what stands between each two texts that follow each other."""
        gaps = gap_bits(self.tree, leaves, break_bits(self.tree))
        gaps[self.tree.space_before[leaves[1:]]] |= SPACE
        table = [_separator(gap) for gap in range(2 * SPACE)]
        found = [table[gap] for gap in gaps.tolist()]
        for leaf, blank in self.tree.blank_before.items():
            place = self.place.get(leaf, 0) - 1
            if place < 0:
                continue
            if not gaps[place] & CUTTING:
                found[place] = blank
            elif not gaps[place] & PARAGRAPH:  # lines that ``br`` parts are indented too
                found[place] += blank.rpartition("\n")[2]
        return found


def _separator(gap: int) -> str:
    """Return what stands between two texts by the bits of the tags between them."""
    if gap & PARAGRAPH:
        return APART
    if gap & LINE:
        return "\n"
    if gap & CELL:
        return "\t"
    return " " if gap & SPACE else ""
