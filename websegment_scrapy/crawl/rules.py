"""Scrapy's own rules for where a page ends up: ``allowed_domains`` and robots.txt.

In the browser a page can go elsewhere by script, by a form or by a redirect, past the middlewares
that would have looked at the request. So they are asked afterwards, about the address at which it
ended; the crawl's own instances, with whatever a user made of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.downloadermiddlewares.offsite import OffsiteMiddleware
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.exceptions import IgnoreRequest
from scrapy.utils.httpobj import urlparse_cached

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

__all__ = ["offsite", "why_not"]


def offsite(crawler: Crawler, request: Request, url: str) -> str | None:
    """Say why a request may not end at `url` by the spider's ``allowed_domains``, if it may not.

    On the request's own host it may: there the spider sent it.
    """
    target = Request(url)
    host = urlparse_cached(target).hostname
    if host == urlparse_cached(request).hostname or request.meta.get("allow_offsite"):
        return None
    for middleware in _middlewares(crawler, OffsiteMiddleware):
        if not middleware.should_follow(target, crawler.spider):
            return f"it went to {host}, which allowed_domains excludes"
    return None


async def why_not(crawler: Crawler, request: Request, url: str) -> str | None:
    """Say why a request may not end at `url`, if it may not."""
    reason = offsite(crawler, request, url)
    if reason is not None:
        return reason
    meta = {key: request.meta[key] for key in ("dont_obey_robotstxt",) if key in request.meta}
    target = Request(url, headers=request.headers, meta=meta)
    for middleware in _middlewares(crawler, RobotsTxtMiddleware):
        try:
            await middleware.process_request(target)
        except IgnoreRequest:
            return f"it went to {url[:200]}, which robots.txt forbids"
    return None


def _middlewares(crawler: Crawler, kind: type) -> list[Any]:
    """Return the crawl's downloader middlewares of a class."""
    engine: Any = crawler.engine
    manager = getattr(getattr(engine, "downloader", None), "middleware", None)
    return [each for each in getattr(manager, "middlewares", ()) if isinstance(each, kind)]
