"""Structured output SVM by cutting planes (WPS, section 6; Tsochantaridis and others, 2005).

With one slack for all pages (Joachims, Finley and Yu, 2009), squared (SVM₂ of Tsochantaridis)::

    minimise  ½‖w‖² + (C/2) ξ²   subject to   w·g ≥ d − ξ   for every plane (g, d)

A plane is what one labelling of every page asks for: ``g`` is the mean of the differences of their
feature maps to those of the right labellings and ``d`` their mean loss, each weighed by the loss
where the slack is rescaled. There are too many of them, so they are found one by one: the working
set's problem is solved, the most violated labelling of every page under its solution makes the next
plane, until the gap between what all planes would cost and what the working set costs is small. The
slack is the mean of the pages' own slacks, so the solution is also that of the paper's form, whose
slacks count once and not squared, with the trade-off ``C ξ`` (`Solution.linear_trade_off`).

The working set's problem is the one of least distance (Lawson and Hanson, 1974, chapter 23), which
SciPy's ``nnls`` solves exactly: with ``x = (w, √C ξ)`` it is ``min ½‖x‖²`` subject to ``A x ≥ d``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["Plane", "Solution", "fit_structured_svm", "least_distance"]

MAX_PLANES = 1000
"""Real pages need 100 to 300."""

IDLE_ROUNDS = 30
"""A plane that carried no weight for so many rounds leaves the working set; it may come again."""


@dataclass(frozen=True, slots=True, eq=False)
class Plane:
    """``w·g ≥ d − ξ``."""

    gradient: NDArray[np.float64]
    offset: float


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """Weights, and how near they are to the best.

    Attributes
    ----------
    weights
        ``w``.
    slack
        ``ξ`` over all labellings.
    objective, gap
        ``½‖w‖² + (C/2) ξ²``, and by how much at most the best weights are better.
    planes
        Rounds: planes that were found.
    linear_trade_off
        ``C`` of the form with linear slack that has the same solution.
    """

    weights: NDArray[np.float64]
    slack: float
    objective: float
    gap: float
    planes: int
    linear_trade_off: float


def fit_structured_svm(
    most_violated: Callable[[NDArray[np.float64]], Plane],
    size: int,
    *,
    trade_off: float,
    precision: float,
) -> Solution:
    """Find the weights.

    Parameters
    ----------
    most_violated
        Gives the plane that some weights violate most.
    size
        Number of features.
    trade_off
        ``C``.
    precision
        The search ends when the gap is at most this share of the objective.
    """
    weights, lower = np.zeros(size), 0.0
    gradients, offsets, idle = np.zeros((0, size)), np.zeros(0), np.zeros(0, dtype=np.int64)
    best: Solution | None = None
    for planes in range(1, MAX_PLANES + 1):
        plane = most_violated(weights)
        slack = max(plane.offset - float(weights @ plane.gradient), 0.0)
        objective = 0.5 * float(weights @ weights) + 0.5 * trade_off * slack**2
        if best is None or objective < best.objective:
            best = Solution(weights, slack, objective, 0.0, planes, trade_off * slack)
        if best.objective - lower <= precision * best.objective:
            break
        gradients = np.vstack((gradients, plane.gradient))
        offsets, idle = np.append(offsets, plane.offset), np.append(idle, 0)
        weights, multipliers, value = least_distance(gradients, offsets, trade_off)
        lower = max(lower, value)
        idle = np.where(multipliers > 0.0, 0, idle + 1)
        kept = idle < IDLE_ROUNDS
        gradients, offsets, idle = gradients[kept], offsets[kept], idle[kept]
    assert best is not None
    return Solution(
        best.weights,
        best.slack,
        best.objective,
        max(best.objective - lower, 0.0),
        planes,
        best.linear_trade_off,
    )


def least_distance(
    gradients: NDArray[np.float64], offsets: NDArray[np.float64], trade_off: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Solve the problem of a working set.

    Returns
    -------
    tuple
        ``w``, the multiplier of each plane, and the objective.
    """
    from scipy.optimize import nnls

    planes = np.hstack((gradients, np.full((len(offsets), 1), trade_off**-0.5)))
    system = np.vstack((planes.T, offsets))
    target = np.zeros(len(system))
    target[-1] = 1.0
    found, _ = nnls(system, target, maxiter=100 * len(offsets))
    rest = 1.0 - float(offsets @ found)
    multipliers = found / rest
    point = planes.T @ multipliers
    return point[:-1], multipliers, 0.5 * float(point @ point)
