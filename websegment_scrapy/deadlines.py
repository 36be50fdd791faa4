"""Processes that are ended when their time is over, watched by one thread for all of them."""

from __future__ import annotations

import contextlib
import threading
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator

__all__ = ["Deadlines"]

NEVER = float("inf")


class Deadlines:
    """A thread that kills what takes too long.

    A ``threading.Timer`` would be a new thread for each page. This one sleeps until the earliest
    deadline that it knows of: what is done in time does not wake it.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._until: dict[subprocess.Popen[bytes], tuple[float, threading.Event]] = {}
        self._wakes = NEVER
        self._closed = False
        threading.Thread(target=self._watch, name="websegment-deadlines", daemon=True).start()

    @contextlib.contextmanager
    def within(self, seconds: float, process: subprocess.Popen[bytes]) -> Iterator[threading.Event]:
        """Kill the process when the block takes longer; the event tells that it happened."""
        expired = threading.Event()
        until = monotonic() + seconds
        with self._changed:
            self._until[process] = until, expired
            if until < self._wakes:
                self._changed.notify()
        try:
            yield expired
        finally:
            with self._changed:
                del self._until[process]

    def close(self) -> None:
        """End the thread."""
        with self._changed:
            self._closed = True
            self._changed.notify()

    def _watch(self) -> None:
        with self._changed:
            while not self._closed:
                now, self._wakes = monotonic(), NEVER
                for process, (until, expired) in self._until.items():
                    if expired.is_set():
                        continue
                    if until <= now:
                        expired.set()
                        process.kill()
                    else:
                        self._wakes = min(self._wakes, until)
                self._changed.wait(None if self._wakes == NEVER else self._wakes - now)
