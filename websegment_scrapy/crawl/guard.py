"""What the browser is refused, a plain download in its place is refused too.

A page that is not rendered after all is downloaded plainly. Then Scrapy follows its redirects, and
knows nothing of private addresses; and the request is not filtered as a duplicate, which would let
it leave ``allowed_domains`` as well.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from scrapy.exceptions import IgnoreRequest

from websegment_scrapy.crawl.keeping import refusal
from websegment_scrapy.crawl.rules import offsite
from websegment_scrapy.exceptions import WebsegmentError
from websegment_scrapy.keeper.addresses import PrivateHosts

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from websegment_scrapy.config import Config

__all__ = ["Guard", "PrivateAddressRefused"]

logger = logging.getLogger(__name__)

MAX_NAMED = 100
"""Hosts whose refusal is logged; of the others only the stat tells."""


class PrivateAddressRefused(WebsegmentError, IgnoreRequest):
    """A page is at a private address, or led to one; `url` is where."""

    def __init__(self, url: str, address: str | None = None) -> None:
        self.host = urlsplit(url).hostname or ""
        super().__init__(refusal(self.host, address))
        self.url = url

    def is_of(self, url: str) -> bool:
        """Say whether it was the host of `url` itself that was refused."""
        return urlsplit(url).hostname == self.host


class Guard:
    """Looks at plain downloads of pages that were to be rendered."""

    def __init__(self, crawler: Crawler, config: Config) -> None:
        self._crawler = crawler
        self._private = PrivateHosts(config.private_hosts)
        self._named: set[str] = set()

    async def before(self, request: Request, came_from: str) -> None:
        """Refuse a request that may not be sent; it is for, or was redirected from, `came_from`."""
        if request.url != came_from:
            reason = offsite(self._crawler, request.replace(url=came_from), request.url)
            if reason is not None:
                raise IgnoreRequest(reason)
        from websegment_scrapy.crawl.handler import RenderHandler  # loaded by the downloader

        keeper = RenderHandler.keeper_of(self._crawler)
        if keeper is not None and keeper.is_running and not await keeper.is_allowed(request.url):
            refused = PrivateAddressRefused(request.url)
            self.name(refused)
            raise refused

    def after(self, request: Request, response: Response) -> None:
        """Refuse what came from a private address after all: a name may resolve anew each time."""
        if response.ip_address is None or request.meta.get("proxy"):
            return
        host, address = urlsplit(request.url).hostname or "", str(response.ip_address)
        if not self._private.allows(host, address):
            raise PrivateAddressRefused(request.url, address)

    def name(self, refused: PrivateAddressRefused) -> None:
        """Log a refusal, once for each host: whoever wants to crawl there needs the remedy."""
        if refused.host not in self._named and len(self._named) < MAX_NAMED:
            self._named.add(refused.host)
            logger.warning("Not downloaded: %s: %s", refused.url[:200], refused)
