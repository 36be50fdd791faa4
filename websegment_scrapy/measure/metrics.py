"""The measures of the papers: agreement of partitions, overlap of texts, intervals of means.

Adjusted Rand index and normalised mutual information are scikit-learn's. The papers (GCuts,
section 5.1; Block Fusion, section 5.2) take NMI as Strehl and Ghosh (2002) define it, with the
geometric mean of the two entropies; so does this module. scikit-learn is imported where it is
called: the worker processes that import this module do not need it, and it is slow to load.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "Interval",
    "adjusted_rand_index",
    "bootstrap_mean",
    "normalised_mutual_information",
    "paired_bootstrap",
    "word_f1",
    "words_of",
]

RESAMPLES = 10_000
CONFIDENCE = 0.95
SEED = 20_080_421
RESAMPLED_AT_ONCE = 2_000_000
"""Random numbers drawn at once, which bounds the memory of a bootstrap."""

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and the ends of its confidence interval."""

    mean: float
    low: float
    high: float


def adjusted_rand_index(gold: ArrayLike, found: ArrayLike) -> float:
    """Return the Rand index corrected for chance (Hubert and Arabie, 1985): 1 for equal ones."""
    from sklearn.metrics import adjusted_rand_score

    return float(adjusted_rand_score(gold, found))


def normalised_mutual_information(
    gold: ArrayLike, found: ArrayLike, *, mean: Literal["geometric", "arithmetic"] = "geometric"
) -> float:
    """Return ``I(X, Y) / mean(H(X), H(Y))``; two partitions into one part each agree fully."""
    from sklearn.metrics import normalized_mutual_info_score

    return float(normalized_mutual_info_score(gold, found, average_method=mean))


def words_of(text: str) -> list[str]:
    r"""Return the lower-cased ``\w+`` words of a text."""
    return _WORD.findall(text.lower())


def word_f1(gold: str, found: str) -> float:
    r"""Return ``2·|A∩B| / (|A|+|B|)`` of the multisets of lower-cased ``\w+`` words.

    Two texts without words agree fully.
    """
    first, second = Counter(words_of(gold)), Counter(words_of(found))
    total = first.total() + second.total()
    return 2 * (first & second).total() / total if total else 1.0


def bootstrap_mean(values: ArrayLike, *, resamples: int = RESAMPLES, seed: int = SEED) -> Interval:
    """Return the mean with its 95 % percentile bootstrap interval (Efron, 1979).

    The same values in the same order give the same interval.
    """
    sample = np.asarray(values, dtype=np.float64)
    if not len(sample):
        raise ValueError("no values have no mean")
    means = _resampled_means(sample, resamples, seed)
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(means, (tail, 1 - tail))
    return Interval(float(sample.mean()), float(low), float(high))


def paired_bootstrap(
    first: ArrayLike, second: ArrayLike, *, resamples: int = RESAMPLES, seed: int = SEED
) -> Interval:
    """Return the mean of ``first − second``, measured on the same pages, with its interval."""
    one, other = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if one.shape != other.shape:
        raise ValueError(f"{len(one)} and {len(other)} values are no pairs")
    return bootstrap_mean(one - other, resamples=resamples, seed=seed)


def _resampled_means(sample: NDArray[np.float64], resamples: int, seed: int) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    rows = max(1, RESAMPLED_AT_ONCE // len(sample))
    means = np.empty(resamples)
    for start in range(0, resamples, rows):
        stop = min(start + rows, resamples)
        chosen = rng.integers(len(sample), size=(stop - start, len(sample)))
        means[start:stop] = sample[chosen].mean(axis=1)
    return means
