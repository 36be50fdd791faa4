"""A store is brought into another one: merged with it, or copied into an empty one."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, delete, insert, or_, select, update

from websegment_scrapy.exceptions import StoreError, StoreMismatch
from websegment_scrapy.store.kept_texts import bring_texts, write_texts
from websegment_scrapy.store.models import (
    Crawl,
    KeptPage,
    Page,
    Site,
    StoreInfo,
    TemplateCount,
    Visit,
)
from websegment_scrapy.store.record import PageRecord
from websegment_scrapy.store.rendering import take_rendering
from websegment_scrapy.store.resign import former_pages
from websegment_scrapy.store.schema import crawl_id, read_info
from websegment_scrapy.store.templates import replace_counts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy import Connection

    from websegment_scrapy.store.database import Database
    from websegment_scrapy.store.store import Store
    from websegment_scrapy.store.visit import Rules

__all__ = ["Merged", "copy", "merge"]

CHUNK = 200
"""Pages in one transaction: crawls that write meanwhile wait for one chunk at most."""

COPYING = "copying_from"
"""The key in ``store_info`` of a database that is being filled by `copy`."""

_SET_FIRST_AND_LAST = (
    update(Page)
    .where(Page.id == bindparam("page"))
    .values(
        first_seen=bindparam("first"),
        last_seen=bindparam("last"),
        parts_counted=or_(Page.parts_counted, bindparam("counted")),
    )
)


_REPEATED = {field.name for field in fields(PageRecord)}.intersection(
    (*Page.__table__.columns.keys(), "dossier")
) - {"url", "signature", "error"}
"""What a record has in common with what is stored of a page; the others need care."""


@dataclass(frozen=True, slots=True)
class Merged:
    """What a merge brought: pages whose text was taken over, and visits."""

    pages: int
    visits: int


def merge(
    source: Database, target: Store, progress: Callable[[int], None] = lambda _: None
) -> Merged:
    """Bring all pages and visits of one store into another one; into an empty one: a copy.

    Where both know a URL, the text that was seen later counts. Pages whose text is taken over are
    decided anew among those of the target, which is noted as a visit of a crawl named after the
    source. The history of each URL is that of both. Of what a site repeats, the counts are kept
    that rest on more pages. What was brought before is not brought again,
    so an interrupted merge is simply started again.
    """
    with source.read() as connection:
        info = read_info(source, connection)
    if info.recipe != target.rules.recipe or info.similarity != target.rules.similarity:
        raise StoreMismatch(
            f"{source.name} has the recipe {info.recipe.to_json()} and the similarity "
            f"{info.similarity}, {target.database.name} has {target.rules.recipe.to_json()} and "
            f"{target.rules.similarity}: only stores of the same recipe can be merged"
        )
    former = former_pages(source)
    if former:
        raise StoreMismatch(
            f"{former} pages of {source.name} have signatures of a former recipe: bring them up to "
            "date first (websegment dedup resign), or remove them (websegment dedup forget)"
        )
    pages = visits = after = read = 0
    while True:
        with source.read() as connection:
            rows = connection.execute(
                select(Page, KeptPage.dossier)
                .outerjoin(KeptPage, KeptPage.page_id == Page.id)
                .where(Page.id > after)
                .order_by(Page.id)
                .limit(CHUNK)
            ).all()
            history = _history(connection, [row.id for row in rows])
            texts = bring_texts(connection, [row.id for row in rows])
        if not rows:
            _bring_counts(source, target)
            take_rendering(source, target.database)
            return Merged(pages, visits)
        taken = _to_take(target.database, rows)
        decided = [_record(row, target.rules, _crawl_of(source)) for row in taken]
        for start in range(0, len(decided), 16):
            target.decide_many(decided[start : start + 16])
        with target.database.write() as connection:
            visits += _bring_visits(connection, rows, history, texts)
        pages += len(taken)
        after = rows[-1].id
        read += len(rows)
        progress(read)


def copy(
    source: Database, target: Store, progress: Callable[[int], None] = lambda _: None
) -> Merged:
    """Bring all pages and visits of one store into a new one, which must be empty.

    While it works the target is marked in ``store_info``, so an interrupted copy, and nothing else,
    can be started again.
    """
    with source.read() as connection:
        mark = f"{source.name} of {read_info(source, connection).created.isoformat()}"
    with target.database.write() as connection:
        found = connection.execute(select(StoreInfo.value).where(StoreInfo.key == COPYING)).scalar()
        if found is None:
            if connection.execute(select(Page.id).limit(1)).scalar() is not None:
                raise StoreError(
                    f"{target.database.name} holds pages already: copy into a new database, or "
                    "use websegment dedup merge"
                )
            connection.execute(insert(StoreInfo), {"key": COPYING, "value": mark})
        elif found != mark:
            raise StoreError(
                f"{target.database.name} holds a part of {found}: copy the rest of that first, or "
                "copy into a new database"
            )
    brought = merge(source, target, progress)
    with target.database.write() as connection:
        connection.execute(delete(StoreInfo).where(StoreInfo.key == COPYING))
    return brought


def _crawl_of(source: Database) -> str:
    """Return the name of the crawl under which a merge writes down its decisions."""
    return f"merge of {source.name}"


def _bring_counts(source: Database, target: Store) -> None:
    """Take over the counts of each site that the source has counted more pages of."""
    after: str | None = None
    while True:
        with source.read() as connection:
            query = select(Site.host, Site.template_pages).where(Site.template_pages > 0)
            if after is not None:
                query = query.where(Site.host > after)
            site = connection.execute(query.order_by(Site.host).limit(1)).first()
            if site is None:
                return
            parts = select(TemplateCount.part, TemplateCount.pages, TemplateCount.sample)
            own = parts.where(TemplateCount.host == site.host).order_by(TemplateCount.part)
            rows = [(part, pages, sample) for part, pages, sample in connection.execute(own)]
        with target.database.write() as connection:
            replace_counts(connection, site.host, site.template_pages, rows)
        after = site.host


def _history(connection: Connection, ids: Sequence[int]) -> dict[int, list[Any]]:
    query = (
        select(
            Visit.page_id, Visit.seen_at, Crawl.name, Visit.decision, Visit.similarity, Visit.reason
        )
        .join(Crawl, Crawl.id == Visit.crawl_id)
        .where(Visit.page_id.in_(ids))
        .order_by(Visit.id)
    )
    found: dict[int, list[Any]] = {page_id: [] for page_id in ids}
    for row in connection.execute(query):
        found[row.page_id].append(row)
    return found


def _to_take(target: Database, rows: Sequence[Any]) -> list[Any]:
    """Choose the pages that the target does not know, or knows with an older text."""
    with target.read() as connection:
        query = select(Page.url_key, Page.content_hash, Page.last_changed).where(
            Page.url_key.in_([row.url_key for row in rows])
        )
        known = {row.url_key: row for row in connection.execute(query)}
    taken = []
    for row in rows:
        own = known.get(row.url_key)
        if own is None or (
            row.last_changed is not None
            and own.content_hash != row.content_hash
            and (own.last_changed is None or own.last_changed < row.last_changed)
        ):
            taken.append(row)
    return taken


def _record(row: Any, rules: Rules, crawl: str) -> PageRecord:
    """Return what would be handed to the target, had it been visited by the source's crawl."""
    same = {name: getattr(row, name) for name in _REPEATED}
    signed = row.signature is not None
    return PageRecord(
        **same,
        url=row.seen_url or row.url,
        signature=rules.signature(row) if signed else None,
        error=None if signed else row.error,
        crawl=crawl,
    )


def _bring_visits(
    connection: Connection,
    rows: Sequence[Any],
    history: dict[int, list[Any]],
    texts: dict[int, list[Any]],
) -> int:
    """Write the visits that the target does not have, the texts, and the times of the pages."""
    keys = [row.url_key for row in rows]
    found = connection.execute(
        select(Page.id, Page.url_key, Page.first_seen, Page.last_seen).where(Page.url_key.in_(keys))
    )
    known = {row.url_key: row for row in found}
    ids = [row.id for row in known.values()]
    present = {
        (row.page_id, row.seen_at)
        for row in connection.execute(
            select(Visit.page_id, Visit.seen_at).where(Visit.page_id.in_(ids))
        )
    }
    crawls: dict[str, int] = {}
    new: list[dict[str, Any]] = []
    times: list[dict[str, Any]] = []
    kept: list[dict[str, Any]] = []
    for row in rows:
        page = known[row.url_key]
        kept += [
            {"page_id": page.id, "seen_at": text.seen_at, "text": text.text}
            for text in texts.get(row.id, ())
        ]
        for visit in history[row.id]:
            if (page.id, visit.seen_at) in present:
                continue
            if visit.name not in crawls:
                crawls[visit.name] = crawl_id(connection, visit.name)
            new.append(
                {
                    "page_id": page.id,
                    "seen_at": visit.seen_at,
                    "crawl_id": crawls[visit.name],
                    "decision": visit.decision,
                    "similarity": visit.similarity,
                    "reason": visit.reason,
                }
            )
        times.append(
            {
                "page": page.id,
                "first": min(page.first_seen, row.first_seen),
                "last": max(page.last_seen, row.last_seen),
                "counted": row.parts_counted,
            }
        )
    if new:
        connection.execute(insert(Visit), new)
    write_texts(connection, kept)
    connection.execute(_SET_FIRST_AND_LAST, times)
    return len(new)
