"""How far work has come: a bar on a terminal, now and then a line elsewhere, nothing if quiet."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["counting", "progress", "steps"]

BAR_WIDTH = 30
REFRESH_SECONDS = 0.1
SILENT_SECONDS = 2.0
"""Steps of work that is done sooner are told on a terminal only."""

LINE_SECONDS = 15.0
"""Between two lines where there is no terminal; work that is done sooner says nothing there."""

_T = TypeVar("_T")


class Meter:
    """Says on standard error how many of ``total`` are done; 0: nobody knows how many there are."""

    def __init__(self, total: int, label: str, *, quiet: bool = False) -> None:
        self._total, self._label = total, label
        self._on_terminal = sys.stderr.isatty()
        self._quiet = quiet
        self._began = self._told = time.monotonic()
        self._drawn = False

    def show(self, count: int) -> None:
        """Tell the number, unless that was done a moment ago."""
        now = time.monotonic()
        pause = REFRESH_SECONDS if self._on_terminal else LINE_SECONDS
        last = self._on_terminal and count == self._total
        if self._quiet or (now - self._told < pause and not last):
            return
        self._told = now
        said = f"{count}{f'/{self._total}' if self._total else ''} {self._label}"
        said += self._pace(count, now - self._began)
        if not self._on_terminal:
            print(said, file=sys.stderr, flush=True)
            return
        self._drawn = True
        bar = ""
        if self._total:
            filled = min(BAR_WIDTH * count // self._total, BAR_WIDTH)
            bar = f"[{'#' * filled}{' ' * (BAR_WIDTH - filled)}] "
        print(f"\r\x1b[K{bar}{said}", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        """Leave the line."""
        if self._drawn:
            print(file=sys.stderr)

    def _pace(self, count: int, seconds: float) -> str:
        """Return how many a second, and how long the rest takes at this pace."""
        if seconds < SILENT_SECONDS or not count:
            return ""
        left = max(self._total - count, 0) * seconds / count
        return f", {count / seconds:.1f}/s" + (f", {_duration(left)} left" if left else "")


def progress(
    values: Iterable[_T], total: int, label: str = "pages", *, quiet: bool = False
) -> Iterator[_T]:
    """Pass values on and say how many of ``total`` have come."""
    if total < 2:
        yield from values
        return
    meter = Meter(total, label, quiet=quiet)
    try:
        for count, value in enumerate(values, start=1):
            yield value
            meter.show(count)
    finally:
        meter.end()


@contextmanager
def counting(label: str, *, quiet: bool = False) -> Iterator[Callable[[int], None]]:
    """Give a function that is told how many are done, of a number that nobody knows."""
    meter = Meter(0, label, quiet=quiet)
    try:
        yield meter.show
    finally:
        meter.end()


@contextmanager
def steps(label: str, *, quiet: bool = False) -> Iterator[Callable[[str], None]]:
    """Give a function that is told which step is under way, for work that cannot be counted."""
    began = time.monotonic()
    on_terminal = sys.stderr.isatty()

    def say(step: str) -> None:
        passed = time.monotonic() - began
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


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
