"""How far work has come: a bar on a terminal, now and then a line elsewhere, nothing if quiet."""

from __future__ import annotations

import sys
import threading
import time
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["IS_QUIET", "arriving", "counting", "progress", "steps"]

IS_QUIET: ContextVar[bool] = ContextVar("IS_QUIET", default=False)
"""Whether nothing is to be said: ``--quiet`` of the command that runs."""

BAR_WIDTH = 30
REFRESH_SECONDS = 0.1
SILENT_SECONDS = 2.0
"""Steps of work that is done sooner are told on a terminal only."""

LINE_SECONDS = 15.0
"""Between two lines where there is no terminal; work that is done sooner says nothing there."""

TICK_SECONDS = 1.0
"""Between two tellings of a step on a terminal."""

_T = TypeVar("_T")
_NOTHING: Any = object()


class Meter:
    """Says on standard error how many of ``total`` are done; 0: nobody knows how many there are."""

    def __init__(self, total: int, label: str) -> None:
        self._total, self._label = total, label
        self._on_terminal = sys.stderr.isatty()
        self._quiet = IS_QUIET.get()
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


def progress(values: Iterable[_T], total: int, label: str = "pages") -> Iterator[_T]:
    """Pass values on and say how many of ``total`` have come."""
    if total < 2:
        yield from values
        return
    meter = Meter(total, label)
    try:
        for count, value in enumerate(values, start=1):
            yield value
            meter.show(count)
    finally:
        meter.end()


@contextmanager
def counting(label: str, total: int = 0) -> Iterator[Callable[[int], None]]:
    """Give a function that is told how many are done; 0: nobody knows of how many."""
    meter = Meter(total, label)
    try:
        yield meter.show
    finally:
        meter.end()


@contextmanager
def steps(label: str) -> Iterator[Callable[[str], None]]:
    """Give a function that is told which step is under way, for work that cannot be counted.

    A thread says from time to time how long it takes: a step may be one statement of a database.
    """
    began = time.monotonic()
    on_terminal, quiet = sys.stderr.isatty(), IS_QUIET.get()
    current, is_over, lock = [""], threading.Event(), threading.Lock()

    def tell() -> None:
        passed = time.monotonic() - began
        with lock:
            if is_over.is_set() or not current[0]:
                return
            if on_terminal:
                taking = f" {_duration(passed)}" if passed > SILENT_SECONDS else ""
                said = f"\r\x1b[K{label}: {current[0]} …{taking}"
                print(said, end="", file=sys.stderr, flush=True)
            elif passed > SILENT_SECONDS:
                print(f"{label}: {current[0]}, {passed:.0f} s", file=sys.stderr, flush=True)

    def say(step: str) -> None:
        current[0] = step
        if not quiet:
            tell()

    def tick() -> None:
        while not is_over.wait(TICK_SECONDS if on_terminal else LINE_SECONDS):
            tell()

    if not quiet:
        threading.Thread(target=tick, daemon=True).start()
    try:
        yield say
    finally:
        with lock:
            is_over.set()
            if on_terminal and not quiet:
                print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def arriving(rows: Iterable[_T], label: str, total: int = 0) -> Iterator[_T]:
    """Pass rows of a database on: say that it is asked until the first comes, then how many."""
    waiting = iter(rows)
    with steps(label) as say:
        say("asking the database")
        first = next(waiting, _NOTHING)
    if first is _NOTHING:
        return
    with counting(label, total) as count:
        yield first
        for number, row in enumerate(waiting, start=2):
            yield row
            count(number)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
