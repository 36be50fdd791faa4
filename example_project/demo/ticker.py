"""A line that moves while something is on its way, on a terminal and elsewhere."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TextIO

__all__ = ["Ticker"]

DRAW_SECONDS = 0.2
LINE_SECONDS = 5.0
"""Between two lines where there is no terminal."""
TURNS = "|/-\\"


class Ticker:
    """A line that moves: what it says is set from outside, the clock in it runs by itself.

    It draws in a thread of its own, so that it moves while the crawl is busy or waits. On a
    terminal the line is drawn again and again; elsewhere one is written every few seconds.
    """

    def __init__(self, out: TextIO) -> None:
        self.saying = "starting"
        self._out = out
        self._on_terminal = out.isatty()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._started = time.monotonic()

    def start(self) -> None:
        """Begin to draw."""
        self._thread.start()

    def stop(self) -> None:
        """End, and remove the line from a terminal."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()
        if self._on_terminal:
            self._write("\033[K")

    @property
    def seconds(self) -> float:
        """Time since it was made."""
        return time.monotonic() - self._started

    def _run(self) -> None:
        for turn in range(sys.maxsize):
            if self._on_terminal:
                room = shutil.get_terminal_size((100, 24)).columns - 1
                line = f"{TURNS[turn % len(TURNS)]} {self.seconds:3.0f} s  {self.saying}"
                # The cursor waits at the beginning: what others write replaces the line.
                self._write(f"{line[:room]}\033[K\r")
            elif turn:
                self._write(f"{self.seconds:3.0f} s  {self.saying}\n")
            if self._ended.wait(DRAW_SECONDS if self._on_terminal else LINE_SECONDS):
                return

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()
