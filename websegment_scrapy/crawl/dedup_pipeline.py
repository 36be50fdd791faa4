"""``DedupPipeline``: the near-duplicate decision on a page, stored before the item goes on."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import fields
from time import monotonic
from typing import TYPE_CHECKING, Any

from scrapy import signals

from websegment_scrapy.crawl.dropping import NearDuplicate, Unchanged
from websegment_scrapy.crawl.ending import Ending
from websegment_scrapy.crawl.pages import PageRegistry, add_seconds, enabled_config
from websegment_scrapy.crawl.revision import Reviser
from websegment_scrapy.crawl.revisit import look_of
from websegment_scrapy.crawl.sites import SiteVerdicts
from websegment_scrapy.crawl.writer import StoreWriter, Undecided, crawl_name
from websegment_scrapy.dedup.decision import Decision, DecisionKind
from websegment_scrapy.dedup.signature import RECIPES
from websegment_scrapy.exceptions import StoreError
from websegment_scrapy.findings import Findings
from websegment_scrapy.page.decode import OtherFormat
from websegment_scrapy.store import PageRecord, Store

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.statscollectors import StatsCollector

    from websegment_scrapy.config import Config
    from websegment_scrapy.crawl.pages import CrawledPage

__all__ = ["DedupPipeline", "NearDuplicate", "Unchanged"]

logger = logging.getLogger(__name__)

_OF_ANALYSIS = {field.name for field in fields(PageRecord)} & {
    field.name for field in fields(Findings)
}
"""What the store is told of a page as the analysis has it."""


class DedupPipeline:
    """Item pipeline that decides and stores each analysed page in one transaction.

    Settings: ``WEBSEGMENT_DATABASE``, ``WEBSEGMENT_SIMILARITY``, ``WEBSEGMENT_MIN_WORDS``,
    ``WEBSEGMENT_SECRET_KEYS``, ``WEBSEGMENT_DROP_DUPLICATES``, ``WEBSEGMENT_DROP_UNCHANGED``,
    ``WEBSEGMENT_CHANGED_SHARE``, ``WEBSEGMENT_IGNORE_FIGURES``, ``WEBSEGMENT_FIELD``,
    ``WEBSEGMENT_SITE_TEMPLATES``, ``WEBSEGMENT_SITE_THRESHOLD``, ``WEBSEGMENT_SITE_MIN_PAGES``.

    Adds to the item's result field: ``decision``, ``duplicate_of``, ``similarity``,
    ``representative``, ``first_seen``, ``reason``, ``revised`` and ``emptied``.

    Stats: ``websegment/decision/KIND`` for each kind of decision, ``websegment/store_seconds``,
    ``websegment/store_errors``, ``websegment/duplicates_dropped``,
    ``websegment/unchanged_dropped``, ``websegment/emptied``, ``websegment/crowded_keys``.

    Decisions go through a bounded queue in batches (`StoreWriter`); all are stored before the
    spider closes. A crawl whose database cannot be opened or written does not start, and leaves
    feeds as they are; one whose database is lost on the way is closed with the reason, and leaves
    what is not decided for the resume (`Ending`). Both have an exit status that is not 0.
    """

    def __init__(self, crawler: Crawler, config: Config) -> None:
        assert crawler.stats is not None
        self.crawler = crawler
        self.stats: StatsCollector = crawler.stats
        self.config = config
        self.registry = PageRegistry.of(crawler)
        self.ending = Ending.of(crawler)
        self.writer: StoreWriter | None = None
        self.reviser: Reviser | None = None
        self._came_to_its_end = False
        crawler.signals.connect(self._idle, signals.spider_idle)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Build the pipeline."""
        return cls(crawler, enabled_config(crawler))

    async def open_spider(self) -> None:
        """Open the database; a crawl that could not store its decisions does not start.

        The error ends the process with a status that is not 0, where ``CloseSpider`` would close
        the crawl in good order: with status 0, and with feeds overwritten by nothing.
        """
        writer = StoreWriter(self._lost)
        try:
            await writer.open(self._open)
        except StoreError as error:
            await writer.close()
            logger.error("The crawl cannot start without its store: %s", error)  # noqa: TRY400
            self.ending.refuse(f"websegment store: {error}")
            raise
        self.writer = self.registry.writer = writer
        self.registry.settled = asyncio.Event()
        self.registry.steps["decision"] = self._decide
        self.ending.on_leave(writer.hurry)
        if self.config.site_templates:
            self.reviser = Reviser(self.crawler, self.config, writer, self.registry)
            self.registry.sites = SiteVerdicts(writer, self.config, self.reviser.start)

    async def close_spider(self) -> None:
        """Store what is waiting, judge pages of sites that became known again, and close."""
        await self.registry.recorded()
        if self.writer is None or self.registry.settled is None:
            return
        try:
            if self.reviser is not None:
                await self.reviser.finish(finished=self._came_to_its_end)
        finally:
            self.registry.settled.set()
            crowded = await self.writer.close()
            if crowded:
                self.stats.set_value("websegment/crowded_keys", crowded)

    def _idle(self) -> None:
        self._came_to_its_end = True

    async def process_item(self, item: Any) -> Any:
        """Decide the item's page, once, and put the decision on the item."""
        page = self.registry.recall(item)
        if page is None or page.analysis is None or isinstance(page.analysis, OtherFormat):
            return item
        outcome = await page.once("decision", self._decide(page))
        self.registry.results.add(item, self._values(outcome))
        if (
            self.config.drop_duplicates
            and isinstance(outcome, Decision)
            and outcome.duplicate_of is not None
        ):
            self.stats.inc_value("websegment/duplicates_dropped")
            raise NearDuplicate(outcome)
        if (
            self.config.drop_unchanged
            and isinstance(outcome, Decision)
            and outcome.kind is DecisionKind.UNCHANGED
            and not outcome.revised
        ):
            self.stats.inc_value("websegment/unchanged_dropped")
            raise Unchanged(outcome.url, outcome)
        return item

    async def _decide(self, page: CrawledPage) -> Decision | str:
        """Return the stored decision, or the reason why it could not be stored."""
        assert self.writer is not None
        started = monotonic()
        try:
            with self.registry.at_work():
                decision = await self.writer.decide(self._record(page))
        except Undecided:
            raise self.ending.left(page.response.request) from None
        except StoreError as error:
            self.stats.inc_value("websegment/store_errors")
            logger.error("Not stored: %s: %s", page.url[:500], error)  # noqa: TRY400
            return str(error)
        finally:
            add_seconds(self.stats, "websegment/store_seconds", started)
        self.ending.decided(page.response.request)
        self.stats.inc_value(f"websegment/decision/{decision.kind}")
        if decision.emptied:
            self.stats.inc_value("websegment/emptied")
        return decision

    def _lost(self, error: StoreError) -> None:
        self.stats.inc_value("websegment/store_errors")
        self.ending.fail(error, f"websegment store: {error}")

    def _open(self) -> Store:
        store = Store.open(
            self.config.database,
            recipe=RECIPES[self.config.signature],
            similarity=self.config.similarity,
            min_words=self.config.min_words,
            secret_keys=self.config.secret_keys,
            keep_texts=self.config.keep_texts,
            changed_share=self.config.changed_share,
            ignore_figures=self.config.ignore_figures,
        )
        try:
            store.database.check_writable()
        except StoreError:
            store.close()
            raise
        return store

    def _record(self, page: CrawledPage) -> PageRecord:
        analysis = page.analysis
        assert not isinstance(analysis, OtherFormat)  # it is no page
        common: dict[str, Any] = {
            "url": page.url,
            "http_status": page.status,
            "render_error": page.meta.render_error,
            "render_reason": page.meta.render_reason,
            "crawl": crawl_name(self.crawler),
        }
        if analysis is None or isinstance(analysis, str):
            return PageRecord(**common, engine=self.config.asked_engine, error=analysis)
        found = {name: getattr(analysis, name) for name in _OF_ANALYSIS - common.keys()}
        look = look_of(page, analysis) if self.config.revisit else None
        return PageRecord(**common, **found, look=look)

    @staticmethod
    def _values(outcome: Decision | str) -> dict[str, Any]:
        if isinstance(outcome, str):
            return {"decision": str(DecisionKind.FAILED), "reason": outcome}
        return {
            "decision": str(outcome.kind),
            "duplicate_of": outcome.duplicate_of,
            "similarity": outcome.similarity,
            "representative": outcome.representative,
            "first_seen": outcome.first_seen.isoformat(),
            "reason": outcome.reason,
            "revised": outcome.revised,
            "emptied": outcome.emptied,
        }
