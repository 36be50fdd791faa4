"""The few statements of which a batch of decisions consists, for SQLite and for PostgreSQL.

Each works on a whole batch: what a decision costs is mostly what a statement costs, and on
PostgreSQL the way to the server and back. They go past SQLAlchemy's expression language, which
would take longer than the databases do; `Statements.of` chooses the dialect.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from websegment_scrapy.store.locks import LOCK_CLUSTERS, LOCK_KEYS, ClusterLock

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from sqlalchemy import Connection

__all__ = ["Candidate", "PageValues", "Statements", "StoredPage", "TouchValues", "VisitValues"]

_TIME = "%Y-%m-%d %H:%M:%S.%fZ"
_LAST_ID = 2**63 - 1


class StoredPage(NamedTuple):
    """A page's row, and the URLs of the pages that it points at."""

    id: int
    url_key: bytes
    words: int
    content_hash: bytes | None
    signature: bytes | None
    cluster_id: int | None
    first_seen: datetime
    recipe_id: int
    duplicate_of_id: int | None
    similarity: float | None
    page_hash: bytes | None
    parts_counted: bool
    duplicate_of: str | None
    representative: str | None


class Candidate(NamedTuple):
    """A page that may be similar to the one being decided."""

    id: int
    url: str
    cluster_id: int
    words: int
    content_hash: bytes
    signature: bytes


class PageValues(NamedTuple):
    """A new row of ``pages``."""

    id: int
    url: str
    seen_url: str | None
    url_key: bytes
    host: str
    title: str
    words: int
    content_hash: bytes | None
    signature: bytes | None
    recipe_id: int
    decision: str
    duplicate_of_id: int | None
    similarity: float | None
    cluster_id: int | None
    engine: str
    model: str
    rendered: bool
    render_error: str | None
    http_status: int | None
    error: str | None
    crawl_id: int
    page_hash: bytes | None
    parts_counted: bool
    first_seen: datetime
    last_seen: datetime
    last_changed: datetime | None


class TouchValues(NamedTuple):
    """What a visit that found the same words changes on a page."""

    title: str
    engine: str
    model: str
    rendered: bool
    render_error: str | None
    http_status: int | None
    crawl_id: int
    page_hash: bytes | None
    parts_counted: bool
    last_seen: datetime
    id: int


class VisitValues(NamedTuple):
    """A new row of ``visits``, without its id."""

    page_id: int
    seen_at: datetime
    crawl_id: int
    decision: str
    similarity: float | None
    duplicate_of_id: int | None
    reason: str | None


_STORED = """\
SELECT page.id, page.url_key, page.words, page.content_hash, page.signature, page.cluster_id,
       page.first_seen, page.recipe_id, page.duplicate_of_id, page.similarity, page.page_hash,
       page.parts_counted, original.url, first.url
FROM pages AS page
LEFT JOIN pages AS original ON original.id = page.duplicate_of_id
LEFT JOIN pages AS first ON first.id = page.cluster_id
WHERE page.url_key"""
_CANDIDATE = "SELECT id, url, cluster_id, words, content_hash, signature FROM pages WHERE id"


class Statements(ABC):
    """What a batch needs from a database, within one transaction.

    Only pages whose signature is of the recipe of this number are compared.
    """

    def __init__(self, connection: Connection, recipe_id: int) -> None:
        self.connection = connection
        self.recipe_id = recipe_id

    @staticmethod
    def of(connection: Connection, recipe_id: int) -> Statements:
        """Choose by the connection's dialect."""
        postgresql = connection.dialect.name == "postgresql"
        return (_PostgreSQL if postgresql else _SQLite)(connection, recipe_id)

    @abstractmethod
    def lock(self, keys: Iterable[int], strength: ClusterLock) -> ClusterLock:
        """Take the locks of `locks`, at the latest with the next reading; return what is held."""

    @abstractmethod
    def read_ahead(
        self, url_keys: Sequence[bytes], content_hashes: Sequence[bytes]
    ) -> tuple[list[StoredPage], list[int], list[int]]:
        """Read what decides how visits go on.

        The pages of these URLs; the first page with each of these contents, for those that any page
        has; and an id for each URL, higher than those of all pages that were decided before.
        """

    @abstractmethod
    def sharing(self, keys: Sequence[int], limit: int) -> Iterable[tuple[int, int]]:
        """Return key and page of the earliest pages, up to `limit` for each key."""

    @abstractmethod
    def candidates(self, ids: Collection[int]) -> list[Candidate]:
        """Return those of these pages whose signature is of the recipe."""

    @abstractmethod
    def write(
        self,
        pages: Sequence[PageValues],
        keys: Sequence[tuple[int, int]],
        touched: Sequence[TouchValues],
        visits: Sequence[VisitValues],
    ) -> None:
        """Write new pages, their keys (key and page), pages that were seen again, and visits."""

    @abstractmethod
    def insert_sites(self, hosts: Collection[str], now: datetime) -> None:
        """Write the hosts that are not known yet."""

    @abstractmethod
    def was_stored(self, url_key: bytes, seen_at: datetime) -> bool:
        """Return whether there is a visit to a URL at exactly this time."""


class _SQLite(Statements):
    """SQLite, where the transaction is the only writer; lists travel as JSON."""

    def __init__(self, connection: Connection, recipe_id: int) -> None:
        super().__init__(connection, recipe_id)
        # The driver itself: SQLAlchemy takes longer for a small statement than SQLite does.
        self._driver: Any = connection.connection.driver_connection

    def lock(self, keys: Iterable[int], strength: ClusterLock) -> ClusterLock:
        return ClusterLock.EXCLUSIVE

    def read_ahead(
        self, url_keys: Sequence[bytes], content_hashes: Sequence[bytes]
    ) -> tuple[list[StoredPage], list[int], list[int]]:
        marks = ",".join("?" * len(url_keys))
        rows = self._rows(f"{_STORED} IN ({marks})", *url_keys)
        stored = [StoredPage._make((*row[:6], _from_text(row[6]), *row[7:])) for row in rows]
        twins: list[int] = []
        if content_hashes:
            marks = ",".join(["(?)"] * len(content_hashes))
            sql = (
                "SELECT (SELECT id FROM pages WHERE content_hash = wanted.column1 "
                f"AND recipe_id = ? ORDER BY id LIMIT 1) FROM (VALUES {marks}) AS wanted"
            )
            found = self._rows(sql, self.recipe_id, *content_hashes)
            twins = [row[0] for row in found if row[0] is not None]
        last: int = self._rows("SELECT coalesce(max(id), 0) FROM pages")[0][0]
        return stored, twins, list(range(last + 1, last + 1 + len(url_keys)))

    def sharing(self, keys: Sequence[int], limit: int) -> Iterable[tuple[int, int]]:
        # CROSS JOIN: SQLite keeps this order, one search in the primary key for each value.
        sql = (
            "SELECT page_keys.key, page_keys.page_id FROM json_each(?) AS wanted "
            "CROSS JOIN page_keys ON page_keys.key = wanted.value"
        )
        wanted = json.dumps(keys)
        found = self._rows(f"{sql} LIMIT ?", wanted, limit)
        if len(found) < limit:
            return found  # so no key has more
        sql += (
            " AND page_keys.page_id <= "
            "coalesce((SELECT page_id FROM page_keys AS one WHERE one.key = wanted.value "
            "ORDER BY page_id LIMIT 1 OFFSET ?), ?)"
        )
        return self._rows(sql, wanted, limit - 1, _LAST_ID)

    def candidates(self, ids: Collection[int]) -> list[Candidate]:
        sql = f"{_CANDIDATE} IN (SELECT value FROM json_each(?)) AND recipe_id = ?"
        rows = self._rows(sql, json.dumps(sorted(ids)), self.recipe_id)
        return [Candidate(*row) for row in rows]

    def write(
        self,
        pages: Sequence[PageValues],
        keys: Sequence[tuple[int, int]],
        touched: Sequence[TouchValues],
        visits: Sequence[VisitValues],
    ) -> None:
        if pages:
            self._insert(
                "pages",
                PageValues._fields,
                [(*row[:-3], *map(_to_text, row[-3:])) for row in pages],
            )
        if keys:
            # In ascending order each leaf of the B-tree is visited once.
            self._insert("page_keys", ("key", "page_id"), sorted(keys))
        if touched:
            names = ",".join(f"{name}=?" for name in TouchValues._fields[:-1])
            self._driver.executemany(
                f"UPDATE pages SET {names}, error=NULL WHERE id=?",
                [(*row[:-2], _to_text(row[-2]), row[-1]) for row in touched],
            )
        if visits:
            self._insert(
                "visits",
                VisitValues._fields,
                [(row[0], _to_text(row[1]), *row[2:]) for row in visits],
            )

    def insert_sites(self, hosts: Collection[str], now: datetime) -> None:
        self._driver.executemany(
            "INSERT INTO sites (host, first_seen) VALUES (?, ?) ON CONFLICT DO NOTHING",
            [(host, _to_text(now)) for host in sorted(hosts)],
        )

    def was_stored(self, url_key: bytes, seen_at: datetime) -> bool:
        sql = (
            "SELECT 1 FROM visits JOIN pages ON pages.id = visits.page_id "
            "WHERE pages.url_key = ? AND visits.seen_at = ?"
        )
        return bool(self._rows(sql, url_key, _to_text(seen_at)))

    def _rows(self, sql: str, *parameters: Any) -> list[Any]:
        found: list[Any] = self._driver.execute(sql, parameters).fetchall()
        return found

    def _insert(self, table: str, names: Sequence[str], rows: list[tuple[Any, ...]]) -> None:
        marks = ",".join("?" * len(names))
        self._driver.executemany(f"INSERT INTO {table} ({','.join(names)}) VALUES ({marks})", rows)


class _PostgreSQL(Statements):
    """PostgreSQL: statements are sent together, rows travel as JSON and numbers as array texts.

    psycopg would write arrays in Python, which took longer than the server needs for all the rest.
    """

    _PAGE_TYPES = (
        "bigint text text bytea text text int bytea bytea bigint text bigint float8 bigint "
        "text text boolean text int text bigint bytea boolean timestamptz timestamptz timestamptz"
    ).split()
    _TOUCH_TYPES = "text text text boolean text int bigint bytea boolean timestamptz bigint".split()
    _VISIT_TYPES = "bigint timestamptz bigint text float8 bigint text".split()

    def __init__(self, connection: Connection, recipe_id: int) -> None:
        super().__init__(connection, recipe_id)
        self._waiting: list[tuple[str, tuple[Any, ...]]] = []

    def lock(self, keys: Iterable[int], strength: ClusterLock) -> ClusterLock:
        self._waiting += [
            (LOCK_KEYS, (_numbers(sorted(set(keys))),)),
            (LOCK_CLUSTERS[strength], ()),
        ]
        return strength

    def read_ahead(
        self, url_keys: Sequence[bytes], content_hashes: Sequence[bytes]
    ) -> tuple[list[StoredPage], list[int], list[int]]:
        # One search in the index for each content, however many pages have it.
        twin = (
            "SELECT twin.id FROM unnest(%s::bytea[]) AS wanted(hash) CROSS JOIN LATERAL "
            "(SELECT id FROM pages WHERE content_hash = wanted.hash AND recipe_id = %s "
            "ORDER BY id LIMIT 1) AS twin"
        )
        rows, twins, ids = self._send(
            (f"{_STORED} = ANY(%s::bytea[])", (_hexes(url_keys),)),
            (twin, (_hexes(content_hashes), self.recipe_id)),
            (
                "SELECT nextval('pages_id_seq') FROM generate_series(1, %s::int)",
                (len(url_keys),),
            ),
        )
        stored = [StoredPage._make((*row[:6], row[6].astimezone(UTC), *row[7:])) for row in rows]
        return stored, [row[0] for row in twins], [row[0] for row in ids]

    def sharing(self, keys: Sequence[int], limit: int) -> Iterable[tuple[int, int]]:
        sql = (
            "SELECT wanted.key, found.page_id FROM unnest(%s::bigint[]) AS wanted(key) "
            "CROSS JOIN LATERAL (SELECT page_id FROM page_keys WHERE page_keys.key = wanted.key "
            "ORDER BY page_id LIMIT %s::bigint) AS found"
        )
        return self._send((sql, (_numbers(keys), limit)))[0]

    def candidates(self, ids: Collection[int]) -> list[Candidate]:
        sql = f"{_CANDIDATE} = ANY(%s::bigint[]) AND recipe_id = %s"
        found = self._send((sql, (_numbers(sorted(ids)), self.recipe_id)))[0]
        return [Candidate(*row) for row in found]

    def write(
        self,
        pages: Sequence[PageValues],
        keys: Sequence[tuple[int, int]],
        touched: Sequence[TouchValues],
        visits: Sequence[VisitValues],
    ) -> None:
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

    def insert_sites(self, hosts: Collection[str], now: datetime) -> None:
        self._waiting.append(
            (
                "INSERT INTO sites (host, first_seen) SELECT host, %s FROM "
                "json_array_elements_text(%s::json) AS host ON CONFLICT DO NOTHING",
                (now, json.dumps(sorted(hosts))),
            )
        )

    def was_stored(self, url_key: bytes, seen_at: datetime) -> bool:
        sql = (
            "SELECT 1 FROM visits JOIN pages ON pages.id = visits.page_id "
            "WHERE pages.url_key = %s AND visits.seen_at = %s"
        )
        return bool(self._send((sql, (url_key, seen_at)))[0])

    def _send(self, *statements: tuple[str, tuple[Any, ...]]) -> list[list[Any]]:
        """Send statements, after those that wait, in one go; the server runs them in order."""
        driver: Any = self.connection.connection.driver_connection
        cursors = []
        with driver.pipeline():
            for sql, parameters in (*self._waiting, *statements):
                cursor = driver.cursor()
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


def _to_text(value: datetime | None) -> str | None:
    # What strftime(_TIME) gives, in a fifth of the time; all times here are UTC.
    return None if value is None else f"{value.isoformat(' ', 'microseconds')[:26]}Z"


def _from_text(value: str) -> datetime:
    return datetime.strptime(value, _TIME).replace(tzinfo=UTC)
