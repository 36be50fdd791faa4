"""A page that is in no cluster gets a signature, its keys and its place among the clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import func, insert, update

from websegment_scrapy.dedup.decision import DecisionKind
from websegment_scrapy.store.candidates import find_match
from websegment_scrapy.store.locks import ClusterLock
from websegment_scrapy.store.models import Page, PageKey
from websegment_scrapy.store.record import lock_of
from websegment_scrapy.store.statements import Statements, Wanted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from websegment_scrapy.dedup.signature import Signature
    from websegment_scrapy.store.clusters import Match
    from websegment_scrapy.store.statements import Row
    from websegment_scrapy.store.visit import Rules

__all__ = ["add_keys", "content_of", "lock_pages", "place"]


def content_of(signature: Signature, match: Match | None, rules: Rules) -> Row:
    """Return the columns that say what a page's content is, and what it repeats."""
    return {
        "words": signature.words,
        "content_hash": signature.content_hash,
        "signature": signature.to_bytes(),
        "recipe_id": rules.recipe_id,
        "decision": str(DecisionKind.NEW if match is None else DecisionKind.DUPLICATE),
        "duplicate_of_id": None if match is None else match.page_id,
        "similarity": None if match is None else match.similarity,
    }


def add_keys(connection: Connection, page_id: int, keys: Sequence[int]) -> None:
    """Let a page be found by the keys of its signature."""
    connection.execute(insert(PageKey), [{"key": key, "page_id": page_id} for key in keys])


def lock_pages(
    connection: Connection, rules: Rules, pages: Sequence[tuple[bytes, Signature]]
) -> dict[bytes, int]:
    """Take the locks to give pages other signatures; return the ids of those that there are.

    Parameters
    ----------
    connection
        A transaction that has written nothing.
    rules
        Those of the new signatures.
    pages
        The keys of their URLs, and their new signatures.
    """
    statements = Statements.of(connection, rules.recipe_id)
    keys = [lock_of(key) for key, _ in pages]
    for _, signature in pages:
        keys += rules.keys(signature)
    statements.lock(keys, ClusterLock.EXCLUSIVE)
    ahead = statements.read_ahead([Wanted(key) for key, _ in pages], 0)
    return {page.url_key: page.id for page in ahead.stored}


def place(connection: Connection, page_id: int, signature: Signature, rules: Rules) -> Match | None:
    """Store a page's signature, keys and cluster, and return what it repeats.

    The page has left its former cluster (`leaving.leave`); its visits, and its times if it has
    had a text, stay.
    """
    match = find_match(connection, signature, rules, page_id)
    connection.execute(
        update(Page)
        .where(Page.id == page_id)
        .values(
            **content_of(signature, match, rules),
            cluster_id=page_id if match is None else match.cluster,
            last_changed=func.coalesce(Page.last_changed, Page.first_seen),
        )
    )
    add_keys(connection, page_id, rules.keys(signature))
    return match
