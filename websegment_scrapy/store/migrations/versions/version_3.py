"""Schema version 3: what a page says without its site's verdict, and samples of template parts."""

from __future__ import annotations

from alembic import op

revision = "3"
down_revision = "2"

TYPES = {
    "sqlite": {"bytes": "BLOB", "false": "0"},
    "postgresql": {"bytes": "BYTEA", "false": "false"},
}

STATEMENTS = """\
ALTER TABLE pages ADD COLUMN page_hash {bytes};
ALTER TABLE pages ADD COLUMN parts_counted BOOLEAN DEFAULT {false} NOT NULL;
ALTER TABLE template_counts ADD COLUMN sample VARCHAR;
UPDATE store_info SET value = '3' WHERE key = 'schema_version'"""


def upgrade() -> None:
    """Migrate a database of version 2 with its data."""
    for statement in STATEMENTS.format(**TYPES[op.get_bind().dialect.name]).split(";\n"):
        op.execute(statement)
