"""A progress bar on a terminal, and nothing in a pipe."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["progress", "steps"]

BAR_WIDTH = 30
REFRESH_SECONDS = 0.1
SILENT_SECONDS = 2.0
"""Work that is done sooner says nothing of itself in a pipe."""

_T = TypeVar("_T")


def progress(values: Iterable[_T], total: int, label: str = "pages") -> Iterator[_T]:
    """Pass values on and draw on standard error how many of ``total`` have come."""
    if not sys.stderr.isatty() or total < 2:
        yield from values
        return
    drawn = 0.0
    for count, value in enumerate(values, start=1):
        yield value
        if (now := time.monotonic()) - drawn > REFRESH_SECONDS or count == total:
            drawn = now
            filled = BAR_WIDTH * count // total
            bar = "#" * filled + " " * (BAR_WIDTH - filled)
            print(f"\r[{bar}] {count}/{total} {label}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)


@contextmanager
def steps(label: str, *, quiet: bool = False) -> Iterator[Callable[[str], None]]:
    """Draw on standard error which step is under way, for work that cannot be counted.

    In a pipe a step is a line of its own, once the work has taken `SILENT_SECONDS`.
    """
    started = time.monotonic()
    on_terminal = sys.stderr.isatty()

    def say(step: str) -> None:
        passed = time.monotonic() - started
        if quiet:
            return
        if on_terminal:
            print(f"\r\x1b[K{label}: {step} …", end="", file=sys.stderr, flush=True)
        elif passed > SILENT_SECONDS:
            print(f"{label}: {step}, {passed:.0f} s", file=sys.stderr, flush=True)

    try:
        yield say
    finally:
        if on_terminal and not quiet:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
