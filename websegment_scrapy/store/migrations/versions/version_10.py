"""Schema version 10: which sites need the browser, and why a page was rendered or not."""

from __future__ import annotations

from alembic import op

revision = "10"
down_revision = "9"

TYPES = {
    "sqlite": {"number": "DOUBLE", "time": "VARCHAR(27)"},
    "postgresql": {"number": "DOUBLE PRECISION", "time": "TIMESTAMP WITH TIME ZONE"},
}

STATEMENTS = """\
CREATE TABLE site_rendering (
    host VARCHAR NOT NULL, sign VARCHAR NOT NULL, looks {number} NOT NULL,
    needed {number} NOT NULL, seen_at {time} NOT NULL,
    PRIMARY KEY (host, sign)
);
ALTER TABLE pages ADD COLUMN render_reason VARCHAR;
UPDATE store_info SET value = '10' WHERE key = 'schema_version'"""


def upgrade() -> None:
    """Migrate a database of version 9; sites are learned about from the next crawl on."""
    dialect = op.get_bind().dialect.name
    for statement in STATEMENTS.format(**TYPES[dialect]).split(";\n"):
        op.execute(statement)
