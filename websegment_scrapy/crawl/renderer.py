"""A page's way through the browser, with a limit on all that could hang."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from playwright.async_api import Error as PlaywrightError
from scrapy_playwright._utils import (
    _attach_page_event_handlers,
    _maybe_execute_page_init_callback,
    _set_redirect_meta,
)

from websegment_scrapy.crawl.authenticity import CaptureKey
from websegment_scrapy.crawl.browsing import CLOSE_SECONDS, STUCK_SECONDS, BrowsingHandler
from websegment_scrapy.crawl.documents import PlainDocuments
from websegment_scrapy.crawl.failures import (
    NotAllowedError,
    RenderBusyError,
    RenderCrowdedError,
    RenderHeldUpError,
    RenderMemoryError,
    RenderTimeoutError,
)
from websegment_scrapy.crawl.finishing import PageRequests, capture_finished, what_is_busy
from websegment_scrapy.crawl.gone import GoneOrigins
from websegment_scrapy.crawl.guard import PrivateAddressRefused
from websegment_scrapy.crawl.keeping import KeeperError
from websegment_scrapy.crawl.media import TooLargeError, is_html, media_type, too_large
from websegment_scrapy.crawl.navigation import Navigation, Opening
from websegment_scrapy.crawl.pictures import Pictures
from websegment_scrapy.crawl.render import LOOKED_KEY, STATE_KEY
from websegment_scrapy.crawl.responses import file_response, page_response
from websegment_scrapy.crawl.rules import why_not

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Page
    from playwright.async_api import Response as PlaywrightResponse
    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from websegment_scrapy.crawl.navigation import Snapshot

__all__ = ["Renderer"]

logger = logging.getLogger(__name__)

START_SECONDS = 60.0  # for starting the browser
ALONE_SECONDS = 120.0  # for the pages before one that is to be alone; a user may keep some open
BROWSER_DEATHS = 3  # how often one page may see its browser die before that is its failure


class Renderer(BrowsingHandler):
    """Renders pages for the `handler`.

    Beyond scrapy-playwright's handler, whose settings and meta keys all hold:

    - One page takes ``WEBSEGMENT_RENDER_TIMEOUT`` seconds at most, not counting the wait for its
      turn and for the browser's start; then it is closed and the download fails with
      `RenderTimeoutError`, or with `RenderBusyError` when it does not even answer: then it is not
      tried again. When the browser itself did not answer, because some page held it up, it is
      `RenderHeldUpError`, and the page has the browser to itself for its next try. One that takes
      more than ``WEBSEGMENT_RENDER_MEMORY`` fails with `RenderMemoryError`, and one that was ended
      because all together took too much with `RenderCrowdedError`; it is alone for its next try.
    - Few pages are open at once, more while processors are idle (`places`), and at most
      ``PLAYWRIGHT_MAX_PAGES_PER_CONTEXT``, however they end.
    - The browser reaches the network through the `keeper` only, and private addresses only where
      ``WEBSEGMENT_PRIVATE_HOSTS`` names them.
    - A page's text, layout and address are of one moment, and signed (`authenticity`).
    - The headers of a request go to its own origin and nowhere else; each site has a context of
      its own.
    - A browser that died is started again, and the pages it took with it are loaded again.
    - The browser is started with the first page to render.
    - A resource that is not HTML (JSON, text, an image) arrives as the server sent it, not as
      the browser displays it.
    - The Chromium is found by `find_chromium`; ``PLAYWRIGHT_LAUNCH_OPTIONS`` and
      ``PLAYWRIGHT_CONTEXTS`` add to or override what is needed by default.

    Stats: ``websegment/render/seconds`` (spent in the browser, summed over pages),
    ``websegment/render/unclosed`` (pages that could not be closed in time),
    ``websegment/render/refused`` (connections of pages to private addresses),
    ``websegment/render/replaced`` (browsers that had grown too large, or did not
    open or close a page).
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._timeout = self._own.render_timeout
        self._limit = self._own.page_size * 2**20
        folder = self._own.keep_screenshots
        self._pictures = Pictures(folder, self._own.screenshots_size) if folder else None
        if "PLAYWRIGHT_PROCESS_REQUEST_HEADERS" not in crawler.settings:
            self.process_request_headers = None  # headers are sent by `navigation`
        self.key = CaptureKey.of(crawler)
        self._pages: dict[Request, list[Page]] = {}
        self._navigations: dict[Request, Navigation] = {}
        self._gone: WeakKeyDictionary[BrowserContext, GoneOrigins] = WeakKeyDictionary()
        self._held_up = float("-inf")

    async def _download_request(self, request: Request, spider: Spider | None = None) -> Response:
        page = request.meta.get("playwright_page")
        reused = page is not None and not page.is_closed()
        places = 0
        if not reused:
            await self._replace_grown_browser(self._timeout + CLOSE_SECONDS)
            if request.meta.get(STATE_KEY, {}).get("alone"):
                places = await self._places.take_all(ALONE_SECONDS)
            else:
                await self._places.take()
                places = 1
        try:
            if places > 1 and self._stuck:  # not in a browser that is about to be ended
                await asyncio.wait(self._stuck, timeout=STUCK_SECONDS)
            response = await self._render(request, spider)
            page = request.meta.get("playwright_page")
            if places and page is not None and not page.is_closed():
                # playwright_include_page: the place is the user's until the page is closed
                page.once("close", lambda *_: self._places.give_back())
                places -= 1
        finally:
            self._places.give_back(places)
        if response.url != request.url:
            reason = await why_not(self._crawler, request, response.url)
            if reason is not None:
                raise NotAllowedError(reason)
        return response

    async def _render(self, request: Request, spider: Spider | None) -> Response:
        """Render a page, again when the browser died under it."""
        for death in range(BROWSER_DEATHS + 1):
            try:
                async with asyncio.timeout(START_SECONDS):
                    await self._background.finish(self._ensure_browser())
            except TimeoutError as error:
                raise RenderTimeoutError(
                    f"the browser did not start within {START_SECONDS:g} s"
                ) from error
            try:
                return await self._render_once(request, spider)
            except KeeperError:
                if death == BROWSER_DEATHS:
                    raise
            except PlaywrightError as error:
                self._refuse_memory(error)
                if death == BROWSER_DEATHS or not await self._browser_died():
                    if self._ending.stopping:  # the browser may have been told to stop as well
                        raise self._ending.left(request) from None
                    raise
        raise AssertionError("unreachable")

    async def _render_once(self, request: Request, spider: Spider | None) -> Response:
        """Render a page in limited time and close it, however it ends."""
        started = monotonic()
        include = request.meta.get("playwright_include_page")
        done = False
        try:
            async with asyncio.timeout(self._timeout) as limit:
                response = await self._load(request, spider or self._crawler.spider)
            done = True
        except TimeoutError as error:
            if not limit.expired():
                raise
            said = f"was not rendered within {self._timeout:g} s (WEBSEGMENT_RENDER_TIMEOUT)"
            navigation = self._navigations.get(request)
            # a page that was not even opened waited for the browser alone
            busy = "browser" if navigation is None else await what_is_busy(navigation)
            if busy == "page":
                raise RenderBusyError(f"{request.url} {said} and is still busy") from error
            if busy == "browser":
                self._held_up = monotonic()
                if not self._navigations:
                    self._look_after_browser()
            if started < self._held_up:
                raise RenderHeldUpError(f"{request.url} {said}: the browser was busy") from error
            raise RenderTimeoutError(f"{request.url} {said}") from error
        else:
            return response
        finally:
            self.stats.inc_value("websegment/render/seconds", monotonic() - started)
            if self.keeper is not None and self.keeper.refusals:
                self.stats.set_value("websegment/render/refused", self.keeper.refusals)
            self._navigations.pop(request, None)
            pages = self._pages.pop(request, [])
            if not (done and include):
                await self._close_pages(pages)

    async def _load(self, request: Request, spider: Any) -> Response:
        """Load and capture a page: what scrapy-playwright does, watched by `navigation`."""
        page = request.meta.get("playwright_page")
        if page is None or page.is_closed():
            page = await self._create_page(request, spider)
            self._pages.setdefault(request, []).append(page)
        if request.meta.get("playwright_include_page"):
            request.meta["playwright_page"] = page  # errbacks have it too
        name = request.meta["playwright_context"]
        _attach_page_event_handlers(page=page, request=request, spider=spider, context_name=name)
        if self.abort_request is not None or self.process_request_headers is not None:
            await self._route(page, request, spider, name)
        await _maybe_execute_page_init_callback(
            page=page, request=request, context_name=name, spider=spider
        )
        headers = {
            str(name): str(value) for name, value in request.headers.to_unicode_dict().items()
        }
        opening = Opening(request.url, request.method, headers, request.body)
        gone = self._gone.setdefault(page.context, GoneOrigins())
        navigation = await Navigation.watch(page, opening, self._limit, gone.patterns())
        self._navigations[request] = navigation
        requests = PageRequests(page, gone)
        started = monotonic()
        try:
            if "Cookie" in headers:
                await navigation.set_cookies(headers["Cookie"])
            first = await self._open(page, request, navigation)
            if navigation.answer is not None:
                return file_response(request, navigation.answer)
            if first is not None:
                await _set_redirect_meta(request=request, response=first)
            await self._apply_page_methods(page, request, spider)
            snapshot = await capture_finished(
                page,
                navigation,
                requests,
                settle_ms=self._own.render_settle * 1000,
                load_ms=self._timeout * 500,
            )
            body = await _bytes_of_no_page(first, snapshot)
            if (self._own.revisit or LOOKED_KEY in request.meta) and body is None:
                await self._keep_plain(request, first, snapshot)
            if self._pictures is not None and body is None:
                await self._pictures.take(page, snapshot.document.url)
        finally:
            request.meta["download_latency"] = monotonic() - started
            requests.close()
            if request.meta.get("playwright_include_page"):  # any other page is closed anyway
                self._background.keep(navigation.close())
        if body is not None:
            return file_response(request, snapshot.document, body)
        return page_response(request, snapshot, self.key)

    async def _keep_plain(
        self, request: Request, first: PlaywrightResponse | None, snapshot: Snapshot
    ) -> None:
        """Keep the HTML from which a page was made, to know it again without a browser."""
        document = snapshot.document
        if first is None or not document.first or first.url != document.url:
            return
        with suppress(PlaywrightError):  # nothing was kept of it
            headers = {name.lower(): value for name, value in document.headers}
            body = await first.body()
            PlainDocuments.of(self._crawler).keep(request, body, headers.get("content-type"))

    async def _open(
        self, page: Page, request: Request, navigation: Navigation
    ) -> PlaywrightResponse | None:
        """Send the page to its address."""
        options: dict[str, Any] = {"wait_until": "domcontentloaded"}
        options |= request.meta.get("playwright_page_goto_kwargs") or {}
        options.pop("url", None)
        try:
            return await page.goto(request.url, **options)
        except PlaywrightError as error:
            if navigation.too_large is not None:
                size = too_large(navigation.latest, navigation.too_large, self._limit)
                raise TooLargeError(size) from error
            if navigation.answer is not None:
                return None  # a file: the browser was told not to show it
            await self._refuse_private(navigation.latest, error)
            raise

    async def _refuse_private(self, url: str, error: PlaywrightError) -> None:
        """Say so when it was the gate that did not let the page through."""
        keeper = self.keeper
        if keeper is None or "ERR_SOCKS_CONNECTION" not in error.message:
            return
        if not await keeper.is_allowed(url):
            raise PrivateAddressRefused(url, keeper.refused_address(url)) from error

    def _refuse_memory(self, error: PlaywrightError) -> None:
        """Say so when it was the keeper that ended the page."""
        ended = None if self.keeper is None else self.keeper.ended_page()
        if ended is None or "crash" not in error.message.lower():
            return
        why, taken = ended
        if why == "crowded":
            raise RenderCrowdedError(
                f"the page took {taken} MiB, and the browser with all its pages too much; such a "
                f"page is loaded alone (it may take {self._own.render_memory} MiB, "
                "WEBSEGMENT_RENDER_MEMORY)"
            ) from error
        raise RenderMemoryError(
            f"the page took {taken} MiB of the browser's memory; it may take "
            f"{self._own.render_memory} (WEBSEGMENT_RENDER_MEMORY)"
        ) from error

    async def _route(self, page: Page, request: Request, spider: Any, name: str) -> None:
        """Have the user's own functions look at each request of the page."""
        await page.unroute("**")
        handler = self._make_request_handler(
            context_name=name,
            method=request.method,
            url=request.url,
            headers=request.headers,
            body=request.body,
            encoding=request.encoding,
            spider=spider,
            initial_request_done=asyncio.Event(),
        )
        await page.route("**", handler)


async def _bytes_of_no_page(first: PlaywrightResponse | None, snapshot: Snapshot) -> bytes | None:
    """Return the bytes of a document that was only called HTML, as the server sent them."""
    if first is None or not snapshot.bare or not snapshot.document.first:
        return None
    with suppress(PlaywrightError):  # nothing was kept: the browser's view it is
        body = await first.body()
        kind = media_type({name.lower(): value for name, value in snapshot.document.headers})
        if not is_html(kind, body):
            return body
    return None
