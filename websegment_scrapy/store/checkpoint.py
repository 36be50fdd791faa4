"""SQLite's write-ahead log is copied to the file beside the writing, not in the middle of it.

The keys of a page are spread over the whole file, so a batch of decisions leaves some hundred pages
in the log, and copying them takes longer than the decisions themselves. SQLite would do it within
every n-th commit, and that decision would wait a tenth of a second. Here a thread does most of it
with a connection of its own, which blocks no writer. The log can only start again from its
beginning once everything in it has been copied; so when it has grown large, the writer copies what
little has come in the meantime itself.
"""

from __future__ import annotations

import contextlib
import sqlite3
import struct
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import Connection

__all__ = ["Checkpointer"]

COPY_PAGES = 2_000
"""Pages in the log, not copied yet, from which the thread copies them."""

RESTART_PAGES = 16_000
"""Length of the log from which the writer copies the rest, so that the log starts again."""

_CHECKPOINT = "PRAGMA wal_checkpoint(PASSIVE)"
_LENGTH, _COPIED = 16, 96
"""Places of mxFrame and nBackfill in the -shm file (https://sqlite.org/walformat.html, 2.1)."""


class Checkpointer:
    """Watches the log of one SQLite file; its thread starts with the first large log."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.index = file.with_name(file.name + "-shm")
        self._wanted = threading.Event()
        self._idle = threading.Event()
        self._idle.set()
        self._closed = False
        self._thread: threading.Thread | None = None

    def after_commit(self, connection: Connection) -> None:
        """Look at the log; called by the writer when its transaction has ended."""
        length, copied = self._state()
        if length - copied < COPY_PAGES and length < RESTART_PAGES:
            return
        if not self._idle.is_set():
            return
        if length >= RESTART_PAGES and length - copied < COPY_PAGES:
            driver = connection.connection.driver_connection
            assert driver is not None
            with contextlib.suppress(sqlite3.Error):
                driver.execute(_CHECKPOINT).fetchone()
            return
        self._idle.clear()
        self._wanted.set()
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._run, name="websegment-checkpoint", daemon=True
            )
            self._thread.start()

    def _state(self) -> tuple[int, int]:
        """Return how many pages are in the log and how many of them have been copied."""
        try:
            with self.index.open("rb", buffering=0) as index:
                head = index.read(_COPIED + 4)
        except OSError:
            return 0, 0
        if len(head) < _COPIED + 4:
            return 0, 0
        length: int = struct.unpack_from("=I", head, _LENGTH)[0]
        copied: int = struct.unpack_from("=I", head, _COPIED)[0]
        return length, copied

    def close(self) -> None:
        """Let the thread finish."""
        self._closed = True
        self._wanted.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self._closed = False
        self._wanted.clear()
        self._idle.set()

    def _run(self) -> None:
        with contextlib.closing(sqlite3.connect(self.file, isolation_level=None)) as connection:
            while True:
                self._wanted.wait()
                self._wanted.clear()
                if self._closed:
                    return
                # A full disk or a locked file is the writer's to report; the log keeps everything.
                with contextlib.suppress(sqlite3.Error):
                    connection.execute(_CHECKPOINT).fetchone()
                self._idle.set()
