"""What a decision costs: throughput, time, space and memory of a store of a given size."""

from __future__ import annotations

import gc
import multiprocessing
import os
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import text

from websegment_scrapy.bench.synthetic import RECIPE, SyntheticPages
from websegment_scrapy.store import queries
from websegment_scrapy.store.database import Database
from websegment_scrapy.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.queues import Queue
    from multiprocessing.synchronize import Barrier

__all__ = ["Cost", "answers", "measure", "resident", "run_all", "stored_bytes"]

WARM_UP = 4
"""Batches that each writer makes before the clock starts."""

_SPAWN = multiprocessing.get_context("spawn")


@dataclass(frozen=True, slots=True)
class Cost:
    """What was measured with one number of writers.

    Parameters
    ----------
    decisions_per_second
        All writers together.
    median_ms
        Median over the transactions of time divided by decisions: what one decision costs.
    p99_ms
        99th percentile of the time after which a decision is committed, that is of its whole
        transaction.
    p99_share_ms
        99th percentile of a decision's share in its transaction, the cost of which `median_ms` is
        the median.
    cpu_ms
        CPU time of the writers (not of a server) for a decision: what does not depend on how busy
        the machine is.
    missed
        Planted near-duplicates of stored pages that were not recognised.
    memory_mib, memory_growth_mib
        Largest resident size of a writer at the end, and how much of it came while it decided.
    """

    writers: int
    decisions: int
    decisions_per_second: float
    median_ms: float
    p99_ms: float
    p99_share_ms: float
    cpu_ms: float
    missed: int
    planted: int
    memory_mib: float
    memory_growth_mib: float


def measure(url: str, start: int, decisions: int, writers: int, batch: int, stored: int) -> Cost:
    """Let processes decide the pages from `start` on, all at the same time."""
    share = decisions // writers
    arguments = [(url, start + number * share, share, batch, stored) for number in range(writers)]
    parts = run_all(_writer, arguments)
    times = np.concatenate([part["times"] for part in parts])
    sizes = np.concatenate([part["sizes"] for part in parts])
    spent = max(part["end"] for part in parts) - min(part["begin"] for part in parts)
    counted = int(sizes.sum())
    return Cost(
        writers=writers,
        decisions=counted,
        decisions_per_second=counted / spent,
        median_ms=float(np.median(times / sizes)) * 1e3,
        p99_ms=float(np.percentile(np.repeat(times, sizes), 99)) * 1e3,
        p99_share_ms=float(np.percentile(np.repeat(times / sizes, sizes), 99)) * 1e3,
        cpu_ms=sum(part["cpu"] for part in parts) / counted * 1e3,
        missed=sum(part["missed"] for part in parts),
        planted=sum(part["planted"] for part in parts),
        memory_mib=max(part["memory"] for part in parts),
        memory_growth_mib=max(part["growth"] for part in parts),
    )


def answers(url: str, page_url: str) -> dict[str, float]:
    """Return how long the usual questions take, in seconds, by their columns."""
    spent = {}
    with closing(queries.open_for_reading(url)) as database:
        questions: dict[str, Callable[[], object]] = {
            "summary_s": lambda: queries.summary(database),
            "clusters_s": lambda: queries.clusters(database, limit=20),
            "url_s": lambda: queries.story(database, page_url),
        }
        for name, ask in questions.items():
            began = time.perf_counter()
            ask()
            spent[name] = time.perf_counter() - began
    return spent


def stored_bytes(url: str) -> int:
    """Return the size of a store with all its indexes."""
    with closing(Database.open(url)) as database:
        if not database.is_postgresql:
            return Path(str(database.engine.url.database)).stat().st_size
        tables = ("pages", "page_keys", "visits", "sites", "crawls")
        query = " + ".join(f"pg_total_relation_size('{table}')" for table in tables)
        with database.read() as connection:
            size: int = connection.execute(text(f"SELECT {query}")).scalar_one()
            return size


def resident() -> float:
    """Return the resident size of this process in MiB (Linux)."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def run_all(target: Any, arguments: list[tuple[Any, ...]]) -> list[Any]:
    """Run a function in one process for each tuple of arguments; return what they put out."""
    barrier = _SPAWN.Barrier(len(arguments), timeout=600)
    out: Queue[Any] = _SPAWN.Queue()
    workers = [_SPAWN.Process(target=target, args=(*each, barrier, out)) for each in arguments]
    for worker in workers:
        worker.start()
    results: list[Any] = []
    while len(results) < len(workers):
        try:
            results.append(out.get(timeout=5))
        except Exception as error:
            broken = [worker for worker in workers if worker.exitcode not in (None, 0)]
            if broken:
                for worker in workers:
                    worker.terminate()
                raise RuntimeError(f"{len(broken)} processes of {target} failed") from error
    for worker in workers:
        worker.join()
    return results


def _writer(
    url: str,
    start: int,
    decisions: int,
    batch: int,
    stored: int,
    barrier: Barrier,
    out: Queue[dict[str, Any]],
) -> None:
    pages = SyntheticPages()
    records = pages.records(start, start + decisions)
    roots = pages.roots(np.arange(start, start + decisions)).tolist()
    times, sizes = [], []
    missed = planted = 0
    with Store.open(url, recipe=RECIPE) as store:
        position = 0
        for _ in range(WARM_UP):
            store.decide_many(records[position : position + batch])
            position += batch
        before = resident()
        gc.collect()
        gc.freeze()  # the pages made beforehand are not the store's to look through
        barrier.wait()
        begin, cpu = time.monotonic(), time.process_time()
        while position < decisions:
            some = records[position : position + batch]
            began = time.perf_counter()
            decided = store.decide_many(some)
            times.append(time.perf_counter() - began)
            sizes.append(len(some))
            for number, decision in enumerate(decided, start + position):
                root = roots[number - start]
                if root < stored and root != number:
                    planted += 1
                    missed += decision.representative != pages.url_of(root)
            position += len(some)
        end, cpu = time.monotonic(), time.process_time() - cpu
        memory = resident()
    out.put(
        {
            "times": np.array(times),
            "sizes": np.array(sizes),
            "begin": begin,
            "end": end,
            "cpu": cpu,
            "missed": missed,
            "planted": planted,
            "memory": memory,
            "growth": memory - before,
        }
    )
