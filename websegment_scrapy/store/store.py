"""The store: one call decides a visit and writes it down, so that the decision outlives the run."""

from __future__ import annotations

import contextlib
import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeVar

from websegment_scrapy.exceptions import StoreError
from websegment_scrapy.store.batch import Batch
from websegment_scrapy.store.database import Database, StoreUnavailable, TooManyLocks
from websegment_scrapy.store.leaving import ClusterTooLarge, hand_over_all
from websegment_scrapy.store.locks import ClusterLock, LockTooWeak
from websegment_scrapy.store.record import clean
from websegment_scrapy.store.schema import crawl_id, prepare
from websegment_scrapy.store.templates import read_verdict
from websegment_scrapy.store.visit import Rules, VisitToDecide
from websegment_scrapy.template.sitelevel import MIN_PAGES, THETA

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from websegment_scrapy.dedup.decision import Decision
    from websegment_scrapy.dedup.signature import Recipe
    from websegment_scrapy.store.record import PageRecord
    from websegment_scrapy.template.sitelevel import SiteVerdict

__all__ = ["Store"]

T = TypeVar("T")

PATIENCE = 60.0
"""Seconds that a decision is tried again: a PostgreSQL server restarts in less."""

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 2.0
"""Seconds between two tries."""

MAX_KNOWN = 100_000
"""Hosts and crawls remembered: the client's memory does not grow with the store."""


class Store:
    """An open dedup database that pages are written to; made by `Store.open`.

    It may be used from any thread; on SQLite the decisions of one store are made one after the
    other. Any number of stores in any number of processes may write to the same database.

    ``crowded_keys`` counts how often a key had more pages than are compared
    (`clusters.MAX_PAGES_PER_KEY`).
    """

    def __init__(self, database: Database, rules: Rules, patience: float = PATIENCE) -> None:
        self.database = database
        self.rules = rules
        self.patience = patience
        self.crowded_keys = 0
        self._hurry = threading.Event()
        # SQLite has one writer at a time anyway; waiting here is fairer than its busy handler.
        self._lock: contextlib.AbstractContextManager[Any] = (
            contextlib.nullcontext() if database.is_postgresql else threading.RLock()
        )
        self._strength = ClusterLock.SHARED
        self._hosts: set[str] = set()
        self._sites: set[str] = set()
        self._crawls: dict[str, int] = {}

    @classmethod
    def open(
        cls,
        url: str,
        *,
        recipe: Recipe,
        similarity: float | None = None,
        min_words: int = 15,
        secret_keys: bool = False,
        keep_texts: int = 0,
        changed_share: float = 0.0,
        ignore_figures: bool = False,
        patience: float = PATIENCE,
    ) -> Store:
        """Open a database, and make it when it is new.

        Parameters
        ----------
        url
            SQLAlchemy URL: ``sqlite:///FILE`` or ``postgresql://USER:PASSWORD@HOST/DATABASE``.
        recipe
            How the signatures are made. A database keeps the recipe and the similarity that it was
            made with and refuses others (`StoreMismatch`).
        similarity
            Similarity from which pages are near-duplicates; ``None``: the recipe's own.
        min_words
            Pages with fewer words are ``empty``.
        secret_keys
            Draw the keys of signatures by a secret of the database's own, made with the database,
            so that nobody outside can write pages that crowd the keys of another. It is a property
            of the database: one that has it keeps it, one that was made without is refused.
        keep_texts
            Main texts that are kept of each page, those of its last visits that found another one.
        changed_share
            Share of a page's text that must be another for the page to be ``changed``; one that
            has changed less is ``unchanged``, and is compared with its former text again.
        ignore_figures
            A page in which only figures and dates are others is ``unchanged``.
        patience
            Seconds that a decision is tried again while the database cannot be reached or written.
        """
        if similarity is None:
            similarity = recipe.default_similarity
        if not 0 < similarity <= 1:
            raise StoreError(f"similarity is {similarity!r}: accepted is above 0, up to 1")
        if min_words < 1:
            raise StoreError(f"min_words is {min_words!r}: accepted is 1 and above")
        database = Database.open(url, create=True)
        try:
            info = prepare(database, recipe, float(similarity), secret_keys=secret_keys)
        except BaseException:
            database.close()
            raise
        rules = Rules(
            recipe,
            float(similarity),
            min_words,
            info.recipe_id,
            info.secret,
            keep_texts,
            float(changed_share),
            ignore_figures,
        )
        return cls(database, rules, patience)

    def decide(self, record: PageRecord) -> Decision:
        """Decide one visit and write it down, in one transaction."""
        return self.decide_many([record])[0]

    def decide_many(self, records: Sequence[PageRecord]) -> list[Decision]:
        """Decide several visits in their order and write them down, in one transaction.

        The decisions are those that `decide` would give one after the other, at a fraction of the
        cost; when it raises, nothing was written. A batch of 16 takes some milliseconds.

        When PostgreSQL restarts, the disk is full or the file is locked, it is tried again for
        `patience` seconds. A transaction whose commit was cut off is looked up first, so that
        nothing is stored twice.
        """
        if not records:
            return []
        visits = [VisitToDecide(each, self.rules, self._crawl_id(each.crawl)) for each in records]
        try:
            return self._decide(visits)
        except TooManyLocks:
            if len(records) == 1:
                raise
        middle = len(records) // 2
        return [*self.decide_many(records[:middle]), *self.decide_many(records[middle:])]

    def site_verdict(
        self, host: str, *, theta: float = THETA, min_pages: int = MIN_PAGES
    ) -> SiteVerdict | None:
        """Return what a site repeats; ``None`` while fewer than `min_pages` pages are counted.

        Parameters
        ----------
        host
            The site's host, as `record.host_of` gives it.
        theta
            Share of the counted pages from which on a part is a template.
        min_pages
            Counted pages below which there is no verdict.
        """
        with self.database.read() as connection:
            return read_verdict(connection, host, theta=theta, min_pages=min_pages)

    def _decide(self, visits: Sequence[VisitToDecide]) -> list[Decision]:
        strength = self._strength
        doubtful: tuple[datetime, list[Decision]] | None = None

        def attempt() -> list[Decision]:
            nonlocal doubtful
            with self.database.write() as connection:
                batch = Batch(connection, visits, self.rules, strength, self._hosts, self._sites)
                batch.lock()
                # `batch.now` is the time of its last visit: every visit of a batch has its own.
                if doubtful is not None and batch.statements.was_stored(
                    visits[-1].key, doubtful[0]
                ):
                    return doubtful[1]
                doubtful = None
                decisions = batch.decide()
                doubtful = batch.now, decisions
            self._note(batch, strength)
            return decisions

        while True:
            try:
                return self.with_room(attempt)
            except LockTooWeak as weak:
                strength = weak.needed
            except ValueError as error:
                raise StoreError(
                    f"{self.database.name}: {error}: a row is damaged; run websegment dedup check"
                ) from error

    def with_room(self, attempt: Callable[[], T]) -> T:
        """Try a transaction patiently; where a page leaves a large cluster, hand that over first.

        Others stand without the page then, in short steps of their own.
        """
        while True:
            try:
                return self.patiently(attempt)
            except ClusterTooLarge as error:
                large = error.page_id
            self.patiently(partial(hand_over_all, self.database.write, large, self.rules))

    def patiently(self, attempt: Callable[[], T]) -> T:
        """Try again while the database cannot be reached or written."""
        give_up = time.monotonic() + self.patience
        pause = FIRST_PAUSE
        while True:
            try:
                with self._lock:
                    return attempt()
            except TooManyLocks:
                raise
            except StoreUnavailable:
                if self._hurry.is_set() or time.monotonic() + pause > give_up:
                    raise
            self._hurry.wait(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    def hurry(self) -> None:
        """Have no patience from now on: whoever waits for the database gives up."""
        self._hurry.set()

    def _write_crawl(self, name: str) -> int:
        with self.database.write() as connection:
            return crawl_id(connection, name)

    def _note(self, batch: Batch, strength: ClusterLock) -> None:
        """Remember what makes the next batch cheaper."""
        self.crowded_keys += batch.crowded_keys
        # Batches of a kind come together: on a revisit most pages need the exclusive lock.
        self._strength = strength if batch.used_general_way else ClusterLock.SHARED
        if len(self._hosts) > MAX_KNOWN:
            self._hosts.clear()
        self._hosts |= batch.new_hosts
        if len(self._sites) > MAX_KNOWN:
            self._sites.clear()
        self._sites |= batch.new_sites

    def _crawl_id(self, name: str) -> int:
        """Return the number of a crawl; a new one is written down at once."""
        name = clean(name)
        found = self._crawls.get(name)
        if found is None:
            found = self.patiently(lambda: self._write_crawl(name))
            if len(self._crawls) > MAX_KNOWN:
                self._crawls.clear()
            self._crawls[name] = found
        return found

    def close(self) -> None:
        """Close the database."""
        with self._lock:
            self.database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
