"""Several visits decided and stored in one transaction, each as if it came alone and in its turn.

One transaction for several visits costs one wait for the disk and a handful of statements. Nothing
is reported before the transaction is committed, so the guarantee is that of single transactions.

The short cut: a visit to a URL that is new or whose words are the same only adds rows. Such visits
are decided in memory, on candidates read for the whole batch and on the pages of the batch itself,
and written together. Any other visit (changed content, a page that had no content) is decided by
`decide.SingleVisit` in its turn, after what came before it has been written.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from websegment_scrapy.dedup.decision import Decision, DecisionKind
from websegment_scrapy.store import clusters
from websegment_scrapy.store.candidates import Candidates
from websegment_scrapy.store.decide import SingleVisit
from websegment_scrapy.store.kept_texts import keep_texts, packed
from websegment_scrapy.store.leaving import WITHOUT_TEXT
from websegment_scrapy.store.placing import content_of
from websegment_scrapy.store.revisits import Seen, keep_revisits
from websegment_scrapy.store.statements import (
    Candidate,
    SameDocument,
    Statements,
    StoredPage,
    Wanted,
)
from websegment_scrapy.store.templates import count_parts, mark_unrevised

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from sqlalchemy import Connection

    from websegment_scrapy.store.clusters import Match
    from websegment_scrapy.store.locks import ClusterLock
    from websegment_scrapy.store.statements import Row
    from websegment_scrapy.store.visit import Rules, VisitToDecide

__all__ = ["Batch"]

TICK = timedelta(microseconds=1)
"""The resolution of stored times."""


class Batch:
    """Visits on their way into the database, within one transaction."""

    def __init__(
        self,
        connection: Connection,
        visits: Sequence[VisitToDecide],
        rules: Rules,
        strength: ClusterLock,
        known_hosts: Collection[str],
        known_sites: Collection[str] = (),
    ) -> None:
        self.connection = connection
        self.visits = visits
        self.rules = rules
        self.strength = strength
        self.statements = Statements.of(connection, rules.recipe_id)
        self.now = datetime.now(UTC)
        self._candidates = Candidates(self.statements, rules)
        self.used_general_way = False
        self.new_hosts = {visit.host for visit in visits if visit.host not in known_hosts}
        self.known_sites = known_sites
        self.new_sites: set[str] = set()
        """Hosts of which enough pages are counted by now (`templates.COUNT_ALL`)."""
        self._with_parts: list[VisitToDecide] = []
        self._kept: dict[int, Row] = {}
        self._texts: list[Row] = []
        self._looks: list[Seen] = []
        self._timed = False
        self._stale = False
        self._start_afresh()

    @property
    def crowded_keys(self) -> int:
        """How often a key had more pages than are compared."""
        return self._candidates.crowded_keys

    def lock(self) -> None:
        """Take the locks that PostgreSQL needs, in the order that `locks` explains."""
        for visit in self.visits:
            visit.restore()
        keys = [key for visit in self.visits for key in visit.locks]
        self.strength = self.statements.lock(keys, self.strength)

    def decide(self) -> list[Decision]:
        """Decide all visits in their order.

        Raises
        ------
        LockTooWeak
            Start the transaction again with the lock that it names (PostgreSQL only).
        """
        if self.new_hosts:
            self.statements.insert_sites(self.new_hosts, self.now)
        decisions: list[Decision] = []
        while len(decisions) < len(self.visits):
            self._read_ahead(self.visits[len(decisions) :])
            for visit in self.visits[len(decisions) :]:
                if visit.key in self._seen:
                    break
                self._seen.add(visit.key)
                # Which text came first counts when a page leaves its cluster: no two visits of a
                # batch have the same time.
                self.now += TICK
                page = self._stored.get(visit.key)
                # Once a visit went the general way, what was read may no longer hold, except that
                # a page whose words differ needs the general way too.
                if self._stale and not self._has_changed(visit, page):
                    break
                decision = None if self._stale else self._short_cut(visit, page)
                if decision is None:
                    self._write()
                    self._stale = self.used_general_way = True
                    single = SingleVisit(
                        self.statements, visit, self.rules, self.strength, self.now
                    )
                    decision = single.decide()
                    if single.adds_parts:
                        self._with_parts.append(visit)
                    self._keep(visit, decision.page_id, single.known_document)
                self._keep_text(visit, decision)
                if visit.record.look is not None or visit.record.unchanged is not None:
                    seen = Seen(decision.page_id, decision.kind, self.now, visit.record)
                    self._looks.append(seen)
                decisions.append(decision)
            self._write()
        if self._texts:
            keep_texts(self.connection, self._texts, self.rules.keep_texts)
        if self._looks:
            keep_revisits(self.connection, self._looks)
        if self._with_parts:
            self.new_sites = count_parts(self.connection, self._with_parts, self.known_sites)
        settled = self.new_sites.union(self.known_sites)
        kept = [row for row in self._kept.values() if row["host"] not in settled]
        if kept:
            self.statements.keep(kept)
            mark_unrevised(self.connection, {row["host"] for row in kept})
        return decisions

    def _start_afresh(self) -> None:
        """Forget what was read and what is to be written."""
        self._stale = False
        self._seen: set[bytes] = set()
        self._stored: dict[bytes, StoredPage] = {}
        self._documents: dict[bytes, SameDocument] = {}
        self._candidates.forget()
        self._ids: list[int] = []
        self._pages: list[Row] = []
        self._keys: list[tuple[int, int]] = []
        self._touched: list[Row] = []
        self._left_alone: list[Row] = []
        self._visited: list[Row] = []

    def _read_ahead(self, visits: Sequence[VisitToDecide]) -> None:
        """Read all that short cuts of these visits may need."""
        self._start_afresh()
        wanted = [
            Wanted(
                visit.key,
                visit.signature.content_hash if visit.keys else None,
                visit.keys,
                visit.record.document_hash,
            )
            for visit in visits
        ]
        ahead = self.statements.read_ahead(wanted, clusters.MAX_PAGES_PER_KEY)
        # The locks are held now, at the latest: the time must not be before that of a page that
        # was waited for.
        if not self._timed:
            self.now, self._timed = datetime.now(UTC), True
        self._stored = {page.url_key: page for page in ahead.stored}
        self._ids = ahead.ids[::-1]
        self._documents = {same.document_hash: same for same in ahead.documents}
        self._candidates.take(ahead)

    def _short_cut(self, visit: VisitToDecide, page: StoredPage | None) -> Decision | None:
        """Decide a visit that only adds rows; ``None``: it needs the general way."""
        if page is None:
            self._take_from_same(visit)
            if visit.reason is not None:
                kind, reason = visit.reason
                return self._add(visit, kind, None, reason)
            match = self._candidates.match(visit.signature, visit.keys)
            return self._add(
                visit, DecisionKind.NEW if match is None else DecisionKind.DUPLICATE, match, None
            )
        if self._is_other(visit, page):
            return None
        how = visit.left_alone(page)
        if how is not None:
            self._left_alone.append(
                {"crawl_id": visit.crawl_id, "last_seen": self.now, "id": page.id}
            )
            self._note(visit, page, how)
            return page.unchanged(visit.url)
        if visit.has_parts and not page.parts_counted:
            self._with_parts.append(visit)
        self._keep(visit, page.id, page.document_hash)
        same = visit.has_content_of(page.content_hash)
        touched = {
            **visit.described(),
            **({} if same else {"rendered": page.rendered}),
            **visit.hashes(page),
            "parts_counted": bool(page.parts_counted) or visit.has_parts,
            "last_seen": self.now,
            "id": page.id,
        }
        self._touched.append(touched)
        self._note(visit, page)
        return page.unchanged(visit.url)

    def _note(self, visit: VisitToDecide, page: StoredPage, how: str | None = None) -> None:
        """Note that a page was found unchanged, and how, if not by its words."""
        kind, target = DecisionKind.UNCHANGED, page.duplicate_of_id
        self._visited.append(visit.noted(page.id, self.now, kind, page.similarity, target, how))

    def _take_from_same(self, visit: VisitToDecide) -> None:
        """Let a new page that has the same bytes as another have the same content."""
        same = self._documents.get(visit.record.document_hash or b"")
        if same is None or visit.record.error is not None:
            return
        visit.take_from(same)
        if visit.keys:
            self._candidates.take_twin(visit.signature.content_hash, same.id)

    def _keep(self, visit: VisitToDecide, page_id: int, known: bytes | None) -> None:
        """Keep what it takes to judge a page again, unless that of the same document is kept."""
        record = visit.record
        if record.dossier is not None and (known is None or known != record.document_hash):
            kept = {"page_id": page_id, "host": visit.host, "dossier": record.dossier}
            self._kept[page_id] = kept

    def _keep_text(self, visit: VisitToDecide, decision: Decision) -> None:
        """Keep the main text that a visit found, if the store keeps texts."""
        main_text = visit.record.main_text
        if not self.rules.keep_texts or not main_text or visit.reason is not None:
            return
        data = packed(main_text)
        if data is not None:
            is_new = decision.kind is not DecisionKind.UNCHANGED
            self._texts.append(
                {"page_id": decision.page_id, "seen_at": self.now, "text": data, "is_new": is_new}
            )

    def _add(
        self, visit: VisitToDecide, kind: DecisionKind, match: Match | None, reason: str | None
    ) -> Decision:
        """Note a new page, for the rest of the batch and for writing."""
        page_id = self._ids.pop()
        signature = visit.signature if visit.keys else None
        cluster = None
        representative = None
        if signature is not None:
            cluster = page_id if match is None else match.cluster
            representative = visit.url if cluster == page_id else None
        row: Row = {
            "id": page_id,
            **visit.founded(self.now),
            **visit.described(),
            **visit.hashes(),
            **WITHOUT_TEXT,
            "words": visit.words,
            "recipe_id": self.rules.recipe_id,
            "decision": str(kind),
            "error": reason if kind is DecisionKind.FAILED else None,
            "last_seen": self.now,
            "parts_counted": visit.has_parts,
        }
        if signature is not None:
            row |= content_of(signature, match, self.rules)
            row |= {"cluster_id": cluster, "last_changed": self.now}
        self._pages.append(row)
        document = visit.record.document_hash
        if document is not None and kind is not DecisionKind.FAILED:
            content = (visit.words, row["content_hash"], row["signature"])
            self._documents.setdefault(document, SameDocument(document, page_id, *content))
        self._keep(visit, page_id, None)
        if visit.has_parts:
            self._with_parts.append(visit)
        if signature is not None and cluster is not None:
            added = Candidate(
                page_id, visit.url, cluster, visit.words, signature.content_hash, row["signature"]
            )
            self._candidates.add(added, signature, visit.keys)
            self._keys += [(key, page_id) for key in visit.keys]
            if representative is None:
                representative = self._candidates.fetch((cluster,))[0].url
        shown, target = row["similarity"], row["duplicate_of_id"]
        self._visited.append(visit.noted(page_id, self.now, kind, shown, target, reason))
        return Decision(
            kind,
            visit.url,
            page_id,
            self.now,
            duplicate_of=None if match is None else match.url,
            similarity=shown,
            representative=representative,
            reason=reason,
        )

    def _write(self) -> None:
        """Write what short cuts have left to be written."""
        if self._visited:
            self.statements.write(self._pages, self._keys, self._touched, self._visited)
        if self._left_alone:
            self.statements.write([], [], self._left_alone, [])
        self._pages, self._keys, self._visited = [], [], []
        self._touched, self._left_alone = [], []

    def _has_changed(self, visit: VisitToDecide, page: StoredPage | None) -> bool:
        """Return whether a page has other words now, or the same with another recipe."""
        return (
            page is not None
            and page.content_hash is not None
            and visit.reason is None
            and self._is_other(visit, page)
        )

    def _is_other(self, visit: VisitToDecide, page: StoredPage) -> bool:
        """Return whether a page gets another content, or has one of another recipe."""
        return (
            not visit.repeats(page)
            or not visit.stays(page)
            or page.recipe_id != self.rules.recipe_id
        )
