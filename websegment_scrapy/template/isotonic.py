"""Regularised isotonic smoothing of scores on a tree, exact (PageLevel paper, section 4).

Given scores ``x(i)``, weights ``w(i)`` and penalties ``γ(i)``, find ``y`` with
``y(i) ≤ y(child)`` that minimises ::

    c(y) = Σ w(i)·|x(i) − y(i)|  +  Σ γ(i)·[i starts a section]

where the root starts a section and every other node starts one when its value is not its parent's.
Some optimal ``y`` takes only values that occur among the scores (the paper's lemma 3: the value of
a section is a weighted median of its scores). With ``v_0 < … < v_{m−1}`` the distinct scores ::

    cost_i(k) = w(i)·|x(i) − v_k| + Σ_{c child of i} err_c(k)
    err_i(j)  = min(cost_i(j), γ(i) + min_{k > j} cost_i(k))

is one row operation for each node with suffix minima, so time and memory are O(n·m). (The printed
algorithm BuildError compares ``err'(i)`` where ``err'(j)`` is meant.)

``m`` is bounded by rounding the scores to multiples of ``1/resolution``. What is found is then
exact for the rounded scores, and costs at most ``Σ w / resolution`` more than the optimum of the
given ones: rounding changes the cost of any ``y``, of the one found and of the optimal one, by at
most ``Σ w / (2·resolution)``.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["RESOLUTION", "Smoothed", "smooth"]

RESOLUTION = 128
"""Steps from 0 to 1 to which scores are rounded: 1/128 is far below what a classifier knows."""

CHUNK = 2048
"""Rows that are worked on at once, so that a page of one level needs no second matrix."""


@dataclass(frozen=True, slots=True, eq=False)
class Smoothed:
    """Smoothed scores.

    Attributes
    ----------
    values
        ``y`` of each node; never smaller than its parent's.
    sections
        For each node the node at which its section starts: itself, or an ancestor with the same
        value.
    cost
        ``c(y)`` with the scores as they were given, not rounded.
    """

    values: NDArray[np.float64]
    sections: NDArray[np.int32]
    cost: float


def smooth(
    scores: ArrayLike,
    parent: ArrayLike,
    weights: ArrayLike | None = None,
    penalties: ArrayLike | float = 0.0,
    *,
    resolution: int | None = RESOLUTION,
) -> Smoothed:
    """Smooth the scores of a tree's nodes.

    Of several optimal solutions it is the one in which the root takes the smallest value, then each
    node given its parent: a node goes on with its parent's section unless a new one costs less.

    Parameters
    ----------
    scores
        ``x`` of each node; any finite numbers.
    parent
        The parent of each node; parents stand before their children, the root first with -1.
        Document order and breadth-first order both do.
    weights
        ``w`` of each node, not negative; 1 if not given.
    penalties
        ``γ`` of each node, or one for all, not negative.
    resolution
        Scores are rounded to multiples of ``1/resolution``; ``None`` takes them as they are, which
        needs 9 bytes for each pair of a node and a distinct score.

    References
    ----------
    Chakrabarti, Kumar and Punera: Page-level Template Detection via Isotonic Smoothing, WWW 2007.

    Examples
    --------
    >>> smooth([0.2, 0.9, 0.1], [-1, 0, 0], penalties=0.05, resolution=None).values
    array([0.1, 0.9, 0.1])
    """
    given, above, weight, penalty = _check(scores, parent, weights, penalties)
    count = len(given)
    if not count:
        return Smoothed(np.zeros(0), np.zeros(0, dtype=np.int32), 0.0)
    rounded = given if resolution is None else np.rint(given * resolution) / resolution
    values, number = np.unique(-rounded, return_inverse=True)
    order, bounds = _by_height(above)
    cost = _costs(values, number, weight, penalty, above, order, bounds)
    taken = _descend(cost, penalty, above)
    opens = np.ones(count, dtype=bool)
    opens[1:] = taken[1:] != taken[above[1:]]
    found = 0.0 - values[taken - 1]
    total = float(np.sum(weight * np.abs(given - found)) + np.sum(penalty[opens]))
    return Smoothed(found, _sections(opens, above), total)


def _check(
    scores: ArrayLike, parent: ArrayLike, weights: ArrayLike | None, penalties: ArrayLike | float
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    given = np.asarray(scores, dtype=np.float64)
    above = np.asarray(parent, dtype=np.int64)
    weight = np.ones(len(given)) if weights is None else np.asarray(weights, dtype=np.float64)
    penalty = np.broadcast_to(np.asarray(penalties, dtype=np.float64), given.shape)
    if not len(given) == len(above) == len(weight):
        raise ValueError(
            f"{len(given)} scores, {len(above)} parents and {len(weight)} weights: "
            "give one of each for every node"
        )
    if len(given):
        inner = above[1:]
        if above[0] != -1 or (inner < 0).any() or (inner >= np.arange(1, len(given))).any():
            raise ValueError("parents must stand before their children, the root first with -1")
        if not (np.isfinite(given).all() and np.isfinite(weight).all() and weight.min() >= 0):
            raise ValueError("scores must be finite numbers, weights finite and not negative")
        if not penalty.min() >= 0:
            raise ValueError("penalties must be numbers that are not negative")
    return given, above, weight, penalty


def _by_height(parent: NDArray[np.int64]) -> tuple[NDArray[np.int64], list[int]]:
    """Return the nodes by their height, leaves first, and where each height begins.

    Nodes of one height depend only on lower ones; siblings among them stand together.
    """
    height = [0] * len(parent)
    parents = parent.tolist()
    for node in range(len(parents) - 1, 0, -1):
        above = parents[node]
        if height[above] <= height[node]:
            height[above] = height[node] + 1
    heights = np.array(height)
    bounds = np.concatenate(([0], np.cumsum(np.bincount(heights))))
    return np.lexsort((parent, heights)), bounds.tolist()


def _costs(
    values: NDArray[np.float64],
    number: NDArray[np.int64],
    weight: NDArray[np.float64],
    penalty: NDArray[np.float64],
    parent: NDArray[np.int64],
    order: NDArray[np.int64],
    bounds: list[int],
) -> NDArray[np.float64]:
    """Return ``cost_i(k)`` of all nodes, worked out from the leaves up.

    The values stand in descending order in the columns 1 … m, so that the least cost of a larger
    value is a running minimum from the left; column 0 is infinite: there is no larger value.
    """
    distance = np.zeros((len(values), len(values) + 1))
    np.abs(values[:, None] - values[None, :], out=distance[:, 1:])
    cost = np.empty((len(parent), len(values) + 1))
    for low in range(0, len(parent), CHUNK):
        rows = slice(low, low + CHUNK)
        np.multiply(distance[number[rows]], weight[rows, None], out=cost[rows])
    cost[:, 0] = np.inf
    parents, gammas, nodes = parent.tolist(), penalty.tolist(), order.tolist()
    for start, stop in pairwise(bounds[:-1]):
        if stop - start == 1:
            node = nodes[start]
            row = cost[node]
            error = np.minimum.accumulate(row[:-1])
            error += gammas[node]
            np.minimum(error, row[1:], out=error)
            row = cost[parents[node], 1:]
            row += error
            continue
        for low in range(start, stop, CHUNK):
            _add_errors(cost, penalty, parent, order[low : min(low + CHUNK, stop)])
    return cost


def _add_errors(
    cost: NDArray[np.float64],
    penalty: NDArray[np.float64],
    parent: NDArray[np.int64],
    nodes: NDArray[np.int64],
) -> None:
    """Add ``err`` of some nodes, siblings together, to the costs of their parents."""
    rows = cost[nodes]
    error = np.minimum.accumulate(rows[:, :-1], axis=1)
    error += penalty[nodes, None]
    np.minimum(error, rows[:, 1:], out=error)
    above = parent[nodes]
    first = np.flatnonzero(np.concatenate(([True], above[1:] != above[:-1])))
    if len(first) < len(nodes):
        error = np.add.reduceat(error, first, axis=0)
    cost[above[first], 1:] += error


def _descend(
    cost: NDArray[np.float64], penalty: NDArray[np.float64], parent: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the column of each node's value, from the root down."""
    count, size = cost.shape
    kind = np.dtype(f"u{1 if size <= 1 << 8 else 2 if size <= 1 << 16 else 4}")
    choices = np.empty((count, size), dtype=kind)
    own = np.arange(size, dtype=kind)
    for low in range(0, count, CHUNK):
        rows, chosen = cost[low : low + CHUNK], choices[low : low + CHUNK]
        least = np.minimum.accumulate(rows, axis=1)
        # The last column so far whose cost is the running minimum has the smallest best value.
        best = np.maximum.accumulate(np.where(rows == least, own, 0), axis=1, dtype=kind)
        chosen[:] = own
        least += penalty[low : low + CHUNK, None]
        np.copyto(chosen[:, 1:], best[:, :-1], where=least[:, :-1] < rows[:, 1:])
    root = size - 1 - int(np.argmin(cost[0, ::-1]))
    taken = [root] + [0] * (count - 1)
    flat = choices.reshape(-1).data
    for node, above in enumerate(parent.tolist()[1:], 1):
        taken[node] = flat[node * size + taken[above]]
    return np.array(taken, dtype=np.int64)


def _sections(starts: NDArray[np.bool_], parent: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return for each node the node at which its section starts."""
    section, parents = list(range(len(parent))), parent.tolist()
    for node in np.flatnonzero(~starts).tolist():
        section[node] = section[parents[node]]
    return np.array(section, dtype=np.int32)
