"""Databases of older schema versions are migrated with their data; newer ones are refused."""

from __future__ import annotations

import multiprocessing
import os
from datetime import UTC, datetime
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from sqlalchemy import inspect, text

from tests.test_store_support import MINHASH, query, record, stored_clusters, words_of
from websegment_scrapy.cli.main import main
from websegment_scrapy.dedup.signature import signature_of
from websegment_scrapy.exceptions import StoreMismatch
from websegment_scrapy.store import Database, Store
from websegment_scrapy.store.integrity import integrity
from websegment_scrapy.store.migrations import VERSION_TABLE, _config, upgrade, versions
from websegment_scrapy.store.models import SCHEMA_VERSION
from websegment_scrapy.store.queries import open_for_reading, story, summary
from websegment_scrapy.store.record import url_key

pytest_plugins = ["tests.test_store_support"]

FORK = multiprocessing.get_context("forkserver")
FORK.set_forkserver_preload(["tests.test_store_concurrency"])
A, B, C = (f"http://example.com/{name}" for name in "abc")


@pytest.fixture
def old_url(database_url: str) -> str:
    """Make a database of schema version 1: two pages of the same words, one that failed."""
    database = Database.open(database_url, create=True)
    signature = signature_of(words_of(1), MINHASH)
    # What SQLite keeps of a time is its text.
    now: Any = datetime(2026, 1, 31, 12, tzinfo=UTC)
    if not database.is_postgresql:
        now = "2026-01-31 12:00:00.000000Z"
    with database.write() as connection:
        upgrade(connection, 0, 1)
        connection.execute(text("DROP TABLE alembic_version"))  # version 1 was before Alembic
        connection.execute(
            text("INSERT INTO store_info (key, value) VALUES (:key, :value)"),
            [
                {"key": "recipe", "value": MINHASH.to_json()},
                {"key": "similarity", "value": "0.7"},
                {"key": "created", "value": "2026-01-31T12:00:00+00:00"},
            ],
        )
        columns = (
            "url, url_key, host, title, words, content_hash, signature, decision, "
            "duplicate_of_id, similarity, cluster_id, engine, rendered, first_seen, last_seen, "
            "last_changed"
        )
        marks = ", ".join(f":{name.strip()}" for name in columns.split(","))
        for url, target in ((A, None), (B, 1), (C, None)):
            good = url != C
            values = {
                "url": url,
                "url_key": url_key(url),
                "host": "example.com",
                "title": "Title",
                "words": 120 if good else 0,
                "content_hash": signature.content_hash if good else None,
                "signature": signature.to_bytes() if good else None,
                "decision": ("duplicate" if target else "new") if good else "failed",
                "duplicate_of_id": target,
                "similarity": 1.0 if target else None,
                "cluster_id": 1 if good else None,
                "engine": "justrules",
                "rendered": True,
                "first_seen": now,
                "last_seen": now,
                "last_changed": now if good else None,
            }
            connection.execute(text(f"INSERT INTO pages ({columns}) VALUES ({marks})"), values)
        for page in (1, 2):
            connection.execute(
                text("INSERT INTO page_keys VALUES (:key, :page)"),
                [{"key": key, "page": page} for key in signature.keys()],  # noqa: SIM118
            )
        for page, crawl, decision in (
            (1, "one", "new"),
            (2, "one", "duplicate"),
            (3, "one", "failed"),
            (1, "two", "unchanged"),
        ):
            connection.execute(
                text(
                    "INSERT INTO visits (page_id, seen_at, crawl, decision, similarity, "
                    "duplicate_of_id) VALUES (:page, :now, :crawl, :decision, :similarity, :target)"
                ),
                {
                    "page": page,
                    "now": now,
                    "crawl": crawl,
                    "decision": decision,
                    "similarity": 1.0 if decision == "duplicate" else None,
                    "target": 1 if decision == "duplicate" else None,
                },
            )
    database.close()
    return database_url


def shape(database: Database) -> dict[str, Any]:
    """Return everything about a schema that matters, without the order of columns."""
    inspector = inspect(database.engine)
    tables = {
        name: (
            sorted(
                (each["name"], str(each["type"]), each["nullable"], str(each["default"]))
                for each in inspector.get_columns(name)
            ),
            sorted(
                (
                    str(index["name"]),
                    str(index["column_names"]),
                    {key: str(value) for key, value in index["dialect_options"].items()},
                )
                for index in inspector.get_indexes(name)
            ),
            inspector.get_pk_constraint(name)["constrained_columns"],
            sorted(str(key["constrained_columns"]) for key in inspector.get_foreign_keys(name)),
            sorted(str(each["name"]) for each in inspector.get_check_constraints(name)),
        )
        for name in inspector.get_table_names()
    }
    return tables | {
        name: [each["name"] for each in inspector.get_columns(name)]
        for name in inspector.get_view_names()
    }


def test_a_database_of_version_1_is_migrated_with_its_data(old_url: str) -> None:
    with Store.open(old_url, recipe=MINHASH) as store:
        assert integrity(store) == []
        assert stored_clusters(store) == {frozenset((A, B))}
        found = summary(store)
        assert (found.pages, found.new, found.duplicate, found.failed) == (3, 1, 1, 1)
        assert (found.visits, found.hosts) == (4, 1)
        told = story(store, A)
        assert told is not None
        assert [(visit.crawl, visit.decision) for visit in told.visits] == [
            ("one", "new"),
            ("two", "unchanged"),
        ]
        assert query(store, "SELECT name FROM crawls ORDER BY id") == [("one",), ("two",)]
        assert (told.page.page_type, told.page.page_type_probability) == (None, None)
        assert found.page_types == {}
        assert store.decide(record("http://example.com/d", words_of(1))).duplicate_of == A
        assert store.decide(record(B, words_of(1))).kind == "unchanged"
        assert integrity(store) == []


def test_a_migrated_database_has_the_shape_of_a_new_one(
    old_url: str, request: pytest.FixtureRequest, tmp_path: Any
) -> None:
    with Store.open(old_url, recipe=MINHASH) as store:
        migrated = shape(store.database)
        new_url = f"sqlite:///{tmp_path}/new.db"
        if store.database.is_postgresql:
            with store.database.write() as connection:
                connection.execute(text("CREATE SCHEMA IF NOT EXISTS fresh"))
            new_url = old_url.partition("&options=")[0] + "&options=-csearch_path%3Dfresh"
    with Store.open(new_url, recipe=MINHASH) as store:
        assert shape(store.database) == migrated


def version_table(database: Database) -> Any:
    inspector = inspect(database.engine)
    with database.read() as connection:
        return (
            [
                (each["name"], str(each["type"]), each["nullable"], each["default"])
                for each in inspector.get_columns(VERSION_TABLE)
            ],
            inspector.get_pk_constraint(VERSION_TABLE),
            inspector.get_indexes(VERSION_TABLE),
            connection.execute(text(f"SELECT * FROM {VERSION_TABLE}")).all(),
        )


def test_a_new_database_has_the_version_that_alembic_would_note(database_url: str) -> None:
    with Store.open(database_url, recipe=MINHASH) as store:
        ours = version_table(store.database)
        with store.database.write() as connection:
            connection.execute(text(f"DROP TABLE {VERSION_TABLE}"))
            command.stamp(_config(connection), str(SCHEMA_VERSION))
        assert version_table(store.database) == ours


def test_a_version_that_was_left_over_is_replaced(database_url: str) -> None:
    database = Database.open(database_url, create=True)
    with database.write() as connection:
        command.stamp(_config(connection), "1")
    database.close()
    with Store.open(database_url, recipe=MINHASH) as store:
        assert version_table(store.database)[-1] == [(str(SCHEMA_VERSION),)]


LATER = """\
from alembic import op

revision = "{version}"
down_revision = "{before}"


def upgrade():
    op.execute("CREATE TABLE later (id INTEGER)")
"""


def test_a_new_database_can_be_migrated_later(database_url: str, tmp_path: Path) -> None:
    """To a version of which this one knows nothing."""
    later = LATER.format(version=SCHEMA_VERSION + 1, before=SCHEMA_VERSION)
    (tmp_path / "later.py").write_text(later)
    with Store.open(database_url, recipe=MINHASH) as store:
        with store.database.write() as connection:
            config = _config(connection)
            folders = [str(Path(versions.__file__).parent), str(tmp_path)]
            config.set_main_option("version_locations", os.pathsep.join(folders))
            command.upgrade(config, str(SCHEMA_VERSION + 1))
        assert version_table(store.database)[-1] == [(str(SCHEMA_VERSION + 1),)]
        assert inspect(store.database.engine).has_table("later")


def test_readers_ask_for_the_migration_and_the_command_does_it(
    old_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(StoreMismatch, match=r"schema version 1.*websegment dedup migrate"):
        open_for_reading(old_url)
    assert main(["dedup", "migrate", "--database", old_url]) == 0
    assert f"migrated from schema version 1 to {SCHEMA_VERSION}" in capsys.readouterr().err
    open_for_reading(old_url).close()
    assert main(["dedup", "migrate", "--database", old_url]) == 0


def test_a_newer_database_is_refused_with_a_sentence(database_url: str) -> None:
    with Store.open(database_url, recipe=MINHASH) as store, store.database.write() as connection:
        connection.execute(text("UPDATE store_info SET value='99' WHERE key='schema_version'"))
    for opened in (
        lambda: Store.open(database_url, recipe=MINHASH).close(),
        lambda: open_for_reading(database_url).close(),
    ):
        with pytest.raises(StoreMismatch, match=r"newer websegment-scrapy \(schema version 99"):
            opened()


def test_an_unreadable_version_is_refused(sqlite_url: str) -> None:
    with Store.open(sqlite_url, recipe=MINHASH) as store, store.database.write() as connection:
        connection.execute(text("UPDATE store_info SET value='x' WHERE key='schema_version'"))
    with pytest.raises(StoreMismatch, match="damaged"):
        Store.open(sqlite_url, recipe=MINHASH)


def open_at_once(url: str, barrier: Barrier) -> None:
    barrier.wait()
    Store.open(url, recipe=MINHASH).close()


def test_several_processes_may_migrate_at_the_same_moment(old_url: str) -> None:
    barrier = FORK.Barrier(4, timeout=60)
    workers = [FORK.Process(target=open_at_once, args=(old_url, barrier)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0] * 4
    with Store.open(old_url, recipe=MINHASH) as store:
        assert integrity(store) == []
        assert summary(store).visits == 4
