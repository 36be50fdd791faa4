"""Which pages represent their clusters, settled at the end of a crawl: not by who came first.

Within a crawl the order of pages is chance. A page joins the cluster of a representative that is
there already, so which pages represent the others, and with which of two representatives a page is
that is similar to both, would go by that order. At the end of a crawl the pages of its clusters are
placed anew, in an order of their own:

1. pages whose text came before the crawl, by age: what users know stays as it is;
2. pages of the crawl, the shortest URL first, of equally long ones by their letters.

Each page that is similar to no representative before it becomes one; the others join the most
similar one. What was promised of clusters holds as before (`clusters`).

Only pages in clusters of two or more, and pages similar to these, can be placed in another way.
They are taken component by component, each in a transaction of its own; a component of more than
`MAX_COMPONENT` pages stays as it is.
"""

from __future__ import annotations

from collections import deque
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import and_, or_, select, update

from websegment_scrapy.dedup.signature import similarities
from websegment_scrapy.dedup.stars import homes, repeated
from websegment_scrapy.store.clusters import MAX_PAGES_PER_KEY, in_cluster
from websegment_scrapy.store.leaving import MEMBER, PLACE, Member, change_of, read_members
from websegment_scrapy.store.locks import lock_clusters
from websegment_scrapy.store.models import Page
from websegment_scrapy.store.revision import Revision
from websegment_scrapy.store.statements import Statements

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from websegment_scrapy.store.store import Store
    from websegment_scrapy.store.visit import Rules

__all__ = ["MAX_COMPONENT", "settle", "unsettled"]

MAX_COMPONENT = 200
"""Pages that are placed in one transaction: it takes some tenths of a second."""


def _rank(member: Member, started: datetime) -> tuple[Any, ...]:
    """Return what pages are ordered by."""
    if member.last_changed < started:
        return (0, member.last_changed, member.id)
    return (1, len(member.url), member.url)


def unsettled(store: Store, started: datetime) -> list[int]:
    """Return the pages in clusters of two or more whose text, or judgement, is of this crawl."""
    query = select(Page.id).where(
        or_(Page.last_changed >= started, Page.revised >= started),
        Page.duplicate_of_id.is_not(None),
        Page.recipe_id == store.rules.recipe_id,
    )
    with store.database.read() as connection:
        return list(connection.execute(query.order_by(Page.id)).scalars())


def settle(store: Store, started: datetime, page_id: int, done: set[int]) -> list[Revision]:
    """Place the pages of one component anew; return what became of those that changed.

    Parameters
    ----------
    store
        An open store.
    started
        When the crawl began.
    page_id
        A page of the component.
    done
        Pages that were settled; those of the component are added.
    """

    def attempt() -> list[Revision]:
        with store.database.write() as connection:
            lock_clusters(connection)
            members = _component(connection, store.rules, page_id)
            done.update(member.id for member in members)
            if not 1 < len(members) <= MAX_COMPONENT:
                return []
            members.sort(key=lambda member: _rank(member, started))
            return _place(connection, members, store.rules.similarity)

    return store.patiently(attempt)


def _component(connection: Connection, rules: Rules, start: int) -> list[Member]:
    """Gather what is connected with a page: by similarity, or by being in one cluster."""
    statements = Statements.of(connection, rules.recipe_id)
    found: dict[int, Member] = {}
    waiting = deque(_members(connection, rules, Page.id == start))
    while waiting and len(found) <= MAX_COMPONENT:
        member = waiting.popleft()
        if member.id in found:
            continue
        found[member.id] = member
        keys = rules.keys(member.signature)
        ids = {page_id for _, page_id in statements.sharing(keys, MAX_PAGES_PER_KEY)} - found.keys()
        near = _members(connection, rules, Page.id.in_(sorted(ids))) if ids else []
        if near:
            alike = similarities(member.signature, [each.signature for each in near])
            waiting.extend(near[place] for place in np.flatnonzero(alike >= rules.similarity))
        waiting.extend(_members(connection, rules, in_cluster(member.cluster)))
    return list(found.values())


def _members(connection: Connection, rules: Rules, condition: Any) -> list[Member]:
    of_recipe = and_(condition, Page.recipe_id == rules.recipe_id, Page.signature.is_not(None))
    query = MEMBER.where(of_recipe).order_by(Page.id).limit(MAX_COMPONENT + 1)
    return read_members(connection, rules, query)


def _place(connection: Connection, members: Sequence[Member], threshold: float) -> list[Revision]:
    """Write down where the pages of a component belong; those that stay are not touched."""
    signatures = [member.signature for member in members]
    near = np.array([similarities(each, signatures) for each in signatures])
    home, _ = homes(len(near), near.__getitem__, threshold)
    hashes = [member.signature.content_hash for member in members]
    changes: list[dict[str, Any]] = []
    revisions: dict[int, Revision] = {}
    for place, member in enumerate(members):
        found = None
        if home[place] != place:
            same = np.array([each == hashes[place] for each in hashes])
            found = repeated(place, home, near[place], same, threshold)
        target = None if found is None else members[found]
        value = None if found is None else float(near[place, found])
        decision = "new" if target is None else "duplicate"
        cluster, target_id = members[home[place]].id, None if target is None else target.id
        if (member.cluster, member.duplicate_of_id) != (cluster, target_id):
            changes.append(change_of(member.id, cluster, target_id, value))
        if decision != member.decision:
            repeats = None if target is None else target.url
            words = member.signature.words
            revisions[member.id] = Revision(
                member.url, member.decision, decision, words, repeats, value
            )
    if changes:
        connection.execute(PLACE, changes)
    if revisions:
        told = update(Page).where(Page.id.in_(sorted(revisions)))
        connection.execute(told.values(revised=datetime.now(UTC)))
    return list(revisions.values())
