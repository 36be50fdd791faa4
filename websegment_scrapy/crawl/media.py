"""What a rendered response really is: HTML, or something that the browser only displays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.http import Headers, HtmlResponse, Response
from scrapy.responsetypes import responsetypes

from websegment_scrapy.page.decode import SNIFFED_BYTES, is_plainly_not_html

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["VIEWED_TYPES", "is_html", "media_type", "with_right_type"]

HTML_TYPES = ("text/html", "application/xhtml+xml", "")
VIEWED_TYPES = ("application/pdf", "text/pdf")  # the browser has its viewer's HTML instead


def media_type(headers: Mapping[str, str]) -> str:
    """Return the media type of Playwright's headers in small letters; empty: none was given."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def is_html(kind: str, body: bytes) -> bool:
    """Tell whether a body of a media type is HTML, and not only called so."""
    return kind in HTML_TYPES and not is_plainly_not_html(body[:SNIFFED_BYTES])


def with_right_type(response: Response) -> Response:
    """Give a response the class and the charset that its headers and body really have."""
    if isinstance(response, HtmlResponse):
        kind = response.headers.get("Content-Type", b"") or b""
        declared = f"charset={response.encoding}".encode()
        if kind and declared.lower() not in kind.lower():
            # The browser's text did not fit the server's charset. Whoever reads the body later,
            # from an HTTP cache say, has only the header to go by.
            response.headers["Content-Type"] = kind.partition(b";")[0] + b"; " + declared
        return response
    headers = Headers(response.headers)
    cls = responsetypes.from_args(headers=headers, url=response.url, body=response.body)
    return response if type(response) is cls else response.replace(cls=cls)
