"""``websegment bench crawl``: pages per second, CPU, memory and lag of crawls of the same pages."""

from __future__ import annotations

import random
import shutil
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np
from w3lib.url import canonicalize_url

from websegment_scrapy.bench import charts
from websegment_scrapy.bench.serving import serving, write_mix
from websegment_scrapy.bench.spread import Spread
from websegment_scrapy.bench.timed_crawl import CrawlFailed, time_crawl
from websegment_scrapy.bench.variants import ALWAYS, BROWSER, PIPELINE, PLAIN, lacking, ours
from websegment_scrapy.config import Config
from websegment_scrapy.measure.metrics import word_f1, words_of
from websegment_scrapy.measure.report import listed, silent, text_table
from websegment_scrapy.measure.rivals import version_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from websegment_scrapy.bench.mix import MixedPage
    from websegment_scrapy.bench.timed_crawl import TimedCrawl
    from websegment_scrapy.measure.report import Progress

__all__ = ["RATIOS", "CrawlBench", "CrawlCost", "bench_crawl"]

RATIOS = (("never", PLAIN), ("never", PIPELINE), (ALWAYS, BROWSER), ("auto", ALWAYS))
"""Crawls whose times are compared, round by round."""

LOST = 0.5
"""A page whose text has less word F1 than this with that of the original is lost."""

PACKAGES = ("scrapy", "scrapy-playwright", "datasketch", "trafilatura")


@dataclass(frozen=True, slots=True)
class CrawlCost:
    """What a kind of crawl takes and finds; times are spread over the rounds.

    Attributes
    ----------
    pages_per_second, seconds
        From the start of the crawl to its end.
    own_ms, children_ms
        CPU per page: of the crawl's process, of its workers and browser.
    crawler_mib, workers_mib, browser_mib
        The most memory in any round.
    lag_ms
        The event loop's, 99th percentile.
    rendered, missing
        Pages of the first round that were rendered, and those without an item.
    f1, f1_always
        Mean word F1 with the main texts of the originals, and with those of ``always``.
    lost
        Pages that had a text of which less than half was found (`LOST`).
    duplicates
        Planted pairs that were found.
    """

    variant: str
    pages_per_second: Spread
    seconds: Spread
    own_ms: Spread
    children_ms: Spread
    crawler_mib: float
    workers_mib: float
    browser_mib: float
    lag_ms: Spread
    rendered: int
    missing: int
    f1: float | None = None
    f1_always: float | None = None
    lost: int | None = None
    duplicates: int | None = None


@dataclass(slots=True)
class CrawlBench:
    """All that was measured; what could not be is in `not_measured`, with the reason."""

    pages: int
    scripted: int
    planted: int
    rounds: int
    seed: int
    versions: dict[str, str] = field(default_factory=dict)
    costs: list[CrawlCost] = field(default_factory=list)
    ratios: dict[str, Spread] = field(default_factory=dict)
    cpu_ratios: dict[str, Spread] = field(default_factory=dict)
    not_measured: dict[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"bench": "crawl", **asdict(self)}

    def tables(self) -> list[str]:
        """Return the results as texts."""
        named = ", ".join(f"{name} {version}" for name, version in self.versions.items())
        said = (
            f"{self.pages} pages, {self.scripted} of them built by script, {self.planted} pairs of "
            f"duplicates; {self.rounds} rounds in turn; median (quartiles of the rounds)\n{named}"
        )
        rows = [_row(cost, self.planted) for cost in self.costs]
        shown = [f"{said}\n{text_table(_HEADER, rows)}"]
        if self.ratios:
            rows = [
                (name, spread.shown(2), self.cpu_ratios[name].shown(2))
                for name, spread in self.ratios.items()
            ]
            shown.append(text_table(("ratio", "time", "CPU"), rows))
        return shown + listed("Not measured:", self.not_measured)

    def picture(self) -> str:
        """Return the results as SVG."""
        said = f"{self.pages} pages, {self.rounds} rounds: median and quartiles"
        names = {cost.variant: _name(cost.variant) for cost in self.costs}
        rates = {names[cost.variant]: cost.pages_per_second for cost in self.costs}
        cpu = {
            names[cost.variant]: Spread(
                cost.own_ms.median + cost.children_ms.median,
                cost.own_ms.low + cost.children_ms.low,
                cost.own_ms.high + cost.children_ms.high,
            )
            for cost in self.costs
        }
        lags = {names[cost.variant]: cost.lag_ms for cost in self.costs}
        return charts.svg(
            [
                charts.bars(f"pages per second, {said}", rates),
                charts.bars("CPU ms per page, all processes", cpu),
                charts.bars("lag of the event loop, ms, 99th percentile", lags),
            ]
        )


def bench_crawl(
    pages: Sequence[MixedPage],
    variants: Sequence[str],
    *,
    rounds: int,
    seed: int,
    folder: Path,
    progress: Progress = silent,
) -> CrawlBench:
    """Crawl the pages in every way, in another order each round; each with a new database."""
    least = Config().min_words
    pairs = [
        (page.copy_of, number)
        for number, page in enumerate(pages)
        if page.copy_of is not None and len(words_of(page.text)) >= least
    ]
    scripted = sum(page.scripted for page in pages)
    found = CrawlBench(len(pages), scripted, len(pairs), rounds, seed)
    found.not_measured = {name: why for name in variants if (why := lacking(name))}
    running = [name for name in variants if name not in found.not_measured]
    packages = [name for name in PACKAGES if name != "trafilatura" or PIPELINE in running]
    found.versions = {name: version_of(name) for name in packages}
    folders = write_mix(pages, folder / "sites")
    chooser = random.Random(seed)
    done: dict[str, list[TimedCrawl]] = {name: [] for name in running}
    with serving(folders, folder / "sites.json") as origins:
        urls = [origins[page.site] + quote(page.path) for page in pages]
        turns = []
        for number in range(rounds):
            order = list(running)
            chooser.shuffle(order)
            turns += [(number, name) for name in order]
        for number, name in progress(turns, len(turns), "crawls"):
            if name in found.not_measured:
                continue
            asked = list(urls)
            random.Random(f"{seed} {number}").shuffle(asked)  # the same for all crawls of a round
            try:
                done[name].append(time_crawl(name, asked, folder / "crawl"))
            except CrawlFailed as error:
                found.not_measured[name] = str(error)
            finally:
                shutil.rmtree(folder / "crawl", ignore_errors=True)
    measured = {name: crawls for name, crawls in done.items() if name not in found.not_measured}
    reference = measured[ALWAYS][0].items if ALWAYS in measured else None
    for name, crawls in measured.items():
        found.costs.append(_cost(name, crawls, pages, urls, pairs, reference))
    for one, other in RATIOS:
        if one in measured and other in measured:
            both = list(zip(measured[one], measured[other], strict=True))
            name = f"{one} to {other}"
            found.ratios[name] = Spread.of([a.seconds / b.seconds for a, b in both])
            found.cpu_ratios[name] = Spread.of(
                [(a.own + a.children) / (b.own + b.children) for a, b in both]
            )
    return found


def _cost(
    variant: str,
    crawls: Sequence[TimedCrawl],
    pages: Sequence[MixedPage],
    urls: Sequence[str],
    pairs: Sequence[tuple[int, int]],
    reference: dict[str, dict[str, Any]] | None,
) -> CrawlCost:
    count, first = len(pages), crawls[0].items
    cost = CrawlCost(
        variant=variant,
        pages_per_second=Spread.of([count / crawl.seconds for crawl in crawls]),
        seconds=Spread.of([crawl.seconds for crawl in crawls]),
        own_ms=Spread.of([1000 * crawl.own / count for crawl in crawls]),
        children_ms=Spread.of([1000 * crawl.children / count for crawl in crawls]),
        crawler_mib=max(crawl.peaks.crawler for crawl in crawls),
        workers_mib=max(crawl.peaks.workers for crawl in crawls),
        browser_mib=max(crawl.peaks.browser for crawl in crawls),
        lag_ms=Spread.of([1000 * crawl.lag for crawl in crawls]),
        rendered=crawls[0].rendered,
        missing=sum(url not in first for url in urls),
    )
    if variant in (PLAIN, BROWSER):
        return cost

    def text(items: dict[str, dict[str, Any]], url: str) -> str:
        return str(items.get(url, {}).get("text") or "")

    scores = [word_f1(page.text, text(first, url)) for page, url in zip(pages, urls, strict=True)]
    known = {name: getattr(cost, name) for name in CrawlCost.__slots__}
    if variant in ours() or all(page.files is None for page in pages):
        # the originals' texts are ours where pages were not made: no gold for another extractor
        known["f1"] = float(np.mean(scores))
        known["lost"] = sum(score < LOST for score in scores)
    if reference is not None and variant in ours():
        both = [word_f1(text(reference, url), text(first, url)) for url in urls]
        known["f1_always"] = float(np.mean(both))
    known["duplicates"] = sum(_are_alike(first, urls[one], urls[other]) for one, other in pairs)
    return CrawlCost(**known)


def _are_alike(items: dict[str, dict[str, Any]], one: str, other: str) -> bool:
    """Tell whether a crawl found two pages to have the same text, which must not be none."""
    both = [items.get(url, {"text": "", "like": []}) for url in (one, other)]
    if not all(item["text"] for item in both):
        return False
    first, second = (
        {canonicalize_url(url), *item["like"]} for url, item in zip((one, other), both, strict=True)
    )
    return not first.isdisjoint(second)


_HEADER = (
    "crawl", "pages/s", "CPU ms/page own", "of children", "MiB crawler", "workers", "browser",
    "lag ms", "rendered", "word F1", "to always", "lost", "duplicates", "missing",
)  # fmt: skip


def _name(variant: str) -> str:
    return f"ours: {variant}" if variant in ours() else variant


def _row(cost: CrawlCost, planted: int) -> tuple[str, ...]:
    return (
        _name(cost.variant),
        cost.pages_per_second.shown(),
        cost.own_ms.shown(),
        cost.children_ms.shown(),
        f"{cost.crawler_mib:.0f}",
        f"{cost.workers_mib:.0f}",
        f"{cost.browser_mib:.0f}",
        cost.lag_ms.shown(),
        str(cost.rendered),
        "" if cost.f1 is None else f"{cost.f1:.3f}",
        "" if cost.f1_always is None else f"{cost.f1_always:.3f}",
        "" if cost.lost is None else str(cost.lost),
        "" if cost.duplicates is None else f"{cost.duplicates}/{planted}",
        str(cost.missing or ""),
    )
