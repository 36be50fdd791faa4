"""Segments of a page with the groups that they were cut out of, where an engine knows them.

An engine that has a method ``partition`` besides ``segment`` gives the hierarchy of its segments
(WPS, section 1); for all others there is none.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

import numpy as np

from websegment_scrapy.segment.segments import relabel, union_box

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from websegment_scrapy.page.tree import PageTree
    from websegment_scrapy.segment.base import Segmenter
    from websegment_scrapy.segment.segments import Segment
    from websegment_scrapy.segment.wps_partition import Partition

__all__ = ["Cut", "Group", "Hierarchical", "partition_page", "with_groups"]

Cut = Literal["horizontal", "vertical", "layers"]
CUTS: tuple[Cut, ...] = ("horizontal", "vertical", "layers")
"""By the kinds of boundaries of ``wps_graph.py``."""


@dataclass(frozen=True, slots=True)
class Group:
    """Segments that were one before they were cut apart.

    Attributes
    ----------
    id
        Position among the page's groups; 0 is the page.
    parent
        The group around it, ``None`` for the page.
    cut
        ``horizontal``, ``vertical``, or ``layers`` that lie upon each other.
    box
        ``x, y, width, height`` around its leaves.
    """

    id: int
    parent: int | None
    cut: Cut
    box: tuple[int, int, int, int]


@runtime_checkable
class Hierarchical(Protocol):
    """An engine that knows the hierarchy of its segments."""

    def partition(self, tree: PageTree) -> Partition:
        """Return the segments and the groups that they were cut out of."""
        ...


def partition_page(
    tree: PageTree, segmenter: Segmenter
) -> tuple[NDArray[np.int32], Partition | None]:
    """Segment a page; the segments are numbered by their first leaf, in the partition too."""
    if not isinstance(segmenter, Hierarchical):
        return relabel(np.asarray(segmenter.segment(tree), dtype=np.int32)), None
    found = segmenter.partition(tree)
    labels = relabel(found.labels)
    old = np.zeros(len(found.parent), dtype=np.int64)
    old[labels] = found.labels
    own = {name: getattr(found, name)[old] for name in ("parent", "first", "count")}
    return labels, replace(found, labels=labels, **own)


def with_groups(
    tree: PageTree, segments: tuple[Segment, ...], partition: Partition | None
) -> tuple[tuple[Segment, ...], tuple[Group, ...]]:
    """Give segments their parents, and return the groups; none where there is no hierarchy."""
    if partition is None or not len(partition.group_parent):
        return segments, ()
    parents = partition.parent.tolist()
    above = partition.group_parent.tolist()
    leaves: list[list[NDArray[np.int32]]] = [[] for _ in above]
    for segment in segments:
        leaves[parents[segment.id]].append(segment.leaves)
    groups: list[Group] = []
    for number in range(len(above) - 1, -1, -1):  # those inside a group come after it
        own = np.concatenate(leaves[number])
        if above[number] >= 0:
            leaves[above[number]].append(own)
        groups.append(
            Group(
                id=number,
                parent=above[number] if above[number] >= 0 else None,
                cut=CUTS[int(partition.group_kind[number])],
                box=union_box(tree, tree.leaves[own]),
            )
        )
    linked = tuple(replace(segment, parent=parents[segment.id]) for segment in segments)
    return linked, tuple(groups[::-1])
