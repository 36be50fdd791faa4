"""What pages can do to the texts of others in the store: nothing, by the attacks tried here."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from sqlalchemy import text

from tests.test_store_support import (
    MINHASH,
    assert_every_text_once,
    query,
    record,
    words_of,
)
from websegment_scrapy.analysis import analyze
from websegment_scrapy.dedup.signature import (
    RECIPES,
    Recipe,
    Signature,
    signature_of,
    similarity,
)
from websegment_scrapy.exceptions import StoreMismatch
from websegment_scrapy.extraction import extract
from websegment_scrapy.store import PageRecord, Store, clusters, merging
from websegment_scrapy.store.integrity import integrity

pytest_plugins = ["tests.test_store_support"]

LONGEST = 0.6
"""Seconds of CPU that any transaction may take: a quarter of one on a quiet machine, up to half
beside other tests, six before."""


def signed(url: str, values: NDArray[np.uint32], recipe: Recipe = MINHASH) -> PageRecord:
    """Return a page as if its text had this signature."""
    signature = Signature(recipe, values, 200, os.urandom(16))
    return PageRecord(url=url, words=200, signature=signature)


def random_values(chooser: np.random.Generator, size: int = 128) -> NDArray[np.uint32]:
    return chooser.integers(0, 2**32, size, dtype=np.uint32)


def near(
    values: NDArray[np.uint32], share: float, chooser: np.random.Generator
) -> NDArray[np.uint32]:
    """Return values of which a share, anywhere, is that of others."""
    other = random_values(chooser, len(values))
    kept = chooser.permutation(len(values))[: round(share * len(values))]
    other[kept] = values[kept]
    return other


def store_all(store: Store, records: list[PageRecord]) -> None:
    for start in range(0, len(records), 64):
        store.decide_many(records[start : start + 64])


def shared_host(author: str, number: int, texts: list[str]) -> str:
    return (
        f"<html><head><title>{author} {number}</title></head><body>"
        "<ul><li><a href=/>Front page of this host</a><li><a href=/p>All people here</a></ul>"
        f"<div><h1>Of {author} {prose(author, number, 6)}</h1>"
        f"{''.join(f'<p>{each}</p>' for each in texts)}</div>"
        "<footer><p>This host is run by volunteers who ask for help with its costs.</p></footer>"
    )


def prose(author: str, number: int, count: int = 60) -> str:
    chooser = random.Random(f"{author} {number}")
    nouns = "river garden letter stone winter market bridge morning paper history".split()
    return " ".join(
        f"{chooser.choice(nouns)} {chooser.choice(('of', 'the', 'with', 'and'))}"
        for _ in range(count // 2)
    ).capitalize()


def test_six_pages_of_a_shared_host_cannot_empty_a_page_of_another_author(store: Store) -> None:
    texts = [prose("victim", each) for each in range(5)]
    victim = "http://host.example/~victim/"
    pages = {victim: shared_host("victim", 0, texts)}
    for number in range(1, 20):
        own = [prose("other", 10 * number + each) for each in range(3)]
        pages[f"http://host.example/~other{number}/"] = shared_host("other", number, own)
    for number in range(6):
        copied = [*texts, prose("attacker", number)]
        pages[f"http://host.example/~attacker/{number}"] = shared_host("attacker", number, copied)
    for url, html in pages.items():
        found = analyze(html, url=url, parts=True)
        store.decide(
            PageRecord(url=url, words=found.words, signature=found.signature, parts=found.parts)
        )
    verdict = store.site_verdict("host.example", min_pages=8)
    left = extract(pages[victim], site=verdict).main_text
    assert all(each in left for each in texts)
    for html in pages.values():
        known = extract(html, site=verdict).main_text
        assert "volunteers" not in known
        assert "All people" not in known


def test_thirteen_pages_that_change_step_by_step_do_not_join_two_texts(store: Store) -> None:
    chain = {f"http://example.com/{step}": words_of(1, start=10 * step) for step in range(13)}
    first, *_, last = chain
    assert similarity(*(signature_of(chain[url], MINHASH) for url in (first, last))) < 0.05
    # Both ends are there first, then an attacker's steps between them.
    for url in (first, last, *chain):
        store.decide(record(url, chain[url]))
    once = {url for (url,) in query(store, "SELECT url FROM pages WHERE id = cluster_id")}
    assert {first, last} <= once
    assert_every_text_once(store, chain)
    assert integrity(store) == []


def test_what_is_dropped_as_a_duplicate_is_similar_to_a_page_that_is_kept(store: Store) -> None:
    kept: list[str] = []
    for step in range(40):
        content = words_of(1, start=4 * step)
        if store.decide(record(f"http://example.com/{step}", content)).duplicate_of is None:
            kept.append(content)
        else:
            made = signature_of(content, MINHASH)
            assert max(similarity(made, signature_of(each, MINHASH)) for each in kept) >= 0.7
    assert len(kept) > 2


def crowd(values: NDArray[np.uint32], bands: int, pages: int, seed: int) -> list[PageRecord]:
    """Write pages that have whole bands of a signature and nothing else, each band in its turn."""
    chooser = np.random.default_rng(seed)
    step = MINHASH.rows
    found = []
    for number in range(pages):
        crafted = random_values(chooser)
        for band in (np.arange(bands) + number * bands) % MINHASH.bands:
            crafted[band * step : (band + 1) * step] = values[band * step : (band + 1) * step]
        found.append(signed(f"http://attacker.example/{seed}/{number}", crafted))
    return found


@pytest.fixture
def tenth(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the limits a tenth of what they are, and so the attacks."""
    for name in ("MAX_PAGES_PER_KEY", "MAX_IDS_PER_KEY", "MAX_VERIFIED"):
        monkeypatch.setattr(clusters, name, getattr(clusters, name) // 10)


@pytest.mark.usefixtures("tenth")
@pytest.mark.parametrize(
    ("bands", "pages"), [(1, 816), (11, 400)], ids=["one band each", "as many as stay unlike"]
)
def test_pages_that_crowd_the_keys_of_a_text_do_not_hide_its_copy(
    store: Store, bands: int, pages: int
) -> None:
    chooser = np.random.default_rng(1)
    victim = random_values(chooser)
    store_all(store, crowd(victim, bands, pages, seed=2))
    assert store.decide(signed("http://victim.example/", victim)).kind == "new"
    for number in range(5):
        copy = near(victim, 0.87, chooser)
        decision = store.decide(signed(f"http://mirror.example/{number}", copy))
        assert decision.kind == "duplicate"
        assert decision.representative == "http://victim.example/"
    assert store.crowded_keys > 0


def test_a_decision_among_crowded_keys_is_made_within_bounds(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    chooser = np.random.default_rng(3)
    victim = random_values(chooser)
    with monkeypatch.context() as patched:
        patched.setattr(clusters, "MAX_VERIFIED", 0)  # quickly
        store_all(store, crowd(victim, 8, 1100, seed=4))
    seconds = []
    for number in range(8):
        page = signed(f"http://example.com/{number}", near(victim, 0.6, chooser))
        started = time.process_time()
        store.decide(page)
        seconds.append(time.process_time() - started)
    assert sorted(seconds)[4] < LONGEST


@pytest.mark.usefixtures("tenth")
def test_the_keys_of_shingles_cannot_be_crowded_either(database_url: str) -> None:
    shingles = RECIPES["shingles"]
    chooser = np.random.default_rng(5)

    def smallest(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
        return np.sort(values)

    def numbers(size: int) -> NDArray[np.uint64]:
        return chooser.integers(0, 2**63, size, dtype=np.uint64)

    victim = smallest(numbers(8))
    crafted = [
        Signature(shingles, smallest(np.append(numbers(5), np.roll(victim, turn)[:3])), 200, key)
        for turn, key in ((number, os.urandom(16)) for number in range(200))
    ]
    with Store.open(database_url, recipe=shingles) as store:
        store_all(
            store,
            [
                PageRecord(url=f"http://attacker.example/{number}", words=200, signature=each)
                for number, each in enumerate(crafted)
            ],
        )
        for url, values in (
            ("http://victim.example/", victim),
            ("http://mirror.example/", smallest(np.append(victim[2:6], numbers(4)))),
        ):
            decision = store.decide(
                PageRecord(
                    url=url, words=200, signature=Signature(shingles, values, 200, os.urandom(16))
                )
            )
        assert (decision.kind, decision.duplicate_of) == ("duplicate", "http://victim.example/")


def half_alike(values: NDArray[np.uint32], pages: int, seed: int) -> list[PageRecord]:
    """Craft pages that have half of a victim's values, each another half."""
    chooser = np.random.default_rng(seed)
    found = []
    for number in range(pages):
        crafted = random_values(chooser)
        own = chooser.permutation(len(values))[: len(values) // 2]
        crafted[own] = values[own]
        found.append(signed(f"http://attacker.example/{seed}/{number}", crafted))
    return found


def test_with_secret_keys_nobody_can_aim_at_a_band(database_url: str) -> None:
    chooser = np.random.default_rng(6)
    victim = random_values(chooser)
    with Store.open(database_url, recipe=MINHASH, secret_keys=True) as store:
        store_all(store, half_alike(victim, 500, seed=7))
        store.decide(signed("http://victim.example/", victim))
        crowded = query(
            store, "SELECT count(*) FROM page_keys GROUP BY key ORDER BY count(*) DESC LIMIT 1"
        )
        # Half of the values are the victim's, so one key in 2^8 is.
        assert crowded[0][0] < 500 / 16
        copy = near(victim, 0.87, chooser)
        assert store.decide(signed("http://mirror.example/", copy)).kind == "duplicate"
        assert integrity(store) == []


def test_secret_keys_are_a_property_of_the_database(database_url: str, tmp_path: Path) -> None:
    contents = {f"http://example.com/{step}": words_of(step // 2) for step in range(6)}
    with Store.open(database_url, recipe=MINHASH, secret_keys=True) as store:
        secret = store.rules.secret
        assert len(secret) == 16
        store.decide_many([record(url, content) for url, content in contents.items()])
    with Store.open(database_url, recipe=MINHASH) as store:
        assert store.rules.secret == secret
        assert store.decide(record("http://example.com/more", words_of(1))).kind == "duplicate"
        with Store.open(f"sqlite:///{tmp_path}/plain.db", recipe=MINHASH) as plain:
            assert plain.rules.secret == b""
            # Values are the same everywhere: no secret is needed to merge or to compare.
            assert merging.merge(store.database, plain).pages == 7
            assert integrity(plain) == []
        store.decide(record("http://example.com/0", words_of(9)))
        assert integrity(store) == []
    with pytest.raises(StoreMismatch, match=r"without secret keys.*websegment dedup merge"):
        Store.open(f"sqlite:///{tmp_path}/plain.db", recipe=MINHASH, secret_keys=True)


class Longest:
    """Measures the longest transaction of a store."""

    def __init__(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seconds = 0.0
        self.count = 0
        write = store.database.write

        def measured() -> object:
            outer, inner = self, write()

            class Transaction:
                def __enter__(self) -> object:
                    self.started = time.process_time()
                    return inner.__enter__()

                def __exit__(self, *error: object) -> object:
                    try:
                        return inner.__exit__(*error)  # type: ignore[arg-type]
                    finally:
                        outer.count += 1
                        outer.seconds = max(outer.seconds, time.process_time() - self.started)

            return Transaction()

        monkeypatch.setattr(store.database, "write", measured)


@pytest.mark.parametrize("kind", ["alike", "unlike each other"])
def test_to_leave_a_cluster_of_990_takes_short_transactions(
    store: Store, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    chooser = np.random.default_rng(8)
    first = random_values(chooser)
    share = 0.95 if kind == "alike" else 0.8  # 0.8 · 0.8 < 0.7
    pages = [signed("http://example.com/first", first)]
    pages += [
        signed(f"http://example.com/{number}", near(first, share, chooser)) for number in range(990)
    ]
    store_all(store, pages)
    ((largest,),) = query(store, "SELECT max(pages) FROM clusters")
    assert largest > 900
    longest = Longest(store, monkeypatch)
    decision = store.decide(signed("http://example.com/first", random_values(chooser)))
    assert decision.kind == "changed"
    assert longest.seconds < LONGEST
    assert longest.count > 990 / 128
    assert integrity(store) == []
    if kind == "alike":
        assert query(store, "SELECT count(*) FROM pages WHERE id = cluster_id") == [(2,)]


def test_an_interrupted_hand_over_leaves_a_sound_database(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    chooser = np.random.default_rng(9)
    first = random_values(chooser)
    pages = [
        signed(f"http://example.com/{number}", near(first, 0.9, chooser)) for number in range(400)
    ]
    store_all(store, [signed("http://example.com/first", first), *pages])
    write, left = store.database.write, iter([True, True, True])

    def killed() -> object:
        if next(left, None) is None:
            raise KeyboardInterrupt
        return write()

    monkeypatch.setattr(store.database, "write", killed)
    with pytest.raises(KeyboardInterrupt):
        store.decide(signed("http://example.com/first", random_values(chooser)))
    monkeypatch.setattr(store.database, "write", write)
    assert integrity(store) == []
    store.decide(signed("http://example.com/first", random_values(chooser)))
    assert integrity(store) == []
    assert query(store, "SELECT count(*) FROM pages WHERE id = cluster_id") == [(2,)]


WITHOUT_LATER = (
    "ALTER TABLE pages DROP COLUMN main_text_score",
    "DROP TABLE site_rendering",
    "ALTER TABLE pages DROP COLUMN render_reason",
    "DROP TABLE revisits",
    "ALTER TABLE pages DROP COLUMN steady_hash",
    "DROP INDEX pages_type",
    "ALTER TABLE pages DROP COLUMN page_type",
    "ALTER TABLE pages DROP COLUMN page_type_probability",
    "DROP TABLE kept_pages",
    "DROP TABLE kept_texts",
    "DROP INDEX pages_document",
    "DROP INDEX pages_revised",
    "ALTER TABLE pages DROP COLUMN document_hash",
    "ALTER TABLE pages DROP COLUMN fingerprint",
    "ALTER TABLE pages DROP COLUMN revised",
    "ALTER TABLE sites DROP COLUMN revised_pages",
)


def test_a_cluster_of_a_database_of_version_4_is_split_by_the_migration(database_url: str) -> None:
    chain = {f"http://example.com/{step}": words_of(1, start=10 * step) for step in range(13)}
    with Store.open(database_url, recipe=MINHASH) as store:
        for url, content in chain.items():
            store.decide(record(url, content))
        # As version 4 left it: everything connected is one cluster.
        with store.database.write() as connection:
            connection.execute(text("UPDATE pages SET cluster_id = 1"))
            connection.execute(
                text(
                    "UPDATE pages SET decision = 'duplicate', duplicate_of_id = id - 1, "
                    "similarity = 0.8 WHERE id > 1"
                )
            )
            connection.execute(
                text("UPDATE store_info SET value = '4' WHERE key = 'schema_version'")
            )
            for statement in WITHOUT_LATER:
                connection.execute(text(statement))
    with Store.open(database_url, recipe=MINHASH) as store:
        assert_every_text_once(store, chain)
        wrong = [each for each in integrity(store) if "similarity is not that" not in each]
        assert wrong == []
