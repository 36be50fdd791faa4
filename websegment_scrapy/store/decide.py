"""The rules by which one visit to a page is decided and stored, within one transaction.

This is the general way, which can do everything: replace a page's content, which may split its
cluster. `batch` takes a short cut for the visits that need nothing of that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, select, update

from websegment_scrapy.dedup.decision import Decision, DecisionKind
from websegment_scrapy.dedup.signature import similarity
from websegment_scrapy.store.clusters import Match, find_match
from websegment_scrapy.store.leaving import WITHOUT_TEXT, leave
from websegment_scrapy.store.locks import ClusterLock, LockTooWeak
from websegment_scrapy.store.models import Page, PageKey, Visit
from websegment_scrapy.store.stored import NO_PAGE, same_document, standing_of, stored_page

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

    from websegment_scrapy.dedup.signature import Signature
    from websegment_scrapy.store.stored import Stored
    from websegment_scrapy.store.visit import Rules, VisitToDecide


__all__ = ["SingleVisit"]

_INSERT_PAGE = insert(Page).returning(Page.id)
_INSERT_KEYS = insert(PageKey)
_INSERT_VISIT = insert(Visit)

OTHER_RECIPE = "the text before had a signature of another recipe: how much changed is not known"
"""Why a ``changed`` visit has no similarity."""


class SingleVisit:
    """One visit on its way into the database; ``held`` says how strongly clusters are locked."""

    def __init__(
        self,
        connection: Connection,
        visit: VisitToDecide,
        rules: Rules,
        held: ClusterLock,
        now: datetime,
    ) -> None:
        self.connection = connection
        self.todo = visit
        self.record = visit.record
        self.rules = rules
        self.url = visit.url
        self.key = visit.key
        self.words = visit.words
        self.held = held
        self.now = now
        self.adds_parts = False
        """Whether the page is to be counted: it was analysed with its parts for the first time."""
        self.known_document: bytes | None = None
        """The document that the page had before."""

    def decide(self) -> Decision:
        """Decide the visit and write it down.

        Raises
        ------
        LockTooWeak
            Start the transaction again with the lock that it names (PostgreSQL only).
        ClusterTooLarge
            Start it again after `leaving.hand_over_all`.
        """
        page = stored_page(self.connection, self.key, self.rules)
        self.adds_parts = self.todo.has_parts and not (page is not None and page.parts_counted)
        self.known_document = None if page is None else page.document_hash
        if (
            page is not None
            and page.signature is not None
            and self.todo.repeats(page)
            and (self.todo.reason is not None or self._is_of_this_recipe(page))
        ):
            if self.todo.stays(page) or self._same_document(page) is not None:
                return self._unchanged(page)
            return self._judged_again(page)
        self._take_from_same(page)
        if self.todo.reason is not None:
            return self._without_content(page, *self.todo.reason)
        return self._with_content(page)

    def _judged_again(self, page: Stored) -> Decision:
        """Let an unchanged page have what it is judged to be now."""
        if self.todo.reason is None:
            return self._with_content(page)
        assert page.signature is not None
        if self.held < ClusterLock.EXCLUSIVE:
            raise LockTooWeak(ClusterLock.EXCLUSIVE)
        leave(self.connection, page.id, page.signature, page.rules)
        self._update(page.id, {**WITHOUT_TEXT, "revised": self.now})
        return self._without_content(page._replace(signature=None), *self.todo.reason)

    def _same_document(self, page: Stored | None) -> Any:
        """Return the first other page that has the same bytes, if there is one."""
        own_id = NO_PAGE if page is None else page.id
        document = self.record.document_hash
        return same_document(self.connection, document, self.rules.recipe_id, own_id)

    def _take_from_same(self, page: Stored | None) -> None:
        """Let a page that has the same bytes as another have the same content."""
        if self.record.document_hash is None or self.record.error is not None:
            return
        same = self._same_document(page)
        if same is not None:
            self.todo.take_from(same)
            self.words = self.todo.words

    def _without_content(self, page: Stored | None, kind: DecisionKind, reason: str) -> Decision:
        """Note a visit that failed or found too few words; content stored before stays."""
        error = reason if kind is DecisionKind.FAILED else None
        outcome = {
            "http_status": self.record.http_status,
            "error": error,
            "crawl_id": self.todo.crawl_id,
            "last_seen": self.now,
            **self._counted(page),
        }
        values = {**self.todo.described(), **outcome, "decision": kind, "words": self.words}
        if page is None:
            page_id = self._insert({**values, **self.todo.hashes()})
        elif page.signature is None:
            page_id = page.id
            self._update(page_id, {**values, **self.todo.hashes(page)})
        else:
            page_id = page.id
            self._update(page_id, outcome)
        self._visit(page_id, kind, reason=reason)
        return self._answer(kind, page_id, page, reason=reason)

    def _with_content(self, page: Stored | None) -> Decision:
        """Decide on a visit that found enough words."""
        signature = self.todo.signature
        former = None if page is None else page.signature
        match = self._match(page, signature)
        kind = DecisionKind.NEW if match is None else DecisionKind.DUPLICATE
        reason = None
        revised = False
        if page is not None and former is not None:
            leave(self.connection, page.id, former, page.rules)
            match = self._find(signature, page.id)
            same = self.todo.repeats(page)
            kind = DecisionKind.UNCHANGED if same else DecisionKind.CHANGED
            revised = same and not self.todo.has_content_of(former.content_hash)
        shown = None if match is None else match.similarity
        if kind is DecisionKind.CHANGED and former is not None:
            comparable = former.recipe == signature.recipe
            shown = similarity(former, signature) if comparable else None
            reason = None if comparable else OTHER_RECIPE
        page_id, representative = self._store(page, signature, match, kind)
        if revised:
            self._update(page_id, {"revised": self.now})
        self._visit(page_id, kind, shown, None if match is None else match.page_id, reason)
        return self._answer(
            kind,
            page_id,
            page,
            similarity=shown,
            duplicate_of=None if match is None else match.url,
            representative=representative,
            reason=reason,
            revised=revised,
        )

    def _is_of_this_recipe(self, page: Stored) -> bool:
        return (
            page.signature is not None
            and page.rules.recipe == self.rules.recipe
            and page.rules.similarity == self.rules.similarity
        )

    def _find(self, signature: Signature, own_id: int) -> Match | None:
        return find_match(self.connection, signature, self.rules, own_id)

    def _unchanged(self, page: Stored) -> Decision:
        """Note a visit that found the same words again."""
        standing = standing_of(self.connection, page.id)
        values = {**self.todo.described(), "error": None, "last_seen": self.now}
        if not self.todo.has_content_of(page.content_hash):
            values["rendered"] = page.rendered
        self._update(page.id, {**values, **self._counted(page), **self.todo.hashes(page)})
        self._visit(page.id, DecisionKind.UNCHANGED, standing.similarity, standing.duplicate_of_id)
        return self._answer(
            DecisionKind.UNCHANGED,
            page.id,
            page,
            similarity=standing.similarity,
            duplicate_of=standing.duplicate_of,
            representative=standing.representative,
            revised=page.was_revised,
        )

    def _counted(self, page: Stored | None) -> dict[str, Any]:
        """Return the column that says whether the page's parts were counted."""
        return {"parts_counted": self.todo.has_parts or (page is not None and page.parts_counted)}

    def _match(self, page: Stored | None, signature: Signature) -> Match | None:
        """Find the page's match, if the cluster lock is strong enough for both."""
        own_id = NO_PAGE if page is None else page.id
        match = self._find(signature, own_id)
        needed = _needed_lock(page, match)
        if needed > self.held:
            raise LockTooWeak(needed)
        return match

    def _store(
        self,
        page: Stored | None,
        signature: Signature,
        match: Match | None,
        kind: DecisionKind,
    ) -> tuple[int, str]:
        """Write a page's content, keys and cluster; return its id and its representative's URL."""
        values = {
            **self.todo.described(),
            "words": signature.words,
            "content_hash": signature.content_hash,
            "signature": signature.to_bytes(),
            "recipe_id": self.rules.recipe_id,
            "decision": DecisionKind.NEW if match is None else DecisionKind.DUPLICATE,
            "duplicate_of_id": None if match is None else match.page_id,
            "similarity": None if match is None else match.similarity,
            "error": None,
            "last_seen": self.now,
            **self.todo.hashes(),
            **self._counted(page),
        }
        if kind is not DecisionKind.UNCHANGED:
            values["last_changed"] = self.now
        if page is None:
            page_id = self._insert(values)
        else:
            page_id = page.id
            self._update(page_id, values)
        representative = page_id if match is None else match.cluster
        self._update(page_id, {"cluster_id": representative})
        keys = self.todo.keys
        self.connection.execute(_INSERT_KEYS, [{"key": key, "page_id": page_id} for key in keys])
        if representative == page_id:
            return page_id, self.url
        url = select(Page.url).where(Page.id == representative)
        return page_id, self.connection.execute(url).scalar_one()

    def _insert(self, values: dict[str, Any]) -> int:
        fixed = {
            "url": self.url,
            "seen_url": self.todo.seen_url,
            "url_key": self.key,
            "host": self.todo.host,
            "first_seen": self.now,
        }
        page_id: int = self.connection.execute(_INSERT_PAGE, {**fixed, **values}).scalar_one()
        return page_id

    def _update(self, page_id: int, values: dict[str, Any]) -> None:
        self.connection.execute(update(Page).where(Page.id == page_id).values(**values))

    def _visit(
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
                "crawl_id": self.todo.crawl_id,
                "decision": kind,
                "similarity": similarity,
                "duplicate_of_id": duplicate_of_id,
                "reason": reason,
            },
        )

    def _answer(
        self,
        kind: DecisionKind,
        page_id: int,
        page: Stored | None,
        *,
        similarity: float | None = None,
        duplicate_of: str | None = None,
        representative: str | None = None,
        reason: str | None = None,
        revised: bool = False,
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
            revised=revised,
        )


def _needed_lock(page: Stored | None, match: Match | None) -> ClusterLock:
    """Say how strongly the clusters must be held for what is about to be written."""
    if page is not None and page.signature is not None:
        return ClusterLock.EXCLUSIVE  # it leaves its cluster
    return ClusterLock.NONE if match is None else ClusterLock.SHARED
