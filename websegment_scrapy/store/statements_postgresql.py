"""The statements of a batch for PostgreSQL, where the way to the server and back counts most.

Statements are sent together, rows travel as JSON and numbers as array texts: psycopg would write
arrays in Python, which took longer than the server needs for all the rest.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from websegment_scrapy.store.locks import LOCK_CLUSTERS, LOCK_KEYS
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

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from sqlalchemy import Connection

    from websegment_scrapy.store.locks import ClusterLock
    from websegment_scrapy.store.statements import Wanted

__all__ = ["PostgreSQLStatements"]

_COLUMNS = ", ".join(f"page.{name}" for name in Candidate._fields)

_TWINS = f"""\
SELECT twin.* FROM unnest(%s::bytea[]) AS wanted(hash) CROSS JOIN LATERAL (
    SELECT {_COLUMNS} FROM pages AS page
    WHERE page.content_hash = wanted.hash AND page.recipe_id = %s ORDER BY page.id LIMIT 1
) AS twin"""
"""One search in the index for each content, however many pages have it."""

_DOCUMENTS = f"""\
SELECT same.* FROM unnest(%s::bytea[]) AS wanted(hash) CROSS JOIN LATERAL (
{DOCUMENT.format(document="wanted.hash", mark="%s::bigint")}
) AS same"""
"""The same for each document."""

_SHARING = """\
CROSS JOIN LATERAL (SELECT page_id FROM page_keys WHERE page_keys.key = wanted.key
                    ORDER BY page_id LIMIT %s::bigint) AS found"""
"""One search in the index for each key, which ends at the limit."""

_NEAR = f"""\
WITH near AS MATERIALIZED (
    SELECT DISTINCT wanted.key, found.page_id
    FROM unnest(%s::bytea[], %s::bytea[], %s::text[]) AS visit(url_key, hash, keys)
    CROSS JOIN LATERAL unnest(
        CASE WHEN EXISTS (SELECT FROM pages WHERE pages.url_key = visit.url_key)
            OR EXISTS (SELECT FROM pages WHERE content_hash = visit.hash AND recipe_id = %s)
        THEN '{{}}' ELSE visit.keys::bigint[] END
    ) AS wanted(key)
    {_SHARING}
)
SELECT key, page_id{", NULL" * (len(Candidate._fields) - 1)} FROM near
UNION ALL
SELECT NULL, {_COLUMNS} FROM pages AS page
WHERE page.id IN (SELECT page_id FROM near) AND page.recipe_id = %s"""
"""Keys with their pages and, in rows without a key, what of the pages is to be compared."""


class PostgreSQLStatements(Statements):
    """PostgreSQL: what is read is sent with what waits, what is written all at once."""

    def __init__(self, connection: Connection, recipe_id: int) -> None:
        super().__init__(connection, recipe_id)
        self._waiting: list[tuple[str, tuple[Any, ...]]] = []

    def lock(self, keys: Iterable[int], strength: ClusterLock) -> ClusterLock:
        """Send the locks with the next statements."""
        self._waiting += [
            (LOCK_KEYS, (_numbers(sorted(set(keys))),)),
            (LOCK_CLUSTERS[strength], ()),
        ]
        return strength

    def read_ahead(self, wanted: Sequence[Wanted], limit: int) -> Ahead:
        """Read all in one go."""
        urls = _hexes(each.url_key for each in wanted)
        hashes = [each.content_hash or b"" for each in wanted]
        keys = "{" + ",".join(f'"{_numbers(each.keys)}"' for each in wanted) + "}"
        documents = {each.document_hash for each in wanted if each.document_hash is not None}
        stored, ids, twins, same, near = self._send(
            (f"{STORED} = ANY(%s::bytea[])", (urls,)),
            ("SELECT nextval('pages_id_seq') FROM generate_series(1, %s::int)", (len(wanted),)),
            (_TWINS, (_hexes(sorted(set(hashes))), self.recipe_id)),
            (_DOCUMENTS, (_hexes(sorted(documents)), NO_PAGE, self.recipe_id)),
            (_NEAR, (urls, _hexes(hashes), keys, self.recipe_id, limit, self.recipe_id)),
        )
        return Ahead(
            [_stored(row) for row in stored],
            [row[0] for row in ids],
            [Candidate(*row) for row in twins],
            [SameDocument(*row) for row in same],
            [row[:2] for row in near if row[0] is not None],
            [Candidate(*row[1:]) for row in near if row[0] is None],
        )

    def stored(self, url_key: bytes) -> StoredPage | None:
        """Search in the index."""
        rows = self._send((f"{STORED} = %s", (url_key,)))[0]
        return _stored(rows[0]) if rows else None

    def same_document(self, document_hash: bytes, own_id: int) -> SameDocument | None:
        """Search in the index."""
        wanted = (_hexes([document_hash]), own_id, self.recipe_id)
        rows = self._send((_DOCUMENTS, wanted))[0]
        return SameDocument(*rows[0]) if rows else None

    def sharing(self, keys: Sequence[int], limit: int) -> Iterable[tuple[int, int]]:
        """Search once for each key."""
        sql = (
            f"SELECT wanted.key, found.page_id FROM unnest(%s::bigint[]) AS wanted(key) {_SHARING}"
        )
        return self._send((sql, (_numbers(keys), limit)))[0]

    def most_shared(self, keys: Sequence[int], scan: int, limit: int) -> list[int]:
        """Count the keys of each page, in the primary key alone."""
        sql = (
            f"SELECT found.page_id FROM unnest(%s::bigint[]) AS wanted(key) {_SHARING} "
            "GROUP BY found.page_id ORDER BY count(*) DESC, found.page_id LIMIT %s::bigint"
        )
        return [row[0] for row in self._send((sql, (_numbers(keys), scan, limit)))[0]]

    def candidates(self, ids: Collection[int]) -> list[Candidate]:
        """Search by primary key."""
        sql = f"{CANDIDATE} = ANY(%s::bigint[]) AND recipe_id = %s"
        found = self._send((sql, (_numbers(sorted(ids)), self.recipe_id)))[0]
        return [Candidate(*row) for row in found]

    def write(
        self,
        pages: Sequence[Row],
        keys: Sequence[tuple[int, int]],
        touched: Sequence[Row],
        visits: Sequence[Row],
    ) -> None:
        """Write with one statement for each table, all in one go."""
        statements: list[tuple[str, tuple[Any, ...]]] = []
        if pages:
            statements.append(_insert("pages", pages))
        if keys:
            pairs = sorted(keys)
            statements.append(
                (
                    "INSERT INTO page_keys (key, page_id) "
                    "SELECT * FROM unnest(%s::bigint[], %s::bigint[])",
                    (_numbers([key for key, _ in pairs]), _numbers([page for _, page in pairs])),
                )
            )
        if touched:
            names = ",".join(f"{name}=new.{name}" for name in touched[0] if name != "id")
            source, parameters = _source("pages", touched)
            sql = f"UPDATE pages SET {names}, error=NULL FROM {source} WHERE pages.id = new.id"
            statements.append((sql, parameters))
        if visits:
            statements.append(_insert("visits", visits))
        self._send(*statements)

    def keep(self, kept: Sequence[Row]) -> None:
        """Write with one statement."""
        sql, parameters = _insert("kept_pages", kept)
        self._send((f"{sql} {KEEP}", parameters))

    def insert_sites(self, hosts: Collection[str], now: datetime) -> None:
        """Send them with the next statements."""
        self._waiting.append(
            (
                "INSERT INTO sites (host, first_seen) SELECT host, %s FROM "
                "json_array_elements_text(%s::json) AS host ON CONFLICT DO NOTHING",
                (now, json.dumps(sorted(hosts))),
            )
        )

    def _settle(self) -> None:
        self._send()

    def _send(self, *statements: tuple[str, tuple[Any, ...]]) -> list[list[Any]]:
        """Send statements, after those that wait, in one go; the server runs them in order."""
        driver: Any = self.connection.connection.driver_connection
        cursors = []
        with driver.pipeline():
            for sql, parameters in (*self._waiting, *statements):
                cursor = driver.cursor(binary=True)
                cursor.execute(sql, parameters)
                cursors.append(cursor)
        self._waiting = []
        asked = cursors[len(cursors) - len(statements) :]
        return [cursor.fetchall() if cursor.description else [] for cursor in asked]


def _stored(row: Sequence[Any]) -> StoredPage:
    page = StoredPage._make(row)
    return page._replace(first_seen=page.first_seen.astimezone(UTC))


def _insert(table: str, rows: Sequence[Row]) -> tuple[str, tuple[str]]:
    names = ",".join(rows[0])
    source, parameters = _source(table, rows)
    return f"INSERT INTO {table} ({names}) SELECT {names} FROM {source}", parameters


def _source(table: str, rows: Sequence[Row]) -> tuple[str, tuple[str]]:
    """Return the text of a table ``new``, of the types of another one, and the rows in it."""
    data = json.dumps(rows, default=_plain)
    return f"json_populate_recordset(NULL::{table}, %s::json) AS new", (data,)


def _plain(value: object) -> str:
    if isinstance(value, bytes):
        return "\\x" + value.hex()
    assert isinstance(value, datetime)
    return value.isoformat()


def _numbers(values: Iterable[int]) -> str:
    return "{" + ",".join(map(str, values)) + "}"


def _hexes(values: Iterable[bytes]) -> str:
    return "{" + ",".join(f'"\\\\x{value.hex()}"' for value in values) + "}"
