"""Schema version 5: every page of a cluster is similar to its representative.

Before, a cluster was everything that was connected by similarity, and its ends need not have been
similar. Such clusters are split; no table changes.
"""

from __future__ import annotations

from typing import Any

from alembic import op
from sqlalchemy import Connection, text

from websegment_scrapy.dedup.signature import Recipe, Signature, similarity
from websegment_scrapy.dedup.stars import stars

revision = "5"
down_revision = "4"

CLUSTERS = "SELECT DISTINCT cluster_id FROM pages WHERE cluster_id <> id ORDER BY cluster_id"
MEMBERS = (
    "SELECT id, words, content_hash, signature, recipe_id, duplicate_of_id FROM pages "
    "WHERE id = :cluster OR (cluster_id = :cluster AND cluster_id <> id) ORDER BY id"
)
PLACE = text(
    "UPDATE pages SET cluster_id = :cluster, decision = :decision, duplicate_of_id = :target, "
    "similarity = :similarity WHERE id = :id"
)


def upgrade() -> None:
    """Migrate a database of version 4: cluster by cluster, the page of the lowest id first."""
    connection = op.get_bind()
    recipes = {
        row.id: (Recipe.from_json(row.recipe), row.similarity)
        for row in connection.execute(text("SELECT id, recipe, similarity FROM recipes"))
    }
    for cluster in connection.execute(text(CLUSTERS)).scalars().all():
        _split(connection, cluster, recipes)
    connection.execute(text("UPDATE store_info SET value = '5' WHERE key = 'schema_version'"))


def _split(connection: Connection, cluster: int, recipes: dict[int, tuple[Recipe, float]]) -> None:
    rows = connection.execute(text(MEMBERS), {"cluster": cluster}).all()
    recipe, threshold = recipes[rows[0].recipe_id]
    made = {
        row.id: Signature.from_bytes(row.signature, recipe, row.words, row.content_hash)
        for row in rows
    }
    chosen = stars(list(made.values()), threshold)
    home = {row.id: rows[place].id for row, place in zip(rows, chosen, strict=True)}
    changes: list[dict[str, Any]] = []
    for row in rows:
        target = row.duplicate_of_id
        representative = home[row.id]
        # Who repeats a page of the same cluster goes on; a representative repeats nothing, so
        # pointing at it closes no circle.
        keeps = target is not None and home.get(target) == representative != row.id
        if keeps and representative == cluster:
            continue
        shown = None
        if representative == row.id:
            target = None
        else:
            target = target if keeps else representative
            shown = similarity(made[row.id], made[target])
        changes.append(
            {
                "id": row.id,
                "cluster": representative,
                "decision": "new" if target is None else "duplicate",
                "target": target,
                "similarity": shown,
            }
        )
    connection.execute(PLACE, changes)
