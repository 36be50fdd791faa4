"""Boosted trees as plain arrays, evaluated with bit masks.

Trees are grown when a model is trained (``learn/boosting.py``); a model file holds their splits as
numbers. Each tree has at most eight leaves, so its leaves fit in
the bits of one byte: a split that sends a row to the right clears the leaves on its left, and the
lowest bit left after all splits is the row's leaf (QuickScorer, Lucchese and others, 2015). All
splits of all trees are then one comparison of arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = ["MAX_LEAVES", "SPLITS", "Trees"]

MAX_LEAVES = 8
SPLITS = MAX_LEAVES - 1
ROWS_AT_ONCE = 1024
"""Rows compared at once, which bounds the memory."""

_LOWEST_BIT = np.array([(value & -value).bit_length() - 1 for value in range(256)], dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Trees:
    """An ensemble for two classes.

    Attributes
    ----------
    feature, threshold, mask
        ``SPLITS`` for each tree: a row whose feature is above the threshold keeps only the leaves
        in the mask. Trees with fewer splits are filled up with splits that no row passes.
    value
        Of ``MAX_LEAVES`` leaves for each tree: what it adds to the log odds.
    baseline
        Log odds to begin with.
    """

    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    mask: NDArray[np.uint8]
    value: NDArray[np.float64]
    baseline: float

    def log_odds(self, matrix: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the log odds of every row of a feature matrix."""
        count = self.value.shape[0]
        tree = np.arange(count)
        found = np.empty(len(matrix))
        for start in range(0, len(matrix), ROWS_AT_ONCE):
            rows = matrix[start : start + ROWS_AT_ONCE]
            masks = np.where(rows[:, self.feature] > self.threshold, self.mask, np.uint8(255))
            bits = np.bitwise_and.reduce(masks.reshape(len(rows), count, SPLITS), axis=2)
            found[start : start + len(rows)] = self.value[tree, _LOWEST_BIT[bits]].sum(axis=1)
        return found + self.baseline

    def to_arrays(self, prefix: str) -> dict[str, NDArray[Any]]:
        """Return the arrays of a model file."""
        return {
            f"{prefix}_feature": self.feature,
            f"{prefix}_threshold": self.threshold,
            f"{prefix}_mask": self.mask,
            f"{prefix}_value": self.value,
            f"{prefix}_baseline": np.array(self.baseline),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], prefix: str) -> Trees:
        """Read what ``to_arrays`` wrote."""
        return cls(
            feature=arrays[f"{prefix}_feature"],
            threshold=arrays[f"{prefix}_threshold"].astype(np.float64),
            mask=arrays[f"{prefix}_mask"],
            value=arrays[f"{prefix}_value"].astype(np.float64),
            baseline=float(arrays[f"{prefix}_baseline"]),
        )
