"""Many processes on one database: no pair is missed, no page is lost, a kill leaves no trace."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import time
from collections import Counter
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest
from sqlalchemy import text

from tests.test_store_support import (
    MINHASH,
    assert_every_text_once,
    query,
    record,
    stored_clusters,
    words_of,
)
from websegment_scrapy.bench.synthetic import SyntheticPages
from websegment_scrapy.exceptions import StoreError
from websegment_scrapy.store import PageRecord, Store, database
from websegment_scrapy.store.integrity import integrity

pytest_plugins = ["tests.test_store_support"]

PROCESSES = 4
ROUNDS = 30
STEPS = 60
URLS = 12
FORK = multiprocessing.get_context("forkserver")
FORK.set_forkserver_preload(["tests.test_store_concurrency"])


def simultaneous_pages(url: str, number: int, barrier: Barrier) -> None:
    """In every round all processes store a near-duplicate page at the same moment."""
    barrier.wait()
    with Store.open(url, recipe=MINHASH) as store:
        for round_ in range(ROUNDS):
            page = record(f"http://example.com/{round_}/{number}", words_of(round_) + f" x{number}")
            barrier.wait()
            store.decide(page)


def the_same_url(url: str, number: int, barrier: Barrier) -> None:
    with Store.open(url, recipe=MINHASH) as store:
        for round_ in range(ROUNDS):
            page = record(f"http://example.com/{round_}", words_of(round_), crawl=str(number))
            barrier.wait()
            store.decide(page)


def anything(url: str, number: int, barrier: Barrier) -> None:
    """Store new, linking, changing and failing pages on few URLs, as fast as possible."""
    chooser = random.Random(number)
    with Store.open(url, recipe=MINHASH) as store:
        barrier.wait()
        for _ in range(STEPS):
            page = f"http://example.com/{chooser.randrange(URLS)}"
            if chooser.random() < 0.1:
                store.decide(PageRecord(url=page, error="failed"))
                continue
            family, start = chooser.randrange(2), 8 * chooser.randrange(6)
            store.decide(record(page, words_of(family, start=start), title=f"{family} {start}"))


def run(target: object, url: str) -> None:
    barrier = FORK.Barrier(PROCESSES, timeout=60)
    workers = [
        FORK.Process(target=target, args=(url, number, barrier)) for number in range(PROCESSES)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(120)
    assert [worker.exitcode for worker in workers] == [0] * PROCESSES


def test_simultaneous_near_duplicates_all_find_each_other(database_url: str) -> None:
    run(simultaneous_pages, database_url)
    with Store.open(database_url, recipe=MINHASH) as store:
        kinds = Counter(row[0] for row in query(store, "SELECT decision FROM visits"))
        assert kinds == {"new": ROUNDS, "duplicate": ROUNDS * (PROCESSES - 1)}
        assert {len(cluster) for cluster in stored_clusters(store)} == {PROCESSES}
        assert len(stored_clusters(store)) == ROUNDS
        assert integrity(store) == []


def test_the_same_url_in_all_processes_is_one_page(database_url: str) -> None:
    run(the_same_url, database_url)
    with Store.open(database_url, recipe=MINHASH) as store:
        kinds = Counter(row[0] for row in query(store, "SELECT decision FROM visits"))
        assert kinds == {"new": ROUNDS, "unchanged": ROUNDS * (PROCESSES - 1)}
        assert query(store, "SELECT count(*) FROM pages") == [(ROUNDS,)]
        assert integrity(store) == []


def test_every_text_is_there_once_after_simultaneous_changes(database_url: str) -> None:
    run(anything, database_url)
    with Store.open(database_url, recipe=MINHASH) as store:
        contents = {}
        for url, title in query(store, "SELECT url, title FROM pages WHERE signature IS NOT NULL"):
            family, start = map(int, title.split())
            contents[url] = words_of(family, start=start)
        assert_every_text_once(store, contents)
        assert query(store, "SELECT count(*) FROM visits") == [(PROCESSES * STEPS,)]
        assert integrity(store) == []


def write_for_ever(url: str) -> None:
    with Store.open(url, recipe=MINHASH) as store:
        for number in range(10**6):
            content = words_of(number % 3, start=8 * (number % 7))
            store.decide(record(f"http://example.com/{number % 50}", content))


def test_a_killed_process_leaves_a_sound_database(database_url: str) -> None:
    with Store.open(database_url, recipe=MINHASH) as store:
        for pages in (30, 120):
            worker = FORK.Process(target=write_for_ever, args=(database_url,))
            worker.start()
            give_up = time.monotonic() + 60
            while query(store, "SELECT count(*) FROM visits")[0][0] < pages:
                assert time.monotonic() < give_up
                time.sleep(0.01)
            assert worker.pid is not None
            os.kill(worker.pid, signal.SIGKILL)
            worker.join()
            assert integrity(store) == []
        assert store.decide(record("http://example.com/after", words_of(9))).kind == "new"


@pytest.mark.parametrize("content", [words_of(1, start=8), words_of(2)], ids=["similar", "other"])
@pytest.mark.parametrize("page", ["a", "new"])
def test_an_error_in_the_middle_of_a_decision_undoes_all_of_it(
    sqlite_url: str, page: str, content: str
) -> None:
    tables = ("pages", "page_keys", "visits", "store_info")
    with Store.open(sqlite_url, recipe=MINHASH) as store:
        for name in "abc":
            store.decide(record(f"http://example.com/{name}", words_of(1)))
        before = [query(store, f"SELECT * FROM {table}") for table in tables]
        with store.database.write() as connection:
            connection.execute(
                text(
                    "CREATE TRIGGER power_failure BEFORE INSERT ON visits "
                    "BEGIN SELECT RAISE(ABORT, 'power failure'); END"
                )
            )
        with pytest.raises(StoreError, match="power failure"):
            store.decide(record(f"http://example.com/{page}", content))
        assert [query(store, f"SELECT * FROM {table}") for table in tables] == before
        with store.database.write() as connection:
            connection.execute(text("DROP TRIGGER power_failure"))
        store.decide(record(f"http://example.com/{page}", content))
        assert integrity(store) == []


def test_readers_are_not_blocked_by_a_writer_and_see_one_state(
    database_url: str, tmp_path: Path
) -> None:
    with Store.open(database_url, recipe=MINHASH) as store:
        store.decide(record("http://example.com/a", words_of(1)))
        with store.database.write() as connection:
            connection.execute(text("UPDATE pages SET title = 'uncommitted'"))
            assert query(store, "SELECT title FROM pages") == [("",)]


def test_a_batch_with_more_locks_than_the_server_has_room_for_is_split(postgresql_url: str) -> None:
    records = SyntheticPages().records(0, 1500)
    with Store.open(postgresql_url, recipe=MINHASH) as store:
        decided = store.decide_many(records)
        assert len(decided) == 1500
        assert query(store, "SELECT count(*) FROM visits") == [(1500,)]
        assert integrity(store) == []
        room = query(store, "SHOW max_locks_per_transaction")
    assert int(room[0][0]) == 64  # what 1,500 × 17 locks do not fit into


def test_decisions_wait_for_a_locked_file_then_fail_clearly(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "BUSY_TIMEOUT", 0.2)
    with (
        Store.open(sqlite_url, recipe=MINHASH) as holder,
        Store.open(sqlite_url, recipe=MINHASH, patience=1) as store,
    ):
        store.decide(record("http://example.com/a", words_of(1)))
        began = time.monotonic()
        with holder.database.write():
            with pytest.raises(StoreError, match="another process holds the database"):
                store.decide(record("http://example.com/b", words_of(1)))
            assert time.monotonic() - began > 0.5
        assert store.decide(record("http://example.com/b", words_of(1))).kind == "duplicate"
        assert integrity(store) == []
