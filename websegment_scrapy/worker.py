"""The process behind ``AnalysisPool``: runs one task after another under a memory limit.

Started as ``python -m websegment_scrapy.worker``, not forked: a fork of a crawl would copy its
threads' locks, and ``multiprocessing`` would import the user's main script again.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from contextlib import suppress
from typing import IO, Any

from websegment_scrapy.exceptions import AnalysisError
from websegment_scrapy.frames import read_task, write_answer

__all__ = ["give_back_memory", "main", "resident"]

NICENESS = 10
"""Workers give way to the crawl's event loop when the cores are all busy."""

YOUNG_OBJECTS = 100_000
"""Objects made before garbage is collected: the analysis of a page leaves no cycles behind, and
Python's default would go through the tree of a large page again and again."""

PR_SET_PDEATHSIG = 1
"""Linux, ``prctl(2)``: the signal that a process gets when the thread that started it ends."""

KEPT_GROWTH = 48 * 2**20
"""Bytes by which resident memory grows until the C library is told to give back what is free: it
keeps tens of MB of what large pages took, in each worker."""

RETIRE_GROWTH = 256 * 2**20
"""Bytes of resident memory above the start at which a worker makes room for a fresh one."""


def main() -> None:
    """Serve tasks from standard input until it ends."""
    tasks = sys.stdin.buffer
    # Whatever an engine prints must not end up between the frames.
    with os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(2, 1)
        _serve(tasks, answers)


def _serve(tasks: IO[bytes], answers: IO[bytes]) -> None:
    _end_with(os.getppid())
    path, memory = read_task(tasks)
    sys.path[:] = path
    os.nice(NICENESS)
    gc.disable()  # what is loaded now stays
    import websegment_scrapy.analysis  # noqa: F401 - loaded before memory is limited

    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS)
    gc.enable()
    _limit_memory(memory * 2**20)
    start = level = resident()
    write_answer(answers, "ready")
    while True:
        try:
            kind, value = _run(tasks)
        except EOFError:
            return
        level = give_back_memory(level)
        retire = kind == "memory" or resident() > start + RETIRE_GROWTH
        try:
            write_answer(answers, (kind, value, retire))
        except MemoryError:
            # The answer is made before anything of it is written.
            retire, value = True, None
            write_answer(answers, ("memory", "", retire))
        if retire:
            return


def _run(tasks: IO[bytes]) -> tuple[str, Any]:
    """Run a task and report ``("result", value)``, ``("memory", "")`` or ``("error", reason)``."""
    try:
        function, arguments, keywords = read_task(tasks)
        return "result", function(*arguments, **keywords)
    except EOFError:
        raise
    except MemoryError:
        return "memory", ""
    except AnalysisError as error:
        return "error", str(error)
    except Exception as error:  # a bug on one page must not end the crawl
        return "error", f"{type(error).__name__}: {error}"


def _end_with(parent: int) -> None:
    """Be killed when the parent is, where the system can: a task that hangs sees no end of input.

    SIGINT and SIGTERM do not reach this process (`shielding`); they are the parent's to handle.
    """
    if sys.platform != "linux":
        return
    import ctypes

    try:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    except (OSError, AttributeError):
        return
    if os.getppid() != parent:  # it was faster
        os._exit(1)


def _limit_memory(extra: int) -> None:
    """Let the address space grow by ``extra`` bytes at most, where the system can."""
    try:
        import resource

        with open("/proc/self/statm", encoding="ascii") as statm:  # noqa: PTH123
            used = int(statm.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + extra, used + extra))
    except (ImportError, OSError, ValueError):
        return


def give_back_memory(level: int) -> int:
    """Give free memory back to the system, when much has been taken since it was at a level.

    Returns the level from which on it grows then.
    """
    if resident() <= level + KEPT_GROWTH:
        return level
    import ctypes

    with suppress(OSError, AttributeError, MemoryError):  # another C library than that of GNU
        ctypes.CDLL(None).malloc_trim(0)
    return max(level, resident())


def resident() -> int:
    """Return the bytes of memory that this process has, or 0 where nothing tells."""
    try:
        with open("/proc/self/statm", encoding="ascii") as statm:  # noqa: PTH123
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


if __name__ == "__main__":
    main()
