"""A hash for every node of a page, equal wherever a template shows the same.

SiteLevel(θ) hashes every DOM node's HTML (PageLevel paper, section 3). What is hashed here is
the HTML as a reader of the page tells it apart, so that a template that changes without meaning
keeps its hash:

- attributes do not count, classes and ids among them: the active item of a menu has others;
- inline elements (`TRANSPARENT`) are seen through: an active item shown as ``strong`` or ``span``
  instead of ``a`` is the same item. A link with text is known by its text; a link without (an
  icon) by its normalised address;
- text counts as lower-cased words, numbers, dates and tokens masked (`normalise`); figures in
  cells of a table are kept;
- what shows no text and is no link counts nothing: rules, line breaks, images, empty elements;
- what is never shown (scripts, styles, ``head``) counts nothing; neither does a hidden element in
  a shown one. Hidden elements have hashes of their own.

A text node's hash covers its words and the block it stands in (``li``, ``h1``, ``p``), so that a
title in a list of recent posts is not the same as the heading of the post.

**Parts** are the nodes that are worth counting: text nodes, and blocks of at least two texts,
links or blocks (a block around a single one says no more than that), with at least
`MIN_LETTERS` letters. The lowest two bits of a hash say how long the node is (`length_class`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from websegment_scrapy.page.tags import NOT_RENDERED, REPLACED, TABLE_CELLS
from websegment_scrapy.page.tree import TEXT
from websegment_scrapy.template.normalise import letters_of, normal_link, normal_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from websegment_scrapy.page.tree import PageTree

__all__ = [
    "HASH_VERSION",
    "LONG_LETTERS",
    "MAX_PARTS",
    "MEDIUM_LETTERS",
    "MIN_LETTERS",
    "TRANSPARENT",
    "HashedNodes",
    "PageParts",
    "describe_parts",
    "hash_nodes",
    "length_class",
    "page_parts",
]

HASH_VERSION = 1
"""Raised whenever some page gets other hashes: stored counts depend on it."""

MIN_LETTERS = 4
"""A shorter text (``the``, ``FAQ``) repeats by chance and counts for nothing alone."""

MEDIUM_LETTERS, LONG_LETTERS = 12, 40
"""About two and about seven words: the shorter a text, the likelier it repeats by chance, and the
more pages it must be on to be a template (`sitelevel`)."""

MAX_PARTS = 256
"""Parts that one page adds to its site's counts: its largest by letters."""

SAMPLE_LENGTH, SAMPLE_TEXTS = 60, 12
"""Characters kept of a part's text, for people, and text nodes looked at for them."""

CACHED_LENGTH, CACHED_TEXTS = 100, 8192
"""Characters of a text up to which its hash is remembered, and how many are: the menus of a site
are on all of its pages."""

LINK_LETTERS = 4
"""Letters that a link without text counts for."""

TRANSPARENT = frozenset(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark nobr q rb "
    "rt ruby s samp small span strike strong sub sup time tt u var".split()
)
"""Inline elements: their content counts as if it stood in the block around them."""

_MASK = 0xFFFF_FFFF_FFFF_FFFF
_BASE = 0x9E37_79B9_7F4A_7C15  # odd; the polynomial that puts the parts of a node in order
_MIX = 0xBF58_476D_1CE4_E5B9  # splitmix64


@dataclass(frozen=True, slots=True, eq=False)
class HashedNodes:
    """The hashes of a page's nodes.

    Attributes
    ----------
    hashes
        One for each node.
    letters
        Letters of each node's text, itself and below.
    part
        Whether the node is a part.
    """

    hashes: NDArray[np.uint64]
    letters: NDArray[np.int64]
    part: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class PageParts:
    """What a page adds to its site's counts.

    Attributes
    ----------
    hashes
        Its parts, the largest first; the first stands for the whole page.
    samples
        Of each part its block and the beginning of its text, such as ``"ul: Home About us"``.
    """

    hashes: NDArray[np.int64]
    samples: tuple[str, ...]


def length_class(letters: int) -> int:
    """Return 0 for short, 1 for medium, 2 for long: the lowest bits of a hash."""
    return (letters >= MEDIUM_LETTERS) + (letters >= LONG_LETTERS)


def hash_nodes(tree: PageTree) -> HashedNodes:
    """Hash all nodes in one pass from the last to the first: children before their parents.

    A node's value is the polynomial Σ h_i·B^(n-i) over the hashes h_i of what it holds, modulo
    2^64. Polynomials of adjacent pieces join by one multiplication, so an inline element hands its
    pieces to its block at no cost.
    """
    count = len(tree)
    tags = tree.tag.tolist()
    kinds = [_tag_kind(name) for name in tree.tags]
    holders, context = _holders(tree, kinds)
    value, pieces, letters = [0] * count, [0] * count, [0] * count
    powers = _POWERS if count < len(_POWERS) else _powers(count)
    hashes = np.array([kind.empty for kind in kinds], dtype=np.uint64)[tree.tag].tolist()
    part = [False] * count
    link = tree.link.tolist()
    start, end, text = tree.text_start.tolist(), tree.text_end.tolist(), tree.text
    for node in range(count - 1, -1, -1):
        kind = kinds[tags[node]]
        number = 1
        if kind.name == TEXT:
            around = context[node]
            block = kinds[around].name if around >= 0 else ""
            first, last = start[node], end[node]
            hashed = _hash_short if last - first <= CACHED_LENGTH else _hash_words
            code, size = hashed(block, text[first:last])
            hashes[node] = code
            if not code:
                continue
            letters[node] = size
            part[node] = size >= MIN_LETTERS
        else:
            inside = pieces[node]
            if inside:
                code, size = value[node], letters[node]
            else:
                if kind.name != "a" or link[node] < 0:
                    continue
                address = normal_link(tree.links[link[node]])
                if not address:
                    continue
                code, size, inside = _hash_text("href=", address), LINK_LETTERS, 1
                letters[node] = size
            hashes[node] = _hash_element(code, kind.code, size)
            if kind.transparent:
                number = inside
            else:
                code = hashes[node]
                part[node] = inside > 1 and size >= MIN_LETTERS
        holder = holders[node]
        if holder >= 0:
            before = pieces[holder]
            value[holder] = (code * powers[before] + value[holder]) & _MASK
            pieces[holder] = before + number
            letters[holder] += size
    return HashedNodes(
        np.array(hashes, dtype=np.uint64),
        np.array(letters, dtype=np.int64),
        np.array(part, dtype=bool),
    )


def _powers(count: int) -> list[int]:
    """Return the powers 0, 1, … ``count`` of the base."""
    return list(accumulate(range(count), lambda power, _: (power * _BASE) & _MASK, initial=1))


_POWERS = _powers(4096)
"""As many as all but the largest pages need."""


def _hash_element(polynomial: int, name: int, letters: int) -> int:
    """Return an element's hash by what it holds, its name and its length."""
    code = ((polynomial ^ name) * _MIX) & _MASK
    return ((code ^ (code >> 31)) & ~3) | length_class(letters)


def page_parts(
    tree: PageTree, hashed: HashedNodes | None = None, limit: int = MAX_PARTS
) -> NDArray[np.int64]:
    """Return the distinct hashes that a page adds to its site's counts, the largest first.

    The first stands for the whole page: pages that agree in it say the same. At most ``limit``
    parts, the largest by letters and of equal ones the first in the document.
    """
    return describe_parts(tree, hashed, limit).hashes


def describe_parts(
    tree: PageTree, hashed: HashedNodes | None = None, limit: int = MAX_PARTS
) -> PageParts:
    """Return a page's parts as `page_parts` does, each with the beginning of its text."""
    hashed = hashed or hash_nodes(tree)
    nodes = np.flatnonzero(hashed.part)
    _, first = np.unique(hashed.hashes[nodes], return_index=True)
    nodes = nodes[np.sort(first)]
    order = np.argsort(-hashed.letters[nodes], kind="stable")
    nodes = nodes[order[:limit]]
    signed = np.ascontiguousarray(hashed.hashes[nodes]).view(np.int64)
    return PageParts(signed, _samples(tree, nodes.tolist(), hashed))


def _samples(tree: PageTree, nodes: list[int], hashed: HashedNodes) -> tuple[str, ...]:
    """Return nodes' blocks and the beginning of their texts, as people recognise them."""
    texts = np.flatnonzero((hashed.letters > 0) & tree.is_text)
    beginnings = [" ".join(text[: SAMPLE_LENGTH + 1].split()) for text in tree.texts_of(texts)]
    visible = tree.visible[texts].tolist()
    first = np.searchsorted(texts, nodes).tolist()
    last = np.searchsorted(texts, tree.end[nodes]).tolist()
    parent, tags = tree.parent.tolist(), tree.tag.tolist()
    inline = [name in TRANSPARENT or name == TEXT for name in tree.tags]
    samples = []
    for node, low, high, shown_here in zip(
        nodes, first, last, tree.visible[nodes].tolist(), strict=True
    ):
        if high == low + 1:
            shown = beginnings[low] if visible[low] == shown_here else ""
        else:
            # A hidden text in a shown block is no part of it.
            among = range(low, min(high, low + SAMPLE_TEXTS))
            pieces = [beginnings[k] for k in among if visible[k] == shown_here]
            shown = " ".join(filter(None, pieces))
        if len(shown) > SAMPLE_LENGTH:
            shown = shown[: SAMPLE_LENGTH - 1] + "…"
        above = node
        while inline[tags[above]]:
            above = parent[above]
        samples.append(f"{tree.tags[tags[above]]}: {shown}")
    return tuple(samples)


def _holders(tree: PageTree, kinds: list[_TagKind]) -> tuple[list[int], list[int]]:
    """Return for each node what its hash goes into, and the tag of the block it stands in.

    The first is its parent, or -1 where it counts nothing there. The second is the tag of the
    nearest ancestor that is a block, -1 without one.
    """
    if not len(tree):
        return [], []
    tag, parent = tree.tag, tree.parent
    never_shown = np.array([kind.never_shown for kind in kinds], dtype=bool)
    replaced = np.array([kind.replaced for kind in kinds], dtype=bool)
    transparent = np.array([kind.transparent for kind in kinds], dtype=bool)
    below, around = parent >= 0, tag[parent]  # of the root's none is used
    counts = ~never_shown[tag] & ~replaced[around] & (tree.visible | ~tree.visible[parent])
    context = np.where(below, around, -1).tolist()
    above = parent.tolist()
    for node in np.flatnonzero(transparent[around] & below).tolist():
        context[node] = context[above[node]]
    return np.where(counts & below, parent, -1).tolist(), context


def _hash_words(context: str, text: str) -> tuple[int, int]:
    """Return hash and letters of a text node; 0 as hash when it has no word."""
    normal = normal_text(text, keep_numbers=context in TABLE_CELLS)
    if not normal:
        return 0, 0
    size = letters_of(normal)
    return (_hash_text(context, normal) & ~3) | length_class(size), size


_hash_short = lru_cache(CACHED_TEXTS)(_hash_words)


@dataclass(frozen=True, slots=True)
class _TagKind:
    """What hashing needs to know of an element's name; ``empty`` is the hash of an empty one."""

    name: str
    code: int
    empty: int
    transparent: bool
    never_shown: bool
    replaced: bool


@lru_cache(1024)
def _tag_kind(name: str) -> _TagKind:
    code = _hash_text("<>", name)
    return _TagKind(
        name=name,
        code=code,
        empty=_hash_element(0, code, 0),
        transparent=name in TRANSPARENT,
        never_shown=name in NOT_RENDERED,
        replaced=name in REPLACED,
    )


def _hash_text(kind: str, text: str) -> int:
    data = f"{HASH_VERSION} {kind} {text}".encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "little")
