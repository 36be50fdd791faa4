"""The making and checking of a database: its schema version, its recipe, its similarity."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, func, insert, inspect, select, text

from websegment_scrapy.dedup.signature import Recipe
from websegment_scrapy.exceptions import StoreError, StoreMismatch
from websegment_scrapy.store.locks import lock_schema
from websegment_scrapy.store.migrations import stamp, upgrade
from websegment_scrapy.store.models import (
    SCHEMA_VERSION,
    VIEWS,
    Base,
    Crawl,
    Page,
    StoreInfo,
    StoreRecipe,
)
from websegment_scrapy.store.times import UtcDateTime

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Connection

    from websegment_scrapy.store.database import Database

__all__ = ["Info", "count_former", "crawl_id", "migrate", "prepare", "read_info", "read_recipe"]


@dataclass(frozen=True, slots=True)
class Info:
    """What a database was made for."""

    recipe: Recipe
    similarity: float
    created: datetime
    recipe_id: int
    """Number of recipe and similarity in the table ``recipes``."""
    secret: bytes = b""
    """By which the keys of signatures are drawn, if the database was made so."""


def prepare(
    database: Database, recipe: Recipe, similarity: float, *, secret_keys: bool = False
) -> Info:
    """Make the tables in a new database, migrate an older one, refuse one made for something else.

    Several processes may do this to the same database at the same moment.
    """
    migrate(database, recipe, similarity, secret_keys=secret_keys)
    with database.read() as connection:
        found = read_info(database, connection)
    _compare(database, "signature recipe", found.recipe.to_json(), recipe.to_json())
    _compare(database, "similarity", repr(found.similarity), repr(similarity))
    if secret_keys and not found.secret:
        raise StoreMismatch(
            f"{database.name} was made without secret keys, but they are asked for: let a crawl "
            "with them make a new database and bring this one into it by websegment dedup merge, "
            "or go on without"
        )
    return found


def migrate(
    database: Database,
    recipe: Recipe | None = None,
    similarity: float | None = None,
    *,
    secret_keys: bool = False,
) -> int:
    """Bring a database to the present schema; return the version that it had (0: new).

    Without a recipe and a similarity a new database is not made.
    """
    with database.read() as connection:
        version = _version(database, connection)
    if version == SCHEMA_VERSION:
        return version
    with database.write() as connection:
        lock_schema(connection)
        version = _version(database, connection)
        if version == 0 and recipe is not None and similarity is not None:
            _create(database, connection, recipe, similarity, secret_keys)
        elif 0 < version < SCHEMA_VERSION:
            upgrade(connection, version, SCHEMA_VERSION)
    return version


def read_info(database: Database, connection: Connection) -> Info:
    """Read what a database was made for, whatever that is."""
    if not _is_store(connection):
        raise StoreError(
            f"{database.name} is no websegment database (it has no table store_info): "
            "name the one that the crawl wrote"
        )
    version = _version(database, connection)
    if version < SCHEMA_VERSION:
        raise StoreMismatch(
            f"{database.name} has the schema version {version}, this websegment-scrapy needs "
            f"{SCHEMA_VERSION}: run websegment dedup migrate, or a crawl, which does the same"
        )
    values = {row.key: row.value for row in connection.execute(select(StoreInfo))}
    try:
        return Info(
            Recipe.from_json(values["recipe"]),
            float(values["similarity"]),
            datetime.fromisoformat(values["created"]),
            int(values["recipe_id"]),
            bytes.fromhex(values.get("key_secret", "")),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise StoreMismatch(
            f"{database.name}: its table store_info is damaged or from another version "
            f"({error}): restore it from a backup, or start with a new database"
        ) from error


def read_recipe(connection: Connection, recipe_id: int) -> tuple[Recipe, float]:
    """Read a recipe and its similarity by number."""
    query = select(StoreRecipe.recipe, StoreRecipe.similarity).where(StoreRecipe.id == recipe_id)
    row = connection.execute(query).first()
    if row is None:
        raise StoreError(
            f"a page refers to the recipe {recipe_id}, which the table recipes does not have: "
            "run websegment dedup check"
        )
    return Recipe.from_json(row.recipe), row.similarity


def count_former(connection: Connection, recipe_id: int) -> int:
    """Count the pages whose signature is of another recipe, from indexes alone."""

    def count(*conditions: ColumnElement[bool]) -> int:
        query = select(func.count()).select_from(Page).where(*conditions)
        found: int = connection.execute(query).scalar_one()
        return found

    if connection.execute(select(func.count()).select_from(StoreRecipe)).scalar_one() == 1:
        return 0
    # Written as the condition of the index pages_recipe, which would not be used otherwise.
    later = (Page.recipe_id != 1, Page.signature.is_not(None))
    if recipe_id == 1:
        return count(*later)
    texts = count() - count(Page.signature.is_(None))
    return texts - count(*later, Page.recipe_id == recipe_id)


def crawl_id(connection: Connection, name: str) -> int:
    """Return the number of a crawl, and write the crawl down when it is new."""
    values = {"name": name, "now": datetime.now(UTC)}
    new = text(
        "INSERT INTO crawls (name, started) VALUES (:name, :now) ON CONFLICT (name) DO NOTHING"
    ).bindparams(bindparam("now", type_=UtcDateTime()))
    connection.execute(new, values)
    found: int = connection.execute(select(Crawl.id).where(Crawl.name == name)).scalar_one()
    return found


def _version(database: Database, connection: Connection) -> int:
    """Return the schema version of a database, 0 for one without tables; refuse a newer one."""
    if not _is_store(connection):
        return 0
    found = connection.execute(
        select(StoreInfo.value).where(StoreInfo.key == "schema_version")
    ).scalar()
    try:
        version = int(str(found))
    except ValueError:
        raise StoreMismatch(
            f"{database.name}: its table store_info is damaged (schema version {found!r}): "
            "restore it from a backup, or start with a new database"
        ) from None
    if version > SCHEMA_VERSION:
        raise StoreMismatch(
            f"{database.name} was made by a newer websegment-scrapy (schema version {version}, "
            f"this one knows up to {SCHEMA_VERSION}): pip install --upgrade websegment-scrapy"
        )
    return version


def _is_store(connection: Connection) -> bool:
    return inspect(connection).has_table(StoreInfo.__tablename__)


def _create(
    database: Database,
    connection: Connection,
    recipe: Recipe,
    similarity: float,
    secret_keys: bool,
) -> None:
    inspector = inspect(connection)
    for table in [*Base.metadata.tables, *VIEWS]:
        if inspector.has_table(table):
            raise StoreError(
                f"{database.name} already has a table {table!r} of another program: "
                "use a database (or a PostgreSQL schema) of its own"
            )
    Base.metadata.create_all(connection, checkfirst=False)
    stamp(connection, SCHEMA_VERSION)
    for name, query in VIEWS.items():
        connection.execute(text(f"CREATE VIEW {name} AS {query}"))
    now = datetime.now(UTC)
    values = {
        "schema_version": str(SCHEMA_VERSION),
        "recipe": recipe.to_json(),
        "similarity": repr(similarity),
        "created": now.isoformat(),
        "recipe_id": "1",
    }
    if secret_keys:
        values["key_secret"] = secrets.token_hex(16)
    first = {"id": 1, "recipe": recipe.to_json(), "similarity": similarity, "adopted": now}
    connection.execute(insert(StoreRecipe), first)
    connection.execute(
        insert(StoreInfo), [{"key": key, "value": value} for key, value in values.items()]
    )


def _compare(database: Database, what: str, found: str | None, wanted: str) -> None:
    if found != wanted:
        raise StoreMismatch(
            f"{database.name} has the {what} {found}, but {wanted} is asked for: signatures of "
            "both cannot be compared; use the former settings, change the database by "
            "websegment dedup resign, or start with a new database"
        )
