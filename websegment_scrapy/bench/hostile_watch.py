"""Watches a crawl from outside: how much memory and disk it takes, and what is left over.

Everything is read from ``/proc``. The browser's processes share most of their memory, so of them
the proportional set size is summed; of the others the resident size.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Peaks", "Watch", "memory_of", "start_crawl"]

MARK = "WEBSEGMENT_BENCH_MARK"
"""The environment variable by which the processes of a crawl are known."""

BROWSER_SECONDS = 1.0
"""Between two looks at the browser's memory: reading it costs time in proportion to its size."""

_PROC = Path("/proc")
_BROWSERS = ("chrom", "Chrom", "headless_shell", "node")
"""How the names of the browser's processes begin, and of Playwright's driver."""

_PYTHONS = ("python", "websegment")
_Table = dict[int, tuple[int, int, str]]


def start_crawl(
    module: str, specification: Path, log: Path, temporary: Path, mark: str
) -> tuple[subprocess.Popen[bytes], Watch]:
    """Start a crawl of a bench, ``python -m MODULE SPECIFICATION``; return it with its watch."""
    with log.open("ab") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", module, str(specification)],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            env={**os.environ, "TMPDIR": str(temporary), MARK: mark},
            start_new_session=True,  # a Ctrl-C here ends the bench, which then ends the crawl
        )
    return process, Watch(process.pid, mark, temporary)


@dataclass(slots=True)
class Peaks:
    """The most that was taken, in MiB: memory, and disk for temporary files."""

    crawler: float = 0.0
    workers: float = 0.0
    browser: float = 0.0
    disk: float = 0.0


@dataclass(slots=True)
class Watch:
    """The processes that descend from ``root`` or carry its mark, and what they took."""

    root: int
    mark: str
    temporary: Path
    peaks: Peaks = field(default_factory=Peaks)
    _seen: dict[tuple[int, int], str] = field(default_factory=dict)
    _others: set[tuple[int, int]] = field(default_factory=set)
    _looked: float = 0.0

    def __post_init__(self) -> None:
        """Note when the root started: numbers of processes are used again."""
        table = _processes()
        if self.root in table:
            _, start, name = table[self.root]
            self._seen[self.root, start] = name

    def sample(self) -> None:
        """Look once; processes that came and went between two looks are missed."""
        table = _processes()
        self._remember(table)
        workers = 0.0
        browser: list[int] = []
        for pid, name in self._running(table):
            if pid == self.root:
                self.peaks.crawler = max(self.peaks.crawler, memory_of(pid, "VmHWM"))
            elif name.startswith(_BROWSERS):
                browser.append(pid)
            elif name.startswith(_PYTHONS):
                workers += memory_of(pid, "VmRSS")
        self.peaks.workers = max(self.peaks.workers, workers)
        if time.monotonic() - self._looked > BROWSER_SECONDS:
            self._looked = time.monotonic()
            self.peaks.disk = max(self.peaks.disk, _size(self.temporary))
            self.peaks.browser = max(self.peaks.browser, sum(map(_shared_out, browser)))

    def _remember(self, table: _Table) -> None:
        children: dict[int, list[int]] = {}
        for pid, (parent, _, _) in table.items():
            children.setdefault(parent, []).append(pid)
        waiting = [pid for pid, _ in self._running(table)]
        while waiting:
            pid = waiting.pop()
            _, start, name = table[pid]
            self._seen[pid, start] = name
            waiting += [child for child in children.get(pid, ()) if self._is_new(child, table)]
        for pid, (_, start, name) in table.items():
            if (pid, start) not in self._seen and (pid, start) not in self._others:
                if self._is_marked(pid):
                    self._seen[pid, start] = name
                else:
                    self._others.add((pid, start))

    def _is_new(self, pid: int, table: _Table) -> bool:
        return pid in table and (pid, table[pid][1]) not in self._seen

    def _is_marked(self, pid: int) -> bool:
        with suppress(OSError):
            return f"{MARK}={self.mark}".encode() in (_PROC / str(pid) / "environ").read_bytes()
        return False

    def alive(self) -> list[tuple[int, str]]:
        """Return the processes of the crawl that still run."""
        self._others.clear()
        table = _processes()
        self._remember(table)
        return self._running(table)

    def _running(self, table: _Table) -> list[tuple[int, str]]:
        return [
            (pid, name)
            for (pid, start), name in self._seen.items()
            if pid in table and table[pid][1] == start
        ]

    def wait(self, seconds: float) -> list[tuple[int, str]]:
        """Wait until none is left; return those that are left all the same."""
        end = time.monotonic() + seconds
        while (left := self.alive()) and time.monotonic() < end:
            time.sleep(0.2)
        return left

    def end(self) -> None:
        """Kill what is left."""
        for _ in range(3):
            for pid, _ in self.alive():
                with suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.1)


def _processes() -> _Table:
    """Return parent, start time and name of every process that is no zombie."""
    found = {}
    for entry in _PROC.iterdir():
        if not entry.name.isdigit():
            continue
        with suppress(OSError, ValueError, IndexError):
            text = (entry / "stat").read_text(errors="replace")
            name, _, rest = text.partition("(")[2].rpartition(")")
            parts = rest.split()
            if parts[0] not in "ZX":
                found[int(entry.name)] = (int(parts[1]), int(parts[19]), name)
    return found


def memory_of(pid: int, name: str) -> float:
    """Return a figure of ``/proc/PID/status`` in MiB."""
    with suppress(OSError, ValueError, IndexError):
        for line in (_PROC / str(pid) / "status").read_text(errors="replace").splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) / 1024
    return 0.0


def _size(folder: Path) -> float:
    """Return what the files of a folder take, in MiB."""
    size = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                size += os.lstat(f"{parent}/{name}").st_blocks * 512
    return size / 2**20


def _shared_out(pid: int) -> float:
    """Return a process's proportional set size in MiB, or its resident size."""
    with suppress(OSError, ValueError, IndexError):
        for line in (_PROC / str(pid) / "smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) / 1024
    return memory_of(pid, "VmRSS")
