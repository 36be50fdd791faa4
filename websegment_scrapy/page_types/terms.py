"""The terms of a page, counted by where they stand: what its functional type is judged by.

The WPS paper (its last section, on page classification) tells the type of a page by functional
terms: "reply" in the informative segment of a forum, "forum" in its header. A term counts in each
in-segment position on its own, so that the same word as a term of the design and as a word of the
content are two. The paper has five positions in two segments, from the layout. Here the
informative part is the main text by the page alone, whatever engine segments the page, and a term
stands **inside** or **outside** of it, in a heading, a link or other text.

Beside the words of the page stand those by which its makers name what it is: its title, the types
that it tells machines, its elements and their names, and its address.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import numpy as np

from websegment_scrapy.content.lexicon import name_words
from websegment_scrapy.page.told import told_types
from websegment_scrapy.page.words import words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from websegment_scrapy.page.tree import PageTree

__all__ = [
    "GROUPS",
    "MAX_TERM",
    "POSITIONS",
    "TERMS_VERSION",
    "TEXT_POSITIONS",
    "PageTerms",
    "page_terms",
]

TERMS_VERSION = 1
"""Raised whenever a page has other terms than before: models are made for one version."""

PLACES = ("inside", "outside")
KINDS = ("text", "link", "heading")
TEXT_POSITIONS = tuple(f"{place} {kind}" for place in PLACES for kind in KINDS)
POSITIONS = (
    *TEXT_POSITIONS,
    "tag inside",
    "tag outside",
    "name inside",
    "name outside",
    "title",
    "told",
    "host",
    "path",
)
"""All positions: of the text that a reader sees, of the markup, of what the page says it is."""

GROUPS = {
    position: 0 if position in TEXT_POSITIONS else 1 if position[:4] in ("tag ", "name") else 2
    for position in POSITIONS
}
"""Each of the three weighs the same, however many terms a page has there; others are text."""

PageTerms = dict[str, "Counter[str]"]
"""The terms of a page and how often they stand there, by position."""

HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
MAX_TERM = 30
"""Characters of a term; longer ones are no words."""

MAX_ADDRESS = 1000
"""Characters of an address that are read."""

MAX_DEPTH = 5
"""Steps of a path that are told apart; deeper ones count as this many."""

CACHED_NAME, CACHED_NAMES = 200, 4096
"""As for `content.names`: the pages of a site have the same names."""

_DIGIT = re.compile(r"[0-9]")


def page_terms(
    tree: PageTree, node_words: Mapping[int, Sequence[str]], inside: NDArray[np.bool_], url: str
) -> PageTerms:
    """Count the terms of a page.

    Parameters
    ----------
    tree
        The page.
    node_words
        The words of each text node (`words_by_node`).
    inside
        Of each of ``tree.texts`` whether it is part of the informative part.
    url
        The page's address, if it has one.
    """
    nodes = tree.texts
    found = _text_terms(tree, nodes, node_words, inside)
    informative = nodes[inside]
    first, last = (informative[0], informative[-1]) if len(informative) else (0, -1)
    head = tree.head
    found["title"] = Counter({*words(head.title), *words(head.og_title)})
    told = told_types(tree.scripts)
    found["told"] = Counter({*told, *(f"og {word}" for word in words(head.og_type))})
    found.update(_tag_terms(tree, int(first), int(last)))
    found.update(_name_terms(tree, int(first), int(last)))
    found.update(_address_terms(url))
    return found


def _text_terms(
    tree: PageTree,
    nodes: NDArray[np.int64],
    node_words: Mapping[int, Sequence[str]],
    inside: NDArray[np.bool_],
) -> PageTerms:
    """Count the words that can be read, by place and kind."""
    place = np.where(inside, PLACES.index("inside"), PLACES.index("outside"))
    kind = np.where(tree.link[nodes] >= 0, KINDS.index("link"), KINDS.index("text"))
    kind[tree.inside(*HEADINGS)[nodes]] = KINDS.index("heading")
    number = place * len(KINDS) + kind
    number[~tree.readable[nodes]] = -1
    found = {}
    for own, position in enumerate(TEXT_POSITIONS):
        there = nodes[number == own].tolist()
        found[position] = Counter(chain.from_iterable([node_words[node] for node in there]))
    return found


def _tag_terms(tree: PageTree, first: int, last: int) -> PageTerms:
    """Count the elements by name, those between the ends of the informative part apart."""
    count = len(tree.tags)
    everywhere = np.bincount(tree.tag, minlength=count)
    within = np.bincount(tree.tag[first : last + 1], minlength=count)
    return {
        position: Counter({tree.tags[tag]: int(number[tag]) for tag in np.flatnonzero(number)})
        for position, number in (("tag inside", within), ("tag outside", everywhere - within))
    }


def _name_terms(tree: PageTree, first: int, last: int) -> PageTerms:
    """Count the words of the names of elements; an element counts once for each."""
    within = {node: name for node, name in tree.names.items() if first <= node <= last}
    inside = Counter(within.values())
    outside = Counter(tree.names.values())
    outside.subtract(inside)
    found: PageTerms = {}
    for position, names in (("name inside", inside), ("name outside", outside)):
        terms: dict[str, int] = {}
        for name, number in names.items():
            if number:
                split = _split_name if len(name) <= CACHED_NAME else _split_name.__wrapped__
                for word in split(name):
                    terms[word] = terms.get(word, 0) + number
        found[position] = Counter(terms)
    return found


@lru_cache(CACHED_NAMES)
def _split_name(name: str) -> frozenset[str]:
    return frozenset(name_words(name))


def _address_terms(url: str) -> PageTerms:
    """Return the words of an address, with a digit for every digit, and how deep it is."""
    try:
        parts = urlsplit(url[:MAX_ADDRESS])
        host = parts.hostname or ""
    except ValueError:
        return {"host": Counter(), "path": Counter()}
    steps = [step for step in parts.path.split("/") if step]
    path = {_DIGIT.sub("0", word) for word in words(f"{parts.path} {parts.query}")}
    if url:
        path.add(f"/{min(len(steps), MAX_DEPTH)}")
    return {"host": Counter(set(words(host))), "path": Counter(path)}
