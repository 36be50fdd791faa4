"""A database changes its recipe: in place, interrupted at any moment, while crawls go on."""

from __future__ import annotations

import json
import multiprocessing
import random
import threading
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.test_store_support import (
    MINHASH,
    assert_every_text_once,
    query,
    record,
    stored_clusters,
    words_of,
)
from websegment_scrapy.cli.main import main
from websegment_scrapy.cli.resign import _url_and_text
from websegment_scrapy.dedup.signature import RECIPES, Recipe
from websegment_scrapy.exceptions import StoreError, StoreMismatch
from websegment_scrapy.store import PageRecord, Store, lifecycle, merging
from websegment_scrapy.store.integrity import integrity
from websegment_scrapy.store.queries import open_for_reading, story, summary
from websegment_scrapy.store.resign import adopt, former_pages, resign

pytest_plugins = ["tests.test_store_support"]

SHINGLES = RECIPES["shingles"]
NORMALISED = replace(MINHASH, normaliser=MINHASH.normaliser + 1)
A, B, C, D = (f"http://{name}.example/" for name in "abcd")


def many(families: int, steps: int = 4) -> dict[str, str]:
    """Return chains of similar pages by URL."""
    return {
        f"http://example.com/{family}/{step}": words_of(family, start=12 * step)
        for family in range(families)
        for step in range(steps)
    }


def fill(url: str, contents: dict[str, str], recipe: Recipe = MINHASH) -> None:
    with Store.open(url, recipe=recipe) as store:
        store.decide_many([record(page, text, recipe) for page, text in contents.items()])


def change(url: str, recipe: Recipe, similarity: float | None = None) -> None:
    with Store.open(url, recipe=MINHASH) as store:
        adopt(store.database, recipe, similarity or recipe.default_similarity)


def exported(path: Path, contents: dict[str, str]) -> str:
    lines = [{"url": url, "websegment": {"main_text": text}} for url, text in contents.items()]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("recipe", [SHINGLES, NORMALISED], ids=["kind", "normaliser"])
def test_after_all_texts_the_clusters_are_those_of_a_new_database(
    database_url: str, recipe: Recipe
) -> None:
    contents = many(3)
    fill(database_url, contents)
    change(database_url, recipe)
    with Store.open(database_url, recipe=recipe) as store:
        assert (former_pages(store), summary(store).former_recipe) == (12, 12)
        texts = list(contents.items())
        random.Random(1).shuffle(texts)
        done = resign(store, texts)
        assert (done.pages, done.unknown, done.other_text, done.left) == (12, 0, 0, 0)
        assert_every_text_once(store, contents, recipe)
        assert integrity(store) == []
        assert summary(store).former_recipe == 0
        assert summary(store).visits == 12
        assert resign(store, texts).pages == 0


def test_another_similarity_needs_no_texts(database_url: str) -> None:
    contents = many(3)
    fill(database_url, contents)
    assert main(["dedup", "resign", "--similarity", "0.9", "--database", database_url]) == 0
    with Store.open(database_url, recipe=MINHASH, similarity=0.9) as store:
        assert_every_text_once(store, contents, MINHASH, 0.9)
        assert len(stored_clusters(store)) > 3
        assert (integrity(store), former_pages(store)) == ([], 0)
    back = ["dedup", "resign", "--similarity", "0.7", "--database", database_url]
    assert main(back) == 0
    with Store.open(database_url, recipe=MINHASH) as store:
        assert_every_text_once(store, contents, MINHASH)
        assert (integrity(store), former_pages(store)) == ([], 0)
        assert query(store, "SELECT id FROM recipes ORDER BY id") == [(1,), (2,)]


def test_other_bands_need_no_texts(database_url: str) -> None:
    contents = many(2)
    recipe = replace(MINHASH, bands=32, rows=4)
    fill(database_url, contents)
    change(database_url, recipe)
    with Store.open(database_url, recipe=recipe) as store:
        assert resign(store).pages == 8
        assert_every_text_once(store, contents, recipe)
        assert integrity(store) == []


def test_a_crawl_renews_the_pages_that_it_meets(database_url: str) -> None:
    contents = {A: words_of(1), B: words_of(1, start=4), C: words_of(2)}
    fill(database_url, contents)
    change(database_url, SHINGLES)
    with Store.open(database_url, recipe=SHINGLES) as store:
        found = store.decide(record(B, contents[B], SHINGLES))
        assert (found.kind, found.duplicate_of) == ("unchanged", None)
        assert (integrity(store), former_pages(store)) == ([], 2)
        found = store.decide(record(A, contents[A], SHINGLES))
        assert (found.kind, found.duplicate_of, found.representative) == ("unchanged", B, B)
        found = store.decide(record(C, words_of(3), SHINGLES))
        assert (found.kind, found.similarity) == ("changed", None)
        assert found.reason is not None
        assert "another recipe" in found.reason
        assert (integrity(store), former_pages(store)) == ([], 0)
        assert stored_clusters(store) == {frozenset((A, B)), frozenset((C,))}
        told = story(store, A)
        assert told is not None
        assert told.page.last_changed == told.page.first_seen


def test_pages_of_different_recipes_are_not_compared(database_url: str) -> None:
    fill(database_url, {A: words_of(1)})
    change(database_url, NORMALISED)
    with Store.open(database_url, recipe=NORMALISED) as store:
        # The same keys and the same hash of words, and yet not comparable.
        assert store.decide(record(B, words_of(1), NORMALISED)).kind == "new"
        assert store.decide(record(C, words_of(1), NORMALISED)).duplicate_of == B
        assert store.decide(record(D, words_of(1, start=3), NORMALISED)).duplicate_of == B
        assert (integrity(store), former_pages(store)) == ([], 1)


def test_a_crawl_that_was_under_way_goes_on_with_the_former_recipe(database_url: str) -> None:
    with Store.open(database_url, recipe=MINHASH) as under_way:
        under_way.decide(record(A, words_of(1)))
        adopt(under_way.database, SHINGLES, 0.5)
        assert under_way.decide(record(B, words_of(1))).duplicate_of == A
        with Store.open(database_url, recipe=SHINGLES) as store:
            assert store.decide(record(C, words_of(1), SHINGLES)).kind == "new"
            assert store.decide(record(B, words_of(1), SHINGLES)).kind == "unchanged"
            assert under_way.decide(record(B, words_of(1))).duplicate_of == A
            assert integrity(store) == []
            assert former_pages(store) == 2
    with pytest.raises(StoreMismatch, match="websegment dedup resign"):
        Store.open(database_url, recipe=MINHASH)


def test_what_has_no_text_or_another_text_is_told(database_url: str, tmp_path: Path) -> None:
    with Store.open(database_url, recipe=MINHASH) as store:
        store.decide_many([record(A, words_of(1)), record(B, words_of(2))])
        store.decide(PageRecord(url=C, error="timed out"))
    change(database_url, SHINGLES)
    with Store.open(database_url, recipe=SHINGLES) as store:
        texts = [(A, words_of(1)), (B, words_of(9)), (C, words_of(3)), (D, words_of(4)), (A, "few")]
        done = resign(store, texts)
        assert (done.pages, done.other_text, done.unknown, done.left) == (1, 1, 3, 1)
        assert integrity(store) == []
        with (
            Store.open(f"sqlite:///{tmp_path}/target.db", recipe=SHINGLES) as target,
            pytest.raises(StoreMismatch, match=r"1 pages .* former recipe"),
        ):
            merging.merge(store.database, target)


@pytest.mark.parametrize(
    "item",
    [
        {"url": "http://a.example/", "main_text": "words"},
        {"url": "http://a.example/", "websegment": {"main_text": "words"}},
        {"url": "own", "websegment": {"url": "http://a.example/", "main_text": "words"}},
        {"websegment_url": "http://a.example/", "websegment_main_text": "words"},
    ],
)
def test_items_of_every_form_say_their_page_and_text(item: dict[str, Any]) -> None:
    assert _url_and_text(json.dumps(item), "websegment") == ("http://a.example/", "words")


def test_the_command_reads_exported_items(
    database_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    contents = many(2)
    fill(database_url, contents)
    part = dict(list(contents.items())[:5])
    base = ["dedup", "resign", "--signature", "shingles", "--database", database_url, "--from"]
    assert main([*base, str(tmp_path / "missing.jsonl")]) == 2
    assert "there is no such file" in capsys.readouterr().err
    assert main([*base, exported(tmp_path / "part.jsonl", part)]) == 0
    said = capsys.readouterr().err
    assert "shingles, similarity 0.5: 5 pages re-signed; 3 pages still" in said
    assert main(["dedup", "check", "--database", database_url]) == 0
    assert "3 pages have signatures of a former recipe" in capsys.readouterr().err
    all_of_them = exported(tmp_path / "all.jsonl", contents)
    with Path(all_of_them).open("a", encoding="utf-8") as file:
        file.write('\n{"url": 3}\nnothing\n')
    assert main([*base, all_of_them]) == 1
    said = capsys.readouterr().err
    assert "line 10: no JSON object with url and main_text" in said
    assert "3 pages re-signed\n" in said
    assert main(["dedup", "check", "--database", database_url]) == 0
    with Store.open(database_url, recipe=SHINGLES) as store:
        assert_every_text_once(store, contents, SHINGLES)


def test_a_run_that_is_killed_is_simply_started_again(database_url: str, tmp_path: Path) -> None:
    contents = many(25)
    fill(database_url, contents)
    file = exported(tmp_path / "items.jsonl", contents)
    command = ["dedup", "resign", "--signature", "shingles", "--database", database_url]
    command += ["--from", file]
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["websegment_scrapy.cli.dedup"])
    left = len(contents)
    change(database_url, SHINGLES)
    for _ in range(3):
        process = context.Process(target=main, args=(command,))
        process.start()
        while process.is_alive() and _left(database_url) == left:
            time.sleep(0.005)
        process.kill()
        process.join()
        left = _left(database_url)
        with Store.open(database_url, recipe=SHINGLES) as store:
            assert integrity(store) == []
    assert left < len(contents)
    assert main(command) == 0
    assert _left(database_url) == 0
    with Store.open(database_url, recipe=SHINGLES) as store:
        assert_every_text_once(store, contents, SHINGLES)
        assert (integrity(store), summary(store).visits) == ([], len(contents))


def _left(url: str) -> int:
    database = open_for_reading(url)
    try:
        return former_pages(database)
    finally:
        database.close()


def test_crawls_write_while_pages_are_re_signed(database_url: str) -> None:
    contents = many(12)
    later = {url.replace("example.com", "later.example"): text for url, text in contents.items()}
    fill(database_url, contents)
    change(database_url, SHINGLES)
    failed: list[BaseException] = []

    def crawl() -> None:
        try:
            with Store.open(database_url, recipe=SHINGLES) as store:
                for url, text in {**later, **contents}.items():
                    store.decide(record(url, text, SHINGLES))
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=crawl)
    thread.start()
    with Store.open(database_url, recipe=SHINGLES) as store:
        resign(store, reversed(contents.items()))
        thread.join()
        assert failed == []
        assert (integrity(store), former_pages(store)) == ([], 0)
        assert_every_text_once(store, {**contents, **later}, SHINGLES)


def test_pages_of_a_former_recipe_can_be_forgotten(database_url: str) -> None:
    fill(database_url, many(1))
    change(database_url, SHINGLES)
    with Store.open(database_url, recipe=SHINGLES) as store:
        store.decide(record(A, words_of(5), SHINGLES))
        assert lifecycle.forget(store.database, datetime.now(UTC) + timedelta(days=1)) == 5
        assert (integrity(store), former_pages(store)) == ([], 0)


def test_an_impossible_similarity_is_refused(database_url: str) -> None:
    fill(database_url, many(1))
    with (
        Store.open(database_url, recipe=MINHASH) as store,
        pytest.raises(StoreError, match=r"similarity is 1\.5"),
    ):
        adopt(store.database, SHINGLES, 1.5)
