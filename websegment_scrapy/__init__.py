"""Scrapy plugin that keeps what is new on a page and nothing else.

The pure core (``analyze``, ``extract``) is usable without Scrapy; the names that need Scrapy are
imported when they are first used, so that worker processes and the command line start quickly.
"""

from __future__ import annotations

import gc
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from websegment_scrapy.addon import Addon
    from websegment_scrapy.analysis import Analysis, AnalyzedPage, analyze
    from websegment_scrapy.config import Config
    from websegment_scrapy.crawl.dedup_pipeline import DedupPipeline
    from websegment_scrapy.crawl.dropping import NearDuplicate, Unchanged
    from websegment_scrapy.crawl.log_lines import ShortLogFormatter
    from websegment_scrapy.crawl.pressure import PressureMiddleware
    from websegment_scrapy.crawl.remember import RecordPagesMiddleware, RememberResponseMiddleware
    from websegment_scrapy.crawl.render import RenderMiddleware
    from websegment_scrapy.crawl.revision import page_revised
    from websegment_scrapy.crawl.revisit import NotDue, RevisitMiddleware, UnchangedPage
    from websegment_scrapy.crawl.scheduler import SharedScheduler
    from websegment_scrapy.crawl.segment_pipeline import SegmentPipeline
    from websegment_scrapy.extraction import Extraction, extract
    from websegment_scrapy.items import WebPage, belongs_to

__all__ = [
    "Addon",
    "Analysis",
    "AnalyzedPage",
    "Config",
    "DedupPipeline",
    "Extraction",
    "NearDuplicate",
    "NotDue",
    "PressureMiddleware",
    "RecordPagesMiddleware",
    "RememberResponseMiddleware",
    "RenderMiddleware",
    "RevisitMiddleware",
    "SegmentPipeline",
    "SharedScheduler",
    "ShortLogFormatter",
    "Unchanged",
    "UnchangedPage",
    "WebPage",
    "analyze",
    "belongs_to",
    "extract",
    "page_revised",
]

_HOMES = {
    "Addon": "addon",
    "Analysis": "analysis",
    "AnalyzedPage": "analysis",
    "Config": "config",
    "DedupPipeline": "crawl.dedup_pipeline",
    "Extraction": "extraction",
    "NearDuplicate": "crawl.dropping",
    "NotDue": "crawl.revisit",
    "PressureMiddleware": "crawl.pressure",
    "RecordPagesMiddleware": "crawl.remember",
    "RememberResponseMiddleware": "crawl.remember",
    "RenderMiddleware": "crawl.render",
    "RevisitMiddleware": "crawl.revisit",
    "SegmentPipeline": "crawl.segment_pipeline",
    "SharedScheduler": "crawl.scheduler",
    "ShortLogFormatter": "crawl.log_lines",
    "Unchanged": "crawl.dropping",
    "UnchangedPage": "crawl.revisit",
    "WebPage": "items",
    "analyze": "analysis",
    "belongs_to": "items",
    "extract": "extraction",
    "page_revised": "crawl.revision",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    collecting = gc.isenabled()
    gc.disable()  # what is loaded stays: to look for garbage in it takes a fifth of the time
    try:
        module = import_module(f"{__name__}.{_HOMES[name]}")
    finally:
        if collecting:
            gc.enable()
    return getattr(module, name)
