"""The download handler: Scrapy's own until a page is to be rendered, then also the `renderer`.

Playwright takes a quarter of a second to load, which a crawl that renders nothing does not spend.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar
from weakref import WeakKeyDictionary, ref

from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler
from scrapy.utils.reactor import verify_installed_reactor

from websegment_scrapy.config import Config
from websegment_scrapy.crawl.ending import Ending
from websegment_scrapy.crawl.render import STATE_KEY

if TYPE_CHECKING:
    from typing import Self

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from websegment_scrapy.crawl.keeping import Keeper
    from websegment_scrapy.crawl.renderer import Renderer

__all__ = ["RenderHandler"]

REACTOR = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"


class RenderHandler(HTTP11DownloadHandler):
    """Download handler for ``http`` and ``https``; renders what has ``meta["playwright"]``.

    Both schemes share one handler, and so one `Renderer` with its browser. With
    ``WEBSEGMENT_RENDER = "always"`` the renderer is built with the handler, so that a mistake in
    scrapy-playwright's settings shows at the start; otherwise with the first page to render.
    """

    lazy = False
    _shared: ClassVar[WeakKeyDictionary[Crawler, ref[RenderHandler]]] = WeakKeyDictionary()

    def __init__(self, crawler: Crawler) -> None:
        verify_installed_reactor(REACTOR)
        super().__init__(crawler)
        self._crawler = crawler
        self._ending = Ending.of(crawler)
        self._closed = False
        self._renderer: Renderer | None = None
        if Config.from_settings(crawler.settings).render == "always":
            self.renderer()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the crawler's one handler, so that both schemes use the same browser."""
        handler = cls._of(crawler)
        if not isinstance(handler, cls):
            handler = cls(crawler)
            cls._shared[crawler] = ref(handler)
        return handler

    @classmethod
    def keeper_of(cls, crawler: Crawler) -> Keeper | None:
        """Return the keeper of a crawl's browser, if that has been started."""
        handler = cls._of(crawler)
        return None if handler is None or handler._renderer is None else handler._renderer.keeper

    def renderer(self) -> Renderer:
        """Return what renders the pages; the first call builds it."""
        if self._renderer is None:
            from websegment_scrapy.crawl.renderer import Renderer

            self._renderer = Renderer(self._crawler)
        return self._renderer

    async def download_request(self, request: Request) -> Response:
        """Download or render a page, unless the crawl ends before that is done."""
        if "look" in request.meta.get(STATE_KEY, ()):  # the cache keeps the page as it ends up
            request.meta["dont_cache"] = True
        if request.meta.get("playwright"):
            work = self.renderer().download_request(request)
        else:
            work = super().download_request(request)
        response: Response = await self._ending.unless_left(work, request)
        return response

    async def close(self) -> None:
        """Close connections and browser once, for both schemes, in limited time."""
        if self._closed:
            return
        self._closed = True
        try:
            await super().close()
        finally:
            if self._renderer is not None:
                await self._renderer.close()

    @classmethod
    def _of(cls, crawler: Crawler) -> RenderHandler | None:
        known = cls._shared.get(crawler)
        return None if known is None else known()
