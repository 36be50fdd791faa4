"""Schema version 8: main texts that are kept."""

from __future__ import annotations

from alembic import op

revision = "8"
down_revision = "7"

TYPES = {
    "sqlite": {"bytes": "BLOB", "id": "INTEGER", "time": "VARCHAR(27)"},
    "postgresql": {"bytes": "BYTEA", "id": "BIGINT", "time": "TIMESTAMP WITH TIME ZONE"},
}
REFERS = {"sqlite": ", FOREIGN KEY(page_id) REFERENCES pages (id)", "postgresql": ""}

STATEMENTS = """\
CREATE TABLE kept_texts (
    page_id {id} NOT NULL, seen_at {time} NOT NULL, text {bytes} NOT NULL,
    PRIMARY KEY (page_id, seen_at){refers}
);
UPDATE store_info SET value = '8' WHERE key = 'schema_version'"""


def upgrade() -> None:
    """Migrate a database of version 7; no text is kept of its pages yet."""
    dialect = op.get_bind().dialect.name
    for statement in STATEMENTS.format(**TYPES[dialect], refers=REFERS[dialect]).split(";\n"):
        op.execute(statement)
