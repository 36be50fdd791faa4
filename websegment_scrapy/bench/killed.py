"""Proof: writers that are killed, and a server that is, cost nothing that was reported."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from websegment_scrapy.bench.server import restart
from websegment_scrapy.bench.synthetic import RECIPE
from websegment_scrapy.bench.torture import BATCH, CONTEXT, PAGES, Outcome, outcome_of, undisturbed
from websegment_scrapy.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["killed_writers", "server_restarts"]


def killed_writers(
    url: str,
    calm_url: str,
    *,
    kills: int = 50,
    pages: int = 4000,
    processes: int = 4,
    seed: int = 1,
) -> Outcome:
    """Kill writers with SIGKILL at random moments; each goes on where its last report was."""
    expected = undisturbed(calm_url, pages)
    chooser = random.Random(seed)
    done = 0
    with _writers(url, pages, processes) as crew:
        while done < kills and any(writer.alive() for writer in crew):
            time.sleep(chooser.uniform(0.01, 0.25))
            writer = chooser.choice([each for each in crew if each.alive()] or crew)
            if writer.kill():
                done += 1
                writer.start()
    return outcome_of(url, pages, expected, done, visits_once=False)


def server_restarts(
    server: Any,
    url: str,
    calm_url: str,
    *,
    restarts: int = 10,
    pages: int = 4000,
    processes: int = 4,
    pause: float = 1.0,
) -> Outcome:
    """Stop PostgreSQL hard in mid-load and start it again; no writer is told."""
    expected = undisturbed(calm_url, pages)
    done = 0
    with _writers(url, pages, processes) as crew:
        while any(writer.alive() and not writer.file.exists() for writer in crew):
            time.sleep(0.05)  # a store is only patient once it is open
        for _ in range(restarts):
            time.sleep(pause)
            if not any(writer.alive() for writer in crew):
                break
            restart(server, "immediate")  # as a crash would
            done += 1
    return outcome_of(url, pages, expected, done, visits_once=True)


@contextlib.contextmanager
def _writers(url: str, pages: int, processes: int) -> Iterator[list[_Writer]]:
    """Start writers that share the pages among them; at the end wait until all are done."""
    Store.open(url, recipe=RECIPE).close()
    with tempfile.TemporaryDirectory() as directory:
        crew = [_Writer(url, part, Path(directory)) for part in _parts(pages, processes)]
        yield crew
        for writer in crew:
            writer.finish()


class _Writer:
    """A process that decides its pages in order and notes in a file how far it has reported."""

    def __init__(self, url: str, numbers: list[int], directory: Path) -> None:
        self.url = url
        self.numbers = numbers
        self.file = directory / f"{numbers[0]}"
        self.process: Any = None
        self.start()

    def start(self) -> None:
        self.process = CONTEXT.Process(
            target=_write_on, args=(self.url, self.numbers, str(self.file))
        )
        self.process.start()

    def alive(self) -> bool:
        return bool(self.process.is_alive())

    def kill(self) -> bool:
        """Kill the process; return whether it was still at work."""
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.join()
        return bool(self.process.exitcode == -signal.SIGKILL)

    def finish(self) -> None:
        self.process.join(600)
        if self.process.exitcode != 0:
            raise RuntimeError(f"a writer ended with {self.process.exitcode}")


def _write_on(url: str, numbers: list[int], file: str) -> None:
    path = Path(file)
    position = int(path.read_text() or 0) if path.exists() else 0
    with Store.open(url, recipe=RECIPE) as store:
        while position < len(numbers):
            some = numbers[position : position + BATCH]
            store.decide_many([PAGES.records(number, number + 1)[0] for number in some])
            position += len(some)
            fresh = path.with_suffix(".new")
            fresh.write_text(str(position))
            fresh.replace(path)


def _parts(pages: int, processes: int) -> list[list[int]]:
    """Deal the pages out, so that a page and its repetitions are in different hands."""
    return [list(range(start, pages, processes)) for start in range(processes)]
