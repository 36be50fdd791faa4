"""What a site repeats is counted with its pages: once each, by all writers, at a bounded cost."""

from __future__ import annotations

import multiprocessing
import time
from datetime import UTC, datetime, timedelta
from multiprocessing.synchronize import Barrier
from typing import Any

import numpy as np
import pytest
from sqlalchemy import text

from tests.test_store_support import MINHASH, query, record, words_of
from websegment_scrapy.dedup.decision import DecisionKind
from websegment_scrapy.store import Database, PageRecord, Store
from websegment_scrapy.store.integrity import integrity
from websegment_scrapy.store.lifecycle import forget
from websegment_scrapy.store.merging import merge
from websegment_scrapy.store.templates import (
    COUNT_ALL,
    FORGET_EVERY,
    SAMPLE,
    WINDOW,
    count_parts,
    template_parts,
)
from websegment_scrapy.template.hashes import MAX_PARTS, PageParts

pytest_plugins = ["tests.test_store_support"]

FORK = multiprocessing.get_context("forkserver")
FORK.set_forkserver_preload(["tests.test_store_concurrency"])

HOST = "example.com"
LONG = 2  # the lowest bits of a long part
MENU = [4 * number + LONG for number in range(1, 6)]


def parts_of(number: int, own: int = 3, menu: list[int] | None = None) -> PageParts:
    """Return parts: one for the whole page, some of its own, and the site's menu."""
    chosen = MENU if menu is None else menu
    unique = [-(1000 * number + k) * 4 + LONG for k in range(1, own + 2)]
    hashes = np.array([unique[0], *chosen, *unique[1:]], dtype=np.int64)
    return PageParts(hashes, tuple(f"p: part {each}" for each in hashes.tolist()))


def visit(number: int, *, host: str = HOST, content: str | None = None, **more: Any) -> PageRecord:
    more = {"parts": parts_of(number), **more}
    return record(f"http://{host}/{number}", content or words_of(number), **more)


def light(number: int, **more: Any) -> PageRecord:
    """Return a visit that found no words: nothing but its parts to count."""
    return PageRecord(url=f"http://{HOST}/{number}", **{"parts": parts_of(number), **more})


def counts(source: Any, host: str = HOST) -> tuple[int, dict[int, int]]:
    pages = query(source, "SELECT template_pages FROM sites WHERE host = :host", host=host)
    rows = query(source, "SELECT part, pages FROM template_counts WHERE host = :host", host=host)
    return pages[0][0], {row[0]: row[1] for row in rows}


def test_each_page_adds_its_parts_to_its_site(store: Store) -> None:
    for number in range(7):
        store.decide(visit(number))
    pages, found = counts(store)
    assert pages == 7
    assert {part: found[part] for part in MENU} == dict.fromkeys(MENU, 7)
    assert sum(found.values()) == 7 * len(parts_of(0).hashes)
    assert not integrity(store)


def test_a_batch_counts_as_single_visits_do(store: Store) -> None:
    store.decide_many([visit(number, host=f"h{number % 3}.org") for number in range(15)])
    for number in range(15):
        store.decide(visit(number, host=f"s{number % 3}.org", content=words_of(100 + number)))
    for number in range(3):
        together, alone = counts(store, f"h{number}.org"), counts(store, f"s{number}.org")
        assert together == alone
        assert together[0] == 5


def test_a_verdict_comes_with_enough_pages(store: Store) -> None:
    assert store.site_verdict(HOST) is None
    for number in range(5):
        assert store.site_verdict(HOST, min_pages=5) is None
        store.decide(visit(number))
    verdict = store.site_verdict(HOST, min_pages=5)
    assert verdict is not None
    assert verdict.pages == 5
    assert verdict.templates.tolist() == sorted(MENU)
    assert store.site_verdict(HOST, min_pages=6) is None
    assert store.site_verdict("elsewhere.org") is None


@pytest.mark.parametrize("content", [None, "other"])
def test_a_page_counts_at_its_first_visit_only(store: Store, content: str | None) -> None:
    store.decide_many([visit(number) for number in range(6)])
    before = counts(store)
    again = [
        visit(number, content=content and words_of(50 + number), parts=parts_of(70 + number))
        for number in range(6)
    ]
    decisions = store.decide_many(again[:3]) + [store.decide(each) for each in again[3:]]
    expected = DecisionKind.UNCHANGED if content is None else DecisionKind.CHANGED
    assert {decision.kind for decision in decisions} == {expected}
    assert counts(store) == before


def test_the_same_url_twice_in_a_batch_counts_once(store: Store) -> None:
    store.decide_many([visit(1), visit(2), visit(1), visit(1, content=words_of(9))])
    assert counts(store)[0] == 2


def test_a_page_that_failed_at_first_counts_when_it_is_analysed(store: Store) -> None:
    store.decide(PageRecord(url=f"http://{HOST}/1", error="timeout", parts=parts_of(1)))
    assert counts(store) == (0, {})
    store.decide(visit(1))
    assert counts(store)[0] == 1


def test_pages_with_too_few_words_and_duplicates_count_too(store: Store) -> None:
    store.decide(visit(1, content="few words"))
    store.decide(visit(2))
    store.decide(visit(3, content=words_of(2)))
    assert counts(store)[0] == 3


def test_copies_of_a_page_do_not_make_its_content_a_template(store: Store) -> None:
    same = parts_of(0)
    store.decide_many([visit(number, content=words_of(0), parts=same) for number in range(30)])
    for number in range(30, 40):
        store.decide(visit(number, content=words_of(0), parts=same))
    assert counts(store)[0] == 1
    assert store.site_verdict(HOST, min_pages=1) is not None
    assert not len(store.site_verdict(HOST, min_pages=1).templates)  # type: ignore[union-attr]


def test_pages_without_parts_leave_no_trace(store: Store) -> None:
    none = PageParts(np.empty(0, np.int64), ())
    store.decide_many([visit(1, parts=None), visit(2, parts=none)])
    assert counts(store) == (0, {})
    store.decide(visit(1))
    assert counts(store)[0] == 1


def test_a_decision_that_is_undone_counts_nothing(store: Store, monkeypatch: Any) -> None:
    from websegment_scrapy.store import batch

    count, failures = count_parts, iter([True, False])

    def unlucky(*arguments: Any) -> set[str]:
        done = count(*arguments)
        if next(failures, False):
            from websegment_scrapy.store.database import StoreUnavailable

            raise StoreUnavailable("cut off")
        return done

    monkeypatch.setattr(batch, "count_parts", unlucky)
    store.decide(visit(1))
    assert counts(store)[0] == 1
    assert set(counts(store)[1].values()) == {1}


def test_a_page_that_did_not_change_has_what_it_is_judged_to_be_now(store: Store) -> None:
    whole, less, few = words_of(1, 200), words_of(1, 120), words_of(1, 5)
    same, other = b"a" * 16, b"d" * 16
    first = store.decide(visit(1, content=whole, page_hash=same))
    again = store.decide(visit(1, content=less, page_hash=same))
    assert (again.kind, again.revised, again.page_id) == ("unchanged", True, first.page_id)
    assert query(store, "SELECT words FROM pages") == [(120,)]
    last = store.decide(visit(1, content=less, page_hash=same))
    assert (last.kind, last.revised) == ("unchanged", False)
    assert store.decide_many([visit(1, content=few, page_hash=same)])[0].kind == "empty"
    assert query(store, "SELECT decision, words, signature FROM pages") == [("empty", 5, None)]
    store.decide_many([visit(2), visit(1, content=less, page_hash=same), visit(3)])
    assert store.decide(visit(1, content=less, page_hash=other)).kind == "unchanged"
    assert store.decide(visit(1, content=whole, page_hash=b"e" * 16)).kind == "changed"
    assert store.decide(visit(1, content=few, page_hash=b"f" * 16)).kind == "empty"
    assert query(store, f"SELECT words FROM pages WHERE id = {first.page_id}") == [(200,)]
    assert not integrity(store)


def test_a_page_of_an_older_database_gets_its_hash_at_the_next_visit(store: Store) -> None:
    store.decide(visit(1, parts=None))
    store.decide(visit(1, page_hash=b"a" * 16))
    assert store.decide(visit(1, content=words_of(2), page_hash=b"a" * 16)).kind == "unchanged"
    assert counts(store)[0] == 1


def test_samples_show_what_a_site_repeats(store: Store) -> None:
    for number in range(8):
        store.decide(visit(number))
    with store.database.read() as connection:
        pages, found = template_parts(connection, HOST)
    single = query(store, "SELECT count(sample), count(*) FROM template_counts WHERE pages = 1")
    assert single == [(0, 8 * (len(parts_of(0).hashes) - len(MENU)))]
    assert pages == 8
    assert [(each.part, each.pages, each.share) for each in found] == [
        (part, 8, 1.0) for part in sorted(MENU, key=lambda part: f"p: part {part}")
    ]
    assert {each.sample for each in found} == {f"p: part {part}" for part in MENU}


def test_rare_parts_are_forgotten_and_templates_stay(sqlite_url: str) -> None:
    with Store.open(sqlite_url, recipe=MINHASH) as store:
        for start in range(0, FORGET_EVERY, 5):
            store.decide_many([visit(number) for number in range(start, start + 5)])
        assert counts(store) == (FORGET_EVERY, dict.fromkeys(MENU, FORGET_EVERY))


def test_a_site_of_a_million_pages_costs_what_a_small_one_does(sqlite_url: str) -> None:
    """Pages as they come from a large site, counted without the rest of their decisions."""
    from websegment_scrapy.store.visit import Rules, VisitToDecide

    rules, pages, batch = Rules(MINHASH, 0.7, 15), 20_000, 100
    with Store.open(sqlite_url, recipe=MINHASH) as store:
        store.decide(visit(0))
        known: set[str] = set()
        largest = most = 0
        for start in range(1, pages, batch):
            visits = [
                VisitToDecide(light(number), rules, 1) for number in range(start, start + batch)
            ]
            with store.database.write() as connection:
                known |= count_parts(connection, visits, known)
                stored = text("SELECT count(*) FROM template_counts")
                largest = max(largest, connection.execute(stored).scalar_one())
            most = max(most, counts(store)[0])
        assert most < WINDOW
        # Between two times of forgetting only the newest pages have parts of their own.
        own = len(parts_of(0).hashes) - len(MENU)
        assert largest <= len(MENU) + own * (FORGET_EVERY + batch)
        verdict = store.site_verdict(HOST)
        assert verdict is not None
        assert verdict.templates.tolist() == sorted(MENU)
        started = time.perf_counter()
        with store.database.write() as connection:
            for number in range(pages, 1_000_000, 997):
                if number % SAMPLE:
                    one = VisitToDecide(light(number), rules, 1)
                    count_parts(connection, [one], known)
        assert time.perf_counter() - started < 30
        assert not integrity(store)


def test_a_known_site_counts_a_sample_of_its_pages(sqlite_url: str) -> None:
    with Store.open(sqlite_url, recipe=MINHASH) as store:
        for start in range(0, 600, 20):
            store.decide_many([visit(number) for number in range(start, start + 20)])
        pages = counts(store)[0]
        assert COUNT_ALL < pages < COUNT_ALL + 3 * 400 / SAMPLE
        assert not integrity(store)


def test_a_template_that_a_site_gave_up_is_forgotten(sqlite_url: str) -> None:
    new = [4 * number + LONG for number in range(11, 16)]
    with Store.open(sqlite_url, recipe=MINHASH) as store:
        for start in range(0, 200, 20):
            store.decide_many([visit(number) for number in range(start, start + 20)])
        for start in range(200, 14_200, 100):
            records = [
                light(number, parts=parts_of(number, menu=new))
                for number in range(start, start + 100)
            ]
            store.decide_many(records)
        verdict = store.site_verdict(HOST)
        assert verdict is not None
        assert verdict.templates.tolist() == sorted(new)


def test_forgetting_the_last_page_of_a_site_forgets_what_it_repeats(store: Store) -> None:
    store.decide_many([visit(number) for number in range(6)])
    store.decide(visit(1, host="other.org", content=words_of(20)))
    later = datetime.now(UTC) + timedelta(days=1)
    assert forget(store.database, datetime.now(UTC) - timedelta(days=1)) == 0
    assert counts(store)[0] == 6
    assert forget(store.database, later) == 7
    assert counts(store) == (0, {})
    assert not integrity(store)


def test_a_merge_keeps_the_counts_that_rest_on_more_pages(
    store: Store, sqlite_url: str, tmp_path: Any
) -> None:
    store.decide_many([visit(number) for number in range(3)])
    store.decide_many(
        [visit(number, host="b.org", content=words_of(60 + number)) for number in range(4)]
    )
    with Store.open(f"sqlite:///{tmp_path}/other.db", recipe=MINHASH) as other:
        other.decide_many([visit(number, page_hash=b"h" * 16) for number in range(8)])
        other.decide(visit(1, host="b.org", content=words_of(61)))
        for _ in range(2):
            merge(other.database, store)
            assert counts(store) == counts(other)
            assert counts(store, "b.org")[0] == 4
        before = counts(store)
    # What was counted there does not count here again.
    store.decide_many([visit(number) for number in range(8)])
    assert counts(store) == before
    assert not integrity(store)


def test_check_finds_impossible_counts(store: Store) -> None:
    store.decide_many([visit(number) for number in range(6)])
    with store.database.write() as connection:
        connection.exec_driver_sql("UPDATE template_counts SET pages = 99")
    assert any("more pages than were counted" in problem for problem in integrity(store))
    with store.database.write() as connection:
        connection.exec_driver_sql("UPDATE template_counts SET pages = 1, host = 'x.org'")
    assert any("without a row in sites: x.org" in problem for problem in integrity(store))


def write_pages(url: str, writer: int, start: Barrier) -> None:
    """Write pages of shared sites: batches and single visits, some URLs from every writer."""
    with Store.open(url, recipe=MINHASH) as store:
        start.wait()
        for step in range(12):
            numbers = [1000 * (writer + 1) + 8 * step + k for k in range(6)] + [step, step + 1]
            records = [
                visit(n, host=f"h{(n + step) % 2 if n >= 1000 else n % 2}.org", content=words_of(n))
                for n in numbers
            ]
            if step % 3:
                store.decide_many(records if writer % 2 else records[::-1])
            else:
                for each in records:
                    store.decide(each)


def test_several_writers_lose_no_count_and_count_nothing_twice(database_url: str) -> None:
    with Store.open(database_url, recipe=MINHASH):
        pass
    writers = 4
    start = FORK.Barrier(writers)
    processes = [
        FORK.Process(target=write_pages, args=(database_url, writer, start))
        for writer in range(writers)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(120)
        assert process.exitcode == 0
    database = Database.open(database_url)
    try:
        stored = query(database, "SELECT host, count(*) FROM pages GROUP BY host")
        expected = {row[0]: row[1] for row in stored}
        assert sum(expected.values()) > writers * 60
        for host, pages in expected.items():
            counted, found = counts(database, host)
            assert counted == pages
            if pages < FORGET_EVERY:
                assert sum(found.values()) == pages * len(parts_of(0).hashes)
            assert {found[part] for part in MENU} == {pages}
        assert not integrity(database)
    finally:
        database.close()


def test_the_largest_pages_are_counted_in_a_few_milliseconds(sqlite_url: str) -> None:
    many = [parts_of(number, own=MAX_PARTS - 6) for number in range(60)]
    with Store.open(sqlite_url, recipe=MINHASH) as store:
        started = time.process_time()
        for start in range(0, 60, 15):
            store.decide_many([visit(n, parts=many[n]) for n in range(start, start + 15)])
        assert (time.process_time() - started) / 60 < 0.05
