"""Migrations of the dedup database, run by Alembic.

Revision N makes schema version N. A database is migrated when a crawl opens it, in one transaction,
while all others wait.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from alembic import command
from alembic.config import Config

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = ["stamp", "upgrade"]


def upgrade(connection: Connection, start: int, end: int) -> None:
    """Bring a database from one schema version to another; 0 is an empty database."""
    if start:
        command.stamp(_config(connection), str(start))
    command.upgrade(_config(connection), str(end))


def stamp(connection: Connection, version: int) -> None:
    """Note that a database has a schema version."""
    command.stamp(_config(connection), str(version))


def _config(connection: Connection) -> Config:
    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config
