"""A page leaves its cluster, because its text changes or is forgotten: in bounded steps.

What depends on a page are the members of the cluster that it represents, and the duplicates that
name it as the page they repeat. When it leaves

- the members find other representatives, in the order in which their texts came: each joins the
  most similar one, of those that were there and of those that stood up before it; who finds none
  stands up for the rest;
- each duplicate names the best match: its representative, or a page that repeats it and whose text
  came before its own.

One transaction does that for at most `HANDOVER` pages. When more depend on a page, `leave` asks for
them to be handed over beforehand (`hand_over_all`): some at a time, in transactions of their own.
Meanwhile the page still represents the others, so every page is similar to its representative at
any moment; only a text may have two representatives, and a duplicate may name a page of another
cluster, until the page has left. An interrupted hand-over does no more harm than that. (Pages of
the same words, of a cluster so large, may come to stand in two.)
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sqlalchemy import bindparam, delete, select, update

from websegment_scrapy.dedup.signature import similarities
from websegment_scrapy.store.candidates import find_match
from websegment_scrapy.store.clusters import in_cluster
from websegment_scrapy.store.locks import lock_clusters
from websegment_scrapy.store.models import Page, PageKey
from websegment_scrapy.store.schema import read_recipe

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager
    from datetime import datetime

    from sqlalchemy import Connection

    from websegment_scrapy.dedup.signature import Signature
    from websegment_scrapy.store.statements import Row
    from websegment_scrapy.store.visit import Rules

__all__ = [
    "HANDOVER",
    "MEMBER",
    "PLACE",
    "WITHOUT_TEXT",
    "ClusterTooLarge",
    "Member",
    "change_of",
    "former_of",
    "hand_over_all",
    "leave",
    "read_members",
]

HANDOVER = 128
"""Pages that stand anew in one transaction,"""

LOOKUPS = 8
"""and those of them for which a representative is looked for outside of their cluster. There is one
for each text that they are left with, which are few unless somebody arranged it otherwise."""

MEMBER = select(
    Page.id,
    Page.url,
    Page.words,
    Page.content_hash,
    Page.signature,
    Page.cluster_id,
    Page.decision,
    Page.duplicate_of_id,
    Page.last_changed,
)
"""What `read_members` reads; which pages follows."""

_CONTENT = select(Page.words, Page.content_hash, Page.signature, Page.recipe_id)
_FOLLOWERS = (
    select(Page.id)
    .where(Page.cluster_id == bindparam("page"), Page.cluster_id != Page.id)
    .limit(bindparam("most"))
)
_ORPHANS = select(Page.id).where(Page.duplicate_of_id == bindparam("page")).limit(bindparam("most"))
_DELETE_KEYS = delete(PageKey).where(
    PageKey.page_id == bindparam("page"), PageKey.key.in_(bindparam("keys", expanding=True))
)
PLACE = (
    update(Page)
    .where(Page.id == bindparam("member"))
    .values(
        cluster_id=bindparam("new_cluster"),
        decision=bindparam("new_decision"),
        duplicate_of_id=bindparam("new_target"),
        similarity=bindparam("new_similarity"),
    )
)
"""Puts a page in its place among the clusters."""


WITHOUT_TEXT: Row = {
    "decision": "failed",
    **dict.fromkeys(
        ("signature", "content_hash", "cluster_id", "duplicate_of_id", "similarity", "last_changed")
    ),
}
"""A page that has left its cluster and has no text any more: nothing finds it."""


class ClusterTooLarge(Exception):
    """More pages depend on a page than can be handed over in one transaction."""

    def __init__(self, page_id: int) -> None:
        super().__init__(page_id)
        self.page_id = page_id


class Member(NamedTuple):
    """A page among others of its cluster, or of several."""

    id: int
    url: str
    signature: Signature
    cluster: int
    decision: str
    duplicate_of_id: int | None
    last_changed: datetime


class _Best(NamedTuple):
    """The page to name as the one that is repeated; sorts the best first."""

    other_words: bool
    less: float
    id: int


def leave(connection: Connection, page_id: int, former: Signature, rules: Rules) -> None:
    """Take a page whose content is about to be replaced or removed out of its cluster.

    Its keys are deleted, and no page depends on it afterwards.

    Parameters
    ----------
    connection
        A transaction that holds the clusters exclusively.
    page_id, former
        The page and its signature.
    rules
        Those of the signature (`former_of`).

    Raises
    ------
    ClusterTooLarge
        Start again after `hand_over_all`.
    """
    members = _dependents(connection, page_id, rules)
    if len(members) > HANDOVER or not _stand_anew(connection, page_id, members, rules):
        raise ClusterTooLarge(page_id)
    connection.execute(_DELETE_KEYS, {"page": page_id, "keys": rules.keys(former)})


def hand_over_all(
    write: Callable[[], AbstractContextManager[Connection]], page_id: int, rules: Rules
) -> None:
    """Let all pages stand without one that they depend on, some in each transaction.

    Parameters
    ----------
    write
        Opens a transaction.
    page_id
        The page.
    rules
        Of the database; those of the page's own recipe are read.
    """
    while True:
        with write() as connection:
            lock_clusters(connection)
            recipe_id = connection.execute(
                select(Page.recipe_id).where(Page.id == page_id)
            ).scalar_one()
            own = _rules_of(connection, recipe_id, rules)
            members = _dependents(connection, page_id, own)
            _stand_anew(connection, page_id, members[:HANDOVER], own)
        if not members:
            return


def former_of(connection: Connection, page_id: int, rules: Rules) -> tuple[Signature, Rules] | None:
    """Return the signature of a page, if it has one, and the rules by which it is clustered.

    Whoever changes several pages reads each in its turn: one that leaves its cluster may change
    what the others are.
    """
    row = connection.execute(_CONTENT.where(Page.id == page_id)).one()
    if row.signature is None or row.content_hash is None:
        return None
    its = _rules_of(connection, row.recipe_id, rules)
    return its.signature(row), its


def _rules_of(connection: Connection, recipe_id: int, rules: Rules) -> Rules:
    """Return the rules by which pages of a recipe are clustered, which may be a former one."""
    if recipe_id == rules.recipe_id:
        return rules
    recipe, similarity = read_recipe(connection, recipe_id)
    return replace(rules, recipe=recipe, similarity=similarity, recipe_id=recipe_id)


def _dependents(connection: Connection, page_id: int, rules: Rules) -> list[Member]:
    """Return pages that depend on one, up to one more than can be handed over, by age."""
    most = {"page": page_id, "most": HANDOVER + 1}
    ids = set(connection.execute(_FOLLOWERS, most).scalars())
    if len(ids) <= HANDOVER:
        ids.update(connection.execute(_ORPHANS, most).scalars())
    chosen = sorted(ids)[: HANDOVER + 1]
    query = MEMBER.where(Page.id.in_(chosen))
    return read_members(connection, rules, query) if chosen else []


def _stand_anew(
    connection: Connection, page_id: int, members: Sequence[Member], rules: Rules
) -> bool:
    """Give pages, in the order of their age, other representatives and pages to repeat.

    Say whether all of them could be placed (`LOOKUPS`).
    """
    followers = [member for member in members if member.cluster == page_id]
    changes = _elect(connection, page_id, followers, rules)
    complete = len(changes) == len(followers)
    orphans: dict[int, list[Member]] = {}
    for member in members:
        if member.cluster != page_id:
            orphans.setdefault(member.cluster, []).append(member)
    for cluster, group in orphans.items():
        some = MEMBER.where(in_cluster(cluster)).limit(HANDOVER)
        pool = read_members(connection, rules, some)
        pool = [member for member in pool if member.id != page_id]
        if all(member.id != cluster for member in pool):
            pool += read_members(connection, rules, MEMBER.where(Page.id == cluster))
        for orphan in group:
            earlier = [
                each
                for each in pool
                if each.id == cluster
                or (each.duplicate_of_id == cluster and _age(each) < _age(orphan))
            ]
            changes.append(_repeat(orphan, cluster, earlier, rules.similarity))
    if changes:
        connection.execute(PLACE, changes)
    return complete


def _elect(
    connection: Connection, page_id: int, followers: Sequence[Member], rules: Rules
) -> list[Row]:
    """Find representatives for pages whose own one leaves, until `LOOKUPS` are done."""
    changes: list[Row] = []
    lookups = 0
    best = np.zeros(len(followers), dtype=np.float64)
    chosen: list[Member | None] = [None] * len(followers)
    placed: dict[int, list[Member]] = {}
    same_words: dict[bytes, Member] = {}
    for position, member in enumerate(followers):
        leader = same_words.get(member.signature.content_hash, chosen[position])
        if leader is None:
            if lookups == LOOKUPS:
                break
            lookups += 1
            match = find_match(connection, member.signature, rules, member.id, leaving=page_id)
            leader = member
            if match is not None:
                query = MEMBER.where(Page.id == match.cluster)
                (leader,) = read_members(connection, rules, query)
                placed.setdefault(leader.id, [leader])
            later = followers[position + 1 :]
            found = similarities(leader.signature, [each.signature for each in later])
            for offset in np.flatnonzero(found >= rules.similarity).tolist():
                place = position + 1 + offset
                if found[offset] > best[place]:
                    best[place], chosen[place] = found[offset], leader
        if leader is member:
            changes.append(change_of(member.id, member.id))
        else:
            changes.append(_repeat(member, leader.id, placed[leader.id], rules.similarity))
        placed.setdefault(leader.id, []).append(member)
        same_words[member.signature.content_hash] = leader
    return changes


def _repeat(member: Member, cluster: int, others: Sequence[Member], threshold: float) -> Row:
    """Choose what a page repeats, among pages of its cluster with its representative.

    One with exactly the same words, else the most similar, else the first. Each of them is the
    representative, which repeats nothing, or leads to it by pages chosen before, so no page leads
    back to itself, whatever the clocks of several crawlers say.
    """
    own = member.signature
    found = similarities(own, [other.signature for other in others])
    best = min(
        _Best(other.signature.content_hash != own.content_hash, -value, other.id)
        for other, value in zip(others, found.tolist(), strict=True)
        if value >= threshold
    )
    return change_of(member.id, cluster, best.id, -best.less)


def change_of(
    member: int, cluster: int, target: int | None = None, similarity: float | None = None
) -> Row:
    """Return what `PLACE` takes for a page that repeats another one, or nothing."""
    return {
        "member": member,
        "new_cluster": cluster,
        "new_decision": "new" if target is None else "duplicate",
        "new_target": target,
        "new_similarity": similarity,
    }


def _age(member: Member) -> tuple[datetime, int]:
    return member.last_changed, member.id


def read_members(connection: Connection, rules: Rules, query: Any) -> list[Member]:
    """Return the pages of a query, which have signatures of the rules, by their age."""
    found = [
        Member(
            row.id,
            row.url,
            rules.signature(row),
            row.cluster_id,
            row.decision,
            row.duplicate_of_id,
            row.last_changed,
        )
        for row in connection.execute(query)
    ]
    return sorted(found, key=_age)
