"""Rendering without a crawl: one page after the other, for the command line and evaluation."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import async_playwright

from websegment_scrapy.config import Config
from websegment_scrapy.crawl.browser import (
    CONTEXT_OPTIONS,
    behind_gate,
    find_chromium,
    launch,
    launch_options,
)
from websegment_scrapy.crawl.driver import OWN_SIGNALS, driver_in
from websegment_scrapy.crawl.finishing import PageRequests, capture_finished
from websegment_scrapy.crawl.gone import GoneOrigins
from websegment_scrapy.crawl.keeping import Keeper, refusal
from websegment_scrapy.crawl.navigation import Navigation, Opening
from websegment_scrapy.crawl.pictures import picture_of
from websegment_scrapy.exceptions import AnalysisError, WebsegmentError

if TYPE_CHECKING:
    from typing import Self

    from playwright.async_api import Browser, Page, Playwright

    from websegment_scrapy.page.capture import Captured

__all__ = ["Snapshotter"]

CLOSE_SECONDS = 5.0
START_SECONDS = 60.0


class Snapshotter:
    """Context manager that renders pages one at a time in one browser.

    Its methods are synchronous. Inside, an event loop of its own keeps the time limit, which
    Playwright's synchronous interface cannot: a script that loops for ever would block it.

    Parameters
    ----------
    chromium
        The browser's executable; by default as `find_chromium` finds it.
    timeout
        Seconds that one page may take, from navigation to snapshot.
    settle
        Seconds without a change of the DOM after which a loaded page counts as finished.

    A page may reach the public network and the host that it was asked for at, a page from a file
    nothing but files: results of saved pages do not depend on the network.
    """

    def __init__(
        self, *, chromium: str | None = None, timeout: float = 30.0, settle: float = 0.1
    ) -> None:
        self._launch_options = launch_options(find_chromium(chromium))
        self._timeout = timeout
        self._settle = settle
        self._runner = asyncio.Runner()
        self._keeper: Keeper | None = None
        self._playwright: Playwright | None = None
        self._browser: Browser | None = None
        self._wants_picture = False
        self._picture: bytes | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def render(self, source: str | Path) -> Captured:
        """Return the HTML of a page with its layout in it.

        Parameters
        ----------
        source
            An http or https URL, or the path of an HTML file.

        Raises
        ------
        AnalysisError
            The page could not be rendered; the message says why.
        """
        url = _url_of(source)
        try:
            return self._runner.run(self._render(url))
        except TimeoutError:  # of the page, or of the browser's start
            raise AnalysisError(f"{source} was not rendered within {self._timeout:g} s") from None
        except AnalysisError:
            raise
        except WebsegmentError as error:
            raise AnalysisError(f"{source} could not be rendered: {error}") from error
        except PlaywrightError as error:
            reason = error.message.strip().partition("\n")[0]
            raise AnalysisError(f"{source} could not be rendered: {reason}") from error

    def render_with_picture(self, source: str | Path) -> tuple[Captured, bytes | None]:
        """Return what `render` does, and the page's picture as JPEG, if one could be taken."""
        self._wants_picture = True
        try:
            captured = self.render(source)
        finally:
            self._wants_picture = False
        picture, self._picture = self._picture, None
        return captured, picture

    def close(self) -> None:
        """Close the browser; afterwards nothing can be rendered."""
        try:
            self._runner.run(self._close())
        finally:
            self._runner.close()

    async def _render(self, url: str) -> Captured:
        async with asyncio.timeout(START_SECONDS):
            page = await self._new_page(url)
        try:
            async with asyncio.timeout(self._timeout):
                return await self._snapshot(page, url)
        finally:
            await self._close_page(page)

    async def _snapshot(self, page: Page, url: str) -> Captured:
        navigation = await Navigation.watch(page, Opening(url), Config().page_size * 2**20)
        requests = PageRequests(page, GoneOrigins())
        try:
            await page.goto(url, wait_until="domcontentloaded", timeout=self._timeout * 1000)
        except PlaywrightError:
            if navigation.answer is not None:
                raise AnalysisError(f"{url} is no HTML page, of which there is a layout") from None
            assert self._keeper is not None
            address = self._keeper.refused_address(navigation.latest)
            if address is not None:
                host = urlsplit(navigation.latest).hostname or ""
                raise AnalysisError(f"{url}: {refusal(host, address)}") from None
            raise
        snapshot = await capture_finished(
            page, navigation, requests, settle_ms=self._settle * 1000, load_ms=self._timeout * 500
        )
        if url.startswith("file:") and snapshot.document.url != url:
            raise AnalysisError(f"{url} leads to {snapshot.document.url}, another file")
        if self._wants_picture:
            self._picture = await picture_of(page)
        return snapshot.captured

    async def _new_page(self, url: str) -> Page:
        """Open a page; that a browser died between two pages shows only now."""
        for attempt in (1, 2):
            browser = await self._running_browser()
            assert self._keeper is not None
            host = urlsplit(url).hostname
            port = await self._keeper.listen(private=[host] if host else [], closed=not host)
            try:
                return await browser.new_page(**CONTEXT_OPTIONS, proxy=behind_gate(port))
            except PlaywrightError:
                if attempt == 2 or browser.is_connected():
                    raise
        raise AssertionError("unreachable")

    async def _running_browser(self) -> Browser:
        """Return the browser; start it, again if it died."""
        if self._browser is not None and self._browser.is_connected():
            return self._browser
        if self._keeper is None or not self._keeper.is_running:
            self._keeper = await Keeper.start((), Config().render_memory)
        if self._playwright is None:
            with driver_in(self._keeper.folder):
                self._playwright = await async_playwright().start()
        proxy = behind_gate(await self._keeper.listen())
        options = {**self._launch_options, **OWN_SIGNALS, "proxy": proxy}
        self._browser = await launch(self._playwright.chromium, options)
        return self._browser

    async def _close_page(self, page: Page) -> None:
        """Close a page with its context; a browser that cannot is replaced for the next page."""
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                with suppress(PlaywrightError):
                    await page.context.close()
        except TimeoutError:
            browser, self._browser = self._browser, None
            if browser is not None:
                await self._close_browser(browser)

    async def _close_browser(self, browser: Browser) -> None:
        with suppress(PlaywrightError, TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                await browser.close()

    async def _close(self) -> None:
        if self._browser is not None:
            await self._close_browser(self._browser)
            self._browser = None
        if self._playwright is not None:
            await self._playwright.stop()
            self._playwright = None
        if self._keeper is not None:
            await self._keeper.close()
            self._keeper = None


def _url_of(source: str | Path) -> str:
    if isinstance(source, str) and source.lower().startswith(("http://", "https://", "file://")):
        return source
    path = Path(source)
    if not path.is_file():
        raise AnalysisError(f"{source} is neither an http(s) URL nor an HTML file that exists")
    return path.resolve().as_uri()
