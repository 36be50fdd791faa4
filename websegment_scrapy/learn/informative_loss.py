"""The loss of WPS-Slack: wrong labels of the proper informative boundaries (sections 3 and 6).

**Outside** the informative segment these are the boundaries directly beside it, which are cut;
**inside** it the ones that would cut it first, which are not (Definition 3). All others follow from
them. The loss of a labelling is the share of them that it has wrong, and the most violated
labelling maximises::

    H(C) = Δ(C) · (1 + F(C) − F(C_gold))

Proposition 1 tries all sets of wrong boundaries, each with one closure; a segment with 40
paragraphs has 2⁴⁰ such sets. But ``Δ`` only counts them, and what lies inside is a chain: whether a
part between two inside boundaries can be cut further depends on these two alone. So for every set
of wrong outside boundaries (four at most) and every number of wrong inside ones the best labelling
is found exactly, by dynamic programming along the chain and one closure for what lies outside.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from websegment_scrapy.segment.closure import maximum_closure

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from websegment_scrapy.segment.wps_graph import WpsGraph

__all__ = [
    "InformativeBoundaries",
    "best_chain",
    "informative_boundaries",
    "most_violated_informative",
    "region_values",
]


@dataclass(frozen=True, slots=True, eq=False)
class InformativeBoundaries:
    """The proper informative boundaries of a page.

    Attributes
    ----------
    outside
        Boundaries beside the informative segment, two at most.
    inside
        Boundaries that would cut it first; they follow each other.
    parts
        The sub-regions that the inside boundaries part; none if there is no inside boundary.
    needed
        Boundaries that must be cut before an inside one can be.
    ends
        The outside boundaries before the first part and after the last one that decide, with an
        inside boundary, whether that part can be cut further; -1 where nothing does.
    below
        Whether each boundary of the graph lies inside, at any depth.
    """

    outside: NDArray[np.int64]
    inside: NDArray[np.int64]
    parts: NDArray[np.int64]
    needed: NDArray[np.int64]
    ends: tuple[int, int]
    below: NDArray[np.bool_]

    @property
    def count(self) -> int:
        """Number of proper informative boundaries."""
        return len(self.outside) + len(self.inside)


def informative_boundaries(graph: WpsGraph, run: tuple[int, int]) -> InformativeBoundaries:
    """Find the proper informative boundaries.

    Parameters
    ----------
    graph
        The page.
    run
        The informative segment of its gold labelling: the first region and how many they are.
    """
    region, count = run
    around = int(graph.around[region])
    first_boundary = graph.first_boundary()
    before = after = -1
    if around >= 0:
        start, place = int(first_boundary[around]), region - int(graph.first[around])
        before = start + place - 1 if place > 0 else -1
        after = start + place + count - 1 if place + count < graph.parts[around] else -1
    outside = np.array([each for each in (before, after) if each >= 0], dtype=np.int64)
    if count == 1:  # the boundaries of the region itself depend on those beside it
        parts = graph.first[region] + np.arange(graph.parts[region])
        inside = first_boundary[region] + np.arange(max(len(parts) - 1, 0))
        needed, ends = outside, (-1, -1)
    else:  # those between the regions of the run depend on what is around all of them
        parts = region + np.arange(count)
        inside = start + place + np.arange(count - 1)
        needed = graph.edges[graph.edges[:, 0] == inside[0], 1].astype(np.int64)
        ends = (before, after)
    is_below = np.zeros(graph.regions, dtype=bool)
    is_below[parts] = True
    for each, above in enumerate(graph.around.tolist()):
        is_below[each] |= above >= 0 and is_below[above]
    below = is_below[graph.within()]
    below[inside] = True
    return InformativeBoundaries(
        outside, inside.astype(np.int64), parts.astype(np.int64), needed, ends, below
    )


def region_values(graph: WpsGraph, weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what the best labelling inside each region is worth once the region can be cut."""
    values = [0.0] * graph.regions
    weights = weight.tolist()
    first_boundary = graph.first_boundary().tolist()
    first, parts = graph.first.tolist(), graph.parts.tolist()
    for region in range(graph.regions - 1, -1, -1):
        if not parts[region]:
            continue
        start, boundary = first[region], first_boundary[region]
        whole, cut = -np.inf, 0.0  # the boundary before is N or Y; the page's edge counts as Y
        for number in range(parts[region] - 1):
            best = max(whole, cut)
            inside = max(whole, cut + values[start + number])
            whole, cut = best, inside + weights[boundary + number]
        last = max(whole, cut + values[start + parts[region] - 1])
        values[region] = max(last, 0.0)
    return np.array(values)


def best_chain(
    weight: NDArray[np.float64],
    value: NDArray[np.float64],
    ends: tuple[bool, bool],
) -> tuple[NDArray[np.float64], list[NDArray[np.bool_]]]:
    """Cut a chain in exactly 0, 1, 2 … places, each time in the best.

    Parameters
    ----------
    weight
        What each boundary is worth when it is cut.
    value
        What each part, one more than boundaries, is worth when both its ends are cut.
    ends
        Whether the chain's two ends are cut.

    Returns
    -------
    tuple
        The greatest worth for every number of cuts, and where they are.
    """
    size = len(weight)
    whole = np.full(size + 1, -np.inf)
    cut = np.full(size + 1, -np.inf)
    (cut if ends[0] else whole)[0] = 0.0
    from_cut_whole = np.zeros((size, size + 1), dtype=bool)
    from_cut_cut = np.zeros((size, size + 1), dtype=bool)
    for number in range(size):
        inside = cut + value[number]
        from_cut_whole[number] = cut > whole
        from_cut_cut[number] = inside > whole
        best, opened = np.maximum(whole, cut), np.maximum(whole, inside)
        whole = best
        cut = np.concatenate(([-np.inf], opened[:-1] + weight[number]))
    last = cut + (value[size] if size and ends[1] else 0.0)
    found = np.maximum(whole, last)
    places = []
    for count in range(size + 1):
        chosen = np.zeros(size, dtype=bool)
        state, left = bool(last[count] > whole[count]), count
        for number in range(size - 1, -1, -1):
            chosen[number] = state
            if state:
                left -= 1
                state = bool(from_cut_cut[number, left])
            else:
                state = bool(from_cut_whole[number, left])
        places.append(chosen)
    return found, places


def most_violated_informative(
    graph: WpsGraph,
    gold: NDArray[np.bool_],
    informative: InformativeBoundaries | None,
    weight: NDArray[np.float64],
) -> tuple[NDArray[np.bool_], float]:
    """Return the labelling of the greatest ``H`` and its loss; the gold one if none is violated.

    On a page without an informative segment every wrong labelling has the loss 1.
    """
    if informative is None or not informative.count:
        best = maximum_closure(weight, graph.edges)
        return best, float((best != gold).any())
    right = float(weight[gold].sum())
    endless = float(np.abs(weight).sum() + 1.0)
    values = region_values(graph, weight)[informative.parts]
    inner = weight[informative.inside]
    violated, chosen, loss = 0.0, None, 0.0
    for wrong in product((False, True), repeat=len(informative.outside)):
        is_cut = dict(zip(informative.outside.tolist(), [not each for each in wrong], strict=True))
        forced = np.zeros(graph.boundaries)
        for boundary, cut in is_cut.items():
            forced[boundary] = endless if cut else -endless
        left, right_end = (is_cut.get(end, True) for end in informative.ends)
        may_cut = all(is_cut.get(each, True) for each in informative.needed.tolist())
        worth, places = best_chain(inner, values, (left, right_end))
        for number in range(len(inner) + 1):
            if number and not may_cut:
                break
            if number < 2:  # what lies outside is the same for all numbers from one on
                outer = forced.copy()
                outer[informative.below] = -endless
                if number:
                    outer[informative.needed] = endless
                rest = float(weight[maximum_closure(weight + 2 * outer, graph.edges)].sum())
            share = (sum(wrong) + number) / informative.count
            height = share * (1.0 + rest + worth[number] - right)
            if height > violated:
                violated, loss = height, share
                fixed = forced.copy()
                fixed[informative.inside] = np.where(places[number], endless, -endless)
                chosen = fixed
    if chosen is None:
        return gold, 0.0
    return maximum_closure(weight + 2 * chosen, graph.edges), loss
