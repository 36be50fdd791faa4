"""When a loaded page is finished, and its capture then."""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import TimeoutError as PlaywrightTimeout

from websegment_scrapy.crawl.navigation import WentOnError

if TYPE_CHECKING:
    from playwright.async_api import Page, Request

    from websegment_scrapy.crawl.gone import GoneOrigins
    from websegment_scrapy.crawl.navigation import Navigation, Snapshot

__all__ = ["PageRequests", "capture_finished", "what_is_busy"]

DATA_RESOURCES = frozenset({"fetch", "xhr"})
DATA_SECONDS = 3.0
"""How long a loaded page's requests for data are waited for; some poll for ever."""

DATA_POLL_SECONDS = 0.02
MAX_REQUESTS = 500
"""Requests of a page that are followed: each one costs the crawl's event loop a moment, and the
crawl the memory of an object, as long as anybody listens."""

ANSWER_SECONDS = 1.0
"""For a page whose time is over to show that it has not been computing all the while."""

_ATTEMPTS = 3  # a page that redirects itself by script destroys the first captures


class PageRequests:
    """The requests of a page: which of those for data are under way, and which origins are gone.

    Parameters
    ----------
    page
        The page.
    gone
        What is learned of origins that cannot be reached.
    """

    def __init__(self, page: Page, gone: GoneOrigins) -> None:
        self._page = page
        self._gone = gone
        self._seen = 0
        self.under_way: set[Any] = set()
        page.on("request", self._started)
        page.on("requestfinished", self._ended)
        page.on("requestfailed", self._failed)

    def close(self) -> None:
        """Follow no more."""
        self.under_way.clear()
        if self._seen >= 0:
            self._seen = -1
            self._page.remove_listener("request", self._started)
            self._page.remove_listener("requestfinished", self._ended)
            self._page.remove_listener("requestfailed", self._failed)

    def _started(self, request: Request) -> None:
        self._seen += 1
        if self._seen > MAX_REQUESTS:
            self.close()
        elif request.resource_type in DATA_RESOURCES:
            self.under_way.add(request)

    def _ended(self, request: Request) -> None:
        self.under_way.discard(request)

    def _failed(self, request: Request) -> None:
        self._ended(request)
        self._gone.note(request.url, request.failure)


async def capture_finished(
    page: Page, navigation: Navigation, requests: PageRequests, *, settle_ms: float, load_ms: float
) -> Snapshot:
    """Capture a page that has its DOM.

    The ``load`` event is waited for, but not for ever: what is still loading after `load_ms`
    (an image that never ends, say) is stopped, and the page is taken as it stands. A page that
    is built from data it fetches counts as finished when no such request is under way and its
    DOM is quiet; `settle_ms` of 0 waits for neither.
    """
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            await page.wait_for_load_state("load", timeout=load_ms)
        except PlaywrightTimeout:
            await navigation.stop_loading()
        try:
            return await _capture_settled(navigation, requests, settle_ms)
        except WentOnError:
            if attempt == _ATTEMPTS:
                raise
    raise AssertionError("unreachable")


async def _capture_settled(
    navigation: Navigation, requests: PageRequests, settle_ms: float
) -> Snapshot:
    """Capture when the data is there; data that arrives meanwhile means once more."""
    deadline = monotonic() + DATA_SECONDS
    while True:
        while settle_ms and requests.under_way and monotonic() < deadline:
            await asyncio.sleep(DATA_POLL_SECONDS)
        snapshot = await navigation.capture(settle_ms)
        if not settle_ms or not requests.under_way or monotonic() >= deadline:
            return snapshot


async def what_is_busy(navigation: Navigation) -> Literal["browser", "page"] | None:
    """Say who does not answer: the browser, which some page holds up, or only this page."""
    what: Literal["browser", "page"]
    for what in ("browser", "page"):
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                await navigation.ping(what)
        except TimeoutError:
            return what
        except PlaywrightError:  # it is gone
            return None
    return None
