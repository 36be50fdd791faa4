"""The skeleton of a page: its leaves and the nodes at which they part.

Most DOM nodes above the leaves are wrappers with the same leaves as their only child. All nodes
with exactly the same leaves form one **chain**, and the skeleton has one row for each chain: first
the inner rows (two leaves or more) in pre-order, then one row for each leaf in document order. The
subtree of an inner row is a range of inner rows and a range of leaves, as it is in ``PageTree``.
A page with ``n`` leaves has at most ``n − 1`` inner rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from websegment_scrapy.page.subtrees import path_sums

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from websegment_scrapy.page.tree import PageTree

__all__ = ["Skeleton", "build_skeleton", "common_rows"]


@dataclass(frozen=True, slots=True, eq=False)
class Skeleton:
    """Rows of a page's skeleton.

    Attributes
    ----------
    inner
        Number of inner rows; row ``inner + p`` is leaf ``p``.
    low, high
        Range of each row's leaves, as positions among ``tree.leaves``.
    parent
        Each row's parent row, -1 for the topmost.
    end
        One past the last inner row below each inner row.
    depth
        Distance from the topmost row.
    top, bottom
        First and last node of each row's chain in the tree.
    row_of_node
        The row of each node of the tree, -1 where no leaf lies below it.
    """

    inner: int
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    parent: NDArray[np.int32]
    end: NDArray[np.int32]
    depth: NDArray[np.int32]
    top: NDArray[np.int32]
    bottom: NDArray[np.int32]
    row_of_node: NDArray[np.int32]

    @property
    def leaves(self) -> int:
        """Number of leaves."""
        return len(self.low) - self.inner


def build_skeleton(tree: PageTree) -> Skeleton:
    """Collapse the chains of a page's nodes."""
    count = len(tree.leaves)
    nodes = np.arange(len(tree))
    low = np.searchsorted(tree.leaves, nodes)
    high = np.searchsorted(tree.leaves, tree.end)
    above = np.flatnonzero(high > low)
    low, high = low[above], high[above]
    # Inner chains in pre-order: by first leaf, larger first; then the leaves.
    single = high - low == 1
    key = np.where(single, (count + 1) ** 2 + low, low * (count + 1) + count - high)
    unique, first, chain = np.unique(key, return_index=True, return_inverse=True)
    inner = int(np.searchsorted(unique, (count + 1) ** 2))
    last = np.zeros(len(unique), dtype=np.int64)
    last[chain] = above  # ascending, so the deepest node of the chain stays
    top = above[first]
    row_of_node = np.full(len(tree), -1, dtype=np.int32)
    row_of_node[above] = chain
    parent_node = tree.parent[top] if len(top) else np.zeros(0, dtype=np.int32)
    parent = np.where(parent_node >= 0, row_of_node[parent_node], -1).astype(np.int32)
    row_low, row_high = low[first].astype(np.int32), high[first].astype(np.int32)
    return Skeleton(
        inner=inner,
        low=row_low,
        high=row_high,
        parent=parent,
        end=_inner_ends(row_low[:inner], row_high[:inner]),
        depth=path_sums(parent, np.ones(len(parent), dtype=np.int32)) - 1,
        top=top.astype(np.int32),
        bottom=last.astype(np.int32),
        row_of_node=row_of_node,
    )


def common_rows(
    skeleton: Skeleton, first: NDArray[np.int32], second: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Return the lowest inner row above both leaves of each pair (two different leaves)."""
    rows: NDArray[np.int32] = skeleton.parent[skeleton.inner + np.minimum(first, second)].copy()
    later = np.maximum(first, second)
    outside = np.flatnonzero(skeleton.high[rows] <= later) if len(rows) else rows
    while len(outside):
        rows[outside] = skeleton.parent[rows[outside]]
        outside = outside[skeleton.high[rows[outside]] <= later[outside]]
    return rows


def _inner_ends(low: NDArray[np.int32], high: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return where the subtree of each inner row ends: rows in pre-order that start inside it."""
    return np.searchsorted(low, high).astype(np.int32)
