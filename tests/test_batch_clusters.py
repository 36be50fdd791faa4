"""Clusters of a collection by arrays, beside the plain rule on signatures one by one."""

from __future__ import annotations

import random
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from tests.test_batch import edited, text
from websegment_scrapy.batch.clusters import place_all
from websegment_scrapy.batch.components import components
from websegment_scrapy.batch.sketches import Sketches
from websegment_scrapy.dedup.signature import RECIPES, Signature, signature_of, similarity


def pages(kind: str, seed: int) -> list[Signature]:
    """Originals, exact and near copies, steps away from each other, and texts of few words."""
    rng = random.Random(seed)
    texts: list[list[str]] = []
    for number in range(120):
        if not texts or rng.random() < 0.3:
            texts.append(text((seed, number), rng.choice((4, 12, 60, 200))))
        else:
            texts.append(
                edited(rng.choice(texts), rng.randrange(10**6), rng.choice((0, 0.01, 0.04)))
            )
    return [signature_of(" ".join(words), RECIPES[kind]) for words in texts]


def plainly(found: list[Signature], threshold: float) -> list[tuple[int, int | None, float | None]]:
    """Each page's representative, the page that it repeats, and how similar: rule by rule."""
    count = len(found)
    near = np.array([[similarity(a, b) for b in found] for a in found])
    edges: dict[int, set[int]] = defaultdict(set)
    holders: dict[int, list[int]] = defaultdict(list)
    for page, signature in enumerate(found):
        for key in signature.keys():  # noqa: SIM118
            holders[key].append(page)
    for sharing in holders.values():
        for a in sharing:
            edges[a] |= {b for b in sharing if near[a, b] >= threshold}
    component = list(range(count))
    for page in range(count):
        waiting = [page]
        while waiting:
            each = waiting.pop()
            for other in edges[each]:
                if component[other] > component[page]:
                    component[other] = component[page]
                    waiting.append(other)
    ends: list[tuple[int, int | None, float | None]] = []
    chosen: dict[int, list[int]] = defaultdict(list)
    for page in range(count):
        if not any(near[page, each] >= threshold for each in chosen[component[page]]):
            chosen[component[page]].append(page)
    home = [
        max(chosen[component[page]], key=lambda each: (each == page, near[page, each], -each))
        for page in range(count)
    ]
    for page in range(count):
        if home[page] == page:
            ends.append((page, None, None))
            continue
        others = [
            each
            for each in {home[page], *range(page)}
            if home[each] == home[page] and near[page, each] >= threshold
        ]
        words = [found[each].content_hash == found[page].content_hash for each in range(count)]
        target = min(others, key=lambda each: (not words[each], -near[page, each], each))
        ends.append((home[page], target, near[page, target]))
    return ends


@pytest.mark.parametrize("kind", RECIPES)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("told", [False, True], ids=["all", "those that share a key"])
def test_clusters_are_those_of_the_plain_rule(
    tmp_path: Path, kind: str, seed: int, told: bool
) -> None:
    found = pages(kind, seed)
    threshold = RECIPES[kind].default_similarity
    sketches = Sketches(tmp_path / "signatures", RECIPES[kind], len(found))
    sketches.put(np.arange(len(found)), [each.to_bytes() for each in found])
    hashes = np.frombuffer(b"".join(each.content_hash for each in found), "<u8").reshape(-1, 2)
    among = None
    if told:
        keys = [set(each.keys()) for each in found]
        shared = [any(a & b for b in keys if b is not a) for a in keys]
        among = np.array(shared)
    connected = components(sketches, threshold, among)
    home, target, value = place_all(sketches, connected.labels, connected.first, hashes, threshold)
    ours = [
        (int(home[page]), None, None)
        if target[page] < 0
        else (int(home[page]), int(target[page]), float(value[page]))
        for page in range(len(found))
    ]
    expected = plainly(found, threshold)
    assert ours == expected
    assert sum(each[1] is not None for each in expected) > 20


def test_a_key_that_many_texts_have_is_counted_and_its_first_are_compared(tmp_path: Path) -> None:
    """2,000 texts of one band and nothing else in common, and copies of the first of them."""
    rng = np.random.default_rng(1)
    values = rng.integers(0, 2**32, (2000, 128), dtype=np.uint32)
    values[:, :8] = 7
    values[1990:] = values[0]
    values[1990:, 120:] += 1
    sketches = Sketches(tmp_path / "signatures", RECIPES["minhash"], len(values))
    sketches.put(np.arange(len(values)), [row.tobytes() for row in values])
    found = components(sketches, 0.7)
    assert found.crowded_keys == 1
    assert found.verified < 500 * 2000
    assert (found.labels[1990:] == 0).all()
    assert len(np.unique(found.labels)) == 1990


def test_no_pages_have_no_clusters(tmp_path: Path) -> None:
    sketches = Sketches(tmp_path / "signatures", RECIPES["minhash"], 0)
    found = components(sketches, 0.7)
    home, target, _ = place_all(sketches, found.labels, found.first, np.empty((0, 2), "<u8"), 0.7)
    assert len(home) == len(target) == 0
