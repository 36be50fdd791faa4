"""What is known of how a site's pages come by their text: in their HTML, or by scripts.

Whenever a page was looked at both ways, as plain HTML and rendered, it is counted for its site and
for the sign that its plain HTML gave (`page.by_script`): pages of one site without a sign and those
with little text are of different kinds. With each look the earlier ones count less, so that a site
that changes its technique is known again after a few. The first looks at all sites are counted
together as well, for what to expect of a site that is not known: one of each, so that no site can
say much about others.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import bindparam, delete, insert, select, text

from websegment_scrapy.store.models import SiteRendering
from websegment_scrapy.store.record import canonical_url, host_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sqlalchemy import Connection

    from websegment_scrapy.store.database import Database
    from websegment_scrapy.store.store import Store

__all__ = [
    "KnownRendering",
    "RenderingRow",
    "count_look",
    "forget_rendering",
    "rendering_of",
    "rendering_rows",
    "take_rendering",
]

DECAY = 0.8
"""Of the weight that a look has when the next one comes: together they weigh up to 5."""

DECAY_OF_ALL = 0.95
"""The same for the first looks at all sites, one for each site and sign: up to 20."""

ALL = ""
"""Stands for the host where all sites are meant."""


_ADD = text(
    "INSERT INTO site_rendering (host, sign, looks, needed, seen_at) "
    "VALUES (:host, :sign, :looks, :needed, :seen_at) ON CONFLICT (host, sign) DO UPDATE SET "
    "looks = :decay * site_rendering.looks + excluded.looks, "
    "needed = :decay * site_rendering.needed + excluded.needed, seen_at = excluded.seen_at"
).bindparams(bindparam("seen_at", type_=SiteRendering.__table__.c.seen_at.type))
"""One statement for both databases; SQLAlchemy's own would load a dialect that is not used."""


class RenderingRow(NamedTuple):
    """How often pages of a site with a sign were looked at both ways, and needed the browser."""

    host: str
    sign: str
    looks: float
    needed: float
    seen_at: datetime

    @property
    def share(self) -> float:
        """The share of those that needed the browser."""
        return self.needed / self.looks


class KnownRendering(NamedTuple):
    """What is known of a site, and of the first looks at all sites, by sign."""

    site: Mapping[str, RenderingRow]
    everywhere: Mapping[str, RenderingRow]


def count_look(store: Store, url: str, sign: str, needed: bool) -> None:
    """Count a page that was looked at both ways.

    Parameters
    ----------
    store
        Where it is counted, in a transaction of its own.
    url
        The page's URL.
    sign
        What its plain HTML looked like.
    needed
        Whether rendering brought what the plain HTML has not.
    """
    host = host_of(canonical_url(url))
    look = RenderingRow(host, sign, 1.0, float(needed), datetime.now(UTC))
    with store.database.write() as connection:
        is_first = all(row.sign != sign for row in rendering_rows(connection, host))
        connection.execute(_ADD, {**look._asdict(), "decay": DECAY})
        if is_first:
            connection.execute(_ADD, {**look._asdict(), "host": ALL, "decay": DECAY_OF_ALL})


def rendering_of(store: Store, url: str) -> KnownRendering:
    """Return what is known of the site of a URL, and of all sites."""
    with store.database.read() as connection:
        site = rendering_rows(connection, host_of(canonical_url(url)))
        everywhere = rendering_rows(connection, ALL)
    return KnownRendering({row.sign: row for row in site}, {row.sign: row for row in everywhere})


def rendering_rows(connection: Connection, host: str) -> list[RenderingRow]:
    """Return what is known of a host, in the order of the signs."""
    return [
        RenderingRow(row.host, row.sign, row.looks, row.needed, row.seen_at)
        for row in connection.execute(
            select(*SiteRendering.__table__.columns)
            .where(SiteRendering.host == host)
            .order_by(SiteRendering.sign)
        )
    ]


def take_rendering(source: Database, target: Database) -> None:
    """Bring what one database knows into another; where both know something, the later counts."""
    with source.read() as connection:
        hosts = connection.execute(select(SiteRendering.host).distinct()).scalars().all()
    for host in sorted(hosts):
        with source.read() as connection:
            brought = rendering_rows(connection, host)
        with target.write() as connection:
            known = {row.sign: row for row in rendering_rows(connection, host)}
            newer = [
                row
                for row in brought
                if row.sign not in known or known[row.sign].seen_at < row.seen_at
            ]
            _replace(connection, newer)


def forget_rendering(connection: Connection, hosts: Iterable[str]) -> None:
    """Forget what is known of hosts."""
    connection.execute(delete(SiteRendering).where(SiteRendering.host.in_(list(hosts))))


def _replace(connection: Connection, rows: Iterable[RenderingRow]) -> None:
    for row in rows:
        connection.execute(
            delete(SiteRendering).where(
                SiteRendering.host == row.host, SiteRendering.sign == row.sign
            )
        )
        connection.execute(insert(SiteRendering), row._asdict())
