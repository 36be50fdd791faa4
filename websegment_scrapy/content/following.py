"""Articles that follow the page's own: the next ones of a site that goes on as one scrolls.

Where a page has several ``article`` elements with running text, and the heading of just one of them
says what the page's title says, that one is the page's own, and the others are the next ones of its
site, or short ones whose headings lead to them. Where no heading is the title, or several are (a
blog's front page, a forum, a list of news), all of them are what the page is for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from websegment_scrapy.content.choice import headings_of_title
from websegment_scrapy.content.place import PROSE
from websegment_scrapy.page.subtrees import depth_in, running_sums

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from websegment_scrapy.content.features import BlockFeatures

__all__ = ["without_following"]

LEAST_WORDS = 40
"""Words of running text of an article; what has less may be a part of one, or a comment, unless its
heading is a link."""


def without_following(page: BlockFeatures, kept: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the kept blocks without those of other articles than the page's own."""
    tree, first, words = page.text.tree, page.text.blocks.begin, page.text.words
    article = tree.tagged({"article"})
    outer = np.flatnonzero(article & (depth_in(tree.end, article) == 1))
    if len(outer) < 2:
        return kept
    begin, end = np.searchsorted(first, outer), np.searchsorted(first, tree.end[outer])

    def inside(values: NDArray[np.float64]) -> NDArray[np.float64]:
        run = running_sums(values)
        return np.asarray(run[end] - run[begin])

    heading = page.column("in_heading") > 0
    prose = inside(words * (kept & (words >= PROSE) & page.unlinked))
    titled = inside(headings_of_title(page).astype(np.float64)) > 0
    if titled.sum() != 1 or prose[titled][0] < LEAST_WORDS:
        return kept
    headed, led = (
        inside(found.astype(np.float64)) > 0 for found in (heading, heading & ~page.unlinked)
    )
    others = ~titled & headed & ((prose >= LEAST_WORDS) | led)
    left = kept.copy()
    for low, high in zip(begin[others].tolist(), end[others].tolist(), strict=True):
        left[low:high] = False
    return left
