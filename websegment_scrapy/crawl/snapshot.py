"""Rendering without a crawl: one page after the other, for the command line and evaluation."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import async_playwright

from websegment_scrapy.crawl.browser import (
    CONTEXT_OPTIONS,
    UNNEEDED_RESOURCES,
    capture_page,
    find_chromium,
    launch_options,
    watch_requests,
)
from websegment_scrapy.exceptions import AnalysisError
from websegment_scrapy.page.capture import is_captured

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from playwright.async_api import Browser, Page, Playwright, Route

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
    offline_files
        Whether the pages of local files load nothing from the network, for results that do not
        depend on it.
    """

    def __init__(
        self,
        *,
        chromium: str | None = None,
        timeout: float = 30.0,
        settle: float = 0.1,
        offline_files: bool = True,
    ) -> None:
        self._launch_options = launch_options(find_chromium(chromium))
        self._timeout = timeout
        self._settle = settle
        self._offline_files = offline_files
        self._runner = asyncio.Runner()
        self._playwright: Playwright | None = None
        self._browser: Browser | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def render(self, source: str | Path) -> str:
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
        except PlaywrightError as error:
            reason = error.message.strip().partition("\n")[0]
            raise AnalysisError(f"{source} could not be rendered: {reason}") from error

    def close(self) -> None:
        """Close the browser; afterwards nothing can be rendered."""
        try:
            self._runner.run(self._close())
        finally:
            self._runner.close()

    async def _render(self, url: str) -> str:
        async with asyncio.timeout(START_SECONDS):
            page = await self._new_page()
        try:
            async with asyncio.timeout(self._timeout):
                return await self._snapshot(page, url)
        finally:
            await self._close_page(page)

    async def _snapshot(self, page: Page, url: str) -> str:
        offline = self._offline_files and url.startswith("file:")

        async def filter_resources(route: Route) -> None:
            unneeded = route.request.resource_type in UNNEEDED_RESOURCES
            remote = not route.request.url.startswith(("file:", "data:", "blob:"))
            if unneeded or (offline and remote):
                await route.abort()
            else:
                await route.continue_()

        watch_requests(page)
        await page.route("**", filter_resources)
        await page.goto(url, wait_until="domcontentloaded", timeout=self._timeout * 1000)
        await capture_page(page, self._settle * 1000, self._timeout * 500)
        html = await page.content()
        if not is_captured(html):
            raise AnalysisError(f"{url} is not an HTML page: only HTML has a layout to capture")
        return html

    async def _new_page(self) -> Page:
        """Open a page; that a browser died between two pages shows only now."""
        browser = await self._running_browser()
        try:
            return await browser.new_page(**CONTEXT_OPTIONS)
        except PlaywrightError:
            if browser.is_connected():
                raise
        browser = await self._running_browser()
        return await browser.new_page(**CONTEXT_OPTIONS)

    async def _running_browser(self) -> Browser:
        """Return the browser; start it, again if it died."""
        if self._browser is not None and self._browser.is_connected():
            return self._browser
        if self._playwright is None:
            self._playwright = await async_playwright().start()
        self._browser = await self._playwright.chromium.launch(**self._launch_options)
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


def _url_of(source: str | Path) -> str:
    if isinstance(source, str) and source.lower().startswith(("http://", "https://", "file://")):
        return source
    path = Path(source)
    if not path.is_file():
        raise AnalysisError(f"{source} is neither an http(s) URL nor an HTML file that exists")
    return path.resolve().as_uri()
