"""``Addon``: the one line in ``settings.py`` that enables everything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import NotConfigured

from websegment_scrapy.config import Config
from websegment_scrapy.crawl.dedup_pipeline import DedupPipeline
from websegment_scrapy.crawl.log_lines import ShortLogFormatter
from websegment_scrapy.crawl.on_demand import OnDemandMiddleware
from websegment_scrapy.crawl.pressure import PressureMiddleware
from websegment_scrapy.crawl.remember import RecordPagesMiddleware, RememberResponseMiddleware
from websegment_scrapy.crawl.render import RenderMiddleware, render_settings
from websegment_scrapy.crawl.revisit import RevisitMiddleware
from websegment_scrapy.crawl.segment_pipeline import SegmentPipeline

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

__all__ = ["Addon"]

COMPONENTS = (
    ("DOWNLOADER_MIDDLEWARES", PressureMiddleware, 10),  # the last to see a response
    ("DOWNLOADER_MIDDLEWARES", RenderMiddleware, 850),  # before HttpCacheMiddleware (900)
    ("SPIDER_MIDDLEWARES", RememberResponseMiddleware, 10),  # nearest to the engine
    ("ITEM_PIPELINES", SegmentPipeline, 100),  # before pipelines that may replace items
    ("ITEM_PIPELINES", DedupPipeline, 200),
)

REVISITING = 584  # its responses are decompressed (590) and no redirects (600); the same for
ON_DEMAND = 585  # this one, which sees them before it
NEAREST_TO_SPIDER = 990


class Addon:
    """Scrapy add-on: ``ADDONS = {"websegment_scrapy.Addon": 500}``.

    It adds the middlewares and the pipelines where the user's settings do not place (or,
    with ``None``, disable) them already, the download handlers that rendering needs, and a log
    formatter with short lines where ``LOG_FORMATTER`` is not set.
    """

    def update_settings(self, settings: BaseSettings) -> None:
        """Add the components; a bad ``WEBSEGMENT_*`` setting is an error here."""
        config = Config.from_settings(settings)
        if not config.enabled:
            raise NotConfigured("WEBSEGMENT_ENABLED is off")
        for name, component, position in COMPONENTS:
            settings.setdefault_in_component_priority_dict(name, component, position)
        if config.revisit:
            settings.setdefault_in_component_priority_dict(
                "DOWNLOADER_MIDDLEWARES", RevisitMiddleware, REVISITING
            )
        if config.render != "never":
            settings.setdefault_in_component_priority_dict(
                "DOWNLOADER_MIDDLEWARES", OnDemandMiddleware, ON_DEMAND
            )
        if config.record == "pages":
            settings.setdefault_in_component_priority_dict(
                "SPIDER_MIDDLEWARES", RecordPagesMiddleware, NEAREST_TO_SPIDER
            )
        settings.set("LOG_FORMATTER", ShortLogFormatter, priority="addon")
        for name, value in render_settings(config).items():
            settings.set(name, value, priority="addon")
