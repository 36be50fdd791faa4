"""The measures against values computed by hand or by brute force."""

from __future__ import annotations

from itertools import combinations
from math import comb, log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from websegment_scrapy.measure.metrics import (
    adjusted_rand_index,
    bootstrap_mean,
    normalised_mutual_information,
    paired_bootstrap,
    word_f1,
)

partitions = st.integers(2, 9).flatmap(
    lambda size: st.tuples(
        st.lists(st.integers(0, 3), min_size=size, max_size=size),
        st.lists(st.integers(0, 3), min_size=size, max_size=size),
    )
)


def pair_counts(gold: list[int], found: list[int]) -> tuple[int, int, int]:
    """Count the pairs together in both, in the first, in the second partition."""
    pairs = list(combinations(range(len(gold)), 2))
    first = {pair for pair in pairs if gold[pair[0]] == gold[pair[1]]}
    second = {pair for pair in pairs if found[pair[0]] == found[pair[1]]}
    return len(first & second), len(first), len(second)


@given(partitions)
def test_adjusted_rand_index_counts_pairs_corrected_for_chance(
    both: tuple[list[int], list[int]],
) -> None:
    together, first, second = pair_counts(*both)
    expected = first * second / comb(len(both[0]), 2)
    best = (first + second) / 2
    # Two trivial partitions of one kind agree fully.
    value = (together - expected) / (best - expected) if best != expected else 1.0
    assert adjusted_rand_index(*both) == pytest.approx(value, abs=1e-12)


def entropy(labels: list[object]) -> float:
    shares = [labels.count(label) / len(labels) for label in set(labels)]
    return -sum(share * log(share) for share in shares)


@given(partitions)
def test_mutual_information_is_normalised_by_the_geometric_mean(
    both: tuple[list[int], list[int]],
) -> None:
    gold, found = list(both[0]), list(both[1])
    first, second = entropy(list(gold)), entropy(list(found))
    mutual = first + second - entropy(list(zip(gold, found, strict=True)))
    trivial = 1.0 if first == second else 0.0
    value = mutual / sqrt(first * second) if first and second else trivial
    assert normalised_mutual_information(gold, found) == pytest.approx(value, abs=1e-9)


def test_arithmetic_normalisation_is_never_above_the_geometric_one() -> None:
    gold, found = [0, 0, 1, 1, 2, 2], [0, 1, 2, 3, 4, 4]
    geometric = normalised_mutual_information(gold, found)
    assert normalised_mutual_information(gold, found, mean="arithmetic") < geometric


def test_word_f1_counts_repeated_words_and_ignores_case() -> None:
    assert word_f1("The cat, the dog", "the CAT cat") == pytest.approx(2 * 2 / (4 + 3))
    assert word_f1("a b", "c d") == 0.0
    assert word_f1("a", "") == 0.0
    assert word_f1("", "!") == 1.0


def test_bootstrap_interval_holds_the_mean_and_repeats() -> None:
    values = np.random.default_rng(1).normal(0.5, 0.2, 100)
    interval = bootstrap_mean(values)
    assert interval == bootstrap_mean(values)
    assert interval.mean == pytest.approx(values.mean())
    # The normal approximation of the interval: 1.96 standard errors on both sides.
    error = 1.96 * values.std() / sqrt(len(values))
    assert interval.low == pytest.approx(values.mean() - error, abs=0.005)
    assert interval.high == pytest.approx(values.mean() + error, abs=0.005)


def test_bootstrap_agrees_with_all_resamples_of_two_values() -> None:
    # The means of (0, 1) are 0, ½, ½, 1 with a quarter each: the 2.5 % tails are 0 and 1.
    interval = bootstrap_mean([0.0, 1.0])
    assert (interval.mean, interval.low, interval.high) == (0.5, 0.0, 1.0)


def test_bootstrap_of_a_constant_has_no_width_and_of_nothing_is_an_error() -> None:
    interval = bootstrap_mean([0.25] * 7)
    assert (interval.low, interval.high) == (0.25, 0.25)
    with pytest.raises(ValueError, match="no values"):
        bootstrap_mean([])


def test_paired_bootstrap_sees_a_small_difference_that_is_always_there() -> None:
    pages = np.random.default_rng(2).uniform(0, 1, 50)
    interval = paired_bootstrap(pages + 0.01, pages)
    assert interval.mean == pytest.approx(0.01)
    assert interval.low > 0
    with pytest.raises(ValueError, match="no pairs"):
        paired_bootstrap([1.0], [1.0, 2.0])
