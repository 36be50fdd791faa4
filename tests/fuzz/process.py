"""The process in which mutated pages are analysed: it may crash, hang or grow."""

from __future__ import annotations

import gc
import multiprocessing
import time
import warnings
from multiprocessing.connection import Connection

import psutil

from tests.fuzz.cases import page_case, run_page
from tests.fuzz.pages import own_pages, real_pages
from websegment_scrapy.worker import give_back_memory, resident

STUCK = 60.0
"""Seconds of processor time after which a page is ended: it will not come back."""

MEASURED_EVERY = 50
"""Pages after which memory is measured: to collect the garbage takes as long as a small page."""

Outcome = tuple[str | None, float, int | None]
"""What was found, seconds of processor time, and now and then the bytes of resident memory."""


class FuzzProcess:
    """Runs one page after another."""

    def __init__(self, seed: int, data: bool) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs, seed, data), daemon=True)
        self.process.start()
        theirs.close()

    def run(self, number: int) -> Outcome | str:
        """Return a page's outcome, or what became of the process."""
        used = self._processor_time()
        try:
            self.pipe.send(number)
            while not self.pipe.poll(1.0):
                if self._processor_time() - used > STUCK:
                    return f"more than {STUCK:.0f} s of processor time"
            outcome: Outcome = self.pipe.recv()
        except (EOFError, OSError, psutil.Error):
            self.process.join()
            return f"the process died (exit status {self.process.exitcode})"
        return outcome

    def end(self) -> None:
        """End the process, whatever it does."""
        self.process.kill()
        self.process.join()
        self.pipe.close()

    def _processor_time(self) -> float:
        times = psutil.Process(self.process.pid).cpu_times()
        return float(times.user + times.system)


def _work(pipe: Connection, seed: int, data: bool) -> None:
    pages = own_pages() + (real_pages() if data else [])
    me = psutil.Process()
    warnings.simplefilter("error")  # as in all tests
    level = resident()
    while True:
        number = pipe.recv()
        began = time.process_time()
        found = run_page(page_case(seed, number, pages))
        seconds = time.process_time() - began
        level = give_back_memory(level)  # as workers do
        memory = None
        if number % MEASURED_EVERY == 0:
            gc.collect()
            memory = me.memory_info().rss
        pipe.send((found, seconds, memory))
