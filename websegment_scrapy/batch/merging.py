"""The results of a batch are taken into a store, so that a crawl goes on from there.

Pages are handed over in the order in which they were placed, the shortest URL first, and settled
at the end as a crawl's pages are: the clusters of an empty store are those of the batch then. What
sites repeat is taken over where the batch counted more pages of them than the store. Where both
know a URL, the text that was seen later counts. An interrupted merge is simply started again.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, case, func, select, update

from websegment_scrapy.batch.folder import BatchError, Folder
from websegment_scrapy.batch.options import Limits, Options
from websegment_scrapy.batch.rows import parquet
from websegment_scrapy.batch.sites import connect
from websegment_scrapy.dedup.signature import Signature
from websegment_scrapy.store.models import Crawl, Page, Site, Visit
from websegment_scrapy.store.record import PageRecord
from websegment_scrapy.store.settling import settle, unsettled
from websegment_scrapy.store.templates import replace_counts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from websegment_scrapy.store.store import Store

__all__ = ["MergedBatch", "merge_batch", "open_batch"]

AT_ONCE = 16
"""Pages in one transaction."""

READ = 1000
"""Pages read at once."""

_ORDER = """
SELECT rows.* FROM read_parquet($shards) AS rows
LEFT JOIN read_parquet($clusters) AS places USING (input, record)
WHERE rows.outcome IN ('page', 'empty', 'failed') AND rows.canonical_url <> ''
QUALIFY row_number() OVER (
    PARTITION BY rows.url_key
    ORDER BY places.id IS NULL, outcome = 'failed', date DESC, input DESC, record DESC) = 1
ORDER BY length(rows.canonical_url), rows.canonical_url
"""
"""Of each URL the capture that counts: that which was placed, else the last."""

_REPEATED = (
    "title",
    "engine",
    "model",
    "page_hash",
    "fingerprint",
    "document_hash",
    "steady_hash",
    "page_type",
    "page_type_probability",
    "dossier",
    "main_text",
)
"""What a record of the store has in common with a row."""

_SITES = "SELECT DISTINCT host, site_pages FROM read_parquet($sites) ORDER BY host"
_COUNTS = "SELECT part, pages, sample FROM read_parquet($sites) WHERE host = $host ORDER BY part"

_FIRST = bindparam("first", type_=Page.first_seen.type)
_TIMES = (
    update(Page)
    .where(Page.url_key == bindparam("key"))
    .values(
        first_seen=case((Page.first_seen < _FIRST, Page.first_seen), else_=_FIRST),
        parts_counted=bindparam("counted"),
    )
)


@dataclass(frozen=True, slots=True)
class MergedBatch:
    """What a merge brought: pages whose text was taken over, and sites whose counts were."""

    pages: int
    sites: int


def open_batch(path: Path) -> tuple[Folder, Options]:
    """Open a batch that is done."""
    folder = Folder(path)
    options = Options(**folder.manifest()["options"])
    if not folder.is_done:
        raise BatchError(f"the batch in {path} is not done: go on with websegment batch first")
    return folder, options


def merge_batch(
    folder: Folder,
    options: Options,
    store: Store,
    limits: Limits | None = None,
    progress: Callable[[int], None] = lambda _: None,
) -> MergedBatch:
    """Bring all pages of a batch into a store, and what their sites repeat."""
    limits = limits or Limits()
    crawl = f"batch {folder.path.name}"
    taken = read = 0
    for rows in _pages(folder, limits):
        chosen = _to_take(store, rows)
        records = [_record(row, options, crawl) for row in chosen]
        for start in range(0, len(records), AT_ONCE):
            store.decide_many(records[start : start + AT_ONCE])
        _note_times(store, chosen, options)
        taken += len(chosen)
        read += len(rows)
        progress(read)
    sites = _bring_sites(folder, store, limits) if options.site_templates else 0
    _settle(store, crawl)
    return MergedBatch(taken, sites)


def _pages(folder: Folder, limits: Limits) -> Iterator[list[dict[str, Any]]]:
    """Yield the pages that count in their order, some at a time."""
    shards = [str(path) for path in folder.shards(folder.pages)]
    wanted = {"shards": shards, "clusters": str(folder.clusters)}
    parquet()
    folder.work.mkdir(exist_ok=True)
    with connect(folder, limits) as connection:
        for batch in connection.sql(_ORDER, params=wanted).to_arrow_reader(READ):
            yield batch.to_pylist()


def _to_take(store: Store, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Choose the pages that the store does not know, or knows with an older text."""
    query = select(Page.url_key, Page.content_hash, Page.last_changed, Page.last_seen).where(
        Page.url_key.in_([row["url_key"] for row in rows])
    )
    with store.database.read() as connection:
        known = {row.url_key: row for row in connection.execute(query)}
    chosen = []
    for row in rows:
        own = known.get(row["url_key"])
        if own is None:
            chosen.append(row)
            continue
        seen = _time(row["date"])
        is_newer = seen is not None and (own.last_changed or own.last_seen) < seen
        if row["outcome"] == "page" and own.content_hash != row["content_hash"] and is_newer:
            chosen.append(row)
    return chosen


def _record(row: dict[str, Any], options: Options, crawl: str) -> PageRecord:
    """Return what is handed to the store of a page, had a crawl visited it."""
    common: dict[str, Any] = {"url": row["url"], "http_status": row["status"], "crawl": crawl}
    if row["outcome"] == "failed":
        return PageRecord(**common, error=row["detail"] or row["reason"])
    words, content_hash = row["words"], row["content_hash"]
    signature = Signature.from_bytes(row["signature"], options.recipe, words, content_hash)
    return PageRecord(**common, **{name: row[name] for name in _REPEATED}, signature=signature)


def _note_times(store: Store, rows: Sequence[dict[str, Any]], options: Options) -> None:
    """Note when pages were captured first, and that they count among the pages of their sites."""
    times = [
        {
            "key": row["url_key"],
            "first": _time(row["date"]) or datetime.now(UTC),
            "counted": options.site_templates and row["outcome"] != "failed",
        }
        for row in rows
    ]
    if times:
        with store.database.write() as connection:
            connection.execute(_TIMES, times)


def _bring_sites(folder: Folder, store: Store, limits: Limits) -> int:
    """Take over the counts of the sites that the batch knows better; return how many."""
    taken = 0
    sites = {"sites": str(folder.sites)}
    with connect(folder, limits) as connection:
        for host, pages in connection.execute(_SITES, sites).fetchall():
            rows = connection.execute(_COUNTS, {**sites, "host": host}).fetchall()
            with store.database.write() as writing:
                if not replace_counts(writing, host, pages, rows):
                    continue
                # Its pages were judged by all of that.
                judged = update(Site).where(Site.host == host).values(revised_pages=pages)
                writing.execute(judged)
            taken += 1
    return taken


def _settle(store: Store, crawl: str) -> None:
    """Choose the representatives among the pages that were brought, as at the end of a crawl."""
    query = select(func.min(Visit.seen_at)).join(Crawl, Crawl.id == Visit.crawl_id)
    with store.database.read() as connection:
        started = connection.execute(query.where(Crawl.name == crawl)).scalar()
    if started is None:
        return
    done: set[int] = set()
    for page_id in unsettled(store, started):
        if page_id not in done:
            settle(store, started, page_id, done)


def _time(date: str) -> datetime | None:
    """Read the date of a capture; one in the future is none."""
    try:
        found = datetime.fromisoformat(date)
    except ValueError:
        return None
    found = found if found.tzinfo else found.replace(tzinfo=UTC)
    return found if found <= datetime.now(UTC) else None
