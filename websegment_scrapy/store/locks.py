"""Locks that keep simultaneous writers on PostgreSQL from missing each other.

SQLite has one writer at a time (``BEGIN IMMEDIATE``) and needs none of this. On PostgreSQL, under
READ COMMITTED, two pages that arrive at the same moment would not see each other. So a decision
takes advisory locks, which end with its transaction, always in this order:

1. one lock for its URL and one for every key of its signature, in ascending order. Two pages that
   could be near-duplicates have a key in common, so the second waits for the first. (Pages with the
   same words have all keys in common.)
2. the cluster lock: *shared* to add pages, alone or to a cluster; *exclusive* to replace a page's
   content, which may take their representative from others.

A batch of decisions takes the locks of all its pages.

Whoever holds the cluster lock never waits for a key, and no row is written before all locks are
held, so there is no circle of waiting. A decision that finds its cluster lock too weak starts again
with the stronger one.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from sqlalchemy import text

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = [
    "LOCK_CLUSTERS",
    "LOCK_KEYS",
    "ClusterLock",
    "LockTooWeak",
    "lock_clusters",
    "lock_schema",
]

NAMESPACE = 0x77736567
"""First half of this package's two-part advisory locks ("wseg")."""

_LOCK_SCHEMA = text(f"SELECT pg_advisory_xact_lock({NAMESPACE}, 2)")


class ClusterLock(IntEnum):
    """How strongly a decision holds the clusters, weakest first."""

    NONE = 0
    SHARED = 1
    EXCLUSIVE = 2


class LockTooWeak(Exception):
    """The decision needs a stronger cluster lock than the one it holds."""

    def __init__(self, needed: ClusterLock) -> None:
        super().__init__(needed)
        self.needed = needed


LOCK_KEYS = "SELECT count(pg_advisory_xact_lock(k)::text) FROM unnest(%s::bigint[]) AS k"
"""Waits for all decisions that have one of these keys, which must be in ascending order."""

LOCK_CLUSTERS = {
    ClusterLock.NONE: "SELECT 1",
    ClusterLock.SHARED: f"SELECT pg_advisory_xact_lock_shared({NAMESPACE}, 1)::text",
    ClusterLock.EXCLUSIVE: f"SELECT pg_advisory_xact_lock({NAMESPACE}, 1)::text",
}
"""Takes the cluster lock."""


def lock_clusters(connection: Connection) -> None:
    """Hold the clusters exclusively, after all decisions that are under way."""
    if connection.dialect.name == "postgresql":
        connection.execute(text(LOCK_CLUSTERS[ClusterLock.EXCLUSIVE]))


def lock_schema(connection: Connection) -> None:
    """Wait for other processes that are making the tables."""
    if connection.dialect.name == "postgresql":
        connection.execute(_LOCK_SCHEMA)
