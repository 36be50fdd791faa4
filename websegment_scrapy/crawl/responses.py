"""What the browser brought, as responses of Scrapy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.http import Headers, HtmlResponse
from scrapy.responsetypes import responsetypes

from websegment_scrapy.crawl.authenticity import CAPTURE_HEADER

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response

    from websegment_scrapy.crawl.authenticity import CaptureKey
    from websegment_scrapy.crawl.navigation import Document, Snapshot

__all__ = ["file_response", "page_response"]


def file_response(request: Request, document: Document, body: bytes | None = None) -> Response:
    """Return what is no page, with the class that its headers and bytes call for."""
    headers = _headers(document)
    body = document.body if body is None else body
    cls = responsetypes.from_args(headers=headers, url=document.url, body=body)
    return cls(
        url=document.url,
        status=document.status,
        headers=headers,
        body=body or b"",
        request=request,
        flags=["playwright"],
    )


def page_response(request: Request, snapshot: Snapshot, key: CaptureKey) -> Response:
    """Return a page's HTML with its layout, signed; whoever reads it later has the header only."""
    document = snapshot.document
    headers = _headers(document)
    kind = (headers.get("Content-Type") or b"text/html").partition(b";")[0].strip()
    headers["Content-Type"] = kind + b"; charset=utf-8"
    body = snapshot.captured.html.encode("utf-8", "replace")
    headers[CAPTURE_HEADER] = key.sign(document.url, body, snapshot.captured.mark)
    return HtmlResponse(
        url=document.url,
        status=document.status,
        headers=headers,
        body=body,
        request=request,
        flags=["playwright"],
        encoding="utf-8",
    )


def _headers(document: Document) -> Headers:
    headers = Headers()
    for name, value in document.headers:
        headers.appendlist(name, value.replace("\n", ", "))
    for name in ("Content-Encoding", "Content-Length", "Transfer-Encoding", CAPTURE_HEADER):
        headers.pop(name, None)
    return headers
