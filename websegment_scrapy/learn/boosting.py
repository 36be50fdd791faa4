"""Growing boosted trees with scikit-learn, for ``segment/trees.py`` to evaluate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from websegment_scrapy.segment.trees import MAX_LEAVES, SPLITS, Trees

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["fit_trees", "read_trees"]

LEARNING_RATE = 0.08
ITERATIONS = 100
FEATURES_PER_SPLIT = 0.4
SAMPLES_PER_LEAF = 15
PENALTY = 1.0
"""Chosen once by the log loss on one fifth of the labelled pages; not tuned further."""


def fit_trees(matrix: NDArray[np.float64], target: NDArray[np.bool_], *, seed: int) -> Trees:
    """Grow an ensemble that tells the rows of ``target`` from the others.

    The fitted trees are read from ``_predictors``, which scikit-learn does not document; only
    training depends on it, and a test compares the arrays with ``decision_function``.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(
        max_iter=ITERATIONS,
        learning_rate=LEARNING_RATE,
        max_leaf_nodes=MAX_LEAVES,
        min_samples_leaf=SAMPLES_PER_LEAF,
        l2_regularization=PENALTY,
        max_features=FEATURES_PER_SPLIT,
        early_stopping=False,
        random_state=seed,
    )
    model.fit(matrix, target)
    return read_trees(model)


def read_trees(model: Any) -> Trees:
    """Take the arrays out of a fitted ``HistGradientBoostingClassifier``."""
    predictors = [iteration[0].nodes for iteration in model._predictors]
    count = len(predictors)
    feature = np.zeros((count, SPLITS), dtype=np.int32)
    threshold = np.full((count, SPLITS), np.inf)
    mask = np.full((count, SPLITS), 255, dtype=np.uint8)
    value = np.zeros((count, MAX_LEAVES))
    for number, nodes in enumerate(predictors):
        splits: list[tuple[int, float, int]] = []
        leaves: list[float] = []
        _visit(nodes, 0, splits, leaves)
        value[number, : len(leaves)] = leaves
        for position, (column, limit, left) in enumerate(splits):
            feature[number, position] = column
            threshold[number, position] = limit
            mask[number, position] = 255 & ~left
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
