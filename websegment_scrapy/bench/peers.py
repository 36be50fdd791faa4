"""The same pages in datasketch's MinHashLSH, in memory and in Redis, to compare with."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from websegment_scrapy.bench.store import resident, run_all
from websegment_scrapy.bench.synthetic import RECIPE, SyntheticPages

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.queues import Queue
    from multiprocessing.synchronize import Barrier

__all__ = ["PeerCost", "measure_peer", "redis_lacks"]

CHUNK = 10_000
REDIS_PORT = 16_379


@dataclass(frozen=True, slots=True)
class PeerCost:
    """What was measured: queries and insertions, memory of the process, pairs missed."""

    decisions_per_second: float
    median_ms: float
    p99_ms: float
    missed: int
    planted: int
    memory_mib: float


def redis_lacks() -> str | None:
    """Return what is missing to measure datasketch in Redis, if anything is."""
    if shutil.which("redis-server") is None:
        return "no redis-server is installed"
    return None if find_spec("redis") else "the Python package redis is not installed"


def measure_peer(stored: int, decisions: int, *, redis: bool) -> PeerCost:
    """Fill an LSH index with `stored` pages, then look up and insert further ones, one by one."""
    with _redis() if redis else contextlib.nullcontext():
        found: PeerCost = run_all(_run, [(stored, decisions, redis)])[0]
    return found


@contextlib.contextmanager
def _redis() -> Iterator[None]:
    with tempfile.TemporaryDirectory() as directory:
        server = subprocess.Popen(
            ["redis-server", "--port", str(REDIS_PORT), "--bind", "127.0.0.1", "--save", ""],
            cwd=directory,
            stdout=subprocess.DEVNULL,
        )
        time.sleep(1)
        try:
            yield
        finally:
            server.terminate()
            server.wait()


def _run(stored: int, decisions: int, redis: bool, barrier: Barrier, out: Queue[PeerCost]) -> None:
    from datasketch import MinHash, MinHashLSH

    options: dict[str, Any] = {}
    if redis:
        options["storage_config"] = {
            "type": "redis",
            "basename": b"websegment",
            "redis": {"host": "127.0.0.1", "port": REDIS_PORT},
        }
    pages = SyntheticPages()
    before = resident()
    index = MinHashLSH(num_perm=RECIPE.size, params=(RECIPE.bands, RECIPE.rows), **options)

    def sketches(start: int, stop: int) -> list[Any]:
        _, values, _ = pages.signatures(start, stop)
        return [
            MinHash(num_perm=RECIPE.size, seed=1, hashvalues=row, scheme=RECIPE.scheme)
            for row in values
        ]

    for start in range(0, stored, CHUNK):
        stop = min(start + CHUNK, stored)
        with index.insertion_session() as session:
            for number, sketch in enumerate(sketches(start, stop), start):
                session.insert(number, sketch, check_duplication=False)
    barrier.wait()
    made = sketches(stored, stored + decisions)
    roots = pages.roots(np.arange(stored, stored + decisions)).tolist()
    times = []
    missed = planted = 0
    for number, sketch in enumerate(made, stored):
        began = time.perf_counter()
        found = index.query(sketch)
        index.insert(number, sketch)
        times.append(time.perf_counter() - began)
        root = roots[number - stored]
        if root < stored and root != number:
            planted += 1
            missed += root not in found
    out.put(
        PeerCost(
            decisions_per_second=decisions / sum(times),
            median_ms=float(np.median(times)) * 1e3,
            p99_ms=float(np.percentile(times, 99)) * 1e3,
            missed=missed,
            planted=planted,
            memory_mib=resident() - before + (_server_memory() if redis else 0.0),
        )
    )


def _server_memory() -> float:
    """Return what the Redis server holds, in MiB."""
    from redis import Redis

    with Redis(host="127.0.0.1", port=REDIS_PORT) as client:
        info: Any = client.info("memory")
    return float(info["used_memory"]) / 2**20
