"""A database, and feeds of its crawls, as one HTML file to look at."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from websegment_scrapy.dedup.passages import EDIT_WIDTH
from websegment_scrapy.printable import printable_text, shortened
from websegment_scrapy.store.queries import summary
from websegment_scrapy.store.schema import read_info
from websegment_scrapy.view import listed, numbers
from websegment_scrapy.view.difference import difference, two_crawls
from websegment_scrapy.view.html import asset, fill, policy
from websegment_scrapy.view.shelf import COLUMNS, Shelf, rounded, seconds
from websegment_scrapy.view.texts import (
    SiteRules,
    add_versions,
    feed_texts,
    joined,
    kept_texts,
    marked_pair,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy import Connection

    from websegment_scrapy.store.answers import Summary
    from websegment_scrapy.store.database import Database
    from websegment_scrapy.view.difference import Difference

__all__ = ["Limits", "report"]

HOST = 200
"""Characters of a host that are shown."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How many rows a report has: it stays under 5 MB, however large the database is."""

    sites: int = 1000
    crawls: int = 200
    hosts: int = 14
    """Of the matrix."""
    clusters: int = 100
    members: int = 20
    copies: int = 800
    copies_of_each: int = 3
    changes: int = 500
    doubtful: int = 300
    """Pages whose text has the lowest score."""
    reasons: int = 60
    examples: int = 10
    page_bytes: int = 1_900_000
    text_bytes: int = 1_400_000
    one_text: int = 30_000
    """Characters that are shown of one text."""


def report(
    database: Database,
    feeds: Sequence[str] = (),
    *,
    field: str = "websegment",
    rules: SiteRules | None = None,
    limits: Limits | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> str:
    """Return the report of a database as HTML.

    Parameters
    ----------
    database
        An open one; it is read in one transaction, and crawls may write meanwhile.
    feeds, field
        What crawls wrote besides, the earliest first, and the items' field with the result.
    rules
        The crawls' settings about sites.
    limits
        How many rows it may have.
    progress
        Is told what is being done.
    """
    maker = _Report(limits or Limits(), rules or SiteRules(), progress)
    progress("numbers")
    told = summary(database)
    with database.read() as connection:
        width = read_info(database, connection).recipe.width
        data = maker.gather(connection, told, feeds, field, width)
    progress("writing")
    script, style = asset("parts.js", "report.js", "details.js"), asset("style.css")
    return fill(
        "report.html",
        policy=policy(script, style),
        script=script,
        style=style,
        data=data,
        name=shortened(told.database, HOST),
        made=datetime.now(UTC),
    )


class _Report:
    """Gathers what a report shows as plain lists and numbers."""

    def __init__(self, limits: Limits, rules: SiteRules, progress: Callable[[str], None]) -> None:
        self.limits = limits
        self.rules = rules
        self.progress = progress

    def gather(
        self,
        connection: Connection,
        told: Summary,
        feeds: Sequence[str],
        field: str,
        width: int,
    ) -> dict[str, Any]:
        limits = self.limits
        sites, cells = numbers.site_numbers(connection), numbers.copying(connection)
        numbers.add_copies(sites, cells)
        crawls = numbers.crawl_numbers(connection)
        pair = two_crawls(crawls)
        compared = difference(connection, *pair, limits.examples) if pair else None
        self.progress("clusters and copies")
        clusters = listed.largest_clusters(connection, limits.clusters, limits.members)
        copies = listed.copies(connection, limits.copies, limits.copies_of_each)
        changes = listed.changed_pages(connection, limits.changes)
        reasons = listed.reasons(connection, limits.examples)[: limits.reasons]
        self.progress("pages")
        shelf = Shelf(limits.page_bytes)
        shelf.put(connection, [id for c in copies for id in (c.page, c.original)])
        doubtful = listed.lowest_scores(connection, limits.doubtful)
        shelf.put(connection, [change.page for change in changes])
        shelf.put(connection, [page for change in _changes(compared) for page in change.examples])
        shelf.put(connection, [page for reason in reasons for page in reason.examples])
        shelf.put(connection, [page for cluster in clusters for page in cluster.pages])
        shelf.put(connection, doubtful)
        shelf.put_latest(connection)
        self.progress("texts")
        on_shelf = [c for c in copies if c.page in shelf.rows and c.original in shelf.rows]
        texts, compare = self._texts(connection, shelf, on_shelf, changes, feeds, field, width)
        return {
            "summary": _summary(told),
            "sites": [_site(site) for site in sites[: limits.sites]],
            "crawls": [_crawl(crawl) for crawl in crawls[: limits.crawls]],
            "all_crawls": sum(not crawl.is_merge for crawl in crawls),
            "difference": _difference(compared, shelf),
            "matrix": _matrix(cells, limits.hosts),
            "clusters": [
                [c.id, c.size, c.hosts, [page for page in c.pages if page in shelf.rows]]
                for c in clusters
                if c.id in shelf.rows
            ],
            "copies": [[c.page, c.original, round(c.similarity, 3)] for c in on_shelf],
            "changes": [
                [c.page, seconds(c.seen_at), c.crawl, c.share and round(c.share, 3)]
                for c in changes
                if c.page in shelf.rows
            ],
            "changed": numbers.change_bins(connection),
            "scores": numbers.score_bins(connection),
            "doubtful": [page for page in doubtful if page in shelf.rows],
            "reasons": [
                [r.what, r.reason, r.pages, [page for page in r.examples if page in shelf.rows]]
                for r in reasons
            ],
            "ways": [
                asdict(way) | {"score": rounded(way.score)}
                for way in numbers.ways_of_seeing(connection)
            ],
            "columns": COLUMNS,
            "pages": list(shelf.rows.values()),
            "visits": shelf.visits,
            "texts": texts,
            "compared": compare,
            "feeds": len(feeds),
        }

    def _texts(
        self,
        connection: Connection,
        shelf: Shelf,
        copies: Sequence[listed.Copy],
        changes: Sequence[listed.ChangedPage],
        feeds: Sequence[str],
        field: str,
        width: int,
    ) -> tuple[dict[str, list[list[Any]]], dict[str, list[list[Any]]]]:
        """Return copies and changes with their texts side by side, as far as there is room."""
        limits, room = self.limits, self.limits.text_bytes
        wanted = list(dict.fromkeys(id for c in copies for id in (c.page, c.original)))
        changed = dict.fromkeys(c.page for c in changes if c.page in shelf.rows)
        keys = {key: page for key, page in shelf.keys.items() if page in {*wanted, *changed}}
        from_feeds = feed_texts(feeds, field, keys, 4 * limits.text_bytes)
        add_versions(connection, from_feeds, [*changed, *wanted])
        missing = [page for page in wanted if not from_feeds.get(page)]
        kept = dict(kept_texts(connection, missing[: limits.copies], self.rules))
        now = joined(from_feeds, kept, wanted)

        def side_by_side(first: str, second: str, words: int) -> list[list[Any]] | None:
            nonlocal room
            shown = [
                printable_text(text[: limits.one_text], terminal=True) for text in (first, second)
            ]
            size = sum(len(text.encode()) for text in shown)
            if size > room:
                return None
            marked = marked_pair(shown[0], shown[1], words)
            room -= size + 8 * sum(map(len, marked))
            cut = max(len(first), len(second)) > limits.one_text
            return [*marked, [int(cut)]]

        edited = {}
        for page in changed:
            versions = from_feeds.get(page, [])
            if len(versions) == 2:
                found = side_by_side(versions[0], versions[1], EDIT_WIDTH)
                if found:
                    edited[str(page)] = found
        paired = {}
        for copy in copies:
            if copy.page in now and copy.original in now:
                found = side_by_side(now[copy.original], now[copy.page], width)
                if found:
                    paired[str(copy.page)] = found
        return paired, edited


def _changes(compared: Difference | None) -> Sequence[Any]:
    return () if compared is None else compared.changes


def _summary(told: Summary) -> dict[str, Any]:
    found = asdict(told)
    for name in ("created", "first_seen", "last_seen"):
        found[name] = seconds(found[name])
    found["database"] = shortened(told.database, HOST)
    found["page_types"] = {shortened(kind, HOST): n for kind, n in told.page_types.items()}
    return found


def _site(site: numbers.SiteNumbers) -> list[Any]:
    found = asdict(site)
    found["host"] = shortened(site.host, HOST)
    found["words"], found["score"] = int(site.words or 0), rounded(site.score)
    for name in ("first_seen", "last_seen"):
        found[name] = seconds(found[name])
    return list(found.values())


def _crawl(crawl: numbers.CrawlNumbers) -> dict[str, Any]:
    return {
        "id": crawl.id,
        "name": shortened(crawl.name, HOST),
        "began": seconds(crawl.began),
        "ended": seconds(crawl.ended),
        "lasted": round((crawl.ended - crawl.began).total_seconds(), 1),
        "decisions": crawl.decisions,
        "pages": crawl.pages,
        "rendered": crawl.rendered,
        "merge": crawl.is_merge,
    }


def _difference(compared: Difference | None, shelf: Shelf) -> dict[str, Any] | None:
    if compared is None:
        return None
    return {
        "last": compared.last.id,
        "before": compared.before.id,
        "changes": [
            [change.kind, change.pages, [page for page in change.examples if page in shelf.rows]]
            for change in compared.changes
        ],
    }


def _matrix(cells: Sequence[numbers.Copying], most: int) -> dict[str, Any]:
    """Return who copies whom among the hosts that do so most, and how much is not shown."""
    weight: dict[str, int] = {}
    for cell in cells:
        if cell.host != cell.original:
            for host in (cell.host, cell.original):
                weight[host] = weight.get(host, 0) + cell.pages
    hosts = sorted(weight, key=lambda host: (-weight[host], host))[:most]
    place = {host: number for number, host in enumerate(hosts)}
    shown = [
        [place[c.host], place[c.original], c.pages, round(c.similarity, 3)]
        for c in cells
        if c.host in place and c.original in place
    ]
    across = sum(c.pages for c in cells if c.host != c.original)
    return {
        "hosts": [shortened(host, HOST) for host in hosts],
        "all_hosts": len(weight),
        "cells": shown,
        "across": across,
        "within": sum(c.pages for c in cells) - across,
    }
