"""A page as its row says, before a visit changes it; and the first other page of the same bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import bindparam, or_, select
from sqlalchemy.orm import aliased

from websegment_scrapy.dedup.signature import Signature
from websegment_scrapy.store.leaving import rules_of
from websegment_scrapy.store.models import Page

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

    from websegment_scrapy.store.visit import Rules

__all__ = ["NO_PAGE", "Stored", "same_document", "standing_of", "stored_page"]

NO_PAGE = 0
"""An id that no page has."""

_PAGE = select(
    Page.id,
    Page.words,
    Page.content_hash,
    Page.signature,
    Page.recipe_id,
    Page.first_seen,
    Page.page_hash,
    Page.parts_counted,
    Page.document_hash,
    Page.fingerprint,
    Page.rendered,
    (Page.revised.is_not(None) & (Page.revised > Page.last_seen)).label("was_revised"),
).where(Page.url_key == bindparam("key"))
_Original, _First = aliased(Page), aliased(Page)
_STANDING = (
    select(
        Page.duplicate_of_id,
        Page.similarity,
        _Original.url.label("duplicate_of"),
        _First.url.label("representative"),
    )
    .outerjoin(_Original, _Original.id == Page.duplicate_of_id)
    .outerjoin(_First, _First.id == Page.cluster_id)
    .where(Page.id == bindparam("own_id"))
)
_SAME_DOCUMENT = (
    select(Page.id, Page.words, Page.content_hash, Page.signature)
    .where(
        Page.document_hash == bindparam("document"),
        Page.id != bindparam("own_id"),
        Page.decision != "failed",
        or_(Page.signature.is_(None), Page.recipe_id == bindparam("recipe_id")),
    )
    .order_by(Page.id)
    .limit(1)
)


class Stored(NamedTuple):
    """The page's row as it was before this visit."""

    id: int
    signature: Signature | None
    rules: Rules
    """By which the signature was stored."""
    first_seen: datetime
    page_hash: bytes | None
    parts_counted: bool
    document_hash: bytes | None
    fingerprint: bytes | None
    rendered: bool
    was_revised: bool

    @property
    def content_hash(self) -> bytes | None:
        """Of the signature."""
        return None if self.signature is None else self.signature.content_hash


def stored_page(connection: Connection, key: bytes, rules: Rules) -> Stored | None:
    """Read the page of a URL's key; ``rules`` are those of the store."""
    row = connection.execute(_PAGE, {"key": key}).first()
    if row is None:
        return None
    its = rules_of(connection, row.recipe_id, rules)
    signature = None
    if row.signature is not None and row.content_hash is not None:
        signature = Signature.from_bytes(row.signature, its.recipe, row.words, row.content_hash)
    return Stored(
        row.id,
        signature,
        its,
        row.first_seen,
        row.page_hash,
        row.parts_counted,
        row.document_hash,
        row.fingerprint,
        row.rendered,
        bool(row.was_revised),
    )


def same_document(
    connection: Connection, document: bytes | None, recipe_id: int, own_id: int
) -> Any:
    """Return the first other page that has the same bytes, if there is one."""
    wanted = {"document": document, "recipe_id": recipe_id, "own_id": own_id}
    return connection.execute(_SAME_DOCUMENT, wanted).first()


def standing_of(connection: Connection, page_id: int) -> Any:
    """Return what a page repeats, how similar that is, and who represents it."""
    return connection.execute(_STANDING, {"own_id": page_id}).one()
