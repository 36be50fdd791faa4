"""Whether a revisit found the same page: what it says, block by block.

Two visits to a page that nobody edited may give two main texts. Its menu or footer is another one,
and as a block is judged among all others, one on the border gets into the main text or out of it;
or the page was rendered once and read plainly once, so that what is hidden was known only once.
Neither is a change of the page.

A fingerprint has a hash for every block of text in the document, shown or not, and knows which
blocks are main text. Two of them are of the same page when

- every block of either main text stands in the other document, main text there or not, and
- the blocks that are in both main texts, and once in both documents, stand in the same order.

So text that appears, disappears or moves in the main text is a change; what is main text is asked
of both visits, and what only one of them took for it must stand in both documents. Blocks are cut
by tags alone, never by layout. What a page itself calls navigation or its footer, by an element or
by its name, does not count as main text here, even if it was taken for it. What this cannot see:
text that a page has elsewhere already, in its menu say, and that becomes main text.

A hash has 24 bits: of one edit in 80,000 the new text is taken for another one of a page with 200
blocks. It is stored in 3 bytes: a page of 63 blocks has 196.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain, pairwise
from typing import TYPE_CHECKING

import numpy as np

from websegment_scrapy.page.gaps import gap_bits
from websegment_scrapy.page.reading import CUTTING, tag_bits
from websegment_scrapy.page.subtrees import lies_in, subtree_sums
from websegment_scrapy.page.words import NORMALISER_VERSION, words, words_by_node

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from websegment_scrapy.page.tree import PageTree

__all__ = ["Fingerprint", "fingerprint_of", "same_page"]

VERSION = 16 * NORMALISER_VERSION + 1
"""First byte of a stored fingerprint; raised whenever blocks are cut or hashed in another way."""

HASH_BYTES = 3
MAX_BLOCKS = 5000
"""Of a page with more only the main text counts, as one block: a fingerprint has 15 kB at most."""

AROUND, WITHIN = ("nav", "footer"), ("article", "main", "blockquote")
"""Elements whose text belongs to the page's frame, unless they are in one of the others."""

_NAMED = re.compile(r"(?<![a-z])(?:(footer)|nav|navbar|navigation|menu)(?![a-z])", re.IGNORECASE)
"""Names of the same. A menu is one of links: that of a restaurant is what its page is for."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """The blocks of a page, by their hashes.

    Attributes
    ----------
    main
        Blocks of the main text that stand once in the document, in their order.
    repeated
        Blocks of the main text that stand there several times: which of them is main text says
        little, and so does its place.
    others
        All other blocks.
    """

    main: tuple[int, ...]
    repeated: frozenset[int]
    others: frozenset[int]

    @classmethod
    def of(cls, blocks: Sequence[Sequence[str]], is_main: Sequence[bool]) -> Fingerprint:
        """Make the fingerprint of a page from its blocks' words; those without do not count."""
        if len(blocks) > MAX_BLOCKS:
            kept = [block for block, is_kept in zip(blocks, is_main, strict=True) if is_kept]
            blocks, is_main = [list(chain.from_iterable(kept))], [True]
        times: dict[int, int] = {}
        main: set[int] = set()
        for found, is_kept in zip(blocks, is_main, strict=True):
            if found:
                joined = " ".join(found).encode("utf-8", "surrogatepass")
                digest = blake2b(joined, digest_size=HASH_BYTES).digest()
                number = int.from_bytes(digest, "little")
                times[number] = times.get(number, 0) + 1
                if is_kept:
                    main.add(number)
        once = tuple(number for number, count in times.items() if number in main and count == 1)
        return cls(once, frozenset(main.difference(once)), frozenset(times.keys() - main))

    def to_bytes(self) -> bytes:
        """Return what is stored; the same on every machine."""
        numbers = (*self.main, *sorted(self.repeated), *sorted(self.others))
        counts = (len(self.main), len(self.repeated), *numbers)
        return bytes((VERSION,)) + b"".join(
            number.to_bytes(HASH_BYTES, "little") for number in counts
        )

    @classmethod
    def from_bytes(cls, data: bytes) -> Fingerprint | None:
        """Read what `to_bytes` wrote; ``None`` when another version of this package wrote it."""
        if not data or data[0] != VERSION or (len(data) - 1) % HASH_BYTES:
            return None
        numbers = tuple(
            int.from_bytes(data[start : start + HASH_BYTES], "little")
            for start in range(1, len(data), HASH_BYTES)
        )
        if len(numbers) < 2 or sum(numbers[:2]) > len(numbers) - 2:
            return None
        once = 2 + numbers[0]
        main = once + numbers[1]
        return cls(numbers[2:once], frozenset(numbers[once:main]), frozenset(numbers[main:]))


def same_page(old: bytes | None, new: bytes | None) -> bool:
    """Say whether two stored fingerprints are of the same page.

    ``False`` when one of them is missing or of another version: that cannot be known then.
    """
    one = Fingerprint.from_bytes(old or b"")
    two = Fingerprint.from_bytes(new or b"")
    if one is None or two is None:
        return False
    mains = [each.repeated.union(each.main) for each in (one, two)]
    if not (mains[0] - mains[1] <= two.others and mains[1] - mains[0] <= one.others):
        return False
    both = set(one.main).intersection(two.main)
    return [each for each in one.main if each in both] == [
        each for each in two.main if each in both
    ]


def fingerprint_of(
    tree: PageTree,
    main: NDArray[np.int64],
    told: str = "",
    by_node: Mapping[int, Sequence[str]] | None = None,
) -> Fingerprint:
    """Make the fingerprint of a page.

    Parameters
    ----------
    tree
        The page.
    main
        The text nodes of its main text.
    told
        What it tells machines, which is its main text when it has no other.
    by_node
        The words of each text node (`words_by_node`), if they are there already.
    """
    nodes = tree.texts
    bits = tag_bits(tree)
    bits[tree.tagged({"br"})] = 0
    cut = np.flatnonzero(gap_bits(tree, nodes, bits) & CUTTING) + 1
    first = [0, *cut.tolist(), len(nodes)]
    marked = np.zeros(len(tree), dtype=bool)
    marked[main] = True
    is_main = (marked & ~_around(tree))[nodes].tolist()
    by_node = words_by_node(tree) if by_node is None else by_node
    pieces = [by_node[node] for node in nodes.tolist()]
    blocks: list[Sequence[str]] = []
    kept = []
    for begin, end in pairwise(first):
        blocks.append(
            pieces[begin] if end == begin + 1 else list(chain.from_iterable(pieces[begin:end]))
        )
        kept.append(any(is_main[begin:end]))
    return Fingerprint.of([*blocks, words(told)], [*kept, not any(kept)])


def _around(tree: PageTree) -> NDArray[np.bool_]:
    """Mark what a page calls its navigation and footer.

    One that has half of the page's text is none: its end tag was forgotten.
    """
    around = tree.tagged(AROUND)
    length = tree.text_end - tree.text_start
    texts, linked = (
        subtree_sums(tree.end, each) for each in (length, np.where(tree.link >= 0, length, 0))
    )
    names = tree.names
    called = {name: found for name in set(names.values()) if (found := _NAMED.search(name))}
    if called:
        for node, name in names.items():
            if name in called:
                is_footer = called[name][1] is not None
                around[node] |= is_footer or 2 * linked[node] > texts[node]
    return lies_in(tree.end, around & (2 * texts < len(tree.text))) & ~tree.inside(*WITHIN)
