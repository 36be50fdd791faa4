"""Limits of processor time that a busy machine does not break.

What is slow by its nature is slow each time; what was only disturbed is not. So a limit is broken
when none of several runs keeps it.
"""

from __future__ import annotations

import time
from collections.abc import Callable

TRIES = 5
MEASURABLE = 0.004
"""Seconds below which nothing is said of growth."""

MOST_GROWTH = 40
"""Ten times as much input may take ten times as long; with a square it would be a hundred."""


def cpu_seconds(action: Callable[[], object]) -> float:
    """Return the processor time of one run."""
    began = time.process_time()
    action()
    return time.process_time() - began


def takes_under(limit: float, action: Callable[[], object]) -> bool:
    """Return whether a run takes less than that many seconds of processor time."""
    return any(cpu_seconds(action) < limit for _ in range(TRIES))


def grows_linearly(
    action: Callable[[int], Callable[[], object]], sizes: tuple[int, int], limit: float
) -> bool:
    """Return whether ten times the size takes about ten times as long, and less than the limit.

    `action` makes, outside of the measured time, what is run for a size.
    """
    small, large = (action(size) for size in sizes)
    least_small = least_large = float("inf")
    for _ in range(TRIES):
        least_small = min(least_small, cpu_seconds(small))
        least_large = min(least_large, cpu_seconds(large))
        if least_large < limit and (
            least_large < MEASURABLE or least_large < MOST_GROWTH * max(least_small, 1e-4)
        ):
            return True
    return False
