"""Fitting a logistic regression over standardised features with scikit-learn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from websegment_scrapy.model_files import Logistic

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["fit_logistic", "spread_of"]

STRENGTH = 1.0
"""``C``: scikit-learn's default."""


def spread_of(matrix: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean and standard deviation of each column; one that does not vary divides by 1e-6."""
    return matrix.mean(axis=0), np.maximum(matrix.std(axis=0), 1e-6)


def fit_logistic(
    matrix: NDArray[np.float64],
    target: NDArray[np.bool_],
    weight: NDArray[np.float64],
    *,
    iterations: int,
) -> Logistic:
    """Fit the probability of the target; weights count relative to their mean."""
    from sklearn.linear_model import LogisticRegression

    mean, scale = spread_of(matrix)
    model = LogisticRegression(C=STRENGTH, max_iter=iterations)
    model.fit((matrix - mean) / scale, target, weight * len(weight) / weight.sum())
    return Logistic(mean, scale, model.coef_[0].copy(), float(model.intercept_[0]))
