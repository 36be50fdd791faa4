"""How the cost of a page grows with its nodes: times by size, and the exponent fitted to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from websegment_scrapy.bench.extractors import ExtractorFailed
from websegment_scrapy.bench.made_pages import page_of_nodes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from websegment_scrapy.bench.extractors import Extractor

__all__ = ["SIZES", "Growth", "fitted_exponent", "measure_growth", "steepest_exponent"]

SIZES = (10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000, 50_000)
"""Elements and texts of the pages."""

FITTED_FROM = 300
"""Below, what every page costs hides how the cost grows."""

FAR = 2.5

PATIENCE_SECONDS = 60.0
"""A size that would take longer than that, by what the one before took, is left out."""


@dataclass(frozen=True, slots=True)
class Growth:
    """CPU milliseconds of a method by nodes; the sizes that are missing took too long.

    Attributes
    ----------
    exponent
        ``a`` of the ``c·n^a`` that fits best from `FITTED_FROM` nodes on; ``None`` where fewer than
        two sizes are that large.
    steepest
        The same between a size and the next that is at least `FAR` times as large, where it is
        greatest: one line through all may hide a bend.
    """

    method: str
    milliseconds: dict[int, float]
    exponent: float | None
    steepest: float | None


def fitted_exponent(milliseconds: Mapping[int, float]) -> float | None:
    """Fit a straight line to the logarithms of times and sizes; return its slope."""
    points = [(size, spent) for size, spent in milliseconds.items() if size >= FITTED_FROM]
    if len(points) < 2:
        return None
    sizes, spent = np.array(points, dtype=float).T
    return float(np.polyfit(np.log(sizes), np.log(np.maximum(spent, 1e-3)), 1)[0])


def steepest_exponent(milliseconds: Mapping[int, float]) -> float | None:
    """Return the greatest slope between two sizes that are far enough from each other."""
    found = []
    for size, spent in milliseconds.items():
        larger = [other for other in milliseconds if other >= FAR * size >= FAR * FITTED_FROM]
        if larger:
            ratio = max(milliseconds[min(larger)], 1e-3) / max(spent, 1e-3)
            found.append(float(np.log(ratio) / np.log(min(larger) / size)))
    return max(found, default=None)


def measure_growth(extractor: Extractor, sizes: Sequence[int], seed: int) -> Iterator[Growth]:
    """Measure a method, or each of the stages, on larger and larger pages."""
    found: dict[str, dict[int, float]] = {}
    for number, size in enumerate(sorted(sizes)):
        try:
            times = extractor.time(page_of_nodes(size, seed))
        except ExtractorFailed:
            break  # some have their limits; what was measured counts
        for name, (_, cpu) in times.items():
            found.setdefault(name, {})[size] = cpu
        spent = max(wall for wall, _ in times.values())
        following = sorted(sizes)[number + 1 : number + 2]
        if following and spent / 1000 * (following[0] / size) ** 1.5 > PATIENCE_SECONDS:
            break
    for name, milliseconds in found.items():
        exponents = fitted_exponent(milliseconds), steepest_exponent(milliseconds)
        yield Growth(name, milliseconds, *exponents)
