"""A store filled with synthetic pages by bulk loading, as decisions would have left it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import text

from websegment_scrapy.bench.synthetic import RECIPE
from websegment_scrapy.dedup.signature import Signature
from websegment_scrapy.store.database import Database
from websegment_scrapy.store.models import Base, Page
from websegment_scrapy.store.record import url_key
from websegment_scrapy.store.schema import crawl_id
from websegment_scrapy.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from websegment_scrapy.bench.synthetic import SyntheticPages
    from websegment_scrapy.store.statements import Row

__all__ = ["fill"]

CHUNK = 10_000
PIECE = 100_000

PACKED = 0.7
"""Share of the pages that is loaded before the indexes are made.

Indexes made at once are packed, and each key that comes later splits a full page. The rest comes
page by page and leaves the indexes as decisions would: their pages are about two thirds full."""

LATER_CHUNK = 100_000
COLUMNS = tuple(Page.__table__.columns.keys())
_TIME = "%Y-%m-%d %H:%M:%S.%fZ"
_VISITS = (
    "INSERT INTO visits (page_id, seen_at, crawl_id, decision, similarity, duplicate_of_id) "
    "SELECT id, first_seen, crawl_id, decision, similarity, duplicate_of_id FROM pages ORDER BY id"
)
_SITES = (
    "INSERT INTO sites (host, first_seen) SELECT host, min(first_seen) FROM pages GROUP BY host"
)


def fill(url: str, pages: SyntheticPages, count: int, progress: Callable[[int], None]) -> None:
    """Make a new store at `url` and load the first `count` pages into it."""
    Store.open(url, recipe=RECIPE).close()
    with closing(Database.open(url, create=True)) as database:
        with database.write() as connection:
            crawl = crawl_id(connection, "bench fill")
        indexes = [
            index
            for table in Base.metadata.sorted_tables
            for index in sorted(table.indexes, key=lambda index: str(index.name))
        ]
        with database.write() as connection:
            for index in indexes:
                index.drop(connection)
        keys = np.empty((count, RECIPE.bands), dtype=np.int64)
        rows = _rows(pages, count, crawl, keys, progress)
        load = _load_postgresql if database.is_postgresql else _load_sqlite
        packed = int(PACKED * count)
        load(database, rows, keys, 0, packed)
        with database.write() as connection:
            for index in indexes:
                index.create(connection)
        for start in range(packed, count, LATER_CHUNK):
            load(database, rows, keys, start, min(start + LATER_CHUNK, count))
        with database.write() as connection:
            if database.is_postgresql:
                connection.execute(
                    text("SELECT setval('pages_id_seq', (SELECT max(id) FROM pages))")
                )
            connection.execute(text(_VISITS))
            connection.execute(text(_SITES))
            connection.execute(text("ANALYZE"))


def _rows(
    pages: SyntheticPages,
    count: int,
    crawl: int,
    keys: NDArray[np.int64],
    progress: Callable[[int], None],
) -> Iterator[Row]:
    now = datetime.now(UTC)
    for start in range(0, count, CHUNK):
        stop = min(start + CHUNK, count)
        roots, values, hashes = pages.signatures(start, stop)
        hosts = pages.hosts(start, stop)
        urls = [pages.url(start + offset, host) for offset, host in enumerate(hosts)]
        originals = values.copy()
        repeats = np.flatnonzero(roots != np.arange(start, stop))
        originals[repeats] = pages.original_values(roots[repeats])
        similar = (values == originals).mean(axis=1)
        for offset, number in enumerate(range(start, stop)):
            words = pages.words(number)
            signature = Signature(RECIPE, values[offset], words, hashes[offset])
            keys[number] = signature.keys()
            url = urls[offset]
            root = int(roots[offset])
            yield {
                **dict.fromkeys(COLUMNS),
                "id": number + 1,
                "url": url,
                "url_key": url_key(url),
                "host": hosts[offset],
                "title": f"Page {number} about the number {number % 977}",
                "words": words,
                "content_hash": hashes[offset],
                "signature": signature.to_bytes(),
                "recipe_id": 1,
                "decision": "new" if root == number else "duplicate",
                "duplicate_of_id": None if root == number else root + 1,
                "similarity": None if root == number else float(similar[offset]),
                "cluster_id": root + 1,
                "engine": "justrules",
                "model": "",
                "rendered": False,
                "http_status": 200,
                "crawl_id": crawl,
                "page_hash": hashes[offset],
                "parts_counted": False,
                "document_hash": url_key(url),
                "first_seen": now,
                "last_seen": now,
                "last_changed": now,
            }
        progress(stop)


def _pieces(
    keys: NDArray[np.int64], start: int, stop: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return the keys of some pages with the ids of their pages, in pieces.

    The first pages' keys are in ascending order; later ones come page by page.
    """
    flat = keys[start:stop].ravel()
    order = np.argsort(flat, kind="stable") if start == 0 else np.arange(len(flat))
    ids = start + order // keys.shape[1] + 1
    for first in range(0, len(flat), PIECE):
        piece = slice(first, first + PIECE)
        yield flat[order[piece]], ids[piece]


def _load_sqlite(
    database: Database, rows: Iterator[Row], keys: NDArray[np.int64], start: int, stop: int
) -> None:
    database.close()  # nobody else may have the file open while it has no journal
    connection = sqlite3.connect(str(database.engine.url.database), isolation_level=None)
    connection.execute("PRAGMA journal_mode=OFF")
    connection.execute("PRAGMA synchronous=OFF")
    connection.execute("PRAGMA cache_size=-1000000")
    connection.execute("BEGIN")
    times = ("first_seen", "last_seen", "last_changed")
    connection.executemany(
        f"INSERT INTO pages ({','.join(COLUMNS)}) VALUES (:{',:'.join(COLUMNS)})",
        (
            row | dict.fromkeys(times, row["first_seen"].strftime(_TIME))
            for row in islice(rows, stop - start)
        ),
    )
    for some, ids in _pieces(keys, start, stop):
        connection.executemany(
            "INSERT INTO page_keys (key, page_id) VALUES (?, ?)",
            zip(some.tolist(), ids.tolist(), strict=True),
        )
    connection.execute("COMMIT")
    connection.close()


def _load_postgresql(
    database: Database, rows: Iterator[Row], keys: NDArray[np.int64], start: int, stop: int
) -> None:
    with database.write() as connection:
        cursor: Any = connection.connection.cursor()
        with cursor.copy(f"COPY pages ({','.join(COLUMNS)}) FROM STDIN") as copy:
            for row in islice(rows, stop - start):
                copy.write_row([row[name] for name in COLUMNS])
        if start == 0:
            connection.execute(text("ALTER TABLE page_keys DROP CONSTRAINT page_keys_pkey"))
        with cursor.copy("COPY page_keys (key, page_id) FROM STDIN (FORMAT BINARY)") as copy:
            copy.write(b"PGCOPY\n\xff\r\n\0" + bytes(8))
            for some, ids in _pieces(keys, start, stop):
                copy.write(_binary_rows(some, ids))
            copy.write(b"\xff\xff")
        if start == 0:
            connection.execute(text("ALTER TABLE page_keys ADD PRIMARY KEY (key, page_id)"))


def _binary_rows(keys: NDArray[np.int64], ids: NDArray[np.int64]) -> bytes:
    """Write two-column rows of PostgreSQL's binary format."""
    rows = np.zeros(
        len(keys),
        dtype=[("fields", ">i2"), ("a", ">i4"), ("key", ">i8"), ("b", ">i4"), ("page", ">i8")],
    )
    rows["fields"], rows["a"], rows["b"] = 2, 8, 8
    rows["key"], rows["page"] = keys, ids
    data: bytes = rows.tobytes()
    return data
