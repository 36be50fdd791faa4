"""The element in which the main text stands, and what stands around it.

A judgement of single blocks leaves a middle ground: teasers, notes on the author and lists in a
sidebar that could be content. Where the page has running text that is sure, the place decides: the
smallest element around nearly all of it is the main text's container. What stands beside it in the
next wider element, such as a headline and a lead, is left to the choice; what stands outside of
that is the main text's surroundings, unless it is as good as sure itself. A page of which no
running text is sure (lists, shops) has no such container, and nothing changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from websegment_scrapy.content.place import PROSE
from websegment_scrapy.page.subtrees import subtree_sums

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from websegment_scrapy.content.features import BlockFeatures
    from websegment_scrapy.page.tree import PageTree

__all__ = ["running_text", "without_surroundings"]

SUREST = 0.25
"""Share of the running text, the likeliest first, by which it is judged how sure it is."""

SURE = 0.75
"""Probability that it must have."""

LEAST_WORDS = 20
"""Words of running text that make a container."""

NEARLY_AS_SURE = 0.8
"""Share of that probability from which running text must be in the container."""

NEARLY_ALL = 0.9
"""Share of it that the container holds."""

OUTSIDE = 0.8
"""Probability above which a block outside is kept all the same. All of these were chosen among a
few values on two of five folds of the training hosts, with every third page of dragnet and l3s_gn1
beside them."""


def running_text(page: BlockFeatures, probability: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the words of the likely blocks of running text, 0 for the others."""
    words = page.text.words
    running = (words >= PROSE) & page.unlinked & (probability > 0.5)
    return np.where(running, words, 0.0)


def without_surroundings(
    page: BlockFeatures, probability: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the probabilities with 0 for what stands around the main text's container."""
    text = running_text(page, probability)
    if text.sum() < LEAST_WORDS:
        return probability
    level = _level(text, probability)
    if level < SURE:
        return probability
    first = page.text.blocks.begin
    tree = page.text.tree
    sure = np.zeros(len(tree))
    sure[first] = np.where(probability >= NEARLY_AS_SURE * level, text, 0.0)
    inside = subtree_sums(tree.end, sure)
    # Elements with more than half of it contain each other: the last one is the smallest.
    container = int(np.flatnonzero(inside >= NEARLY_ALL * inside[0])[-1])
    wider = _with_neighbours(tree, first, container)
    outside = (first < wider) | (first >= tree.end[wider])
    return np.where(outside & (probability <= OUTSIDE), 0.0, probability)


def _with_neighbours(tree: PageTree, first: NDArray[np.int64], node: int) -> int:
    """Return the smallest element around a node that has more blocks than the node."""
    low, high = np.searchsorted(first, (node, tree.end[node]))
    while tree.parent[node] >= 0:
        node = int(tree.parent[node])
        if (low, high) != tuple(np.searchsorted(first, (node, tree.end[node]))):
            break
    return node


def _level(text: NDArray[np.float64], probability: NDArray[np.float64]) -> float:
    """Return the probability that the surest part of the running text reaches."""
    order = np.argsort(-probability, kind="stable")
    words = np.cumsum(text[order])
    return float(probability[order[np.searchsorted(words, SUREST * words[-1])]])
