"""Schema version 6: pages are judged again when their site becomes known."""

from __future__ import annotations

from alembic import op

revision = "6"
down_revision = "5"

TYPES = {
    "sqlite": {"bytes": "BLOB", "id": "INTEGER", "time": "VARCHAR(27)"},
    "postgresql": {"bytes": "BYTEA", "id": "BIGINT", "time": "TIMESTAMP WITH TIME ZONE"},
}
REFERS = {"sqlite": ", FOREIGN KEY(page_id) REFERENCES pages (id)", "postgresql": ""}

STATEMENTS = """\
ALTER TABLE pages ADD COLUMN document_hash {bytes};
ALTER TABLE pages ADD COLUMN fingerprint {bytes};
ALTER TABLE pages ADD COLUMN revised {time};
CREATE INDEX pages_document ON pages (document_hash, id);
CREATE INDEX pages_revised ON pages (revised) WHERE revised IS NOT NULL;
ALTER TABLE sites ADD COLUMN revised_pages {id} DEFAULT '0' NOT NULL;
CREATE TABLE kept_pages (
    page_id {id} NOT NULL, host VARCHAR NOT NULL, dossier {bytes} NOT NULL,
    PRIMARY KEY (page_id){refers}
);
CREATE INDEX kept_pages_host ON kept_pages (host);
UPDATE store_info SET value = '6' WHERE key = 'schema_version'"""


def upgrade() -> None:
    """Migrate a database of version 5; of its pages nothing was kept."""
    dialect = op.get_bind().dialect.name
    for statement in STATEMENTS.format(**TYPES[dialect], refers=REFERS[dialect]).split(";\n"):
        op.execute(statement)
