"""A page that is in no cluster gets a signature, its keys and its place among the clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import func, insert, update

from websegment_scrapy.dedup.decision import DecisionKind
from websegment_scrapy.store.clusters import find_match
from websegment_scrapy.store.models import Page, PageKey

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from websegment_scrapy.dedup.signature import Signature
    from websegment_scrapy.store.clusters import Match
    from websegment_scrapy.store.visit import Rules

__all__ = ["place"]


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
            words=signature.words,
            content_hash=signature.content_hash,
            signature=signature.to_bytes(),
            recipe_id=rules.recipe_id,
            decision=DecisionKind.NEW if match is None else DecisionKind.DUPLICATE,
            duplicate_of_id=None if match is None else match.page_id,
            similarity=None if match is None else match.similarity,
            cluster_id=page_id if match is None else match.cluster,
            last_changed=func.coalesce(Page.last_changed, Page.first_seen),
        )
    )
    keys = rules.keys(signature)
    connection.execute(insert(PageKey), [{"key": key, "page_id": page_id} for key in keys])
    return match
