"""``SegmentPipeline``: from the response behind an item to its main text and segments."""

from __future__ import annotations

import asyncio
import logging
from time import monotonic
from typing import TYPE_CHECKING, Any

from websegment_scrapy.crawl.documents import PlainDocuments
from websegment_scrapy.crawl.dropping import Unchanged
from websegment_scrapy.crawl.ending import Ending
from websegment_scrapy.crawl.garbage import count_again, leave_alone
from websegment_scrapy.crawl.media import too_large
from websegment_scrapy.crawl.pages import PageRegistry, add_seconds, enabled_config
from websegment_scrapy.crawl.responses import TOO_LARGE
from websegment_scrapy.exceptions import AnalysisError
from websegment_scrapy.page.decode import OtherFormat
from websegment_scrapy.pool import Abandoned, AnalysisPool
from websegment_scrapy.segment.registry import get_engine
from websegment_scrapy.tasks import report_on

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.statscollectors import StatsCollector

    from websegment_scrapy.config import Config
    from websegment_scrapy.crawl.pages import CrawledPage
    from websegment_scrapy.findings import Report

__all__ = ["SegmentPipeline"]

logger = logging.getLogger(__name__)

_FOUND = (
    "main_text",
    "main_text_score",
    "title",
    "words",
    "page_words",
    "page_type",
    "page_type_probability",
    "engine",
    "rendered",
)
"""What an item gets of the analysis as it is."""


class SegmentPipeline:
    """Item pipeline that analyses the page an item came from, in a worker process.

    Settings: ``WEBSEGMENT_ENGINE``, ``WEBSEGMENT_MAIN_TEXT``, ``WEBSEGMENT_SIGNATURE``,
    ``WEBSEGMENT_WORKERS``, ``WEBSEGMENT_PAGE_TIMEOUT``, ``WEBSEGMENT_PAGE_MEMORY``,
    ``WEBSEGMENT_FIELD``, ``WEBSEGMENT_FLATTEN``, ``WEBSEGMENT_MAIN_TEXT_ONLY``.

    Request meta: ``{"websegment": {"skip": True}}`` passes the response's items on untouched.

    Writes to the item's result field: ``url``, ``main_text``, ``main_text_score``, ``title``,
    ``words``, ``page_words``, ``page_type``, ``page_type_probability``, ``engine``, ``rendered``,
    ``render_error``, ``render_reason``, ``segments`` and, when the page could not be analysed,
    ``reason``. What is no page (JSON, a feed, an image, …) gets the reason only.

    What the page's site repeats is asked from the store of ``DedupPipeline``; without that, a page
    is judged alone.

    Stats: ``websegment/pages``, ``websegment/pages_of_known_sites``, ``websegment/failed``,
    ``websegment/words_seen``,
    ``websegment/words_kept``, ``websegment/analysis_seconds``,
    ``websegment/items_without_response``, ``websegment/items_without_field``,
    ``websegment/other_formats/KIND``.
    """

    def __init__(self, crawler: Crawler, config: Config) -> None:
        assert crawler.stats is not None
        self.crawler = crawler
        self.stats: StatsCollector = crawler.stats
        self.config = config
        self.registry = PageRegistry.of(crawler)
        self.ending = Ending.of(crawler)
        self.documents = PlainDocuments.of(crawler)
        self.pool: AnalysisPool | None = None
        self._met_other_formats = False
        self.registry.steps["analysis"] = self._analyze

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Build the pipeline; a bad setting or an unknown engine is an error here."""
        config = enabled_config(crawler)
        get_engine(config.engine)
        return cls(crawler, config)

    async def open_spider(self) -> None:
        """Start the worker processes."""
        self.pool = AnalysisPool(
            self.config.workers, timeout=self.config.page_timeout, memory=self.config.page_memory
        )
        self.registry.pool = self.pool
        self.ending.on_leave(self.pool.abandon)
        leave_alone(self)

    async def close_spider(self) -> None:
        """End the worker processes, when all pages are recorded and the last judged again."""
        await self.registry.recorded()
        if self.registry.settled is not None:
            await self.registry.settled.wait()
        self.registry.pool = None
        count_again(self)
        if self.pool is not None:
            await asyncio.get_running_loop().run_in_executor(None, self.pool.close)

    async def process_item(self, item: Any) -> Any:
        """Put the analysis of the item's page on the item."""
        page = self.registry.recall(item) or self.registry.adopt(item)
        if page is None:
            self._warn_without_response(item)
        if page is None or page.meta.skip:
            self.registry.results.put_nothing(item)
            return item
        if page.unchanged:
            self.stats.inc_value("websegment/unchanged_dropped")
            raise Unchanged(page.stored_url)
        outcome = await page.once("analysis", self._analyze(page))
        self.registry.results.put(item, self._values(page, outcome))
        return item

    async def _analyze(self, page: CrawledPage) -> Report | OtherFormat | str:
        """Return the analysis, or the reason why there is none."""
        assert self.pool is not None
        started = monotonic()
        if TOO_LARGE in page.response.flags:
            return self._failed(page, f"larger than WEBSEGMENT_PAGE_SIZE: {page.meta.render_error}")
        size, limit = len(page.response.body), self.config.page_size * 2**20
        if size > limit:
            return self._failed(page, too_large(page.url, size, limit))
        sites = self.registry.sites
        request = page.response.request
        site = None
        if sites is not None:
            site = await self.ending.unless_left(sites.verdict(page.url), request)
        plain, plain_type = self._plain_html(page)
        try:
            future = self.pool.submit(
                report_on,
                page.html,
                plain=plain,
                plain_type=plain_type,
                segments=self.config.segments,
                url=page.url,
                content_type=page.content_type,
                encoding=page.encoding,
                engine=self.config.engine,
                main_text=self.config.main_text,
                signature=self.config.signature,
                site=site,
                parts=sites is not None,
            )
            with self.registry.at_work():
                analysis = await asyncio.wrap_future(future)
            if isinstance(analysis, OtherFormat):
                return self._other_format(page, analysis)
            self._count_page(known_site=site is not None)
        except Abandoned:
            raise self.ending.left(request) from None
        except AnalysisError as error:
            self._count_page(known_site=site is not None)
            return self._failed(page, str(error))
        finally:
            add_seconds(self.stats, "websegment/analysis_seconds", started)
        self.stats.inc_value("websegment/words_seen", analysis.page_words)
        self.stats.inc_value("websegment/words_kept", analysis.words)
        return analysis

    def _plain_html(self, page: CrawledPage) -> tuple[bytes | None, str | None]:
        """Return the plain HTML of a page and its content type, for a crawl that comes back."""
        if not self.config.revisit:
            return None, None
        if isinstance(page.html, bytes):
            return page.html, page.content_type
        return self.documents.take(page.response.request)

    def _count_page(self, *, known_site: bool) -> None:
        self.stats.inc_value("websegment/pages")
        if known_site:
            self.stats.inc_value("websegment/pages_of_known_sites")

    def _failed(self, page: CrawledPage, reason: str) -> str:
        self.stats.inc_value("websegment/failed")
        logger.warning("Not analysed: %s: %s", page.url[:500], reason)
        return reason

    def _other_format(self, page: CrawledPage, found: OtherFormat) -> OtherFormat:
        """Count what is no page; say what becomes of such responses when the first one comes."""
        if not self._met_other_formats:
            self._met_other_formats = True
            logger.info(
                "%s is no page (%s): such responses are neither analysed nor stored, and counted "
                "in the stats websegment/other_formats/KIND",
                page.url[:500],
                found.reason,
            )
        self.stats.inc_value(f"websegment/other_formats/{found.kind}")
        return found

    def _values(self, page: CrawledPage, outcome: Report | OtherFormat | str) -> dict[str, Any]:
        values: dict[str, Any] = {
            "url": page.stored_url,
            "main_text": "",
            "title": "",
            "words": 0,
            "page_words": 0,
            "engine": self.config.asked_engine,
            "rendered": False,
            "render_error": page.meta.render_error,
            "render_reason": page.meta.render_reason,
            "reason": None,
        }
        if isinstance(outcome, OtherFormat):
            return values | {"reason": outcome.reason, "engine": None}
        if isinstance(outcome, str):
            return values | {"reason": outcome}
        values |= {name: getattr(outcome, name) for name in _FOUND}
        if self.config.segments:
            values["segments"] = outcome.segments_for_item()
        return values

    def _warn_without_response(self, item: Any) -> None:
        self.stats.inc_value("websegment/items_without_response")
        if self.stats.get_value("websegment/items_without_response") == 1:
            logger.warning(
                "An item of type %s came from no response that is known and is passed on as it "
                "is. Is RememberResponseMiddleware in SPIDER_MIDDLEWARES, and does a pipeline "
                "with a lower number replace items? An item of an errback names its page with "
                "belongs_to.",
                type(item).__qualname__,
            )
