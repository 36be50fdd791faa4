"""Pages downloaded plainly first, and rendered if they need it: ``OnDemandMiddleware``.

Which do, `demand` says; here is the way of such a page through Scrapy.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from scrapy.downloadermiddlewares.httpcache import HttpCacheMiddleware
from scrapy.http import HtmlResponse

from websegment_scrapy.config import META_KEY, PageMeta
from websegment_scrapy.crawl.demand import OFTEN, SITE, are_mostly_needed, is_drawn, why_to_render
from websegment_scrapy.crawl.documents import PlainDocuments
from websegment_scrapy.crawl.ending import Ending
from websegment_scrapy.crawl.pages import PageRegistry, enabled_config
from websegment_scrapy.crawl.render import (
    LOOKED_KEY,
    STATE_KEY,
    RenderMiddleware,
    can_be_rendered,
    state_of,
)
from websegment_scrapy.crawl.responses import TOO_LARGE, RenderedResponse
from websegment_scrapy.exceptions import AnalysisError, NotHtml, StoreError
from websegment_scrapy.pool import Abandoned
from websegment_scrapy.store.record import canonical_url, host_of
from websegment_scrapy.store.rendering import KnownRendering, count_look, rendering_of
from websegment_scrapy.tasks import needs_browser, signs_of

if TYPE_CHECKING:
    from typing import Self

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from websegment_scrapy.config import Config

__all__ = ["OnDemandMiddleware"]

logger = logging.getLogger(__name__)

NO_SCRIPT = "it has no scripts"
TOLD = "its plain HTML tells what it says"
POSTED = "what is posted is sent once"

WAIT_SECONDS = 20.0
"""For so long a page waits for the first looks at its site."""

ASK_SECONDS = 2.0
"""Meanwhile the store is asked: of crawlers that share a queue another one may render the page."""


class OnDemandMiddleware:
    """Downloads pages plainly first, and has those rendered that need it.

    A downloader middleware for position 585: its responses are decompressed (590) and no
    redirects (600).

    Settings: ``WEBSEGMENT_RENDER``, for whose ``"auto"`` it is there.

    Meta: ``{"websegment": {"render": "auto" | "always" | "never"}}`` decides for one request.
    Requests that use the page in the browser (``playwright_include_page``,
    ``playwright_page_methods``, ``playwright_page_init_callback``, ``playwright: True``) are
    rendered at once. Other methods than GET are sent once: as plain downloads, unless most of the
    site's pages need the browser. ``meta["websegment"]["render_reason"]`` says why a page was
    rendered, or why not.

    Stats, under ``websegment/render/``: ``plain_first`` (pages looked at plainly), ``sufficed``
    (those that were not rendered), ``compared`` (those looked at both ways), ``needed`` (those of
    them that had more when rendered), ``straight`` (rendered without a plain look).
    """

    def __init__(self, crawler: Crawler, config: Config) -> None:
        assert crawler.stats is not None
        self.crawler = crawler
        self.config = config
        self.stats = crawler.stats
        self.registry = PageRegistry.of(crawler)
        self.ending = Ending.of(crawler)
        self.documents = PlainDocuments.of(crawler)
        self._first_looks: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        """The pages whose looks are under way, by host and sign."""
        self._came = asyncio.Event()
        """Set when one of them came; then there is a new one."""
        self._waiting = 0
        self._most_waiting = crawler.settings.getint("CONCURRENT_REQUESTS") // 2

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Build the middleware; also where single requests ask for ``"auto"``."""
        return cls(crawler, enabled_config(crawler))

    async def process_request(self, request: Request) -> None:
        """Mark the requests that begin with a plain look."""
        meta = PageMeta.from_meta(request.meta)
        state = state_of(request)
        looked = request.meta.get(LOOKED_KEY)
        if looked is not None and looked["url"] != request.url:
            del request.meta[LOOKED_KEY]  # copied from another page's meta
            looked = None
        if state is None and looked is None and meta.render_reason is not None:
            _set_reason(request, None)
        if (
            (meta.render or self.config.render) != "auto"
            or state is not None
            or looked is not None
            or not can_be_rendered(request)
            or self._has_no_browser()
        ):
            return
        if any(request.meta.get(f"playwright{name}") for name in _USES):
            return
        known = await self._known(request)
        mostly = are_mostly_needed(known.site)
        if mostly and (request.method != "GET" or not is_drawn(request.url, OFTEN)):
            self.stats.inc_value("websegment/render/straight")
            _set_reason(request, SITE)
            return
        plain = {"url": request.url, "failures": 0, "plain": True}
        if request.method != "GET":
            _set_reason(request, POSTED)
            request.meta[STATE_KEY] = plain
            return
        self.stats.inc_value("websegment/render/plain_first")
        request.meta[STATE_KEY] = {**plain, "look": request.meta.get("dont_cache", False)}

    async def process_response(self, request: Request, response: Response) -> Response | Request:
        """Have a page rendered that needs it; learn from one that was."""
        if LOOKED_KEY in request.meta:
            await self._compare(request, response)
            return response
        state = state_of(request)
        if state is None or "look" not in state:
            return response
        why: str | None = None
        if not isinstance(response, RenderedResponse):  # which is what a cache had kept
            why = await self._why(request, response)
        if why is None:
            self._restore(request, state)
            self._cache(request, response)
            self.stats.inc_value("websegment/render/sufficed")
            return response
        # Before those that were not looked at yet: what it tells of its site decides about them.
        again = request.replace(dont_filter=True, priority=request.priority + 1)
        self._restore(again, state)
        del again.meta[STATE_KEY]
        sign = again.meta[LOOKED_KEY]["sign"]
        logger.debug("Rendering %s: %s (%s)", request.url[:500], why, sign or "no sign")
        return again

    def process_exception(self, request: Request, exception: Exception) -> None:
        """Let nobody wait for a page that does not come."""
        looked = request.meta.get(LOOKED_KEY)
        if looked is not None:
            self._done(looked)

    async def _why(self, request: Request, response: Response) -> str | None:
        """Return why a page is to be rendered, if it is; either is written down."""
        if (
            not isinstance(response, HtmlResponse)
            or TOO_LARGE in response.flags
            or response.status in self._retried()
        ):
            return None
        sign = await self._sign(request, response)
        if sign is None:
            _set_reason(request, NO_SCRIPT)
            return None
        why = await self._decided(request, sign)
        _set_reason(request, why or TOLD)
        if why is not None:
            request.meta[LOOKED_KEY] = {"url": request.url, "sign": sign}
            self._first_looks[host_of(canonical_url(request.url)), sign].add(request.url)
        return why

    async def _sign(self, request: Request, response: Response) -> str | None:
        """Return the sign that a page's plain HTML gives; ``None``: it has no scripts."""
        kind = response.headers.get("Content-Type")
        try:
            found: str | None = await self._work(
                request, signs_of, response.body, None if kind is None else kind.decode("latin-1")
            )
        except (AnalysisError, NotHtml):
            return None  # what is wrong with it is said where it is analysed
        return found

    async def _decided(self, request: Request, sign: str) -> str | None:
        """Decide, when those pages are known that are being looked at, here and elsewhere."""
        host = host_of(canonical_url(request.url))
        loop = asyncio.get_running_loop()
        until = loop.time() + WAIT_SECONDS
        while True:
            before = self._looks_at(host, sign)  # some may be done while the store is asked
            known = await self._known(request)
            under_way, elsewhere = map(max, before, self._looks_at(host, sign))
            why, waits = why_to_render(sign, known, request.url, under_way, elsewhere)
            if not waits or self._waiting >= self._most_waiting or loop.time() >= until:
                return why
            seconds = min(ASK_SECONDS, until - loop.time())
            await self.ending.unless_left(self._wait(seconds), request)
            if loop.time() >= until:  # they do not come
                self._first_looks.pop((host, sign), None)

    def _looks_at(self, host: str, sign: str) -> tuple[int, int]:
        """Return how many pages of a host are being looked at, and how many other hosts'."""
        own = len(self._first_looks.get((host, sign), ()))
        hosts = sum(each == sign for _, each in self._first_looks)
        return own, hosts - (own > 0)

    async def _wait(self, seconds: float) -> None:
        self._waiting += 1
        try:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._came.wait(), seconds)
        finally:
            self._waiting -= 1

    async def _compare(self, request: Request, response: Response) -> None:
        """Learn whether a page needed to be rendered."""
        looked = request.meta.pop(LOOKED_KEY)
        try:
            if not isinstance(response, RenderedResponse) or response.captured is None:
                return
            plain, kind = self.documents.see(request)
            writer = self.registry.writer
            if plain is None or writer is None:
                return
            needed = await self._work(
                request, needs_browser, response.captured, plain, kind, request.url
            )
            if needed is not None:
                self.stats.inc_value("websegment/render/compared")
                self.stats.inc_value("websegment/render/needed", int(needed))
                await writer.ask(count_look, request.url, looked["sign"], needed)
        except (AnalysisError, NotHtml):
            return
        except StoreError as error:
            logger.warning("What %s is like is not kept: %s", request.url[:500], error)
        finally:
            self._done(looked)

    def _done(self, looked: dict[str, str]) -> None:
        """Wake those who wait for a page."""
        place = host_of(canonical_url(looked["url"])), looked["sign"]
        self._first_looks[place].discard(looked["url"])
        if not self._first_looks[place]:
            del self._first_looks[place]
        self._came.set()
        self._came = asyncio.Event()

    async def _work(self, request: Request, task: Any, *arguments: Any) -> Any:
        """Have a worker do something."""
        pool = self.registry.pool
        if pool is None:
            raise AnalysisError("there are no workers: is SegmentPipeline in ITEM_PIPELINES?")
        try:
            with self.registry.at_work():
                return await asyncio.wrap_future(pool.submit(task, *arguments))
        except Abandoned:
            raise self.ending.left(request) from None

    async def _known(self, request: Request) -> KnownRendering:
        writer = self.registry.writer
        if writer is None:
            return KnownRendering({}, {})
        try:
            return await self.ending.unless_left(writer.ask(rendering_of, request.url), request)
        except StoreError as error:
            logger.warning("What is known of %s cannot be read: %s", request.url[:500], error)
            return KnownRendering({}, {})

    def _has_no_browser(self) -> bool:
        renders = self.crawler.get_downloader_middleware(RenderMiddleware)
        return renders is None or renders.unavailable is not None

    def _retried(self) -> list[int]:
        return [int(code) for code in self.crawler.settings.getlist("RETRY_HTTP_CODES")]

    def _cache(self, request: Request, response: Response) -> None:
        """Have a page kept in Scrapy's cache, which a plain look alone is not."""
        cache = self.crawler.get_downloader_middleware(HttpCacheMiddleware)
        if cache is not None:
            cache.process_response(request, response)

    @staticmethod
    def _restore(request: Request, state: dict[str, Any]) -> None:
        request.meta.pop("dont_cache", None)
        if state["look"]:
            request.meta["dont_cache"] = state["look"]


_USES = ("", "_include_page", "_page_methods", "_page_init_callback", "_page")


def _set_reason(request: Request, reason: str | None) -> None:
    """Write or remove the reason; in a new dict, for copies of the meta share the old one."""
    told = {**(request.meta.get(META_KEY) or {}), "render_reason": reason}
    if reason is None:
        del told["render_reason"]
    request.meta[META_KEY] = told
