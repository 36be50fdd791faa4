"""Schema version 9: what it takes to come back to a page."""

from __future__ import annotations

from alembic import op

revision = "9"
down_revision = "8"

TYPES = {
    "sqlite": {"bytes": "BLOB", "id": "INTEGER", "number": "DOUBLE", "time": "VARCHAR(27)"},
    "postgresql": {
        "bytes": "BYTEA",
        "id": "BIGINT",
        "number": "DOUBLE PRECISION",
        "time": "TIMESTAMP WITH TIME ZONE",
    },
}
REFERS = {"sqlite": ", FOREIGN KEY(page_id) REFERENCES pages (id)", "postgresql": ""}

STATEMENTS = """\
CREATE TABLE revisits (
    page_id {id} NOT NULL, seen_at {time} NOT NULL, etag VARCHAR, last_modified VARCHAR,
    plain_hash {bytes}, leads_on BOOLEAN NOT NULL, links_by_script BOOLEAN NOT NULL,
    scripted BOOLEAN NOT NULL, look_by {time} NOT NULL, interval_seconds {number} NOT NULL,
    due {time} NOT NULL,
    PRIMARY KEY (page_id){refers}
);
ALTER TABLE pages ADD COLUMN steady_hash {bytes};
CREATE INDEX revisits_due ON revisits (due);
UPDATE store_info SET value = '9' WHERE key = 'schema_version'"""


def upgrade() -> None:
    """Migrate a database of version 8; its pages are looked at in full once more."""
    dialect = op.get_bind().dialect.name
    for statement in STATEMENTS.format(**TYPES[dialect], refers=REFERS[dialect]).split(";\n"):
        op.execute(statement)
