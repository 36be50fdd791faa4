"""The crawls that are compared: Scrapy alone, with what users write, with a browser, and ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from websegment_scrapy.config import RENDER_MODES
from websegment_scrapy.exceptions import BrowserNotFound
from websegment_scrapy.measure.rivals import missing

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "ALWAYS",
    "BROWSER",
    "PIPELINE",
    "PLAIN",
    "lacking",
    "ours",
    "settings_of",
    "spider_of",
    "variants",
]

PLAIN = "scrapy"
PIPELINE = "pipeline"
BROWSER = "playwright"
ALWAYS = "always"
_ORDER = ("never", "auto", ALWAYS)
_SPIDERS = "websegment_scrapy.bench.ten_lines"


def ours() -> list[str]:
    """Return the modes of ``WEBSEGMENT_RENDER`` that there are, the cheapest first."""
    known = [mode for mode in _ORDER if mode in RENDER_MODES]
    return known + [mode for mode in RENDER_MODES if mode not in _ORDER]


def variants() -> list[str]:
    """Return the names of all crawls."""
    return [PLAIN, PIPELINE, BROWSER, *ours()]


def lacking(variant: str) -> str | None:
    """Return what a crawl needs and has not, with the remedy."""
    if variant == PIPELINE:
        return next(iter(missing([("trafilatura", "trafilatura")]).values()), None)
    if variant in (PLAIN, "never"):
        return None
    from websegment_scrapy.crawl.browser import find_chromium

    try:
        find_chromium()
    except BrowserNotFound as error:
        return str(error)
    return None


def settings_of(variant: str, folder: Path) -> dict[str, Any]:
    """Return the settings of a crawl that leaves its database in a folder."""
    if variant == PLAIN:
        return {}
    if variant == PIPELINE:
        return {"ITEM_PIPELINES": {f"{_SPIDERS}.TrafilaturaAndDatasketch": 100}}
    if variant == BROWSER:
        from websegment_scrapy.crawl.browser import find_chromium

        handler = "scrapy_playwright.handler.ScrapyPlaywrightDownloadHandler"
        return {
            "DOWNLOAD_HANDLERS": {"http": handler, "https": handler},
            "PLAYWRIGHT_LAUNCH_OPTIONS": {"executable_path": find_chromium().executable},
        }
    return {
        "ADDONS": {"websegment_scrapy.Addon": 500},
        "WEBSEGMENT_RENDER": variant,
        "WEBSEGMENT_DATABASE": f"sqlite:///{folder / 'pages.db'}",
        "WEBSEGMENT_PRIVATE_HOSTS": ["127.0.0.0/8"],
    }


def spider_of(variant: str) -> str:
    """Return the path of a crawl's spider."""
    names = {PIPELINE: "PagesWithHtml", BROWSER: "PagesInBrowser"}
    return f"{_SPIDERS}.{names.get(variant, 'Pages')}"
