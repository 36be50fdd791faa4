"""Forgetting, merging, copying: the store over the years."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import text

from tests.test_store_support import (
    MINHASH,
    brute_force_clusters,
    query,
    record,
    stored_clusters,
    words_of,
)
from websegment_scrapy.cli.main import main
from websegment_scrapy.exceptions import StoreMismatch
from websegment_scrapy.store import PageRecord, Store, database, lifecycle, merging
from websegment_scrapy.store.integrity import integrity
from websegment_scrapy.store.queries import open_for_reading, sites, story, summary

pytest_plugins = ["tests.test_store_support"]

A, B, C, D = (f"http://{name}.example/" for name in "abcd")


def age(store: Store, *urls: str) -> None:
    """Let pages look as if they were last seen long ago."""
    old = "2020-01-01 00:00:00.000000Z"
    with store.database.write() as connection:
        for url in urls:
            connection.execute(
                text("UPDATE pages SET last_seen = :old WHERE url = :url"),
                {"old": old, "url": url},
            )


def test_old_pages_are_forgotten_and_their_number_is_kept(store: Store) -> None:
    for url in (A, B, C):
        store.decide(record(url, words_of(1)))
    store.decide(PageRecord(url=D, error="timed out"))
    age(store, A, D)
    assert lifecycle.forget(store.database, datetime.now(UTC) - timedelta(days=30)) == 2
    assert integrity(store) == []
    assert stored_clusters(store) == {frozenset((B, C))}
    assert query(store, "SELECT url, duplicate_of FROM duplicates") == [(C, B)]
    assert [(row.host, row.pages, row.forgotten) for row in sites(store)] == [
        ("b.example", 1, 0),
        ("c.example", 1, 0),
        ("a.example", 0, 1),
        ("d.example", 0, 1),
    ]
    assert store.decide(record(A, words_of(1))).kind == "duplicate"
    assert integrity(store) == []


def test_a_whole_store_can_be_forgotten_in_chunks(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lifecycle, "CHUNK", 3)
    urls = [f"http://example.com/{number}" for number in range(8)]
    for number, url in enumerate(urls):
        store.decide(record(url, words_of(number % 2)))
    assert lifecycle.forget(store.database, datetime.now(UTC) + timedelta(days=1)) == 8
    assert integrity(store) == []
    assert summary(store).pages == 0
    assert query(store, "SELECT count(*) FROM page_keys") == [(0,)]


def test_two_stores_are_merged(store: Store, tmp_path: Path) -> None:
    contents = {A: words_of(1), B: words_of(1, start=10), C: words_of(2)}
    with Store.open(f"sqlite:///{tmp_path}/other.db", recipe=MINHASH) as other:
        other.decide(record(A, words_of(3), crawl="other"))
        typed = {"page_type": "forum", "page_type_probability": 0.5}
        other.decide(record(B, contents[B], crawl="other", title="B", **typed))
        other.decide(PageRecord(url=D, error="timed out", crawl="other"))
        store.decide(record(A, contents[A], crawl="own"))
        store.decide(record(C, contents[C], crawl="own"))
        brought = merging.merge(other.database, store)
        assert (brought.pages, brought.visits) == (2, 3)
        assert merging.merge(other.database, store) == merging.Merged(0, 0)
    assert integrity(store) == []
    assert stored_clusters(store) == brute_force_clusters(contents)
    told = story(store, B)
    assert told is not None
    assert (told.page.decision, told.page.duplicate_of, told.page.title) == ("duplicate", A, "B")
    assert (told.page.page_type, told.page.page_type_probability) == ("forum", 0.5)
    assert ("other", "new") in [(visit.crawl, visit.decision) for visit in told.visits]


def test_a_copy_has_the_clusters_and_times_of_its_source(
    database_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = f"sqlite:///{tmp_path}/source.db"
    with Store.open(source, recipe=MINHASH) as store:
        for family in range(3):
            for step in range(4):
                url = f"http://example.com/{family}/{step}"
                store.decide(record(url, words_of(family, start=12 * step), crawl="c"))
        expected = stored_clusters(store)
        times = sorted(row[0] for row in query(store, "SELECT first_seen FROM pages"))
    assert main(["dedup", "copy", source, "--database", database_url]) == 0
    assert "12 pages and 12 visits" in capsys.readouterr().err
    with Store.open(database_url, recipe=MINHASH) as store:
        assert stored_clusters(store) == expected
        assert integrity(store) == []
        found = [row[0] for row in query(store, "SELECT first_seen FROM pages ORDER BY first_seen")]
        if not store.database.is_postgresql:
            assert found == times
    assert main(["dedup", "vacuum", "--database", database_url]) == 0
    assert main(["dedup", "forget", "--not-seen-for", "30", "--database", database_url]) == 0
    assert "0 pages forgotten" in capsys.readouterr().err
    assert main(["dedup", "check", "--database", database_url]) == 0


def test_a_copy_insists_on_an_empty_target_or_a_part_of_itself(
    database_url: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(merging, "CHUNK", 2)
    source = f"sqlite:///{tmp_path}/source.db"
    other = f"sqlite:///{tmp_path}/other.db"
    for url in (source, other):
        with Store.open(url, recipe=MINHASH) as store:
            store.decide_many([record(page, words_of(1)) for page in (A, B, C, D)])

    def interrupt(done: int) -> None:
        raise KeyboardInterrupt

    with Store.open(database_url, recipe=MINHASH) as target:
        database = open_for_reading(source)
        with pytest.raises(KeyboardInterrupt):
            merging.copy(database, target, interrupt)
        database.close()
        assert summary(target).pages == 2
    copy = ["dedup", "copy", "--database", database_url]
    assert main([*copy, other]) == 2
    assert "holds a part of sqlite:" in capsys.readouterr().err
    assert main([*copy, source]) == 0
    assert main([*copy, source]) == 2
    assert "holds pages already: copy into a new database" in capsys.readouterr().err
    assert main(["dedup", "check", "--database", database_url]) == 0
    assert main(["dedup", "merge", "--database", database_url, source]) == 0


def test_stores_of_different_recipes_are_not_merged(store: Store, tmp_path: Path) -> None:
    other = Store.open(f"sqlite:///{tmp_path}/other.db", recipe=replace(MINHASH, seed=2))
    with other, pytest.raises(StoreMismatch, match="only stores of the same recipe"):
        merging.merge(other.database, store)


@pytest.mark.parametrize("command", [["forget", "--not-seen-for", "1"], ["vacuum"]])
def test_a_locked_file_is_said_with_the_remedy(
    tmp_path: Path,
    command: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(database, "BUSY_TIMEOUT", 0.2)
    path = tmp_path / "pages.db"
    with Store.open(f"sqlite:///{path}", recipe=MINHASH) as store:
        store.decide(record(A, words_of(1)))
    holder = sqlite3.connect(path, isolation_level=None)
    try:
        holder.execute("BEGIN IMMEDIATE")
        assert main(["dedup", *command, "--database", f"sqlite:///{path}"]) == 2
    finally:
        holder.close()
    assert "another process holds the database: let it finish" in capsys.readouterr().err
