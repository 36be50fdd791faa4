"""Scrapy extensions that watch the crawl's own process."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import psutil
from scrapy import signals

__all__ = ["LoopLag", "Memory"]


class LoopLag:
    """How late the event loop is when something should happen every 10 ms."""

    INTERVAL = 0.01

    def __init__(self, crawler: Any) -> None:
        self.stats = crawler.stats
        self.lags: list[float] = []
        self.task: asyncio.Task[None] | None = None
        crawler.signals.connect(self.start, signals.spider_opened)
        crawler.signals.connect(self.stop, signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Any) -> LoopLag:
        return cls(crawler)

    def start(self) -> None:
        self.task = asyncio.get_running_loop().create_task(self.watch())

    async def watch(self) -> None:
        while True:
            before = time.perf_counter()
            await asyncio.sleep(self.INTERVAL)
            self.lags.append(time.perf_counter() - before - self.INTERVAL)

    def stop(self) -> None:
        if self.task is not None:
            self.task.cancel()
        self.lags.sort()
        self.stats.set_value("test/lag_samples", len(self.lags))
        self.stats.set_value("test/lag_p99", self.lags[int(len(self.lags) * 0.99)])


class Memory:
    """Resident memory of the crawl's process after the first 200 items, and at the end."""

    FIRST = 200

    def __init__(self, crawler: Any) -> None:
        self.stats = crawler.stats
        self.process = psutil.Process()
        self.items = 0
        crawler.signals.connect(self.count, signals.item_scraped)
        crawler.signals.connect(self.finish, signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Any) -> Memory:
        return cls(crawler)

    def count(self) -> None:
        self.items += 1
        if self.items == self.FIRST:
            self.stats.set_value("test/memory_first", self.process.memory_info().rss)

    def finish(self) -> None:
        self.stats.set_value("test/memory_last", self.process.memory_info().rss)
