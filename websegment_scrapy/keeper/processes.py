"""The processes below another one, and what they take; where there is no ``/proc``, none."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path
from typing import Literal, NamedTuple

__all__ = ["Process", "descendants", "end", "give_way", "start_time"]

_PROC = Path("/proc")
_PARENT, _USER, _SYSTEM, _START = 1, 11, 12, 19  # positions in /proc/PID/stat after the name
_LAST = 19
"""The niceness of a process that everything else comes before."""

_MEMORY = b"RssAnon", b"RssShmem"
_TICKS = os.sysconf("SC_CLK_TCK")


class Process(NamedTuple):
    """A process; `started` tells it from a later one with the same number."""

    pid: int
    started: int
    kind: Literal["renderer", "browser", "other"]
    own: int
    """Bytes of memory that are no file's and that it alone has."""
    shared: int
    """Bytes of memory that are no file's and that others have too, such as pictures of a page,
    which its renderer draws and the process of the graphics shows."""
    seconds: float
    """Processor time that it has used."""


def start_time(pid: int) -> int | None:
    """Return when a process started, in the system's ticks; ``None`` if there is none."""
    fields = _stat(pid)
    return None if fields is None else int(fields[_START])


def descendants(root: int) -> list[Process]:
    """Return all processes below `root`."""
    children: dict[int, list[int]] = {}
    started: dict[int, int] = {}
    used: dict[int, float] = {}
    for pid in _pids():
        fields = _stat(pid)
        if fields is not None:
            children.setdefault(int(fields[_PARENT]), []).append(pid)
            started[pid] = int(fields[_START])
            used[pid] = (int(fields[_USER]) + int(fields[_SYSTEM])) / _TICKS
    found: list[Process] = []
    waiting = list(children.get(root, ()))
    while waiting:
        pid = waiting.pop()
        waiting += children.get(pid, ())
        found.append(Process(pid, started[pid], _kind(pid), *_memory(pid), used[pid]))
    return found


def give_way(process: Process) -> bool:
    """Let all others come before a process, if it is still the same one; say whether it was."""
    if start_time(process.pid) != process.started:
        return False
    try:
        for thread in (_PROC / str(process.pid) / "task").iterdir():
            with contextlib.suppress(ProcessLookupError):
                os.setpriority(os.PRIO_PROCESS, int(thread.name), _LAST)
    except OSError:
        return False
    return True


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


def _memory(pid: int) -> tuple[int, int]:
    """Return the bytes of memory that a process alone has, and those that it shares."""
    found: dict[bytes, int] = {}
    try:
        for line in (_PROC / str(pid) / "status").read_bytes().splitlines():
            name, _, value = line.partition(b":")
            if name in _MEMORY:
                found[name] = int(value.split()[0]) * 1024  # the kernel says kB
        if not found:  # a sandbox with a kernel of its own tells only what it cannot do without
            _, resident, files = (_PROC / str(pid) / "statm").read_bytes().split()[:3]
            return (int(resident) - int(files)) * os.sysconf("SC_PAGE_SIZE"), 0
    except (OSError, ValueError, IndexError):
        return 0, 0
    own, shared = (found.get(name, 0) for name in _MEMORY)
    return own, shared
