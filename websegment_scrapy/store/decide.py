"""The rules by which one visit to a page is decided and stored, within one transaction."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import bindparam, insert, select, update
from sqlalchemy.orm import aliased

from websegment_scrapy.dedup.decision import Decision, DecisionKind
from websegment_scrapy.dedup.signature import Recipe, Signature, similarity
from websegment_scrapy.exceptions import StoreError
from websegment_scrapy.store.clusters import Match, find_match, join, leave
from websegment_scrapy.store.locks import ClusterLock, LockTooWeak, lock_clusters, lock_keys
from websegment_scrapy.store.models import Page, PageKey, Visit
from websegment_scrapy.store.record import canonical_url, clean, host_of, shorten, url_key

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from websegment_scrapy.store.record import PageRecord

__all__ = ["Rules", "decide"]

_NO_PAGE = 0
"""An id that no page has."""

_PAGE = select(
    Page.id,
    Page.words,
    Page.content_hash,
    Page.signature,
    Page.cluster_id,
    Page.first_seen,
).where(Page.url_key == bindparam("key"))
_Original, _First = aliased(Page), aliased(Page)
_STANDING = (
    select(
        Page.duplicate_of_id,
        Page.similarity,
        _Original.url.label("duplicate_of"),
        _First.url.label("representative"),
    )
    .outerjoin(_Original, _Original.id == Page.duplicate_of_id)
    .outerjoin(_First, _First.id == Page.cluster_id)
    .where(Page.id == bindparam("own_id"))
)
_INSERT_PAGE = insert(Page).returning(Page.id)
_INSERT_KEYS = insert(PageKey)
_INSERT_VISIT = insert(Visit)


class _Stored(NamedTuple):
    """The page's row as it was before this visit."""

    id: int
    signature: Signature | None
    cluster_id: int | None
    first_seen: datetime


@dataclass(frozen=True, slots=True)
class Rules:
    """What decisions depend on besides the pages themselves."""

    recipe: Recipe
    similarity: float
    min_words: int


def decide(
    connection: Connection, record: PageRecord, rules: Rules, strength: ClusterLock
) -> Decision:
    """Decide one visit and write it down.

    Raises
    ------
    LockTooWeak
        Nothing was written; start again with the lock that it names (PostgreSQL only).
    """
    transaction = _Transaction(connection, record, rules)
    transaction.lock(strength)
    reason = transaction.reason_without_content()
    if reason is not None:
        return transaction.without_content(*reason)
    return transaction.with_content()


class _Transaction:
    """One visit on its way into the database."""

    def __init__(self, connection: Connection, record: PageRecord, rules: Rules) -> None:
        self.connection = connection
        self.record = record
        self.rules = rules
        self.url = canonical_url(record.url)
        self.key = url_key(self.url)
        self.words = record.words if record.signature is None else record.signature.words
        self.held = ClusterLock.EXCLUSIVE  # SQLite has one writer at a time
        self.now = datetime.now(UTC)

    def lock(self, strength: ClusterLock) -> None:
        """Take the locks that PostgreSQL needs, in the order that `locks` explains."""
        if self.connection.dialect.name != "postgresql":
            return
        keys = [int.from_bytes(self.key[:8], "little", signed=True)]
        if self.record.signature is not None:
            keys += self.record.signature.keys()
        lock_keys(self.connection, keys)
        lock_clusters(self.connection, strength)
        self.held = strength
        self.now = datetime.now(UTC)

    def reason_without_content(self) -> tuple[DecisionKind, str] | None:
        """Return why the visit brought nothing to compare, if so."""
        if self.record.error is not None:
            return DecisionKind.FAILED, shorten(self.record.error)
        if self.words < self.rules.min_words:
            return (
                DecisionKind.EMPTY,
                f"{self.words} words, fewer than the {self.rules.min_words} of min_words",
            )
        return None

    def without_content(self, kind: DecisionKind, reason: str) -> Decision:
        """Note a visit that failed or found too few words; content stored before stays."""
        page = self.page()
        error = reason if kind is DecisionKind.FAILED else None
        outcome = {"http_status": self.record.http_status, "error": error, "last_seen": self.now}
        if page is None:
            values = {**self.described(), **outcome, "decision": kind, "words": self.words}
            page_id = self.insert(values)
        elif page.signature is None:
            page_id = page.id
            values = {**self.described(), **outcome, "decision": kind, "words": self.words}
            self.update(page_id, values)
        else:
            page_id = page.id
            self.update(page_id, outcome)
        self.visit(page_id, kind, reason=reason)
        return self.answer(kind, page_id, page, reason=reason)

    def with_content(self) -> Decision:
        """Decide on a visit that found enough words."""
        signature = self.signature()
        page = self.page()
        former = None if page is None else page.signature
        if page is not None and former is not None and _same_words(former, signature):
            return self.unchanged(page)
        page, match = self.page_and_match(signature)
        kind = DecisionKind.NEW if match is None else DecisionKind.DUPLICATE
        shown = None if match is None else match.similarity
        if page is not None and former is not None and page.cluster_id is not None:
            kind = DecisionKind.CHANGED
            shown = similarity(former, signature)
            leave(self.connection, page.id, page.cluster_id, former, self.rules.similarity)
            match = find_match(self.connection, signature, self.rules.similarity, page.id)
        page_id, representative = self.store(page, signature, match)
        self.visit(page_id, kind, shown, None if match is None else match.page_id)
        return self.answer(
            kind,
            page_id,
            page,
            similarity=shown,
            duplicate_of=None if match is None else match.url,
            representative=representative,
        )

    def unchanged(self, page: _Stored) -> Decision:
        """Note a visit that found the same words again."""
        standing = self.connection.execute(_STANDING, {"own_id": page.id}).one()
        self.update(page.id, {**self.described(), "error": None, "last_seen": self.now})
        self.visit(page.id, DecisionKind.UNCHANGED, standing.similarity, standing.duplicate_of_id)
        return self.answer(
            DecisionKind.UNCHANGED,
            page.id,
            page,
            similarity=standing.similarity,
            duplicate_of=standing.duplicate_of,
            representative=standing.representative,
        )

    def page_and_match(self, signature: Signature) -> tuple[_Stored | None, Match | None]:
        """Read the page's row and its match under a cluster lock that is strong enough."""
        while True:
            page = self.page()
            own_id = _NO_PAGE if page is None else page.id
            match = find_match(self.connection, signature, self.rules.similarity, own_id)
            needed = _needed_lock(page, match)
            if needed <= self.held:
                return page, match
            if self.held is not ClusterLock.NONE:
                raise LockTooWeak(needed)
            lock_clusters(self.connection, needed)
            self.held = needed

    def store(
        self, page: _Stored | None, signature: Signature, match: Match | None
    ) -> tuple[int, str]:
        """Write a page's content, keys and cluster; return its id and its representative's URL."""
        values = {
            **self.described(),
            "words": signature.words,
            "content_hash": signature.content_hash,
            "signature": signature.to_bytes(),
            "decision": DecisionKind.NEW if match is None else DecisionKind.DUPLICATE,
            "duplicate_of_id": None if match is None else match.page_id,
            "similarity": None if match is None else match.similarity,
            "error": None,
            "last_seen": self.now,
            "last_changed": self.now,
        }
        clusters = frozenset[int]() if match is None else match.clusters
        if page is None:
            page_id = self.insert(values)
        else:
            page_id = page.id
            self.update(page_id, values)
        representative = min((page_id, *clusters))
        self.update(page_id, {"cluster_id": representative})
        join(self.connection, representative, clusters)
        keys = signature.keys()
        self.connection.execute(_INSERT_KEYS, [{"key": key, "page_id": page_id} for key in keys])
        if representative == page_id:
            return page_id, self.url
        url = select(Page.url).where(Page.id == representative)
        return page_id, self.connection.execute(url).scalar_one()

    def signature(self) -> Signature:
        signature = self.record.signature
        if signature is None:
            raise StoreError(
                f"the record of {self.url} has {self.words} words but no signature: give both"
            )
        return signature

    def page(self) -> _Stored | None:
        row = self.connection.execute(_PAGE, {"key": self.key}).first()
        if row is None:
            return None
        signature = None
        if row.signature is not None and row.content_hash is not None:
            signature = Signature.from_bytes(
                row.signature, self.rules.recipe, row.words, row.content_hash
            )
        return _Stored(row.id, signature, row.cluster_id, row.first_seen)

    def described(self) -> dict[str, Any]:
        """Return the columns that simply repeat the record."""
        record = self.record
        return {
            "title": shorten(record.title),
            "engine": clean(record.engine),
            "rendered": record.rendered,
            "render_error": None if record.render_error is None else shorten(record.render_error),
            "http_status": record.http_status,
        }

    def insert(self, values: dict[str, Any]) -> int:
        fixed = {
            "url": self.url,
            "url_key": self.key,
            "host": host_of(self.url),
            "first_seen": self.now,
        }
        page_id: int = self.connection.execute(_INSERT_PAGE, {**fixed, **values}).scalar_one()
        return page_id

    def update(self, page_id: int, values: dict[str, Any]) -> None:
        self.connection.execute(update(Page).where(Page.id == page_id).values(**values))

    def visit(
        self,
        page_id: int,
        kind: DecisionKind,
        similarity: float | None = None,
        duplicate_of_id: int | None = None,
        reason: str | None = None,
    ) -> None:
        self.connection.execute(
            _INSERT_VISIT,
            {
                "page_id": page_id,
                "seen_at": self.now,
                "crawl": clean(self.record.crawl),
                "decision": kind,
                "similarity": similarity,
                "duplicate_of_id": duplicate_of_id,
                "reason": reason,
            },
        )

    def answer(
        self,
        kind: DecisionKind,
        page_id: int,
        page: _Stored | None,
        *,
        similarity: float | None = None,
        duplicate_of: str | None = None,
        representative: str | None = None,
        reason: str | None = None,
    ) -> Decision:
        return Decision(
            kind=kind,
            url=self.url,
            page_id=page_id,
            duplicate_of=duplicate_of,
            similarity=similarity,
            representative=representative,
            first_seen=self.now if page is None else page.first_seen,
            reason=reason,
        )


def _same_words(a: Signature, b: Signature) -> bool:
    return a.content_hash == b.content_hash


def _needed_lock(page: _Stored | None, match: Match | None) -> ClusterLock:
    """Say how strongly the clusters must be held for what is about to be written."""
    if page is not None and page.signature is not None:
        return ClusterLock.EXCLUSIVE  # it leaves its cluster
    if match is None:
        return ClusterLock.NONE
    if page is not None or len(match.clusters) > 1:
        return ClusterLock.EXCLUSIVE  # its low id may make it the representative; a merge
    return ClusterLock.SHARED
