"""The download handler: scrapy-playwright's, with a limit on everything that could hang."""

from __future__ import annotations

import asyncio
import logging
import os
import weakref
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar

from playwright.async_api import Error as PlaywrightError
from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler
from scrapy_playwright.handler import (
    PERSISTENT_CONTEXT_PATH_KEY,
    Download,
    ScrapyPlaywrightDownloadHandler,
)
from scrapy_playwright.page import PageMethod

from websegment_scrapy.config import Config
from websegment_scrapy.crawl.background import Background
from websegment_scrapy.crawl.browser import (
    CONTEXT_OPTIONS,
    UNNEEDED_RESOURCES,
    capture_page,
    find_chromium,
    launch_options,
    watch_requests,
)
from websegment_scrapy.crawl.media import VIEWED_TYPES, is_html, media_type, with_right_type
from websegment_scrapy.exceptions import BrowserNotFound, WebsegmentError

if TYPE_CHECKING:
    from playwright.async_api import Page
    from playwright.async_api import Request as PlaywrightRequest
    from playwright.async_api import Response as PlaywrightResponse
    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy_playwright.handler import BrowserContextWrapper

__all__ = ["RenderHandler", "RenderTimeoutError", "abort_request", "is_capture", "render_settings"]

logger = logging.getLogger(__name__)

PAGES_PER_CORE = 2  # one renders while the other waits for the network
CLOSE_SECONDS = 5.0  # for closing one page
START_SECONDS = 60.0  # for starting the browser
SHUTDOWN_SECONDS = 15.0  # for closing the browser
BROWSER_DEATHS = 3  # how often one page may see its browser die before that is its failure
RESTART_SECONDS = 5.0  # for noticing that the browser died
UNLIMITED = 1_000_000


class _NotAPageError(WebsegmentError):
    """What was to be rendered is a document of which the browser keeps no bytes."""


class RenderTimeoutError(WebsegmentError, TimeoutError):
    """A page was not rendered within ``WEBSEGMENT_RENDER_TIMEOUT``."""


def render_settings(config: Config) -> dict[str, Any]:
    """Return the Scrapy settings that rendering needs; the browser itself is the handler's."""
    handler = f"{RenderHandler.__module__}.{RenderHandler.__qualname__}"
    return {
        "DOWNLOAD_HANDLERS": {"http": handler, "https": handler},
        "PLAYWRIGHT_ABORT_REQUEST": f"{abort_request.__module__}.{abort_request.__qualname__}",
        "PLAYWRIGHT_BROWSER_TYPE": "chromium",
        "PLAYWRIGHT_DEFAULT_NAVIGATION_TIMEOUT": config.render_timeout * 1000,
        "PLAYWRIGHT_MAX_PAGES_PER_CONTEXT": PAGES_PER_CORE * (os.cpu_count() or 1),
    }


def is_capture(method: object) -> bool:
    """Tell whether a page method is the one that captures the layout."""
    return isinstance(method, PageMethod) and method.method is capture_page


def abort_request(request: PlaywrightRequest) -> bool:
    """Tell scrapy-playwright which resources not to load: fonts, films, endless streams."""
    return request.resource_type in UNNEEDED_RESOURCES


class RenderHandler(ScrapyPlaywrightDownloadHandler):  # type: ignore[misc]
    """Download handler for ``http`` and ``https``; renders what has ``meta["playwright"]``.

    Beyond scrapy-playwright's handler, whose settings and meta keys all hold:

    - One page takes ``WEBSEGMENT_RENDER_TIMEOUT`` seconds at most, not counting the wait for its
      turn and for the browser's start; then it is closed and the download fails with
      `RenderTimeoutError`.
    - At most ``PLAYWRIGHT_MAX_PAGES_PER_CONTEXT`` pages are open at once, however they end.
    - A browser that died is started again, and the pages it took with it are loaded again.
    - Both schemes share one browser, which is started with the first page to render.
    - A resource that is not HTML (JSON, text, an image) arrives as the server sent it, not as
      the browser displays it.
    - The Chromium is found by `find_chromium`; ``PLAYWRIGHT_LAUNCH_OPTIONS`` and
      ``PLAYWRIGHT_CONTEXTS`` add to or override what is needed by default.

    Stats: ``websegment/render/seconds`` (spent in the browser, summed over pages),
    ``websegment/render/unclosed`` (pages that could not be closed in time).
    """

    lazy = False
    _shared: ClassVar[weakref.WeakKeyDictionary[Crawler, weakref.ref[RenderHandler]]] = (
        weakref.WeakKeyDictionary()
    )

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        config = Config.from_settings(crawler.settings)
        self._timeout = config.render_timeout
        self._slots = asyncio.Semaphore(self.config.max_pages_per_context)
        # The limit is kept by _slots, which are given back exactly once. The contexts' own
        # semaphores lose a place when a task is cancelled and gain one when a page crashes.
        self.config.max_pages_per_context = UNLIMITED
        self.config.target_closed_max_retries = 0
        self._pages: dict[Request, list[Page]] = {}
        self._start_lock = asyncio.Lock()
        self._started = False
        self._closed = False
        self._background = Background()
        if "executable_path" not in self.config.launch_options:
            # without a browser the middleware renders nothing, and says so
            with suppress(BrowserNotFound):
                own = launch_options(find_chromium(config.chromium))
                arguments = [*own["args"], *self.config.launch_options.get("args", ())]
                self.config.launch_options = {**own, **self.config.launch_options}
                self.config.launch_options["args"] = arguments

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> RenderHandler:
        """Return the crawler's one handler, so that both schemes use the same browser."""
        known = cls._shared.get(crawler)
        handler = known() if known is not None else None
        if handler is None:
            handler = cls(crawler)
            cls._shared[crawler] = weakref.ref(handler)
        return handler

    async def _launch(self) -> None:
        """Do nothing when the engine starts: the first page to render starts the browser."""

    async def _ensure_browser(self) -> None:
        """Start what is not running, on no page's time."""
        async with self._start_lock:
            if not self._started:
                await super()._launch()
                self._started = True
        contexts = self.config.startup_context_kwargs.values()
        if not any(options.get(PERSISTENT_CONTEXT_PATH_KEY) for options in contexts):
            await self._maybe_launch_browser()

    async def download_request(self, request: Request) -> Response:
        """Download or render; part of Scrapy's interface of download handlers."""
        try:
            response: Response = await super().download_request(request)
        except _NotAPageError:
            response = await HTTP11DownloadHandler.download_request(self, request)
        return response

    async def _download_request(self, request: Request, spider: Spider | None = None) -> Response:
        page = request.meta.get("playwright_page")
        reused = page is not None and not page.is_closed()
        if not reused:
            await self._slots.acquire()
        try:
            response = await self._render(request, spider)
        except BaseException:
            if not reused:
                self._slots.release()
            raise
        page = request.meta.get("playwright_page")
        if not reused:
            if page is None or page.is_closed():
                self._slots.release()
            else:  # playwright_include_page: the place is the user's until the page is closed
                page.once("close", lambda *_: self._slots.release())
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
                response = await self._render_once(request, spider)
            except PlaywrightError:
                if death == BROWSER_DEATHS or not await self._browser_died():
                    raise
            else:
                return with_right_type(response)
        raise AssertionError("unreachable")

    async def _render_once(self, request: Request, spider: Spider | None) -> Response:
        """Render a page in limited time and close it, however it ends."""
        started = monotonic()
        include = request.meta.get("playwright_include_page")
        done = False
        try:
            async with asyncio.timeout(self._timeout) as limit:
                response: Response = await super()._download_request(request, spider)
            done = True
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise RenderTimeoutError(
                f"{request.url} was not rendered within {self._timeout:g} s "
                "(WEBSEGMENT_RENDER_TIMEOUT)"
            ) from error
        else:
            return response
        finally:
            self.stats.inc_value("websegment/render/seconds", monotonic() - started)
            pages = self._pages.pop(request, [])
            if not (done and include):
                await self._close_pages(pages)

    async def _browser_died(self) -> bool:
        """Tell whether the browser is gone; if so, wait until the next use will restart it."""
        browser = getattr(self, "browser", None)
        if browser is not None and browser.is_connected():
            return False
        deadline = monotonic() + RESTART_SECONDS
        while browser is not None and getattr(self, "browser", None) is browser:
            if monotonic() > deadline:
                return False
            await asyncio.sleep(0.05)
        return True

    async def _browser_disconnected_callback(self) -> None:
        """Forget a dead browser; unlike the original, whatever closing its contexts raises."""
        with suppress(PlaywrightError):
            await super()._browser_disconnected_callback()
        self.context_wrappers.clear()
        if self.config.restart_disconnected_browser and hasattr(self, "browser"):
            del self.browser

    async def _create_browser_context(
        self, name: str, context_kwargs: dict[str, Any] | None, spider: Spider | None = None
    ) -> BrowserContextWrapper:
        """Create a context; after a restart too with the options of ``PLAYWRIGHT_CONTEXTS``."""
        given = context_kwargs or self.config.startup_context_kwargs.get(name) or {}
        options = {**CONTEXT_OPTIONS, **given}
        if options.get("no_viewport"):
            options.pop("viewport")  # Playwright takes only one of the two
        return await super()._create_browser_context(name, options, spider)

    async def _create_page(self, request: Request, spider: Spider) -> Page:
        page: Page = await self._background.finish(
            super()._create_page(request, spider), orphan=_close_page
        )
        self._pages.setdefault(request, []).append(page)
        watch_requests(page)
        if not request.meta.get("playwright_include_page"):
            page.on("popup", _close_page)
        return page

    async def _close_pages(self, pages: list[Page]) -> None:
        for page in pages:
            if page.is_closed():
                continue
            closing = asyncio.ensure_future(_close_page(page))
            try:
                await asyncio.wait_for(asyncio.shield(closing), CLOSE_SECONDS)
                self.stats.inc_value("playwright/page_count/closed")
            except TimeoutError:
                self._background.keep(closing)
                self.stats.inc_value("websegment/render/unclosed")
                logger.warning("A page did not close within %g s: %s", CLOSE_SECONDS, page.url)

    async def _get_response_and_download(
        self, request: Request, page: Page, spider: Spider
    ) -> tuple[PlaywrightResponse | None, Download | None]:
        """Load the page; of what is not HTML take the bytes, not the browser's view of them."""
        response, download = await super()._get_response_and_download(request, page, spider)
        if response is not None and download is None:
            headers = await response.all_headers()
            kind = media_type(headers)
            if kind in VIEWED_TYPES:
                await _close_page(page)
                self.stats.inc_value("playwright/page_count/closed")
                raise _NotAPageError(f"{page.url} is {kind}")
            with suppress(PlaywrightError):  # nothing was kept: the browser's view it is
                body = await response.body()
                if not is_html(kind, body):
                    download = Download(
                        body=body,
                        url=page.url,
                        response_status=response.status,
                        headers=headers,
                    )
        return response, download

    async def _apply_page_methods(self, page: Page, request: Request, spider: Spider) -> None:
        """Call the page methods; after ours, the last one, do not wait for ``load`` again.

        The original does, after each method, and a page with an image that never ends has no
        such event.
        """
        given = request.meta.get("playwright_page_methods") or []
        methods = list(given.values() if isinstance(given, dict) else given)
        ours = [method for method in methods if is_capture(method)]
        request.meta["playwright_page_methods"] = [m for m in methods if not is_capture(m)]
        try:
            await super()._apply_page_methods(page, request, spider)
        finally:
            request.meta["playwright_page_methods"] = given
        for method in ours:
            await capture_page(page, **method.kwargs)

    async def close(self) -> None:
        """Close the browser once, for both schemes, in limited time."""
        if not self._closed:
            self._closed = True
            await super().close()

    async def _close(self) -> None:
        try:
            async with asyncio.timeout(SHUTDOWN_SECONDS):
                await super()._close()
        except TimeoutError:
            logger.warning("The browser did not close within %g s", SHUTDOWN_SECONDS)


async def _close_page(page: Page) -> None:
    with suppress(PlaywrightError):
        await page.close()
