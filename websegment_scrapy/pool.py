"""Analysis in processes of limited time and memory.

Analysing in the crawl's own process would stall its event loop, in threads the interpreter lock
would; and a page can always be too large, too slow, or crash a C library. Each worker process has
one thread here that feeds it, waits, and replaces it when it had to be ended.
"""

from __future__ import annotations

import contextlib
import os
import queue
import subprocess
import sys
import threading
from collections import deque
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

from websegment_scrapy.deadlines import Deadlines
from websegment_scrapy.exceptions import AnalysisError
from websegment_scrapy.frames import BadAnswer, read_answer, size_of, write_task
from websegment_scrapy.shielding import shielded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import TracebackType

__all__ = ["Abandoned", "AnalysisPool"]

START_TIMEOUT = 120.0
CLOSE_TIMEOUT = 5.0
LEAST_COPIES = 4
"""A page is in memory as bytes, as text, as markup and as a tree at the least."""

_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

_P = ParamSpec("_P")
_R = TypeVar("_R")


class Abandoned(AnalysisError):
    """A task was given up with its pool; that says nothing about its page."""


class AnalysisPool:
    """A fixed number of worker processes that run importable functions.

    Parameters
    ----------
    workers
        How many processes.
    timeout
        Seconds one task may take before its process is killed.
    memory
        MiB one process may take beyond what it needs to start.
    """

    def __init__(self, workers: int, *, timeout: float, memory: int) -> None:
        self._timeout = timeout
        self._memory = memory
        self._limit = memory * 2**20
        self._tasks: queue.SimpleQueue[tuple[Any, Future[Any]] | None] = queue.SimpleQueue()
        self._closed = False
        self._abandoned = False
        self._workers: set[subprocess.Popen[bytes]] = set()
        self._deadlines = Deadlines()
        self._threads = [
            threading.Thread(target=self._serve, name=f"websegment-{number}", daemon=True)
            for number in range(workers)
        ]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> AnalysisPool:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            self.abandon()
        self.close()

    def submit(self, function: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> Future[_R]:
        """Run a module-level function in a worker.

        The future's exception is an ``AnalysisError`` whose message is fit for the record. Texts
        that cannot have room in a worker's memory are refused before anything is made of them.
        """
        if self._abandoned:
            raise Abandoned("the analysis pool was abandoned")
        if self._closed:
            raise AnalysisError("the analysis pool is closed")
        future: Future[_R] = Future()
        size = size_of((args, tuple(kwargs.values())))
        if size * LEAST_COPIES > self._limit:
            future.set_exception(
                AnalysisError(
                    f"the page has {size / 2**20:.0f} MiB, for which {self._memory} MiB of memory "
                    "are too few (WEBSEGMENT_PAGE_MEMORY)"
                )
            )
        else:
            self._tasks.put(((function, args, kwargs), future))
        return future

    def map(
        self, function: Callable[[Any], _R], inputs: Iterable[Any]
    ) -> Iterator[_R | AnalysisError]:
        """Yield results in the order of the inputs; a failed one is its ``AnalysisError``.

        An input that is an ``AnalysisError`` already (it could not be loaded) is passed through.
        """
        window = 2 * len(self._threads) + 2
        waiting: deque[Future[_R]] = deque()
        for value in inputs:
            if isinstance(value, AnalysisError):
                failed: Future[_R] = Future()
                failed.set_exception(value)
                waiting.append(failed)
            else:
                waiting.append(self.submit(function, value))
            if len(waiting) >= window:
                yield _outcome(waiting.popleft())
        while waiting:
            yield _outcome(waiting.popleft())

    def close(self) -> None:
        """Finish what was submitted and end all processes."""
        self._closed = True
        for _ in self._threads:
            self._tasks.put(None)
        for thread in self._threads:
            thread.join()
        self._deadlines.close()

    def abandon(self) -> None:
        """End all processes at once; what they were at, and what waits, fails as `Abandoned`."""
        self._closed = self._abandoned = True
        with contextlib.suppress(queue.Empty):
            while True:
                task = self._tasks.get_nowait()
                if task is not None and task[1].set_running_or_notify_cancel():
                    task[1].set_exception(Abandoned("the analysis was given up before it began"))
        for _ in self._threads:
            self._tasks.put(None)
        for worker in tuple(self._workers):
            worker.kill()

    def _serve(self) -> None:
        """Feed one worker process: the body of each of the pool's threads."""
        worker: subprocess.Popen[bytes] | None = None
        try:
            # Started before it is needed: its imports take about a second. A failure is reported
            # with the first task, which tries again.
            with contextlib.suppress(AnalysisError):
                worker = self._start()
            while (task := self._tasks.get()) is not None:
                call, future = task
                if not future.set_running_or_notify_cancel():
                    continue
                try:
                    if worker is None:
                        worker = self._start()
                    value, retire = self._exchange(worker, call)
                except AnalysisError as error:
                    self._end(worker)
                    worker = None
                    given_up = Abandoned(f"the analysis was given up: {error}")
                    future.set_exception(given_up if self._abandoned else error)
                except Exception as error:  # unpicklable arguments: the caller's to know
                    self._end(worker)
                    worker = None
                    future.set_exception(AnalysisError(f"{type(error).__name__}: {error}"))
                else:
                    if retire:
                        self._end(worker)
                        worker = None
                    if isinstance(value, AnalysisError):
                        future.set_exception(value)
                    else:
                        future.set_result(value)
        finally:
            self._end(worker)

    def _start(self) -> subprocess.Popen[bytes]:
        with shielded():
            worker = subprocess.Popen(
                [sys.executable, "-m", "websegment_scrapy.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={
                    **os.environ,
                    **_ONE_THREAD,
                    "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
                },
            )
        self._workers.add(worker)
        if self._abandoned:
            worker.kill()
        with self._deadlines.within(START_TIMEOUT, worker):
            try:
                write_task(cast("Any", worker.stdin), (list(sys.path), self._memory))
                read_answer(cast("Any", worker.stdout), self._limit)
            except (EOFError, OSError, BadAnswer):
                self._end(worker)
                raise AnalysisError(
                    "the analysis process did not start: see its message on standard error"
                ) from None
        return worker

    def _exchange(self, worker: subprocess.Popen[bytes], task: object) -> tuple[Any, bool]:
        """Send a task and return ``(value or AnalysisError, worker must be replaced)``."""
        with self._deadlines.within(self._timeout, worker) as expired:
            try:
                write_task(cast("Any", worker.stdin), task)
                kind, value, retire = _checked(read_answer(cast("Any", worker.stdout), self._limit))
            except (EOFError, OSError):
                if expired.is_set():
                    raise AnalysisError(
                        f"analysis took longer than {self._timeout:g} s (WEBSEGMENT_PAGE_TIMEOUT)"
                    ) from None
                status = worker.wait()
                raise AnalysisError(f"the analysis process died (exit status {status})") from None
            except BadAnswer:
                worker.kill()  # whoever has it now
                raise
        retire = retire or expired.is_set()  # killed just after it had answered
        if kind == "memory":
            return AnalysisError(
                f"analysis needed more than {self._memory} MiB (WEBSEGMENT_PAGE_MEMORY)"
            ), True
        if kind == "error":
            return AnalysisError(value), retire
        return value, retire

    def _end(self, worker: subprocess.Popen[bytes] | None) -> None:
        if worker is None:
            return
        self._workers.discard(worker)
        with contextlib.suppress(OSError):
            cast("Any", worker.stdin).close()
        try:
            worker.wait(CLOSE_TIMEOUT)
        except subprocess.TimeoutExpired:
            worker.kill()
            worker.wait()
        cast("Any", worker.stdout).close()


def _checked(answer: Any) -> tuple[str, Any, bool]:
    """Return an answer whose form is that of one."""
    match answer:
        case ("result", value, bool(retire)):
            return "result", value, retire
        case ("error" | "memory" as kind, str(reason), bool(retire)):
            return kind, reason, retire
    raise BadAnswer("the analysis process answered with something else than an answer")


def _outcome(future: Future[Any]) -> Any:
    try:
        return future.result()
    except AnalysisError as error:
        return error
