"""Schema version 1: pages, keys, visits."""

from __future__ import annotations

from alembic import op

revision = "1"
down_revision = None

TYPES = {
    "sqlite": {
        "serial": "INTEGER",
        "id": "INTEGER",
        "bytes": "BLOB",
        "time": "VARCHAR(27)",
        "real": "DOUBLE",
        "using": "",
        "rowid": " WITHOUT ROWID",
    },
    "postgresql": {
        "serial": "BIGSERIAL",
        "id": "BIGINT",
        "bytes": "BYTEA",
        "time": "TIMESTAMP WITH TIME ZONE",
        "real": "DOUBLE PRECISION",
        "using": " USING hash",
        "rowid": "",
    },
}

STATEMENTS = """\
CREATE TABLE store_info (
    key VARCHAR NOT NULL, value VARCHAR NOT NULL, PRIMARY KEY (key)
);
CREATE TABLE pages (
    id {serial} NOT NULL, url VARCHAR NOT NULL, url_key {bytes} NOT NULL, host VARCHAR NOT NULL,
    title VARCHAR NOT NULL, words INTEGER NOT NULL, content_hash {bytes}, signature {bytes},
    decision VARCHAR(9) NOT NULL, duplicate_of_id {id}, similarity {real}, cluster_id {id},
    engine VARCHAR NOT NULL, rendered BOOLEAN NOT NULL, render_error VARCHAR, http_status INTEGER,
    error VARCHAR, first_seen {time} NOT NULL, last_seen {time} NOT NULL, last_changed {time},
    PRIMARY KEY (id),
    CONSTRAINT pages_decision CHECK (decision IN ('new', 'duplicate', 'empty', 'failed')),
    CONSTRAINT pages_duplicate CHECK ((decision = 'duplicate') = (duplicate_of_id IS NOT NULL)),
    CONSTRAINT pages_signature
        CHECK ((decision IN ('new', 'duplicate')) = (signature IS NOT NULL)),
    UNIQUE (url_key),
    FOREIGN KEY (duplicate_of_id) REFERENCES pages (id),
    FOREIGN KEY (cluster_id) REFERENCES pages (id)
);
CREATE INDEX pages_url ON pages{using} (url);
CREATE INDEX pages_cluster ON pages (cluster_id);
CREATE INDEX pages_content ON pages (content_hash, id);
CREATE TABLE page_keys (
    key BIGINT NOT NULL, page_id {id} NOT NULL, PRIMARY KEY (key, page_id),
    FOREIGN KEY (page_id) REFERENCES pages (id)
){rowid};
CREATE TABLE visits (
    id {serial} NOT NULL, page_id {id} NOT NULL, seen_at {time} NOT NULL, crawl VARCHAR NOT NULL,
    decision VARCHAR(9) NOT NULL, similarity {real}, duplicate_of_id {id}, reason VARCHAR,
    PRIMARY KEY (id),
    CONSTRAINT visits_decision CHECK
        (decision IN ('new', 'duplicate', 'unchanged', 'changed', 'empty', 'failed')),
    FOREIGN KEY (page_id) REFERENCES pages (id),
    FOREIGN KEY (duplicate_of_id) REFERENCES pages (id)
);
CREATE INDEX visits_page ON visits (page_id);
CREATE VIEW duplicates AS
SELECT page.url AS url, original.url AS duplicate_of, first.url AS representative,
       page.similarity AS similarity
FROM pages AS page
JOIN pages AS original ON original.id = page.duplicate_of_id
JOIN pages AS first ON first.id = page.cluster_id;
INSERT INTO store_info (key, value) VALUES ('schema_version', '1')
"""


def upgrade() -> None:
    """Make an empty database of version 1."""
    types = TYPES[op.get_bind().dialect.name]
    for statement in STATEMENTS.format(**types).split(";\n"):
        op.execute(statement)
