"""Text blocks: what stands between two block-level tags, the unit that is kept or left out.

They are coarser than Block Fusion's atomic blocks (`segment.atomic_blocks`), which end at any tag
but ``a``. Hidden text has its blocks too: pages hide tabs, spoilers and posts until a script runs,
and without a browser only the text can tell.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from websegment_scrapy.page.gaps import gap_bits
from websegment_scrapy.page.reading import CUTTING, break_bits

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from websegment_scrapy.page.tree import PageTree

__all__ = ["TextBlocks", "text_blocks"]


@dataclass(frozen=True, slots=True, eq=False)
class TextBlocks:
    """The blocks of a page, in document order.

    Attributes
    ----------
    nodes
        All text nodes of the page.
    first
        Where each block begins in ``nodes``; the last number is their end.
    """

    nodes: NDArray[np.int64]
    first: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.first) - 1

    @property
    def begin(self) -> NDArray[np.int64]:
        """The first text node of each block."""
        return self.nodes[self.first[:-1]]

    @property
    def of_node(self) -> NDArray[np.int64]:
        """The block of each text node."""
        return np.repeat(np.arange(len(self)), np.diff(self.first))


def text_blocks(tree: PageTree) -> TextBlocks:
    """Cut the text of a page into blocks.

    ``br`` does not cut; where text begins or ends that is not shown, or cannot be read, it is cut.
    """
    nodes = tree.texts
    if not len(nodes):
        return TextBlocks(nodes, np.zeros(1, dtype=np.int64))
    bits = break_bits(tree)
    bits[tree.tagged({"br"})] = 0
    gaps = gap_bits(tree, nodes, bits)
    cut = (gaps & CUTTING) != 0
    for seen in (tree.visible[nodes], tree.readable[nodes]):
        cut |= seen[1:] != seen[:-1]
    first = np.concatenate(([0], np.flatnonzero(cut) + 1, [len(nodes)]))
    return TextBlocks(nodes, first)
