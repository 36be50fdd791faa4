"""The counts of what each site repeats, kept in the database and shared by all who write to it.

Each page adds its parts (``template.hashes``) to its site's counts in the transaction of its
decision, so the counts and the pages always agree. SiteLevel's verdict is read from them.

What a site costs is bounded, however many pages it has:

- a page counts **once**: at the first visit at which it was analysed with its parts. Revisits do
  not count, whether its content changed or not: a front page that changes every hour would outvote
  the rest of its site. A page that says the same as one that was counted does not count either;
- of a site's first `COUNT_ALL` counted pages every one counts, later one in `SAMPLE`, chosen by
  the hash of the URL;
- every `FORGET_EVERY` counted pages the parts are forgotten that were seen on one page only or on
  fewer than `FORGET_SHARE` of the pages (lossy counting; Manku and Motwani, 2002);
- when `WINDOW` pages are counted, all counts and the number of pages are halved: what a site
  repeats today weighs more than what it repeated long ago.

So a site never has more than `WINDOW` counted pages of at most ``MAX_PARTS`` parts each.

On PostgreSQL the rows of the sites are locked in ascending order, after all other locks
(`locks`) and after everything else was written: writers wait for each other, never in a circle.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import bindparam, delete, select, update

from websegment_scrapy.store.locks import lock_clusters
from websegment_scrapy.store.models import Page, Site, TemplateCount
from websegment_scrapy.store.record import clean
from websegment_scrapy.store.rendering import forget_rendering
from websegment_scrapy.template.sitelevel import (
    MIN_PAGES,
    THETA,
    SiteVerdict,
    needed_pages,
    site_verdict,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from sqlalchemy import Connection

    from websegment_scrapy.store.statements import Row
    from websegment_scrapy.store.visit import VisitToDecide

__all__ = [
    "COUNT_ALL",
    "FORGET_EVERY",
    "SAMPLE",
    "WINDOW",
    "TemplatePart",
    "clear_counts",
    "count_parts",
    "forget_site",
    "mark_unrevised",
    "read_verdict",
    "replace_counts",
    "template_parts",
]

COUNT_ALL = 200
"""Counted pages after which a site is known (the paper's sites had up to 200 pages)."""

SAMPLE = 16
"""Of a known site, one page in so many counts."""

FORGET_EVERY = 100
"""Counted pages between two times of forgetting: what is said of a site of fewer pages depends on
none of them more than on another."""

FORGET_SHARE = 0.01
"""A tenth of the default threshold: a template is not forgotten for one unlucky stretch."""

WINDOW = 400
"""Counted pages at which all counts are halved."""

# Made once: for a small statement SQLAlchemy takes longer to write it than a database to run it.
_COUNTED = (
    select(Site.host, Site.template_pages)
    .where(Site.host.in_(bindparam("hosts", expanding=True)))
    .order_by(Site.host)
    .with_for_update()
)
_PRESENT = select(TemplateCount.part).where(
    TemplateCount.host == bindparam("host"),
    TemplateCount.part.in_(bindparam("wholes", expanding=True)),
)
_COUNT = (
    update(Site).where(Site.host == bindparam("counted")).values(template_pages=bindparam("pages"))
)
_UNREVISED = (
    update(Site)
    .where(
        Site.host.in_(bindparam("hosts", expanding=True)), Site.revised_pages >= Site.template_pages
    )
    .values(revised_pages=Site.template_pages - 1)
)
_PAGES = select(Site.template_pages).where(Site.host == bindparam("host"))
_REPEATED = select(TemplateCount.part, TemplateCount.pages).where(
    TemplateCount.host == bindparam("host"), TemplateCount.pages >= bindparam("least")
)

_ADD = "ON CONFLICT (host, part) DO UPDATE SET pages = template_counts.pages + excluded.pages"
_RECORDS = "json_populate_recordset(NULL::template_counts, %s::json) AS new"


@dataclass(frozen=True, slots=True)
class TemplatePart:
    """A part that a site repeats: its hash, the pages it was counted on, and how it begins."""

    part: int
    pages: int
    share: float
    sample: str


def counts_in_sample(url_key: bytes) -> bool:
    """Say whether a page counts although its site is known."""
    return url_key[-1] % SAMPLE == 0


def count_parts(
    connection: Connection, visits: Iterable[VisitToDecide], known: Collection[str]
) -> set[str]:
    """Add the parts of pages that were analysed for the first time to the counts of their sites.

    Parameters
    ----------
    connection
        The transaction of the decisions, with all of them written.
    visits
        The visits to such pages.
    known
        Hosts that are known to have `COUNT_ALL` counted pages.

    Returns
    -------
    set of str
        Hosts that have `COUNT_ALL` counted pages now.
    """
    by_host: dict[str, list[VisitToDecide]] = {}
    for visit in visits:
        if visit.host not in known or counts_in_sample(visit.key):
            by_host.setdefault(visit.host, []).append(visit)
    if not by_host:
        return set()
    hosts = sorted(by_host)
    found = connection.execute(_COUNTED, {"hosts": hosts})
    counted = {row.host: row.template_pages for row in found}
    rows: list[Row] = []
    grown: dict[str, int] = {}
    for host in hosts:
        before = counted.get(host, 0)
        chosen = _chosen(connection, host, before, by_host[host])
        if chosen:
            grown[host] = before + len(chosen)
            rows += _rows(host, chosen)
    if rows:
        _write(connection, rows)
    for host, pages in grown.items():
        _bound(connection, host, counted.get(host, 0), pages)
    return {host for host in hosts if grown.get(host, counted.get(host, 0)) >= COUNT_ALL}


def mark_unrevised(connection: Connection, hosts: Collection[str]) -> None:
    """Note that sites have pages again that were not judged by all that is known (`revision`)."""
    connection.execute(_UNREVISED, {"hosts": sorted(hosts)})


def read_verdict(
    connection: Connection, host: str, *, theta: float = THETA, min_pages: int = MIN_PAGES
) -> SiteVerdict | None:
    """Return what a site repeats, or nothing while too few of its pages are known."""
    pages = connection.execute(_PAGES, {"host": host}).scalar()
    if pages is None or pages < min_pages:
        return None
    least = min(needed_pages(pages, theta))
    rows = connection.execute(_REPEATED, {"host": host, "least": least}).all()
    # Not np.array(rows): it asks each row for a dozen attributes that rows do not have.
    found = np.fromiter(chain.from_iterable(rows), np.int64, 2 * len(rows)).reshape(-1, 2)
    return site_verdict(found[:, 0], found[:, 1], pages, theta=theta, min_pages=min_pages)


def template_parts(
    connection: Connection, host: str, *, theta: float = THETA, min_pages: int = MIN_PAGES
) -> tuple[int, list[TemplatePart]]:
    """Return how many pages of a site were counted, and its templates, the commonest first."""
    pages = connection.execute(_PAGES, {"host": host}).scalar() or 0
    verdict = read_verdict(connection, host, theta=theta, min_pages=min_pages)
    if verdict is None:
        return pages, []
    query = select(TemplateCount.part, TemplateCount.pages, TemplateCount.sample).where(
        TemplateCount.host == host, TemplateCount.pages >= min(needed_pages(pages, theta))
    )
    templates = set(verdict.templates.tolist())
    found = [
        TemplatePart(row.part, row.pages, row.pages / pages, row.sample or "")
        for row in connection.execute(query)
        if row.part in templates
    ]
    return pages, sorted(found, key=lambda each: (-each.pages, each.sample, each.part))


def replace_counts(
    connection: Connection, host: str, pages: int, rows: Sequence[tuple[int, int, str | None]]
) -> bool:
    """Take over another store's counts of a site if they rest on more pages; say whether."""
    query = select(Site.template_pages).where(Site.host == host).with_for_update()
    own = connection.execute(query).scalar()
    if own is None or own >= pages:
        return False
    connection.execute(delete(TemplateCount).where(TemplateCount.host == host))
    names = ("host", "part", "pages", "sample")
    found = [(host, part, count, sample or "") for part, count, sample in rows]
    _write(connection, [dict(zip(names, each, strict=True)) for each in found])
    connection.execute(update(Site).where(Site.host == host).values(template_pages=pages))
    return True


def forget_site(connection: Connection, host: str) -> int:
    """Forget a site's counts, so that its pages count anew; return how many were counted.

    It waits for all decisions under way, as everything does that changes what they rest on.
    """
    lock_clusters(connection)
    pages = connection.execute(_PAGES, {"host": host}).scalar() or 0
    clear_counts(connection, host)
    forget_rendering(connection, [host])
    connection.execute(update(Page).where(Page.host == host).values(parts_counted=False))
    return pages


def clear_counts(connection: Connection, host: str) -> None:
    """Remove the counts of a site."""
    connection.execute(delete(TemplateCount).where(TemplateCount.host == host))
    none = {"template_pages": 0, "revised_pages": 0}
    connection.execute(update(Site).where(Site.host == host).values(**none))


def _chosen(
    connection: Connection, host: str, before: int, visits: Sequence[VisitToDecide]
) -> list[VisitToDecide]:
    """Choose the visits that count: of a known site a sample, and no copies of counted pages."""
    wholes = {int(visit.parts.hashes[0]) for visit in visits}
    wanted = {"host": host, "wholes": sorted(wholes)}
    present = set(connection.execute(_PRESENT, wanted).scalars())
    chosen: list[VisitToDecide] = []
    for visit in visits:
        whole = int(visit.parts.hashes[0])
        if whole in present:
            continue
        if before + len(chosen) >= COUNT_ALL and not counts_in_sample(visit.key):
            continue
        present.add(whole)
        chosen.append(visit)
    return chosen


def _rows(host: str, visits: Sequence[VisitToDecide]) -> list[Row]:
    """Return the parts of a site's visits with how often each occurs, in ascending order."""
    counts: Counter[int] = Counter()
    samples: dict[int, str] = {}
    for visit in visits:
        hashes = visit.parts.hashes.tolist()
        counts.update(hashes)
        for part, sample in zip(hashes, visit.parts.samples, strict=False):
            samples.setdefault(part, sample)
    return [
        {"host": host, "part": part, "pages": count, "sample": clean(samples.get(part, ""))}
        for part, count in sorted(counts.items())
    ]


def _write(connection: Connection, rows: Sequence[Row]) -> None:
    """Add to the counts; the rows are in ascending order of their keys.

    Most parts are on one page only: a sample is kept from the second page on.
    """
    if not rows:
        return
    if connection.dialect.name != "postgresql":
        connection.exec_driver_sql(
            "INSERT INTO template_counts (host, part, pages, sample) "
            "VALUES (:host, :part, :pages, CASE WHEN :pages > 1 THEN :sample END) "
            f"{_ADD}, sample = coalesce(template_counts.sample, :sample)",
            list(rows),
        )
        return
    objects: Any = (json.dumps(rows),)
    connection.exec_driver_sql(
        "INSERT INTO template_counts (host, part, pages) "
        f"SELECT host, part, pages FROM {_RECORDS} {_ADD}",
        objects,
    )
    connection.exec_driver_sql(
        f"UPDATE template_counts SET sample = new.sample FROM {_RECORDS} "
        "WHERE template_counts.host = new.host AND template_counts.part = new.part "
        "AND template_counts.sample IS NULL AND template_counts.pages > 1",
        objects,
    )


def _bound(connection: Connection, host: str, before: int, pages: int) -> None:
    """Note the number of counted pages; forget rare parts and halve the counts when it is time."""
    if pages // FORGET_EVERY > before // FORGET_EVERY:
        least = max(2, math.ceil(FORGET_SHARE * pages))
        rare = delete(TemplateCount).where(TemplateCount.host == host, TemplateCount.pages < least)
        connection.execute(rare)
    if pages >= WINDOW:
        pages = (pages + 1) // 2
        half = update(TemplateCount).where(TemplateCount.host == host)
        connection.execute(half.values(pages=(TemplateCount.pages + 1) // 2))
    connection.execute(_COUNT, {"counted": host, "pages": pages})
