"""Shingles and signatures: against slow oracles, stable, comparable only with their own."""

from __future__ import annotations

import pickle
import random
import subprocess
import sys
import tracemalloc
from dataclasses import replace
from hashlib import blake2b

import numpy as np
import pytest
from datasketch import MinHash
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.timing import takes_under
from websegment_scrapy.dedup.minhash import minimum_hashes
from websegment_scrapy.dedup.shingles import shingle_hashes
from websegment_scrapy.dedup.signature import (
    RECIPES,
    Recipe,
    Signature,
    signature_of,
    similarities,
    similarity,
)
from websegment_scrapy.dedup.stars import stars

PINNED_TEXT = "The quick brown fox jumps over the lazy dog; 東京 and naïve café"
PINNED_SHINGLES = [
    -2700063718744229226,
    -1917821527422630428,
    -1628625817522209192,
    -1252407489912176681,
    146630746507393174,
    1219198236052888021,
    3072473402035853960,
    8794786221553302121,
]
PINNED_MINHASH = [-9150651829741663382, -8468786417860839231, -7494916488619701014]
PINNED_CONTENT = "e3a5f985c7695ed7cedc82fdd9214fb6"

MINHASH, SHINGLES = RECIPES["minhash"], RECIPES["shingles"]
BOTH = pytest.mark.parametrize("recipe", [MINHASH, SHINGLES], ids=lambda recipe: recipe.kind)
WORD_LISTS = st.lists(st.sampled_from("a b c d e é 東 x1".split()), max_size=60)


def slow_shingles(words: list[str], width: int) -> list[int]:
    width = min(width, len(words))
    windows = (
        {" ".join(words[i : i + width]) for i in range(len(words) - width + 1)} if words else ()
    )
    return sorted(
        int.from_bytes(blake2b(w.encode(), digest_size=8).digest(), "big") for w in windows
    )


def text_of(seed: int, count: int = 200) -> list[str]:
    chooser = random.Random(seed)
    return [f"w{chooser.randrange(5000)}" for _ in range(count)]


@given(WORD_LISTS, st.integers(1, 8))
def test_shingles_equal_a_slow_pure_python_oracle(words: list[str], width: int) -> None:
    found = shingle_hashes(words, width)
    assert found.dtype == np.uint64
    assert found.tolist() == slow_shingles(words, width)


def test_a_text_shorter_than_a_window_is_one_shingle_of_all_its_words() -> None:
    for count in range(1, 7):
        assert len(shingle_hashes(list("abcdef")[:count])) == 1
    assert len({int(shingle_hashes(list("abcdef")[:count])[0]) for count in range(1, 7)}) == 6


def test_the_order_of_words_counts() -> None:
    assert shingle_hashes(list("abcdef"))[0] != shingle_hashes(list("bacdef"))[0]


def test_shingles_are_the_same_in_every_process() -> None:
    code = (
        "from websegment_scrapy.dedup.signature import *;"
        f"print([signature_of({PINNED_TEXT!r}, recipe).keys() for recipe in RECIPES.values()])"
    )
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    here = [signature_of(PINNED_TEXT, recipe).keys() for recipe in RECIPES.values()]
    assert output.strip() == str(here)


def test_signatures_never_change_between_versions() -> None:
    # Stored databases depend on these numbers: a change needs a new recipe, not new numbers.
    shingles = signature_of(PINNED_TEXT, SHINGLES)
    assert shingles.keys() == PINNED_SHINGLES
    assert signature_of(PINNED_TEXT, MINHASH).keys()[:3] == PINNED_MINHASH
    assert shingles.content_hash.hex() == PINNED_CONTENT


@pytest.mark.parametrize("count", [999, 1_000_000])
def test_shingles_of_a_million_words_take_under_two_seconds(count: int) -> None:
    words = [f"w{number % count}" for number in range(1_000_000)]
    assert takes_under(2.0, lambda: shingle_hashes(words))


def test_memory_stays_bounded_on_a_very_long_text() -> None:
    shingles = 200_000
    text = " ".join(f"w{number}" for number in range(shingles))
    tracemalloc.start()
    signature_of(text, MINHASH)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < shingles * 128 * 4  # the table of all at once


@pytest.mark.parametrize("count", [0, 1, 7, 511, 512, 513, 2000])
def test_minimum_hashes_are_those_of_datasketch(count: int) -> None:
    numbers = np.random.default_rng(count).integers(0, 1 << 32, count, dtype=np.uint32)
    sketch = MinHash(num_perm=128, seed=1, hashfunc=int, scheme=MINHASH.scheme)
    sketch.update_batch(numbers.tolist())
    found = minimum_hashes(numbers, 128, 1, MINHASH.scheme)
    assert found.dtype == np.uint32
    assert found.tolist() == sketch.hashvalues.tolist()


def test_an_unknown_permutation_scheme_is_refused() -> None:
    with pytest.raises(ValueError, match="affine32"):
        minimum_hashes(np.zeros(1, dtype=np.uint32), 128, 1, "legacy")


@given(WORD_LISTS, WORD_LISTS)
def test_shingle_similarity_is_the_common_share_of_the_smaller_set_of_eight(
    a: list[str], b: list[str]
) -> None:
    first, second = set(slow_shingles(a, 6)[:8]), set(slow_shingles(b, 6)[:8])
    smaller = min(len(first), len(second))
    expected = len(first & second) / smaller if smaller else 0.0
    found = similarity(signature_of(" ".join(a), SHINGLES), signature_of(" ".join(b), SHINGLES))
    assert found == expected


def test_four_of_eight_common_shingles_are_a_near_duplicate_and_three_are_not() -> None:
    def made(values: range) -> Signature:
        return Signature(SHINGLES, np.array(values, dtype=np.uint64), 20, bytes(16))

    assert similarity(made(range(8)), made(range(4, 12))) == SHINGLES.default_similarity == 0.5
    assert similarity(made(range(8)), made(range(5, 13))) < 0.5
    assert similarity(made(range(8)), made(range(6, 10))) == 0.5  # half of the smaller set


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(0, 150))
def test_minhash_estimates_the_jaccard_similarity(seed: int, shift: int) -> None:
    words = text_of(seed, 600)
    a, b = words[:400], words[shift : 400 + shift]
    first, second = set(slow_shingles(a, 6)), set(slow_shingles(b, 6))
    jaccard = len(first & second) / len(first | second)
    found = similarity(signature_of(" ".join(a), MINHASH), signature_of(" ".join(b), MINHASH))
    assert abs(found - jaccard) < 0.25  # more than five standard deviations
    assert found * 128 == int(found * 128)


@BOTH
def test_similarity_is_symmetric_and_one_with_itself(recipe: Recipe) -> None:
    made = [signature_of(" ".join(text_of(seed)[: 150 + seed]), recipe) for seed in (1, 1, 2)]
    for a in made:
        assert similarity(a, a) == 1.0
        assert [similarity(a, b) for b in made] == similarities(a, made).tolist()
        assert [similarity(b, a) for b in made] == similarities(a, made).tolist()


@BOTH
def test_texts_without_words_have_no_keys_and_are_similar_to_nothing(recipe: Recipe) -> None:
    empty, full = signature_of("… !", recipe), signature_of("some words", recipe)
    assert empty.keys() == []
    assert empty.words == 0
    assert similarities(empty, [empty, full]).tolist() == [0.0, 0.0]
    assert similarities(full, [empty, full]).tolist() == [0.0, 1.0]
    assert similarities(full, []).tolist() == []


@BOTH
@given(words=WORD_LISTS)
@settings(max_examples=20)
def test_signatures_survive_bytes_and_pickle(recipe: Recipe, words: list[str]) -> None:
    made = signature_of(" ".join(words), recipe)
    read = Signature.from_bytes(made.to_bytes(), recipe, made.words, made.content_hash)
    for copy in (read, pickle.loads(pickle.dumps(made))):
        assert copy == made
        assert hash(copy) == hash(made)
        assert copy.keys() == made.keys()
        assert all(-(2**63) <= key < 2**63 for key in copy.keys())  # noqa: SIM118


def test_broken_bytes_are_refused() -> None:
    with pytest.raises(ValueError, match="511 bytes are no signature of kind 'minhash'"):
        Signature.from_bytes(bytes(511), MINHASH, 20, bytes(16))
    with pytest.raises(ValueError, match="7 bytes"):
        Signature.from_bytes(bytes(7), SHINGLES, 20, bytes(16))


def test_the_band_number_is_part_of_a_key() -> None:
    made = Signature(MINHASH, np.zeros(128, dtype=np.uint32), 20, bytes(16))
    assert len(set(made.keys())) == 16


def test_the_content_hash_ignores_everything_but_the_words() -> None:
    a, b = (signature_of(text, MINHASH) for text in ("Hello,  World!", "hello world"))
    assert a.content_hash == b.content_hash != signature_of("world hello", MINHASH).content_hash
    assert a == b
    assert a != "something else"


def test_signatures_of_different_recipes_are_not_compared() -> None:
    other = replace(MINHASH, seed=2)
    with pytest.raises(ValueError, match=r'different recipes.*"seed":1.*"seed":2'):
        similarity(signature_of("a b", MINHASH), signature_of("a b", other))


@BOTH
def test_a_recipe_survives_json_and_says_everything(recipe: Recipe) -> None:
    assert Recipe.from_json(recipe.to_json()) == recipe
    for name in ("bands", "kind", "normaliser", "rows", "scheme", "seed", "shingle_hash", "width"):
        assert f'"{name}":' in recipe.to_json()


@pytest.mark.parametrize("text", ["{}", "[]", '{"kind":"minhash"}'])
def test_a_broken_recipe_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no recipe"):
        Recipe.from_json(text)


def test_an_impossible_recipe_is_refused() -> None:
    with pytest.raises(ValueError, match="bands × rows must be the size"):
        replace(MINHASH, bands=15)
    with pytest.raises(ValueError, match="accepted are minhash, shingles"):
        replace(MINHASH, kind="simhash")


@BOTH
@settings(max_examples=30)
@given(picks=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 12)), max_size=25))
def test_stars_are_a_maximal_set_of_texts_that_are_not_similar(
    recipe: Recipe, picks: list[tuple[int, int]]
) -> None:
    made = [
        signature_of(" ".join(text_of(family, 200)[4 * step : 4 * step + 100]), recipe)
        for family, step in picks
    ]
    found = stars(made, recipe.default_similarity)
    alike = [[similarity(a, b) >= recipe.default_similarity for b in made] for a in made]
    centres = sorted(set(found))
    for position, centre in enumerate(found):
        assert found[centre] == centre <= position
        assert alike[position][centre]
        nearest = max(
            similarity(made[position], made[each]) for each in centres if each <= position
        )
        assert similarity(made[position], made[centre]) == nearest
    assert not any(alike[a][b] for a in centres for b in centres if a != b)


def test_a_secret_draws_other_keys_for_the_same_values() -> None:
    one, other = signature_of(PINNED_TEXT, MINHASH), signature_of(PINNED_TEXT, SHINGLES)
    drawn = one.keys(b"secret")
    assert drawn == one.keys(b"secret") == sorted(drawn)
    assert len(drawn) == MINHASH.bands
    assert not set(drawn) & (set(one.keys()) | set(one.keys(b"another")))
    assert other.keys(b"secret") == other.keys()
