"""A progress bar on a terminal, and nothing in a pipe."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["progress"]

BAR_WIDTH = 30
REFRESH_SECONDS = 0.1

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
