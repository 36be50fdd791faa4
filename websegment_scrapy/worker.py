"""The process behind ``AnalysisPool``: runs one task after another under a memory limit.

Started as ``python -m websegment_scrapy.worker``, not forked: a fork of a crawl would copy its
threads' locks, and ``multiprocessing`` would import the user's main script again. Frames on the
pipes are an 8-byte length and a pickle; both ends are this package.
"""

from __future__ import annotations

import os
import pickle
import struct
import sys
from typing import IO, Any

from websegment_scrapy.exceptions import AnalysisError

__all__ = ["main", "read_frame", "write_frame"]

_LENGTH = struct.Struct(">Q")
NICENESS = 5
"""Workers give way to the crawl's event loop when the cores are all busy."""

RETIRE_GROWTH = 256 * 2**20
"""Bytes of resident memory above the start at which a worker makes room for a fresh one."""


def read_frame(stream: IO[bytes]) -> Any:
    """Read one object; ``EOFError`` at the end."""
    header = stream.read(_LENGTH.size)
    if len(header) < _LENGTH.size:
        raise EOFError
    size = _LENGTH.unpack(header)[0]
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return pickle.loads(data)


def write_frame(stream: IO[bytes], value: object) -> None:
    """Write one object."""
    data = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
    stream.write(_LENGTH.pack(len(data)))
    stream.write(data)
    stream.flush()


def main() -> None:
    """Serve tasks from standard input until it ends."""
    tasks = sys.stdin.buffer
    # Whatever an engine prints must not end up between the frames.
    with os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(2, 1)
        _serve(tasks, answers)


def _serve(tasks: IO[bytes], answers: IO[bytes]) -> None:
    path, memory = read_frame(tasks)
    sys.path[:] = path
    os.nice(NICENESS)
    import websegment_scrapy.analysis  # noqa: F401 - loaded before memory is limited

    _limit_memory(memory * 2**20)
    start = _resident()
    write_frame(answers, "ready")
    while True:
        try:
            function, arguments = read_frame(tasks)
        except EOFError:
            return
        kind, value = _run(function, arguments)
        retire = kind == "memory" or _resident() > start + RETIRE_GROWTH
        write_frame(answers, (kind, value, retire))
        if retire:
            return


def _run(function: Any, arguments: tuple[Any, ...]) -> tuple[str, Any]:
    """Call and report as ``("result", value)``, ``("memory", "")`` or ``("error", reason)``."""
    try:
        return "result", function(*arguments)
    except MemoryError:
        return "memory", ""
    except AnalysisError as error:
        return "error", str(error)
    except Exception as error:  # a bug on one page must not end the crawl
        return "error", f"{type(error).__name__}: {error}"


def _limit_memory(extra: int) -> None:
    """Let the address space grow by ``extra`` bytes at most, where the system can."""
    try:
        import resource

        with open("/proc/self/statm", encoding="ascii") as statm:  # noqa: PTH123
            used = int(statm.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + extra, used + extra))
    except (ImportError, OSError, ValueError):
        return


def _resident() -> int:
    try:
        with open("/proc/self/statm", encoding="ascii") as statm:  # noqa: PTH123
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


if __name__ == "__main__":
    main()
