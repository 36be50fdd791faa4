"""A figure that was measured several times: its median and its quartiles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Spread"]


@dataclass(frozen=True, slots=True)
class Spread:
    """The median of several measurements, and between what the middle half of them is."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Sum values up; there must be at least one."""
        low, median, high = np.percentile(values, (25, 50, 75)).tolist()
        return cls(median, low, high)

    def shown(self, digits: int = 1) -> str:
        """Return the median with the quartiles behind it."""
        return f"{self.median:.{digits}f} ({self.low:.{digits}f}–{self.high:.{digits}f})"
