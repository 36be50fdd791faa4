"""Opening a database: made on demand, refused when it does not fit, errors that help."""

from __future__ import annotations

import multiprocessing
import sqlite3
from dataclasses import replace
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest
from sqlalchemy import text

from tests.test_store_support import MINHASH, query, record, words_of
from websegment_scrapy.dedup.signature import RECIPES
from websegment_scrapy.exceptions import StoreError, StoreMismatch
from websegment_scrapy.store import Database, Store
from websegment_scrapy.store.integrity import integrity
from websegment_scrapy.store.queries import open_for_reading

pytest_plugins = ["tests.test_store_support"]

FORK = multiprocessing.get_context("forkserver")
FORK.set_forkserver_preload(["tests.test_store_concurrency"])


def test_decisions_outlive_the_store(database_url: str) -> None:
    with Store.open(database_url, recipe=MINHASH) as store:
        store.decide(record("http://example.com/a", words_of(1)))
    with Store.open(database_url, recipe=MINHASH, similarity=0.7, min_words=5) as store:
        decision = store.decide(record("http://example.com/b", words_of(1)))
        assert decision.duplicate_of == "http://example.com/a"


def test_another_recipe_is_refused_naming_both(database_url: str) -> None:
    Store.open(database_url, recipe=MINHASH).close()
    with pytest.raises(StoreMismatch, match=r'"seed":1.*but.*"seed":2.*new database'):
        Store.open(database_url, recipe=replace(MINHASH, seed=2))
    with pytest.raises(StoreMismatch, match=r'"kind":"minhash".*but.*"kind":"shingles"'):
        Store.open(database_url, recipe=RECIPES["shingles"], similarity=0.7)


def test_another_similarity_is_refused_naming_both(database_url: str) -> None:
    Store.open(database_url, recipe=MINHASH).close()
    with pytest.raises(StoreMismatch, match=r"similarity 0\.7, but 0\.8 is asked for"):
        Store.open(database_url, recipe=MINHASH, similarity=0.8)


def test_a_damaged_store_info_is_refused(sqlite_url: str) -> None:
    with Store.open(sqlite_url, recipe=MINHASH) as store, store.database.write() as connection:
        connection.execute(text("UPDATE store_info SET value='{}' WHERE key='recipe'"))
    with pytest.raises(StoreMismatch, match=r"store_info is damaged.*new database"):
        Store.open(sqlite_url, recipe=MINHASH)


def test_a_table_of_another_program_is_not_touched(database_url: str) -> None:
    database = Database.open(database_url, create=True)
    with database.write() as connection:
        connection.execute(text("CREATE TABLE pages (number INTEGER)"))
    with pytest.raises(StoreError, match="table 'pages' of another program"):
        Store.open(database_url, recipe=MINHASH)
    assert query(database, "SELECT * FROM pages") == []
    database.close()


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:", ":memory:"])
def test_a_database_in_memory_is_refused(url: str) -> None:
    with pytest.raises(StoreError, match=r"in memory.*give a file"):
        Store.open(url, recipe=MINHASH)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("mysql://me:secret@host/db", "'mysql' is not supported: write sqlite:///FILE or"),
        ("postgresql+asyncpg://me:secret@host/db", "not supported"),
        ("postgresql://me:secret@host:port/db", "is no database URL"),
        ("postgresql://me:secret@127.0.0.1:1/db?connect_timeout=2", "check that the server runs"),
        (
            "postgresql://me@127.0.0.1:1/db?password=secret&connect_timeout=2",
            "check that the server runs",
        ),
    ],
)
def test_a_wrong_url_is_an_error_without_the_password(url: str, message: str) -> None:
    with pytest.raises(StoreError) as caught:
        Store.open(url, recipe=MINHASH)
    assert message in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"/none' does not exist: create it first"):
        Store.open(f"sqlite:///{tmp_path}/none/store.db", recipe=MINHASH)


def test_a_directory_is_no_database(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is a directory"):
        Store.open(f"sqlite:///{tmp_path}", recipe=MINHASH)


def test_a_file_that_is_something_else_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text("<html>" * 1000)
    with pytest.raises(StoreError, match=r"not a database: this file is something else"):
        Store.open(str(file), recipe=MINHASH)
    assert file.read_text() == "<html>" * 1000


@pytest.mark.parametrize(("name", "value"), [("similarity", 0.0), ("min_words", 0)])
def test_impossible_rules_are_refused(sqlite_url: str, name: str, value: float) -> None:
    with pytest.raises(StoreError, match=f"{name} is"):
        Store.open(sqlite_url, recipe=MINHASH, **{name: value})  # type: ignore[arg-type]


def test_a_reader_makes_no_file_and_cannot_write(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    with pytest.raises(StoreError, match="there is no such file"):
        open_for_reading(str(file))
    assert not file.exists()
    Store.open(str(file), recipe=RECIPES["shingles"], similarity=0.9).close()
    database = open_for_reading(str(file))
    with pytest.raises(StoreError, match="readonly"), database.write() as connection:
        connection.execute(text("DELETE FROM store_info"))
    database.close()


def test_a_reader_refuses_a_database_that_is_no_store(tmp_path: Path) -> None:
    file = tmp_path / "other.db"
    connection = sqlite3.connect(file)
    connection.execute("CREATE TABLE other (x)")
    connection.close()
    with pytest.raises(StoreError, match="no websegment database"):
        open_for_reading(str(file))


def test_sqlite_is_set_up_for_safety(sqlite_url: str) -> None:
    with Store.open(sqlite_url, recipe=MINHASH) as store:
        assert query(store, "PRAGMA journal_mode") == [("wal",)]
        assert query(store, "PRAGMA synchronous") == [(2,)]
        assert query(store, "PRAGMA foreign_keys") == [(1,)]
        assert query(store, "PRAGMA busy_timeout") == [(30_000,)]


def test_times_read_well_in_plain_sqlite(sqlite_url: str, tmp_path: Path) -> None:
    with Store.open(sqlite_url, recipe=MINHASH) as store:
        decision = store.decide(record("http://example.com/a", words_of(1)))
    connection = sqlite3.connect(tmp_path / "store.db")
    (written, understood) = connection.execute(
        "SELECT first_seen, datetime(first_seen) FROM pages"
    ).fetchone()
    connection.close()
    assert written == decision.first_seen.strftime("%Y-%m-%d %H:%M:%S.%fZ")
    assert understood == decision.first_seen.strftime("%Y-%m-%d %H:%M:%S")


def open_at_once(url: str, barrier: Barrier) -> None:
    barrier.wait()
    Store.open(url, recipe=MINHASH).close()


def test_several_processes_may_make_the_same_new_database(database_url: str) -> None:
    barrier = FORK.Barrier(4, timeout=60)
    workers = [FORK.Process(target=open_at_once, args=(database_url, barrier)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0] * 4
    with Store.open(database_url, recipe=MINHASH) as store:
        assert integrity(store) == []
        assert len(query(store, "SELECT key FROM store_info")) == 5
