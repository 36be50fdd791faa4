"""The soak: a crawl among hostile pages, beside one without them, and one killed and restarted.

`soak` runs the three crawls on one local web and gives the conditions with their figures;
`one_by_one` crawls each kind of hostile page alone among a few normal ones, which tells apart what
each does to a crawl.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from websegment_scrapy.bench.hostile_articles import article
from websegment_scrapy.bench.hostile_findings import Findings, find
from websegment_scrapy.bench.hostile_kinds import hostile_pages
from websegment_scrapy.bench.hostile_run import CrawlOrder, run_crawl
from websegment_scrapy.bench.hostile_servers import Servers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from websegment_scrapy.bench.hostile_articles import Article
    from websegment_scrapy.bench.hostile_run import CrawlRun
    from websegment_scrapy.bench.hostile_web import HostilePage, Kind

__all__ = ["COLUMNS", "Plan", "one_by_one", "soak"]

COLUMNS = ("check", "value", "limit", "passed", "detail")

MOST_TIME = 3.0
MOST_LAG_MS = 50.0
MOST_MEMORY = 1.25
MOST_BROWSER_MIB = 3072.0
MOST_DISK_MIB = 256.0
KILLED_NORMAL, KILLED_HOSTILE = 60, 20
"""Pages of the crawl that is killed after a third of them."""

ALONE_NORMAL = 6
"""Normal pages beside the hostile one in `one_by_one`."""

MOST_LAG_ALONE_MS = 1000.0
"""For the longest lag there: so few pages have no 99th percentile to speak of."""

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Plan:
    """What is crawled and where its files go; ``say`` draws a crawl's progress."""

    normal: int
    hostile: int
    kinds: Sequence[Kind]
    timeout: float
    limit: float
    folder: Path
    say: Callable[[str, int], Callable[[int], None]]


def soak(plan: Plan) -> Iterator[Row]:
    """Run the three crawls; yield a row for each condition, then one for each kind."""
    with Servers() as servers:
        articles, pages = _web(servers, plan.normal, plan.hostile, plan.kinds)
        calm = _crawl(plan, "normal", articles, [])
        calm_found = find(calm, articles, [])
        mixed = _crawl(plan, "mixed", articles, pages)
        found = find(mixed, articles, pages)
        yield from _pages_rows(calm_found, mixed, found, len(articles), len(pages))
        yield from _network_rows(servers, found)
        yield from _cost_rows(calm, mixed)
        yield from _kill_rows(plan, servers, articles, pages)
        yield from _kind_rows(servers, plan.kinds, pages, found)


def one_by_one(plan: Plan) -> Iterator[Row]:
    """Crawl each kind alone; a row passes when nothing at all went wrong."""
    with Servers() as servers:
        articles, _ = _web(servers, ALONE_NORMAL, 0, plan.kinds)
        calm = _crawl(plan, "normal", articles, [])
    for kind in plan.kinds:
        with Servers() as servers:
            many = max(1, plan.hostile // len(plan.kinds))
            articles, pages = _web(servers, ALONE_NORMAL, many, [kind])
            run = _crawl(plan, kind.name, articles, pages)
            found = find(run, articles, pages)
            (row,) = _kind_rows(servers, [kind], pages, found)
        wrong = [run.ended, *run.left, *(f"normal page {text}" for text in found.wrong)]
        lag = 1000 * run.stats.get("bench/lag_max", 0.0)
        if lag > MOST_LAG_ALONE_MS:
            wrong.append("the event loop was held")
        if (
            run.peaks.browser > MOST_BROWSER_MIB
            or run.peaks.crawler > MOST_MEMORY * calm.peaks.crawler
        ):
            wrong.append("too much memory")
        if run.peaks.disk > MOST_DISK_MIB:
            wrong.append("too much disk")
        wrong = [text for text in wrong if text]
        yield row | {
            "value": f"{run.seconds:.0f} s",
            "passed": row["passed"] and not wrong,
            "detail": "; ".join(
                [
                    *filter(None, [row["detail"]]),
                    *wrong[:4],
                    f"crawler {run.peaks.crawler:.0f} MiB, workers {run.peaks.workers:.0f} MiB, "
                    f"browser {run.peaks.browser:.0f} MiB, disk {run.peaks.disk:.0f} MiB, "
                    f"longest lag {lag:.0f} ms",
                ]
            ),
        }


def _web(
    servers: Servers, normal: int, hostile: int, kinds: Sequence[Kind]
) -> tuple[list[Article], list[HostilePage]]:
    sites = servers.origins.sites
    articles = [article(number, sites[number % len(sites)]) for number in range(normal)]
    pages = hostile_pages(kinds, hostile, servers.origins, articles)
    servers.serve(articles, pages)
    return articles, pages


def _crawl(
    plan: Plan,
    name: str,
    articles: Sequence[Article],
    pages: Sequence[HostilePage],
    kill_after: int | None = None,
) -> CrawlRun:
    wanted = [(article.url, "always") for article in articles]
    for place, page in enumerate(pages):  # spread evenly, from the beginning to the end
        where = (place + 1) * len(articles) // (len(pages) + 1) + place
        wanted.insert(where, (page.prefix, page.kind.render))
    order = CrawlOrder(wanted, plan.timeout, plan.limit, kill_after)
    return run_crawl(plan.folder / name, order, plan.say(name, len(wanted)))


def _row(check: str, value: object, limit: object, passed: bool, *details: str) -> Row:
    shown = [*details[:5], *([f"and {len(details) - 5} more"] if len(details) > 5 else [])]
    return dict(
        zip(COLUMNS, (check, value, limit, passed, "; ".join(filter(None, shown))), strict=True)
    )


def _none(check: str, found: Sequence[str]) -> Row:
    """Return the row of a check that passes when nothing was found."""
    return _row(check, len(found), 0, not found, *found)


def _pages_rows(
    calm_found: Findings, mixed: CrawlRun, found: Findings, normal: int, hostile: int
) -> Iterator[Row]:
    right = normal - len(calm_found.wrong)
    yield _row("normal pages right, alone", right, normal, right == normal, *calm_found.wrong)
    right = normal - len(found.wrong)
    yield _row("normal pages right", right, normal, right == normal, mixed.ended, *found.wrong)
    yield _none("text under another's URL", found.misplaced)
    yield _none("forged layouts believed", found.forged)
    yield _none("odd but honest pages lost", found.lost)
    told = hostile - len(found.silent)
    yield _row("hostile pages with an outcome", told, hostile, told == hostile, *found.silent)


def _network_rows(servers: Servers, found: Findings) -> Iterator[Row]:
    yield _none("internal words found", found.canaries)
    reached = servers.reached
    told = [f"{kind} {count}" for kind, count in reached.most_common()]
    total = servers.connections + reached["webrtc"] + reached["webtransport"]
    yield _row("internal service reached", total, 0, not total, ", ".join(told))
    leaks = servers.leaks
    yield _row("secrets at other origins", leaks.total(), 0, not leaks, *leaks)


def _cost_rows(calm: CrawlRun, mixed: CrawlRun) -> Iterator[Row]:
    ratio = mixed.seconds / calm.seconds
    told = f"{mixed.seconds:.1f} s, without hostile pages {calm.seconds:.1f} s"
    yield _row("time, times that without", round(ratio, 2), MOST_TIME, ratio <= MOST_TIME, told)
    lag = mixed.stats.get("bench/lag_p99")
    alone = 1000 * calm.stats.get("bench/lag_p99", 0.0)
    yield _row(
        "event loop's lag, 99th percentile (ms)",
        None if lag is None else round(1000 * lag, 1),
        MOST_LAG_MS,
        lag is not None and 1000 * lag <= MOST_LAG_MS,
        f"longest {1000 * mixed.stats.get('bench/lag_max', 0.0):.0f} ms, "
        f"without hostile pages {alone:.1f} ms",
    )
    grown = mixed.peaks.crawler / max(calm.peaks.crawler, 1.0)
    yield _row(
        "crawler's memory, times that without",
        round(grown, 2),
        MOST_MEMORY,
        grown <= MOST_MEMORY,
        f"{mixed.peaks.crawler:.0f} MiB, without {calm.peaks.crawler:.0f} MiB; its workers "
        f"{mixed.peaks.workers:.0f} MiB, without {calm.peaks.workers:.0f} MiB",
    )
    yield _row(
        "browser's memory (MiB)",
        round(mixed.peaks.browser),
        MOST_BROWSER_MIB,
        mixed.peaks.browser <= MOST_BROWSER_MIB,
        f"without hostile pages {calm.peaks.browser:.0f} MiB",
    )
    disk = mixed.peaks.disk
    told = f"without hostile pages {calm.peaks.disk:.0f} MiB"
    passed = disk <= MOST_DISK_MIB
    yield _row("disk for temporary files (MiB)", round(disk), MOST_DISK_MIB, passed, told)
    yield _none("left over", [*calm.left, *mixed.left])


def _kill_rows(
    plan: Plan, servers: Servers, articles: Sequence[Article], pages: Sequence[HostilePage]
) -> Iterator[Row]:
    """Kill a crawl in its middle, look, and start it again on the same database."""
    articles, pages = articles[:KILLED_NORMAL], pages[:KILLED_HOSTILE]
    before = servers.connections
    killed = _crawl(plan, "killed", articles, pages, (len(articles) + len(pages)) // 3)
    processes = [text for text in killed.left if text.startswith("process")]
    yield _none("processes left after SIGKILL", processes)
    again = _crawl(plan, "killed", articles, pages)
    found = find(again, articles, pages)
    right = len(articles) - len(found.wrong)
    yield _row(
        "normal pages right after a restart",
        right,
        len(articles),
        right == len(articles),
        again.ended,
        *found.wrong,
    )
    yield _none("left over after a restart", again.left)
    wrong = [*found.misplaced, *found.canaries, *found.silent]
    more = servers.connections - before
    yield _row(
        "other findings after SIGKILL and restart",
        len(wrong) + more,
        0,
        not wrong and not more,
        f"internal service reached {more} times" if more else "",
        *wrong,
    )


def _kind_rows(
    servers: Servers, kinds: Sequence[Kind], pages: Sequence[HostilePage], found: Findings
) -> Iterator[Row]:
    """Tell what each kind did, and what came of its pages."""
    for kind in kinds:
        own = [page for page in pages if page.kind is kind]
        if not own:
            continue
        places = [page.place for page in own]
        wrong = [
            text
            for text in (*found.misplaced, *found.forged, *found.canaries, *found.lost)
            if any(place in text for place in places)
        ]
        wrong += [f"{place}: no outcome" for place in places if place in found.silent]
        if servers.reached[kind.name]:
            wrong.append(f"internal service reached {servers.reached[kind.name]} times")
        leaks = sum(count for text, count in servers.leaks.items() if f"/{kind.name}/" in text)
        if leaks:
            wrong.append(f"{leaks} secrets at other origins")
        outcomes = dict.fromkeys(found.outcomes.get(place, "none") for place in places)
        yield _row(f"kind {kind.name}", len(own), None, not wrong, *wrong, *outcomes)
