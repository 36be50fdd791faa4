"""Growing boosted trees with scikit-learn, for ``trees.py`` to evaluate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from websegment_scrapy.trees import Trees

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["Boosting", "fit_mean_trees", "fit_trees", "read_trees"]

MAX_BINS = 255
"""Bins of a column, as many as scikit-learn has at most."""


@dataclass(frozen=True, slots=True)
class Boosting:
    """How an ensemble is grown.

    The defaults are those of the segmentation models, chosen once by the log loss on one fifth of
    the labelled pages and not tuned further.
    """

    iterations: int = 100
    leaves: int = 8
    learning_rate: float = 0.08
    features_per_split: float = 0.4
    samples_per_leaf: int = 15
    penalty: float = 1.0


def fit_trees(
    matrix: NDArray[Any],
    target: NDArray[np.bool_],
    *,
    seed: int,
    weight: NDArray[np.float64] | None = None,
    boosting: Boosting | None = None,
) -> Trees:
    """Grow an ensemble that tells whether the target is true.

    The fitted trees are read from ``_predictors``, which scikit-learn does not document; only
    training depends on it, and a test compares the arrays with ``decision_function``.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier

    how = boosting or Boosting()
    model = HistGradientBoostingClassifier(
        max_iter=how.iterations,
        learning_rate=how.learning_rate,
        max_leaf_nodes=how.leaves,
        min_samples_leaf=how.samples_per_leaf,
        l2_regularization=how.penalty,
        max_features=how.features_per_split,
        early_stopping=False,
        random_state=seed,
    )
    model.fit(matrix, target, sample_weight=weight)
    return read_trees(model, leaves=how.leaves)


def fit_mean_trees(
    matrix: NDArray[Any],
    target: NDArray[np.bool_],
    *,
    seeds: Sequence[int],
    weight: NDArray[np.float64],
    boosting: Boosting | None = None,
) -> Trees:
    """Grow an ensemble for each seed; return one that gives the mean of their log odds.

    The columns are put into bins here, by the quantiles of the rows as they are: scikit-learn looks
    for weighted ones, which takes longer than to grow the trees.
    """
    edges = [_edges(column) for column in matrix.T]
    bins = np.empty(matrix.shape, dtype=np.float32)
    for number, (column, own) in enumerate(zip(matrix.T, edges, strict=True)):
        bins[:, number] = np.searchsorted(own, column)
    grown = [fit_trees(bins, target, seed=seed, weight=weight, boosting=boosting) for seed in seeds]
    one = Trees(
        feature=np.concatenate([trees.feature for trees in grown]),
        threshold=np.concatenate([trees.threshold for trees in grown]),
        mask=np.concatenate([trees.mask for trees in grown]),
        value=np.concatenate([trees.value for trees in grown]) / len(grown),
        baseline=sum(trees.baseline for trees in grown) / len(grown),
    )
    limits = [
        edges[column][int(limit)] if np.isfinite(limit) else np.inf
        for column, limit in zip(one.feature.tolist(), one.threshold.tolist(), strict=True)
    ]
    return replace(one, threshold=np.array(limits))


def _edges(column: NDArray[Any]) -> NDArray[np.float64]:
    """Return the limits of a column's bins: what is not above the k-th is in bins up to k."""
    distinct = np.unique(column).astype(np.float64)
    if len(distinct) <= MAX_BINS:
        return (distinct[1:] + distinct[:-1]) / 2
    shares = np.linspace(0.0, 1.0, MAX_BINS + 1)[1:-1]
    return np.unique(np.quantile(column, shares, method="averaged_inverted_cdf"))


def read_trees(model: Any, *, leaves: int = 8) -> Trees:
    """Take the arrays out of a fitted model of trees with at most 8 or 16 leaves."""
    if leaves not in (8, 16):
        raise ValueError(f"trees have at most 8 or 16 leaves, not {leaves}")
    predictors = [iteration[0].nodes for iteration in model._predictors]
    count, splits_each, whole = len(predictors), leaves - 1, 2**leaves - 1
    feature = np.zeros((count, splits_each), dtype=np.int32)
    threshold = np.full((count, splits_each), np.inf)
    mask = np.full((count, splits_each), whole, dtype=np.uint8 if leaves == 8 else np.uint16)
    value = np.zeros((count, leaves))
    for number, nodes in enumerate(predictors):
        splits: list[tuple[int, float, int]] = []
        found: list[float] = []
        _visit(nodes, 0, splits, found)
        value[number, : len(found)] = found
        for position, (column, limit, left) in enumerate(splits):
            feature[number, position] = column
            threshold[number, position] = limit
            mask[number, position] = whole & ~left
    return Trees(
        feature=feature.ravel(),
        threshold=threshold.ravel(),
        mask=mask.ravel(),
        value=value,
        baseline=float(np.ravel(model._baseline_prediction)[0]),
    )


def _visit(nodes: Any, node: int, splits: list[tuple[int, float, int]], leaves: list[float]) -> int:
    """Return the bits of the leaves below a node; leaves are numbered from left to right."""
    if nodes["is_leaf"][node]:
        leaves.append(float(nodes["value"][node]))
        return 1 << len(leaves) - 1
    position = len(splits)
    splits.append((0, 0.0, 0))
    left = _visit(nodes, int(nodes["left"][node]), splits, leaves)
    right = _visit(nodes, int(nodes["right"][node]), splits, leaves)
    column, limit = int(nodes["feature_idx"][node]), float(nodes["num_threshold"][node])
    splits[position] = (column, limit, left)
    return left | right
