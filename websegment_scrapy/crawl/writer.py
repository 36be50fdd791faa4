"""The way to the store: a bounded queue, and threads that take what is waiting in batches."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from websegment_scrapy.crawl.threads import DaemonThreads
from websegment_scrapy.exceptions import StoreError
from websegment_scrapy.store.database import StoreUnavailable, TooManyLocks

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler

    from websegment_scrapy.dedup.decision import Decision
    from websegment_scrapy.store import PageRecord, Store

    Waiting = tuple[PageRecord, asyncio.Future[Decision]]

__all__ = ["StoreWriter", "Undecided", "crawl_name"]

T = TypeVar("T")

BATCH = 16
"""Most decisions in one transaction. More save little and take longer than 20 ms together."""

GATHER_SECONDS = 0.1
"""For which a record waits for others: a transaction costs as much as the decisions of several."""

WAITING = 64
"""Records that may wait; whoever brings more waits himself, and with him his response."""

POSTGRESQL_THREADS = 2
"""Transactions at the same time, each on its own connection; SQLite has one writer anyway."""

LAST_SECONDS = 2.0
"""For a transaction that is on its way when the crawl ends."""

MOST_FAILURES = 10
"""Records in a row that can be refused for what they are; more, and it is the store's fault."""


class Undecided(StoreError):
    """A record was given up, not decided: the crawl ends, or its store is lost."""


class StoreWriter:
    """Decides records in batches, off the event loop.

    A record that comes alone waits a moment for others; batches form by themselves while a
    transaction is on its way.

    The first decision that the store could not make in its whole patience is the last: that the
    store is lost is reported once, and all that wait are `Undecided` at once.

    Parameters
    ----------
    lost
        Called with the error when the store cannot be reached or written any more.
    """

    def __init__(self, lost: Callable[[StoreError], None]) -> None:
        self._lost = lost
        self._store: Store | None = None
        self._executor = DaemonThreads(POSTGRESQL_THREADS, "websegment-store")
        self._queue: asyncio.Queue[Waiting | None] = asyncio.Queue(WAITING)
        self._tasks: list[asyncio.Task[None]] = []
        self._on_their_way: set[asyncio.Future[Decision]] = set()
        self._hurried = False
        self._failures = 0

    async def open(self, make: Callable[[], Store]) -> None:
        """Open the store and start to work."""
        self._store = await self._in_thread(make)
        count = POSTGRESQL_THREADS if self._store.database.is_postgresql else 1
        self._tasks = [asyncio.create_task(self._work()) for _ in range(count)]

    async def decide(self, record: PageRecord) -> Decision:
        """Wait for a place in the queue, then for the decision, which is then committed."""
        future: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()
        if not self._hurried:
            await self._queue.put((record, future))
        if self._hurried:
            _give_up(future)
        return await future

    async def ask(self, question: Callable[..., T], *arguments: Any) -> T:
        """Let a thread do something with the store."""
        assert self._store is not None
        answer: T = await self._in_thread(question, self._store, *arguments)
        return answer

    def hurry(self) -> None:
        """Begin nothing more; what is on its way has a moment left."""
        self._hurried = True
        if self._store is not None:
            self._store.hurry()
        ends = 0
        while not self._queue.empty():
            waiting = self._queue.get_nowait()
            if waiting is None:
                ends += 1
            else:
                _give_up(waiting[1])
        for _ in range(ends):
            self._queue.put_nowait(None)
        asyncio.get_running_loop().call_later(LAST_SECONDS, self._abandon)

    async def close(self) -> int:
        """Decide all that is waiting and close the store; return its count of crowded keys."""
        crowded = 0
        if self._store is not None:
            for _ in self._tasks:
                await self._queue.put(None)
            limit = LAST_SECONDS if self._hurried else None
            _, hanging = await asyncio.wait(self._tasks, timeout=limit)
            crowded = self._store.crowded_keys
            if not hanging:  # otherwise the connections go with the process
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._in_thread(self._store.close), limit)
        self._executor.shutdown(wait=False)
        return crowded

    async def _work(self) -> None:
        while True:
            waiting = [await self._queue.get()]
            if waiting[0] is not None and self._queue.empty() and not self._hurried:
                await asyncio.sleep(GATHER_SECONDS)
            while len(waiting) < BATCH and not self._queue.empty() and waiting[-1] is not None:
                waiting.append(self._queue.get_nowait())
            batch = [each for each in waiting if each is not None]
            if batch:
                await self._decide(batch)
            if len(batch) < len(waiting):
                return

    async def _decide(self, batch: list[Waiting]) -> None:
        assert self._store is not None
        futures = [future for _, future in batch]
        if self._hurried:
            _give_up(*futures)
            return
        self._on_their_way.update(futures)
        try:
            decisions = await self._in_thread(
                self._store.decide_many, [record for record, _ in batch]
            )
        except Exception as error:
            if len(batch) > 1 and not _is_lost(error) and isinstance(error, StoreError):
                # One bad record must not spoil the others.
                for each in batch:
                    await self._decide([each])
            else:
                await self._failed(error, futures)
        else:
            self._failures = 0
            for future, decision in zip(futures, decisions, strict=True):
                if not future.done():
                    future.set_result(decision)
                await asyncio.sleep(0)  # whoever waited goes on alone, not sixteen in one turn
        finally:
            self._on_their_way.difference_update(futures)

    async def _failed(self, error: Exception, futures: list[asyncio.Future[Decision]]) -> None:
        """Tell a store that is lost from a record that it does not take."""
        lost = error if _is_lost(error) else None
        if lost is None and isinstance(error, StoreError):
            self._failures += 1
            lost = error if self._failures >= MOST_FAILURES else await self._why_not_writable()
        if isinstance(lost, StoreError):
            _give_up(*futures)
            if not self._hurried:
                self._lost(lost)
            return
        for future in futures:
            if not future.done():
                future.set_exception(error)

    async def _why_not_writable(self) -> StoreError | None:
        assert self._store is not None
        try:
            await self._in_thread(self._store.database.check_writable)
        except StoreError as error:
            return error
        return None

    def _abandon(self) -> None:
        _give_up(*self._on_their_way)

    async def _in_thread(self, function: Any, *arguments: Any) -> Any:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executor, function, *arguments)


def crawl_name(crawler: Crawler) -> str:
    """Name a run in the visits: the spider and when it started."""
    spider, stats = crawler.spider, crawler.stats
    start = None if stats is None else stats.get_value("start_time")
    name = spider.name if spider is not None else ""
    return f"{name} {start:%Y-%m-%dT%H:%M:%SZ}" if start else name


def _is_lost(error: Exception) -> bool:
    """Tell whether the store had no success in its whole patience."""
    return isinstance(error, StoreUnavailable) and not isinstance(error, TooManyLocks)


def _give_up(*futures: asyncio.Future[Decision]) -> None:
    for future in futures:
        if not future.done():
            future.set_exception(Undecided("the crawl ends before the page is decided"))
