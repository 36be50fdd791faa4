"""What the browser brought, as responses of Scrapy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.http import Headers, HtmlResponse
from scrapy.responsetypes import responsetypes

from websegment_scrapy.crawl.authenticity import CAPTURE_HEADER

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response

    from websegment_scrapy.crawl.authenticity import CaptureKey
    from websegment_scrapy.crawl.navigation import Document, Snapshot
    from websegment_scrapy.page.capture import Captured

__all__ = ["TOO_LARGE", "RenderedResponse", "file_response", "page_response", "rendered_response"]

TOO_LARGE = "too-large"
"""Flag of the empty response in place of a document larger than ``WEBSEGMENT_PAGE_SIZE``."""


class RenderedResponse(HtmlResponse):
    """The HTML of a rendered page; `captured` is the same with its layout in it."""

    attributes: tuple[str, ...] = (*HtmlResponse.attributes, "captured")

    def __init__(self, *args: Any, captured: Captured | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.captured = captured

    def replace(self, *args: Any, **kwargs: Any) -> Any:
        """Return a copy with other attributes; another body or class does without the layout."""
        cls = kwargs.get("cls", RenderedResponse)
        if "body" in kwargs:
            kwargs.setdefault("captured", None)
        if issubclass(cls, RenderedResponse):
            return super().replace(*args, **kwargs)
        kwargs.pop("captured", None)
        plain = HtmlResponse(**{name: getattr(self, name) for name in HtmlResponse.attributes})
        return plain.replace(*args, **kwargs)


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


def rendered_response(response: Response, captured: Captured) -> RenderedResponse:
    """Return a page for the spider: its HTML without the layout, which travels beside it."""
    headers = response.headers.copy()
    headers.pop(CAPTURE_HEADER, None)
    return RenderedResponse(
        url=response.url,
        status=response.status,
        headers=headers,
        body=captured.plain().encode(),
        flags=response.flags,
        request=response.request,
        certificate=response.certificate,
        ip_address=response.ip_address,
        protocol=response.protocol,
        encoding="utf-8",
        captured=captured,
    )


def _headers(document: Document) -> Headers:
    headers = Headers()
    for name, value in document.headers:
        headers.appendlist(name, value.replace("\n", ", "))
    for name in ("Content-Encoding", "Content-Length", "Transfer-Encoding", CAPTURE_HEADER):
        headers.pop(name, None)
    return headers
