"""The metric in which a leaf is close to its own label: LMNN within one page.

Weinberger, Blitzer and Saul (2006), with the GCuts paper's use of it (section 4.3) made direct: the
labelled pages tell which node is the label of each leaf, so the **target neighbour** of a leaf is
that node, and its **impostors** are the other nodes whose label it could carry, all of one page.
With ``d²(p, α) = ‖A(φ_p − φ_α)‖² + a²·c_α + b²·t_pα`` the loss of one leaf ``p`` of label ``α*`` is

    μ·d²(p, α*) + (1 − μ)·Σ_impostors max(0, 1 + d²(p, α*) − d²(p, α))²

and a page's loss is the mean over its leaves. ``c_α = −log P(α is a segment)`` is a coordinate that
is 0 for leaves, and ``t_pα`` is the way along the tree from ``p`` up to ``α`` (the sum over the
rows between of ``−log P(row is no segment)``), so ``d`` is a Mahalanobis distance in a space that
has the tree in it. SciPy's L-BFGS minimises; the squared hinge makes the loss smooth.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from websegment_scrapy.segment.model import Metric

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["Triplets", "fit_lmnn"]

RANK = 10
"""Rows of ``A``: distances are taken in this many dimensions."""

PULL = 0.1
"""``μ``."""

SHRINK = 0.05
"""Penalty on ``‖A‖²``: 33 columns, 60 pages."""

MAX_ITERATIONS = 60
"""Of L-BFGS. All of these are what the shipped models were made with; no search over them is on
record."""

LEAVES_PER_PAGE = 60
"""Leaves taken of each page, spread evenly."""


@dataclass(frozen=True, slots=True, eq=False)
class Triplets:
    """Candidates of the leaves of one page, flat: one entry for each leaf and label.

    ``leaf`` numbers the leaves 0, 1, … in ascending order; ``target`` marks each leaf's own label.
    """

    leaf: NDArray[np.int64]
    difference: NDArray[np.float64]
    label: NDArray[np.float64]
    path: NDArray[np.float64]
    target: NDArray[np.bool_]


def fit_lmnn(pages: Sequence[Triplets], *, rank: int = RANK) -> Metric:
    """Learn a metric from the leaves of labelled pages."""
    from scipy.optimize import minimize

    joined = _join(pages)
    dimensions = joined.difference.shape[1]
    start = np.concatenate((0.1 * np.eye(rank, dimensions).ravel(), [1.0, 1.0]))
    found = minimize(
        _flat_loss,
        start,
        args=(joined, rank),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": MAX_ITERATIONS},
    )
    return _unflatten(found.x, rank)


@dataclass(frozen=True, slots=True, eq=False)
class _Joined:
    """The entries of all pages, targets repeated beside their impostors."""

    difference: NDArray[np.float64]
    label: NDArray[np.float64]
    path: NDArray[np.float64]
    target: NDArray[np.int64]
    impostor: NDArray[np.int64]
    own: NDArray[np.int64]
    target_weight: NDArray[np.float64]
    weight: NDArray[np.float64]


def _join(pages: Sequence[Triplets]) -> _Joined:
    targets, impostors, owns, target_weights, weights = [], [], [], [], []
    offset = 0
    for page in pages:
        own = np.flatnonzero(page.target)
        leaves = len(own)
        target_of = np.full(int(page.leaf.max(initial=-1)) + 1, -1, dtype=np.int64)
        target_of[page.leaf[own]] = own
        other = np.flatnonzero(~page.target & (target_of[page.leaf] >= 0))
        targets.append(offset + target_of[page.leaf[other]])
        impostors.append(offset + other)
        owns.append(offset + own)
        target_weights.append(np.full(leaves, 1.0 / max(leaves, 1) / len(pages)))
        weights.append(np.full(len(other), 1.0 / max(leaves, 1) / len(pages)))
        offset += len(page.leaf)
    return _Joined(
        difference=np.concatenate([page.difference for page in pages]),
        label=np.concatenate([page.label for page in pages]),
        path=np.concatenate([page.path for page in pages]),
        target=np.concatenate(targets),
        impostor=np.concatenate(impostors),
        own=np.concatenate(owns),
        target_weight=np.concatenate(target_weights),
        weight=np.concatenate(weights),
    )


def _flat_loss(
    flat: NDArray[np.float64], data: _Joined, rank: int
) -> tuple[float, NDArray[np.float64]]:
    transform = flat[:-2].reshape(rank, -1)
    a, b = flat[-2:]
    projected = data.difference @ transform.T
    squared = (projected**2).sum(axis=1) + a * a * data.label + b * b * data.path
    hinge = np.maximum(1.0 + squared[data.target] - squared[data.impostor], 0.0)
    loss = PULL * float(data.target_weight @ squared[data.own])
    loss += (1 - PULL) * float(data.weight @ hinge**2) + SHRINK * float((transform**2).sum())
    slope = np.zeros(len(squared))
    slope[data.own] = PULL * data.target_weight
    push = 2 * (1 - PULL) * data.weight * hinge
    slope += np.bincount(data.target, weights=push, minlength=len(slope))
    slope[data.impostor] -= push
    gradient = 2 * (projected * slope[:, None]).T @ data.difference + 2 * SHRINK * transform
    ends = [2 * a * float(slope @ data.label), 2 * b * float(slope @ data.path)]
    return loss, np.concatenate((gradient.ravel(), ends))


def _unflatten(flat: NDArray[np.float64], rank: int) -> Metric:
    return Metric(flat[:-2].reshape(rank, -1), float(flat[-2] ** 2), float(flat[-1] ** 2))
