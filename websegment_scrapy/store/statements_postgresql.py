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
    KEEP,
    STORED,
    Ahead,
    Candidate,
    KeptValues,
    PageValues,
    SameDocument,
    Statements,
    StoredPage,
    TouchValues,
    VisitValues,
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

_DOCUMENTS = """\
SELECT same.* FROM unnest(%s::bytea[]) AS wanted(hash) CROSS JOIN LATERAL (
    SELECT document_hash, id, words, content_hash, signature FROM pages
    WHERE document_hash = wanted.hash AND decision <> 'failed'
    AND (signature IS NULL OR recipe_id = %s) ORDER BY id LIMIT 1
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
SELECT key, page_id, NULL::text, NULL::bigint, NULL::int, NULL::bytea, NULL::bytea FROM near
UNION ALL
SELECT NULL::bigint, {_COLUMNS} FROM pages AS page
WHERE page.id IN (SELECT page_id FROM near) AND page.recipe_id = %s"""
"""Keys with their pages and, in rows without a key, what of the pages is to be compared."""


class PostgreSQLStatements(Statements):
    """PostgreSQL: statements are sent together, rows travel as JSON and numbers as array texts.

    psycopg would write arrays in Python, which took longer than the server needs for all the rest.
    """

    _PAGE_TYPES = (
        "bigint text text bytea text text int bytea bytea bigint text bigint float8 bigint "
        "text text boolean text int text bigint bytea boolean bytea bytea "
        "timestamptz timestamptz timestamptz"
    ).split()
    _TOUCH_TYPES = (
        "text text text boolean text int bigint bytea boolean bytea bytea timestamptz bigint"
    ).split()
    _KEPT_TYPES = "bigint text bytea".split()
    _VISIT_TYPES = "bigint timestamptz bigint text float8 bigint text".split()

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
            (
                "SELECT nextval('pages_id_seq') FROM generate_series(1, %s::int)",
                (len(wanted),),
            ),
            (_TWINS, (_hexes(sorted(set(hashes))), self.recipe_id)),
            (_DOCUMENTS, (_hexes(sorted(documents)), self.recipe_id)),
            (_NEAR, (urls, _hexes(hashes), keys, self.recipe_id, limit, self.recipe_id)),
        )
        return Ahead(
            [StoredPage._make((*row[:6], row[6].astimezone(UTC), *row[7:])) for row in stored],
            [row[0] for row in ids],
            [Candidate(*row) for row in twins],
            [SameDocument(*row) for row in same],
            [row[:2] for row in near if row[0] is not None],
            [Candidate(*row[1:]) for row in near if row[0] is None],
        )

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
        pages: Sequence[PageValues],
        keys: Sequence[tuple[int, int]],
        touched: Sequence[TouchValues],
        visits: Sequence[VisitValues],
    ) -> None:
        """Write with one statement for each table, all in one go."""
        statements: list[tuple[str, tuple[Any, ...]]] = []
        if pages:
            statements.append(_insert("pages", PageValues._fields, self._PAGE_TYPES, pages))
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
            names = ",".join(f"{name}=new.{name}" for name in TouchValues._fields[:-1])
            rows, parameters = _recordset(TouchValues._fields, self._TOUCH_TYPES, touched)
            statements.append(
                (
                    f"UPDATE pages SET {names}, error=NULL FROM {rows} WHERE pages.id = new.id",
                    parameters,
                )
            )
        if visits:
            statements.append(_insert("visits", VisitValues._fields, self._VISIT_TYPES, visits))
        self._send(*statements)

    def keep(self, kept: Sequence[KeptValues]) -> None:
        """Write with one statement."""
        sql, parameters = _insert("kept_pages", KeptValues._fields, self._KEPT_TYPES, kept)
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


def _insert(
    table: str, names: Sequence[str], types: Sequence[str], rows: Sequence[Any]
) -> tuple[str, tuple[str]]:
    source, parameters = _recordset(names, types, rows)
    columns = ",".join(names)
    return f"INSERT INTO {table} ({columns}) SELECT {columns} FROM {source}", parameters


def _recordset(
    names: Sequence[str], types: Sequence[str], rows: Sequence[Any]
) -> tuple[str, tuple[str]]:
    """Return the text of a table ``new`` and the rows that go into it."""
    columns = ",".join(f"{name} {kind}" for name, kind in zip(names, types, strict=True))
    objects = [dict(zip(names, row, strict=True)) for row in rows]
    return f"json_to_recordset(%s::json) AS new({columns})", (json.dumps(objects, default=_plain),)


def _plain(value: object) -> str:
    if isinstance(value, bytes):
        return "\\x" + value.hex()
    assert isinstance(value, datetime)
    return value.isoformat()


def _numbers(values: Iterable[int]) -> str:
    return "{" + ",".join(map(str, values)) + "}"


def _hexes(values: Iterable[bytes]) -> str:
    return "{" + ",".join(f'"\\\\x{value.hex()}"' for value in values) + "}"
