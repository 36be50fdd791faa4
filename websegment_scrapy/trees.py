"""Boosted trees as plain arrays, evaluated with bit masks.

Trees are grown when a model is trained (``learn/boosting.py``); a model file holds their splits as
numbers. Each tree has at most 8 or at most 16 leaves, so its leaves fit in the bits of one or two
bytes: a split that sends a row to the right clears the leaves on its left, and the lowest bit left
after all splits is the row's leaf (QuickScorer, Lucchese and others, 2015). All splits of all trees
are then one comparison of arrays.

Thresholds of a model file are single precision. A number is above one of them exactly when it is so
rounded up to single precision: half of the memory is then read for the same answer.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = ["Trees", "logistic"]

COMPARED_AT_ONCE = 200_000
"""Comparisons made at once: their arrays stay in a core's cache."""


def logistic(odds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probabilities of log odds, which count between -30 and 30."""
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(odds, -30.0, 30.0))))


@dataclass(frozen=True, slots=True, eq=False)
class _Splits:
    """The splits of all trees in the order in which they are compared.

    First splits of all trees, then second ones and so on: the masks of a tree's splits are joined
    by operations on whole arrays.

    Attributes
    ----------
    feature, threshold
        As those of `Trees`.
    cleared
        The leaves that each split takes away, eight to a byte.
    is_single
        Whether the thresholds are numbers of single precision.
    """

    feature: NDArray[np.intp]
    threshold: NDArray[np.float64] | NDArray[np.float32]
    cleared: tuple[NDArray[np.uint8], ...]
    is_single: bool

    @classmethod
    def of(cls, trees: Trees) -> _Splits:
        count, leaves = trees.value.shape
        order = np.arange(len(trees.feature)).reshape(count, leaves - 1).T.ravel()
        threshold = trees.threshold[order]
        single = threshold.astype(np.float32)
        is_single = bool((single == threshold).all())
        cleared = ~trees.mask[order]
        return cls(
            feature=trees.feature[order].astype(np.intp),
            threshold=single if is_single else threshold,
            cleared=tuple(
                (cleared >> shift & 0xFF).astype(np.uint8)[:, None] for shift in range(0, leaves, 8)
            ),
            is_single=is_single,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Trees:
    """An ensemble: for two classes the log odds of the second, otherwise a number.

    Attributes
    ----------
    feature, threshold, mask
        One less than there are leaves for each tree: a row whose feature is above the threshold
        keeps only the leaves in the mask. Trees with fewer splits are filled up with splits that no
        row passes.
    value
        Of 8 or 16 leaves for each tree: what it adds.
    baseline
        What it is added to.
    """

    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    mask: NDArray[np.uint8] | NDArray[np.uint16]
    value: NDArray[np.float64]
    baseline: float
    _splits: _Splits = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_splits", _Splits.of(self))

    def log_odds(self, matrix: NDArray[Any]) -> NDArray[np.float64]:
        """Return the sum over the trees for every row of a feature matrix."""
        splits, (count, leaves) = self._splits, self.value.shape
        columns = np.ascontiguousarray(matrix.T)
        if splits.is_single and columns.dtype == np.float64:
            columns = _rounded_up(columns)
        threshold = splits.threshold.astype(columns.dtype)[:, None]
        first_leaf, lowest = leaves * np.arange(count), _lowest_unset(leaves)
        found = np.empty(len(matrix))
        step = max(1, COMPARED_AT_ONCE // max(len(splits.feature), 1))
        for start in range(0, len(matrix), step):
            passed = columns[:, start : start + step].take(splits.feature, axis=0) > threshold
            taken = None
            for number, cleared in enumerate(splits.cleared):
                masks = (passed.view(np.uint8) * cleared).reshape(leaves - 1, count, -1)
                byte = np.bitwise_or.reduce(masks, axis=0)
                taken = byte if taken is None else taken | byte.astype(np.uint16) << 8 * number
            assert taken is not None
            leaf = lowest.take(taken.T)
            leaf += first_leaf
            # Summed along the trees of a row, so that the order of the sum is always the same.
            found[start : start + step] = self.value.take(leaf).sum(axis=1)
        return found + self.baseline

    def probability(self, matrix: NDArray[Any]) -> NDArray[np.float64]:
        """Return the probability of the second class for every row."""
        return logistic(self.log_odds(matrix))

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


def _rounded_up(values: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return for each number the least one of single precision that is not below it."""
    with np.errstate(over="ignore"):
        nearest = values.astype(np.float32)
    # As whole numbers, floats are one apart from the next: away from zero, and here up.
    bits = nearest.view(np.int32)
    bits += (nearest < values) * (1 | bits >> 31)
    return nearest


@cache
def _lowest_unset(bits: int) -> NDArray[np.int64]:
    """Return the position of the lowest bit that is not set, of every number of so many bits.

    Where all are set it is 0: no tree has such a row.
    """
    numbers = np.arange(2**bits)
    free = ~numbers & (numbers + 1)
    lowest: NDArray[np.int64] = np.log2(free).astype(np.int64)
    lowest[-1] = 0
    return lowest
