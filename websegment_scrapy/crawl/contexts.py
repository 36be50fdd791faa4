"""Which browser context a request gets: one for each site, and what else sets requests apart.

A context has its own cookies, storage, caches and connections. With one for each site, no site
meets what another one left, and one that holds all its connections holds up only itself.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from scrapy.utils.httpobj import urlparse_cached

if TYPE_CHECKING:
    from scrapy import Request

__all__ = ["MAX_CONTEXTS", "PREFIX", "context_name", "proxy_of"]

PREFIX = "websegment "
"""With which the names of our own contexts begin; a user's ``playwright_context`` stays his."""

MAX_CONTEXTS = 12
"""Contexts kept for the next page of their sites; each takes some 10 MB of the browser's memory."""


def context_name(request: Request, *, cookies: bool, number: int) -> str:
    """Return the name of a request's context.

    Parameters
    ----------
    request
        The request, as the downloader middlewares left it.
    cookies
        Whether cookies are kept between pages (``COOKIES_ENABLED``).
    number
        A number that no other page has: a page that keeps nothing has a context to itself.
    """
    host = urlparse_cached(request).netloc
    parts: list[Any] = [host, request.meta.get("cookiejar"), request.meta.get("proxy")]
    parts.append((request.headers.get("User-Agent") or b"").decode("latin-1"))
    parts.append((request.headers.get("Proxy-Authorization") or b"").decode("latin-1"))
    if not cookies or request.meta.get("dont_merge_cookies"):
        parts.append(number)
    return PREFIX + " ".join(str(part) for part in parts if part)


def proxy_of(request: Request) -> str | None:
    """Return the proxy that Scrapy would use, with its user and password.

    ``HttpProxyMiddleware`` moves these from the address to a header, for the proxy alone.
    """
    proxy: str | None = request.meta.get("proxy")
    if not proxy:
        return None
    kind, _, encoded = (request.headers.get("Proxy-Authorization") or b"").partition(b" ")
    parts = urlsplit(proxy)
    if kind.lower() != b"basic" or parts.username:
        return proxy
    user, _, password = base64.b64decode(encoded).decode("latin-1").partition(":")
    login = f"{quote(user, safe='')}:{quote(password, safe='')}"
    return parts._replace(netloc=f"{login}@{parts.netloc}").geturl()
