"""Clusters of near-duplicates in the database: find a page's match, join, leave.

A cluster is a connected component of "has a key in common and is similar enough". Its number,
``cluster_id``, is the id of its representative, the page with the lowest id.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sqlalchemy import and_, bindparam, delete, func, or_, select, text, update

from websegment_scrapy.dedup.components import components
from websegment_scrapy.dedup.signature import Recipe, Signature, similarities
from websegment_scrapy.store.models import Page, PageKey

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from sqlalchemy import ColumnElement, Connection, Executable, TextClause

__all__ = [
    "MAX_PAGES_PER_KEY",
    "MAX_REPARTITION",
    "Match",
    "find_match",
    "in_cluster",
    "join",
    "leave",
]

MAX_PAGES_PER_KEY = 500
"""Of each key the earliest pages, up to this many, are compared with a new page.

It keeps a decision's cost bounded in a site of ten thousand "page not found" pages. Pages with
exactly the same words are found without this limit.
"""

MAX_REPARTITION = 1000
"""A cluster with more members than this stays together when one of them leaves it."""

_CHUNK = 1000


def in_cluster(cluster: Any) -> ColumnElement[bool]:
    """Return the condition for the pages of a cluster.

    The representative is found by its id, the others in an index that leaves out representatives.
    """
    return or_(and_(Page.cluster_id == cluster, Page.cluster_id != Page.id), Page.id == cluster)


_TWIN = (
    select(Page.id, Page.url, Page.cluster_id)
    .where(
        Page.content_hash == bindparam("content_hash"),
        Page.recipe_id == bindparam("recipe_id"),
        Page.id != bindparam("own_id"),
    )
    .order_by(Page.id)
    .limit(1)
)
_MEMBERS = (
    select(
        Page.id,
        Page.words,
        Page.content_hash,
        Page.signature,
        Page.duplicate_of_id,
        Page.last_changed,
    )
    .where(in_cluster(bindparam("cluster")), Page.id != bindparam("own_id"))
    .order_by(Page.id)
)
_DELETE_KEYS = delete(PageKey).where(
    PageKey.page_id == bindparam("own_id"), PageKey.key.in_(bindparam("keys", expanding=True))
)
_POINT = (
    update(Page)
    .where(Page.id == bindparam("member"))
    .values(
        decision=bindparam("new_decision"),
        duplicate_of_id=bindparam("new_target"),
        similarity=bindparam("new_similarity"),
    )
)


@dataclass(frozen=True, slots=True)
class Match:
    """The most similar page, and the clusters of all pages that are similar enough."""

    page_id: int
    url: str
    similarity: float
    clusters: frozenset[int]


class _Member(NamedTuple):
    """A page of a cluster."""

    id: int
    signature: Signature
    duplicate_of_id: int | None
    last_changed: datetime


def find_match(
    connection: Connection, signature: Signature, threshold: float, own_id: int, recipe_id: int
) -> Match | None:
    """Find the near-duplicates of a content among all pages of a recipe but `own_id`.

    A page with exactly the same words is the best match, and its cluster holds everything that is
    similar to both. Otherwise pages with a key in common are verified on their signatures; the
    best one has the highest similarity and, among equals, the lowest id.
    """
    twin = connection.execute(
        _TWIN,
        {"content_hash": signature.content_hash, "own_id": own_id, "recipe_id": recipe_id},
    ).first()
    if twin is not None:
        return Match(twin.id, twin.url, 1.0, frozenset((twin.cluster_id,)))
    keys = signature.keys()
    parameters = {f"key{position}": key for position, key in enumerate(keys)}
    rows = connection.execute(
        _candidates(len(keys)), {**parameters, "own_id": own_id, "recipe_id": recipe_id}
    ).all()
    if not rows:
        return None
    found = similarities(
        signature,
        [
            Signature.from_bytes(row.signature, signature.recipe, row.words, row.content_hash)
            for row in rows
        ],
    )
    hits = [int(hit) for hit in np.flatnonzero(found >= threshold)]
    if not hits:
        return None
    best = min(hits, key=lambda hit: (-found[hit], rows[hit].id))
    clusters = frozenset(rows[hit].cluster_id for hit in hits)
    return Match(rows[best].id, rows[best].url, float(found[best]), clusters)


def join(connection: Connection, representative: int, clusters: Iterable[int]) -> None:
    """Merge clusters into that of a representative, which must have the lowest id of all."""
    others = sorted(set(clusters) - {representative})
    if others:
        members = or_(
            and_(Page.cluster_id.in_(others), Page.cluster_id != Page.id), Page.id.in_(others)
        )
        connection.execute(update(Page).where(members).values(cluster_id=representative))


def leave(
    connection: Connection, page_id: int, cluster: int, former: Signature, threshold: float
) -> None:
    """Take a page whose content is about to be replaced out of its cluster.

    Its keys are deleted and the remaining members split into clusters by their own signatures.
    No page points at this one afterwards.
    """
    connection.execute(_DELETE_KEYS, {"own_id": page_id, "keys": former.keys()})
    others = {"cluster": cluster, "own_id": page_id}
    count = connection.execute(
        select(func.count()).select_from(_MEMBERS.order_by(None).subquery()), others
    ).scalar_one()
    if count > MAX_REPARTITION:
        _stay_together(connection, page_id, cluster, former.recipe)
    elif count:
        _split(connection, _members(connection, _MEMBERS, others, former.recipe), threshold)


def _split(connection: Connection, members: Sequence[_Member], threshold: float) -> None:
    """Give each connected component of the members its own cluster."""
    changes: list[dict[str, Any]] = []
    for positions in components([member.signature for member in members], threshold):
        group = [members[position] for position in positions]
        ids = [member.id for member in group]
        connection.execute(update(Page).where(Page.id.in_(ids)).values(cluster_id=ids[0]))
        changes += _new_targets(group, threshold)
    if changes:
        connection.execute(_POINT, changes)


def _new_targets(group: Sequence[_Member], threshold: float) -> list[dict[str, Any]]:
    """Choose what the duplicates whose best match left the cluster are duplicates of now.

    It is the best match among the pages whose content came earlier, as if it had been decided
    without the page that left; a page with no such match is ``new``.
    """
    ids = {member.id for member in group}
    target = {
        member.id: member.duplicate_of_id if member.duplicate_of_id in ids else None
        for member in group
    }
    orphans = [
        member
        for member in group
        if member.duplicate_of_id is not None and target[member.id] is None
    ]

    def age(member: _Member) -> tuple[datetime, int]:
        return member.last_changed, member.id

    def leads_to(start: int, end: int) -> bool:
        step: int | None = start
        while step is not None and step != end:
            step = target[step]
        return step == end

    changes: list[dict[str, Any]] = []
    for orphan in sorted(orphans, key=age):
        own = orphan.signature
        # Clocks of several crawlers differ: age alone does not rule out a circle.
        earlier = [
            member
            for member in group
            if age(member) < age(orphan) and not leads_to(member.id, orphan.id)
        ]
        found = similarities(own, [member.signature for member in earlier])
        matches = [
            (member.signature.content_hash != own.content_hash, -value, member.id)
            for member, value in zip(earlier, found.tolist(), strict=True)
            if value >= threshold
        ]
        if matches:
            _, value, best = min(matches)
            target[orphan.id] = best
            changes.append(_change(orphan.id, best, -value))
        else:
            changes.append(_change(orphan.id, None, None))
    return changes


def _stay_together(connection: Connection, page_id: int, cluster: int, recipe: Recipe) -> None:
    """Keep a very large cluster; pages that pointed at the leaving one point at its first page."""
    orphans = (
        _MEMBERS.order_by(None)
        .where(Page.duplicate_of_id == bindparam("own_id"), Page.id > bindparam("after"))
        .order_by(Page.id)
        .limit(_CHUNK)
    )
    others = {"cluster": cluster, "own_id": page_id}
    (first,) = _members(connection, _MEMBERS.limit(1), others, recipe)
    connection.execute(_POINT, [_change(first.id, None, None)])
    after = first.id
    while members := _members(connection, orphans, {**others, "after": after}, recipe):
        found = similarities(first.signature, [member.signature for member in members])
        changes = [
            _change(member.id, first.id, value)
            for member, value in zip(members, found.tolist(), strict=True)
        ]
        connection.execute(_POINT, changes)
        after = members[-1].id
    connection.execute(
        update(Page).where(in_cluster(cluster), Page.id != page_id).values(cluster_id=first.id)
    )


def _change(member: int, target: int | None, similarity: float | None) -> dict[str, Any]:
    return {
        "member": member,
        "new_decision": "new" if target is None else "duplicate",
        "new_target": target,
        "new_similarity": similarity,
    }


def _members(
    connection: Connection, query: Executable, parameters: dict[str, Any], recipe: Recipe
) -> list[_Member]:
    return [
        _Member(
            row.id,
            Signature.from_bytes(row.signature, recipe, row.words, row.content_hash),
            row.duplicate_of_id,
            row.last_changed,
        )
        for row in connection.execute(query, parameters)
    ]


@cache
def _candidates(count: int) -> TextClause:
    """Write the query for the pages that have one of `count` keys.

    One limited search in the primary key of ``page_keys`` for each key: what ``key IN (…)`` does,
    with a bound on the rows read.
    """
    searches = " UNION ALL ".join(
        f"SELECT page_id FROM (SELECT page_id FROM page_keys WHERE key = :key{position} "
        f"ORDER BY page_id LIMIT {MAX_PAGES_PER_KEY}) AS search{position}"
        for position in range(count)
    )
    return text(
        "SELECT id, url, cluster_id, words, content_hash, signature FROM pages "
        f"WHERE id <> :own_id AND recipe_id = :recipe_id AND id IN ({searches})"
    )
