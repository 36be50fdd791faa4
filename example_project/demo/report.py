"""Prints, at the end of the crawl, what websegment decided and what it stripped.

It only reads the field ``websegment`` of the items, as a pipeline or an exporter would.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from itemadapter import ItemAdapter
from scrapy import signals

from demo.tables import WIDTH, aligned, host, short_url
from demo.web import load_sites, site_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.http import Response

__all__ = ["PageResult", "Report", "format_report"]

DECISIONS = ("new", "duplicate", "unchanged", "changed", "empty", "failed")
SHOWN_DUPLICATES = 8
SHOWN_BLOCKS = 2
"""Examples of stripped blocks per site."""


@dataclass(frozen=True, slots=True)
class PageResult:
    """What the report keeps of one page."""

    url: str
    decision: str
    duplicate_of: str | None
    similarity: float | None
    page_words: int
    kept_words: int
    stripped: tuple[str, ...]

    @classmethod
    def from_field(cls, url: str, field: Mapping[str, Any]) -> Self:
        """Read the item field that websegment filled."""
        segments = field.get("segments") or ()
        kept = field.get("words") or 0
        return cls(
            url=url,
            decision=str(field["decision"]),
            duplicate_of=field.get("duplicate_of"),
            similarity=field.get("similarity"),
            page_words=max(kept, sum(segment["words"] for segment in segments)),
            kept_words=kept,
            stripped=tuple(
                " ".join(segment["text"].split())
                for segment in segments
                if segment["role"] != "main" and segment["words"]
            ),
        )


class Report:
    """Scrapy extension that collects the items and prints the tables."""

    def __init__(self, names: Mapping[str, str], database: str, field: str) -> None:
        self.names = names
        self.database = database
        self.field = field
        self.pages: list[PageResult] = []
        self.started = time.monotonic()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Listen to the crawl."""
        settings = crawler.settings
        sites = load_sites(settings.getint("DEMO_PORT"))
        report = cls(
            names=site_names(sites),
            database=settings.get("WEBSEGMENT_DATABASE", "sqlite:///websegment.db"),
            field=settings.get("WEBSEGMENT_FIELD", "websegment"),
        )
        crawler.signals.connect(report.item_scraped, signal=signals.item_scraped)
        crawler.signals.connect(report.item_error, signal=signals.item_error)
        crawler.signals.connect(report.spider_closed, signal=signals.spider_closed)
        return report

    def item_scraped(self, item: Any, response: Response) -> None:
        """Keep what is needed of a page."""
        self.pages.append(PageResult.from_field(response.url, ItemAdapter(item)[self.field]))

    def item_error(self, response: Response) -> None:
        """Count an item that a pipeline could not process."""
        self.pages.append(PageResult(response.url, "failed", None, None, 0, 0, ()))

    def spider_closed(self) -> None:
        """Print the tables."""
        seconds = time.monotonic() - self.started
        print(format_report(self.pages, self.names, self.database, seconds), flush=True)


def format_report(
    pages: Sequence[PageResult], names: Mapping[str, str], database: str, seconds: float
) -> str:
    """Return the whole report as text of at most 100 columns.

    Parameters
    ----------
    pages
        The pages in the order in which they were decided.
    names
        Name of each site by host and port.
    database, seconds
        Where the decisions are stored, and how long the crawl took.
    """
    parts = [
        f"{len(pages)} pages on {len({host(page.url) for page in pages})} site(s) "
        f"in {seconds:.0f} seconds",
        _decision_table(pages, names),
        _duplicate_table(pages, names),
        _stripped_table(pages, names),
        f"The decisions are in {database}.",
    ]
    return "\n\n".join(part for part in parts if part)


def _decision_table(pages: Sequence[PageResult], names: Mapping[str, str]) -> str:
    rows = [["Site", "pages", *DECISIONS, "words", "kept", "stripped"]]
    for name in [*sorted({host(page.url) for page in pages}), None]:
        own = [page for page in pages if name in (None, host(page.url))]
        counts = Counter(page.decision for page in own)
        on_page = sum(page.page_words for page in own)
        kept = sum(page.kept_words for page in own)
        share = f"{1 - kept / on_page:.0%}" if on_page else "-"
        shown = "All" if name is None else names.get(name, name)
        decided = (str(counts[kind] or "-") for kind in DECISIONS)
        rows.append([shown, str(len(own)), *decided, str(on_page), str(kept), share])
    return aligned(rows)


def _duplicate_table(pages: Sequence[PageResult], names: Mapping[str, str]) -> str:
    """List the pages that this crawl found to be duplicates, after their originals."""
    found = [page for page in pages if page.decision == "duplicate" and page.duplicate_of]
    known = sum(page.decision != "duplicate" and bool(page.duplicate_of) for page in pages)
    lines = [f"New duplicates: {len(found)}" + (f"; known from before: {known}" if known else "")]
    if not found:
        return lines[0]
    half = (WIDTH - len("1.00    is a copy of  ")) // 2
    for page in found[:SHOWN_DUPLICATES]:
        copy = short_url(page.url, names, half)
        original = short_url(page.duplicate_of or "", names, half)
        similarity = "-   " if page.similarity is None else f"{page.similarity:.2f}"
        lines.append(f"  {similarity}  {copy:<{half}}  {original}".rstrip())
    if len(found) > SHOWN_DUPLICATES:
        lines.append(f"  and {len(found) - SHOWN_DUPLICATES} more")
    lines.insert(1, f"  {'sim.':<4}  {'page':<{half}}  is a copy of")
    return "\n".join(lines)


def _stripped_table(pages: Sequence[PageResult], names: Mapping[str, str]) -> str:
    """Show the blocks whose removal saved most words, per site; on a first visit only."""
    if any(page.decision == "unchanged" for page in pages):
        return ""
    blocks: dict[str, Counter[str]] = {}
    for page in pages:
        blocks.setdefault(host(page.url), Counter()).update(page.stripped)
    rows = [["Stripped most", "words", "pages", "block"]]
    for site, counts in sorted(blocks.items()):
        by_weight = sorted(counts, key=lambda text: (-counts[text] * len(text.split()), text))
        for number, text in enumerate(by_weight[:SHOWN_BLOCKS]):
            name = names.get(site, site) if number == 0 else ""
            rows.append([name, str(len(text.split())), str(counts[text]), text])
    return aligned(rows, text=True) if len(rows) > 1 else ""
