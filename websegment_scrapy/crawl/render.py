"""Rendering of a crawl's pages: which, how often, and what becomes of those that fail."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from scrapy.downloadermiddlewares.retry import get_retry_request
from scrapy.exceptions import IgnoreRequest, NotConfigured
from scrapy.http import HtmlResponse, TextResponse
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.httpobj import urlparse_cached
from scrapy.utils.misc import load_object
from scrapy_playwright.handler import ScrapyPlaywrightDownloadHandler
from scrapy_playwright.page import PageMethod

from websegment_scrapy.config import META_KEY, Config, PageMeta
from websegment_scrapy.crawl.browser import capture_page, find_chromium
from websegment_scrapy.crawl.handler import is_capture
from websegment_scrapy.exceptions import BrowserNotFound
from websegment_scrapy.page.capture import is_captured, strip_capture

if TYPE_CHECKING:
    from typing import Self

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import BaseSettings

__all__ = ["RenderMiddleware", "RenderedResponse"]

logger = logging.getLogger(__name__)

STATE_KEY = "_websegment_render"
"""Meta key with the page's history in the browser: its URL, failures, whether it is given up."""
METHODS_KEY = "playwright_page_methods"
GOTO_KEY = "playwright_page_goto_kwargs"
REMOTE_SETTINGS = ("PLAYWRIGHT_CDP_URL", "PLAYWRIGHT_CONNECT_URL", "PLAYWRIGHT_BROWSER_PROVIDER")
MAX_REASON = 200


class RenderedResponse(HtmlResponse):
    """The HTML of a rendered page; `captured_html` is the same with its layout in it."""

    attributes: tuple[str, ...] = (*HtmlResponse.attributes, "captured_html")

    def __init__(self, *args: Any, captured_html: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.captured_html = captured_html

    def replace(self, *args: Any, **kwargs: Any) -> Any:
        """Return a copy with other attributes; another class does without the layout."""
        cls = kwargs.get("cls", RenderedResponse)
        if issubclass(cls, RenderedResponse):
            return super().replace(*args, **kwargs)
        plain = HtmlResponse(**{name: getattr(self, name) for name in HtmlResponse.attributes})
        return plain.replace(*args, **kwargs)


class RenderMiddleware:
    """Has pages rendered in Chromium and gives them to the spider as `RenderedResponse`.

    A downloader middleware for position 850: before ``HttpCacheMiddleware`` (900), so that the
    cache keeps the pages with their layout.

    Settings: ``WEBSEGMENT_RENDER``, ``WEBSEGMENT_RENDER_TIMEOUT``, ``WEBSEGMENT_RENDER_RETRIES``,
    ``WEBSEGMENT_RENDER_SETTLE``, ``WEBSEGMENT_CHROMIUM``.

    Meta: ``{"websegment": {"render": "always" | "never"}}`` decides for one request; requests
    with ``playwright: False`` or without a callback (robots.txt, media), and those for which
    a browser is no use (other schemes than http and https, other methods than GET and POST) are
    left alone. ``meta["websegment"]["render_error"]`` says why a page came as plain HTML.

    A page that fails in the browser is tried there again ``WEBSEGMENT_RENDER_RETRIES`` times,
    then downloaded as plain HTML; a network error (``net::ERR_…``) leads straight to the plain
    download, to which Scrapy's own retries apply.

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
        self.unavailable: str | None = None
        self.checked = False
        if config.render == "always":
            self._check_browser()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Build the middleware; part of Scrapy's component interface."""
        config = Config.from_settings(crawler.settings)
        if not config.enabled:
            raise NotConfigured("WEBSEGMENT_ENABLED is off")
        return cls(crawler, config)

    def process_request(self, request: Request) -> None:
        """Mark the requests that are to be rendered."""
        state = _state_of(request)
        meta = PageMeta.from_meta(request.meta)
        if state is None and meta.render_error is not None:
            _set_error(request, None)  # copied from another page's meta
        if not self._is_to_be_rendered(request, meta):
            request.meta.pop(STATE_KEY, None)
            _remove_capture(request)
            return
        if state is not None and state["plain"]:
            request.meta[STATE_KEY] = {**state, "url": request.url}
            return
        self._check_browser()
        if self.unavailable is not None:
            request.meta.pop(STATE_KEY, None)
            _remove_capture(request)
            _set_error(request, self.unavailable)
            return
        request.meta[STATE_KEY] = {
            "url": request.url,
            "failures": state["failures"] if state else 0,
            "plain": False,
        }
        self._add_capture(request)

    def process_response(self, request: Request, response: Response) -> Response:
        """Take the layout out of a rendered page's HTML."""
        state = _state_of(request)
        if state is None or state["plain"] or not isinstance(response, TextResponse):
            return response
        text = response.text
        if not is_captured(text):
            if isinstance(response, HtmlResponse):
                self.stats.inc_value("websegment/render/uncaptured")
                _set_error(request, "the page came without its layout")
            return response
        self.stats.inc_value("websegment/render/pages")
        stripped = strip_capture(text)
        return RenderedResponse(
            url=response.url,
            status=response.status,
            headers=response.headers,
            body=stripped.encode(response.encoding, "xmlcharrefreplace"),
            flags=response.flags,
            request=response.request,
            certificate=response.certificate,
            ip_address=response.ip_address,
            protocol=response.protocol,
            encoding=response.encoding,
            captured_html=text,
        )

    def process_exception(self, request: Request, exception: Exception) -> Request | None:
        """Try a page that failed in the browser there again, or else its plain HTML."""
        state = _state_of(request)
        if state is None or state["plain"] or isinstance(exception, IgnoreRequest):
            return None
        self.stats.inc_value(f"websegment/render/error/{type(exception).__name__}")
        reason = _reason(exception)
        failures = state["failures"] + 1
        retry = None
        if (
            failures <= self.config.render_retries
            and "net::ERR_" not in reason
            and not request.meta.get("dont_retry")
        ):
            retry = self._retry_of(request, reason)
        if retry is not None:
            self.stats.inc_value("websegment/render/retried")
            retry.meta[STATE_KEY] = {**state, "failures": failures}
            return retry
        self.stats.inc_value("websegment/render/fallback")
        logger.warning("Taking the plain HTML of %s: rendering failed: %s", request.url, reason)
        plain = request.replace(dont_filter=True)
        plain.meta[STATE_KEY] = {"url": request.url, "failures": failures, "plain": True}
        plain.meta.pop("playwright_page", None)
        _remove_capture(plain)
        _set_error(plain, reason)
        return plain

    def _retry_of(self, request: Request, reason: str) -> Request | None:
        """Return a copy for another try, which leaves Scrapy's own count of retries as it is."""
        spider = self.crawler.spider
        if spider is None:
            return None
        so_far = request.meta.get("retry_times", 0)
        retry = get_retry_request(
            request,
            spider=spider,
            reason=reason,
            max_retry_times=so_far + 1,
            logger=logger,
            stats_base_key="websegment/render/retry",
        )
        if retry is not None:
            retry.meta["retry_times"] = so_far
            retry.meta.pop("playwright_page", None)
        return retry

    def _is_to_be_rendered(self, request: Request, meta: PageMeta) -> bool:
        if (meta.render or self.config.render) == "never" or request.callback is NO_CALLBACK:
            return False
        if request.meta.get("playwright", True) is False:
            return False
        if request.method not in {"GET", "POST"}:
            return False
        try:
            request.body.decode(request.encoding)  # scrapy-playwright sends bodies as text
        except UnicodeDecodeError:
            return False
        return urlparse_cached(request).scheme in {"http", "https"}

    def _add_capture(self, request: Request) -> None:
        """Add our page method as the last one; never twice, and never to a shared list."""
        ours = PageMethod(
            capture_page,
            settle_ms=self.config.render_settle * 1000,
            load_ms=self.config.render_timeout * 500,
        )
        given = request.meta.get(METHODS_KEY) or []
        if isinstance(given, dict):
            kept = {name: item for name, item in given.items() if not is_capture(item)}
            request.meta[METHODS_KEY] = {**kept, META_KEY: ours}
        else:
            request.meta[METHODS_KEY] = [*(item for item in given if not is_capture(item)), ours]
        goto = {"wait_until": "domcontentloaded", **(request.meta.get(GOTO_KEY) or {})}
        request.meta[GOTO_KEY] = goto
        request.meta["playwright"] = True

    def _check_browser(self) -> None:
        """Find out, once, whether there is a browser; a crawl without one goes on unrendered."""
        if self.checked:
            return
        self.checked = True
        settings = self.crawler.settings
        if not _handler_renders(settings):
            self._give_up(
                "no render handler",
                "DOWNLOAD_HANDLERS lacks websegment_scrapy.crawl.handler.RenderHandler for http "
                "and https: set it, or enable the add-on, which does",
            )
            return
        named = settings.getdict("PLAYWRIGHT_LAUNCH_OPTIONS").get("executable_path")
        if any(settings.get(name) for name in REMOTE_SETTINGS):
            return
        try:
            find_chromium(named or self.config.chromium)
        except BrowserNotFound as error:
            self._give_up("no browser", str(error))

    def _give_up(self, reason: str, explanation: str) -> None:
        self.unavailable = reason
        self.stats.set_value("websegment/render/unavailable", 1)
        logger.warning("Pages are not rendered but analysed as plain HTML: %s", explanation)


def _handler_renders(settings: BaseSettings) -> bool:
    handlers = settings.getwithbase("DOWNLOAD_HANDLERS")
    return all(
        handlers.get(scheme)
        and issubclass(load_object(handlers[scheme]), ScrapyPlaywrightDownloadHandler)
        for scheme in ("http", "https")
    )


def _state_of(request: Request) -> dict[str, Any] | None:
    """Return the page's history, unless it was copied from another page's meta.

    A request made with ``meta=response.meta`` has another URL than its history; a redirected
    one too, but the last URL it was redirected from is that of its history.
    """
    state: dict[str, Any] | None = request.meta.get(STATE_KEY)
    if state is None:
        return None
    redirected_from = (request.meta.get("redirect_urls") or [None])[-1]
    return state if state["url"] in {request.url, redirected_from} else None


def _remove_capture(request: Request) -> None:
    """Undo `RenderMiddleware._add_capture` on a request with copied meta."""
    given = request.meta.get(METHODS_KEY)
    items = list(given.values() if isinstance(given, dict) else given or ())
    if not any(is_capture(item) for item in items):
        return
    if isinstance(given, dict):
        request.meta[METHODS_KEY] = {k: item for k, item in given.items() if not is_capture(item)}
    else:
        request.meta[METHODS_KEY] = [item for item in items if not is_capture(item)]
    request.meta.pop("playwright", None)  # False would be the user's word


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
