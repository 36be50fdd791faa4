"""Coming back to known pages for less than a full look: ``RevisitMiddleware``."""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import IgnoreRequest, NotConfigured
from scrapy.http.request import NO_CALLBACK

from websegment_scrapy.config import PageMeta
from websegment_scrapy.crawl.ending import Ending
from websegment_scrapy.crawl.pages import UNCHANGED, YIELDED_KEY, PageRegistry, enabled_config
from websegment_scrapy.crawl.render import STATE_KEY
from websegment_scrapy.crawl.writer import Undecided, crawl_name
from websegment_scrapy.dedup.decision import DecisionKind
from websegment_scrapy.exceptions import AnalysisError, StoreError
from websegment_scrapy.pool import Abandoned
from websegment_scrapy.store import PageRecord
from websegment_scrapy.store.record import Look
from websegment_scrapy.store.revisits import known
from websegment_scrapy.tasks import plain_hashes

if TYPE_CHECKING:
    from typing import Self

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from websegment_scrapy.config import Config
    from websegment_scrapy.crawl.pages import CrawledPage
    from websegment_scrapy.crawl.writer import StoreWriter
    from websegment_scrapy.findings import Report
    from websegment_scrapy.store.revisits import KnownPage

__all__ = ["NotDue", "RevisitMiddleware", "UnchangedPage", "look_of"]

logger = logging.getLogger(__name__)

REVISIT_KEY = "_websegment_revisit"
"""Meta key of a request that begins with a short look, or had one: its URL, what is known."""

OK, NOT_MODIFIED = 200, 304
CONDITIONS = ("If-None-Match", "If-Modified-Since")


class UnchangedPage(IgnoreRequest):
    """A page was not looked at, since it has not changed; an errback learns of it."""


class NotDue(IgnoreRequest):
    """A page was not visited, since it is not due; an errback learns of it."""


class RevisitMiddleware:
    """Finds known pages unchanged without looking at them, or does not visit them at all.

    A downloader middleware for position 584: its responses are decompressed (590) and no redirects
    (600), and `OnDemandMiddleware` (585) has nothing to do with a short look.

    Settings: ``WEBSEGMENT_REVISIT``, for which it is there.

    Meta: ``{"websegment": {"revisit": False}}`` has a page visited and looked at in full.

    A page that is unchanged is so on record, and its callback is not called; where the callback
    yielded requests at the last look, it gets the plain HTML, to yield them again, and its items
    are dropped. Everything else is looked at in full: what the store does not know, or knows from
    a crawl without this; pages whose plain HTML does not tell what they say; those that a script
    changed while their HTML stayed, or whose links are a script's; and any page now and then
    (``look_by`` in the database). Requests that did not come from a callback or ``start`` are left
    alone, as are those with ``playwright_include_page``.

    Stats, under ``websegment/revisit/``: ``not_due``, ``not_modified``, ``same_html``,
    ``other_html``, ``full`` (known pages that were looked at in full at once).
    """

    def __init__(self, crawler: Crawler, config: Config) -> None:
        assert crawler.stats is not None
        self.stats = crawler.stats
        self.config = config
        self.registry = PageRegistry.of(crawler)
        self.ending = Ending.of(crawler)
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Build the middleware for a crawl that comes back."""
        config = enabled_config(crawler)
        if not config.revisit:
            raise NotConfigured
        return cls(crawler, config)

    async def process_request(self, request: Request) -> None:
        """Drop what is not due, and mark what a short look may do for."""
        writer = self.registry.writer
        had_look = _forget(request)
        if writer is None or had_look or not self._is_page(request):
            return
        page = await self._known(writer, request)
        if page is None:
            return
        now = datetime.now(UTC)
        if self._is_to_wait(page, request, now):
            self.stats.inc_value("websegment/revisit/not_due")
            raise NotDue(f"not due before {page.due:%Y-%m-%d %H:%M} UTC: {request.url[:500]}")
        validators = self._validators(page, request)
        if not self._is_told(page, request, now) or not (
            validators or "hash" in self.config.revisit
        ):
            self.stats.inc_value("websegment/revisit/full")
            return
        request.meta[REVISIT_KEY] = {
            "url": request.url,
            "hash": page.plain_hash,
            "leads_on": page.leads_on,
            "added": list(validators),
            "dont_cache": request.meta.get("dont_cache"),
        }
        request.meta["dont_cache"] = True  # it is not what the cache would keep of a rendered page
        request.meta[STATE_KEY] = {"url": request.url, "failures": 0, "plain": True}
        for name, value in validators.items():
            request.headers[name] = value

    async def process_response(self, request: Request, response: Response) -> Response | Request:
        """Say ``unchanged``, or have the page looked at in full."""
        state = request.meta.get(REVISIT_KEY)
        if state is None or state["url"] != request.url or "hash" not in state:
            return response
        how = await self._why_unchanged(request, response, state)
        was_to_be_rendered = STATE_KEY in request.meta
        if how is not None and await self._note(request, how):
            if not state["leads_on"]:
                raise UnchangedPage(f"{how}: {request.url[:500]}")
            _forget(request)
            return response.replace(flags=[*response.flags, UNCHANGED])
        if was_to_be_rendered:
            again = request.replace(dont_filter=True)
            _forget(again)
            again.meta[REVISIT_KEY] = {"url": request.url}
            return again
        _forget(request)
        return response

    async def _why_unchanged(
        self, request: Request, response: Response, state: dict[str, Any]
    ) -> str | None:
        """Say how it is known that a page has not changed, if it is."""
        if response.status == NOT_MODIFIED and state["added"]:
            self.stats.inc_value("websegment/revisit/not_modified")
            return "the server says that it is not modified"
        if (
            response.status == OK
            and "hash" in self.config.revisit
            and state["hash"] in await self._hashes(request, response)
        ):
            self.stats.inc_value("websegment/revisit/same_html")
            return "its plain HTML is the same"
        self.stats.inc_value("websegment/revisit/other_html")
        return None

    async def _hashes(self, request: Request, response: Response) -> tuple[bytes, ...]:
        pool = self.registry.pool
        if pool is None or len(response.body) > self.config.page_size * 2**20:
            return ()
        future = pool.submit(plain_hashes, response.body, _text(response, "Content-Type"))
        try:
            with self.registry.at_work():
                return await asyncio.wrap_future(future)
        except Abandoned:
            raise self.ending.left(request) from None
        except AnalysisError:
            return ()

    async def _known(self, writer: StoreWriter, request: Request) -> KnownPage | None:
        try:
            found = writer.ask(known, request.url)
            return await self.ending.unless_left(found, request)
        except StoreError as error:
            logger.warning("What is known of %s cannot be read: %s", request.url[:500], error)
            return None

    async def _note(self, request: Request, how: str) -> bool:
        """Write down that a page is unchanged; ``False`` if it is not there any more."""
        writer = self.registry.writer
        assert writer is not None
        record = PageRecord(url=request.url, unchanged=how, crawl=crawl_name(self.crawler))
        try:
            decision = await writer.decide(record)
        except Undecided:
            raise self.ending.left(request) from None
        except StoreError as error:
            self.stats.inc_value("websegment/store_errors")
            logger.error("Not stored: %s: %s", request.url[:500], error)  # noqa: TRY400
            return False
        self.ending.decided(request)
        self.stats.inc_value(f"websegment/decision/{decision.kind}")
        return decision.kind is DecisionKind.UNCHANGED

    def _is_page(self, request: Request) -> bool:
        """Say whether a callback waits for a page, and for nothing but its HTML."""
        meta = request.meta
        said = PageMeta.from_meta(meta)
        return (
            bool(meta.get("is_start_request") or meta.get(YIELDED_KEY))
            and request.callback is not NO_CALLBACK
            and request.method == "GET"
            and request.url.startswith(("http://", "https://"))
            and not meta.get("playwright_include_page")
            and said.revisit
            and not said.skip
        )

    def _is_to_wait(self, page: KnownPage, request: Request, now: datetime) -> bool:
        """Say whether a page is not to be visited yet; one that leads to others always is."""
        return (
            "schedule" in self.config.revisit
            and page.due > now
            and not page.leads_on
            and not request.meta.get("is_start_request")
        )

    def _is_told(self, page: KnownPage, request: Request, now: datetime) -> bool:
        """Say whether a page's plain HTML may tell that it is unchanged."""
        mode = PageMeta.from_meta(request.meta).render or self.config.render
        return (
            page.plain_hash is not None
            and not page.scripted
            and not (page.leads_on and page.links_by_script)
            and page.look_by > now
            and (page.rendered or mode != "always")
        )

    def _validators(self, page: KnownPage, request: Request) -> dict[str, str]:
        """Return the headers of a conditional request, if one may be made.

        A server that says "not modified" sends no HTML from which links could be followed.
        """
        if (
            "conditional" not in self.config.revisit
            or page.leads_on
            or any(name in request.headers for name in CONDITIONS)
        ):
            return {}
        values = zip(CONDITIONS, (page.etag, page.last_modified), strict=True)
        return {name: value for name, value in values if value}


def look_of(page: CrawledPage, report: Report) -> Look | None:
    """Return what the next visit to a page may begin with."""
    request = page.response.request
    if page.status != OK or request is None or request.method != "GET":
        return None
    plain = report.plain
    return Look(
        etag=_text(page.response, "ETag"),
        last_modified=_text(page.response, "Last-Modified"),
        plain_hash=None if plain is None else plain.plain_hash,
        told_fully=plain is not None and plain.told_fully,
        links_by_script=plain is not None and plain.links_by_script,
        leads_on=page.leads_on,
    )


def _forget(request: Request) -> bool:
    """Undo what marks a short look; return whether the request had one and is to be in full.

    So it is for one that was marked for another URL: it was redirected, or its meta copied.
    """
    state = request.meta.pop(REVISIT_KEY, None)
    if state is None:
        return False
    if "hash" not in state:
        return bool(state["url"] == request.url)
    request.meta.pop(STATE_KEY, None)
    request.meta.pop("dont_cache", None)
    if state["dont_cache"] is not None:
        request.meta["dont_cache"] = state["dont_cache"]
    for name in state["added"]:
        request.headers.pop(name, None)
    return False


def _text(response: Response, header: str) -> str | None:
    value = response.headers.get(header)
    return None if value is None else value.decode("latin-1")
