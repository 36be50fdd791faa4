"""What is reached where so much is promised: the table of `content.expectation`, from unseen hosts.

Hosts are dealt into two halves; one is judged by a model made from the other. So the table is of a
model that saw half as many pages as the one that it is for, and expects a little too little of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from websegment_scrapy.content.expectation import Expectation, promised

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from websegment_scrapy.content.model import ContentModel
    from websegment_scrapy.page.tree import PageTree

__all__ = ["calibrated", "figures"]

POINTS = 25
"""Points of the table: means of as many groups of pages, so that no single page makes one."""


def figures(
    model: ContentModel, pages: Iterable[tuple[PageTree, NDArray[np.float64]]]
) -> list[tuple[float, float]]:
    """Return what the choice promises on pages and what it reaches, where it keeps anything.

    Parameters
    ----------
    model
        One that has not seen the pages.
    pages
        Their trees, and the share of each block that is main text.
    """
    found = []
    for tree, shares in pages:
        judgement = model.judge(tree)
        if judgement is not None and judgement.kept.any():
            words, kept = judgement.page.text.words, judgement.kept
            promise = promised(words, judgement.probability, kept)
            found.append((promise, promised(words, shares, kept)))
    return found


def calibrated(found: Iterable[tuple[float, float]]) -> Expectation:
    """Make the table of what was promised and reached; without any, promises are believed."""
    from sklearn.isotonic import IsotonicRegression

    table = np.array(list(found))
    if len(table) < POINTS:
        return Expectation.uncalibrated()
    groups = np.array_split(table[np.argsort(table[:, 0], kind="stable")], POINTS)
    promise, reached = np.array([group.mean(axis=0) for group in groups]).T
    return Expectation(promise, IsotonicRegression().fit_transform(promise, reached))
