"""Schema version 2: crawls, sites and template counts; views; indexes for large stores.

Foreign keys go where they cost most: those of the keys everywhere, all others on PostgreSQL.
"""

from __future__ import annotations

from alembic import op

revision = "2"
down_revision = "1"

TYPES = {
    "sqlite": {
        "serial": "INTEGER",
        "id": "INTEGER",
        "time": "VARCHAR(27)",
        "rowid": " WITHOUT ROWID",
    },
    "postgresql": {
        "serial": "BIGSERIAL",
        "id": "BIGINT",
        "time": "TIMESTAMP WITH TIME ZONE",
        "rowid": "",
    },
}

FIRST = """\
DROP VIEW duplicates;
CREATE TABLE crawls (
    id {serial} NOT NULL, name VARCHAR NOT NULL, started {time} NOT NULL,
    PRIMARY KEY (id), UNIQUE (name)
);
CREATE TABLE sites (
    host VARCHAR NOT NULL, first_seen {time} NOT NULL,
    template_pages {id} DEFAULT '0' NOT NULL, forgotten_pages {id} DEFAULT '0' NOT NULL,
    forgotten_visits {id} DEFAULT '0' NOT NULL, PRIMARY KEY (host)
);
CREATE TABLE template_counts (
    host VARCHAR NOT NULL, part BIGINT NOT NULL, pages {id} NOT NULL, PRIMARY KEY (host, part)
){rowid};
INSERT INTO crawls (name, started)
SELECT crawl, min(seen_at) FROM visits GROUP BY crawl ORDER BY min(seen_at), crawl;
INSERT INTO sites (host, first_seen) SELECT host, min(first_seen) FROM pages GROUP BY host;
ALTER TABLE pages ADD COLUMN seen_url VARCHAR;
ALTER TABLE pages ADD COLUMN model VARCHAR DEFAULT '' NOT NULL;
ALTER TABLE pages ADD COLUMN crawl_id {id}"""

SQLITE = """\
CREATE TABLE new_visits (
    id INTEGER NOT NULL, page_id INTEGER NOT NULL, seen_at VARCHAR(27) NOT NULL,
    crawl_id INTEGER NOT NULL, decision VARCHAR(9) NOT NULL, similarity DOUBLE,
    duplicate_of_id INTEGER, reason VARCHAR, PRIMARY KEY (id),
    CONSTRAINT visits_decision CHECK
        (decision IN ('new', 'duplicate', 'unchanged', 'changed', 'empty', 'failed')),
    FOREIGN KEY (page_id) REFERENCES pages (id),
    FOREIGN KEY (duplicate_of_id) REFERENCES pages (id)
);
INSERT INTO new_visits
SELECT visits.id, page_id, seen_at, crawls.id, decision, similarity, duplicate_of_id, reason
FROM visits JOIN crawls ON crawls.name = visits.crawl ORDER BY visits.id;
DROP TABLE visits;
ALTER TABLE new_visits RENAME TO visits;
CREATE INDEX visits_page ON visits (page_id);
CREATE TABLE new_page_keys (
    key BIGINT NOT NULL, page_id INTEGER NOT NULL, PRIMARY KEY (key, page_id)
) WITHOUT ROWID;
INSERT INTO new_page_keys SELECT key, page_id FROM page_keys ORDER BY key, page_id;
DROP TABLE page_keys;
ALTER TABLE new_page_keys RENAME TO page_keys"""

POSTGRESQL = """\
ALTER TABLE page_keys DROP CONSTRAINT page_keys_page_id_fkey;
ALTER TABLE pages DROP CONSTRAINT pages_duplicate_of_id_fkey;
ALTER TABLE pages DROP CONSTRAINT pages_cluster_id_fkey;
ALTER TABLE visits DROP CONSTRAINT visits_page_id_fkey;
ALTER TABLE visits DROP CONSTRAINT visits_duplicate_of_id_fkey;
ALTER TABLE visits ADD COLUMN crawl_id BIGINT;
UPDATE visits SET crawl_id = crawls.id FROM crawls WHERE crawls.name = visits.crawl;
ALTER TABLE visits ALTER COLUMN crawl_id SET NOT NULL;
ALTER TABLE visits DROP COLUMN crawl"""

LAST = """\
UPDATE pages SET crawl_id =
    (SELECT crawl_id FROM visits WHERE page_id = pages.id ORDER BY visits.id DESC LIMIT 1);
DROP INDEX pages_cluster;
CREATE INDEX pages_cluster ON pages (cluster_id) WHERE cluster_id <> id;
CREATE INDEX pages_duplicate_of ON pages (duplicate_of_id) WHERE duplicate_of_id IS NOT NULL;
CREATE INDEX pages_without_text ON pages (decision) WHERE signature IS NULL;
CREATE INDEX visits_changed ON visits (seen_at) WHERE decision = 'changed';
CREATE VIEW duplicates AS
SELECT page.url AS url, original.url AS duplicate_of, first.url AS representative,
       page.similarity AS similarity
FROM pages AS page
JOIN pages AS original ON original.id = page.duplicate_of_id
JOIN pages AS first ON first.id = page.cluster_id;
CREATE VIEW clusters AS
SELECT first.id AS cluster_id, first.url AS representative, first.title AS title,
       sizes.pages AS pages
FROM (SELECT cluster_id, count(*) + 1 AS pages FROM pages
      WHERE cluster_id <> id GROUP BY cluster_id) AS sizes
JOIN pages AS first ON first.id = sizes.cluster_id;
CREATE VIEW url_history AS
SELECT page.url AS url, visit.seen_at AS seen_at, crawl.name AS crawl,
       visit.decision AS decision, visit.similarity AS similarity,
       CASE WHEN visit.decision = 'changed' THEN 1 - visit.similarity END AS changed_share,
       original.url AS duplicate_of, visit.reason AS reason
FROM visits AS visit
JOIN pages AS page ON page.id = visit.page_id
JOIN crawls AS crawl ON crawl.id = visit.crawl_id
LEFT JOIN pages AS original ON original.id = visit.duplicate_of_id;
UPDATE store_info SET value = '2' WHERE key = 'schema_version'"""


def upgrade() -> None:
    """Migrate a database of version 1 with its data."""
    dialect = op.get_bind().dialect.name
    middle = POSTGRESQL if dialect == "postgresql" else SQLITE
    for part in (FIRST.format(**TYPES[dialect]), middle, LAST):
        for statement in part.split(";\n"):
            op.execute(statement)
