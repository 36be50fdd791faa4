"""Visual neighbours: leaves that meet along a straight line across the page.

On a vertical line the leaves that it crosses follow each other by the height of their centres; two
leaves are neighbours when they follow each other directly on some vertical or some horizontal line
(GCuts, section 4.2, takes "visually close neighbors" and says no more). One sweep in each direction
keeps, for every stretch across the page, the leaf seen last: ``n`` leaves give O(n) neighbours in
O(n log n) steps.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["visual_neighbours"]


def visual_neighbours(boxes: NDArray[np.float64]) -> NDArray[np.int32]:
    """Return the pairs of neighbouring boxes, each once with the smaller index first, sorted.

    Parameters
    ----------
    boxes
        Rows ``left, top, right, bottom``, finite; an empty box counts as one pixel.
    """
    count = len(boxes)
    if count < 2:
        return np.zeros((0, 2), dtype=np.int32)
    pairs: set[int] = set()
    for start, across in ((0, 1), (1, 0)):
        near = boxes[:, start]
        far = np.maximum(boxes[:, start + 2], near + 1.0)
        centre = boxes[:, across] + np.maximum(boxes[:, across + 2], boxes[:, across] + 1.0)
        order = np.argsort(centre, kind="stable")
        _sweep(near.tolist(), far.tolist(), order.tolist(), pairs)
    keys = np.array(sorted(pairs), dtype=np.int64)
    return np.stack((keys // count, keys % count), axis=1).astype(np.int32)


def _sweep(near: list[float], far: list[float], order: list[int], pairs: set[int]) -> None:
    """Paint every box over the skyline of those before it and link it with what it covers."""
    count = len(near)
    starts: list[float] = [-np.inf]
    seen: list[int] = [-1]
    for box in order:
        left, right = near[box], far[box]
        first = bisect_right(starts, left) - 1
        stop = bisect_left(starts, right)
        covered = seen[first:stop]
        for other in covered:
            if other >= 0:
                pairs.add(min(box, other) * count + max(box, other))
        new_starts, new_seen = [left], [box]
        if starts[first] < left:
            new_starts.insert(0, starts[first])
            new_seen.insert(0, covered[0])
        if stop == len(starts) or starts[stop] > right:
            new_starts.append(right)
            new_seen.append(covered[-1])
        starts[first:stop] = new_starts
        seen[first:stop] = new_seen
