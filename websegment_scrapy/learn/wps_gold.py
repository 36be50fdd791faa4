"""The gold labelling of a WPS-graph: the one with the fewest wrong pairs of leaves.

The paper's annotators label the boundaries themselves (section 7); here blocks of the DOM are
marked, and not every set of blocks can be cut along boundaries. Of all labellings that the graph
allows the one is taken whose partition agrees with the marked blocks on the most pairs of leaves
(the Rand index). With ``n_sg`` leaves of block ``g`` in segment ``s`` that is the greatest

    Σ_s v(s),   v(s) = 2 Σ_g n_sg (n_sg − 1)/2 − n_s (n_s − 1)/2

which is a sum over segments, so it is found exactly: best(r) of an open region is the greatest sum
over its runs of sub-regions, of ``v`` for a run of several and of ``best`` for a run of one. Of
equally good labellings the one with the fewest cuts is taken. Leaves in no block count as a block
of their own with little weight: where they lie between blocks, something is to be cut.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from websegment_scrapy.page.skeleton import Skeleton
    from websegment_scrapy.segment.wps_graph import WpsGraph

__all__ = ["gold_boundaries", "region_counts"]

UNMARKED = 0.1
"""Weight of a leaf that is in no block."""

CUT = 1e-6
"""Price of a cut: it decides between labellings that are equally good."""


def region_counts(
    graph: WpsGraph, skeleton: Skeleton, gold: NDArray[np.int32], weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return for each region the weight of its leaves in each block."""
    classes, number = np.unique(gold, return_inverse=True)
    table = np.zeros((len(gold) + 1, len(classes)))
    table[np.arange(1, len(gold) + 1), number] = weight
    table = table.cumsum(axis=0)
    rows = table[skeleton.high[graph.rows]] - table[skeleton.low[graph.rows]]
    total = np.concatenate((np.zeros((1, len(classes))), rows.cumsum(axis=0)))
    return np.asarray(total[graph.row_start[1:]] - total[graph.row_start[:-1]])


def gold_boundaries(
    graph: WpsGraph, skeleton: Skeleton, gold: NDArray[np.int32]
) -> NDArray[np.bool_]:
    """Say of each boundary whether the best labelling cuts there.

    Parameters
    ----------
    graph, skeleton
        The page.
    gold
        The block of each leaf, -1 for leaves in none.
    """
    counts = region_counts(graph, skeleton, gold, np.where(gold >= 0, 1.0, UNMARKED))
    best = np.zeros(graph.regions)
    cuts: list[list[int]] = [[] for _ in range(graph.regions)]
    for region in range(graph.regions - 1, -1, -1):
        best[region] = _agreement(counts[region])
        start, parts = int(graph.first[region]), int(graph.parts[region])
        if parts:
            value, found = _best_runs(counts[start : start + parts], best[start : start + parts])
            if value > best[region]:
                best[region], cuts[region] = value, found
    chosen = np.zeros(graph.boundaries, dtype=bool)
    first_boundary = graph.first_boundary()
    is_open = np.zeros(graph.regions, dtype=bool)
    is_open[:1] = True
    for region in range(graph.regions):
        if not is_open[region] or not cuts[region]:
            continue
        chosen[first_boundary[region] + np.array(cuts[region]) - 1] = True
        ends = [0, *cuts[region], int(graph.parts[region])]
        for low, high in pairwise(ends):
            if high - low == 1:
                is_open[graph.first[region] + low] = True
    return chosen


def _agreement(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ``v``; a leaf of weight w counts as w leaves."""
    total = counts.sum(axis=-1)
    return np.asarray((counts**2).sum(axis=-1) - 0.5 * total**2 - 0.5 * total)


def _best_runs(counts: NDArray[np.float64], alone: NDArray[np.float64]) -> tuple[float, list[int]]:
    """Part a sequence into the best runs, two at least; return their value and where they begin.

    Parameters
    ----------
    counts
        Weights by block, of each sub-region.
    alone
        The value of each sub-region as a run of its own.
    """
    size = len(alone)
    before = np.concatenate((np.zeros((1, counts.shape[1])), counts.cumsum(axis=0)))
    value = np.zeros(size + 1)
    origin = np.zeros(size + 1, dtype=np.int64)
    for end in range(1, size + 1):
        runs = _agreement(before[end] - before[:end])
        runs[end - 1] = alone[end - 1]
        total = value[:end] + runs - CUT * (np.arange(end) > 0)
        if end == size:
            total[0] = -np.inf
        origin[end] = int(np.argmax(total))
        value[end] = total[origin[end]]
    found = []
    end = size
    while origin[end] > 0:
        end = int(origin[end])
        found.append(end)
    return float(value[size]), found[::-1]
