"""Counting the words that tell main text from the rest (``content/lexicon.py``)."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from websegment_scrapy.content.lexicon import SHORT_BLOCK, Lexicon, name_words
from websegment_scrapy.page.subtrees import subtree_sums

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from websegment_scrapy.content.text import BlockText

__all__ = ["WordCounts", "count_words", "make_lexicon"]

MIN_HOSTS = 8
"""Sites on which a word must occur."""

PRIOR = 3.0
"""Pages' worth of the usual share that every word starts with."""

DIGITS = 2
"""Of the stored log odds."""


@dataclass(frozen=True, slots=True)
class WordCounts:
    """One page's say: for each word of its blocks and names the share that is main text."""

    host: str
    short: Mapping[str, float]
    long: Mapping[str, float]
    names: Mapping[str, float]


def count_words(
    host: str, text: BlockText, blocks: Sequence[Sequence[str]], shares: NDArray[np.float64]
) -> WordCounts:
    """Count a page: the words of its blocks, and the words of names by what is below."""
    short: defaultdict[str, list[float]] = defaultdict(list)
    long: defaultdict[str, list[float]] = defaultdict(list)
    for block, share in zip(blocks, shares.tolist(), strict=True):
        words = short if len(block) <= SHORT_BLOCK else long
        for word in set(block):
            words[word].append(share)
    tree = text.tree
    first = text.blocks.begin
    good, total = np.zeros(len(tree)), np.zeros(len(tree))
    good[first], total[first] = shares * text.words, text.words
    good, total = subtree_sums(tree.end, good), subtree_sums(tree.end, total)
    sums: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for node, name in tree.names.items():
        if total[node] > 0:
            for word in set(name_words(name)):
                sums[word][0] += good[node]
                sums[word][1] += total[node]
    return WordCounts(
        host,
        {word: sum(found) / len(found) for word, found in short.items()},
        {word: sum(found) / len(found) for word, found in long.items()},
        {word: main / below for word, (main, below) in sums.items()},
    )


def make_lexicon(counts: Iterable[WordCounts]) -> Lexicon:
    """Turn the counts of many pages into log odds above the usual ones."""
    pages = list(counts)
    return Lexicon(
        _log_odds((page.host, page.short) for page in pages),
        _log_odds((page.host, page.long) for page in pages),
        _log_odds((page.host, page.names) for page in pages),
    )


def _log_odds(pages: Iterable[tuple[str, Mapping[str, float]]]) -> dict[str, float]:
    share: defaultdict[str, float] = defaultdict(float)
    count: defaultdict[str, int] = defaultdict(int)
    hosts: defaultdict[str, set[str]] = defaultdict(set)
    for host, words in pages:
        for word, value in words.items():
            share[word] += value
            count[word] += 1
            hosts[word].add(host)
    if not count:
        return {}
    usual = min(max(sum(share.values()) / sum(count.values()), 0.01), 0.99)
    return {
        word: round(
            _logit((share[word] + PRIOR * usual) / (count[word] + PRIOR)) - _logit(usual), DIGITS
        )
        for word in sorted(count)
        if len(word) > 1 and len(hosts[word]) >= MIN_HOSTS
    }


def _logit(share: float) -> float:
    return math.log(share / (1.0 - share))
