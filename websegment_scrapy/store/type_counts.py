"""How many pages are of each functional type: in the whole database, and of each host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import func, select

from websegment_scrapy.store.models import Page

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection

__all__ = ["types_by_host", "types_of_all"]


def types_of_all(connection: Connection) -> dict[str, int]:
    """Count the pages of each type, the most frequent first; from an index alone."""
    query = (
        select(Page.page_type, func.count())
        .where(Page.page_type.is_not(None))
        .group_by(Page.page_type)
    )
    return _ordered((str(name), number) for name, number in connection.execute(query))


def types_by_host(connection: Connection) -> dict[str, dict[str, int]]:
    """Count the pages of each type for every host that has some."""
    query = (
        select(Page.host, Page.page_type, func.count())
        .where(Page.page_type.is_not(None))
        .group_by(Page.host, Page.page_type)
    )
    found: dict[str, list[tuple[str, int]]] = {}
    for host, name, number in connection.execute(query):
        found.setdefault(host, []).append((str(name), number))
    return {host: _ordered(types) for host, types in found.items()}


def _ordered(types: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Put the most frequent types first, equally frequent ones by name."""
    return dict(sorted(types, key=lambda each: (-each[1], each[0])))
