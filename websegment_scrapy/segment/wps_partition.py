"""From a labelling of the WPS-graph to segments and the groups that they were cut out of.

A region is **open** when the boundaries around it are labelled Y. The Y boundaries of an open
region part it into runs of sub-regions. A run of one is open itself; a run of several, and an open
region without a Y boundary, is a segment. An open region with a Y boundary is a **group**: the
layers of the graph are the hierarchy of the segments (section 1).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from websegment_scrapy.page.skeleton import Skeleton
    from websegment_scrapy.segment.wps_graph import WpsGraph

__all__ = ["Partition", "is_closed", "partition_of"]


@dataclass(frozen=True, slots=True, eq=False)
class Partition:
    """Segments of a page and their hierarchy.

    Attributes
    ----------
    labels
        The segment of each leaf.
    parent
        The group that each segment was cut out of, -1 for a page of one segment.
    first, count
        The first region of each segment and how many, one after the other, it consists of; of
        ``auto``, which has no regions, its first row of the skeleton and its number of rows.
    group_parent
        The group around each group, -1 for the page, which is group 0.
    group_kind
        How each group is cut: the kind of its boundaries.
    """

    labels: NDArray[np.int32]
    parent: NDArray[np.int32]
    first: NDArray[np.int32]
    count: NDArray[np.int32]
    group_parent: NDArray[np.int32]
    group_kind: NDArray[np.int8]


def is_closed(graph: WpsGraph, chosen: NDArray[np.bool_]) -> bool:
    """Say whether every chosen boundary has all that it depends on chosen too."""
    return bool((chosen[graph.edges[:, 1]] | ~chosen[graph.edges[:, 0]]).all())


def partition_of(graph: WpsGraph, skeleton: Skeleton, chosen: NDArray[np.bool_]) -> Partition:
    """Cut a page at the chosen boundaries, which depend on chosen ones only."""
    group_of = [-1] * graph.regions
    first_boundary = graph.first_boundary().tolist()
    first, parts, around = graph.first.tolist(), graph.parts.tolist(), graph.around.tolist()
    marks, kind = chosen.tolist(), graph.kind.tolist()
    segments: list[tuple[int, int, int]] = []
    groups: list[tuple[int, int]] = []
    opened = [0] if graph.regions else []
    for region in opened:
        above = group_of[around[region]] if region else -1
        start, boundary = first[region], first_boundary[region]
        cuts = [number for number in range(1, parts[region]) if marks[boundary + number - 1]]
        if not cuts:
            segments.append((above, region, 1))
            continue
        group_of[region] = len(groups)
        groups.append((above, kind[boundary]))
        for low, high in pairwise((0, *cuts, parts[region])):
            if high - low == 1:
                opened.append(start + low)
            else:
                segments.append((group_of[region], start + low, high - low))
    found = np.array(segments, dtype=np.int32).reshape(-1, 3)
    around_groups = np.array(groups, dtype=np.int32).reshape(-1, 2)
    return Partition(
        labels=_leaf_labels(graph, skeleton, found),
        parent=found[:, 0],
        first=found[:, 1],
        count=found[:, 2],
        group_parent=around_groups[:, 0],
        group_kind=around_groups[:, 1].astype(np.int8),
    )


def _leaf_labels(
    graph: WpsGraph, skeleton: Skeleton, segments: NDArray[np.int32]
) -> NDArray[np.int32]:
    labels = np.zeros(skeleton.leaves, dtype=np.int32)
    for number, (_, region, count) in enumerate(segments.tolist()):
        rows = graph.rows[graph.row_start[region] : graph.row_start[region + count]]
        for low, high in zip(skeleton.low[rows], skeleton.high[rows], strict=True):
            labels[low:high] = number
    return labels
