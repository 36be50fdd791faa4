"""Locks that keep simultaneous writers on PostgreSQL from missing each other.

SQLite has one writer at a time (``BEGIN IMMEDIATE``) and needs none of this. On PostgreSQL, under
READ COMMITTED, two pages that arrive at the same moment would not see each other. So a decision
takes advisory locks, which end with its transaction, always in this order:

1. one lock for its URL and one for every key of its signature, in ascending order. Two pages that
   could be near-duplicates have a key in common, so the second waits for the first. (Pages with the
   same words have all keys in common.)
2. the cluster lock, when it touches a page that is already stored: *shared* to join one cluster,
   *exclusive* to merge clusters or to replace a page's content.

Whoever holds the cluster lock never waits for a key, and no row is written before all locks are
held, so there is no circle of waiting. A decision that finds its cluster lock too weak starts again
with the stronger one.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from sqlalchemy import text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection

__all__ = ["ClusterLock", "LockTooWeak", "lock_clusters", "lock_keys", "lock_schema"]

NAMESPACE = 0x77736567
"""First half of this package's two-part advisory locks ("wseg")."""

_LOCK_KEYS = text("SELECT pg_advisory_xact_lock(k) FROM unnest(CAST(:keys AS bigint[])) AS k")
_LOCK_SHARED = text(f"SELECT pg_advisory_xact_lock_shared({NAMESPACE}, 1)")
_LOCK_EXCLUSIVE = text(f"SELECT pg_advisory_xact_lock({NAMESPACE}, 1)")
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


def lock_keys(connection: Connection, keys: Iterable[int]) -> None:
    """Wait for all decisions that have one of these keys (PostgreSQL only)."""
    connection.execute(_LOCK_KEYS, {"keys": sorted(set(keys))})


def lock_clusters(connection: Connection, strength: ClusterLock) -> None:
    """Take the cluster lock (PostgreSQL only)."""
    if strength is ClusterLock.SHARED:
        connection.execute(_LOCK_SHARED)
    elif strength is ClusterLock.EXCLUSIVE:
        connection.execute(_LOCK_EXCLUSIVE)


def lock_schema(connection: Connection) -> None:
    """Wait for other processes that are making the tables."""
    if connection.dialect.name == "postgresql":
        connection.execute(_LOCK_SCHEMA)
