"""Extractors in processes of their own: what each takes for the same pages, and its memory.

All get the same decoded HTML. A process lives for the whole measurement and is asked in turn with
the others, so that all of them have the same machine.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from websegment_scrapy.bench.clock import Times, timed
from websegment_scrapy.bench.hostile_watch import memory_of
from websegment_scrapy.exceptions import WebsegmentError
from websegment_scrapy.measure.rivals import RIVALS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from multiprocessing.connection import Connection
    from typing import Self

__all__ = ["ENGINE", "MAIN_TEXT", "STAGED", "Extractor", "ExtractorFailed", "Round", "repeated"]

MAIN_TEXT = "ours: main text"
STAGED = "ours: stages"
ENGINE = "ours: all with "
"""What the name of a method begins with that analyses a page in full by an engine."""

LIMIT_SECONDS = 600.0
"""After which a process that has not answered is ended."""

REPEAT_SECONDS = 0.3
"""A page is done again until so much time is spent on it, or often enough."""

REPEATS = 5
WARM_UP = (
    "<html><body><h1>A title</h1><p>The first page loads what is loaded once.</p></body></html>"
)

_SPAWN = multiprocessing.get_context("spawn")


class ExtractorFailed(WebsegmentError):
    """An extractor's process has ended or does not answer."""


@dataclass(slots=True)
class Round:
    """All pages once: the times of each page, the texts found, and why pages failed."""

    times: list[Times] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    failures: dict[int, str] = field(default_factory=dict)


class Extractor:
    """A method in a process of its own; a context manager.

    Parameters
    ----------
    method
        `MAIN_TEXT`, `STAGED`, `ENGINE` with the name of an engine, or the name of a rival.
    """

    def __init__(self, method: str) -> None:
        self.method = method
        self._pipe, child = _SPAWN.Pipe()
        self._process = _SPAWN.Process(target=_serve, args=(method, child), daemon=True)
        self._process.start()
        child.close()
        self.at_start: float = self._answer()
        """MiB that the process has with everything loaded, before the first page."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.join()
        self._pipe.close()

    def prepare(self, pages: Sequence[str]) -> None:
        """Hand over the pages."""
        self._ask("prepare", list(pages))

    def round(self) -> Round:
        """Do all pages once."""
        found: Round = self._ask("round", None)
        return found

    def time(self, html: str) -> Times:
        """Do one page several times; return the least of the times."""
        found: Times = self._ask("time", html)
        return found

    def peak(self) -> float:
        """Return the most memory that the process has had, in MiB."""
        found: float = self._ask("peak", None)
        return found

    def _ask(self, what: str, value: object) -> Any:
        with suppress(BrokenPipeError):  # it is said below why
            self._pipe.send((what, value))
        return self._answer()

    def _answer(self) -> Any:
        if not self._pipe.poll(LIMIT_SECONDS):
            raise ExtractorFailed(f"{self.method} has not answered for {LIMIT_SECONDS:.0f} s")
        try:
            answer = self._pipe.recv()
        except (EOFError, ConnectionResetError):
            self._process.join()
            raise ExtractorFailed(
                f"the process of {self.method} ended with status {self._process.exitcode}"
            ) from None
        if isinstance(answer, Exception):
            raise ExtractorFailed(f"{self.method} cannot be measured: {answer}") from answer
        return answer


def repeated(function: Callable[[], Times]) -> Times:
    """Return the least of several runs: all that disturbs them makes them longer."""
    best = function()
    began = time.perf_counter()
    for _ in range(REPEATS - 1):
        if time.perf_counter() - began > REPEAT_SECONDS:
            break
        for name, spent in function().items():
            wall, cpu = min(best[name][0], spent[0]), min(best[name][1], spent[1])
            best[name] = (wall, cpu)
    return best


def _serve(method: str, pipe: Connection) -> None:
    """Answer until the other side ends it; the body of the process."""
    try:
        function = _function(method)
        function(WARM_UP)
    except Exception as error:  # of a stranger's library; it is told
        pipe.send(ExtractorFailed(f"{type(error).__name__}: {error}"))
        return
    pipe.send(memory_of(os.getpid(), "VmRSS"))
    pages: list[str] = []
    while True:
        try:
            what, value = pipe.recv()
        except EOFError:
            return
        try:
            if what == "prepare":
                pages = value
                pipe.send(None)
            elif what == "round":
                pipe.send(_round(function, pages))
            elif what == "time":
                pipe.send(repeated(lambda html=value: function(html)[0]))  # type: ignore[misc]
            else:
                pipe.send(memory_of(os.getpid(), "VmHWM"))
        except Exception as error:
            pipe.send(ExtractorFailed(f"{type(error).__name__}: {error}"))


def _round(function: Callable[[str], tuple[Times, str]], pages: list[str]) -> Round:
    done = Round()
    for number, page in enumerate(pages):
        try:
            times, text = function(page)
        except Exception as error:
            done.failures[number] = f"{type(error).__name__}: {error}"[:200]
            times, text = {}, ""
        done.times.append(times)
        done.texts.append(text)
    return done


def _function(method: str) -> Callable[[str], tuple[Times, str]]:
    if method == STAGED:
        from websegment_scrapy.bench.stages import time_stages

        return lambda html: (time_stages(html), "")
    if method == MAIN_TEXT:
        from websegment_scrapy.extraction import extract

        return partial(_timed, method, lambda html: extract(html).main_text)
    if method.startswith(ENGINE):
        from websegment_scrapy.analysis import analyze

        engine = method.removeprefix(ENGINE)
        return partial(_timed, method, lambda html: analyze(html, engine=engine).main_text)
    return partial(_timed, method, RIVALS[method].load())


def _timed(method: str, function: Callable[[str], str], html: str) -> tuple[Times, str]:
    found: Times = {}
    with timed(found, method):
        text = function(html)
    return found, text
