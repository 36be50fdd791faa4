"""``PressureMiddleware``: downloads wait when analysis or the database falls behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.http.request import NO_CALLBACK

from websegment_scrapy.crawl.ending import FILTER_KEY
from websegment_scrapy.crawl.pages import WithRegistry

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response

__all__ = ["PressureMiddleware"]


class PressureMiddleware(WithRegistry):
    """Downloader middleware that holds responses back while enough pages are at work.

    Scrapy itself stops downloading only when the responses under way reach
    ``SCRAPER_SLOT_MAX_ACTIVE_SIZE`` (5 MB): thousands of small pages, each with a hundred tasks
    of its own, would pile up in memory and slow the event loop down. A response that waits here
    keeps its place among the ``CONCURRENT_REQUESTS``, so the downloader waits too.

    Only pages that are being analysed or stored count, and these end by themselves, so a pipeline
    that downloads something of its own (files, images) cannot block itself; such requests, which
    have no callback, never wait.
    """

    def process_request(self, request: Request) -> None:
        """Make a request that was left at the end of an earlier run as it was (`ending`)."""
        if request.meta.pop(FILTER_KEY, None):
            request.dont_filter = False

    async def process_response(self, request: Request, response: Response) -> Response:
        """Pass the response on when there is room."""
        if request.callback is not NO_CALLBACK:
            await self.registry.room()
        return response
