"""Rendering of a crawl's pages: which, how often, and what becomes of those that fail."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Any

from scrapy.downloadermiddlewares.retry import get_retry_request
from scrapy.exceptions import IgnoreRequest, NotConfigured
from scrapy.http import HtmlResponse
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.httpobj import urlparse_cached
from scrapy.utils.misc import load_object

from websegment_scrapy.config import META_KEY, Config, PageMeta
from websegment_scrapy.crawl.authenticity import CaptureKey
from websegment_scrapy.crawl.browser import find_chromium
from websegment_scrapy.crawl.failures import (
    ElsewhereError,
    NotAllowedError,
    RenderBusyError,
    RenderCrowdedError,
    RenderHeldUpError,
    RenderMemoryError,
)
from websegment_scrapy.crawl.guard import Guard, PrivateAddressRefused
from websegment_scrapy.crawl.media import TooLargeError
from websegment_scrapy.crawl.responses import TOO_LARGE, RenderedResponse, rendered_response
from websegment_scrapy.exceptions import BrowserNotFound, NoSuchBrowser

if TYPE_CHECKING:
    from typing import Self

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import BaseSettings

__all__ = [
    "LOOKED_KEY",
    "STATE_KEY",
    "RenderMiddleware",
    "RenderedResponse",
    "can_be_rendered",
    "render_settings",
    "state_of",
]

logger = logging.getLogger(__name__)

HANDLER = "websegment_scrapy.crawl.handler.RenderHandler"
PAGES_PER_CORE, MOST_PER_CORE = 2, 4
"""Pages open at once: one renders while the other waits for the network; and at most, while
processors are idle (`places`)."""

STATE_KEY = "_websegment_render"
"""Meta key with the page's history in the browser: its URL, failures, whether it is given up, and
whether it is to have the browser to itself."""
LOOKED_KEY = "_websegment_looked"
"""Meta key of a request that is rendered after its plain HTML was looked at: URL and sign."""
REMOTE_SETTINGS = ("PLAYWRIGHT_CDP_URL", "PLAYWRIGHT_CONNECT_URL", "PLAYWRIGHT_BROWSER_PROVIDER")
MAX_REASON = 200
NOT_AGAIN = (
    RenderBusyError,
    RenderMemoryError,
    ElsewhereError,
    NotAllowedError,
    PrivateAddressRefused,
)
"""Failures that another try in the browser would only repeat."""


def render_settings(config: Config) -> dict[str, Any]:
    """Return the Scrapy settings that rendering needs; the browser itself is the handler's."""
    return {
        "DOWNLOAD_HANDLERS": {"http": HANDLER, "https": HANDLER},
        "PLAYWRIGHT_BROWSER_TYPE": "chromium",
        "PLAYWRIGHT_DEFAULT_NAVIGATION_TIMEOUT": config.render_timeout * 1000,
        "PLAYWRIGHT_MAX_PAGES_PER_CONTEXT": MOST_PER_CORE * (os.cpu_count() or 1),
    }


def few_pages() -> int:
    """Return how many pages may be open on a busy machine."""
    return PAGES_PER_CORE * (os.cpu_count() or 1)


class RenderMiddleware:
    """Has pages rendered in Chromium and gives them to the spider as `RenderedResponse`.

    A downloader middleware for position 850: before ``HttpCacheMiddleware`` (900), so that the
    cache keeps the pages with their layout.

    Settings: ``WEBSEGMENT_RENDER``, ``WEBSEGMENT_RENDER_TIMEOUT``, ``WEBSEGMENT_RENDER_RETRIES``,
    ``WEBSEGMENT_RENDER_SETTLE``, ``WEBSEGMENT_RENDER_MEMORY``, ``WEBSEGMENT_PRIVATE_HOSTS``,
    ``WEBSEGMENT_PAGE_SIZE``, ``WEBSEGMENT_CHROMIUM``.

    Meta: ``{"websegment": {"render": "auto" | "always" | "never"}}`` decides for one request;
    requests with ``playwright: False`` or without a callback (robots.txt, media), and those for
    which a browser is no use (other schemes than http and https, other methods than GET and POST)
    are left alone. ``meta["websegment"]["render_error"]`` says why a page came as plain HTML.

    A page that fails in the browser is tried there again ``WEBSEGMENT_RENDER_RETRIES`` times,
    then downloaded as plain HTML; a network error (``net::ERR_…``), a page that takes too much
    memory, and one that ended where Scrapy's own rules do not allow it
    (``allowed_domains``, robots.txt) lead straight to the plain download, to which Scrapy's own
    retries and rules apply. A private address that ``WEBSEGMENT_PRIVATE_HOSTS`` does not name is
    not downloaded at all.

    Documents larger than ``WEBSEGMENT_PAGE_SIZE`` are not downloaded to their end, unless the
    request has a ``download_maxsize`` of its own; the spider gets an empty response with the flag
    ``too-large``, and the page is ``failed`` on record.

    Stats, under ``websegment/render/``: ``pages``, ``retried``, ``fallback``,
    ``error/<exception class>``, ``uncaptured`` (rendered, but without a layout),
    ``unavailable`` (1: there is no browser).
    """

    def __init__(self, crawler: Crawler, config: Config) -> None:
        if crawler.stats is None:
            raise NotConfigured("the crawler has no stats collector")
        self.crawler = crawler
        self.config = config
        self.stats = crawler.stats
        self.key = CaptureKey.of(crawler)
        self.guard = Guard(crawler, config)
        largest = config.page_size * 2**20
        self.max_size = min(crawler.settings.getint("DOWNLOAD_MAXSIZE") or largest, largest)
        self.unavailable: str | None = None
        self.checked = False
        if config.render != "never":
            self._check_browser()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Build the middleware; part of Scrapy's component interface."""
        config = Config.from_settings(crawler.settings)
        if not config.enabled:
            raise NotConfigured("WEBSEGMENT_ENABLED is off")
        return cls(crawler, config)

    async def process_request(self, request: Request) -> None:
        """Mark the requests that are to be rendered."""
        state = state_of(request)
        meta = PageMeta.from_meta(request.meta)
        if state is None and meta.render_error is not None:
            _set_error(request, None)  # copied from another page's meta
        if request.callback is not NO_CALLBACK and not meta.skip:
            request.meta.setdefault("download_maxsize", self.max_size)
        never = (meta.render or self.config.render) == "never"
        if never or not can_be_rendered(request):
            _unmark(request)
            return
        if state is not None and state["plain"]:
            await self.guard.before(request, state["url"])
            request.meta[STATE_KEY] = {**state, "url": request.url}
            return
        self._check_browser()
        if self.unavailable is not None:
            _unmark(request)
            _set_error(request, self.unavailable)
            return
        request.meta[STATE_KEY] = {
            "url": request.url,
            "failures": state["failures"] if state else 0,
            "plain": False,
            "alone": bool(state and state.get("alone")),
        }
        request.meta["playwright"] = True

    def process_response(self, request: Request, response: Response) -> Response:
        """Take the layout out of a rendered page's HTML."""
        state = state_of(request)
        if state is None or TOO_LARGE in response.flags:
            return response
        captured = self.key.captured(response) if "look" in state or not state["plain"] else None
        if state["plain"] and captured is None:
            self.guard.after(request, response)
            return response
        if captured is None:
            if isinstance(response, HtmlResponse):
                self.stats.inc_value("websegment/render/uncaptured")
                _set_error(request, "the page came without its layout")
            return response
        self.stats.inc_value("websegment/render/pages")
        return rendered_response(response, captured)

    def process_exception(
        self, request: Request, exception: Exception
    ) -> Request | Response | None:
        """Try a page that failed in the browser there again, or else its plain HTML."""
        state = state_of(request)
        if isinstance(exception, TooLargeError) or self._was_cut_off(request, exception):
            _set_error(request, _reason(exception))
            request.meta["dont_cache"] = True
            return HtmlResponse(request.url, request=request, flags=[TOO_LARGE])
        if state is None or state["plain"]:
            return None
        if isinstance(exception, PrivateAddressRefused) and exception.is_of(request.url):
            self.guard.name(exception)
            return None
        if isinstance(exception, IgnoreRequest) and not isinstance(exception, NOT_AGAIN):
            return None
        self.stats.inc_value(f"websegment/render/error/{type(exception).__name__}")
        reason = _reason(exception)
        failures = state["failures"] + 1
        retry = None
        if (
            failures <= self.config.render_retries
            and not isinstance(exception, NOT_AGAIN)
            and "net::ERR_" not in reason
            and not request.meta.get("dont_retry")
        ):
            retry = self._retry_of(request, exception)
        if retry is not None:
            self.stats.inc_value("websegment/render/retried")
            alone = isinstance(exception, (RenderCrowdedError, RenderHeldUpError))
            retry.meta[STATE_KEY] = {**state, "failures": failures, "alone": alone}
            return retry
        return self._plain(request, failures, reason)

    def _was_cut_off(self, request: Request, exception: Exception) -> bool:
        """Say whether Scrapy ended a download at the size that we gave it."""
        return (
            request.meta.get("download_maxsize") == self.max_size
            and type(exception).__name__ in ("CancelledError", "DownloadCancelledError")
            and "max size" in str(exception)
        )

    def _plain(self, request: Request, failures: int, reason: str) -> Request:
        """Return the request for a page's plain HTML instead."""
        self.stats.inc_value("websegment/render/fallback")
        logger.warning("Taking the plain HTML of %s: not rendered: %s", request.url, reason)
        plain = request.replace(dont_filter=True)
        _unmark(plain)
        plain.meta[STATE_KEY] = {"url": request.url, "failures": failures, "plain": True}
        plain.meta.pop("playwright_page", None)
        _set_error(plain, reason)
        return plain

    def _retry_of(self, request: Request, exception: Exception) -> Request | None:
        """Return a copy for another try, which leaves Scrapy's own count of retries as it is.

        The reason becomes part of a stat's name, so it is the exception's class, not its text.
        """
        spider = self.crawler.spider
        if spider is None:
            return None
        so_far = request.meta.get("retry_times", 0)
        retry = get_retry_request(
            request,
            spider=spider,
            reason=type(exception).__name__,
            max_retry_times=so_far + 1,
            logger=logger,
            stats_base_key="websegment/render/retry",
        )
        if retry is not None:
            retry.meta["retry_times"] = so_far
            retry.meta.pop("playwright_page", None)
        return retry

    def _check_browser(self) -> None:
        """Find out, once, whether there is a browser; a crawl without one goes on unrendered.

        That one was named which does not exist is a mistake in the settings, not a machine without
        a browser: such a crawl does not start.
        """
        if self.checked:
            return
        self.checked = True
        settings = self.crawler.settings
        if not _handler_renders(settings):
            self._give_up(
                "no render handler",
                f"DOWNLOAD_HANDLERS lacks {HANDLER} for http and https: set it, or enable the "
                "add-on, which does",
            )
            return
        named = settings.getdict("PLAYWRIGHT_LAUNCH_OPTIONS").get("executable_path")
        if any(settings.get(name) for name in REMOTE_SETTINGS):
            return
        try:
            find_chromium(named or self.config.chromium)
        except BrowserNotFound as error:
            if isinstance(error, NoSuchBrowser) and self.config.render != "never":
                raise
            self._give_up("no browser", str(error))

    def _give_up(self, reason: str, explanation: str) -> None:
        self.unavailable = reason
        self.stats.set_value("websegment/render/unavailable", 1)
        logger.warning("Pages are not rendered but analysed as plain HTML: %s", explanation)


def _handler_renders(settings: BaseSettings) -> bool:
    from websegment_scrapy.crawl.handler import RenderHandler  # loaded by the downloader

    handlers = settings.getwithbase("DOWNLOAD_HANDLERS")
    return all(
        handlers.get(scheme) and issubclass(load_object(handlers[scheme]), RenderHandler)
        for scheme in ("http", "https")
    )


def can_be_rendered(request: Request) -> bool:
    """Say whether a browser is of use for a request, and its sender leaves that open."""
    if request.callback is NO_CALLBACK or request.meta.get("playwright", True) is False:
        return False
    if request.method not in {"GET", "POST"}:
        return False
    try:
        request.body.decode(request.encoding)  # scrapy-playwright sends bodies as text
    except UnicodeDecodeError:
        return False
    return urlparse_cached(request).scheme in {"http", "https"}


def state_of(request: Request) -> dict[str, Any] | None:
    """Return the page's history, unless it was copied from another page's meta.

    A request made with ``meta=response.meta`` has another URL than its history; a redirected
    one too, but the last URL it was redirected from is that of its history.
    """
    state: dict[str, Any] | None = request.meta.get(STATE_KEY)
    if state is None:
        return None
    redirected_from = (request.meta.get("redirect_urls") or [None])[-1]
    return state if state["url"] in {request.url, redirected_from} else None


def _unmark(request: Request) -> None:
    """Undo what marks a request, also when it was copied from another page's meta."""
    if request.meta.pop(STATE_KEY, None) is not None and request.meta.get("playwright"):
        del request.meta["playwright"]  # False would be the user's word


def _set_error(request: Request, reason: str | None) -> None:
    """Write or remove the reason; in a new dict, for copies of the meta share the old one."""
    told = {**(request.meta.get(META_KEY) or {}), "render_error": reason}
    if reason is None:
        del told["render_error"]
    request.meta[META_KEY] = told


def _reason(exception: Exception) -> str:
    """Return the first line of an exception's message, with its class."""
    message = str(exception).strip().partition("\n")[0]
    return f"{type(exception).__name__}: {message}"[:MAX_REASON].removesuffix(": ")
