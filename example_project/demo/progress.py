"""Shows how far a crawl is, on standard error: pages, rate, and the page that is on its way.

On a terminal one line is drawn again and again; elsewhere there is a line every few seconds.
"""

from __future__ import annotations

import shutil
import sys
import threading
import time
from typing import TYPE_CHECKING

from scrapy import signals

from demo.tables import WIDTH, short_url
from demo.web import load_sites, site_names

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self, TextIO

    from scrapy import Request, Spider
    from scrapy.crawler import Crawler

__all__ = ["Progress", "Ticker"]

DRAW_SECONDS = 0.2
LINE_SECONDS = 5.0
"""Between two lines where there is no terminal."""
TURNS = "|/-\\"


class Ticker:
    """A line that moves: what it says is set from outside, the clock in it runs by itself.

    It draws in a thread of its own, so that it moves while the crawl is busy or waits.
    """

    def __init__(self, out: TextIO) -> None:
        self.saying = ""
        self._out = out
        self._on_terminal = out.isatty()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._started = time.monotonic()

    def start(self) -> None:
        """Begin to draw."""
        self._thread.start()

    def stop(self) -> None:
        """End, and remove the line from a terminal."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()
        if self._on_terminal:
            self._write("\r\033[K")

    @property
    def seconds(self) -> float:
        """Time since it was made."""
        return time.monotonic() - self._started

    def _run(self) -> None:
        for turn in range(sys.maxsize):
            if self._on_terminal:
                room = shutil.get_terminal_size((WIDTH, 24)).columns - 1
                line = f"{TURNS[turn % len(TURNS)]} {self.seconds:3.0f} s  {self.saying}"
                self._write(f"\r{line[:room]}\033[K")
            elif turn:
                self._write(f"{self.seconds:3.0f} s  {self.saying}\n")
            if self._ended.wait(DRAW_SECONDS if self._on_terminal else LINE_SECONDS):
                return

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()


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
        self.ticker.saying = "starting"
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
        rate = self.done / max(self.ticker.seconds - self._first, DRAW_SECONDS)
        self.ticker.saying = f"{self.done} of {self.total} pages, {rate:.1f}/s  {self.page}"
