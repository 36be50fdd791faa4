"""Main texts that are kept, if that was asked for: of each page those of the last visits.

A text is kept with the visit that found it, in the same transaction; a visit that found the page
unchanged keeps none, since its text is there. Of each page no more than a number are kept, the
latest, and none that is too long: what they take is bounded by the number of pages.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, delete, select, text

from websegment_scrapy.store.models import KeptText
from websegment_scrapy.store.record import clean
from websegment_scrapy.store.times import UtcDateTime

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from websegment_scrapy.store.statements import Row

__all__ = [
    "MAX_BYTES",
    "TextVersion",
    "bring_texts",
    "damaged_texts",
    "drop_texts",
    "keep_texts",
    "packed",
    "texts_of",
    "unpacked",
    "write_texts",
]

MAX_BYTES = 2**18
"""Of a text as it is kept; a longer one is not."""

MAX_CONTENT = 2**24
"""Of a text, when it is read again: a damaged row must not fill the memory."""

LEVEL = 4
"""Of compression: half the time of zlib's default, and a twentieth more bytes."""

_INSERT = text(
    "INSERT INTO kept_texts (page_id, seen_at, text) VALUES (:page_id, :seen_at, :text) "
    "ON CONFLICT (page_id, seen_at) DO NOTHING"
).bindparams(bindparam("seen_at", type_=UtcDateTime()))


@dataclass(frozen=True, slots=True)
class TextVersion:
    """A text of a page, and when it was found first."""

    seen_at: datetime
    text: str


def packed(main_text: str) -> bytes | None:
    """Return a text as it is kept; ``None`` for one that is too long."""
    data = clean(main_text).encode()
    if len(data) > MAX_CONTENT:
        return None
    found = zlib.compress(data, LEVEL)
    return found if len(found) <= MAX_BYTES else None


def keep_texts(connection: Connection, rows: Sequence[Row], most: int) -> None:
    """Keep texts, and of each of their pages only the latest.

    Parameters
    ----------
    rows
        ``page_id``, ``seen_at``, ``text`` (`packed`), and ``is_new``: whether the visit found
        another text than before. A text of an unchanged page is kept when the page has none.
    most
        How many of each page.
    """
    unchanged = [row["page_id"] for row in rows if not row["is_new"]]
    known = _with_text(connection, unchanged)
    chosen = [row for row in rows if row["is_new"] or row["page_id"] not in known]
    if not chosen:
        return
    names = ("page_id", "seen_at", "text")
    connection.execute(_INSERT, [{name: row[name] for name in names} for row in chosen])
    for page in {row["page_id"] for row in chosen}:
        _prune(connection, page, most)


def _with_text(connection: Connection, pages: Collection[int]) -> set[int]:
    if not pages:
        return set()
    query = select(KeptText.page_id).where(KeptText.page_id.in_(pages)).distinct()
    return set(connection.execute(query).scalars())


def _prune(connection: Connection, page: int, most: int) -> None:
    latest = (
        select(KeptText.seen_at)
        .where(KeptText.page_id == page)
        .order_by(KeptText.seen_at.desc())
        .limit(1)
        .offset(most - 1)
    )
    oldest = connection.execute(latest).scalar()
    if oldest is not None:
        connection.execute(
            delete(KeptText).where(KeptText.page_id == page, KeptText.seen_at < oldest)
        )


def texts_of(connection: Connection, pages: Sequence[int]) -> dict[int, list[TextVersion]]:
    """Return the texts that are kept of pages, the earliest first; damaged ones are left out."""
    found: dict[int, list[TextVersion]] = {}
    query = (
        select(KeptText.page_id, KeptText.seen_at, KeptText.text)
        .where(KeptText.page_id.in_(pages))
        .order_by(KeptText.page_id, KeptText.seen_at)
    )
    for page, seen_at, data in connection.execute(query):
        content = unpacked(data)
        if content is not None:
            found.setdefault(page, []).append(TextVersion(seen_at, content))
    return found


def unpacked(data: bytes) -> str | None:
    """Return a text that was kept; ``None`` if it is damaged."""
    reader = zlib.decompressobj()
    try:
        content = reader.decompress(data, MAX_CONTENT)
        return content.decode() if reader.eof else None
    except (zlib.error, UnicodeDecodeError):
        return None


def damaged_texts(connection: Connection) -> list[int]:
    """Return the pages that have a text which cannot be read."""
    query = select(KeptText.page_id, KeptText.text).order_by(KeptText.page_id)
    rows = connection.execute(query, execution_options={"yield_per": 1000})
    return [page for page, data in rows if unpacked(data) is None]


def bring_texts(source: Connection, pages: Sequence[int]) -> dict[int, list[Any]]:
    """Read the rows of pages as they are, to be brought into another store."""
    query = select(KeptText).where(KeptText.page_id.in_(pages)).order_by(KeptText.seen_at)
    found: dict[int, list[Any]] = {}
    for row in source.execute(query):
        found.setdefault(row.page_id, []).append(row)
    return found


def write_texts(target: Connection, rows: Sequence[Row]) -> None:
    """Write rows of another store; what is there already stays."""
    if rows:
        target.execute(_INSERT, list(rows))


def drop_texts(connection: Connection, pages: Collection[int]) -> None:
    """Forget the texts of pages."""
    connection.execute(delete(KeptText).where(KeptText.page_id.in_(pages)))
