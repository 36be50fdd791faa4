"""Clusters hold every text once, whatever the order and the history of pages."""

from __future__ import annotations

import itertools
import random
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.test_store_support import (
    assert_every_text_once,
    brute_force_clusters,
    query,
    record,
    stored_clusters,
    words_of,
)
from websegment_scrapy.dedup.decision import Decision
from websegment_scrapy.dedup.signature import RECIPES
from websegment_scrapy.store import Database, PageRecord, Store, clusters, leaving
from websegment_scrapy.store.integrity import integrity
from websegment_scrapy.store.schema import prepare
from websegment_scrapy.store.visit import Rules

pytest_plugins = ["tests.test_store_support"]

VISITS = st.lists(
    st.tuples(st.integers(0, 7), st.integers(0, 2), st.integers(0, 5)), min_size=1, max_size=24
)


def open_fast(path: Path, kind: str) -> Store:
    """Open a store that does not wait for the disk."""
    recipe = RECIPES[kind]
    database = Database.open(str(path), create=True, synchronous="OFF")
    prepare(database, recipe, recipe.default_similarity)
    return Store(database, Rules(recipe, recipe.default_similarity, 15))


@pytest.mark.parametrize("kind", RECIPES)
@settings(max_examples=25)
@given(visits=VISITS)
def test_every_text_is_there_once_after_any_history_of_new_changed_and_failed_pages(
    kind: str, visits: list[tuple[int, int, int]]
) -> None:
    contents: dict[str, str] = {}
    with (
        tempfile.TemporaryDirectory() as directory,
        open_fast(Path(directory) / "store.db", kind) as store,
    ):
        for page, family, step in visits:
            url = f"http://example.com/{page}"
            if family == 2 and step == 5:
                store.decide(PageRecord(url=url, error="failed"))
                continue
            contents[url] = words_of(family, start=9 * step)
            store.decide(record(url, contents[url], RECIPES[kind]))
        assert_every_text_once(store, contents, RECIPES[kind])
        assert integrity(store) == []


def answer(decision: Decision) -> tuple[object, ...]:
    """Return everything of a decision but its time."""
    return (
        decision.kind,
        decision.url,
        decision.page_id,
        decision.duplicate_of,
        decision.similarity,
        decision.representative,
        decision.reason,
    )


@pytest.mark.parametrize("kind", RECIPES)
@settings(max_examples=40)
@example(visits=[(1, 0, 0), (2, 0, 0), (0, 0, 0), (1, 0, 1), (2, 0, 1)], sizes=[2])
@given(visits=VISITS, sizes=st.lists(st.integers(1, 12), min_size=1, max_size=6))
def test_a_batch_decides_as_if_its_visits_came_one_by_one(
    kind: str, visits: list[tuple[int, int, int]], sizes: list[int]
) -> None:
    records = []
    for page, family, step in visits:
        url = f"http://example.com/{page}"
        if family == 2 and step > 3:
            few = PageRecord(url=url, words=3)
            records.append(PageRecord(url=url, error="failed") if step == 5 else few)
        else:
            records.append(record(url, words_of(family, start=9 * step), RECIPES[kind]))
    with (
        tempfile.TemporaryDirectory() as directory,
        open_fast(Path(directory) / "single.db", kind) as single,
        open_fast(Path(directory) / "batch.db", kind) as batch,
    ):
        alone = [answer(single.decide(each)) for each in records]
        together = []
        turn = itertools.cycle(sizes)
        while len(together) < len(records):
            size = next(turn)
            some = batch.decide_many(records[len(together) : len(together) + size])
            together += [answer(decision) for decision in some]
        assert together == alone
        columns = "id, url, decision, duplicate_of_id, similarity, cluster_id, words, error"
        for rows in (
            f"SELECT {columns} FROM pages ORDER BY id",
            "SELECT page_id, decision, similarity, duplicate_of_id, reason FROM visits ORDER BY id",
            "SELECT key, page_id FROM page_keys ORDER BY key, page_id",
            "SELECT host FROM sites",
        ):
            assert query(batch, rows) == query(single, rows)
        assert integrity(batch) == []


def test_fifty_orders_and_interleavings_of_the_same_pages_keep_every_text_once(
    tmp_path: Path,
) -> None:
    chooser = random.Random(4)
    pages = {
        f"http://example.com/{family}/{step}": words_of(family, start=chooser.randrange(90))
        for family in range(6)
        for step in range(10)
    }
    assert 6 < len(brute_force_clusters(pages)) < 60
    made = {url: record(url, content) for url, content in pages.items()}
    for order in range(50):
        names = list(pages)
        chooser.shuffle(names)
        path = tmp_path / f"{order}.db"
        with open_fast(path, "minhash") as one, open_fast(path, "minhash") as other:
            while names:
                size = chooser.randint(1, 16)
                some, names = names[:size], names[size:]
                chooser.choice((one, other)).decide_many([made[name] for name in some])
            assert_every_text_once(one, pages)
            assert integrity(one) == []


def test_fifty_orders_of_pages_that_are_all_alike_give_the_same_clusters(tmp_path: Path) -> None:
    chooser = random.Random(5)
    pages = {
        f"http://example.com/{family}/{step}": words_of(family, start=chooser.randrange(9))
        for family in range(6)
        for step in range(6)
    }
    expected = brute_force_clusters(pages)
    assert len(expected) == 6
    made = {url: record(url, content) for url, content in pages.items()}
    for order in range(50):
        names = list(pages)
        chooser.shuffle(names)
        with open_fast(tmp_path / f"{order}.db", "minhash") as store:
            while names:
                size = chooser.randint(1, 16)
                some, names = names[:size], names[size:]
                store.decide_many([made[name] for name in some])
            assert stored_clusters(store) == expected


@pytest.mark.parametrize("seed", range(3))
def test_no_order_of_pages_one_by_one_loses_a_text(tmp_path: Path, seed: int) -> None:
    chooser = random.Random(seed)
    pages = {
        f"http://example.com/{family}/{step}": words_of(family, start=chooser.randrange(12) * step)
        for family in range(4)
        for step in range(8)
    }
    for order in range(3):
        names = list(pages)
        chooser.shuffle(names)
        with open_fast(tmp_path / f"{order}.db", "minhash") as store:
            for name in names:
                store.decide(record(name, pages[name]))
            assert_every_text_once(store, pages)


def test_no_order_of_a_chain_joins_its_ends(tmp_path: Path) -> None:
    chain = {f"http://example.com/{step}": words_of(5, start=12 * step) for step in range(4)}
    assert len(brute_force_clusters(chain)) == 1
    for number, order in enumerate(itertools.permutations(chain)):
        with open_fast(tmp_path / f"{number}.db", "minhash") as store:
            for url in order:
                store.decide(record(url, chain[url]))
            assert_every_text_once(store, chain)
            assert len(stored_clusters(store)) > 1


@pytest.mark.parametrize("alike", [True, False], ids=["alike", "a chain"])
def test_a_large_cluster_is_handed_over_in_steps_when_its_representative_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, alike: bool
) -> None:
    monkeypatch.setattr(leaving, "HANDOVER", 3)
    monkeypatch.setattr(leaving, "LOOKUPS", 1)
    contents = {
        f"http://example.com/{number}": words_of(1, start=0 if alike else 40 - 5 * (number % 9))
        for number in range(17)
    }
    with open_fast(tmp_path / "store.db", "minhash") as store:
        for url, content in contents.items():
            store.decide(record(url, content))
        for number, url in enumerate(contents):
            contents[url] = words_of(2 + number % 2, start=number % 5)
            store.decide(record(url, contents[url]))
            assert_every_text_once(store, contents)
            assert integrity(store) == []


def test_very_many_similar_pages_are_compared_with_the_earliest_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clusters, "MAX_PAGES_PER_KEY", 3)
    with open_fast(tmp_path / "store.db", "minhash") as store:
        for number in range(12):
            content = f"{words_of(1)} tail{number}"
            decision = store.decide(record(f"http://example.com/{number}", content))
        assert decision.representative == "http://example.com/0"
        assert len(stored_clusters(store)) == 1
        twin = store.decide(record("http://example.com/twin", f"{words_of(1)} tail11"))
        assert twin.duplicate_of == "http://example.com/11"
        assert integrity(store) == []
