"""Schema version 7: the functional types of pages."""

from __future__ import annotations

from alembic import op

revision = "7"
down_revision = "6"

NUMBER = {"sqlite": "DOUBLE", "postgresql": "DOUBLE PRECISION"}

STATEMENTS = """\
ALTER TABLE pages ADD COLUMN page_type VARCHAR;
ALTER TABLE pages ADD COLUMN page_type_probability {number};
CREATE INDEX pages_type ON pages (page_type) WHERE page_type IS NOT NULL;
UPDATE store_info SET value = '7' WHERE key = 'schema_version'"""


def upgrade() -> None:
    """Migrate a database of version 6; its pages have a type from their next visit on."""
    number = NUMBER[op.get_bind().dialect.name]
    for statement in STATEMENTS.format(number=number).split(";\n"):
        op.execute(statement)
