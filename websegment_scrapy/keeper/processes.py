"""The processes below another one, and the memory they take; where there is no ``/proc``, none."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Literal, NamedTuple

__all__ = ["Process", "descendants", "end", "start_time"]

_PROC = Path("/proc")
_PARENT, _START = 1, 19  # positions in /proc/PID/stat after the name


class Process(NamedTuple):
    """A process; `started` tells it from a later one with the same number."""

    pid: int
    started: int
    kind: Literal["renderer", "browser", "other"]
    private: int
    """Bytes of resident memory that it does not share."""


def start_time(pid: int) -> int | None:
    """Return when a process started, in the system's ticks; ``None`` if there is none."""
    fields = _stat(pid)
    return None if fields is None else int(fields[_START])


def descendants(root: int) -> list[Process]:
    """Return all processes below `root`."""
    children: dict[int, list[int]] = {}
    started: dict[int, int] = {}
    for pid in _pids():
        fields = _stat(pid)
        if fields is not None:
            children.setdefault(int(fields[_PARENT]), []).append(pid)
            started[pid] = int(fields[_START])
    found: list[Process] = []
    waiting = list(children.get(root, ()))
    while waiting:
        pid = waiting.pop()
        waiting += children.get(pid, ())
        found.append(Process(pid, started[pid], _kind(pid), _private(pid)))
    return found


def end(process: Process) -> bool:
    """Kill a process if it is still the same one; say whether it was."""
    if start_time(process.pid) != process.started:
        return False
    try:
        os.kill(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _pids() -> list[int]:
    try:
        return [int(path.name) for path in _PROC.iterdir() if path.name.isdigit()]
    except OSError:
        return []


def _stat(pid: int) -> list[bytes] | None:
    try:
        # The name may hold anything, brackets too: what follows its last one is plain.
        return (_PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()
    except (OSError, ValueError):
        return None


def _kind(pid: int) -> Literal["renderer", "browser", "other"]:
    """Tell Chromium's processes by their arguments; a renderer holds the pages of one site."""
    try:
        arguments = (_PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return "other"
    if b"--type=renderer" in arguments:
        return "renderer"
    return "browser" if b"--type=" in arguments or b"--remote-debugging-" in arguments else "other"


def _private(pid: int) -> int:
    try:
        _, resident, shared = (_PROC / str(pid) / "statm").read_bytes().split()[:3]
    except (OSError, ValueError):
        return 0
    return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")
