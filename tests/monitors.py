"""A Scrapy extension that watches the memory of the crawl's own process."""

from __future__ import annotations

from typing import Any

import psutil
from scrapy import signals

__all__ = ["Memory"]


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
