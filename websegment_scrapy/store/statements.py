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
    duplicate_of_id: int | None
    similarity: float | None
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
       page.first_seen, page.duplicate_of_id, page.similarity, original.url, first.url
FROM pages AS page
LEFT JOIN pages AS original ON original.id = page.duplicate_of_id
LEFT JOIN pages AS first ON first.id = page.cluster_id
WHERE page.url_key"""
_CANDIDATE = "SELECT id, url, cluster_id, words, content_hash, signature FROM pages WHERE id"


class Statements(ABC):
    """What a batch needs from a database, within one transaction."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    @staticmethod
    def of(connection: Connection) -> Statements:
        """Choose by the connection's dialect."""
        postgresql = connection.dialect.name == "postgresql"
        return _PostgreSQL(connection) if postgresql else _SQLite(connection)

    @abstractmethod
    def stored(self, url_keys: Sequence[bytes]) -> list[StoredPage]:
        """Return the pages of some URLs."""

    @abstractmethod
    def twins(self, content_hashes: Sequence[bytes]) -> list[int]:
        """Return the first page with each content, for those that any page has."""

    @abstractmethod
    def sharing(self, keys: Sequence[int], limit: int) -> Iterable[tuple[int, int]]:
        """Return key and page of the earliest pages, up to `limit` for each key."""

    @abstractmethod
    def candidates(self, ids: Collection[int]) -> list[Candidate]:
        """Return pages that have a text."""

    @abstractmethod
    def new_ids(self, count: int) -> list[int]:
        """Reserve ids for new pages, higher than those of all pages that were decided before."""

    @abstractmethod
    def insert_pages(self, rows: Sequence[PageValues]) -> None:
        """Write new pages."""

    @abstractmethod
    def insert_keys(self, keys: Sequence[int], page_ids: Sequence[int]) -> None:
        """Write the keys of new pages."""

    @abstractmethod
    def touch_pages(self, rows: Sequence[TouchValues]) -> None:
        """Note on pages that they were seen again."""

    @abstractmethod
    def insert_visits(self, rows: Sequence[VisitValues]) -> None:
        """Write visits."""

    @abstractmethod
    def insert_sites(self, hosts: Collection[str], now: datetime) -> None:
        """Write the hosts that are not known yet."""

    @abstractmethod
    def was_stored(self, url_key: bytes, seen_at: datetime) -> bool:
        """Return whether there is a visit to a URL at exactly this time."""

    def _rows(self, sql: str, *parameters: Any) -> list[Any]:
        return list(self.connection.exec_driver_sql(sql, parameters).all())


class _SQLite(Statements):
    """SQLite, where the transaction is the only writer; lists travel as JSON."""

    def stored(self, url_keys: Sequence[bytes]) -> list[StoredPage]:
        marks = ",".join("?" * len(url_keys))
        rows = self._rows(f"{_STORED} IN ({marks})", *url_keys)
        return [StoredPage._make((*row[:6], _from_text(row[6]), *row[7:])) for row in rows]

    def twins(self, content_hashes: Sequence[bytes]) -> list[int]:
        marks = ",".join(["(?)"] * len(content_hashes))
        sql = (
            "SELECT (SELECT id FROM pages WHERE content_hash = wanted.column1 ORDER BY id LIMIT 1) "
            f"FROM (VALUES {marks}) AS wanted"
        )
        return [row[0] for row in self._rows(sql, *content_hashes) if row[0] is not None]

    def sharing(self, keys: Sequence[int], limit: int) -> Iterable[tuple[int, int]]:
        # CROSS JOIN: SQLite keeps this order, one search in the primary key for each value.
        sql = (
            "SELECT page_keys.key, page_keys.page_id FROM json_each(?) AS wanted "
            "CROSS JOIN page_keys ON page_keys.key = wanted.value AND page_keys.page_id <= "
            "coalesce((SELECT page_id FROM page_keys AS one WHERE one.key = wanted.value "
            "ORDER BY page_id LIMIT 1 OFFSET ?), ?)"
        )
        return self._rows(sql, json.dumps(keys), limit - 1, _LAST_ID)

    def candidates(self, ids: Collection[int]) -> list[Candidate]:
        sql = f"{_CANDIDATE} IN (SELECT value FROM json_each(?))"
        return [Candidate(*row) for row in self._rows(sql, json.dumps(sorted(ids)))]

    def new_ids(self, count: int) -> list[int]:
        last: int = self._rows("SELECT coalesce(max(id), 0) FROM pages")[0][0]
        return list(range(last + 1, last + 1 + count))

    def insert_pages(self, rows: Sequence[PageValues]) -> None:
        marks = ",".join("?" * len(PageValues._fields))
        self.connection.exec_driver_sql(
            f"INSERT INTO pages ({','.join(PageValues._fields)}) VALUES ({marks})",
            [(*row[:-3], *map(_to_text, row[-3:])) for row in rows],
        )

    def insert_keys(self, keys: Sequence[int], page_ids: Sequence[int]) -> None:
        # In ascending order each leaf of the B-tree is visited once.
        pairs = sorted(zip(keys, page_ids, strict=True))
        self.connection.exec_driver_sql("INSERT INTO page_keys (key, page_id) VALUES (?, ?)", pairs)

    def touch_pages(self, rows: Sequence[TouchValues]) -> None:
        names = ",".join(f"{name}=?" for name in TouchValues._fields[:-1])
        self.connection.exec_driver_sql(
            f"UPDATE pages SET {names}, error=NULL WHERE id=?",
            [(*row[:-2], _to_text(row[-2]), row[-1]) for row in rows],
        )

    def insert_visits(self, rows: Sequence[VisitValues]) -> None:
        marks = ",".join("?" * len(VisitValues._fields))
        self.connection.exec_driver_sql(
            f"INSERT INTO visits ({','.join(VisitValues._fields)}) VALUES ({marks})",
            [(row[0], _to_text(row[1]), *row[2:]) for row in rows],
        )

    def insert_sites(self, hosts: Collection[str], now: datetime) -> None:
        self.connection.exec_driver_sql(
            "INSERT INTO sites (host, first_seen) VALUES (?, ?) ON CONFLICT DO NOTHING",
            [(host, _to_text(now)) for host in sorted(hosts)],
        )

    def was_stored(self, url_key: bytes, seen_at: datetime) -> bool:
        sql = (
            "SELECT 1 FROM visits JOIN pages ON pages.id = visits.page_id "
            "WHERE pages.url_key = ? AND visits.seen_at = ?"
        )
        return bool(self._rows(sql, url_key, _to_text(seen_at)))


class _PostgreSQL(Statements):
    """PostgreSQL, where lists travel as arrays."""

    _PAGE_TYPES = (
        "bigint text text bytea text text int bytea bytea text bigint float8 bigint text text "
        "boolean text int text bigint timestamptz timestamptz timestamptz"
    ).split()
    _TOUCH_TYPES = "text text text boolean text int bigint timestamptz bigint".split()
    _VISIT_TYPES = "bigint timestamptz bigint text float8 bigint text".split()

    def stored(self, url_keys: Sequence[bytes]) -> list[StoredPage]:
        rows = self._rows(f"{_STORED} = ANY(%b::bytea[])", list(url_keys))
        return [StoredPage._make((*row[:6], row[6].astimezone(UTC), *row[7:])) for row in rows]

    def twins(self, content_hashes: Sequence[bytes]) -> list[int]:
        # One search in the index for each content, however many pages have it.
        sql = (
            "SELECT twin.id FROM unnest(%b::bytea[]) AS wanted(hash) CROSS JOIN LATERAL "
            "(SELECT id FROM pages WHERE content_hash = wanted.hash ORDER BY id LIMIT 1) AS twin"
        )
        return [row[0] for row in self._rows(sql, list(content_hashes))]

    def sharing(self, keys: Sequence[int], limit: int) -> Iterable[tuple[int, int]]:
        sql = (
            "SELECT wanted.key, found.page_id FROM unnest(%b::bigint[]) AS wanted(key) "
            "CROSS JOIN LATERAL (SELECT page_id FROM page_keys WHERE page_keys.key = wanted.key "
            "ORDER BY page_id LIMIT %b::bigint) AS found"
        )
        return self._rows(sql, list(keys), limit)

    def candidates(self, ids: Collection[int]) -> list[Candidate]:
        sql = f"{_CANDIDATE} = ANY(%b::bigint[])"
        return [Candidate(*row) for row in self._rows(sql, sorted(ids))]

    def new_ids(self, count: int) -> list[int]:
        sql = "SELECT nextval('pages_id_seq') FROM generate_series(1, %b::int)"
        return [row[0] for row in self._rows(sql, count)]

    def insert_pages(self, rows: Sequence[PageValues]) -> None:
        self._insert("pages", PageValues._fields, self._PAGE_TYPES, rows)

    def insert_keys(self, keys: Sequence[int], page_ids: Sequence[int]) -> None:
        sql = (
            "INSERT INTO page_keys (key, page_id) SELECT * FROM unnest(%b::bigint[], %b::bigint[])"
        )
        pairs = sorted(zip(keys, page_ids, strict=True))
        self.connection.exec_driver_sql(
            sql, tuple(list(column) for column in zip(*pairs, strict=True))
        )

    def touch_pages(self, rows: Sequence[TouchValues]) -> None:
        names = ",".join(f"{name}=new.{name}" for name in TouchValues._fields[:-1])
        arrays = ",".join(f"%s::{kind}[]" for kind in self._TOUCH_TYPES)
        self.connection.exec_driver_sql(
            f"UPDATE pages SET {names}, error=NULL FROM unnest({arrays}) "
            f"AS new({','.join(TouchValues._fields)}) WHERE pages.id = new.id",
            _columns(rows),
        )

    def insert_visits(self, rows: Sequence[VisitValues]) -> None:
        self._insert("visits", VisitValues._fields, self._VISIT_TYPES, rows)

    def insert_sites(self, hosts: Collection[str], now: datetime) -> None:
        self.connection.exec_driver_sql(
            "INSERT INTO sites (host, first_seen) SELECT host, %s FROM unnest(%s::text[]) AS host "
            "ON CONFLICT DO NOTHING",
            (now, sorted(hosts)),
        )

    def was_stored(self, url_key: bytes, seen_at: datetime) -> bool:
        sql = (
            "SELECT 1 FROM visits JOIN pages ON pages.id = visits.page_id "
            "WHERE pages.url_key = %b AND visits.seen_at = %b"
        )
        return bool(self._rows(sql, url_key, seen_at))

    def _insert(
        self, table: str, names: Sequence[str], types: Sequence[str], rows: Sequence[Any]
    ) -> None:
        arrays = ",".join(f"%s::{kind}[]" for kind in types)
        self.connection.exec_driver_sql(
            f"INSERT INTO {table} ({','.join(names)}) SELECT * FROM unnest({arrays})",
            _columns(rows),
        )


def _columns(rows: Sequence[Sequence[Any]]) -> tuple[list[Any], ...]:
    return tuple(list(column) for column in zip(*rows, strict=True))


def _to_text(value: datetime | None) -> str | None:
    return None if value is None else value.strftime(_TIME)


def _from_text(value: str) -> datetime:
    return datetime.strptime(value, _TIME).replace(tzinfo=UTC)
