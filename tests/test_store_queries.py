"""Queries, the integrity check, and the documentation of the database, on real databases."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import inspect, text

from tests.test_store_support import MINHASH, query, record, words_of
from websegment_scrapy.store import Database, PageRecord, Store
from websegment_scrapy.store.integrity import integrity
from websegment_scrapy.store.queries import (
    PairRow,
    changed,
    clusters,
    open_for_reading,
    pages,
    pairs,
    sites,
    story,
    summary,
)

pytest_plugins = ["tests.test_store_support"]

DOCUMENT = Path(__file__).parent.parent / "docs" / "reference" / "database.md"
A, B, C, D, E = (f"http://{host}.example/" for host in "abcde")


@pytest.fixture
def filled(store: Store) -> Store:
    store.decide(record(A, words_of(1), title="A", crawl="one"))
    store.decide(record(B, words_of(1), crawl="one"))
    store.decide(record(C, words_of(2), crawl="one"))
    store.decide(PageRecord(url=D, error="timed out", crawl="one"))
    store.decide(PageRecord(url=E, words=2, crawl="one"))
    store.decide(record(C, words_of(3), crawl="two"))
    store.decide(record(B, words_of(1), crawl="two"))
    return store


def test_the_summary_counts_everything(filled: Store) -> None:
    found = summary(filled)
    assert (found.pages, found.new, found.duplicate, found.empty, found.failed) == (5, 2, 1, 1, 1)
    assert (found.clusters, found.largest_cluster, found.hosts, found.visits) == (1, 2, 5, 7)
    assert (found.signature, found.similarity) == ("minhash", 0.7)
    assert found.first_seen is not None
    assert found.last_seen is not None
    assert found.created.tzinfo is not None
    assert found.created < found.first_seen < found.last_seen


def test_the_summary_of_an_empty_database(store: Store) -> None:
    found = summary(store)
    assert (found.pages, found.clusters, found.largest_cluster, found.last_seen) == (0, 0, 0, None)
    assert clusters(store) == list(pairs(store)) == list(pages(store)) == integrity(store) == []


def test_clusters_name_their_pages_largest_first(filled: Store) -> None:
    for number in range(3):
        filled.decide(record(f"http://x.example/{number}", words_of(9)))
    found = clusters(filled)
    assert [(cluster.size, cluster.representative) for cluster in found] == [
        (3, "http://x.example/0"),
        (2, A),
    ]
    assert found[1].urls == (A, B)
    assert len(clusters(filled, limit=1)) == 1
    assert len(clusters(filled, min_size=1)) == 3
    assert clusters(filled, min_size=4) == []


def test_a_story_tells_all_visits(filled: Store) -> None:
    told = story(filled, "HTTP://C.example/#top")
    assert told is not None
    assert told.page.url == C
    assert told.cluster == ()
    assert [(visit.crawl, visit.decision) for visit in told.visits] == [
        ("one", "new"),
        ("two", "changed"),
    ]
    other = story(filled, B)
    assert other is not None
    assert (other.page.duplicate_of, other.page.representative, other.cluster) == (A, A, (A,))
    assert [visit.duplicate_of for visit in other.visits] == [A, A]
    failed = story(filled, D)
    assert failed is not None
    assert failed.visits[0].reason == "timed out"
    assert story(filled, "http://never.example/") is None


def test_types_of_pages_are_kept_and_counted(filled: Store) -> None:
    assert summary(filled).page_types == {}
    for number, name in enumerate(["forum", "article", "forum", "article", "product", "forum"]):
        filled.decide(
            record(
                f"http://{'ab'[number % 2]}.example/{number}",
                words_of(20 + number),
                page_type=name,
                page_type_probability=0.5 + number / 100,
            )
        )
    assert list(summary(filled).page_types.items()) == [
        ("forum", 3),
        ("article", 2),
        ("product", 1),
    ]
    of_host = {row.host: row.page_types for row in sites(filled)}
    assert of_host["a.example"] == {"forum": 2, "product": 1}
    assert of_host["b.example"] == {"article": 2, "forum": 1}
    assert of_host["c.example"] == {}
    (page,) = [page for page in pages(filled) if page.url == "http://a.example/2"]
    assert (page.page_type, page.page_type_probability) == ("forum", pytest.approx(0.52))
    assert next(pages(filled)).page_type is None


def test_a_revisit_brings_the_type_and_a_failed_one_leaves_it(filled: Store) -> None:
    def found() -> tuple[str | None, float | None]:
        told = story(filled, A)
        assert told is not None
        return told.page.page_type, told.page.page_type_probability

    typed = {"page_type": "article", "page_type_probability": 0.75}
    assert filled.decide(record(A, words_of(1), **typed)).kind == "unchanged"
    assert found() == ("article", 0.75)
    assert filled.decide(PageRecord(url=A, error="timed out")).kind == "failed"
    assert found() == ("article", 0.75)
    assert filled.decide(record(A, words_of(5), page_type="forum")).kind == "changed"
    assert found() == ("forum", None)
    assert integrity(filled) == []


def test_pairs_and_pages_list_everything(filled: Store) -> None:
    assert list(pairs(filled)) == [PairRow(B, A, A, 1.0)]
    assert [page.url for page in pages(filled)] == [A, B, C, D, E]


def test_pages_are_read_in_batches_while_a_crawl_writes(
    filled: Store, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("websegment_scrapy.store.queries._BATCH", 2)
    database = open_for_reading(database_url)
    seen = []
    for page in pages(database):
        seen.append(page.url)
        if len(seen) == 3:
            filled.decide(record("http://late.example/", words_of(8)))
    database.close()
    assert seen == [A, B, C, D, E, "http://late.example/"]


def test_changes_since_a_moment_say_how_much(filled: Store) -> None:
    before = datetime.now(UTC) - timedelta(hours=1)
    (change,) = changed(filled, before)
    assert (change.url, change.decision, change.crawl) == (C, "changed", "two")
    assert change.changed_share == 1.0
    assert [(row.url, row.decision) for row in changed(filled, before, new_too=True)] == [
        (A, "new"),
        (C, "new"),
        (C, "changed"),
    ]
    assert list(changed(filled, datetime.now(UTC) + timedelta(hours=1))) == []


def test_sites_are_counted(filled: Store) -> None:
    filled.decide(record(A + "more", words_of(1)))
    found = sites(filled)
    assert [row.host for row in found] == [f"{name}.example" for name in "abcde"]
    first = found[0]
    assert (first.pages, first.new, first.duplicate, first.empty, first.failed) == (2, 1, 1, 0, 0)
    assert [row.failed for row in found] == [0, 0, 0, 1, 0]
    assert first.last_seen is not None
    assert first.first_seen < first.last_seen


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ("DELETE FROM visits WHERE page_id = 3", "pages without a visit: 3"),
        ("DELETE FROM page_keys WHERE page_id = 2", "keys are not those of their signature: 2"),
        ("UPDATE page_keys SET page_id = 4 WHERE page_id = 1", "keys are not those"),
        (
            "UPDATE pages SET cluster_id = 2 WHERE id = 1",
            "new but do not represent their cluster, or the other way round: 1",
        ),
        ("UPDATE pages SET cluster_id = 2 WHERE id = 2", "the other way round: 2"),
        ("UPDATE pages SET cluster_id = 2 WHERE id = 1", "without the page that represents them"),
        ("UPDATE pages SET cluster_id = 3 WHERE id = 2", "similar to their representative: 2"),
        ("UPDATE pages SET duplicate_of_id = 3 WHERE id = 2", "page that they repeat: 2"),
        ("UPDATE pages SET duplicate_of_id = 2 WHERE id = 2", "lead back to themselves: 2"),
        ("UPDATE pages SET similarity = NULL WHERE id = 2", "do not fit together: 2"),
        ("UPDATE pages SET cluster_id = NULL WHERE id = 3", "without a cluster"),
        ("UPDATE pages SET url = 'x' WHERE id IN (4, 5)", "URLs with more than one page: x"),
        ("DELETE FROM crawls WHERE name = 'two'", "visits of a crawl that does not exist: 6, 7"),
        ("DELETE FROM sites WHERE host = 'a.example'", "without a row in sites: a.example"),
        ("UPDATE pages SET signature = :bytes WHERE id = 1", "signature cannot be read: 1"),
    ],
)
def test_the_check_names_damage(filled: Store, damage: str, message: str) -> None:
    assert integrity(filled) == []
    with filled.database.write() as connection:
        connection.execute(text(damage), {"bytes": b"damaged"} if ":bytes" in damage else {})
    assert message in "\n".join(integrity(filled))


def test_the_check_names_rows_without_their_page(sqlite_url: str) -> None:
    with Store.open(sqlite_url, recipe=MINHASH) as store:
        store.decide(record(A, words_of(1)))
        with store.database.engine.connect() as connection:
            connection.exec_driver_sql("ROLLBACK")
            connection.exec_driver_sql("PRAGMA foreign_keys=OFF")
            connection.exec_driver_sql("DELETE FROM pages")
            connection.exec_driver_sql("BEGIN")
        found = "\n".join(integrity(store))
    assert "rows that refer to a missing row" in found
    assert "visits to a page that does not exist: 1" in found
    assert "keys of a page that does not exist: 1" in found


def test_every_documented_query_runs(filled: Store) -> None:
    found = re.findall(r"```sql\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    assert len(found) >= 3
    for sql in found:
        rows = query(filled, sql.strip().removesuffix(";"))
        assert rows, sql


def documented() -> dict[str, list[str]]:
    tables: dict[str, list[str]] = {}
    section = re.compile(r"^### `(\w+)`.*?\n(.*?)(?=^##)", re.DOTALL | re.MULTILINE)
    for name, body in section.findall(DOCUMENT.read_text(encoding="utf-8")):
        tables[name] = re.findall(r"^\| `(\w+)` \|", body, re.MULTILINE)
    return tables


def test_every_table_and_column_is_documented(store: Store) -> None:
    def actual(database: Database) -> dict[str, list[str]]:
        inspector = inspect(database.engine)
        names = [*inspector.get_table_names(), *inspector.get_view_names()]
        return {name: [each["name"] for each in inspector.get_columns(name)] for name in names}

    assert documented() == actual(store.database)
