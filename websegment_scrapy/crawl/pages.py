"""Which page an item belongs to, and what has become of that page so far.

Items are of any type and most cannot carry a hidden attribute, so they are remembered by
identity from the moment the spider yields them until Scrapy says that they are done.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from contextvars import ContextVar
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakKeyDictionary

from scrapy import signals
from scrapy.exceptions import NotConfigured

from websegment_scrapy.config import META_KEY, Config, PageMeta
from websegment_scrapy.crawl.ending import LeftForResume
from websegment_scrapy.crawl.results import ItemResults
from websegment_scrapy.items import named_pages
from websegment_scrapy.page.capture import Captured
from websegment_scrapy.page.decode import OtherFormat
from websegment_scrapy.store.record import canonical_url

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator, Sequence
    from typing import Self

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.statscollectors import StatsCollector

    from websegment_scrapy.crawl.sites import SiteVerdicts
    from websegment_scrapy.crawl.writer import StoreWriter
    from websegment_scrapy.dedup.decision import Decision
    from websegment_scrapy.findings import Report
    from websegment_scrapy.pool import AnalysisPool

__all__ = [
    "UNCHANGED",
    "YIELDED_KEY",
    "CrawledPage",
    "PageRegistry",
    "WithRegistry",
    "add_seconds",
    "config_of",
    "enabled_config",
]

logger = logging.getLogger(__name__)

PAGES_PER_WORKER = 4
"""Pages at work from which downloads wait (``PressureMiddleware``)."""

PASSING_SECONDS = 0.002
"""Between two responses that pass: together they would hold the event loop for a moment."""

PARSED: ContextVar[Response | None] = ContextVar("websegment_parsed", default=None)
"""The response whose callback ``scrapy parse`` runs: it hands items to the pipelines itself."""

UNCHANGED = "unchanged"
"""Flag of a response whose page is on record as unchanged already: it is not looked at."""

YIELDED_KEY = "_websegment_yielded"
"""Meta key of requests that a callback yielded, in a crawl that comes back to known pages."""

_CONFIGS: WeakKeyDictionary[Crawler, Config] = WeakKeyDictionary()


def config_of(crawler: Crawler) -> Config:
    """Return the crawl's configuration, which its settings are read for once."""
    if crawler not in _CONFIGS:
        _CONFIGS[crawler] = Config.from_settings(crawler.settings)
    return _CONFIGS[crawler]


def enabled_config(crawler: Crawler) -> Config:
    """Return the crawl's configuration; a component that is switched off is not built."""
    config = config_of(crawler)
    if not config.enabled:
        raise NotConfigured("WEBSEGMENT_ENABLED is off")
    return config


class WithRegistry:
    """A middleware that needs nothing but the registry of the crawl's pages."""

    def __init__(self, registry: PageRegistry) -> None:
        self.registry = registry

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Build the middleware for a crawl."""
        enabled_config(crawler)
        return cls(PageRegistry.of(crawler))


def add_seconds(stats: StatsCollector, name: str, started: float) -> None:
    """Add the time since ``started`` (of ``time.monotonic``) to a statistic."""
    stats.set_value(name, stats.get_value(name, 0.0) + monotonic() - started)


class CrawledPage:
    """One response on its way: analysed once and decided once, however many items it yields."""

    def __init__(self, response: Response) -> None:
        self.url = response.url
        self.status = response.status
        meta = {} if response.request is None else response.request.meta
        self.meta = PageMeta.from_meta({META_KEY: meta.get(META_KEY)})
        self.unchanged = UNCHANGED in response.flags
        self.leads_on = True
        """Whether its callback yielded requests, or has not come to its end yet."""
        self.users = 0
        """Items under way, and whoever else waits for the page."""
        self._response: Response | None = response
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
    def stored_url(self) -> str:
        """The URL under which the page is stored: ``pages.url`` of the database."""
        return canonical_url(self.url)

    @property
    def response(self) -> Response:
        """The response, as long as the page has users."""
        assert self._response is not None
        return self._response

    @response.setter
    def response(self, response: Response | None) -> None:
        self._response = response

    @property
    def analysis(self) -> Report | OtherFormat | str | None:
        """The analysis, the reason why there is none, or ``None`` before it was tried."""
        found: Report | OtherFormat | str | None = self.result("analysis")
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
        """The encoding given with the response; guessing one is the worker process's work."""
        return getattr(self.response, "_encoding", None)

    @property
    def content_type(self) -> str | None:
        """The HTTP header."""
        value = self.response.headers.get("Content-Type")
        return value.decode("latin-1") if value else None


class _Callback:
    """What the callback of one response has yielded: items, each with its page."""

    def __init__(self) -> None:
        self.items: list[tuple[Any, CrawledPage]] = []
        """Kept alive, and with them their identity."""
        self.unfinished = 0


class PageRegistry:
    """The pages of one crawl that are under way."""

    _of_crawler: ClassVar[WeakKeyDictionary[Crawler, PageRegistry]] = WeakKeyDictionary()

    def __init__(self, crawler: Crawler) -> None:
        assert crawler.stats is not None
        config = config_of(crawler)
        self.crawler = crawler
        self.results = ItemResults(config, crawler.stats)
        self.revisits = bool(config.revisit)
        """Whether the crawl comes back to known pages for less than a full look."""
        self.origins: WeakKeyDictionary[Request, Request] | None = None
        """The requests that led to others, for a scheduler that asks for them."""
        self.writer: StoreWriter | None = None
        """The way to the store, where there is one."""
        self.sites: SiteVerdicts | None = None
        """What is known about the sites, where there is a store that knows it."""
        self.pool: AnalysisPool | None = None
        """The worker processes, while there are some."""
        self.settled: asyncio.Event | None = None
        """Set when the store needs the worker processes no more, where there is a store."""
        self.steps: dict[str, Callable[[CrawledPage], Coroutine[Any, Any, Any]]] = {}
        """How pages are analysed and decided, as far as the pipelines are there."""
        self._pages: WeakKeyDictionary[Response, CrawledPage] = WeakKeyDictionary()
        self._page_of_item: dict[int, CrawledPage] = {}
        self._adopted: dict[int, Any] = {}
        self._callbacks: dict[int, _Callback] = {}
        self._recording: set[asyncio.Task[None]] = set()
        self._at_work = 0
        self._enough = PAGES_PER_WORKER * config.workers
        self._has_room = asyncio.Event()
        self._has_room.set()
        self._gate = asyncio.Lock()
        for signal in (signals.item_scraped, signals.item_dropped, signals.item_error):
            crawler.signals.connect(self._item_done, signal)

    @classmethod
    def of(cls, crawler: Crawler) -> PageRegistry:
        """Return the registry that a crawl's components share."""
        if crawler not in cls._of_crawler:
            cls._of_crawler[crawler] = cls(crawler)
        return cls._of_crawler[crawler]

    def remember(self, item: Any, response: Response, named: Sequence[Response] = ()) -> None:
        """Note the item of a callback: it belongs to the response, or to those named for it.

        Of these (``belongs_to``) the first is the item's own, the others are recorded.
        """
        first, *others = named or (response,)
        page = self._use(first)
        callback = self._callbacks.setdefault(id(response), _Callback())
        callback.items.append((item, page))
        callback.unfinished += 1
        self._page_of_item[id(item)] = page
        for other in others:
            self.record(other)

    def callback_ended(self, response: Response, *, leads_on: bool) -> None:
        """Note whether the callback of a response led to other pages."""
        page = self._pages.get(response)
        if page is not None:
            page.leads_on = leads_on

    def recall(self, item: Any) -> CrawledPage | None:
        """Return the page that an item belongs to."""
        return self._page_of_item.get(id(item))

    def adopt(self, item: Any) -> CrawledPage | None:
        """Return the page of an item that came past the spider middlewares, if it is known.

        So do items of errbacks, if ``belongs_to`` tells, and those of ``scrapy parse --pipelines``.
        """
        parsed = PARSED.get()
        named = named_pages(item) or (() if parsed is None else (parsed,))
        pages = [self.record(response) for response in named]
        if not pages:
            return None
        self._adopted[id(item)] = item
        self._page_of_item[id(item)] = pages[0]
        return pages[0]

    def record(self, response: Response) -> CrawledPage:
        """Have a page analysed and decided, with or without an item of its own."""
        page = self._use(response)
        task = asyncio.ensure_future(self._record(page))
        self._recording.add(task)
        task.add_done_callback(self._recording.discard)
        return page

    def requests_in_use(self) -> set[Request | None]:
        """Return the requests of the pages that somebody waits for."""
        return {response.request for response, page in self._pages.items() if page.users}

    async def recorded(self) -> None:
        """Wait until all pages are recorded, which the pipelines do before they close."""
        while self._recording:
            await asyncio.wait(self._recording)

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

    async def _record(self, page: CrawledPage) -> None:
        try:
            for step in ("analysis", "decision"):
                if page.meta.skip or page.unchanged or step not in self.steps:
                    return
                outcome = await page.once(step, self.steps[step](page))
                if isinstance(outcome, OtherFormat):
                    return
        except LeftForResume:
            return
        except Exception:  # whatever it is, the crawl goes on
            logger.exception("Not recorded: %s", page.url[:500])
        finally:
            self._release(page)

    def _use(self, response: Response) -> CrawledPage:
        """Return the page of a response, the same one as long as the response lives."""
        page = self._pages.get(response) or CrawledPage(response)
        self._pages[response] = page
        page.response = response
        page.users += 1
        return page

    def _release(self, page: CrawledPage) -> None:
        """Let go of a response that nobody waits for; its page lives as long as it does."""
        page.users -= 1
        if page.users == 0:
            page.response = None

    def _item_done(self, item: Any, response: Response | None) -> None:
        """Forget the items of a callback when the last of them has left the pipelines."""
        if self._adopted.pop(id(item), None) is not None:
            self._page_of_item.pop(id(item), None)
            return
        callback = self._callbacks.get(id(response))
        if callback is None:
            return
        callback.unfinished -= 1
        if callback.unfinished <= 0:
            del self._callbacks[id(response)]
            for item, page in callback.items:
                self._page_of_item.pop(id(item), None)
                self._release(page)
