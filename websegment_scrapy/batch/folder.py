"""The folder of a batch: one run at a time, everything whole or not there at all.

``batch.json``
    what was asked for: options and inputs; a run with others is refused.
``analysed/IIIII-SSSSSS.parquet``
    shard S of input I as analysed page by page; removed when all is done.
``sites.parquet``, ``documents.parquet``
    what each site repeats; documents that several sites have.
``pages/IIIII-SSSSSS.parquet``
    the same shards by all that is known of their sites: the result.
``clusters.parquet``
    near-duplicates among all pages.
``summary.json``
    counts of all of it; there when all is done.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from contextlib import contextmanager
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from websegment_scrapy.exceptions import WebsegmentError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from websegment_scrapy.archives.reading import Archive
    from websegment_scrapy.batch.options import Options

__all__ = ["BatchError", "Folder"]

FORMAT = 2
"""Raised whenever what is written means something else."""

MANIFEST, SUMMARY = "batch.json", "summary.json"


class BatchError(WebsegmentError):
    """A batch cannot be done as it was asked for."""


class Folder:
    """The folder that a batch writes to."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.analysed = path / "analysed"
        self.pages = path / "pages"
        self.sites = path / "sites.parquet"
        self.documents = path / "documents.parquet"
        self.clusters = path / "clusters.parquet"
        self.work = path / ".work"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Be the only run in this folder; of one that was killed nothing is left behind."""
        self.path.mkdir(parents=True, exist_ok=True)
        with (self.path / ".lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise BatchError(
                    f"another run works in {self.path}: wait for its end, or name another folder "
                    "with -o"
                ) from None
            self.make()
            for folder in (self.analysed, self.pages):
                for left in folder.glob("*.part"):
                    left.unlink()
            shutil.rmtree(self.work, ignore_errors=True)
            self.make()
            try:
                yield
            finally:
                shutil.rmtree(self.work, ignore_errors=True)

    def make(self) -> None:
        """Make the folders that are not there."""
        for folder in (self.analysed, self.pages, self.work):
            folder.mkdir(parents=True, exist_ok=True)

    def settle_on(self, options: Options, archives: Sequence[Archive]) -> None:
        """Write down what was asked for; refuse what an earlier run was not asked for."""
        wanted = {
            "format": FORMAT,
            "options": options.to_dict(),
            "inputs": [{"name": each.name, "bytes": _size(each)} for each in archives],
        }
        path = self.path / MANIFEST
        if path.exists():
            found = self.manifest()
            for name in ("format", "options", "inputs"):
                if found.get(name) != wanted[name]:
                    raise BatchError(
                        f"{self.path} holds a batch of other {name} "
                        f"({_difference(found.get(name), wanted[name])}): ask for the same, or "
                        "name another folder with -o"
                    )
            return
        if self.shards(self.pages) or self.shards(self.analysed):
            raise BatchError(f"{self.path} holds results without {MANIFEST}: name another folder")
        self.write_json(path, wanted)

    def manifest(self) -> dict[str, Any]:
        """Read what was asked for."""
        return read_json(self.path / MANIFEST)

    def shard(self, stage: Path, number: int, shard: int) -> Path:
        """Return the file of a shard of an input."""
        return stage / f"{number:05d}-{shard:06d}.parquet"

    def shards(self, stage: Path) -> list[Path]:
        """Return the shards that there are, in their order."""
        return sorted(path for path in stage.glob("*.parquet") if path.is_file())

    def state_of(self, stage: Path) -> str:
        """Return what tells whether later steps know all shards of one: a hash of their names."""
        names = " ".join(f"{path.name}:{path.stat().st_size}" for path in self.shards(stage))
        return blake2b(names.encode(), digest_size=16).hexdigest()

    @property
    def is_done(self) -> bool:
        """Whether all was done, and nothing failed."""
        return (self.path / SUMMARY).exists() and bool(self.summary().get("complete"))

    def summary(self) -> dict[str, Any]:
        """Read the counts of a batch that is done."""
        return read_json(self.path / SUMMARY)

    def finish(self, summary: dict[str, Any]) -> None:
        """Write the counts down; what only later runs would need is removed if there are none."""
        self.write_json(self.path / SUMMARY, summary)
        if summary["complete"]:
            shutil.rmtree(self.analysed, ignore_errors=True)

    @contextmanager
    def whole(self, path: Path) -> Iterator[Path]:
        """Give a path to write to; when all was written it becomes the file, at once."""
        part = path.with_name(f"{path.name}.part")
        try:
            yield part
            with part.open("rb") as written:
                os.fsync(written.fileno())
            part.replace(path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
        _sync(path.parent)

    def write_json(self, path: Path, value: dict[str, Any]) -> None:
        """Write a file of JSON, whole or not at all."""
        with self.whole(path) as part:
            text = json.dumps(value, indent=1, ensure_ascii=False, sort_keys=True)
            part.write_text(f"{text}\n", encoding="utf-8")


def read_json(path: Path) -> dict[str, Any]:
    """Read a file that `Folder.write_json` wrote."""
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BatchError(f"{path.parent} holds no batch: it has no {path.name}") from None
    except (OSError, ValueError) as error:
        raise BatchError(f"{path} cannot be read: {error}") from None
    return found


def _sync(folder: Path) -> None:
    """Let new names in a folder outlive a power failure."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _size(archive: Archive) -> int:
    try:
        return archive.path.stat().st_size
    except OSError:
        return -1


def _difference(found: Any, wanted: Any) -> str:
    """Name the first thing that differs, for people."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        for name in sorted(found.keys() | wanted.keys()):
            if found.get(name) != wanted.get(name):
                return f"{name} is {found.get(name)!r} there and {wanted.get(name)!r} here"
    if isinstance(found, list) and isinstance(wanted, list):
        for one, other in zip(found, wanted, strict=False):
            if one != other:
                return f"{one['name']} of {one['bytes']} bytes, {other['name']} of {other['bytes']}"
        return f"{len(found)} there and {len(wanted)} here"
    return f"{found!r} there and {wanted!r} here"
