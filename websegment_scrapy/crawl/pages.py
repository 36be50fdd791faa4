"""Which response an item came from, and what has become of that page so far.

Items are of any type and most cannot carry a hidden attribute, so they are remembered by
identity from the moment the spider yields them until Scrapy says that they are done.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakKeyDictionary

from itemadapter import ItemAdapter
from scrapy import signals
from scrapy.exceptions import NotConfigured

from websegment_scrapy.config import META_KEY, Config, PageMeta
from websegment_scrapy.page.capture import Captured

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.statscollectors import StatsCollector

    from websegment_scrapy.analysis import Analysis
    from websegment_scrapy.crawl.sites import SiteVerdicts
    from websegment_scrapy.dedup.decision import Decision
    from websegment_scrapy.pool import AnalysisPool

__all__ = ["CrawledPage", "PageRegistry", "add_seconds", "enabled_config", "put_result"]

logger = logging.getLogger(__name__)

PAGES_PER_WORKER = 4
"""Pages at work from which downloads wait (``PressureMiddleware``)."""

PASSING_SECONDS = 0.002
"""Between two responses that pass: together they would hold the event loop for a moment."""


def enabled_config(crawler: Crawler) -> Config:
    """Return the crawl's configuration; a component that is switched off is not built."""
    config = Config.from_settings(crawler.settings)
    if not config.enabled:
        raise NotConfigured("WEBSEGMENT_ENABLED is off")
    return config


def add_seconds(stats: StatsCollector, name: str, started: float) -> None:
    """Add the time since ``started`` (of ``time.monotonic``) to a statistic."""
    stats.set_value(name, stats.get_value(name, 0.0) + monotonic() - started)


class CrawledPage:
    """One response on its way: analysed once and decided once, however many items it yields."""

    def __init__(self, response: Response) -> None:
        self.response = response
        self.meta = PageMeta.from_meta({META_KEY: response.meta.get(META_KEY)})
        self.items: list[Any] = []
        self.unfinished = 0
        self._steps: dict[str, asyncio.Task[Any]] = {}

    async def once(self, step: str, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Await a step of the page's way; the first caller's coroutine does it for all."""
        if step in self._steps:
            coroutine.close()
        else:
            self._steps[step] = asyncio.ensure_future(coroutine)
        return await asyncio.shield(self._steps[step])

    def result(self, step: str) -> Any:
        """Return what a finished step gave, or ``None``."""
        task = self._steps.get(step)
        return task.result() if task is not None and task.done() else None

    @property
    def analysis(self) -> Analysis | str | None:
        """The analysis, the reason why there is none, or ``None`` before it was tried."""
        found: Analysis | str | None = self.result("analysis")
        return found

    @property
    def decision(self) -> Decision | str | None:
        """The decision, or the reason why there is none."""
        found: Decision | str | None = self.result("decision")
        return found

    @property
    def html(self) -> bytes | Captured:
        """The document to analyse: with its layout when it was rendered."""
        captured = getattr(self.response, "captured", None)
        return captured if isinstance(captured, Captured) else self.response.body

    @property
    def encoding(self) -> str | None:
        """The encoding that was given with the response, if one was.

        ``response.encoding`` would guess one where none is declared, here in the event loop; the
        worker process does that.
        """
        return getattr(self.response, "_encoding", None)

    @property
    def content_type(self) -> str | None:
        """The HTTP header."""
        value = self.response.headers.get("Content-Type")
        return value.decode("latin-1") if value else None


class PageRegistry:
    """The pages of one crawl whose items are under way."""

    _of_crawler: ClassVar[WeakKeyDictionary[Crawler, PageRegistry]] = WeakKeyDictionary()

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self._page_of_item: dict[int, CrawledPage] = {}
        self._page_of_response: dict[int, CrawledPage] = {}
        self._at_work = 0
        self._enough = PAGES_PER_WORKER * Config.from_settings(crawler.settings).workers
        self._has_room = asyncio.Event()
        self._has_room.set()
        self._gate = asyncio.Lock()
        self.sites: SiteVerdicts | None = None
        """What is known about the sites, where there is a store that knows it."""
        self.pool: AnalysisPool | None = None
        """The worker processes, while there are some."""
        self.settled: asyncio.Event | None = None
        """Set when the store needs the worker processes no more, where there is a store."""
        for signal in (signals.item_scraped, signals.item_dropped, signals.item_error):
            crawler.signals.connect(self._item_done, signal)

    @classmethod
    def of(cls, crawler: Crawler) -> PageRegistry:
        """Return the registry that a crawl's components share."""
        if crawler not in cls._of_crawler:
            cls._of_crawler[crawler] = cls(crawler)
        return cls._of_crawler[crawler]

    def __len__(self) -> int:
        return len(self._page_of_response)

    def remember(self, item: Any, response: Response) -> None:
        """Note that ``response`` yielded ``item``."""
        page = self._page_of_response.get(id(response))
        if page is None:
            page = self._page_of_response[id(response)] = CrawledPage(response)
        page.items.append(item)  # keeps it alive, and with it its identity
        page.unfinished += 1
        self._page_of_item[id(item)] = page

    def recall(self, item: Any) -> CrawledPage | None:
        """Return the page that an item came from."""
        return self._page_of_item.get(id(item))

    @contextlib.contextmanager
    def at_work(self) -> Iterator[None]:
        """Count a page while it waits for, or is in, analysis or the database."""
        self._at_work += 1
        if self._at_work >= self._enough:
            self._has_room.clear()
        try:
            yield
        finally:
            self._at_work -= 1
            if self._at_work < self._enough:
                self._has_room.set()

    async def room(self) -> None:
        """Wait until there is not enough work already; one response passes after the other."""
        async with self._gate:
            await self._has_room.wait()
            await asyncio.sleep(PASSING_SECONDS)

    def _item_done(self, response: Response | None) -> None:
        """Forget a page when the last of its items has left the pipelines."""
        page = self._page_of_response.get(id(response))
        if page is None:
            return
        page.unfinished -= 1
        if page.unfinished <= 0:
            del self._page_of_response[id(response)]
            for item in page.items:
                self._page_of_item.pop(id(item), None)


def put_result(crawler: Crawler, item: Any, field: str, values: dict[str, Any]) -> None:
    """Merge ``values`` into the item's result field, where its type has room for one."""
    adapter = ItemAdapter(item)
    try:
        present = adapter.get(field)
        adapter[field] = {**present, **values} if isinstance(present, dict) else values
    except (AttributeError, KeyError, TypeError, ValueError):
        stats = crawler.stats
        assert stats is not None
        stats.inc_value("websegment/items_without_field")
        if stats.get_value("websegment/items_without_field") == 1:
            logger.warning(
                "Items of type %s have no field %r: the result is stored in the database but not "
                "put on the item. Add the field to the item's class, or name another one with "
                "WEBSEGMENT_FIELD.",
                type(item).__qualname__,
                field,
            )
