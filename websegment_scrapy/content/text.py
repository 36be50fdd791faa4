"""What the text of every block is like: counted over the whole page at once.

The page's text is one array of character classes; running sums over it give the counts of any
block by two look-ups.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from itertools import repeat
from typing import TYPE_CHECKING

import numpy as np

from websegment_scrapy.content.text_blocks import TextBlocks, text_blocks
from websegment_scrapy.page.subtrees import range_sums, running_sums
from websegment_scrapy.page.told import told_texts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from websegment_scrapy.content.lexicon import Lexicon
    from websegment_scrapy.page.tree import PageTree

__all__ = ["BlockText", "Columns", "block_text", "text_columns"]

Columns = dict[str, "NDArray[np.float64]"]

SPACE, LETTER, UPPER, DIGIT, SENTENCE, COMMA, MONEY, SEPARATOR, QUOTE, SIGN, COLON, OTHER = range(
    12
)
CLASSES = OTHER + 1
MARKS = (
    (".!?\u3002\uff01\uff1f\u2026\u0964\u061f", SENTENCE),
    (",;\uff0c\u3001\u060c", COMMA),
    ("$\u20ac\u00a3\u00a5\u20b9%", MONEY),
    ("|\u2022\u00b7\u00bb\u203a>/\u2192\u2013\u2014", SEPARATOR),
    ("\"'\u201c\u201d\u2018\u2019\u00ab", QUOTE),
    ("\u00a9\u00ae\u2122@", SIGN),
    (":", COLON),
)
"""Marks by what they do in a text, in several scripts."""

_WORD = re.compile(r"\w+")
_LAST_CODE = 0xFFFF
"""Characters beyond the basic plane count as this one."""

LONGEST_SUM = 30.0
"""Log odds beyond which the words of a block together say no more."""


JOINED_LETTERS = (
    (0x0E00, 0x0F00),
    (0x1000, 0x10A0),
    (0x1780, 0x1800),
    (0x3040, 0x3100),
    (0x3400, 0xA000),
)
"""Letters of scripts that join words without spaces: Thai, Lao, Burmese, Khmer, kana, Chinese
characters (ranges of code points). A word here is a measure of length, and the model was trained
with this one; ``page.words.SPACELESS_RANGES`` has more scripts and says where words of a signature
end, so neither can change for the other's sake."""

LETTERS_PER_WORD = 2
"""How many of them are counted as a word: about what a word has in Chinese and Japanese."""


@dataclass(frozen=True, slots=True, eq=False)
class BlockText:
    """The blocks of a page and what is counted of their text.

    Attributes
    ----------
    tree, blocks
        The page and its blocks.
    words, linked
        Words of each block, and those in links.
    node_words
        Words of each text node.
    counts
        Characters of each block by class.
    tokens, token_block
        The words of the page in lower case, and the block of each.
    vocabulary, token_number
        The different ones among them, and the place of each word there: what is known of a word
        is looked up once.
    texts
        The text of each block.
    shown
        Whether each block is visible.
    """

    tree: PageTree
    blocks: TextBlocks
    words: NDArray[np.float64]
    linked: NDArray[np.float64]
    node_words: NDArray[np.float64]
    counts: NDArray[np.float64]
    tokens: list[str]
    token_block: NDArray[np.int64]
    vocabulary: Mapping[str, int]
    token_number: NDArray[np.int64]
    texts: list[str]
    shown: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.blocks)


def block_text(tree: PageTree) -> BlockText:
    """Cut a page into blocks and count what is in them."""
    blocks = text_blocks(tree)
    nodes, first = blocks.nodes, blocks.first[:-1]
    # Text nodes are joined by line breaks: no word goes on from one to the next.
    lengths = tree.text_end[nodes] - tree.text_start[nodes]
    joined = "\n".join(tree.texts_of(nodes))
    start = running_sums(lengths + 1)[:-1]
    begin, end = start[first], (start + lengths)[blocks.first[1:] - 1]
    codes = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    found = _WORD.findall(joined)
    word_start = _word_starts(joined, codes, len(found))
    token_node = np.searchsorted(start, word_start, side="right") - 1
    size = _word_counts(codes, found, word_start)
    node_words = np.bincount(token_node, size, minlength=len(nodes)).astype(np.float64)
    linked = np.where(tree.link[nodes] >= 0, node_words, 0.0)
    # Lower case depends on the letters around: each word stands alone.
    tokens = "\n".join(found).lower().split("\n") if found else []
    vocabulary = {token: number for number, token in enumerate(dict.fromkeys(tokens))}
    return BlockText(
        tree=tree,
        blocks=blocks,
        words=_sums(node_words, first),
        linked=_sums(linked, first),
        node_words=node_words,
        counts=_class_counts(codes, begin, np.diff(blocks.first)),
        tokens=tokens,
        token_block=blocks.of_node[token_node],
        vocabulary=vocabulary,
        token_number=np.fromiter(map(vocabulary.__getitem__, tokens), np.int64, len(tokens)),
        texts=[joined[low:high] for low, high in zip(begin.tolist(), end.tolist(), strict=True)],
        shown=tree.visible[nodes[first]],
    )


def _class_counts(
    codes: NDArray[np.uint32], begin: NDArray[np.int64], nodes: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Count the characters of each block by class, without the line breaks between text nodes."""
    if not len(begin):
        return np.zeros((CLASSES, 0))
    kinds = _classes()[np.minimum(codes, _LAST_CODE)]
    block = np.repeat(np.arange(len(begin)), np.diff(begin, append=len(codes)))
    counts = np.bincount(block * CLASSES + kinds, minlength=len(begin) * CLASSES)
    counted = np.ascontiguousarray(counts.reshape(-1, CLASSES).T, dtype=np.float64)
    counted[SPACE] -= nodes
    counted[SPACE, -1] += 1  # behind the last text node there is none
    return counted


def _word_starts(text: str, codes: NDArray[np.uint32], count: int) -> NDArray[np.int64]:
    """Return where the ``count`` words of a text begin."""
    if codes.max(initial=0) <= _LAST_CODE:
        inside = np.zeros(len(codes) + 1, dtype=bool)
        np.take(_word_characters(), codes, out=inside[1:])
        starts = np.flatnonzero(inside[1:] & ~inside[:-1])
        assert len(starts) == count
        return starts
    return np.fromiter((match.start() for match in _WORD.finditer(text)), np.int64, count)


def _word_counts(
    codes: NDArray[np.uint32], words: Sequence[str], start: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return how many words each is: one, or more in scripts that do not part words."""
    first = min(begin for begin, _ in JOINED_LETTERS)
    if not len(words) or codes.max() < first:
        return np.ones(len(words))
    unspaced = np.zeros(len(codes), dtype=bool)
    for begin, end in JOINED_LETTERS:
        unspaced |= (codes >= begin) & (codes < end)
    stop = start + np.fromiter(map(len, words), np.int64, len(words))
    letters = range_sums(unspaced, start, stop)
    return np.asarray(np.maximum(1.0, np.ceil(letters / LETTERS_PER_WORD)))


def text_columns(page: BlockText, lexicon: Lexicon) -> Columns:
    """Return the columns of each block's own text."""
    counts, words = page.counts, page.words
    some_words = np.maximum(words, 1.0)
    characters = np.maximum(counts.sum(axis=0), 1.0)
    letters = counts[LETTER] + counts[UPPER]
    columns: Columns = {
        "words": words,
        "word_length": (letters + counts[DIGIT]) / some_words,
        "link_share": page.linked / some_words,
        "upper_share": counts[UPPER] / np.maximum(letters, 1.0),
        "digit_share": counts[DIGIT] / characters,
        "sentences": counts[SENTENCE],
        "sentence_rate": counts[SENTENCE] / some_words,
        "commas": counts[COMMA],
        "comma_rate": counts[COMMA] / some_words,
        "money": counts[MONEY],
        "separators": counts[SEPARATOR],
        "quotes": counts[QUOTE] / some_words,
        "signs": counts[SIGN],
        "colons": counts[COLON],
        "others": counts[OTHER] / characters,
        "nodes": np.diff(page.blocks.first).astype(np.float64),
        "shown": page.shown.astype(np.float64),
    }
    last = _classes_of("".join([text[-1] for text in page.texts]))
    head = _classes_of("".join([text[0] for text in page.texts]))
    columns["ends_sentence"] = (last == SENTENCE).astype(np.float64)
    columns["starts_upper"] = (head == UPPER).astype(np.float64)
    seen: dict[str, int] = {}
    for text in page.texts:
        seen[text] = seen.get(text, 0) + 1
    columns["same_text"] = np.array([seen[text] for text in page.texts], dtype=np.float64)
    _lexicon_columns(columns, page, lexicon)
    _head_columns(columns, page)
    return columns


def _lexicon_columns(columns: Columns, page: BlockText, lexicon: Lexicon) -> None:
    """Add what the lexicon says of each block's words: mean, sum, least and greatest."""
    count, vocabulary, block = len(page), page.vocabulary, page.token_block
    for name, table in (("lexicon", lexicon.short), ("prose", lexicon.long)):
        known = np.fromiter(map(table.get, vocabulary, repeat(0.0)), np.float64, len(vocabulary))
        value = known[page.token_number]
        total = np.bincount(block, value, count)
        columns[name] = total / np.maximum(np.bincount(block, value != 0, count), 1.0)
        columns[f"{name}_sum"] = np.clip(total, -LONGEST_SUM, LONGEST_SUM)
        columns[f"{name}_min"], columns[f"{name}_max"] = np.zeros(count), np.zeros(count)
        np.minimum.at(columns[f"{name}_min"], block, value)
        np.maximum.at(columns[f"{name}_max"], block, value)


def _head_columns(columns: Columns, page: BlockText) -> None:
    """Add how much of each block stands in what the page says of itself, and of that in it."""
    head = page.tree.head
    told = " ".join(told_texts(page.tree.scripts))
    for name, text in (
        ("title", f"{head.title} {head.og_title}"),
        ("about", head.description),
        ("told", told),
    ):
        known = set(_WORD.findall(text.lower()))
        found = np.zeros(len(page))
        if known:
            there = np.fromiter(
                map(known.__contains__, page.vocabulary), bool, len(page.vocabulary)
            )
            block = page.token_block[there[page.token_number]]
            found = np.bincount(block, minlength=len(page)).astype(np.float64)
        columns[f"{name}_share"] = found / np.maximum(page.words, 1.0)
        columns[f"of_{name}"] = np.minimum(found / max(len(known), 1), 1.5)


def _sums(values: NDArray[np.float64], first: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.add.reduceat(values, first) if len(first) else np.zeros(0)


def _classes_of(text: str) -> NDArray[np.uint8]:
    """Return the class of each character of a text."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    return _classes()[np.minimum(codes, _LAST_CODE)]


@cache
def _classes() -> NDArray[np.uint8]:
    """Return the class of every character of the basic plane."""
    characters = [chr(code) for code in range(_LAST_CODE + 1)]
    table = np.full(len(characters), OTHER, dtype=np.uint8)
    for belongs, number in (
        (str.isalpha, LETTER),
        (str.isupper, UPPER),
        (str.isdigit, DIGIT),
        (str.isspace, SPACE),
    ):
        table[np.fromiter(map(belongs, characters), bool, len(characters))] = number
    for marks, number in MARKS:
        for mark in marks:
            table[ord(mark)] = number
    return table


@cache
def _word_characters() -> NDArray[np.bool_]:
    """Say of every character of the basic plane whether it belongs to a word."""
    table = np.zeros(_LAST_CODE + 1, dtype=bool)
    for match in _WORD.finditer("".join([chr(code) for code in range(_LAST_CODE + 1)])):
        table[match.start() : match.end()] = True
    return table
