"""What all proofs under violence share: the undisturbed run, and how a disturbed one compares.

`simultaneous`, `killed` and `full_disk` are the proofs. Each ends with the same questions: is the
database sound, is every page there once, and are the clusters those of an undisturbed run? The
pages are synthetic, made from their numbers.
"""

from __future__ import annotations

import multiprocessing
from contextlib import closing
from dataclasses import dataclass

from sqlalchemy import text

from websegment_scrapy.bench.synthetic import RECIPE, SyntheticPages
from websegment_scrapy.store.database import Database
from websegment_scrapy.store.integrity import integrity
from websegment_scrapy.store.store import Store

__all__ = ["BATCH", "CONTEXT", "PAGES", "Clusters", "Outcome", "outcome_of", "undisturbed"]

BATCH = 8
"""Decisions that a writer puts in a transaction."""

PAGES = SyntheticPages(seed=3)

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload([__name__])

Clusters = frozenset[frozenset[str]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a store looks after a disturbed run."""

    disturbances: int
    pages: int
    lost: int
    doubled: int
    same_clusters: bool
    problems: tuple[str, ...]


def undisturbed(url: str, pages: int) -> Clusters:
    """Store all pages in order, by one writer; return the clusters."""
    with Store.open(url, recipe=RECIPE) as store:
        records = PAGES.records(0, pages)
        for start in range(0, pages, 64):
            store.decide_many(records[start : start + 64])
        return _clusters(store.database)


def _clusters(database: Database) -> Clusters:
    groups: dict[int, set[str]] = {}
    with database.read() as connection:
        sql = "SELECT cluster_id, url FROM pages WHERE cluster_id IS NOT NULL"
        for cluster, url in connection.execute(text(sql)):
            groups.setdefault(cluster, set()).add(url)
    return frozenset(map(frozenset, groups.values()))


def outcome_of(
    url: str, pages: int, expected: Clusters, disturbances: int, *, visits_once: bool
) -> Outcome:
    """Look at a store after a disturbed run; ``visits_once``: no visit may be there twice."""
    with closing(Database.open(url)) as database:
        with database.read() as connection:
            stored, urls = connection.execute(
                text("SELECT count(*), count(DISTINCT url) FROM pages")
            ).one()
            visits = connection.execute(text("SELECT count(*) FROM visits")).scalar_one()
        doubled = stored - urls + (visits - pages if visits_once else 0)
        return Outcome(
            disturbances=disturbances,
            pages=pages,
            lost=pages - urls,
            doubled=doubled,
            same_clusters=_clusters(database) == expected,
            problems=tuple(integrity(database)),
        )
