"""Prints, at the end of the crawl, what websegment decided and what it stripped.

It only reads the field ``websegment`` of the items, as a pipeline or an exporter would.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from itemadapter import ItemAdapter
from scrapy import signals

from demo.web import load_sites

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.http import Response

__all__ = ["PageResult", "Report", "format_report"]

WIDTH = 100
DECISIONS = ("new", "duplicate", "unchanged", "changed", "empty", "failed")
SHOWN_DUPLICATES = 60
SHOWN_BLOCKS = 3
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
            names={urlsplit(site.origin).netloc: site.key.capitalize() for site in sites},
            database=settings.get("WEBSEGMENT_DATABASE", "sqlite:///websegment.db"),
            field=settings.get("WEBSEGMENT_FIELD", "websegment"),
        )
        crawler.signals.connect(report.item_scraped, signal=signals.item_scraped)
        crawler.signals.connect(report.item_error, signal=signals.item_error)
        crawler.signals.connect(report.spider_closed, signal=signals.spider_closed)
        return report

    def item_scraped(self, item: Any, response: Response) -> None:
        """Keep what is needed of a page."""
        self._add(PageResult.from_field(response.url, ItemAdapter(item)[self.field]))

    def item_error(self, response: Response) -> None:
        """Count an item that a pipeline could not process."""
        self._add(PageResult(response.url, "failed", None, None, 0, 0, ()))

    def spider_closed(self) -> None:
        """Print the tables."""
        if sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr)
        seconds = time.monotonic() - self.started
        print(format_report(self.pages, self.names, self.database, seconds))

    def _add(self, page: PageResult) -> None:
        self.pages.append(page)
        if sys.stderr.isatty():
            print(f"\r{len(self.pages)} pages", end="", file=sys.stderr, flush=True)


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
        f"{len(pages)} pages on {len({_host(page.url) for page in pages})} site(s) "
        f"in {seconds:.0f} seconds",
        _decision_table(pages, names),
        _duplicate_table(pages, names),
        _stripped_table(pages, names),
        _where_to_look(database),
    ]
    return "\n\n".join(part for part in parts if part)


def _decision_table(pages: Sequence[PageResult], names: Mapping[str, str]) -> str:
    rows = [["Site", "pages", *DECISIONS, "words", "kept", "stripped"]]
    for host in [*sorted({_host(page.url) for page in pages}), None]:
        own = [page for page in pages if host in (None, _host(page.url))]
        counts = Counter(page.decision for page in own)
        on_page = sum(page.page_words for page in own)
        kept = sum(page.kept_words for page in own)
        share = f"{1 - kept / on_page:.0%}" if on_page else "-"
        name = "All" if host is None else names.get(host, host)
        decided = (str(counts[kind] or "-") for kind in DECISIONS)
        rows.append([name, str(len(own)), *decided, str(on_page), str(kept), share])
    return _aligned(rows)


def _duplicate_table(pages: Sequence[PageResult], names: Mapping[str, str]) -> str:
    """List the pages that this crawl found to be duplicates, after their originals."""
    found = [page for page in pages if page.decision == "duplicate" and page.duplicate_of]
    known = sum(page.decision != "duplicate" and bool(page.duplicate_of) for page in pages)
    lines = [f"New duplicates: {len(found)}" + (f"; known from before: {known}" if known else "")]
    if not found:
        return lines[0]
    half = (WIDTH - len("1.00    is a copy of  ")) // 2
    for page in found[:SHOWN_DUPLICATES]:
        copy, original = (_short(url, names, half) for url in (page.url, page.duplicate_of or ""))
        similarity = "-   " if page.similarity is None else f"{page.similarity:.2f}"
        lines.append(f"  {similarity}  {copy:<{half}}  {original}".rstrip())
    if len(found) > SHOWN_DUPLICATES:
        lines.append(f"  and {len(found) - SHOWN_DUPLICATES} more")
    lines.insert(1, f"  {'sim.':<4}  {'page':<{half}}  is a copy of")
    return "\n".join(lines)


def _stripped_table(pages: Sequence[PageResult], names: Mapping[str, str]) -> str:
    """Show the blocks whose removal saved most words, per site."""
    blocks: dict[str, Counter[str]] = {}
    for page in pages:
        blocks.setdefault(_host(page.url), Counter()).update(page.stripped)
    rows = [["Stripped most", "words", "pages", "block"]]
    for host, counts in sorted(blocks.items()):
        by_weight = sorted(counts, key=lambda text: (-counts[text] * len(text.split()), text))
        for number, text in enumerate(by_weight[:SHOWN_BLOCKS]):
            name = names.get(host, host) if number == 0 else ""
            rows.append([name, str(len(text.split())), str(counts[text]), text])
    return _aligned(rows, last_is_text=True) if len(rows) > 1 else ""


def _where_to_look(database: str) -> str:
    """Name the database and two commands that can be pasted into a terminal."""
    here = Path.cwd()
    tool = "websegment"
    if not shutil.which(tool):
        tool = os.path.relpath(Path(sys.executable).with_name(tool), here)
    return "\n".join(
        [
            f"The decisions are in {database}. To look further:",
            f"  cd {here}",
            f"  {tool} dedup summary --database {database}",
            f"  {tool} dedup clusters --database {database}",
        ]
    )


def _aligned(rows: Iterable[Sequence[str]], *, last_is_text: bool = False) -> str:
    """Align columns: the first to the left, the others, which are numbers, to the right."""
    rows = list(rows)
    if last_is_text:
        room = WIDTH - sum(
            max(map(len, column)) + 2 for column in list(zip(*rows, strict=True))[:-1]
        )
        rows = [[*row[:-1], shorten(row[-1], room, placeholder=" …")] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    left = {0, len(widths) - 1} if last_is_text else {0}
    return "\n".join(
        "  ".join(
            f"{cell:<{width}}" if place in left else f"{cell:>{width}}"
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def _short(url: str, names: Mapping[str, str], room: int) -> str:
    """Shorten a URL to the site's name and the end of the path."""
    path = url.split(_host(url), 1)[1]
    text = f"{names.get(_host(url), _host(url))} {path}"
    return text if len(text) <= room else text[: room - 1] + "…"


def _host(url: str) -> str:
    return urlsplit(url).netloc
