"""The tables of the dedup database as SQLAlchemy models."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    DateTime,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    String,
    TypeDecorator,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

if TYPE_CHECKING:
    from sqlalchemy import Dialect
    from sqlalchemy.types import TypeEngine

__all__ = [
    "DUPLICATES_VIEW",
    "SCHEMA_VERSION",
    "Base",
    "Page",
    "PageKey",
    "StoreInfo",
    "UtcDateTime",
    "Visit",
]

SCHEMA_VERSION = 1
"""Raised whenever a table, column or view changes."""

DUPLICATES_VIEW = """\
CREATE VIEW duplicates AS
SELECT page.url AS url, original.url AS duplicate_of, first.url AS representative,
       page.similarity AS similarity
FROM pages AS page
JOIN pages AS original ON original.id = page.duplicate_of_id
JOIN pages AS first ON first.id = page.cluster_id"""
"""The view for users of plain SQL: who is a near-duplicate of whom."""


class UtcDateTime(TypeDecorator[datetime]):
    """Aware datetimes in UTC.

    PostgreSQL keeps them as ``TIMESTAMP WITH TIME ZONE``; SQLite, which has no such type, as text
    like ``2026-01-31 12:00:00.000000Z``, which sorts rightly, reads well and is understood by
    SQLite's own date functions.
    """

    impl = String
    cache_ok = True
    _FORMAT = "%Y-%m-%d %H:%M:%S.%fZ"

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Choose the column's type."""
        if dialect.name == "postgresql":
            return dialect.type_descriptor(DateTime(timezone=True))
        return dialect.type_descriptor(String(27))

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        """Convert to what the database keeps."""
        if value is None:
            return None
        value = value.astimezone(UTC)
        return value if dialect.name == "postgresql" else value.strftime(self._FORMAT)

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        """Convert from what the database keeps."""
        if value is None:
            return None
        if isinstance(value, datetime):
            return value.astimezone(UTC)
        return datetime.strptime(value, self._FORMAT).replace(tzinfo=UTC)


# SQLite numbers rows by itself only in a column of type INTEGER.
_Id = BigInteger().with_variant(Integer, "sqlite")


class Base(DeclarativeBase):
    """Base of the models."""


class StoreInfo(Base):
    """What the database was made for: schema version, recipe, similarity, time of creation."""

    __tablename__ = "store_info"

    key: Mapped[str] = mapped_column(String, primary_key=True)
    value: Mapped[str] = mapped_column(String)


class Page(Base):
    """One row for each URL: its last good content and where that belongs."""

    __tablename__ = "pages"
    __table_args__ = (
        # An index for users' queries by URL. PostgreSQL's B-tree refuses long URLs, its hash index
        # does not; the crawl itself looks up `url_key`.
        Index("pages_url", "url", postgresql_using="hash"),
        Index("pages_content", "content_hash", "id"),
        Index("pages_cluster", "cluster_id"),
        CheckConstraint(
            "decision IN ('new', 'duplicate', 'empty', 'failed')", name="pages_decision"
        ),
        CheckConstraint(
            "(decision = 'duplicate') = (duplicate_of_id IS NOT NULL)", name="pages_duplicate"
        ),
        CheckConstraint(
            "(decision IN ('new', 'duplicate')) = (signature IS NOT NULL)", name="pages_signature"
        ),
    )

    id: Mapped[int] = mapped_column(_Id, primary_key=True)
    url: Mapped[str] = mapped_column(String)
    url_key: Mapped[bytes] = mapped_column(LargeBinary(16), unique=True)
    host: Mapped[str] = mapped_column(String)
    title: Mapped[str] = mapped_column(String)
    words: Mapped[int]
    content_hash: Mapped[bytes | None] = mapped_column(LargeBinary(16))
    signature: Mapped[bytes | None] = mapped_column(LargeBinary)
    decision: Mapped[str] = mapped_column(String(9))
    duplicate_of_id: Mapped[int | None] = mapped_column(ForeignKey("pages.id"))
    similarity: Mapped[float | None]
    cluster_id: Mapped[int | None] = mapped_column(ForeignKey("pages.id"))
    engine: Mapped[str] = mapped_column(String)
    rendered: Mapped[bool]
    render_error: Mapped[str | None] = mapped_column(String)
    http_status: Mapped[int | None]
    error: Mapped[str | None] = mapped_column(String)
    first_seen: Mapped[datetime] = mapped_column(UtcDateTime)
    last_seen: Mapped[datetime] = mapped_column(UtcDateTime)
    last_changed: Mapped[datetime | None] = mapped_column(UtcDateTime)


class PageKey(Base):
    """The keys of a page's signature: pages with a key in common are compared."""

    __tablename__ = "page_keys"
    __table_args__ = ({"sqlite_with_rowid": False},)

    key: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    page_id: Mapped[int] = mapped_column(
        _Id, ForeignKey("pages.id"), primary_key=True, autoincrement=False
    )


class Visit(Base):
    """One row for each visit to a page, never changed afterwards."""

    __tablename__ = "visits"
    __table_args__ = (
        Index("visits_page", "page_id"),
        CheckConstraint(
            "decision IN ('new', 'duplicate', 'unchanged', 'changed', 'empty', 'failed')",
            name="visits_decision",
        ),
    )

    id: Mapped[int] = mapped_column(_Id, primary_key=True)
    page_id: Mapped[int] = mapped_column(ForeignKey("pages.id"))
    seen_at: Mapped[datetime] = mapped_column(UtcDateTime)
    crawl: Mapped[str] = mapped_column(String)
    decision: Mapped[str] = mapped_column(String(9))
    similarity: Mapped[float | None]
    duplicate_of_id: Mapped[int | None] = mapped_column(ForeignKey("pages.id"))
    reason: Mapped[str | None] = mapped_column(String)
