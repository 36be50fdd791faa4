"""Migrations of the dedup database, run by Alembic.

Revision N makes schema version N. A database is migrated when a crawl opens it, in one transaction,
while all others wait.
"""

from __future__ import annotations

import contextlib
import logging
from pathlib import Path
from typing import TYPE_CHECKING

from alembic import command
from alembic.config import Config

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection

__all__ = ["stamp", "upgrade"]


def upgrade(connection: Connection, start: int, end: int) -> None:
    """Bring a database from one schema version to another; 0 is an empty database."""
    with _quietly():
        if start:
            command.stamp(_config(connection), str(start))
        command.upgrade(_config(connection), str(end))


def stamp(connection: Connection, version: int) -> None:
    """Note that a database has a schema version."""
    with _quietly():
        command.stamp(_config(connection), str(version))


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Keep Alembic's steps out of the crawl's log: what they mean is said by ours."""
    alembic = logging.getLogger("alembic")
    level = alembic.level
    alembic.setLevel(logging.WARNING)
    try:
        yield
    finally:
        alembic.setLevel(level)


def _config(connection: Connection) -> Config:
    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config
