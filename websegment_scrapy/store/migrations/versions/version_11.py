"""Schema version 11: how good main texts are expected to be."""

from __future__ import annotations

from alembic import op

revision = "11"
down_revision = "10"

NUMBER = {"sqlite": "DOUBLE", "postgresql": "DOUBLE PRECISION"}

STATEMENTS = """\
ALTER TABLE pages ADD COLUMN main_text_score {number};
UPDATE store_info SET value = '11' WHERE key = 'schema_version'"""


def upgrade() -> None:
    """Migrate a database of version 10; its pages have a score from their next visit on."""
    number = NUMBER[op.get_bind().dialect.name]
    for statement in STATEMENTS.format(number=number).split(";\n"):
        op.execute(statement)
