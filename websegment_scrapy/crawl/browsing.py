"""The browser of a crawl: started when needed, replaced when it died or has grown; its pages."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections import Counter
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any

from playwright.async_api import Error as PlaywrightError
from scrapy_playwright.handler import (
    DEFAULT_CONTEXT_NAME,
    PERSISTENT_CONTEXT_PATH_KEY,
    ScrapyPlaywrightDownloadHandler,
)

from websegment_scrapy.config import Config
from websegment_scrapy.crawl.background import Background
from websegment_scrapy.crawl.browser import CONTEXT_OPTIONS, find_chromium, launch_options
from websegment_scrapy.crawl.contexts import MAX_CONTEXTS, PREFIX, context_name, proxy_of
from websegment_scrapy.crawl.ending import Ending
from websegment_scrapy.crawl.keeping import KeeperError
from websegment_scrapy.crawl.places import Places
from websegment_scrapy.crawl.provider import KeptBrowserProvider, upstream_of
from websegment_scrapy.crawl.render import few_pages
from websegment_scrapy.exceptions import BrowserNotFound

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page
    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy_playwright.handler import BrowserContextWrapper

    from websegment_scrapy.crawl.keeping import Keeper

__all__ = ["BrowsingHandler"]

logger = logging.getLogger(__name__)

CLOSE_SECONDS = 5.0  # for closing one page
STUCK_SECONDS = 10.0  # more, and a browser that has not closed the page by then is ended
SHUTDOWN_SECONDS = 15.0  # for closing the browser
DYING_SECONDS = 0.5  # in which a browser that ends aborts its pages before it is gone
RESTART_SECONDS = 5.0  # for noticing that the browser died
UNLIMITED = 1_000_000
REMOTE = (
    "The browser is a remote one: what its pages reach, and its memory, are not in this crawl's "
    "hands. WEBSEGMENT_PRIVATE_HOSTS and WEBSEGMENT_RENDER_MEMORY do not hold there"
)


class BrowsingHandler(ScrapyPlaywrightDownloadHandler):  # type: ignore[misc]
    """scrapy-playwright's handler with a browser behind the `keeper` and a context for each site.

    Subclasses limit the pages that are open at once by their ``_places``.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._own = Config.from_settings(crawler.settings)
        self._places = Places(few_pages(), self.config.max_pages_per_context)
        # They are given back exactly once. The contexts' own semaphores lose a place when a task
        # is cancelled and gain one when a page crashes.
        self.config.max_pages_per_context = UNLIMITED
        self.config.target_closed_max_retries = 0
        self._cookies = crawler.settings.getbool("COOKIES_ENABLED")
        self._numbers = itertools.count(1)
        self._opening: Counter[str] = Counter()
        self._single_use: set[str] = set()
        self._start_lock = asyncio.Lock()
        self._replacing = asyncio.Lock()
        self._stuck: set[asyncio.Future[Any]] = set()
        """What the browser does not answer to: either it does after all, or it is ended."""
        self._started = False
        self._background = Background()
        self._ended: Browser | None = None
        self._ending = Ending.of(crawler)
        if "executable_path" not in self.config.launch_options:
            # without a browser the middleware renders nothing, and says so
            with suppress(BrowserNotFound):
                own = launch_options(find_chromium(self._own.chromium))
                arguments = [*own["args"], *self.config.launch_options.get("args", ())]
                self.config.launch_options = {**own, **self.config.launch_options}
                self.config.launch_options["args"] = arguments
        foreign = crawler.settings.get("PLAYWRIGHT_BROWSER_PROVIDER")
        if foreign or self.config.cdp_url or self.config.connect_url:
            logger.warning(REMOTE)
        else:
            self.browser_provider_cls = lambda given: KeptBrowserProvider(
                given, self._own, self._places.most
            )

    @property
    def keeper(self) -> Keeper | None:
        """The process between the browser and the network; none before the first page."""
        return getattr(getattr(self, "browser_provider", None), "keeper", None)

    async def _launch(self) -> None:
        """Do nothing when the engine starts: the first page to render starts the browser."""

    async def _ensure_browser(self) -> None:
        """Start what is not running, on no page's time."""
        async with self._start_lock:
            if not self._started:
                await super()._launch()
                self._started = True
            if self.keeper is not None and not self.keeper.is_running:
                await self._close_browser()  # its doors are gone
                await self.browser_provider.start_keeper()
        contexts = self.config.startup_context_kwargs.values()
        if not any(options.get(PERSISTENT_CONTEXT_PATH_KEY) for options in contexts):
            await self._maybe_launch_browser()

    async def _replace_grown_browser(self, patience: float) -> None:
        """Close a browser that has grown, when all its pages have ended within `patience`."""
        keeper = self.keeper
        if keeper is None or not keeper.grown:
            return
        async with self._replacing:
            if not keeper.grown:  # it was replaced meanwhile
                return
            taken = await self._places.take_all(patience)
            try:
                if taken == self._places.number:
                    await self._close_browser()
                    keeper.grown = False
                    self.stats.inc_value("websegment/render/replaced")
            finally:
                self._places.give_back(taken)

    async def _close_browser(self) -> None:
        """Close the browser; the next page starts another one."""
        browser = getattr(self, "browser", None)
        if browser is not None:
            try:
                async with asyncio.timeout(SHUTDOWN_SECONDS):
                    await browser.close()
            except TimeoutError:
                await self._end_browser(browser)
            except PlaywrightError:
                pass  # it is gone
            await self._browser_died()

    async def _end_browser(self, browser: Browser | None) -> bool:
        """End a browser that does not answer; its pages are loaded again in another one.

        Returns whether it was there to be ended; a remote one, or one of the user's, is not ours.
        """
        keeper = self.keeper
        if keeper is None or browser is None or browser is self._ended:
            return False
        self._ended = browser
        with suppress(KeeperError):  # then the browser ends with its keeper
            await keeper.end_browser()
        return True

    async def _browser_died(self) -> bool:
        """Tell whether the browser is gone; if so, wait until the next use will restart it."""
        browser = getattr(self, "browser", None)
        deadline = monotonic() + DYING_SECONDS
        while browser is not None and browser.is_connected():
            if monotonic() > deadline:
                return False
            await asyncio.sleep(0.05)
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
        if (
            self.keeper is not None
            and "proxy" in given
            and PERSISTENT_CONTEXT_PATH_KEY not in given
        ):
            options["proxy"] = await self.browser_provider.proxy(upstream_of(given["proxy"]))
        return await super()._create_browser_context(name, options, spider)

    async def _create_page(self, request: Request, spider: Spider) -> Page:
        """Open a page in the context of the request's site, or in the one that it names."""
        page: Page = await self._background.finish(
            self._open_page(request, spider), orphan=self._close_page
        )
        return page

    async def _open_page(self, request: Request, spider: Spider) -> Page:
        name, options = self._context_of(request)
        request.meta["playwright_context"] = name
        async with self.context_launch_lock:
            wrapper = self.context_wrappers.pop(name, None)
            if wrapper is None:
                wrapper = await self._create_browser_context(name, options, spider)
            self.context_wrappers[name] = wrapper  # the last used is the last
            self._opening[name] += 1
        try:
            page: Page = await wrapper.context.new_page()
        finally:
            self._opening[name] -= 1
        self.stats.inc_value("playwright/page_count")
        self._set_stats_max_concurrent_page_count(self._get_total_page_count())
        if self.config.navigation_timeout_ms is not None:
            page.set_default_navigation_timeout(self.config.navigation_timeout_ms)
        if not request.meta.get("playwright_include_page"):
            page.on("popup", self._close_page)
        await self._close_old_contexts()
        return page

    def _context_of(self, request: Request) -> tuple[str, dict[str, Any] | None]:
        """Return the name of a request's context, and the options for a new one."""
        given = request.meta.get("playwright_context")
        options = request.meta.get("playwright_context_kwargs")
        if given is not None and not given.startswith(PREFIX):
            return given, options
        if options or DEFAULT_CONTEXT_NAME in self.config.startup_context_kwargs:
            return DEFAULT_CONTEXT_NAME, options
        name = context_name(request, cookies=self._cookies, number=next(self._numbers))
        own: dict[str, Any] = {}
        agent = request.headers.get("User-Agent")
        if agent:
            own["user_agent"] = agent.decode("latin-1")
        proxy = proxy_of(request)
        if proxy:
            own["proxy"] = {"server": proxy}
        if not self._cookies or request.meta.get("dont_merge_cookies"):
            self._single_use.add(name)
        return name, own

    async def _close_old_contexts(self) -> None:
        """Close those of our contexts that were not used for the longest time."""
        own = [name for name in self.context_wrappers if name.startswith(PREFIX)]
        for name in own[: max(0, len(own) - MAX_CONTEXTS)]:
            wrapper = self.context_wrappers.get(name)
            if wrapper is not None and not wrapper.context.pages and not self._opening[name]:
                del self.context_wrappers[name]
                del self._opening[name]
                with suppress(PlaywrightError):
                    await wrapper.context.close()

    async def _close_pages(self, pages: list[Page]) -> None:
        """Close pages in limited time."""
        for page in pages:
            if page.is_closed():
                continue
            closing = asyncio.ensure_future(self._close_page(page))
            try:
                await asyncio.wait_for(asyncio.shield(closing), CLOSE_SECONDS)
                self.stats.inc_value("playwright/page_count/closed")
            except TimeoutError:
                stuck = self._background.keep(self._end_stuck_browser(page, closing))
                self._stuck.add(stuck)
                stuck.add_done_callback(self._stuck.discard)
                self.stats.inc_value("websegment/render/unclosed")
                logger.warning("A page did not close within %g s: %s", CLOSE_SECONDS, page.url)

    async def _end_stuck_browser(self, page: Page, closing: asyncio.Future[None]) -> None:
        """End a browser that is still closing a page: one that floods it would hold it for ever."""
        done, _ = await asyncio.wait((closing,), timeout=STUCK_SECONDS)
        if not done and await self._end_browser(page.context.browser):
            logger.warning("The browser did not close a page and is replaced: %s", page.url[:500])
            self.stats.inc_value("websegment/render/replaced")
        await closing

    def _look_after_browser(self) -> None:
        """See whether a browser that opened no page, although none is open, answers at all."""
        silent = self._background.keep(self._end_silent_browser())
        self._stuck.add(silent)
        silent.add_done_callback(self._stuck.discard)

    async def _end_silent_browser(self) -> None:
        """End a browser that does not answer; one that is only slow does in time."""
        browser = getattr(self, "browser", None)
        if browser is None:
            return
        with suppress(PlaywrightError):  # it is gone
            try:
                async with asyncio.timeout(STUCK_SECONDS):
                    session = await browser.new_browser_cdp_session()
                    await session.detach()
            except TimeoutError:
                if await self._end_browser(browser):
                    logger.warning("The browser opened no page and is replaced")
                    self.stats.inc_value("websegment/render/replaced")

    async def _close_page(self, page: Page) -> None:
        """Close a page, with its context if no other page may use that."""
        names = {id(each.context): name for name, each in self.context_wrappers.items()}
        name = names.get(id(page.context))
        with suppress(PlaywrightError):
            if name in self._single_use:
                self._single_use.discard(name)
                await page.context.close()
            else:
                await page.close()

    async def _close(self) -> None:
        try:
            async with asyncio.timeout(SHUTDOWN_SECONDS):
                await super()._close()
        except TimeoutError:
            logger.warning("The browser did not close within %g s", SHUTDOWN_SECONDS)
            if self.keeper is not None:
                await self.keeper.close()
