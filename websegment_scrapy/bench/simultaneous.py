"""Proof: near-duplicates that arrive at the same moment find each other, thanks to the locks."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import insert, text

from websegment_scrapy.bench.synthetic import RECIPE
from websegment_scrapy.bench.torture import CONTEXT
from websegment_scrapy.dedup.signature import Signature, similarity
from websegment_scrapy.store.clusters import Match
from websegment_scrapy.store.database import Database
from websegment_scrapy.store.integrity import integrity
from websegment_scrapy.store.models import Page
from websegment_scrapy.store.placing import add_keys, content_of
from websegment_scrapy.store.record import PageRecord
from websegment_scrapy.store.statements import Statements
from websegment_scrapy.store.store import Store
from websegment_scrapy.store.visit import VisitToDecide

if TYPE_CHECKING:
    from multiprocessing.synchronize import Barrier

__all__ = ["Pairs", "simultaneous"]


@dataclass(frozen=True, slots=True)
class Pairs:
    """How simultaneous near-duplicates fared."""

    pairs: int
    missed: int
    lost: int
    doubled: int
    problems: tuple[str, ...]


def simultaneous(
    url: str, *, processes: int = 8, pairs: int = 400, rounds: int = 20, naive: bool = False
) -> Pairs:
    """Let pairs of processes store near-duplicates at the same moment; `naive`: without locks.

    ``naive`` is what one would write at first: look for candidates, then insert.
    """
    Store.open(url, recipe=RECIPE).close()
    per_duo = pairs * 2 // processes
    workers = []
    barriers = [CONTEXT.Barrier(2, timeout=300) for _ in range(processes // 2)]
    for duo, barrier in enumerate(barriers):
        for side in range(2):
            arguments = (url, duo, side, per_duo, rounds, naive, barrier)
            workers.append(CONTEXT.Process(target=_pair_writer, args=arguments))
    _run(workers)
    total = processes // 2 * per_duo * rounds
    with closing(Database.open(url)) as database:
        with database.read() as connection:
            sql = "SELECT decision, count(*) FROM pages GROUP BY decision"
            counts = {row[0]: row[1] for row in connection.execute(text(sql))}
            urls = connection.execute(text("SELECT count(DISTINCT url) FROM pages")).scalar_one()
        return Pairs(
            pairs=total,
            missed=total - counts.get("duplicate", 0),
            lost=2 * total - urls,
            doubled=sum(counts.values()) - urls,
            problems=() if naive else tuple(integrity(database)),
        )


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
    keys, match = signature.keys(), None
    with store.database.read() as connection:
        statements = Statements.of(connection, 1)
        ids = {page for _, page in statements.sharing(keys, 500)}
        for page in statements.candidates(ids) if ids else ():
            value = similarity(signature, store.rules.signature(page))
            if value >= store.rules.similarity:
                match = Match(page.id, page.url, value, page.id)
    visit = VisitToDecide(record, store.rules, crawl_id=1)
    now = datetime.now(UTC)
    with store.database.write() as connection:
        row = {**visit.founded(now), **visit.described(), "last_seen": now}
        row |= content_of(signature, match, store.rules)
        page_id = connection.execute(insert(Page).returning(Page.id), row).scalar_one()
        add_keys(connection, page_id, keys)


def _run(workers: list[Any]) -> None:
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if any(worker.exitcode for worker in workers):
        raise RuntimeError("a process failed")
