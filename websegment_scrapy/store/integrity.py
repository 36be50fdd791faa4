"""A check of everything that must hold in a dedup database."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import text

from websegment_scrapy.dedup.signature import Recipe, Signature, similarity
from websegment_scrapy.store.kept_texts import damaged_texts
from websegment_scrapy.store.queries import database_of
from websegment_scrapy.store.schema import read_info

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy import Connection

    from websegment_scrapy.store.database import Database
    from websegment_scrapy.store.store import Store

__all__ = ["integrity"]

SHOWN = 5
"""Examples named for each kind of damage."""

INVARIANTS = {
    "URLs with more than one page": (
        "SELECT url FROM pages GROUP BY url HAVING count(*) > 1 ORDER BY url"
    ),
    "pages without a visit": (
        "SELECT id FROM pages WHERE NOT EXISTS "
        "(SELECT 1 FROM visits WHERE visits.page_id = pages.id) ORDER BY id"
    ),
    "visits to a page that does not exist": (
        "SELECT id FROM visits WHERE page_id NOT IN (SELECT id FROM pages) ORDER BY id"
    ),
    "visits of a crawl that does not exist": (
        "SELECT id FROM visits WHERE crawl_id NOT IN (SELECT id FROM crawls) ORDER BY id"
    ),
    "pages of a crawl that does not exist": (
        "SELECT id FROM pages WHERE crawl_id NOT IN (SELECT id FROM crawls) ORDER BY id"
    ),
    "hosts without a row in sites": (
        "SELECT DISTINCT host FROM pages WHERE host NOT IN (SELECT host FROM sites) ORDER BY host"
    ),
    "pages with a content but without a cluster, or the other way round": (
        "SELECT id FROM pages WHERE (signature IS NULL) <> (cluster_id IS NULL) "
        "OR (signature IS NULL) <> (content_hash IS NULL) "
        "OR (signature IS NULL) <> (last_changed IS NULL) ORDER BY id"
    ),
    "clusters without the page that represents them": (
        "SELECT page.id FROM pages AS page LEFT JOIN pages AS first "
        "ON first.id = page.cluster_id WHERE page.cluster_id IS NOT NULL "
        "AND (first.cluster_id IS NULL OR first.cluster_id <> first.id) ORDER BY page.id"
    ),
    "pages that are new but do not represent their cluster, or the other way round": (
        "SELECT id FROM pages WHERE cluster_id IS NOT NULL "
        "AND (decision = 'new') <> (cluster_id = id) ORDER BY id"
    ),
    "duplicates of a page that has no content or does not exist": (
        "SELECT page.id FROM pages AS page LEFT JOIN pages AS original "
        "ON original.id = page.duplicate_of_id WHERE page.decision = 'duplicate' "
        "AND (original.id IS NULL OR original.id = page.id OR original.cluster_id IS NULL) "
        "ORDER BY page.id"
    ),
    "pages whose decision, match and similarity do not fit together": (
        "SELECT id FROM pages WHERE (decision = 'duplicate') <> (duplicate_of_id IS NOT NULL) "
        "OR (duplicate_of_id IS NULL) <> (similarity IS NULL) "
        "OR (decision IN ('new', 'duplicate')) <> (signature IS NOT NULL) ORDER BY id"
    ),
    "sites with parts but without a row in sites": (
        "SELECT DISTINCT host FROM template_counts WHERE host NOT IN (SELECT host FROM sites) "
        "ORDER BY host"
    ),
    "sites with parts on more pages than were counted, or on none": (
        "SELECT DISTINCT template_counts.host FROM template_counts JOIN sites "
        "ON sites.host = template_counts.host WHERE template_counts.pages < 1 "
        "OR template_counts.pages > sites.template_pages ORDER BY template_counts.host"
    ),
    "what is kept of a page that does not exist, or is of another host": (
        "SELECT kept.page_id FROM kept_pages AS kept LEFT JOIN pages ON pages.id = kept.page_id "
        "WHERE pages.id IS NULL OR pages.host <> kept.host ORDER BY kept.page_id"
    ),
    "texts that are kept of a page that does not exist": (
        "SELECT DISTINCT page_id FROM kept_texts WHERE page_id NOT IN (SELECT id FROM pages) "
        "ORDER BY page_id"
    ),
    "what is kept for the revisit of a page that does not exist": (
        "SELECT page_id FROM revisits WHERE page_id NOT IN (SELECT id FROM pages) ORDER BY page_id"
    ),
    "clusters with pages of different recipes": (
        "SELECT cluster_id FROM pages WHERE cluster_id IS NOT NULL "
        "GROUP BY cluster_id HAVING min(recipe_id) <> max(recipe_id) ORDER BY cluster_id"
    ),
    "pages of a recipe that does not exist": (
        "SELECT id FROM pages WHERE recipe_id NOT IN (SELECT id FROM recipes) ORDER BY id"
    ),
}
"""What must not be found, as queries for the offending rows."""


def integrity(
    source: Store | Database, progress: Callable[[str], None] = lambda _: None
) -> list[str]:
    """Check a database and return what is wrong with it: nothing, if all is well.

    On SQLite the file itself is checked too (``PRAGMA integrity_check``). ``progress`` is told what
    is being checked.
    """
    database = database_of(source)
    problems: list[str] = []
    with database.read() as connection:
        secret = read_info(database, connection).secret
        if not database.is_postgresql:
            progress("the file")
            answers = connection.execute(text("PRAGMA integrity_check")).scalars().all()
            problems += [f"SQLite: {answer}" for answer in answers if answer != "ok"]
            broken = connection.execute(text("PRAGMA foreign_key_check")).all()
            problems += _problem("rows that refer to a missing row", [row[1] for row in broken])
        for number, (what, query) in enumerate(INVARIANTS.items(), start=1):
            progress(f"rule {number} of {len(INVARIANTS)}")
            problems += _problem(what, list(connection.execute(text(query)).scalars()))
        progress("signatures and clusters")
        problems += _keys(connection, secret)
        problems += _unlike(connection)
        problems += _circles(connection)
        progress("texts that are kept")
        problems += _problem("pages whose kept text cannot be read", damaged_texts(connection))
    return problems


def _problem(what: str, found: Sequence[object]) -> list[str]:
    if not found:
        return []
    shown = ", ".join(str(each)[:200] for each in found[:SHOWN])
    more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    return [f"{what}: {shown}{more}"]


def _recipes(connection: Connection) -> dict[int, tuple[Recipe, float]]:
    rows = connection.execute(text("SELECT id, recipe, similarity FROM recipes"))
    return {row.id: (Recipe.from_json(row.recipe), row.similarity) for row in rows}


def _keys(connection: Connection, secret: bytes) -> list[str]:
    """Check that each page has exactly the keys of its signature."""
    recipes = _recipes(connection)
    stored: dict[int, list[int]] = {}
    for page_id, key in connection.execute(text("SELECT page_id, key FROM page_keys")):
        stored.setdefault(page_id, []).append(key)
    wrong: list[int] = []
    damaged: list[int] = []
    rows = connection.execute(
        text("SELECT id, words, content_hash, signature, recipe_id FROM pages ORDER BY id")
    )
    for row in rows:
        found = sorted(stored.pop(row.id, []))
        wanted: list[int] = []
        if row.signature is not None:
            try:
                signature = Signature.from_bytes(
                    row.signature, recipes[row.recipe_id][0], row.words, row.content_hash
                )
            except (KeyError, ValueError):
                damaged.append(row.id)
                continue
            wanted = signature.keys(secret)
        if found != wanted:
            wrong.append(row.id)
    return [
        *_problem("pages whose signature cannot be read", damaged),
        *_problem("pages whose keys are not those of their signature", wrong),
        *_problem("keys of a page that does not exist", sorted(stored)),
    ]


_PAIRS = (
    "SELECT page.id, page.recipe_id, page.similarity, page.words, page.content_hash, "
    "page.signature, other.words, other.content_hash, other.signature FROM pages AS page "
    "JOIN pages AS other ON other.id = page.{column} AND other.recipe_id = page.recipe_id "
    "WHERE page.{column} <> page.id AND page.signature IS NOT NULL "
    "AND other.signature IS NOT NULL ORDER BY page.id"
)


def _unlike(connection: Connection) -> list[str]:
    """Check that pages are similar to their representatives, and to what they repeat as told."""
    recipes = _recipes(connection)
    unlike: dict[str, list[int]] = {"cluster_id": [], "duplicate_of_id": []}
    for column, wrong in unlike.items():
        rows = connection.execution_options(yield_per=1000).execute(
            text(_PAIRS.format(column=column))
        )
        for page, number, told, *both in rows:
            try:
                recipe, threshold = recipes[number]
                one, other = (
                    Signature.from_bytes(values, recipe, words, content_hash)
                    for words, content_hash, values in (both[:3], both[3:])
                )
            except (KeyError, ValueError):
                continue  # told by `_keys`
            found = similarity(one, other)
            if found < threshold or (column == "duplicate_of_id" and found != told):
                wrong.append(page)
    return [
        *_problem("pages that are not similar to their representative", unlike["cluster_id"]),
        *_problem(
            "pages whose similarity is not that to the page that they repeat",
            unlike["duplicate_of_id"],
        ),
    ]


def _circles(connection: Connection) -> list[str]:
    """Check that following ``duplicate_of_id`` always ends at a page that is new."""
    query = text("SELECT id, duplicate_of_id FROM pages WHERE duplicate_of_id IS NOT NULL")
    target = {row.id: row.duplicate_of_id for row in connection.execute(query)}
    ended: set[int] = set()
    circular: list[int] = []
    for start in target:
        path: dict[int, None] = {}
        step = start
        while step in target and step not in ended and step not in path:
            path[step] = None
            step = target[step]
        if step in path:
            circular.append(start)
        ended.update(path)
    return _problem("duplicates that lead back to themselves", circular)
