"""How late a crawl's event loop is, as a Scrapy extension."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from scrapy import signals

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler

__all__ = ["LoopLag"]


class LoopLag:
    """How late the event loop is when something should happen every 10 ms."""

    INTERVAL = 0.01

    def __init__(self, crawler: Crawler) -> None:
        self.lags: list[float] = []
        self.task: asyncio.Task[None] | None = None
        self.stats = crawler.stats
        crawler.signals.connect(self.start, signals.spider_opened)
        crawler.signals.connect(self.stop, signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Build the extension."""
        return cls(crawler)

    def start(self) -> None:
        """Begin to watch."""
        self.task = asyncio.get_running_loop().create_task(self.watch())

    async def watch(self) -> None:
        """Sleep, and note by how much that was too long."""
        while True:
            before = time.perf_counter()
            await asyncio.sleep(self.INTERVAL)
            self.lags.append(time.perf_counter() - before - self.INTERVAL)

    def stop(self) -> None:
        """Write down how many there are, the 99th percentile and the worst."""
        if self.task is not None:
            self.task.cancel()
        if self.lags and self.stats is not None:
            self.lags.sort()
            self.stats.set_value("bench/lag_samples", len(self.lags))
            self.stats.set_value("bench/lag_p99", self.lags[int(len(self.lags) * 0.99)])
            self.stats.set_value("bench/lag_max", self.lags[-1])
