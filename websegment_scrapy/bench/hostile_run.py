"""Runs one crawl of the hostile bench and brings back all that came of it."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
import uuid
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from websegment_scrapy.bench.hostile_watch import Peaks, Watch, start_crawl
from websegment_scrapy.bench.hostile_web import SITE_ADDRESSES, THIRD_ADDRESS

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Sequence

__all__ = ["CrawlOrder", "CrawlRun", "run_crawl"]

SAMPLE_SECONDS = 0.25
GONE_SECONDS = 10.0
"""How long after a crawl's end its last process may go on."""

STALL_SECONDS = 90.0
"""Without any page for so long (and for eight times the render timeout) a crawl has stopped."""

DEATH_SECONDS = 15.0
"""How long after a SIGKILL of the crawl its other processes may go on."""

_CRAWL = "websegment_scrapy.bench.hostile_crawl"


@dataclass(frozen=True, slots=True)
class CrawlOrder:
    """What to crawl, and how long it may take; ``kill_after`` items it is killed."""

    pages: Sequence[tuple[str, str]]
    """URL, and ``"always"`` or ``"never"``: is it rendered?"""
    timeout: float
    limit: float
    kill_after: int | None = None


@dataclass(slots=True)
class CrawlRun:
    """What a crawl left behind."""

    folder: Path
    seconds: float = 0.0
    status: int | None = None
    ended: str = ""
    """Why it was ended from outside, if it was."""
    peaks: Peaks = field(default_factory=Peaks)
    left: list[str] = field(default_factory=list)
    """Processes and temporary files that outlived it."""
    items: list[dict[str, Any]] = field(default_factory=list)
    failures: list[dict[str, Any]] = field(default_factory=list)
    stats: dict[str, Any] = field(default_factory=dict)

    @property
    def database(self) -> Path:
        """The SQLite file."""
        return self.folder / "pages.db"

    @property
    def log(self) -> Path:
        """The log file."""
        return self.folder / "log.txt"


def run_crawl(folder: Path, order: CrawlOrder, tick: Callable[[int], None]) -> CrawlRun:
    """Crawl to the end, to the limit or to the kill; ``tick`` is told how many pages are done.

    A folder that has been crawled in keeps its database; its items are replaced.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("items.jsonl", "failures.jsonl", "stats.json"):
        (folder / name).unlink(missing_ok=True)
    temporary = _temporary(folder)
    temporary.mkdir(exist_ok=True)
    mark = uuid.uuid4().hex
    run = CrawlRun(folder)
    started = time.monotonic()
    spec = _specification(folder, order, mark)
    process, watch = start_crawl(_CRAWL, spec, run.log, temporary, mark)
    try:
        run.ended = _follow(process, watch, order, run, tick, started)
        run.seconds = time.monotonic() - started
        run.status = process.poll()
        left = watch.wait(DEATH_SECONDS if run.ended else GONE_SECONDS)
        run.left = [f"process {name} ({pid})" for pid, name in left]
        run.left += sorted(f"file {entry.name}" for entry in temporary.iterdir())
    finally:
        process.kill()
        process.wait()
        watch.end()
        if order.kill_after is None:  # else the next crawl is to find what this one left
            shutil.rmtree(temporary, ignore_errors=True)
    run.peaks = watch.peaks
    run.items = _lines(folder / "items.jsonl")
    run.failures = _lines(folder / "failures.jsonl")
    if (folder / "stats.json").exists():
        run.stats = json.loads((folder / "stats.json").read_text())
    return run


def _temporary(folder: Path) -> Path:
    """Return a folder's own TMPDIR: short, for the browser puts a socket there (107 bytes)."""
    name = blake2b(str(folder).encode(), digest_size=4).hexdigest()
    return Path(tempfile.gettempdir()) / f"wsb{name}"


def _follow(
    process: subprocess.Popen[bytes],
    watch: Watch,
    order: CrawlOrder,
    run: CrawlRun,
    tick: Callable[[int], None],
    started: float,
) -> str:
    """Watch a crawl until it ends; return why it was killed, or nothing."""
    done, last = 0, started
    growing = [_Growing(run.folder / name) for name in ("items.jsonl", "failures.jsonl")]
    stall = max(STALL_SECONDS, 8 * order.timeout)
    while process.poll() is None:
        watch.sample()
        now = time.monotonic()
        count = sum(lines.count() for lines in growing)
        if count > done:
            done, last = count, now
            tick(done)
        if order.kill_after is not None and done >= order.kill_after:
            process.kill()
            process.wait()
            return f"killed after {done} pages"
        if now - started > order.limit or now - last > stall:
            reason = "limit" if now - started > order.limit else "stall"
            process.kill()
            process.wait()
            return f"{reason}: killed after {now - started:.0f} s with {done} pages done"
        time.sleep(SAMPLE_SECONDS)
    return ""


def _specification(folder: Path, order: CrawlOrder, mark: str) -> Path:
    settings = {
        "HTTPCACHE_ENABLED": True,
        "HTTPCACHE_DIR": str(folder / f"cache-{mark[:8]}"),
        "DOWNLOAD_TIMEOUT": order.timeout,
        "RETRY_TIMES": 1,
        "WEBSEGMENT_DATABASE": f"sqlite:///{folder / 'pages.db'}",
        "WEBSEGMENT_PRIVATE_HOSTS": [*sorted(set(SITE_ADDRESSES)), THIRD_ADDRESS],
        "WEBSEGMENT_RENDER_TIMEOUT": order.timeout,
    }
    path = folder / "spec.json"
    spec = {
        "pages": list(order.pages),
        "allowed": sorted(set(SITE_ADDRESSES)),
        "folder": str(folder),
        "settings": settings,
    }
    path.write_text(json.dumps(spec))
    return path


@dataclass(slots=True)
class _Growing:
    """A file to which lines are added."""

    path: Path
    lines: int = 0
    place: int = 0

    def count(self) -> int:
        if self.path.exists():
            with self.path.open("rb") as file:
                file.seek(self.place)
                fresh = file.read()
            self.place += len(fresh)
            self.lines += fresh.count(b"\n")
        return self.lines


def _lines(path: Path) -> list[dict[str, Any]]:
    """Read JSON lines; the last one of a killed process may be torn."""
    if not path.exists():
        return []
    lines = path.read_text(errors="replace").split("\n")
    return [json.loads(line) for line in lines if line.endswith("}")]
