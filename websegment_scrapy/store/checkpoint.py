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
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import Connection

__all__ = ["Checkpointer"]

COMMITS = 12
"""Commits after which the thread copies the log: some thousand pages in a busy crawl."""

RESTART_PAGES = 32_000
"""Length of the log (128 MiB) from which the writer copies the rest, so that it starts again."""

CATCH_UP = 4
"""How often the thread then goes over the log again, each time with less to do, before the writer
copies the rest: without it one decision in a hundred waited for a seventh of a second."""

_CHECKPOINT = "PRAGMA wal_checkpoint(PASSIVE)"


class Checkpointer:
    """Copies the log of one SQLite file; its thread starts when there is something to copy.

    How long the log is comes from SQLite's own answers. To look into its -shm file would be
    shorter, and fatal: closing any descriptor of that file drops SQLite's locks on it (POSIX).
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self._commits = 0
        self._restart = False
        self._wanted = threading.Event()
        self._idle = threading.Event()
        self._idle.set()
        self._closed = False
        self._thread: threading.Thread | None = None

    def after_commit(self, connection: Connection) -> None:
        """Count a commit; called by the writer when its transaction has ended."""
        self._commits += 1
        if not self._idle.is_set():
            return
        if self._restart:
            self._restart = False
            driver = connection.connection.driver_connection
            assert driver is not None
            with contextlib.suppress(sqlite3.Error):
                driver.execute(_CHECKPOINT).fetchone()
        elif self._commits >= COMMITS:
            self._commits = 0
            self._idle.clear()
            self._wanted.set()
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="websegment-checkpoint", daemon=True
                )
                self._thread.start()

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
                    for _ in range(1 + CATCH_UP):
                        _, length, _ = connection.execute(_CHECKPOINT).fetchone()
                        self._restart = length >= RESTART_PAGES
                        if not self._restart:
                            break
                self._idle.set()
