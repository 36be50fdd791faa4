"""Migrations of the dedup database, run by Alembic.

Revision N makes schema version N. A database is migrated when a crawl opens it, in one transaction,
while all others wait. Alembic is loaded when there is something to migrate, and kept quiet: what it
tells of itself and of its steps is no news of the crawl.
"""

from __future__ import annotations

import contextlib
import logging
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Column, MetaData, PrimaryKeyConstraint, String, Table, inspect

if TYPE_CHECKING:
    from collections.abc import Iterator

    from alembic.config import Config
    from sqlalchemy import Connection

__all__ = ["stamp", "upgrade"]

VERSION_TABLE = "alembic_version"
"""Where Alembic notes the revision of a database."""


def upgrade(connection: Connection, start: int, end: int) -> None:
    """Bring a database from one schema version to another; 0 is an empty database."""
    with _quietly():
        from alembic import command

        if start:
            command.stamp(_config(connection), str(start))
        command.upgrade(_config(connection), str(end))


def stamp(connection: Connection, version: int) -> None:
    """Note that a new database has a schema version, as Alembic does, but without loading it."""
    if inspect(connection).has_table(VERSION_TABLE):  # left over: Alembic knows what to do
        with _quietly():
            from alembic import command

            command.stamp(_config(connection), str(version))
        return
    column = Column("version_num", String(32), nullable=False)
    key = PrimaryKeyConstraint("version_num", name=f"{VERSION_TABLE}_pkc")
    table = Table(VERSION_TABLE, MetaData(), column, key)
    table.create(connection, checkfirst=False)
    connection.execute(table.insert(), {"version_num": str(version)})


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    alembic = logging.getLogger("alembic")
    level = alembic.level
    alembic.setLevel(logging.WARNING)
    try:
        yield
    finally:
        alembic.setLevel(level)


def _config(connection: Connection) -> Config:
    from alembic.config import Config

    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config
