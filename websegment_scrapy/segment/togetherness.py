"""How likely two leaves are in one segment, by the row at which they part.

Two answers, each from boosted trees over the rows of the feature matrix, and their mean as log
odds:

- **From below.** ``s_u`` is the probability that row ``u`` is the row of a segment. A leaf belongs
  to the nearest segment above it, so two leaves that part at ``v`` are together when no row below
  ``v`` on either way is a segment's: ``Π (1 − s_u)`` over both ways. With ``R_c`` the mean of the
  product over the leaves of child ``c``, itself included, and ``n_c`` leaves, the mean over all
  pairs is

      Σ_{a<b} n_a n_b R_a R_b / Σ_{a<b} n_a n_b ,   2 Σ_{a<b} x_a x_b = (Σ x)² − Σ x²

- **From above.** The trees say it of ``v`` itself: the share of the pairs of leaves that part there
  and are in one segment.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from websegment_scrapy.page.subtrees import range_sums
from websegment_scrapy.trees import logistic

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from websegment_scrapy.page.skeleton import Skeleton

__all__ = ["OTHER_LEAF", "PartingPairs", "parting_pairs", "survival", "together"]

OTHER_LEAF = 0.3
"""Weight of a leaf that is no text: an image follows the text around it."""

SURE = 1e-4
"""Probabilities are not trusted beyond this."""


@dataclass(frozen=True, slots=True, eq=False)
class PartingPairs:
    """The pairs of leaves by where they part.

    Attributes
    ----------
    skeleton
        The page's rows.
    weight
        The leaves below each row, by their weights.
    number
        The pairs of leaves that part at each inner row; a pair counts the product of the weights.
    """

    skeleton: Skeleton
    weight: NDArray[np.float64]
    number: NDArray[np.float64]

    def across(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``Σ_{a<b} x_a x_b`` over the children of each inner row, ``x`` of every row."""
        skeleton = self.skeleton
        below = np.flatnonzero(skeleton.parent >= 0)
        parent = skeleton.parent[below]
        total = np.bincount(parent, values[below], skeleton.inner)
        square = np.bincount(parent, values[below] ** 2, skeleton.inner)
        return np.asarray((total**2 - square) / 2)


def parting_pairs(skeleton: Skeleton, leaf_weight: NDArray[np.float64]) -> PartingPairs:
    """Count the pairs of leaves that part at each inner row."""
    weight = range_sums(leaf_weight, skeleton.low, skeleton.high).astype(np.float64)
    counted = PartingPairs(skeleton, weight, weight)
    return PartingPairs(skeleton, weight, counted.across(weight))


def survival(skeleton: Skeleton, segment: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ``R`` of each row: the mean over its leaves of ``Π (1 − s)`` from leaf to row."""
    inner = skeleton.inner
    keep = (1.0 - segment).tolist()
    parent = skeleton.parent.tolist()
    sums = [0.0] * inner + keep[inner:]
    for row in range(len(keep) - 1, -1, -1):
        if row < inner:
            sums[row] *= keep[row]
        if (above := parent[row]) >= 0:
            sums[above] += sums[row]
    return np.asarray(np.array(sums) / np.maximum(skeleton.high - skeleton.low, 1))


def together(
    pairs: PartingPairs, segment: NDArray[np.float64], share: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the probability that two leaves are in one segment, by the inner row they part at.

    Parameters
    ----------
    pairs
        The page.
    segment
        Log odds of each row to be the row of a segment.
    share
        Log odds of each inner row that leaves that part there are together.
    """
    alive = survival(pairs.skeleton, logistic(segment)) * pairs.weight
    number = np.maximum(pairs.number, SURE)
    below = np.clip(pairs.across(alive) / number, SURE, 1.0 - SURE)
    return logistic((np.log(below / (1.0 - below)) + share) / 2)
