"""The statements of a batch for SQLite, where the transaction is the only writer."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from websegment_scrapy.store.locks import ClusterLock
from websegment_scrapy.store.models import Base
from websegment_scrapy.store.statements import (
    CANDIDATE,
    DOCUMENT,
    KEEP,
    NO_PAGE,
    STORED,
    Ahead,
    Candidate,
    Row,
    SameDocument,
    Statements,
    StoredPage,
)
from websegment_scrapy.store.times import UtcDateTime

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from sqlalchemy import Connection

    from websegment_scrapy.store.statements import Wanted

__all__ = ["SQLiteStatements"]

_TIME = "%Y-%m-%d %H:%M:%S.%fZ"
_TIMES = {
    column.name
    for table in Base.metadata.tables.values()
    for column in table.columns
    if isinstance(column.type, UtcDateTime)
}
_LAST_ID = 2**63 - 1
_DOCUMENT = DOCUMENT.format(document="?", mark="?")

# CROSS JOIN: SQLite keeps this order, one search in the primary key for each value.
_SHARING = "FROM json_each(?) AS wanted CROSS JOIN page_keys ON page_keys.key = wanted.value"
_EARLIEST = (
    "AND page_keys.page_id <= "
    "coalesce((SELECT page_id FROM page_keys AS one WHERE one.key = wanted.value "
    "ORDER BY page_id LIMIT 1 OFFSET ?), ?)"
)


class SQLiteStatements(Statements):
    """SQLite, where the transaction is the only writer; lists travel as JSON."""

    def __init__(self, connection: Connection, recipe_id: int) -> None:
        super().__init__(connection, recipe_id)
        # The driver itself: SQLAlchemy takes longer for a small statement than SQLite does.
        self._driver: Any = connection.connection.driver_connection

    def lock(self, keys: Iterable[int], strength: ClusterLock) -> ClusterLock:
        """Nothing to do: the transaction is the only writer."""
        return ClusterLock.EXCLUSIVE

    def read_ahead(self, wanted: Sequence[Wanted], limit: int) -> Ahead:
        """Read in several statements: they cost little here."""
        marks = ",".join("?" * len(wanted))
        rows = self._rows(f"{STORED} IN ({marks})", *[each.url_key for each in wanted])
        stored = [_stored(row) for row in rows]
        last: int = self._rows("SELECT coalesce(max(id), 0) FROM pages")[0][0]
        ids = list(range(last + 1, last + 1 + len(wanted)))
        twins = self._twins({each.content_hash for each in wanted if each.content_hash is not None})
        hashes = {each.document_hash for each in wanted if each.document_hash is not None}
        documents = [same for each in hashes if (same := self.same_document(each, NO_PAGE))]
        done = {page.url_key for page in stored}
        copied = {twin.content_hash for twin in twins}
        keys = {
            key
            for each in wanted
            if each.url_key not in done and each.content_hash not in copied
            for key in each.keys
        }
        sharing = self.sharing(sorted(keys), limit) if keys else ()
        pages = {page_id for _, page_id in sharing}
        candidates = self.candidates(pages) if pages else []
        return Ahead(stored, ids, twins, documents, sharing, candidates)

    def stored(self, url_key: bytes) -> StoredPage | None:
        """Search in the index."""
        rows = self._rows(f"{STORED} = ?", url_key)
        return _stored(rows[0]) if rows else None

    def same_document(self, document_hash: bytes, own_id: int) -> SameDocument | None:
        """Search in the index."""
        rows = self._rows(_DOCUMENT, document_hash, own_id, self.recipe_id)
        return SameDocument(*rows[0]) if rows else None

    def sharing(self, keys: Sequence[int], limit: int) -> Iterable[tuple[int, int]]:
        """Search once for each key."""
        sql = f"SELECT page_keys.key, page_keys.page_id {_SHARING}"
        wanted = json.dumps(keys)
        found = self._rows(f"{sql} LIMIT ?", wanted, limit)
        if len(found) < limit:
            return found  # so no key has more
        return self._rows(f"{sql} {_EARLIEST}", wanted, limit - 1, _LAST_ID)

    def most_shared(self, keys: Sequence[int], scan: int, limit: int) -> list[int]:
        """Count the keys of each page, in the primary key alone."""
        sql = (
            f"SELECT page_keys.page_id {_SHARING} {_EARLIEST} "
            "GROUP BY page_keys.page_id ORDER BY count(*) DESC, page_keys.page_id LIMIT ?"
        )
        found = self._rows(sql, json.dumps(keys), scan - 1, _LAST_ID, limit)
        return [row[0] for row in found]

    def candidates(self, ids: Collection[int]) -> list[Candidate]:
        """Search by primary key."""
        sql = f"{CANDIDATE} IN (SELECT value FROM json_each(?)) AND recipe_id = ?"
        rows = self._rows(sql, json.dumps(sorted(ids)), self.recipe_id)
        return [Candidate(*row) for row in rows]

    def write(
        self,
        pages: Sequence[Row],
        keys: Sequence[tuple[int, int]],
        touched: Sequence[Row],
        visits: Sequence[Row],
    ) -> None:
        """Write with one prepared statement for each table."""
        self._insert("pages", pages)
        if keys:
            # In ascending order each leaf of the B-tree is visited once.
            sql = "INSERT INTO page_keys (key, page_id) VALUES (?, ?)"
            self._driver.executemany(sql, sorted(keys))
        if touched:
            names = [name for name in touched[0] if name != "id"]
            sql = (
                f"UPDATE pages SET {','.join(f'{name}=?' for name in names)}, error=NULL WHERE id=?"
            )
            self._driver.executemany(sql, _values(touched, [*names, "id"]))
        self._insert("visits", visits)

    def keep(self, kept: Sequence[Row]) -> None:
        """Write with one prepared statement."""
        self._insert("kept_pages", kept, KEEP)

    def insert_sites(self, hosts: Collection[str], now: datetime) -> None:
        """Write at once."""
        rows = [{"host": host, "first_seen": now} for host in sorted(hosts)]
        self._insert("sites", rows, "ON CONFLICT DO NOTHING")

    def _settle(self) -> None:
        pass  # nothing waits

    def _twins(self, content_hashes: Collection[bytes]) -> list[Candidate]:
        if not content_hashes:
            return []
        marks = ",".join(["(?)"] * len(content_hashes))
        sql = (
            "SELECT (SELECT id FROM pages WHERE content_hash = wanted.column1 "
            f"AND recipe_id = ? ORDER BY id LIMIT 1) FROM (VALUES {marks}) AS wanted"
        )
        found = self._rows(sql, self.recipe_id, *sorted(content_hashes))
        ids = {row[0] for row in found if row[0] is not None}
        return self.candidates(ids) if ids else []

    def _rows(self, sql: str, *parameters: Any) -> list[Any]:
        found: list[Any] = self._driver.execute(sql, parameters).fetchall()
        return found

    def _insert(self, table: str, rows: Sequence[Row], conflict: str = "") -> None:
        if rows:
            names = tuple(rows[0])
            marks = ",".join("?" * len(names))
            sql = f"INSERT INTO {table} ({','.join(names)}) VALUES ({marks}) {conflict}"
            self._driver.executemany(sql, _values(rows, names))


def _values(rows: Sequence[Row], names: Sequence[str]) -> list[tuple[Any, ...]]:
    """Return the values of some columns of rows; times are written as text."""
    pick = itemgetter(*names)
    times = [name for name in names if name in _TIMES]
    return [pick({**row, **{name: _to_text(row[name]) for name in times}}) for row in rows]


def _to_text(value: datetime | None) -> str | None:
    # What strftime(_TIME) gives, in a fifth of the time; all times here are UTC.
    return None if value is None else f"{value.isoformat(' ', 'microseconds')[:26]}Z"


def _stored(row: Sequence[Any]) -> StoredPage:
    page = StoredPage._make(row)
    seen = datetime.strptime(str(page.first_seen), _TIME).replace(tzinfo=UTC)
    return page._replace(first_seen=seen)
