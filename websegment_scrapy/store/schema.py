"""The making and checking of a database: its schema version, its recipe, its similarity."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sqlalchemy import insert, inspect, select, text

from websegment_scrapy.dedup.signature import Recipe
from websegment_scrapy.exceptions import StoreError, StoreMismatch
from websegment_scrapy.store.locks import lock_schema
from websegment_scrapy.store.models import DUPLICATES_VIEW, SCHEMA_VERSION, Base, StoreInfo

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from websegment_scrapy.store.database import Database

__all__ = ["Info", "prepare", "read_info"]


@dataclass(frozen=True, slots=True)
class Info:
    """What a database was made for."""

    recipe: Recipe
    similarity: float
    created: datetime


def prepare(database: Database, recipe: Recipe, similarity: float) -> None:
    """Make the tables in a new database; refuse one that was made for something else.

    Several processes may do this to the same new database at the same moment.
    """
    with database.read() as connection:
        exists = _is_store(connection)
    if not exists:
        with database.write() as connection:
            lock_schema(connection)
            if not _is_store(connection):
                _create(database, connection, recipe, similarity)
    with database.read() as connection:
        found = read_info(database, connection)
    _compare(database, "signature recipe", found.recipe.to_json(), recipe.to_json())
    _compare(database, "similarity", repr(found.similarity), repr(similarity))


def read_info(database: Database, connection: Connection) -> Info:
    """Read what a database was made for, whatever that is."""
    if not _is_store(connection):
        raise StoreError(
            f"{database.name} is no websegment database (it has no table store_info): "
            "name the one that the crawl wrote"
        )
    values = {row.key: row.value for row in connection.execute(select(StoreInfo))}
    _compare(database, "schema version", values.get("schema_version"), str(SCHEMA_VERSION))
    try:
        return Info(
            Recipe.from_json(values["recipe"]),
            float(values["similarity"]),
            datetime.fromisoformat(values["created"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise StoreMismatch(
            f"{database.name}: its table store_info is damaged or from another version "
            f"({error}): restore it from a backup, or start with a new database"
        ) from error


def _is_store(connection: Connection) -> bool:
    return inspect(connection).has_table(StoreInfo.__tablename__)


def _create(database: Database, connection: Connection, recipe: Recipe, similarity: float) -> None:
    inspector = inspect(connection)
    for table in [*Base.metadata.tables, "duplicates"]:
        if inspector.has_table(table):
            raise StoreError(
                f"{database.name} already has a table {table!r} of another program: "
                "use a database (or a PostgreSQL schema) of its own"
            )
    Base.metadata.create_all(connection, checkfirst=False)
    connection.execute(text(DUPLICATES_VIEW))
    values = {
        "schema_version": str(SCHEMA_VERSION),
        "recipe": recipe.to_json(),
        "similarity": repr(similarity),
        "created": datetime.now(UTC).isoformat(),
    }
    connection.execute(
        insert(StoreInfo), [{"key": key, "value": value} for key, value in values.items()]
    )


def _compare(database: Database, what: str, found: str | None, wanted: str) -> None:
    if found != wanted:
        raise StoreMismatch(
            f"{database.name} has the {what} {found}, but {wanted} is asked for: signatures of "
            "both cannot be compared; use the former settings, or start with a new database"
        )
