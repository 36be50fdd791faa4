"""One page's way through the browser, watched at the DevTools protocol.

Playwright's own interception does not see where a redirect leads, and its answers about content
and address are of different moments. Here both come from the browser itself:

- Every document that the page's main frame loads passes twice (`Fetch` domain): before it is sent,
  where the headers of the crawl's request are added on the way to its own origin and on no other;
  and when its answer begins, where address, status and headers are noted by the loader's id.
- The capture is one evaluation in an isolated world of the page's document. The loader's id before
  and after it is the same, or it does not count; so text, layout and address belong together, and
  the address is the one that the server answered for, whatever the page writes into its history.
"""

from __future__ import annotations

import asyncio
import base64
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from playwright.async_api import Error as PlaywrightError

from websegment_scrapy.crawl import trackers
from websegment_scrapy.crawl.failures import ElsewhereError
from websegment_scrapy.crawl.media import TooLargeError, is_file, read_body, too_large
from websegment_scrapy.exceptions import WebsegmentError
from websegment_scrapy.page.capture import SCRIPT, Captured, new_mark
from websegment_scrapy.page.garbled import is_undeclared, ungarbled

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from playwright.async_api import CDPSession, Page

__all__ = ["Document", "Navigation", "Opening", "Snapshot", "WentOnError"]

# Types of resources that nothing here needs ("Other" is icons, manifests, prefetches). Images may
# have no declared size; the pattern of "EventSource" stops every fetch and XHR in Chromium 156.
_UNNEEDED = ("CSPViolationReport", "Font", "Media", "Other", "Ping")
_PATTERNS = [
    {"resourceType": "Document", "requestStage": "Request"},
    {"resourceType": "Document", "requestStage": "Response"},
    *({"resourceType": kind, "requestStage": "Request"} for kind in _UNNEEDED),
]
# What the browser says of itself and of the connection is not the crawl's to say.
_BROWSERS_OWN = frozenset(
    "accept-encoding connection content-length cookie host proxy-authorization te "
    "transfer-encoding upgrade user-agent".split()
)
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_WITHOUT_BODY = frozenset({204, 205, 304})
_MAX_DOCUMENTS = 50  # that are remembered: a page that goes on and on is not followed for ever
_MAX_FRAMES = 200  # requests of frames; pages full of adverts have some dozens
_GONE = ("context", "frame", "navigated", "world")
"""Words of the browser's messages when the document that was asked is no longer there."""


class WentOnError(WebsegmentError):
    """The page went to another one while it was captured."""


@dataclass(frozen=True, slots=True)
class Opening:
    """The crawl's request: what is sent to its own origin and nowhere else."""

    url: str
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Document:
    """What a server answered for a document of the main frame."""

    url: str
    status: int
    headers: list[tuple[str, str]]
    first: bool
    """Whether it is the answer to the crawl's own request, redirects included."""
    body: bytes | None = None
    """The bytes of what is no page."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A page at one moment."""

    document: Document
    captured: Captured
    bare: bool
    """Whether the document has no head of its own: it may be something else than HTML."""


class Navigation:
    """Watches a page from before its first request; made by `Navigation.watch`.

    Attributes
    ----------
    answer
        The document itself, when it is no page but a file.
    latest
        The last address that the main frame asked for.
    too_large
        The bytes that a document announced, if they were too many.
    """

    def __init__(self, session: CDPSession, frame: str, opening: Opening, limit: int) -> None:
        self._session = session
        self._frame = frame
        self._opening = opening
        self._frames = 0
        self._origin = _origin(opening.url)
        self._limit = limit
        self._loader: str | None = None
        self._documents: dict[str, Document] = {}
        self._answering: set[asyncio.Task[None]] = set()
        self.answer: Document | None = None
        self.latest = opening.url
        self.too_large: int | None = None

    @classmethod
    async def watch(
        cls, page: Page, opening: Opening, limit: int, refused: Sequence[dict[str, str]] = ()
    ) -> Navigation:
        """Begin to watch a page that shows nothing yet.

        Parameters
        ----------
        page
            A new page.
        opening
            The request with which it will be opened.
        limit
            Bytes that a document may have.
        refused
            Patterns of more requests that are not to be sent.
        """
        session = await page.context.new_cdp_session(page)
        tree = await session.send("Page.getFrameTree")
        navigation = cls(session, tree["frameTree"]["frame"]["id"], opening, limit)
        session.on("Fetch.requestPaused", navigation._paused)
        patterns = [*_PATTERNS, *trackers.patterns(opening.url), *refused]
        await session.send("Fetch.enable", {"patterns": patterns})
        return navigation

    async def set_cookies(self, header: str) -> None:
        """Give the browser the cookies of the crawl's request that it has not already."""
        url = self._opening.url
        found = await self._session.send("Network.getCookies", {"urls": [url]})
        known = {cookie["name"]: cookie for cookie in found["cookies"]}
        for pair in header.split(";"):
            name, _, value = pair.strip().partition("=")
            old = known.get(name, {})
            if name and old.get("value") != value:
                place = {key: old[key] for key in ("domain", "path") if key in old}
                cookie = {"name": name, "value": value, "url": url, **(place or {"path": "/"})}
                with suppress(PlaywrightError):  # a name or value that no browser takes
                    await self._session.send("Network.setCookie", cookie)

    async def stop_loading(self) -> None:
        """Stop what is still being loaded."""
        await self._session.send("Page.stopLoading")

    async def ping(self, what: str) -> None:
        """Wait until the ``"browser"`` or the page answers; before a server did, there is none."""
        if what == "browser":
            await self._session.send("Target.getTargetInfo")
        elif self._documents:
            await self._session.send("Runtime.evaluate", {"expression": "0"})

    async def capture(self, settle_ms: float) -> Snapshot:
        """Take the page as it is when it has been quiet for `settle_ms`.

        Raises
        ------
        WentOnError
            It has gone to another page meanwhile.
        ElsewhereError
            What it shows came from no server.
        TooLargeError
            It is larger than the limit.
        """
        before = await self._shown()
        mark = new_mark()
        try:
            world = await self._session.send(
                "Page.createIsolatedWorld", {"frameId": self._frame, "worldName": mark}
            )
            answer = await self._session.send(
                "Runtime.callFunctionOn",
                {
                    "functionDeclaration": SCRIPT,
                    "executionContextId": world["executionContextId"],
                    "arguments": [
                        {"value": {"settle": settle_ms, "mark": mark, "limit": self._limit}}
                    ],
                    "awaitPromise": True,
                    "returnByValue": True,
                },
            )
        except PlaywrightError as error:
            if any(word in error.message for word in _GONE):
                raise WentOnError("the page went on to another one") from error
            raise
        after = await self._shown()
        if before["loaderId"] != after["loaderId"]:
            raise WentOnError("the page went on to another one")
        if "exceptionDetails" in answer:
            what = answer["exceptionDetails"].get("exception", {}).get("description", "")
            raise WebsegmentError(f"the page could not be captured: {what[:200]}")
        value = answer["result"].get("value") or {}
        snapshot = self._snapshot(before, value, mark)
        if value["western"] and is_undeclared(snapshot.document.headers):
            html = await asyncio.to_thread(ungarbled, snapshot.captured.html)
            snapshot = replace(snapshot, captured=Captured(html, mark))
        return snapshot

    async def close(self) -> None:
        """Let go of the page."""
        with suppress(PlaywrightError):
            await self._session.detach()

    def _snapshot(self, frame: dict[str, Any], value: dict[str, Any], mark: str) -> Snapshot:
        document = self._documents.get(frame["loaderId"])
        if document is None or urlsplit(frame["url"]).scheme not in ("http", "https", "file"):
            raise ElsewhereError(f"the browser shows {frame['url'][:100]}, which no server sent")
        size = max(value.get("length") or 0, value.get("bytes") or 0)
        if size > self._limit:
            raise TooLargeError(too_large(document.url, size, self._limit))
        if "html" not in value:
            raise WebsegmentError(f"{document.url} is not an HTML page")
        return Snapshot(document, Captured(value["html"], mark), bool(value["bare"]))

    async def _shown(self) -> dict[str, Any]:
        tree = await self._session.send("Page.getFrameTree")
        frame: dict[str, Any] = tree["frameTree"]["frame"]
        return frame

    def _paused(self, event: dict[str, Any]) -> None:
        task = asyncio.ensure_future(self._answer(event))
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    async def _answer(self, event: dict[str, Any]) -> None:
        with suppress(PlaywrightError):  # the page is gone
            if event["resourceType"] != "Document":
                await self._refuse(event)
            elif event["frameId"] != self._frame:
                await self._frame_request(event)
            elif "responseStatusCode" in event:
                await self._main_response(event)
            elif "responseErrorReason" in event:
                await self._go_on(event)
            else:
                await self._main_request(event)

    async def _frame_request(self, event: dict[str, Any]) -> None:
        """Let a frame be loaded, unless there are too many."""
        self._frames += "responseStatusCode" not in event and "responseErrorReason" not in event
        if self._frames > _MAX_FRAMES:
            await self._refuse(event)
        else:
            await self._go_on(event)

    async def _go_on(self, event: dict[str, Any], **changes: Any) -> None:
        await self._session.send(
            "Fetch.continueRequest", {"requestId": event["requestId"], **changes}
        )

    async def _refuse(self, event: dict[str, Any], reason: str = "BlockedByClient") -> None:
        await self._session.send(
            "Fetch.failRequest", {"requestId": event["requestId"], "errorReason": reason}
        )

    async def _main_request(self, event: dict[str, Any]) -> None:
        """Send the crawl's headers to their origin, and to no other on the way."""
        url, loader, opening = event["request"]["url"], event.get("networkId"), self._opening
        self.latest = url
        begins = self._loader is None
        if begins:
            self._loader = loader
        ours = {
            name.lower(): {"name": name, "value": value}
            for name, value in opening.headers.items()
            if name.lower() not in _BROWSERS_OWN
        }
        headers = {
            name.lower(): {"name": name, "value": value}
            for name, value in event["request"]["headers"].items()
        }
        if loader == self._loader and _origin(url) == self._origin:
            headers |= ours
        else:
            headers = {name: sent for name, sent in headers.items() if ours.get(name) != sent}
        changes: dict[str, Any] = {"headers": list(headers.values())}
        if begins and opening.method != event["request"]["method"]:
            changes["method"] = opening.method
        if begins and opening.body:
            changes["postData"] = base64.b64encode(opening.body).decode()
        await self._go_on(event, **changes)

    async def _main_response(self, event: dict[str, Any]) -> None:
        """Note whose answer it is; a file is read, not shown."""
        status, loader = event["responseStatusCode"], event.get("networkId")
        headers = [(each["name"], each["value"]) for each in event.get("responseHeaders") or ()]
        first = {name.lower(): value for name, value in reversed(headers)}
        if status in _REDIRECTS and "location" in first:
            await self._go_on(event)
            return
        document = Document(event["request"]["url"], status, headers, loader == self._loader)
        length = first.get("content-length", "")
        if length.isdigit() and len(length) < 20 and int(length) > self._limit:
            self.too_large = int(length)
            await self._refuse(event, "Aborted")
        elif status in _WITHOUT_BODY or is_file(first):
            if document.first:
                await self._read_answer(event, document)
            await self._refuse(event, "Aborted")
        elif len(self._documents) >= _MAX_DOCUMENTS or loader is None:
            await self._refuse(event, "Aborted")
        else:
            self._documents[loader] = document
            await self._go_on(event)

    async def _read_answer(self, event: dict[str, Any], document: Document) -> None:
        body = b""
        if document.status not in _WITHOUT_BODY:
            body = await read_body(self._session, event["requestId"], self._limit)
            if len(body) > self._limit:
                self.too_large = len(body)
                return
        self.answer = Document(document.url, document.status, document.headers, True, body)


def _origin(url: str) -> tuple[str, str, int | None]:
    parts = urlsplit(url)
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    return parts.scheme, parts.hostname or "", port
