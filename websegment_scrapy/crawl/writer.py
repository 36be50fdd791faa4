"""The way to the store: a bounded queue, and threads that take what is waiting in batches."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from websegment_scrapy.exceptions import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable

    from websegment_scrapy.dedup.decision import Decision
    from websegment_scrapy.store import PageRecord, Store

__all__ = ["StoreWriter"]

T = TypeVar("T")

BATCH = 16
"""Most decisions in one transaction. More save little and take longer than 20 ms together."""

WAITING = 64
"""Records that may wait; whoever brings more waits himself, and with him his response."""

POSTGRESQL_THREADS = 2
"""Transactions at the same time, each on its own connection; SQLite has one writer anyway."""


class StoreWriter:
    """Decides records in batches, off the event loop.

    A record that comes alone is decided at once, alone; batches form by themselves while a
    transaction is on its way.
    """

    def __init__(self) -> None:
        self._store: Store | None = None
        self._executor = ThreadPoolExecutor(
            POSTGRESQL_THREADS, thread_name_prefix="websegment-store"
        )
        self._queue: asyncio.Queue[tuple[PageRecord, asyncio.Future[Decision]] | None] = (
            asyncio.Queue(WAITING)
        )
        self._tasks: list[asyncio.Task[None]] = []

    async def open(self, make: Callable[[], Store]) -> None:
        """Open the store and start to work."""
        self._store = await self._in_thread(make)
        count = POSTGRESQL_THREADS if self._store.database.is_postgresql else 1
        self._tasks = [asyncio.create_task(self._work()) for _ in range(count)]

    async def decide(self, record: PageRecord) -> Decision:
        """Wait for a place in the queue, then for the decision, which is then committed."""
        future: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()
        await self._queue.put((record, future))
        return await future

    async def ask(self, question: Callable[..., T], *arguments: Any) -> T:
        """Let a thread do something with the store."""
        assert self._store is not None
        answer: T = await self._in_thread(question, self._store, *arguments)
        return answer

    async def close(self) -> int:
        """Decide all that is waiting and close the store; return its count of crowded keys."""
        crowded = 0
        if self._store is not None:
            for _ in self._tasks:
                await self._queue.put(None)
            await asyncio.gather(*self._tasks)
            crowded = self._store.crowded_keys
            await self._in_thread(self._store.close)
        self._executor.shutdown()
        return crowded

    async def _work(self) -> None:
        while True:
            waiting = [await self._queue.get()]
            while len(waiting) < BATCH and not self._queue.empty() and waiting[-1] is not None:
                waiting.append(self._queue.get_nowait())
            batch = [each for each in waiting if each is not None]
            if batch:
                await self._decide(batch)
            if len(batch) < len(waiting):
                return

    async def _decide(self, batch: list[tuple[PageRecord, asyncio.Future[Decision]]]) -> None:
        assert self._store is not None
        try:
            decisions = await self._in_thread(
                self._store.decide_many, [record for record, _ in batch]
            )
        except Exception as error:
            if len(batch) > 1 and isinstance(error, StoreError):
                # One bad record must not spoil the others.
                for each in batch:
                    await self._decide([each])
                return
            for _, future in batch:
                if not future.done():
                    future.set_exception(error)
            return
        for (_, future), decision in zip(batch, decisions, strict=True):
            if not future.done():
                future.set_result(decision)

    async def _in_thread(self, function: Any, *arguments: Any) -> Any:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executor, function, *arguments)
