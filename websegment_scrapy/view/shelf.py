"""The pages that a report names, with their visits: as many as there is room for."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from websegment_scrapy.printable import shortened
from websegment_scrapy.store.models import Page, Visit

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from sqlalchemy import Connection

__all__ = ["COLUMNS", "Shelf", "rounded", "seconds"]

CHUNK = 400
URL, TITLE, ERROR = 500, 200, 300
"""Characters that are shown of each."""

VISITS = 12
"""Of a page, the last ones."""

COLUMNS = (
    "id url host title words decision original similarity cluster rendered render_error status "
    "error type probability score first_seen last_seen last_changed crawl"
).split()


@dataclass(slots=True)
class Shelf:
    """Pages as rows of `COLUMNS`, their visits and the keys of their URLs.

    Parameters
    ----------
    room
        Bytes that all of them together may take as JSON.
    """

    room: int
    rows: dict[int, list[Any]] = field(default_factory=dict)
    visits: dict[int, list[list[Any]]] = field(default_factory=dict)
    keys: dict[bytes, int] = field(default_factory=dict)
    is_full: bool = False

    def put(self, connection: Connection, pages: Iterable[int]) -> None:
        """Put pages on the shelf in their order, until there is no more room."""
        waiting = [page for page in dict.fromkeys(pages) if page not in self.rows]
        for start in range(0, len(waiting), CHUNK):
            if self.is_full:
                return
            self._put(connection, waiting[start : start + CHUNK])

    def put_latest(self, connection: Connection) -> None:
        """Fill what is left with the pages that were seen first last."""
        below: int | None = None
        while not self.is_full:
            query = select(Page.id).order_by(Page.id.desc()).limit(CHUNK)
            if below is not None:
                query = query.where(Page.id < below)
            found = list(connection.execute(query).scalars())
            if not found:
                return
            self.put(connection, found)
            below = found[-1]

    def _put(self, connection: Connection, chunk: list[int]) -> None:
        rows = {
            row.id: row for row in connection.execute(select(*_QUERIED).where(Page.id.in_(chunk)))
        }
        visits: dict[int, list[list[Any]]] = {}
        query = (
            select(
                Visit.page_id,
                Visit.seen_at,
                Visit.crawl_id,
                Visit.decision,
                Visit.similarity,
                Visit.duplicate_of_id,
                Visit.reason,
            )
            .where(Visit.page_id.in_(chunk))
            .order_by(Visit.id.desc())
        )
        for page, seen, crawl, decision, similarity, original, reason in connection.execute(query):
            own = visits.setdefault(page, [])
            if len(own) < VISITS:
                told = None if reason is None else shortened(reason, ERROR)
                own.append([seconds(seen), crawl, decision, rounded(similarity), original, told])
        for page in chunk:
            if page not in rows:
                continue
            key, row = _row(rows[page])
            size = len(json.dumps([row, visits.get(page)], ensure_ascii=False).encode())
            if size > self.room:
                self.is_full = True
                return
            self.room -= size
            self.rows[page] = row
            self.visits[page] = visits.get(page, [])
            self.keys[key] = page


_QUERIED = (
    Page.id,
    Page.url,
    Page.host,
    Page.title,
    Page.words,
    Page.decision,
    Page.duplicate_of_id,
    Page.similarity,
    Page.cluster_id,
    Page.rendered,
    Page.render_error,
    Page.http_status,
    Page.error,
    Page.page_type,
    Page.page_type_probability,
    Page.main_text_score,
    Page.first_seen,
    Page.last_seen,
    Page.last_changed,
    Page.crawl_id,
    Page.url_key,
)


def _row(row: Any) -> tuple[bytes, list[Any]]:
    return row.url_key, [
        row.id,
        shortened(row.url, URL),
        shortened(row.host, TITLE),
        shortened(row.title, TITLE),
        row.words,
        row.decision,
        row.duplicate_of_id,
        rounded(row.similarity),
        row.cluster_id,
        int(row.rendered),
        None if row.render_error is None else shortened(row.render_error, ERROR),
        row.http_status,
        None if row.error is None else shortened(row.error, ERROR),
        None if row.page_type is None else shortened(row.page_type, TITLE),
        rounded(row.page_type_probability),
        rounded(row.main_text_score),
        seconds(row.first_seen),
        seconds(row.last_seen),
        seconds(row.last_changed),
        row.crawl_id,
    ]


def seconds(moment: datetime | None) -> int | None:
    """Return a time as seconds since 1970."""
    return None if moment is None else int(moment.timestamp())


def rounded(number: float | None) -> float | None:
    """Return a number as a report has it: with three digits."""
    return None if number is None else round(number, 3)
