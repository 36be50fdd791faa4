"""Sums over subtrees and along paths, and what lies in marked ones.

A subtree is a range of the document order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "depth_in",
    "lies_in",
    "path_sums",
    "range_sums",
    "running_sums",
    "subtree_sums",
    "uniform_ranges",
]


def running_sums(values: NDArray[Any]) -> NDArray[Any]:
    """Return the sums of the first 0, 1, 2 … values."""
    sums = np.cumsum(values)
    return np.concatenate((np.zeros(1, dtype=sums.dtype), sums))


def range_sums(
    values: NDArray[Any], low: NDArray[np.integer], high: NDArray[np.integer]
) -> NDArray[Any]:
    """Return the sums of the values ``low … high − 1`` of each range."""
    sums = running_sums(values)
    found: NDArray[Any] = sums[high] - sums[low]
    return found


def subtree_sums(end: NDArray[Any], values: NDArray[Any]) -> NDArray[Any]:
    """Return the sum of the values of each node and of all below it."""
    return range_sums(values, np.arange(len(end)), end)


def depth_in(end: NDArray[Any], marked: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Count the marked nodes that each node lies in, itself among them."""
    chosen = np.flatnonzero(marked)
    change = np.zeros(len(end) + 1, dtype=np.int64)
    change[chosen] = 1
    change -= np.bincount(end[chosen], minlength=len(change))
    return np.cumsum(change[:-1])


def lies_in(end: NDArray[Any], marked: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Mark the marked nodes and all below them."""
    return depth_in(end, marked) > 0


def path_sums(parent: NDArray[np.int32], values: NDArray[Any]) -> NDArray[Any]:
    """Return the sum of the values of each node and of all above it; the topmost's parent is -1."""
    total = values.copy()
    ancestor = parent.copy()
    active = np.flatnonzero(ancestor >= 0)
    while len(active):
        total[active] += values[ancestor[active]]
        ancestor[active] = parent[ancestor[active]]
        active = active[ancestor[active] >= 0]
    return total


def uniform_ranges(
    labels: NDArray[np.int32], low: NDArray[np.integer], high: NDArray[np.integer]
) -> NDArray[np.bool_]:
    """Say of each range ``low … high − 1``, none of them empty, whether it has one label."""
    changes = running_sums(labels[1:] != labels[:-1])
    found: NDArray[np.bool_] = changes[high - 1] == changes[low]
    return found
