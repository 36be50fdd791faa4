"""``python -m tests.orders``: exit status 1 when the orders agree on too few pages."""

from __future__ import annotations

import argparse
import itertools
import random
import sqlite3
import sys
import tempfile
from collections import Counter
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from tests.crawling import Crawl, crawl
from tests.site import Route, Site
from websegment_scrapy.measure.datasets import data_directory
from websegment_scrapy.measure.sites import CrawledSite, crawled_sites

AGREEMENT = 0.995
TIMEOUT = 3600.0
Page = tuple[Any, ...]
ORIGINALS: dict[str, str] = {}
"""Names of the pages that aliases have the bytes of."""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.orders", description=__doc__)
    parser.add_argument("--sites", type=int, default=60, metavar="N", help="default: 60")
    parser.add_argument("--orders", type=int, default=5, metavar="N", help="default: 5")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="default: 1")
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="default: 2")
    parser.add_argument("--aliases", type=int, default=4, metavar="N", help="copies for each site")
    args = parser.parse_args(arguments)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        sites = stack.enter_context(crawled_sites(data_directory()))
        chosen = random.Random(args.seed).sample(sites, min(args.sites, len(sites)))
        served = [_serve(stack, site, args.aliases) for site in chosen]
        names = dict(itertools.chain.from_iterable(each.items() for each in served))
        ends = {}
        for order in range(args.orders):
            urls = sorted(names)
            random.Random(1000 * args.seed + order).shuffle(urls)
            home = folder / str(order)
            home.mkdir()
            done = _crawl(urls, home, args.workers)
            first = {item["url"]: item["websegment"] for item in done.items}
            ends[f"order {order}"] = _state(home, names)
            print(f"order {order}: {len(urls)} pages, {_said(done)}", flush=True)
            if order == 0:
                again = _crawl(urls, home, args.workers)
                ends["order 0, second crawl"] = _state(home, names)
                print(f"order 0 again: {_said(again)}", flush=True)
                _compare_texts(first, again)
        return _report(ends)


def _serve(stack: ExitStack, site: CrawledSite, aliases: int) -> dict[str, str]:
    """Serve a site; return the names of its pages by their URLs, some under two addresses."""
    routes: dict[str, str | Route] = {}
    names = {}
    for number, page in enumerate(site.pages):
        path = f"/{page.name.partition('/')[2]}"
        route = Route(body=page.path.read_bytes(), content_type="text/html")
        routes[path.replace(" ", "%20")] = route
        names[path.replace(" ", "%20")] = page.name
        if number < aliases:
            routes[f"/alias/{number}"] = route
            names[f"/alias/{number}"] = f"{site.name}/alias {number}"
            ORIGINALS[f"{site.name}/alias {number}"] = page.name
    server = stack.enter_context(Site(routes))
    return {server.url(path): name for path, name in names.items()}


def _crawl(urls: list[str], home: Path, workers: int) -> Crawl:
    settings = {
        "WEBSEGMENT_RENDER": "never",
        "WEBSEGMENT_WORKERS": workers,
        "WEBSEGMENT_MAIN_TEXT_ONLY": True,
        "CONCURRENT_REQUESTS": 16,
        "LOG_LEVEL": "WARNING",
    }
    done = crawl(urls, settings, folder=home, timeout=TIMEOUT)
    assert done.status == 0, done.log[-5000:]
    return done


def _state(home: Path, names: dict[str, str]) -> dict[str, Page]:
    """Return for each page what its text is, and with which pages it is in a cluster."""
    from websegment_scrapy.store.record import canonical_url

    known = {canonical_url(url): name for url, name in names.items()}
    with closing(sqlite3.connect(home / "pages.db")) as database:
        rows = database.execute(
            "SELECT url, decision, words, content_hash, cluster_id FROM pages"
        ).fetchall()
        problems = database.execute("SELECT count(*) FROM pages WHERE decision = 'failed'")
        print(f"  failed: {problems.fetchone()[0]}", flush=True)
    clusters: dict[int, set[str]] = {}
    for url, _, _, _, cluster in rows:
        if cluster is not None:
            clusters.setdefault(cluster, set()).add(known[url])
    return {
        known[url]: (
            "text" if cluster is not None else decision,
            content,
            frozenset(clusters[cluster]) if cluster is not None else None,
            decision,
        )
        for url, decision, _, content, cluster in rows
    }


def _said(done: Crawl) -> str:
    kinds = {
        name.rpartition("/")[2]: value
        for name, value in sorted(done.stats.items())
        if name.startswith("websegment/decision/")
    }
    return f"{kinds}, revised {done.stats.get('websegment/revised', 0)}"


def _compare_texts(first: dict[str, Any], again: Crawl) -> None:
    """Say how many texts were other ones at first sight than when the sites were known."""
    other = repeated = 0
    for item in again.items:
        before, after = first[item["url"]], item["websegment"]
        other += before["main_text"] != after["main_text"]
        repeated += after.get("revised", False)
    before = sum(each["words"] for each in first.values())
    after = sum(item["websegment"]["words"] for item in again.items)
    print(f"  at first sight {other} of {len(again.items)} texts were other ones ({repeated} told)")
    print(f"  words of main texts at first sight and at the end: {before}, {after}", flush=True)


def _report(ends: dict[str, dict[str, Page]]) -> int:
    worst = 1.0
    for (one, a), (two, b) in itertools.combinations(ends.items(), 2):
        differ = Counter()
        shown = []
        for name in sorted(a.keys() | b.keys()):
            here, there = a.get(name), b.get(name)
            if here is None or there is None:
                differ["missing"] += 1
            elif here[:3] != there[:3]:
                kinds = ("outcome", "text", "cluster")
                kind = next(kind for kind, x, y in zip(kinds, here, there, strict=False) if x != y)
                differ[kind] += 1
                shown.append(f"{kind}: {name}")
        swapped = sum(a[name][3] != b[name][3] for name in a.keys() & b.keys())
        share = 1 - sum(differ.values()) / len(a)
        worst = min(worst, share)
        print(f"{one} / {two}: {share:.2%} agree, {dict(differ)}, new and duplicate: {swapped}")
        for line in shown[:12]:
            print(f"  {line}")
    pairs = _identical(ends)
    print(f"documents of the same bytes with two answers: {pairs}")
    print(f"least agreement {worst:.2%}, wanted {AGREEMENT:.1%}")
    return 0 if worst >= AGREEMENT and not pairs else 1


def _identical(ends: dict[str, dict[str, Page]]) -> int:
    """Count the aliases that are not what the page with the same bytes is."""
    wrong = 0
    for pages in ends.values():
        for name, page in pages.items():
            original = pages.get(ORIGINALS.get(name, ""))
            wrong += original is not None and original[:3] != page[:3]
    return wrong


if __name__ == "__main__":
    sys.exit(main())
