"""Schema version 4: each page has a recipe, so that a database can change its own."""

from __future__ import annotations

from datetime import UTC, datetime

from alembic import op
from sqlalchemy import bindparam, text

from websegment_scrapy.store.times import UtcDateTime

revision = "4"
down_revision = "3"

TYPES = {
    "sqlite": {"serial": "INTEGER", "id": "INTEGER", "float": "DOUBLE", "time": "VARCHAR(27)"},
    "postgresql": {
        "serial": "BIGSERIAL",
        "id": "BIGINT",
        "float": "DOUBLE PRECISION",
        "time": "TIMESTAMP WITH TIME ZONE",
    },
}

TABLES = """\
CREATE TABLE recipes (
    id {serial} NOT NULL, recipe VARCHAR NOT NULL, similarity {float} NOT NULL,
    adopted {time} NOT NULL, PRIMARY KEY (id)
);
ALTER TABLE pages ADD COLUMN recipe_id {id} DEFAULT '1' NOT NULL;
CREATE INDEX pages_recipe ON pages (recipe_id)
WHERE recipe_id <> 1 AND signature IS NOT NULL;
INSERT INTO store_info (key, value) VALUES ('recipe_id', '1');
UPDATE store_info SET value = '4' WHERE key = 'schema_version'"""

FIRST = text(
    "INSERT INTO recipes (id, recipe, similarity, adopted) VALUES (1, :recipe, :similarity, :time)"
).bindparams(bindparam("time", type_=UtcDateTime()))


def upgrade() -> None:
    """Migrate a database of version 3: all of its pages have its one recipe."""
    connection = op.get_bind()
    for statement in TABLES.format(**TYPES[connection.dialect.name]).split(";\n"):
        op.execute(statement)
    rows = connection.execute(text("SELECT key, value FROM store_info"))
    info = {row.key: row.value for row in rows}
    created = datetime.fromisoformat(info["created"]).astimezone(UTC)
    values = {"recipe": info["recipe"], "similarity": float(info["similarity"]), "time": created}
    connection.execute(FIRST, values)
