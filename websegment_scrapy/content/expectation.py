"""How good a main text can be expected to be: its score.

The blocks promise an F1: that of keeping the chosen ones, with each block's probability as the
share of it that is main text. Blocks are not independent, so the promise is too high on some pages
and too low on others. What is reached where that much is promised is measured when the model is
trained, on pages that it has not seen, and never falls when more is promised (isotonic regression).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = ["Expectation", "promised"]

_UNCALIBRATED = np.array([0.0, 1.0])


def promised(
    words: NDArray[np.float64], probability: NDArray[np.float64], kept: NDArray[np.bool_]
) -> float:
    """Return the F1 that the probabilities of blocks promise for keeping some of them.

    With whether each block is main text instead of its probability, it is the F1 that is reached.
    """
    likely = probability * words
    total = float(words[kept].sum() + likely.sum())
    return 2.0 * float(likely[kept].sum()) / total if total else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Expectation:
    """What was reached on unseen pages where so much was promised; in between it is interpolated.

    Attributes
    ----------
    promise, reached
        F1s, both rising.
    """

    promise: NDArray[np.float64]
    reached: NDArray[np.float64]

    @classmethod
    def uncalibrated(cls) -> Expectation:
        """Return one that takes promises for what is reached."""
        return cls(_UNCALIBRATED, _UNCALIBRATED)

    def score(self, promise: float) -> float:
        """Return the F1 to expect."""
        return float(np.interp(promise, self.promise, self.reached))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of a model file."""
        return {"expected_promise": self.promise, "expected_reached": self.reached}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Expectation:
        """Read what ``to_arrays`` wrote."""
        return cls(
            arrays["expected_promise"].astype(np.float64),
            arrays["expected_reached"].astype(np.float64),
        )
