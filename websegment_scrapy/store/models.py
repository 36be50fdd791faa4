"""The tables of the dedup database as SQLAlchemy models."""

from __future__ import annotations

from datetime import datetime  # noqa: TC003 – SQLAlchemy reads the annotations
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Double,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    String,
    event,
    false,
    text,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from websegment_scrapy.store.times import UtcDateTime

if TYPE_CHECKING:
    from sqlalchemy import Connection, MetaData

__all__ = [
    "SCHEMA_VERSION",
    "VIEWS",
    "Base",
    "Crawl",
    "KeptPage",
    "KeptText",
    "Page",
    "PageKey",
    "Revisit",
    "Site",
    "SiteRendering",
    "StoreInfo",
    "StoreRecipe",
    "TemplateCount",
    "Visit",
]

SCHEMA_VERSION = 11
"""Raised whenever a table, a column, a view or what they mean changes, with a new migration."""

VIEWS = {
    "duplicates": """\
SELECT page.url AS url, original.url AS duplicate_of, first.url AS representative,
       page.similarity AS similarity
FROM pages AS page
JOIN pages AS original ON original.id = page.duplicate_of_id
JOIN pages AS first ON first.id = page.cluster_id""",
    "clusters": """\
SELECT first.id AS cluster_id, first.url AS representative, first.title AS title,
       sizes.pages AS pages
FROM (SELECT cluster_id, count(*) + 1 AS pages FROM pages
      WHERE cluster_id <> id GROUP BY cluster_id) AS sizes
JOIN pages AS first ON first.id = sizes.cluster_id""",
    "url_history": """\
SELECT page.url AS url, visit.seen_at AS seen_at, crawl.name AS crawl,
       visit.decision AS decision, visit.similarity AS similarity,
       CASE WHEN visit.decision = 'changed' THEN 1 - visit.similarity END AS changed_share,
       original.url AS duplicate_of, visit.reason AS reason
FROM visits AS visit
JOIN pages AS page ON page.id = visit.page_id
JOIN crawls AS crawl ON crawl.id = visit.crawl_id
LEFT JOIN pages AS original ON original.id = visit.duplicate_of_id""",
}
"""The views for users of plain SQL; they stay when the tables below them change."""


# SQLite numbers rows by itself only in a column of type INTEGER.
_Id = BigInteger().with_variant(Integer, "sqlite")


def _refers(column: str, target: str) -> ForeignKeyConstraint:
    """Return a foreign key, on SQLite only.

    On PostgreSQL each one is a trigger that locks the row referred to, for every row written: many
    crawlers would queue up for the row of their crawl or of a popular page. There the store's own
    locks keep references whole, and `integrity` checks them.
    """
    constraint = ForeignKeyConstraint([column], [target])
    constraint.ddl_if(dialect="sqlite")
    return constraint


def _partial(name: str, column: str, where: str) -> Index:
    """Return an index of the rows for which a condition holds."""
    condition = text(where)
    return Index(name, column, sqlite_where=condition, info={"postgresql_where": condition})


class Base(DeclarativeBase):
    """Base of the models."""

    type_annotation_map = {float: Double}  # noqa: RUF012
    """SQLAlchemy 2.0 would make it FLOAT, later ones DOUBLE: the same numbers, another schema."""


@event.listens_for(Base.metadata, "before_create")
def _complete_indexes(metadata: MetaData, connection: Connection, **_: Any) -> None:
    """Give the indexes their options for PostgreSQL.

    Given with the index, they would have SQLAlchemy load that dialect for SQLite as well.
    """
    if connection.dialect.name == "postgresql":
        for table in metadata.tables.values():
            for index in table.indexes:
                index.dialect_kwargs.update(index.info)


class StoreInfo(Base):
    """What the database was made for: schema version, recipe, similarity, time of creation."""

    __tablename__ = "store_info"

    key: Mapped[str] = mapped_column(String, primary_key=True)
    value: Mapped[str] = mapped_column(String)


class StoreRecipe(Base):
    """The recipes of signatures that the database has had, with their similarities."""

    __tablename__ = "recipes"

    id: Mapped[int] = mapped_column(_Id, primary_key=True)
    recipe: Mapped[str] = mapped_column(String)
    similarity: Mapped[float]
    adopted: Mapped[datetime] = mapped_column(UtcDateTime)


class Page(Base):
    """One row for each URL: its last good content and where that belongs."""

    __tablename__ = "pages"
    __table_args__ = (
        _refers("duplicate_of_id", "pages.id"),
        _refers("cluster_id", "pages.id"),
        # An index for users' queries by URL. PostgreSQL's B-tree refuses long URLs, its hash index
        # does not; the crawl itself looks up `url_key`.
        Index("pages_url", "url", info={"postgresql_using": "hash"}),
        Index("pages_content", "content_hash", "id"),
        Index("pages_document", "document_hash", "id"),
        _partial("pages_revised", "revised", "revised IS NOT NULL"),
        # A representative has its own id as cluster, so the index holds the other members only:
        # clusters are counted and listed from it without reading all pages.
        _partial("pages_cluster", "cluster_id", "cluster_id <> id"),
        _partial("pages_duplicate_of", "duplicate_of_id", "duplicate_of_id IS NOT NULL"),
        _partial("pages_without_text", "decision", "signature IS NULL"),
        _partial("pages_type", "page_type", "page_type IS NOT NULL"),
        # Empty in a database that never changed its recipe; counts what is left to re-sign.
        _partial("pages_recipe", "recipe_id", "recipe_id <> 1 AND signature IS NOT NULL"),
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
    seen_url: Mapped[str | None] = mapped_column(String)
    url_key: Mapped[bytes] = mapped_column(LargeBinary(16), unique=True)
    host: Mapped[str] = mapped_column(String)
    title: Mapped[str] = mapped_column(String)
    words: Mapped[int]
    content_hash: Mapped[bytes | None] = mapped_column(LargeBinary(16))
    signature: Mapped[bytes | None] = mapped_column(LargeBinary)
    recipe_id: Mapped[int] = mapped_column(_Id, server_default="1")
    decision: Mapped[str] = mapped_column(String(9))
    duplicate_of_id: Mapped[int | None] = mapped_column(_Id)
    similarity: Mapped[float | None]
    cluster_id: Mapped[int | None] = mapped_column(_Id)
    engine: Mapped[str] = mapped_column(String)
    model: Mapped[str] = mapped_column(String, server_default="")
    rendered: Mapped[bool]
    render_error: Mapped[str | None] = mapped_column(String)
    http_status: Mapped[int | None]
    error: Mapped[str | None] = mapped_column(String)
    crawl_id: Mapped[int | None] = mapped_column(_Id)
    first_seen: Mapped[datetime] = mapped_column(UtcDateTime)
    last_seen: Mapped[datetime] = mapped_column(UtcDateTime)
    last_changed: Mapped[datetime | None] = mapped_column(UtcDateTime)
    page_hash: Mapped[bytes | None] = mapped_column(LargeBinary(16))
    parts_counted: Mapped[bool] = mapped_column(server_default=false())
    document_hash: Mapped[bytes | None] = mapped_column(LargeBinary(16))
    fingerprint: Mapped[bytes | None] = mapped_column(LargeBinary)
    revised: Mapped[datetime | None] = mapped_column(UtcDateTime)
    page_type: Mapped[str | None] = mapped_column(String)
    page_type_probability: Mapped[float | None]
    steady_hash: Mapped[bytes | None] = mapped_column(LargeBinary(16))
    render_reason: Mapped[str | None] = mapped_column(String)
    main_text_score: Mapped[float | None]


class KeptPage(Base):
    """What of a page is kept until its site is known, so that it can be judged again."""

    __tablename__ = "kept_pages"
    __table_args__ = (_refers("page_id", "pages.id"), Index("kept_pages_host", "host"))

    page_id: Mapped[int] = mapped_column(_Id, primary_key=True, autoincrement=False)
    host: Mapped[str] = mapped_column(String)
    dossier: Mapped[bytes] = mapped_column(LargeBinary)


class KeptText(Base):
    """A main text that is kept, compressed, with the time of the visit that found it."""

    __tablename__ = "kept_texts"
    __table_args__ = (_refers("page_id", "pages.id"),)

    page_id: Mapped[int] = mapped_column(_Id, primary_key=True, autoincrement=False)
    seen_at: Mapped[datetime] = mapped_column(UtcDateTime, primary_key=True)
    text: Mapped[bytes] = mapped_column(LargeBinary)


class Revisit(Base):
    """What it takes to come back to a page for less than a full look (`revisits`, `schedule`)."""

    __tablename__ = "revisits"
    __table_args__ = (_refers("page_id", "pages.id"), Index("revisits_due", "due"))

    page_id: Mapped[int] = mapped_column(_Id, primary_key=True, autoincrement=False)
    seen_at: Mapped[datetime] = mapped_column(UtcDateTime)
    etag: Mapped[str | None] = mapped_column(String)
    last_modified: Mapped[str | None] = mapped_column(String)
    plain_hash: Mapped[bytes | None] = mapped_column(LargeBinary(16))
    leads_on: Mapped[bool]
    links_by_script: Mapped[bool]
    scripted: Mapped[bool]
    look_by: Mapped[datetime] = mapped_column(UtcDateTime)
    interval_seconds: Mapped[float]
    due: Mapped[datetime] = mapped_column(UtcDateTime)


class PageKey(Base):
    """The keys of a page's signature: pages with a key in common are compared."""

    __tablename__ = "page_keys"
    __table_args__ = ({"sqlite_with_rowid": False},)

    key: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    page_id: Mapped[int] = mapped_column(_Id, primary_key=True, autoincrement=False)


class Crawl(Base):
    """One row for each crawl that wrote to the database."""

    __tablename__ = "crawls"

    id: Mapped[int] = mapped_column(_Id, primary_key=True)
    name: Mapped[str] = mapped_column(String, unique=True)
    started: Mapped[datetime] = mapped_column(UtcDateTime)


class Site(Base):
    """One row for each host: when it was met, and what was forgotten of it."""

    __tablename__ = "sites"

    host: Mapped[str] = mapped_column(String, primary_key=True)
    first_seen: Mapped[datetime] = mapped_column(UtcDateTime)
    template_pages: Mapped[int] = mapped_column(_Id, server_default="0")
    revised_pages: Mapped[int] = mapped_column(_Id, server_default="0")
    forgotten_pages: Mapped[int] = mapped_column(_Id, server_default="0")
    forgotten_visits: Mapped[int] = mapped_column(_Id, server_default="0")


class SiteRendering(Base):
    """How often a site's pages were looked at both ways, and needed the browser (`rendering`)."""

    __tablename__ = "site_rendering"

    host: Mapped[str] = mapped_column(String, primary_key=True)
    sign: Mapped[str] = mapped_column(String, primary_key=True)
    looks: Mapped[float]
    needed: Mapped[float]
    seen_at: Mapped[datetime] = mapped_column(UtcDateTime)


class TemplateCount(Base):
    """On how many of a site's counted pages a part was seen, and how it begins (`templates`)."""

    __tablename__ = "template_counts"
    __table_args__ = ({"sqlite_with_rowid": False},)

    host: Mapped[str] = mapped_column(String, primary_key=True)
    part: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    pages: Mapped[int] = mapped_column(_Id)
    sample: Mapped[str | None] = mapped_column(String)


class Visit(Base):
    """One row for each visit to a page, never changed afterwards."""

    __tablename__ = "visits"
    __table_args__ = (
        _refers("page_id", "pages.id"),
        _refers("duplicate_of_id", "pages.id"),
        Index("visits_page", "page_id"),
        _partial("visits_changed", "seen_at", "decision = 'changed'"),
        CheckConstraint(
            "decision IN ('new', 'duplicate', 'unchanged', 'changed', 'empty', 'failed')",
            name="visits_decision",
        ),
    )

    id: Mapped[int] = mapped_column(_Id, primary_key=True)
    page_id: Mapped[int] = mapped_column(_Id)
    seen_at: Mapped[datetime] = mapped_column(UtcDateTime)
    crawl_id: Mapped[int] = mapped_column(_Id)
    decision: Mapped[str] = mapped_column(String(9))
    similarity: Mapped[float | None]
    duplicate_of_id: Mapped[int | None] = mapped_column(_Id)
    reason: Mapped[str | None] = mapped_column(String)
