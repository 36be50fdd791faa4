"""Proof: a full disk delays a writer, then fails it clearly, and loses nothing.

The disk is a small file system that is mounted where only the proof sees it: in a mount namespace,
which takes root, or in a user namespace with one, which most Linux systems allow everybody. Where
neither is allowed, SQLite's own limit of pages takes its place: it refuses with the same error. (A
limit of the file's size would not do: SQLite calls that an I/O error, which does not pass.)
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from sqlalchemy import event, text

from websegment_scrapy.bench.synthetic import RECIPE
from websegment_scrapy.bench.torture import BATCH, PAGES, Clusters, Outcome, outcome_of, undisturbed
from websegment_scrapy.exceptions import StoreError
from websegment_scrapy.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy import Connection

    from websegment_scrapy.store.record import PageRecord

__all__ = ["disk_full", "mount_namespace"]

NAMESPACES = (("unshare", "--mount"), ("unshare", "--user", "--map-root-user", "--mount"))
"""Commands that run another where it may mount; what it mounts goes with it."""

PATIENCE = 3.0
"""Seconds that the writer waits for room."""

ROOM_AFTER = 1.0
"""Seconds after which room is made the first time."""

MOST_PAGES = 2**30
"""More than any file of this proof has."""


def disk_full(
    calm_url: str, namespace: Sequence[str] | None, *, pages: int = 3000, mebibytes: int = 128
) -> Outcome:
    """Fill the disk under a writer, twice.

    First room is made after a moment: the writer waits and goes on. Then none is made for longer
    than its patience: it fails, clearly, and what it had reported is there.

    Parameters
    ----------
    calm_url
        An empty store for the undisturbed run.
    namespace
        What `mount_namespace` found; ``None``: no disk, but SQLite's limit of pages.
    pages
        How many are stored in the end.
    mebibytes
        Size of the disk.
    """
    expected = undisturbed(calm_url, pages)
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "store.db"
        if namespace is None:
            reported = _fill_twice(file, pages, _PageLimit)
        else:
            own = (sys.executable, "-m", __name__, directory, str(mebibytes), str(pages))
            child = subprocess.run([*namespace, *own], capture_output=True, text=True, check=False)
            if child.returncode:
                raise RuntimeError(f"the proof on a small disk failed:\n{child.stderr}")
            reported = int(child.stdout)
        return _finish(file, PAGES.records(0, pages), reported, expected)


def mount_namespace() -> Sequence[str] | None:
    """Return the command that runs another where it may mount; ``None`` if none may here."""
    with tempfile.TemporaryDirectory() as directory:
        for namespace in NAMESPACES:
            with contextlib.suppress(OSError, subprocess.CalledProcessError):
                mount = _mount_command(Path(directory), 1)
                subprocess.run([*namespace, *mount], check=True, capture_output=True)
                return namespace
    return None


def _mount_command(directory: Path, mebibytes: int) -> list[str]:
    return ["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m", "tmpfs", str(directory)]


def _on_small_disk(directory: Path, mebibytes: int, pages: int) -> int:
    """Run the proof on a disk of its own and leave the file in the directory, outside that disk.

    Runs in a mount namespace; returns how many pages the writer has reported.
    """
    disk = directory / "disk"
    disk.mkdir()
    subprocess.run(_mount_command(disk, mebibytes), check=True)
    file = disk / "store.db"
    reported = _fill_twice(file, pages, lambda _: _Ballast(disk))
    shutil.copyfile(file, directory / file.name)
    return reported


def _fill_twice(file: Path, pages: int, room_of: Callable[[Store], _Room]) -> int:
    """Let a writer run out of room twice; return how many pages it has reported."""
    records = PAGES.records(0, pages)
    reported = 0
    with Store.open(f"sqlite:///{file}", recipe=RECIPE, patience=PATIENCE) as store:
        room = room_of(store)

        def write(batches: int) -> None:
            nonlocal reported
            for _ in range(batches):
                store.decide_many(records[reported : reported + BATCH])
                reported += BATCH

        write(20)
        room.fill()
        timer = threading.Timer(ROOM_AFTER, room.make)
        timer.start()
        write(100)
        if room.full:
            raise RuntimeError("the writer found room where none was left")
        timer.join()
        write(20)
        room.fill()
        try:
            write(100)
        except StoreError as error:
            if "full" not in str(error):
                raise
        else:
            raise RuntimeError("the writer did not fail although nobody made room")
        room.make()
    with Store.open(f"sqlite:///{file}", recipe=RECIPE) as store, store.database.read() as reading:
        kept = reading.execute(text("SELECT count(*) FROM pages")).scalar_one()
    if kept < reported:
        raise RuntimeError(f"{kept} pages are stored, {reported} were reported")
    return reported


def _finish(file: Path, records: list[PageRecord], position: int, expected: Clusters) -> Outcome:
    """Store the rest where there is room, and look at the result."""
    url = f"sqlite:///{file}"
    with Store.open(url, recipe=RECIPE) as store:
        while position < len(records):
            store.decide_many(records[position : position + 64])
            position += 64
    return outcome_of(url, len(records), expected, 2, visits_once=True)


class _Room(Protocol):
    """The room that a store has to grow."""

    full: bool

    def fill(self) -> None:
        """Leave none."""

    def make(self) -> None:
        """Make some, from any thread."""


class _Ballast:
    """A file that takes what is left of a disk."""

    def __init__(self, disk: Path) -> None:
        self.full = False
        self._file = disk / "ballast"

    def fill(self) -> None:
        with self._file.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while file.write(bytes(4096)):
                pass
        self.full = True

    def make(self) -> None:
        self.full = False
        self._file.unlink()


class _PageLimit:
    """SQLite's limit of pages, at what the file has, in every transaction that begins."""

    def __init__(self, store: Store) -> None:
        self.full = False
        event.listen(store.database.engine, "begin", self._limit)

    def fill(self) -> None:
        self.full = True

    def make(self) -> None:
        self.full = False

    def _limit(self, connection: Connection) -> None:
        # SQLite raises a limit under the file's size to that size.
        most = 1 if self.full else MOST_PAGES
        connection.exec_driver_sql(f"PRAGMA max_page_count={most}")


if __name__ == "__main__":
    print(_on_small_disk(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
