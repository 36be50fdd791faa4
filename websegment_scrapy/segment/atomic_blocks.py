"""Atomic text blocks and their text density (Block Fusion, sections 3.3 and 3.4).

A block is a run of text with no tag inside it, ``A`` excepted. Its text is wrapped at
``WRAP_WIDTH`` characters; its density is the number of tokens per line, the last line, which is
rarely full, not counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from websegment_scrapy.page.gaps import bits_by_tag, gap_bits
from websegment_scrapy.page.words import words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from websegment_scrapy.page.tree import PageTree

__all__ = [
    "ANCHOR",
    "ANY_GAP",
    "FORCE_GAP",
    "NO_GAP",
    "WRAP_WIDTH",
    "Block",
    "atomic_blocks",
    "label_blocks",
    "spread_to_leaves",
    "text_gaps",
    "text_leaves",
    "wrap",
]

WRAP_WIDTH = 80
"""``w_max`` (section 3.4): the width of a terminal, about one English sentence."""

FORCE_GAP_TAGS = frozenset("h1 h2 h3 h4 h5 h6 ul ol dl hr table address img script".split())
"""``T_ForceGap`` (section 4)."""

NO_GAP_TAGS = frozenset("a b br em font i s span strong sub sup u tt".split())
"""``T_NoGap`` (section 4)."""

ANCHOR, NO_GAP, FORCE_GAP, OTHER_GAP = 1, 2, 4, 8
ANY_GAP = NO_GAP | FORCE_GAP | OTHER_GAP
"""Bits of a tag; ``A`` alone makes no gap at all ("a core feature of hypertext markup")."""

_TAG_BITS = (
    dict.fromkeys(FORCE_GAP_TAGS, FORCE_GAP) | dict.fromkeys(NO_GAP_TAGS, NO_GAP) | {"a": ANCHOR}
)


@dataclass(slots=True)
class Block:
    """Consecutive text leaves ``first … last`` (positions among the text leaves).

    ``gap`` holds the bits of the tags between this block and the one before it.
    """

    first: int
    last: int
    tokens: int
    lines: int
    last_line: int
    gap: int

    @property
    def density(self) -> float:
        """``ρ(b)``: tokens per line without the last line (section 3.4, equation 6)."""
        if self.lines > 1:
            return (self.tokens - self.last_line) / (self.lines - 1)
        return float(self.tokens)

    def fuse(self, other: Block) -> None:
        """Append the block that follows; its lines are joined, not wrapped again."""
        self.last = other.last
        self.tokens += other.tokens
        if other.lines:
            self.lines += other.lines
            self.last_line = other.last_line


def text_leaves(tree: PageTree) -> NDArray[np.int32]:
    """Return the leaves that are text."""
    return tree.leaves[tree.is_text[tree.leaves]]


def text_gaps(tree: PageTree) -> NDArray[np.uint8]:
    """Return for each text leaf the bits of the tags before it; before the first there are all."""
    leaves = text_leaves(tree)
    bits = bits_by_tag(tree, _TAG_BITS, other=OTHER_GAP)
    first = np.full(min(len(leaves), 1), ANY_GAP, dtype=np.uint8)
    return np.concatenate((first, gap_bits(tree, leaves, bits)))


def wrap(tokens: Iterable[str], width: int = WRAP_WIDTH) -> tuple[int, int, int]:
    """Word-wrap tokens and return ``(tokens, lines, tokens on the last line)``."""
    count = lines = on_line = used = 0
    for token in tokens:
        count += 1
        if on_line and used + 1 + len(token) <= width:
            used += 1 + len(token)
            on_line += 1
        else:
            lines += 1
            used, on_line = len(token), 1
    return count, lines, on_line


def atomic_blocks(tree: PageTree) -> list[Block]:
    """Cut the page's text at every tag but ``A``."""
    leaves = text_leaves(tree)
    if not len(leaves):
        return []
    gaps = text_gaps(tree).tolist()
    blocks = []
    first = 0
    for position in range(1, len(leaves) + 1):
        if position < len(leaves) and not gaps[position] & ANY_GAP:
            continue
        text = "".join(
            f" {tree.text_of(leaf)}" if tree.space_before[leaf] else tree.text_of(leaf)
            for leaf in leaves[first:position].tolist()
        )
        count, lines, last_line = wrap(words(text))
        blocks.append(Block(first, position - 1, count, lines, last_line, gaps[first]))
        first = position
    return blocks


def label_blocks(tree: PageTree, blocks: list[Block]) -> NDArray[np.int32]:
    """Return a label for each leaf: every block is a segment."""
    lengths = [block.last - block.first + 1 for block in blocks]
    return spread_to_leaves(tree, np.repeat(np.arange(len(blocks), dtype=np.int32), lengths))


def spread_to_leaves(tree: PageTree, text_labels: NDArray[np.int32]) -> NDArray[np.int32]:
    """Extend labels of the text leaves to all leaves.

    Images and other replaced elements carry no text: between two leaves of one segment they
    belong to it, elsewhere each run of them is a segment of its own.
    """
    is_text = tree.is_text[tree.leaves]
    labels = np.full(len(tree.leaves), -1, dtype=np.int32)
    labels[is_text] = text_labels
    fresh = int(text_labels.max()) + 1 if len(text_labels) else 0
    without = np.flatnonzero(~is_text)
    for run in np.split(without, np.flatnonzero(np.diff(without) > 1) + 1) if len(without) else ():
        start, stop = int(run[0]), int(run[-1]) + 1
        before = labels[start - 1] if start else -1
        after = labels[stop] if stop < len(labels) else -1
        if before >= 0 and before == after:
            labels[start:stop] = before
        else:
            labels[start:stop] = fresh
            fresh += 1
    return labels
