"""The rules by which one visit to a page is decided and stored, within one transaction.

This is the general way, which can do everything: replace a page's content, which may split its
cluster. `batch` takes a short cut for the visits that need nothing of that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import insert, select, update

from websegment_scrapy.dedup.decision import Decision, DecisionKind
from websegment_scrapy.dedup.signature import similarity
from websegment_scrapy.store.candidates import find_match
from websegment_scrapy.store.leaving import WITHOUT_TEXT, former_of, leave
from websegment_scrapy.store.locks import ClusterLock, LockTooWeak
from websegment_scrapy.store.models import Page, Visit
from websegment_scrapy.store.placing import add_keys, content_of
from websegment_scrapy.store.statements import NO_PAGE

if TYPE_CHECKING:
    from datetime import datetime

    from websegment_scrapy.dedup.signature import Signature
    from websegment_scrapy.store.clusters import Match
    from websegment_scrapy.store.statements import Row, SameDocument, Statements, StoredPage
    from websegment_scrapy.store.visit import Rules, VisitToDecide


__all__ = ["SingleVisit"]

_INSERT_PAGE = insert(Page).returning(Page.id)
_INSERT_VISIT = insert(Visit)

OTHER_RECIPE = "the text before had a signature of another recipe: how much changed is not known"
"""Why a ``changed`` visit has no similarity."""

HAD_TEXT = "the page had a text before"
"""What is said of an ``empty`` visit in addition, where one is stored: it stays."""


class SingleVisit:
    """One visit on its way into the database; ``held`` says how strongly clusters are locked."""

    def __init__(
        self,
        statements: Statements,
        visit: VisitToDecide,
        rules: Rules,
        held: ClusterLock,
        now: datetime,
    ) -> None:
        self.statements = statements
        self.connection = statements.connection
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
        page = self.statements.stored(self.key)
        self.adds_parts = self.todo.has_parts and not (page is not None and page.parts_counted)
        self.known_document = None if page is None else page.document_hash
        if (
            page is not None
            and self.todo.repeats(page)
            and (self.todo.reason is not None or page.recipe_id == self.rules.recipe_id)
        ):
            how = self.todo.left_alone(page)
            if how is not None:
                return self._left_alone(page, how)
            if self.todo.stays(page) or self._same_document(page) is not None:
                return self._unchanged(page)
            return self._judged_again(page)
        how = None if page is None else self._too_little(page)
        if page is not None and how is not None:
            return self._left_alone(page, how)
        self._take_from_same(page)
        if self.todo.reason is not None:
            return self._without_content(page, *self.todo.reason)
        return self._with_content(page)

    def _too_little(self, page: StoredPage) -> str | None:
        """Say how little of a page's text is another, if that is less than was asked for."""
        least = self.rules.changed_share
        if not least or page.content_hash is None or self.todo.reason is not None:
            return None
        found = former_of(self.connection, page.id, self.rules)
        if found is None or found[0].recipe != self.todo.signature.recipe:
            return None
        share = 1 - similarity(found[0], self.todo.signature)
        return (
            None if share >= least else f"{share:.3f} of the text is another, less than {least:g}"
        )

    def _left_alone(self, page: StoredPage, how: str) -> Decision:
        """Note a visit to a page that stays as it is."""
        self._update(
            page.id, {"error": None, "last_seen": self.now, "crawl_id": self.todo.crawl_id}
        )
        noted = page.similarity, page.duplicate_of_id
        self._visit(page.id, DecisionKind.UNCHANGED, *noted, reason=how)
        return page.unchanged(self.url)

    def _judged_again(self, page: StoredPage) -> Decision:
        """Let an unchanged page have what it is judged to be now."""
        if self.todo.reason is None:
            return self._with_content(page)
        if self.held < ClusterLock.EXCLUSIVE:
            raise LockTooWeak(ClusterLock.EXCLUSIVE)
        former = former_of(self.connection, page.id, self.rules)
        if former is not None:
            leave(self.connection, page.id, *former)
        self._update(page.id, {**WITHOUT_TEXT, "revised": self.now})
        return self._without_content(page._replace(content_hash=None), *self.todo.reason)

    def _same_document(self, page: StoredPage | None) -> SameDocument | None:
        """Return the first other page that has the same bytes, if there is one."""
        document = self.record.document_hash
        if document is None:
            return None
        return self.statements.same_document(document, NO_PAGE if page is None else page.id)

    def _take_from_same(self, page: StoredPage | None) -> None:
        """Let a page that has the same bytes as another have the same content."""
        if self.record.error is not None:
            return
        same = self._same_document(page)
        if same is not None:
            self.todo.take_from(same)
            self.words = self.todo.words

    def _without_content(
        self, page: StoredPage | None, kind: DecisionKind, reason: str
    ) -> Decision:
        """Note a visit that failed or found too few words; content stored before stays."""
        error = reason if kind is DecisionKind.FAILED else None
        emptied = kind is DecisionKind.EMPTY and page is not None and page.content_hash is not None
        if emptied:
            reason = f"{reason}; {HAD_TEXT}"
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
        elif page.content_hash is None:
            page_id = page.id
            self._update(page_id, {**values, **self.todo.hashes(page)})
        else:
            page_id = page.id
            self._update(page_id, outcome)
        self._visit(page_id, kind, reason=reason)
        seen = self._first_seen(page)
        return Decision(kind, self.url, page_id, seen, reason=reason, emptied=emptied)

    def _with_content(self, page: StoredPage | None) -> Decision:
        """Decide on a visit that found enough words."""
        signature = self.todo.signature
        match = self._match(page, signature)
        kind = DecisionKind.NEW if match is None else DecisionKind.DUPLICATE
        reason = former = None
        revised = False
        found = None if page is None else former_of(self.connection, page.id, self.rules)
        if page is not None and found is not None:
            former = found[0]
            leave(self.connection, page.id, *found)
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
        return Decision(
            kind,
            self.url,
            page_id,
            self._first_seen(page),
            similarity=shown,
            duplicate_of=None if match is None else match.url,
            representative=representative,
            reason=reason,
            revised=revised,
        )

    def _find(self, signature: Signature, own_id: int) -> Match | None:
        return find_match(self.connection, signature, self.rules, own_id)

    def _unchanged(self, page: StoredPage) -> Decision:
        """Note a visit that found the same words again."""
        values = {**self.todo.described(), "error": None, "last_seen": self.now}
        if not self.todo.has_content_of(page.content_hash):
            values["rendered"] = page.rendered
        self._update(page.id, {**values, **self._counted(page), **self.todo.hashes(page)})
        self._visit(page.id, DecisionKind.UNCHANGED, page.similarity, page.duplicate_of_id)
        return page.unchanged(self.url)

    def _counted(self, page: StoredPage | None) -> Row:
        """Return the column that says whether the page's parts were counted."""
        return {"parts_counted": self.todo.has_parts or (page is not None and page.parts_counted)}

    def _match(self, page: StoredPage | None, signature: Signature) -> Match | None:
        """Find the page's match, if the cluster lock is strong enough for both."""
        own_id = NO_PAGE if page is None else page.id
        match = self._find(signature, own_id)
        needed = _needed_lock(page, match)
        if needed > self.held:
            raise LockTooWeak(needed)
        return match

    def _store(
        self, page: StoredPage | None, signature: Signature, match: Match | None, kind: DecisionKind
    ) -> tuple[int, str]:
        """Write a page's content, keys and cluster; return its id and its representative's URL."""
        values = {
            **self.todo.described(),
            **content_of(signature, match, self.rules),
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
        add_keys(self.connection, page_id, self.todo.keys)
        if representative == page_id:
            return page_id, self.url
        url = select(Page.url).where(Page.id == representative)
        return page_id, self.connection.execute(url).scalar_one()

    def _insert(self, values: Row) -> int:
        new = {**self.todo.founded(self.now), **values}
        page_id: int = self.connection.execute(_INSERT_PAGE, new).scalar_one()
        return page_id

    def _update(self, page_id: int, values: Row) -> None:
        self.connection.execute(update(Page).where(Page.id == page_id).values(**values))

    def _visit(
        self,
        page_id: int,
        kind: DecisionKind,
        similarity: float | None = None,
        duplicate_of_id: int | None = None,
        reason: str | None = None,
    ) -> None:
        noted = self.todo.noted(page_id, self.now, kind, similarity, duplicate_of_id, reason)
        self.connection.execute(_INSERT_VISIT, noted)

    def _first_seen(self, page: StoredPage | None) -> datetime:
        return self.now if page is None else page.first_seen


def _needed_lock(page: StoredPage | None, match: Match | None) -> ClusterLock:
    """Say how strongly the clusters must be held for what is about to be written."""
    if page is not None and page.content_hash is not None:
        return ClusterLock.EXCLUSIVE  # it leaves its cluster
    return ClusterLock.NONE if match is None else ClusterLock.SHARED
