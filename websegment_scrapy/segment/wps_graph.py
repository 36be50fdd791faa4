"""The WPS-graph: candidate boundaries of a page and how they depend on each other (Algorithm 1).

A **region** is a run of sibling subtrees; the whole page is the first. A region that is a single
subtree is opened to its children. Of the others the horizontal boundaries are looked for, which cut
through no subtree; the vertical ones where there is none; where there is neither, subtrees lie upon
each other, and each of these **layers** is a sub-region in document order. A boundary lies between
two neighbouring sub-regions, and what lies between two boundaries can only be cut when both of them
are: a boundary depends directly on those beside its region, at most two, and through them on all
around it (section 3).

Regions are numbered breadth first, so a region comes before its sub-regions, and these follow each
other; boundary ``b`` has sub-region ``above[b]`` before it and ``above[b] + 1`` after it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from websegment_scrapy.page.skeleton import Skeleton

__all__ = ["HORIZONTAL", "LAYERS", "MAX_BOUNDARIES", "VERTICAL", "WpsGraph", "build_wps_graph"]

HORIZONTAL, VERTICAL, LAYERS = 0, 1, 2
"""Kinds of boundaries."""

OVERLAP_PX = 3.0
"""What two boxes may overlap and still lie beside each other: lines of text do a little."""

MAX_BOUNDARIES = 4000
"""Vertices of a graph; the labelled pages have 746 at most."""

MAX_SEQUENCE = 1000
"""Boundaries of one region."""


@dataclass(frozen=True, slots=True, eq=False)
class WpsGraph:
    """Regions and boundaries of a page.

    Attributes
    ----------
    rows, row_start
        The rows of the skeleton that region ``r`` consists of, from ``row_start[r]`` on.
    around
        The region that each region is a part of, -1 for the page.
    first, parts
        The first sub-region of each region and how many it has; 0 where it has no boundary.
    above
        The sub-region before each boundary; the one after it is the next.
    kind
        ``HORIZONTAL``, ``VERTICAL`` or ``LAYERS``, of each boundary.
    edges
        Pairs: a boundary, and one that it directly depends on.
    """

    rows: NDArray[np.int32]
    row_start: NDArray[np.int64]
    around: NDArray[np.int32]
    first: NDArray[np.int32]
    parts: NDArray[np.int32]
    above: NDArray[np.int32]
    kind: NDArray[np.int8]
    edges: NDArray[np.int32]

    @property
    def boundaries(self) -> int:
        """Number of boundaries."""
        return len(self.above)

    @property
    def regions(self) -> int:
        """Number of regions."""
        return len(self.around)

    def within(self) -> NDArray[np.int32]:
        """Return the region that each boundary lies in."""
        return self.around[self.above]

    def first_boundary(self) -> NDArray[np.int64]:
        """Return the first boundary of each region; meaningless where it has none."""
        return np.asarray(np.searchsorted(self.above, self.first))


class _Builder:
    """Regions and boundaries while they are found."""

    def __init__(self, skeleton: Skeleton, boxes: NDArray[np.float64]) -> None:
        self.inner = skeleton.inner
        self.low = skeleton.low.tolist()
        self.boxes: list[list[float]] = boxes.tolist()
        self.children: list[list[int]] = [[] for _ in range(skeleton.inner)]
        for row in np.lexsort((skeleton.low, skeleton.parent)).tolist():
            if (above := int(skeleton.parent[row])) >= 0:
                self.children[above].append(row)
        self.shape = _shapes(skeleton)
        self.rows: list[list[int]] = []
        self.around: list[int] = []
        self.beside: list[tuple[int, ...]] = []
        self.first: list[int] = []
        self.parts: list[int] = []
        self.above: list[int] = []
        self.kind: list[int] = []
        self.edges: list[tuple[int, int]] = []

    def add_region(self, rows: list[int], around: int, beside: tuple[int, ...]) -> None:
        self.rows.append(rows)
        self.around.append(around)
        self.beside.append(beside)
        self.first.append(0)
        self.parts.append(0)

    def split(self, region: int) -> None:
        """Find the boundaries of a region and add its sub-regions."""
        rows = self.rows[region]
        while len(rows) == 1 and rows[0] < self.inner:
            rows = self.children[rows[0]]
        if len(rows) < 2:
            return
        kind, groups = self.cut(rows)
        groups = self.limit(groups, kind)
        if len(groups) < 2:
            return
        start, boundary = len(self.rows), len(self.above)
        self.first[region], self.parts[region] = start, len(groups)
        last = boundary + len(groups) - 1
        for number, group in enumerate(groups):
            here = boundary + number
            beside = tuple(each for each in (here - 1, here) if boundary <= each < last)
            self.add_region(group, region, beside)
        for number in range(len(groups) - 1):
            self.edges += [(boundary + number, other) for other in self.beside[region]]
            self.above.append(start + number)
            self.kind.append(kind)

    def cut(self, rows: list[int]) -> tuple[int, list[list[int]]]:
        for kind, axis in ((HORIZONTAL, 1), (VERTICAL, 0)):
            groups = self.bands(rows, axis)
            if len(groups) > 1:
                return kind, groups
        if all(row >= self.inner for row in rows):
            return LAYERS, [rows]  # the texts of a paragraph, one line after the other
        return LAYERS, [[row] for row in rows]

    def bands(self, rows: list[int], axis: int) -> list[list[int]]:
        """Group rows between lines that cut through none of them, in the order of the page."""
        boxes = self.boxes
        ordered = sorted(rows, key=lambda row: (boxes[row][axis], self.low[row]))
        groups: list[list[int]] = [[]]
        reach = -np.inf
        for row in ordered:
            start, end = boxes[row][axis], boxes[row][axis + 2]
            if groups[-1] and start >= reach - OVERLAP_PX and end > reach:
                groups.append([])
            groups[-1].append(row)
            reach = max(reach, end)
        for group in groups:
            group.sort(key=self.low.__getitem__)
        return groups

    def limit(self, groups: list[list[int]], kind: int) -> list[list[int]]:
        """Keep a sequence within the bounds by joining what is alike.

        Boundaries between siblings of the same shape (numbers of leaves and of children) go, for
        they are rows of one list; of the others those with the widest gaps are kept.
        """
        most = min(MAX_SEQUENCE, MAX_BOUNDARIES - len(self.above))
        if len(groups) - 1 <= most:
            return groups
        axis = 0 if kind == VERTICAL else 1
        worth = []
        for number, (one, two) in enumerate(pairwise(groups)):
            end = max(self.boxes[row][axis + 2] for row in one)
            gap = min(self.boxes[row][axis] for row in two) - end
            alike = [self.shape[row] for row in one] == [self.shape[row] for row in two]
            if not alike:
                worth.append((-gap, number))
        kept = {number for _, number in sorted(worth)[:most]}
        joined = [list(groups[0])]
        for number, group in enumerate(groups[1:]):
            if number in kept:
                joined.append([])
            joined[-1] += group
        return joined


def _shapes(skeleton: Skeleton) -> list[tuple[int, int]]:
    """Return what rows of a list have in common: leaves and children."""
    children = np.bincount(skeleton.parent[skeleton.parent >= 0], minlength=len(skeleton.low))
    leaves = skeleton.high - skeleton.low
    return list(zip(leaves.tolist(), children.tolist(), strict=True))


def build_wps_graph(skeleton: Skeleton, boxes: NDArray[np.float64]) -> WpsGraph:
    """Find the candidate boundaries of a page.

    The graph is bounded: breadth first, a region of more than ``MAX_SEQUENCE`` boundaries, or of
    more than are left of ``MAX_BOUNDARIES``, joins the siblings that are alike; what was joined may
    be cut on the next level, if it has few enough boundaries. Depths that no boundary is left for
    stay whole.

    Parameters
    ----------
    skeleton
        The page's rows.
    boxes
        ``left, top, right, bottom`` of every row, finite.
    """
    builder = _Builder(skeleton, boxes)
    if len(skeleton.low):
        builder.add_region(_topmost(skeleton), -1, ())
    region = 0
    while region < len(builder.rows):
        builder.split(region)
        region += 1
    sizes: Sequence[int] = [len(rows) for rows in builder.rows]
    return WpsGraph(
        rows=np.array([row for rows in builder.rows for row in rows], dtype=np.int32),
        row_start=np.concatenate(([0], np.cumsum(sizes))).astype(np.int64),
        around=np.array(builder.around, dtype=np.int32),
        first=np.array(builder.first, dtype=np.int32),
        parts=np.array(builder.parts, dtype=np.int32),
        above=np.array(builder.above, dtype=np.int32),
        kind=np.array(builder.kind, dtype=np.int8),
        edges=np.array(builder.edges, dtype=np.int32).reshape(-1, 2),
    )


def _topmost(skeleton: Skeleton) -> list[int]:
    found: list[int] = np.flatnonzero(skeleton.parent < 0).tolist()
    return found
