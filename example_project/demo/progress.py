"""Shows how far a crawl is, on standard error: pages, rate, and the page that is on its way."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from scrapy import signals

from demo.tables import short_url
from demo.ticker import Ticker
from demo.web import load_sites, site_names

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from scrapy import Request, Spider
    from scrapy.crawler import Crawler

__all__ = ["BEGUN", "Progress"]

BEGUN = "DEMO_BEGUN"
"""Environment variable: a file descriptor to write to when the line is drawn from here."""


class Progress:
    """Scrapy extension that draws the line while the crawl runs."""

    def __init__(self, names: Mapping[str, str], pages_of: Mapping[str, int]) -> None:
        self.names = names
        self.pages_of = pages_of
        self.total = sum(pages_of.values())
        self.done = 0
        self.page = ""
        self.ticker = Ticker(sys.stderr)
        self._first = 0.0

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Listen to the crawl."""
        settings = crawler.settings
        sites = load_sites(settings.getint("DEMO_PORT"), later=settings.getbool("DEMO_LATER"))
        progress = cls(
            site_names(sites),
            {site.key: len(site.pages) for site in sites},
        )
        crawler.signals.connect(progress.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(progress.request_sent, signal=signals.request_reached_downloader)
        crawler.signals.connect(progress.page_done, signal=signals.item_scraped)
        crawler.signals.connect(progress.page_done, signal=signals.item_error)
        crawler.signals.connect(progress.ticker.stop, signal=signals.spider_closed)
        return progress

    def spider_opened(self, spider: Spider) -> None:
        """Begin to draw; the sites' sizes are known here, as they are in few crawls."""
        self.total = self.pages_of.get(getattr(spider, "site", None) or "", self.total)
        if BEGUN in os.environ:
            with open(int(os.environ.pop(BEGUN)), "wb") as waiting:  # noqa: PTH123
                waiting.write(b"\n")
        self.ticker.start()

    def request_sent(self, request: Request) -> None:
        """Name the page that is on its way."""
        if not request.url.endswith("/robots.txt"):
            self.page = short_url(request.url, self.names)
            self._say()

    def page_done(self) -> None:
        """Count a page that was decided."""
        self.done += 1
        self._say()

    def _say(self) -> None:
        self._first = self._first or self.ticker.seconds
        rate = self.done / max(self.ticker.seconds - self._first, 1.0)
        self.ticker.saying = f"{self.done} of {self.total} pages, {rate:.1f}/s  {self.page}"
