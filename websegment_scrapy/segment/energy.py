"""The energy of a segmentation: a nested Pⁿ-Potts model over the leaves (GCuts, sections 3 and 4).

With leaf labels ``f``, the inner rows ``u`` of the skeleton and their leaves ``Λ(u)``::

    E(f) = Σ_leaves D_p(f_p) + Σ_neighbours V_pq [f_p ≠ f_q]
         + Σ_inner u  (D_u(α) if f ≡ α on Λ(u), else M_u)

The rendering constraint (section 3) makes a node visible with label α exactly when all leaves below
it carry α; otherwise it is invisible and costs ``M_u``, its own cost of invisibility and its edges
to its children. ``D_u(α) ≤ M_u`` always: a node that would rather be invisible is.

A label may be used inside its **domain** only, the subtree of one row; elsewhere it costs
infinitely much. Costs are kept for the domains alone, which is what makes large pages cheap.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from websegment_scrapy.page.subtrees import uniform_ranges

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from websegment_scrapy.page.skeleton import Skeleton

__all__ = ["Energy", "Terms", "domain_sizes", "make_energy"]


@dataclass(frozen=True, slots=True)
class Terms:
    """An energy's terms: leaves, neighbours, nodes that are visible and nodes that are not."""

    leaves: float
    neighbours: float
    visible: float
    invisible: float

    @property
    def total(self) -> float:
        """The energy."""
        return self.leaves + self.neighbours + self.visible + self.invisible


@dataclass(frozen=True, slots=True, eq=False)
class Energy:
    """The costs of one page.

    Attributes
    ----------
    skeleton
        Leaves and inner rows.
    domain
        The row of each label's domain.
    leaf_cost, leaf_start
        ``D_p(α)`` of label α for the leaves of its domain from position ``leaf_start[α]`` on.
    node_cost, node_start
        ``D_u(α)`` for the inner rows of the domain, likewise; at most ``mixed``.
    mixed
        ``M_u`` of each inner row.
    neighbour_start, neighbour, weight
        The neighbours of leaf ``p`` and their ``λ·V_pq`` from position ``neighbour_start[p]`` on;
        each pair stands there twice.
    """

    skeleton: Skeleton
    domain: NDArray[np.int32]
    leaf_cost: NDArray[np.float64]
    leaf_start: NDArray[np.int64]
    node_cost: NDArray[np.float64]
    node_start: NDArray[np.int64]
    mixed: NDArray[np.float64]
    neighbour_start: NDArray[np.int64]
    neighbour: NDArray[np.int32]
    weight: NDArray[np.float64]

    @property
    def labels(self) -> int:
        """Number of labels."""
        return len(self.domain)

    def leaf_costs(
        self, leaves: NDArray[np.int32], labels: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        """Return ``D_p(f_p)`` of leaves with labels whose domains they are in."""
        first = self.skeleton.low[self.domain[labels]]
        return np.asarray(self.leaf_cost[self.leaf_start[labels] + leaves - first])

    def node_costs(self, rows: NDArray[np.int32], labels: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return ``D_u(α)`` of inner rows with labels whose domains they are in."""
        place = self.node_start[labels] + rows - self.domain[labels]
        return np.asarray(self.node_cost[place])

    def uniform(self, labels: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Say of each inner row whether all leaves below it carry one label."""
        inner = self.skeleton.inner
        return uniform_ranges(labels, self.skeleton.low[:inner], self.skeleton.high[:inner])

    def terms(self, labels: NDArray[np.int32]) -> Terms:
        """Return the terms of ``E(f)``."""
        leaves = np.arange(len(labels), dtype=np.int32)
        owner = np.repeat(leaves, np.diff(self.neighbour_start))
        cut = labels[owner] != labels[self.neighbour]
        uniform = self.uniform(labels)
        rows = np.flatnonzero(uniform).astype(np.int32)
        visible = self.node_costs(rows, labels[self.skeleton.low[rows]])
        return Terms(
            leaves=float(self.leaf_costs(leaves, labels).sum()),
            neighbours=float(self.weight[cut].sum() / 2),
            visible=float(visible.sum()),
            invisible=float(self.mixed[~uniform].sum()),
        )

    def nearest(self) -> NDArray[np.int32]:
        """Return the cheapest label of each leaf; of equal ones the one with the lowest domain."""
        sizes = domain_sizes(self.skeleton, self.domain)[0]
        label = np.repeat(np.arange(self.labels, dtype=np.int32), sizes)
        first = self.skeleton.low[self.domain] - self.leaf_start
        leaf = np.arange(len(label)) + np.repeat(first, sizes)
        order = np.lexsort((-self.domain[label], self.leaf_cost, leaf))
        start = np.searchsorted(leaf[order], np.arange(self.skeleton.leaves))
        return label[order[start]]


def make_energy(
    skeleton: Skeleton,
    domain: NDArray[np.int32],
    leaf_cost: NDArray[np.float64],
    node_cost: NDArray[np.float64],
    mixed: NDArray[np.float64],
    pairs: NDArray[np.int32],
    weights: NDArray[np.float64],
) -> Energy:
    """Put the costs of a page together.

    Parameters
    ----------
    skeleton
        Leaves and inner rows.
    domain
        The row of each label's domain; every leaf must be in some domain.
    leaf_cost, node_cost
        The costs of the leaves and of the inner rows of each label's domain, in order, label after
        label.
    mixed
        ``M_u``; node costs above it are lowered to it.
    pairs, weights
        Neighbouring leaves, each pair once, and their ``λ·V_pq``, not negative.
    """
    leaf_sizes, node_sizes = domain_sizes(skeleton, domain)
    starts = np.cumsum(node_sizes) - node_sizes
    rows = np.repeat(domain - starts, node_sizes) + np.arange(len(node_cost))
    ends = np.concatenate((pairs[:, 0], pairs[:, 1]))
    others = np.concatenate((pairs[:, 1], pairs[:, 0]))
    order = np.lexsort((others, ends))
    return Energy(
        skeleton=skeleton,
        domain=domain,
        leaf_cost=leaf_cost,
        leaf_start=np.cumsum(leaf_sizes) - leaf_sizes,
        node_cost=np.minimum(node_cost, mixed[rows]) if len(rows) else node_cost,
        node_start=starts,
        mixed=mixed,
        neighbour_start=np.searchsorted(ends[order], np.arange(skeleton.leaves + 1)),
        neighbour=others[order].astype(np.int32),
        weight=np.concatenate((weights, weights))[order],
    )


def domain_sizes(
    skeleton: Skeleton, domain: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the numbers of leaves and of inner rows in each domain."""
    leaves = (skeleton.high[domain] - skeleton.low[domain]).astype(np.int64)
    nodes = np.zeros(len(domain), dtype=np.int64)
    inner = domain < skeleton.inner
    nodes[inner] = skeleton.end[domain[inner]] - domain[inner]
    return leaves, nodes
