"""Earlier pages of a site are judged again when the crawl knows more about it."""

from __future__ import annotations

import asyncio
import logging
from time import monotonic
from typing import TYPE_CHECKING

from websegment_scrapy.crawl.ending import Ending
from websegment_scrapy.exceptions import AnalysisError, StoreError
from websegment_scrapy.store.revision import finish, pending_sites, read_kept, revise
from websegment_scrapy.store.settling import settle, unsettled
from websegment_scrapy.tasks import judge_again

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy.crawler import Crawler

    from websegment_scrapy.config import Config
    from websegment_scrapy.crawl.pages import PageRegistry
    from websegment_scrapy.crawl.writer import StoreWriter
    from websegment_scrapy.store.revision import Kept, KeptSite, Revision

__all__ = ["Reviser", "page_revised"]

logger = logging.getLogger(__name__)

page_revised = object()
"""Scrapy signal: a page was judged again, and is decided anew.

Sent with ``revision`` (`store.revision.Revision`) and ``main_text``, ``None`` where that is as it
was and only what the page repeats is another; the item of the page is gone by then. Connect to it
by ``crawler.signals.connect(listener, page_revised)``.
"""

LAST_SECONDS = 10.0
"""For the sites that are left when a crawl is ended before its time; the next one goes on."""


class Reviser:
    """Judges the pages of sites again: in the worker processes, while the crawl goes on.

    Stats: ``websegment/revised``.
    """

    def __init__(
        self, crawler: Crawler, config: Config, writer: StoreWriter, registry: PageRegistry
    ) -> None:
        self._crawler = crawler
        self._config = config
        self._writer = writer
        self._registry = registry
        self._ending = Ending.of(crawler)
        self._under_way: dict[str, asyncio.Task[None]] = {}

    def start(self, host: str) -> None:
        """Judge the pages of a host again, unless that is being done."""
        if host not in self._under_way:
            task = asyncio.create_task(self._revise(host))
            self._under_way[host] = task
            task.add_done_callback(lambda _: self._under_way.pop(host, None))

    async def finish(self, *, finished: bool) -> None:
        """Judge all pages again that were judged when less was known of their site.

        Parameters
        ----------
        finished
            Whether the crawl has come to its end; one that was ended does not take long for it.
        """
        end = None if finished else monotonic() + LAST_SECONDS
        await asyncio.gather(*self._under_way.values())
        try:
            hosts = await self._writer.ask(pending_sites, self._config.site_min_pages)
        except StoreError as error:
            logger.warning("Pages are not judged again: %s", error)
            return
        for number, host in enumerate(hosts):
            if self._is_over(end):
                logger.info(
                    "The pages of %d sites are left to be judged again by the next crawl, or by "
                    "websegment dedup revise",
                    len(hosts) - number,
                )
                return
            await self._revise(host)
        if not self._config.drop_duplicates:
            await self._settle(end)

    def _is_over(self, end: float | None) -> bool:
        return self._ending.leaving or (end is not None and monotonic() > end)

    async def _settle(self, end: float | None) -> None:
        """Choose the representatives of this crawl's clusters (`store.settling`).

        Not where duplicates are dropped: there who came first is the one that was delivered.
        """
        assert self._crawler.stats is not None
        started = self._crawler.stats.get_value("start_time")
        done: set[int] = set()
        try:
            for page_id in await self._writer.ask(unsettled, started):
                if page_id in done or self._is_over(end):
                    continue
                for revision in await self._writer.ask(settle, started, page_id, done):
                    self._tell(revision, None)
        except StoreError as error:
            logger.warning("Not all clusters are settled: %s", error)

    def _tell(self, revision: Revision, main_text: str | None) -> None:
        assert self._crawler.stats is not None
        self._crawler.stats.inc_value("websegment/revised")
        self._crawler.signals.send_catch_log(page_revised, revision=revision, main_text=main_text)

    async def _revise(self, host: str) -> None:
        config = self._config
        try:
            site = await self._writer.ask(
                read_kept, host, config.site_threshold, config.site_min_pages
            )
            for chunk in site.chunks():
                await self._revise_some(site, chunk)
            await self._writer.ask(finish, site)
        except (StoreError, AnalysisError) as error:
            # What is left is still pending in the store.
            level = logging.DEBUG if self._ending.leaving else logging.WARNING
            logger.log(level, "The pages of %s are not all judged again: %s", host, error)

    async def _revise_some(self, site: KeptSite, chunk: Sequence[Kept]) -> None:
        pool = self._registry.pool
        if pool is None:
            raise AnalysisError("there is no SegmentPipeline: enable it beside DedupPipeline")
        future = pool.submit(judge_again, site.tasks(chunk), self._config.signature)
        answers = await asyncio.wrap_future(future)
        judged, texts = site.judged(chunk, answers)
        for kept, revision in await self._writer.ask(revise, judged):
            self._tell(revision, texts[kept.page_id])
