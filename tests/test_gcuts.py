"""The minimiser against brute force on random trees."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.skeletons import random_energy
from websegment_scrapy.segment.energy import Energy
from websegment_scrapy.segment.expansion import Labelling, alpha_expansion, minimise

SEEDS = st.integers(0, 2**32 - 1)


def value(energy: Energy, labels: np.ndarray) -> float:
    return energy.terms(np.asarray(labels, dtype=np.int32)).total


def allowed(energy: Energy) -> list[list[int]]:
    """The labels that each leaf may carry."""
    skeleton = energy.skeleton
    return [
        [
            label
            for label, row in enumerate(energy.domain)
            if skeleton.low[row] <= leaf < skeleton.high[row]
        ]
        for leaf in range(skeleton.leaves)
    ]


def random_labels(energy: Energy, rng: np.random.Generator) -> np.ndarray:
    return np.array([rng.choice(options) for options in allowed(energy)], dtype=np.int32)


def best_move(energy: Energy, labels: np.ndarray, alpha: int) -> float:
    """The lowest energy over all subsets of leaves that may switch to alpha."""
    can = [leaf for leaf, options in enumerate(allowed(energy)) if alpha in options]
    best = value(energy, labels)
    for size in range(1, len(can) + 1):
        for chosen in itertools.combinations(can, size):
            moved = labels.copy()
            moved[list(chosen)] = alpha
            best = min(best, value(energy, moved))
    return best


@settings(max_examples=150)
@given(SEEDS, st.booleans())
def test_one_expansion_equals_brute_force_over_all_moves(seed: int, everywhere: bool) -> None:
    rng = np.random.default_rng(seed)
    energy = random_energy(rng, leaves=int(rng.integers(2, 8)), everywhere=everywhere)
    labels = random_labels(energy, rng)
    alpha = int(rng.integers(energy.labels))
    state = Labelling(energy, labels)
    gain = alpha_expansion(state, alpha)
    assert value(energy, state.labels) == pytest.approx(best_move(energy, labels, alpha))
    assert value(energy, labels) - gain == pytest.approx(value(energy, state.labels))


@settings(max_examples=40)
@given(SEEDS, st.booleans())
def test_the_energy_never_rises_and_ends_where_no_move_helps(seed: int, everywhere: bool) -> None:
    rng = np.random.default_rng(seed)
    energy = random_energy(rng, leaves=int(rng.integers(2, 7)), everywhere=everywhere)
    state = Labelling(energy, random_labels(energy, rng))
    now = value(energy, state.labels)
    for alpha in rng.integers(energy.labels, size=12).tolist():
        gain = alpha_expansion(state, alpha)
        after = value(energy, state.labels)
        assert gain >= 0.0
        assert after <= now + 1e-9
        now = after
    final = minimise(energy, state.labels)
    assert value(energy, final) <= now + 1e-9
    for alpha in range(energy.labels):
        assert best_move(energy, final, alpha) >= value(energy, final) - 1e-7


@settings(max_examples=60)
@given(SEEDS, st.booleans())
def test_the_result_is_within_a_factor_of_two_of_the_optimum(seed: int, everywhere: bool) -> None:
    rng = np.random.default_rng(seed)
    energy = random_energy(rng, leaves=int(rng.integers(2, 5)), everywhere=everywhere)
    best = min(value(energy, np.array(f)) for f in itertools.product(*allowed(energy)))
    assert value(energy, minimise(energy)) <= 2 * best + 1e-9


@settings(max_examples=60)
@given(SEEDS)
def test_the_result_does_not_depend_on_the_order_of_the_labels(seed: int) -> None:
    rng = np.random.default_rng(seed)
    leaves = int(rng.integers(2, 10))
    energy = random_energy(np.random.default_rng(seed), leaves=leaves)
    order = rng.permutation(energy.labels)
    shuffled = random_energy(np.random.default_rng(seed), leaves=leaves, order=order)
    found = minimise(energy)
    again = order[minimise(shuffled)]
    assert (found == again).all()
