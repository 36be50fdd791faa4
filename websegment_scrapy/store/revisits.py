"""What is kept of a page to come back to it for less: validators, a hash, and how it was lately.

A row is written with the visit, in the same transaction, and holds as long as that visit is the
page's last: once a crawl without ``WEBSEGMENT_REVISIT`` was there, or the page failed or had no
text, it is looked at in full.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import bindparam, delete, insert, select

from websegment_scrapy.dedup.decision import DecisionKind
from websegment_scrapy.store.models import Page, Revisit
from websegment_scrapy.store.record import canonical_url, clean, url_key
from websegment_scrapy.store.schedule import next_interval

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from websegment_scrapy.store.record import Look, PageRecord
    from websegment_scrapy.store.statements import Row
    from websegment_scrapy.store.store import Store

__all__ = ["KnownPage", "Seen", "drop_revisits", "keep_revisits", "known"]

LOOK_DAYS = 120
"""Days after which a page is looked at in full although nothing speaks for a change,"""

LOOK_DAYS_PARTLY = 5
"""and those of a page that has some of its text by script. Both up to twice as many, by the URL:
not all pages are to be looked at on the same day. A thousand in 120 to 240 days are 6 a day."""

MAX_VALIDATOR = 500
"""Characters of a validator that is kept; a longer one is not."""

_COLUMNS = tuple(column.name for column in Revisit.__table__.columns)
_ROW = select(*(getattr(Revisit, name) for name in _COLUMNS))
_INSERT = insert(Revisit)


class KnownPage(NamedTuple):
    """What is known of a page before it is visited again."""

    etag: str | None
    last_modified: str | None
    plain_hash: bytes | None
    leads_on: bool
    links_by_script: bool
    scripted: bool
    look_by: datetime
    due: datetime
    rendered: bool


_KNOWN = (
    select(*(getattr(Revisit, name) for name in KnownPage._fields[:-1]), Page.rendered)
    .join(Page, Page.id == Revisit.page_id)
    .where(
        Page.url_key == bindparam("key"),
        Page.content_hash.is_not(None),
        Page.last_seen == Revisit.seen_at,
    )
)


class Seen(NamedTuple):
    """A visit that was decided."""

    page_id: int
    kind: DecisionKind
    at: datetime
    record: PageRecord


def known(store: Store, url: str) -> KnownPage | None:
    """Return what is known of a URL's page, if it holds."""
    with store.database.read() as connection:
        row = connection.execute(_KNOWN, {"key": url_key(canonical_url(url))}).first()
    return None if row is None else KnownPage._make(row)


def keep_revisits(connection: Connection, visits: Sequence[Seen]) -> None:
    """Write what is to be kept of visits, in their order."""
    pages = {visit.page_id for visit in visits}
    found = connection.execute(_ROW.where(Revisit.page_id.in_(pages))).mappings()
    rows: dict[int, Row] = {row["page_id"]: dict(row) for row in found}
    changed = select(Page.id, Page.last_changed).where(Page.id.in_(pages))
    since = {row.id: row.last_changed for row in connection.execute(changed)}
    for visit in visits:
        row = _row(visit, rows.get(visit.page_id), since.get(visit.page_id))
        if row is None:
            rows.pop(visit.page_id, None)
        else:
            rows[visit.page_id] = row
    drop_revisits(connection, pages)
    if rows:
        connection.execute(_INSERT, list(rows.values()))


def _row(visit: Seen, old: Row | None, since: datetime | None) -> Row | None:
    """Return the row of a page after a visit; `since`: when it got the text that it has."""
    look = visit.record.look
    if visit.kind in (DecisionKind.EMPTY, DecisionKind.FAILED):
        return None
    if visit.record.unchanged is not None:
        if old is None:
            return None
        row = dict(old)
    elif look is None:
        return None
    else:
        row = _looked(visit, look)
        if old is not None:
            same_html = look.plain_hash is not None and look.plain_hash == old["plain_hash"]
            row["scripted"] = old["scripted"] or (visit.kind is DecisionKind.CHANGED and same_html)
    interval = next_interval(
        None if old is None else timedelta(seconds=old["interval_seconds"]),
        None if since is None else visit.at - since,
        changed=visit.kind is DecisionKind.CHANGED,
    )
    due = {"interval_seconds": interval.total_seconds(), "due": visit.at + interval}
    return {**row, **due, "seen_at": visit.at}


def _looked(visit: Seen, look: Look) -> Row:
    days = LOOK_DAYS if look.told_fully else LOOK_DAYS_PARTLY
    later = url_key(canonical_url(visit.record.url))[0] / 256
    return {
        "page_id": visit.page_id,
        "etag": _short(look.etag),
        "last_modified": _short(look.last_modified),
        "plain_hash": look.plain_hash,
        "leads_on": look.leads_on,
        "links_by_script": look.links_by_script,
        "scripted": False,
        "look_by": visit.at + timedelta(days=days * (1 + later)),
    }


def _short(validator: str | None) -> str | None:
    if not validator or len(validator) > MAX_VALIDATOR:
        return None
    return validator if clean(validator) == validator else None


def drop_revisits(connection: Connection, pages: Collection[int]) -> None:
    """Forget what is kept of pages."""
    connection.execute(delete(Revisit).where(Revisit.page_id.in_(pages)))
