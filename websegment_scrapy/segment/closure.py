"""Maximum-weight closure by one minimum cut: the best labelling of a WPS-graph (section 5).

Every vertex is worth ``f`` (more or less than nothing) when it is chosen, and it can be chosen only
with all that it depends on::

    maximise Σ f_b x_b   subject to   x_b ≤ x_a for every edge (b, a),   x ∈ {0, 1}

The paper relaxes it to a linear program, whose matrix is totally unimodular, and hands that to the
simplex algorithm. It is a maximum-weight closure, and so a minimum cut (Picard, 1976): chosen is
what lies on the sink's side, ``s → b`` of ``−f`` where ``f < 0``, ``b → t`` of ``f`` where
``f > 0``, and ``a → b`` of infinite capacity for every edge. Of several optimal closures the
smallest is returned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import maxflow
import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["hopeful", "maximum_closure"]


def maximum_closure(weight: NDArray[np.float64], edges: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Say of each vertex whether it belongs to the closure of the greatest weight.

    Parameters
    ----------
    weight
        ``f`` of each vertex, finite.
    edges
        Pairs ``(b, a)``: ``b`` can be chosen only with ``a``.
    """
    chosen = np.zeros(len(weight), dtype=bool)
    kept = np.flatnonzero(hopeful(weight, edges))
    if not len(kept):
        return chosen
    number = np.full(len(weight), -1, dtype=np.int64)
    number[kept] = np.arange(len(kept))
    inside = edges[number[edges[:, 0]] >= 0]  # what a kept vertex depends on is kept too
    gain = weight[kept]
    graph = maxflow.GraphFloat(len(kept), len(inside))
    nodes = graph.add_grid_nodes(len(kept))
    graph.add_grid_tedges(nodes, np.maximum(-gain, 0.0), np.maximum(gain, 0.0))
    if len(inside):
        endless = np.full(len(inside), float(np.abs(gain).sum() + 1.0))
        graph.add_edges(number[inside[:, 1]], number[inside[:, 0]], endless, np.zeros(len(inside)))
    graph.maxflow()
    chosen[kept] = graph.get_grid_segments(nodes)
    return chosen


def hopeful(weight: NDArray[np.float64], edges: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Leave out vertices that cost something and that nothing hopeful depends on (section 5).

    Such a vertex is in no smallest optimal closure, and once it is gone others may be such.
    """
    found: NDArray[np.bool_] = weight > 0.0
    while len(edges):
        waiting = edges[found[edges[:, 0]] & ~found[edges[:, 1]], 1]
        if not len(waiting):
            break
        found[waiting] = True
    return found
