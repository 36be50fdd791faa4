"""The few statements of which a batch of decisions consists.

Each works on a whole batch: what a decision costs is mostly what a statement costs, and on
PostgreSQL the way to the server and back. They go past SQLAlchemy's expression language, which
would take longer than the databases do. `Statements.of` chooses between `statements_sqlite` and
`statements_postgresql`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import select

from websegment_scrapy.dedup.decision import Decision, DecisionKind
from websegment_scrapy.store.models import Page, Visit

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from websegment_scrapy.store.locks import ClusterLock

__all__ = [
    "CANDIDATE",
    "DOCUMENT",
    "KEEP",
    "NO_PAGE",
    "STORED",
    "Ahead",
    "Candidate",
    "Row",
    "SameDocument",
    "Statements",
    "StoredPage",
    "Wanted",
]

Row = dict[str, Any]
"""What is written: values by the names of their columns; all rows of a call have the same ones."""

NO_PAGE = 0
"""An id that no page has."""


class Wanted(NamedTuple):
    """What a visit is looked up by: URL, document and, if it has enough words, content and keys."""

    url_key: bytes
    content_hash: bytes | None = None
    keys: Sequence[int] = ()
    document_hash: bytes | None = None


class StoredPage(NamedTuple):
    """A page's row without its signature, and the URLs of the pages that it points at."""

    id: int
    url_key: bytes
    content_hash: bytes | None
    first_seen: datetime
    recipe_id: int
    duplicate_of_id: int | None
    similarity: float | None
    page_hash: bytes | None
    parts_counted: bool
    document_hash: bytes | None
    fingerprint: bytes | None
    rendered: bool
    steady_hash: bytes | None
    was_revised: bool
    """Since it was last seen."""
    duplicate_of: str | None
    representative: str | None

    def unchanged(self, url: str) -> Decision:
        """Return the decision on a visit that found the page as it is."""
        return Decision(
            DecisionKind.UNCHANGED,
            url,
            self.id,
            self.first_seen,
            duplicate_of=self.duplicate_of,
            similarity=self.similarity,
            representative=self.representative,
            revised=bool(self.was_revised),
        )


class SameDocument(NamedTuple):
    """The first page with a document, and its content if it has one of the recipe."""

    document_hash: bytes
    id: int
    words: int
    content_hash: bytes | None
    signature: bytes | None


class Candidate(NamedTuple):
    """A page that may be similar to the one being decided."""

    id: int
    url: str
    cluster_id: int
    words: int
    content_hash: bytes
    signature: bytes


class Ahead(NamedTuple):
    """What decides how visits go on, read for all of them together.

    Parameters
    ----------
    stored
        The pages of the URLs.
    ids
        An id for each URL, higher than those of all pages that were decided before.
    twins
        The first page with each of the contents, for those that any page has.
    documents
        The first page with each of the documents, likewise; none that failed.
    sharing
        Keys and the earliest pages that have them, for the visits that have neither page nor twin.
    candidates
        Those of the pages in `sharing` whose signature is of the recipe.
    """

    stored: list[StoredPage]
    ids: list[int]
    twins: list[Candidate]
    documents: list[SameDocument]
    sharing: Iterable[tuple[int, int]]
    candidates: list[Candidate]


_JOINED = {
    "was_revised": "page.revised IS NOT NULL AND page.revised > page.last_seen",
    "duplicate_of": "original.url",
    "representative": "first.url",
}
"""What of `StoredPage` is no column of the page's own row."""

STORED = f"""\
SELECT {", ".join(_JOINED.get(name, f"page.{name}") for name in StoredPage._fields)}
FROM pages AS page
LEFT JOIN pages AS original ON original.id = page.duplicate_of_id
LEFT JOIN pages AS first ON first.id = page.cluster_id
WHERE page.url_key"""
"""The columns of `StoredPage`; how the keys are given follows."""

DOCUMENT = f"""\
SELECT {", ".join(SameDocument._fields)} FROM pages
WHERE document_hash = {{document}} AND id <> {{mark}} AND decision <> 'failed'
AND (signature IS NULL OR recipe_id = {{mark}}) ORDER BY id LIMIT 1"""
"""The columns of `SameDocument`; to be given are the hash, a page that is not meant, the recipe."""

KEEP = "ON CONFLICT (page_id) DO UPDATE SET dossier = excluded.dossier"
"""What is kept of a page replaces what was."""

CANDIDATE = f"SELECT {', '.join(Candidate._fields)} FROM pages WHERE id"
"""The columns of `Candidate`; how the ids are given follows."""


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
        # Here, because both of them are Statements.
        from websegment_scrapy.store.statements_postgresql import PostgreSQLStatements
        from websegment_scrapy.store.statements_sqlite import SQLiteStatements

        postgresql = connection.dialect.name == "postgresql"
        return (PostgreSQLStatements if postgresql else SQLiteStatements)(connection, recipe_id)

    @abstractmethod
    def lock(self, keys: Iterable[int], strength: ClusterLock) -> ClusterLock:
        """Take the locks of `locks`, at the latest with the next reading; return what is held."""

    @abstractmethod
    def read_ahead(self, wanted: Sequence[Wanted], limit: int) -> Ahead:
        """Read what decides how visits go on; of each key up to `limit` pages."""

    @abstractmethod
    def stored(self, url_key: bytes) -> StoredPage | None:
        """Read the page of one URL."""

    @abstractmethod
    def same_document(self, document_hash: bytes, own_id: int) -> SameDocument | None:
        """Return the first page but `own_id` that has a document."""

    @abstractmethod
    def sharing(self, keys: Sequence[int], limit: int) -> Iterable[tuple[int, int]]:
        """Return key and page of the earliest pages, up to `limit` for each key."""

    @abstractmethod
    def most_shared(self, keys: Sequence[int], scan: int, limit: int) -> list[int]:
        """Return the pages that have most of the keys, up to `limit`.

        Of each key the earliest pages are looked at, up to `scan`.
        """

    @abstractmethod
    def candidates(self, ids: Collection[int]) -> list[Candidate]:
        """Return those of these pages whose signature is of the recipe."""

    @abstractmethod
    def write(
        self,
        pages: Sequence[Row],
        keys: Sequence[tuple[int, int]],
        touched: Sequence[Row],
        visits: Sequence[Row],
    ) -> None:
        """Write new pages, their keys (key and page), pages that were seen again, and visits."""

    @abstractmethod
    def keep(self, kept: Sequence[Row]) -> None:
        """Write what is kept of pages, instead of what was kept of them before."""

    @abstractmethod
    def insert_sites(self, hosts: Collection[str], now: datetime) -> None:
        """Write the hosts that are not known yet."""

    def was_stored(self, url_key: bytes, seen_at: datetime) -> bool:
        """Return whether there is a visit to a URL at exactly this time."""
        self._settle()
        query = (
            select(Visit.id)
            .join(Page, Page.id == Visit.page_id)
            .where(Page.url_key == url_key, Visit.seen_at == seen_at)
        )
        return self.connection.execute(query).first() is not None

    @abstractmethod
    def _settle(self) -> None:
        """Do what waits for the next reading."""
