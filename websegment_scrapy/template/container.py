"""The element in which the main text stands, and what stands around it.

A judgement of single blocks leaves a middle ground: teasers, notes on the author and lists in a
sidebar that could be content. Where the page has running text that is sure, the place decides: the
smallest element around nearly all of it is the main text's container, and what stands outside is
its surroundings, unless it is as good as sure itself. Headlines and what leads to the text stand
before it, so more is left alone there: on the pages looked at, half and more of what is likely and
stands shortly before the container is main text, and one in ten or twenty of what comes after it. A
page of which no running text is sure (lists, shops) has no such container, and nothing changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from websegment_scrapy.template.block_place import PROSE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from websegment_scrapy.page.tree import PageTree
    from websegment_scrapy.template.block_features import BlockFeatures

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

BEFORE, AFTER = 2, 1
"""Levels above the container within which what stands before and after it is left alone."""

OUTSIDE = 0.8
"""Probability above which a block outside is kept all the same. All of these were chosen among a
few values on two of five folds of the training hosts, with every third page of dragnet and l3s_gn1
beside them, and `AFTER` by the pages of ``tests/gate``."""


def running_text(page: BlockFeatures, probability: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the words of the likely blocks of running text, 0 for the others."""
    words = page.text.words
    running = (words >= PROSE) & (page.column("link_share") < 0.5) & (probability > 0.5)
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
    first = page.text.blocks.nodes[page.text.blocks.first[:-1]]
    tree = page.text.tree
    sure = np.zeros(len(tree) + 1)
    sure[first + 1] = np.where(probability >= NEARLY_AS_SURE * level, text, 0.0)
    run = np.cumsum(sure)
    inside = run[tree.end] - run[:-1]
    # Elements with more than half of it contain each other: the last one is the smallest.
    container = int(np.flatnonzero(inside >= NEARLY_ALL * run[-1])[-1])
    begin, end = _above(tree, container, BEFORE), tree.end[_above(tree, container, AFTER)]
    outside = (first < begin) | (first >= end)
    return np.where(outside & (probability <= OUTSIDE), 0.0, probability)


def _above(tree: PageTree, node: int, levels: int) -> int:
    """Return the element so many levels above a node."""
    for _ in range(levels):
        node = max(int(tree.parent[node]), 0)
    return node


def _level(text: NDArray[np.float64], probability: NDArray[np.float64]) -> float:
    """Return the probability that the surest part of the running text reaches."""
    order = np.argsort(-probability, kind="stable")
    words = np.cumsum(text[order])
    return float(probability[order[np.searchsorted(words, SUREST * words[-1])]])
