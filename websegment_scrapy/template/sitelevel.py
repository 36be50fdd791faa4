"""SiteLevel(θ): what occurs on many pages of a site is its template.

PageLevel paper, sections 3 and 5.1: a DOM node is a template when it occurs on at least
θ = 10 % of the site's pages, and an internal node also when more than 85 % of its HTML lies in
templates. The paper had 100 to 200 pages of each site; for sites of which fewer are known the
rule needs more care, because 10 % of 8 pages is a single page:

- below `min_pages` pages a site has no verdict;
- a part must be on at least `MIN_COUNT` pages, on sites of fewer than ten pages on half of them
  and on at least three;
- few words repeat by chance ("2 cups of flour" in recipes): a part of fewer than 40 letters must
  be on a quarter of the pages, one of fewer than 12 on half;
- a page that says the same as one counted before is not counted: many copies of one page do not
  make its content a template.

What the verdict means for a page is told by `repeated`.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from websegment_scrapy.template.hashes import page_parts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from websegment_scrapy.page.tree import PageTree
    from websegment_scrapy.template.hashes import HashedNodes

__all__ = ["MIN_PAGES", "THETA", "SiteCounter", "SiteVerdict", "site_verdict"]

THETA = 0.10
"""Share of a site's pages on which a template occurs (PageLevel, section 5.1)."""

MEDIUM_THETA, SHORT_THETA = 0.25, 0.50
"""The same for parts of medium length and for short ones (`hashes.length_class`)."""

MIN_COUNT = 5
"""Pages on which a template occurs at least."""

LEAST_COUNT = 3
"""The same on a site of fewer than ten pages, where it must be half of them."""

MIN_PAGES = 5
"""Pages of a site below which nothing is said about it; the paper had a hundred or more."""


@dataclass(frozen=True, slots=True, eq=False)
class SiteVerdict:
    """What a site repeats.

    Attributes
    ----------
    pages
        Pages that were counted.
    templates
        Hashes of the parts that are templates, ascending.
    shares
        On which share of the pages each of them is.
    """

    pages: int
    templates: NDArray[np.int64]
    shares: NDArray[np.float64]


def needed_pages(pages: int, theta: float = THETA) -> tuple[int, int, int]:
    """Return on how many of a site's pages a short, a medium and a long part must occur."""
    least = min(MIN_COUNT, max(LEAST_COUNT, -(-pages // 2)))
    shares = (max(SHORT_THETA, theta), max(MEDIUM_THETA, theta), theta)
    short, medium, long = (max(least, math.ceil(share * pages - 1e-9)) for share in shares)
    return short, medium, long


def site_verdict(
    parts: NDArray[np.int64],
    counts: NDArray[np.int64],
    pages: int,
    *,
    theta: float = THETA,
    min_pages: int = MIN_PAGES,
) -> SiteVerdict | None:
    """Say what a site repeats, or nothing while too few of its pages are known.

    Parameters
    ----------
    parts, counts
        The site's parts and on how many pages each was counted.
    pages
        Pages counted.
    theta
        Share of pages from which on a part is a template.
    min_pages
        Pages below which there is no verdict.
    """
    if pages < min_pages:
        return None
    needed = np.array([*needed_pages(pages, theta), pages + 1])
    chosen = np.flatnonzero(counts >= needed[parts & 3])
    chosen = chosen[np.argsort(parts[chosen])]
    return SiteVerdict(pages, parts[chosen], counts[chosen] / pages)


class SiteCounter:
    """Counts one site's parts in memory; the database does the same (``store``).

    All pages count and nothing is forgotten: for a sample of a site's pages.
    """

    def __init__(self) -> None:
        self.pages = 0
        self._counts: Counter[int] = Counter()
        self._whole: set[int] = set()

    def add(self, tree: PageTree, hashed: HashedNodes | None = None) -> bool:
        """Count a page; say whether it counted (a copy of an earlier one does not)."""
        return self.add_parts(page_parts(tree, hashed))

    def add_parts(self, parts: Iterable[int] | NDArray[np.int64]) -> bool:
        """Count a page by its `page_parts`."""
        found = [int(part) for part in parts]
        if not found or found[0] in self._whole:
            return False
        self._whole.add(found[0])
        self._counts.update(found)
        self.pages += 1
        return True

    def verdict(self, *, theta: float = THETA, min_pages: int = MIN_PAGES) -> SiteVerdict | None:
        """Return the verdict on the pages so far."""
        parts = np.fromiter(self._counts.keys(), np.int64, len(self._counts))
        counts = np.fromiter(self._counts.values(), np.int64, len(self._counts))
        return site_verdict(parts, counts, self.pages, theta=theta, min_pages=min_pages)
