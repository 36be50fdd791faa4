"""The second look: what the first one says of the blocks around, above and like each block.

One block alone is often ambiguous; the list it stands in, the section below its heading and the
blocks of the same path are not. Stacking (Wolpert, 1992): the columns are made from probabilities
of models that have not seen the page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from websegment_scrapy.template.block_place import LEVELS, running, shifted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from websegment_scrapy.template.block_features import BlockFeatures

__all__ = ["context_columns"]

HALF_WORD = 0.5
"""Added to every block's words: a block of signs has a say too."""

SOME = 0.1
"""What sums are divided by at least."""

OFFSETS = (-4, -3, -2, -1, 1, 2, 3, 4)
WIDTHS = (2, 5, 12, 30)


def context_columns(
    page: BlockFeatures, probability: NDArray[np.float64]
) -> dict[str, NDArray[np.float64]]:
    """Return the columns of the second look.

    Parameters
    ----------
    page
        The blocks.
    probability
        The first look's probability that each block is main text.
    """
    count, index = len(probability), np.arange(len(probability))
    weight = page.text.words + HALF_WORD
    mass = probability * weight
    masses, weights = running(mass), running(weight)
    total = max(float(masses[-1]), SOME)

    def mean(low: NDArray[np.int64], high: NDArray[np.int64]) -> NDArray[np.float64]:
        found: NDArray[np.float64] = (masses[high] - masses[low]) / np.maximum(
            weights[high] - weights[low], SOME
        )
        return found

    columns = {"p": probability}
    for offset in OFFSETS:
        columns[f"p{offset:+d}"] = shifted(probability, offset, -1.0)
    for width in WIDTHS:
        low, high = np.maximum(index - width, 0), np.minimum(index + width + 1, count)
        columns[f"p_w{width}"] = mean(low, high)
        columns[f"p_w{width}_before"] = mean(low, index)
    for level in range(LEVELS):
        low, high = page.place.low[level], page.place.high[level]
        inside, size = masses[high] - masses[low], weights[high] - weights[low]
        columns[f"p_l{level}"] = inside / np.maximum(size, SOME)
        columns[f"p_l{level}_others"] = (inside - mass) / np.maximum(size - weight, SOME)
        columns[f"p_l{level}_share"] = inside / total
    for name, group in zip(("path", "named"), page.place.groups, strict=True):
        inside, size = np.bincount(group, mass)[group], np.bincount(group, weight)[group]
        columns[f"p_{name}"] = inside / size
        columns[f"p_{name}_others"] = (inside - mass) / np.maximum(size - weight, SOME)
        columns[f"p_{name}_share"] = inside / total
    heading = np.maximum(page.place.heading, 0)
    none = page.place.heading < 0
    columns["p_heading"] = np.where(none, -1.0, probability[heading])
    columns["p_since_heading"] = np.where(none, -1.0, mean(heading, index))
    order = np.argsort(-probability, kind="stable")
    gains = 2 * np.cumsum(mass[order]) / (np.cumsum(weight[order]) + masses[-1])
    rank = np.empty(count)
    rank[order] = np.arange(count) / count
    sure = np.cumsum(probability > probability.max() / 2)
    columns |= {
        "p_before": masses[:-1] / total,
        "p_page": np.full(count, masses[-1] / weights[-1]),
        "p_page_words": np.full(count, masses[-1]),
        "p_page_max": np.full(count, probability.max()),
        "p_page_gain": np.full(count, gains.max()),
        "p_above": probability - gains.max() / 2,
        "p_rank": rank,
        "p_sure_before": sure / max(int(sure[-1]), 1),
        "p_max_before": np.maximum.accumulate(probability),
        "p_max_after": np.maximum.accumulate(probability[::-1])[::-1],
    }
    return columns
