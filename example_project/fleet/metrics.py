"""The stats of a crawl as a text file that Prometheus gets through node_exporter.

One file for each crawler needs no port: several crawlers run on a machine, and they come and go.
"""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, write_to_textfile
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from scrapy import signals
from scrapy.exceptions import NotConfigured

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

    from scrapy.crawler import Crawler

__all__ = ["TextMetrics"]

SECONDS = 5.0
"""Between two files; Prometheus usually looks four times a minute."""


class TextMetrics(Collector):
    """Scrapy extension: writes all stats that are numbers to ``METRICS_FOLDER``.

    ``websegment/decision/new`` becomes ``websegment_decision_new{spider="site",pid="4711"}``. The
    file stays when the crawl ends, for the last look, until the next crawler of the machine begins.
    """

    def __init__(self, crawler: Crawler, folder: Path) -> None:
        self.crawler = crawler
        self.folder = folder
        self.path = folder / f"scrapy-{os.getpid()}.prom"
        self.registry = CollectorRegistry()
        crawler.signals.connect(self.begin, signals.spider_opened)
        crawler.signals.connect(self.end, signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Build the extension, if there is a folder for it."""
        folder = crawler.settings.get("METRICS_FOLDER")
        if not folder:
            raise NotConfigured
        return cls(crawler, Path(folder))

    def begin(self) -> None:
        """Remove what crawlers left that are gone, and begin to write."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for path in self.folder.glob("scrapy-*.prom"):
            try:
                os.kill(int(path.stem.partition("-")[2]), 0)
            except ProcessLookupError:
                path.unlink(missing_ok=True)
            except PermissionError:
                continue  # somebody else's crawler
        self.registry.register(self)
        self.writing = asyncio.ensure_future(self.write())

    def end(self) -> None:
        """Write the last values."""
        self.writing.cancel()
        write_to_textfile(str(self.path), self.registry)

    async def write(self) -> None:
        """Write now and then; a reader sees a whole file."""
        while True:
            write_to_textfile(str(self.path), self.registry)
            await asyncio.sleep(SECONDS)

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the stats under the names that Prometheus allows."""
        labels = {"spider": self.crawler.spider.name, "pid": str(os.getpid())}
        for name, value in sorted(self.crawler.stats.get_stats().items()):
            if isinstance(value, (int, float)):
                metric = GaugeMetricFamily(
                    re.sub(r"\W", "_", name), f"Scrapy's stat {name}", labels=list(labels)
                )
                metric.add_metric(list(labels.values()), value)
                yield metric
