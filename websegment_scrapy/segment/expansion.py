"""α-expansion: every move the best one of all, by one minimum cut (GCuts, section 4.2).

The construction that the paper omits, made exact: ``s`` means keep, ``t`` means switch to α.

- leaf ``p``: ``s→p`` of ``D_p(α)``, ``p→t`` of ``D_p(f_p)``; neighbours as in the paper's figure 1;
- inner row ``u``, now uniform with β ≠ α: ``s→a_u`` of ``M_u − D_u(β)``, ``b_u→t`` of
  ``M_u − D_u(α)``; now mixed: only ``b_u``;
- ``a_u → child`` and ``child → b_u`` of infinite capacity, where the child of an ``a`` (``b``) is
  the leaf itself or the row's own ``a`` (``b``).

Only the leaves of α's domain that do not carry α take part. Rows above the domain that are uniform
now become mixed with the first leaf that switches; their cost is added to the domain's own ``a``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import maxflow
import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from websegment_scrapy.segment.energy import Energy

__all__ = ["Labelling", "alpha_expansion", "minimise"]

TOLERANCE = 1e-9
"""A move must lower the energy by more than rounding does."""

MAX_SWEEPS = 20
"""Real pages need two or three sweeps over the labels."""


class Labelling:
    """Labels of the leaves while they are improved, and what the moves need to know of them."""

    def __init__(self, energy: Energy, labels: NDArray[np.int32]) -> None:
        self.energy = energy
        self.labels = labels.astype(np.int32)
        self.leaves = np.arange(len(labels), dtype=np.int32)
        self.owner = np.repeat(self.leaves, np.diff(energy.neighbour_start))
        self.time = 0
        self.changed_at = np.zeros(len(labels), dtype=np.int64)
        self.tried_at = np.full(energy.labels, -1, dtype=np.int64)
        self._measure()

    def _measure(self) -> None:
        energy, skeleton = self.energy, self.energy.skeleton
        self.leaf_now = energy.leaf_costs(self.leaves, self.labels)
        self.uniform = energy.uniform(self.labels)
        self.node_now = energy.mixed.copy()
        rows = np.flatnonzero(self.uniform).astype(np.int32)
        self.node_now[rows] = energy.node_costs(rows, self.labels[skeleton.low[rows]])
        cut = energy.weight * (self.labels[self.owner] != self.labels[energy.neighbour])
        self.cut_half = 0.5 * np.bincount(self.owner, cut, len(self.labels))

    def is_settled(self, label: int) -> bool:
        """Say whether nothing that the expansion of a label depends on has changed since."""
        row = self.energy.domain[label]
        low, high = self.energy.skeleton.low[row], self.energy.skeleton.high[row]
        return bool(self.changed_at[low:high].max() <= self.tried_at[label])

    def may_gain(self) -> NDArray[np.bool_]:
        """Leave out the leaves' own labels that cost more than what the leaves carry now."""
        energy, skeleton = self.energy, self.energy.skeleton
        leaf = skeleton.low[energy.domain]
        own = energy.leaf_cost[energy.leaf_start]
        found: NDArray[np.bool_] = energy.domain < skeleton.inner
        return found | (self.leaf_now[leaf] - own > TOLERANCE)

    def switch(self, leaves: NDArray[np.int64], label: int) -> None:
        """Give leaves a label and note which expansions that may concern."""
        energy, skeleton = self.energy, self.energy.skeleton
        before, first = self.uniform, self.labels[skeleton.low[: skeleton.inner]]
        self.labels[leaves] = label
        self._measure()
        self.time += 1
        touched = np.zeros(len(self.labels) + 1, dtype=np.int64)
        first_now = self.labels[skeleton.low[: skeleton.inner]]
        rows = (before != self.uniform) | (self.uniform & (first != first_now))
        np.add.at(touched, skeleton.low[: skeleton.inner][rows], 1)
        np.add.at(touched, skeleton.high[: skeleton.inner][rows], -1)
        marked = np.cumsum(touched[:-1]) > 0
        marked[leaves] = True
        near = np.zeros(len(self.labels), dtype=bool)
        near[leaves] = True
        marked[energy.neighbour[near[self.owner]]] = True
        self.changed_at[marked] = self.time


def minimise(energy: Energy, start: NDArray[np.int32] | None = None) -> NDArray[np.int32]:
    """Expand labels until no expansion lowers the energy.

    Labels that are nearest to many leaves come first, which depends on the costs and not on how
    the labels are numbered; a label is tried again only when something that its move depends on
    has changed.

    Parameters
    ----------
    energy
        The costs.
    start
        Labels to begin with; each leaf's nearest by default.
    """
    nearest = energy.nearest()
    state = Labelling(energy, nearest if start is None else start)
    wanted = np.bincount(nearest, minlength=energy.labels)
    order = np.lexsort((np.arange(energy.labels), energy.domain, -wanted))
    for _ in range(MAX_SWEEPS):
        moved = False
        for label in order[state.may_gain()[order]].tolist():
            if not state.is_settled(label):
                moved |= alpha_expansion(state, label) > 0.0
        if not moved:
            break
    return state.labels


def alpha_expansion(state: Labelling, alpha: int) -> float:
    """Make the best move to α if it lowers the energy, and return by how much it does."""
    energy, skeleton = state.energy, state.energy.skeleton
    row = int(energy.domain[alpha])
    low, high = int(skeleton.low[row]), int(skeleton.high[row])
    state.tried_at[alpha] = state.time
    if row >= skeleton.inner:
        return _expand_to_leaf(state, alpha, low)
    current = state.labels[low:high]
    movable = np.flatnonzero(current != alpha)
    if not len(movable):
        return 0.0
    start = int(energy.leaf_start[alpha])
    switch = energy.leaf_cost[start : start + high - low][movable]
    keep = state.leaf_now[low:high][movable]
    if _best_gain(state, alpha, keep - switch, movable, low, high) <= TOLERANCE:
        return 0.0
    keep, switch = keep.copy(), switch.copy()
    number = np.full(high - low, -1, dtype=np.int64)
    number[movable] = np.arange(len(movable))
    edges = _pairs(state, alpha, number, low, high, keep, switch)
    a_capacity, b_capacity, links = _rows(state, alpha, row, number, movable)
    source = np.concatenate((switch, a_capacity, np.zeros(len(b_capacity))))
    sink = np.concatenate((keep, np.zeros(len(a_capacity)), b_capacity))
    kept = float(sink.sum())
    graph = maxflow.GraphFloat(len(source), 2 * len(source))
    nodes = graph.add_grid_nodes(len(source))
    graph.add_grid_tedges(nodes, source, sink)
    for first, second, capacity, back in edges:
        if len(first):
            graph.add_edges(first, second, capacity, back)
    endless = float(source.sum() + kept + sum(e[2].sum() + e[3].sum() for e in edges) + 1.0)
    for first, second in links:
        if len(first):
            graph.add_edges(first, second, np.full(len(first), endless), np.zeros(len(first)))
    gain = kept - graph.maxflow()
    if gain <= TOLERANCE:
        return 0.0
    switched = movable[graph.get_grid_segments(nodes[: len(movable)])]
    state.switch(low + switched, alpha)
    return float(gain)


def _expand_to_leaf(state: Labelling, alpha: int, leaf: int) -> float:
    """Give a leaf a label that no other leaf can carry, if that is cheaper."""
    energy = state.energy
    before = state.labels[leaf]
    gain = float(state.leaf_now[leaf] - energy.leaf_cost[energy.leaf_start[alpha]])
    if before == alpha or gain <= TOLERANCE:
        return 0.0
    near = slice(int(energy.neighbour_start[leaf]), int(energy.neighbour_start[leaf + 1]))
    other = state.labels[energy.neighbour[near]]
    gain += float(energy.weight[near] @ ((other != before) * 1.0 - (other != alpha)))
    gain -= _broken_above(state, energy.skeleton.inner + leaf, alpha)
    if gain <= TOLERANCE:
        return 0.0
    state.switch(np.array([leaf]), alpha)
    return gain


def _best_gain(
    state: Labelling,
    alpha: int,
    difference: NDArray[np.float64],
    movable: NDArray[np.int64],
    low: int,
    high: int,
) -> float:
    """Return at least what the best move to α gains, without a cut.

    What a move may gain beside the leaves' own costs is shared out: a cut pair to its two leaves
    (wholly to the one that switches, if the other carries α), a row's gain to the leaves below it
    that must all switch for it. Leaves whose share is still a loss do not take part in the bound.
    """
    energy, skeleton = state.energy, state.energy.skeleton
    row = int(energy.domain[alpha])
    end = int(skeleton.end[row])
    start = int(energy.node_start[alpha])
    new = energy.node_cost[start : start + end - row]
    gains = np.maximum(state.node_now[row:end] - new, 0.0)
    first, last = skeleton.low[row:end] - low, skeleton.high[row:end] - low
    bound = difference + state.cut_half[low:high][movable]
    if len(movable) == high - low:
        shares = gains / (last - first)
    else:
        number = np.zeros(high - low + 1)
        number[1:][movable] = 1.0
        number = number.cumsum()
        shares = gains / np.maximum(number[last] - number[first], 1.0)
        near = slice(int(energy.neighbour_start[low]), int(energy.neighbour_start[high]))
        joins = energy.weight[near] * (state.labels[energy.neighbour[near]] == alpha)
        bound += 0.5 * np.bincount(state.owner[near] - low, joins, high - low)[movable]
    change = np.bincount(first, shares, high - low + 1) - np.bincount(last, shares, high - low + 1)
    bound += change.cumsum()[movable]
    return float(bound[bound > 0.0].sum())


Edges = list[
    tuple["NDArray[np.int64]", "NDArray[np.int64]", "NDArray[np.float64]", "NDArray[np.float64]"]
]
Links = list[tuple["NDArray[np.int64]", "NDArray[np.int64]"]]


def _pairs(
    state: Labelling,
    alpha: int,
    number: NDArray[np.int64],
    low: int,
    high: int,
    keep: NDArray[np.float64],
    switch: NDArray[np.float64],
) -> Edges:
    """Add the costs of neighbours whose label is fixed to ``keep`` and ``switch``; return edges."""
    energy, labels = state.energy, state.labels
    near = slice(int(energy.neighbour_start[low]), int(energy.neighbour_start[high]))
    owner, other, weight = state.owner[near], energy.neighbour[near], energy.weight[near]
    inside = (other >= low) & (other < high)
    other_number = np.where(inside, number[(other - low) * inside], -1)
    owner_number = number[owner - low]
    moves = owner_number >= 0
    fixed = moves & (other_number < 0)
    p, label, w = owner_number[fixed], labels[other[fixed]], weight[fixed]
    differs = labels[owner[fixed]] != label
    np.add.at(keep, p[differs], w[differs])
    apart = label != alpha
    np.add.at(switch, p[apart], w[apart])
    both = moves & (other_number >= 0) & (owner < other)
    p, q, w = owner_number[both], other_number[both], weight[both]
    same = labels[owner[both]] == labels[other[both]]
    np.add.at(keep, p[~same], w[~same])
    return [
        (p[same], q[same], w[same], w[same]),
        (q[~same], p[~same], w[~same], np.zeros(int((~same).sum()))),
    ]


def _rows(
    state: Labelling, alpha: int, row: int, number: NDArray[np.int64], movable: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], Links]:
    """Return the capacities of the auxiliary nodes ``a`` and ``b``, and the infinite links."""
    energy, skeleton = state.energy, state.energy.skeleton
    end = int(skeleton.end[row])
    low = int(skeleton.low[row])
    uniform = state.uniform[row:end]
    is_alpha = uniform & (state.labels[skeleton.low[row:end]] == alpha)
    has_a, has_b = uniform & ~is_alpha, ~is_alpha
    a_number = np.full(end - row, -1, dtype=np.int64)
    b_number = np.full(end - row, -1, dtype=np.int64)
    a_rows, b_rows = np.flatnonzero(has_a), np.flatnonzero(has_b)
    a_number[a_rows] = len(movable) + np.arange(len(a_rows))
    b_number[b_rows] = len(movable) + len(a_rows) + np.arange(len(b_rows))
    mixed = energy.mixed[row:end]
    a_capacity = (mixed - state.node_now[row:end])[a_rows]
    if has_a[0]:
        a_capacity[0] += _broken_above(state, row, alpha)
    start = int(energy.node_start[alpha])
    b_capacity = (mixed - energy.node_cost[start : start + end - row])[b_rows]
    above = skeleton.parent[skeleton.inner + low + movable] - row
    leaf = number[movable]
    under_a = a_number[above] >= 0
    inner_above = skeleton.parent[row:end] - row
    a_below, b_below = a_rows[a_rows > 0], b_rows[b_rows > 0]
    chained = a_below[a_number[inner_above[a_below]] >= 0]
    links: Links = [
        (a_number[above[under_a]], leaf[under_a]),
        (a_number[inner_above[chained]], a_number[chained]),
        (leaf, b_number[above]),
        (b_number[b_below], b_number[inner_above[b_below]]),
    ]
    return a_capacity, b_capacity, links


def _broken_above(state: Labelling, row: int, alpha: int) -> float:
    """Return what the rows above a domain cost more once a leaf of the domain switches."""
    energy, skeleton = state.energy, state.energy.skeleton
    cost = 0.0
    above = int(skeleton.parent[row])
    while above >= 0 and state.uniform[above] and state.labels[skeleton.low[above]] != alpha:
        cost += float(energy.mixed[above] - state.node_now[above])
        above = int(skeleton.parent[above])
    return cost
