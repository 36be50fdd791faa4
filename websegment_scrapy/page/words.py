"""Text to words: Unicode-correct, the same for every way of encoding the same text.

The shingling of near-duplicates works on lower-cased letters and digits only (GCuts paper,
section 5.3; Block Fusion paper, section 4.4). Both papers saw English pages; three things are
needed for the others:

- the text is NFKC-normalised, so that composed and decomposed accents, ligatures, full-width and
  half-width forms give the same words;
- combining marks belong to the letter before them (Hindi vowel signs, Arabic vowels), and invisible
  format characters (soft hyphen, zero-width joiners) vanish without splitting a word, as rule WB4
  of Unicode Standard Annex 29 has it; the zero-width space does separate words;
- scripts written without spaces give one word per character, with its marks: a whole sentence as
  one "word" would make a window of six words span a page.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from websegment_scrapy.page.tree import PageTree

__all__ = ["NORMALISER_VERSION", "short_words", "words", "words_by_node"]

NORMALISER_VERSION = 1
"""Raised whenever `words` gives other words for some text: stored signatures depend on it."""

SPACELESS_RANGES = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x0F00, 0x0FFF),  # Tibetan
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x2E80, 0x2FDF),  # Han: radicals
    (0x3005, 0x3007),  # Han: iteration mark, closing mark, zero
    (0x3021, 0x3029),  # Han: Hangzhou numerals
    (0x3031, 0x3035),  # Kana repeat marks
    (0x3038, 0x303C),  # Han: Hangzhou numerals, vertical iteration mark, masu mark
    (0x3041, 0x30FF),  # Hiragana, Katakana
    (0x31F0, 0x31FF),  # Katakana: phonetic extensions
    (0x3400, 0x4DBF),  # Han: extension A
    (0x4E00, 0x9FFF),  # Han
    (0xA9E0, 0xA9FF),  # Myanmar: extended B
    (0xAA60, 0xAA7F),  # Myanmar: extended A
    (0xF900, 0xFAFF),  # Han: compatibility ideographs
    (0x1AFF0, 0x1B16F),  # Kana: supplement and extensions
    (0x20000, 0x3FFFF),  # Han: extensions B and later
)
"""Code points of the scripts without spaces between words (Unicode blocks)."""

ZERO_WIDTH_SPACE = 0x200B
EXTRA_IGNORED = (0x034F, 0x180B, 0x180C, 0x180D, 0x180F, *range(0xFE00, 0xFE10))
"""Marks that only choose a glyph: grapheme joiner and variation selectors."""

STREAM_SAFE = 30
"""Marks of one letter in a stream-safe text (Unicode Standard Annex 15, section 13)."""

MARKS = frozenset({"Cf", "Mn", "Mc", "Me"})
"""Unicode categories of format characters and of marks."""

MARKS_LIKE_LETTERS = frozenset("\u0f73\u0f75\u0f81\uff9e\uff9f")
"""Characters of combining class 0 that are taken apart into marks."""

CACHED_LENGTH, CACHED_TEXTS = 100, 4096
"""Characters of a text up to which its words are remembered, and of how many texts: the menus of a
site are on all of its pages, and a page is looked at by several parts of the analysis."""

_UNUSUAL = re.compile(
    "[^\0-\xa7\xa9\xab\xac\xae\xb0\xb1\xb6\xb7\xbb\xbf-\u012f\u0131\u0134-\u013e\u0141-\u0148"
    "\u014a-\u017e\u0400-\u0482\u048a-\u052f\u2010-\u2016\u2018-\u2026\u20ac]"
)
"""What is not Latin, Cyrillic or usual punctuation: all else can be split as it is, for it has no
marks, and no other form by NFKC that has other words."""

_ASCII_WORD = re.compile(r"[a-z0-9]+")
_SIMPLE_WORD = re.compile(r"[^\W_]+")


def words(text: str) -> list[str]:
    r"""Split a text into lower-case words of letters and digits.

    For plain English this is ``re.findall(r"[^\W_]+", text.lower())``. Any string is accepted:
    control characters and lone surrogates separate words like punctuation does. New characters of
    a later Unicode version count as letters as soon as Python knows them.

    Examples
    --------
    >>> words("It's 9 o'clock, Caf\u00e9 co\u00adoperative_2!")
    ['it', 's', '9', 'o', 'clock', 'café', 'cooperative', '2']
    >>> words("\u6771\u4eac Tower")
    ['東', '京', 'tower']
    """
    if text.isascii():
        return _ASCII_WORD.findall(text.lower())
    if _UNUSUAL.search(text) is None:
        return _SIMPLE_WORD.findall(text.lower())
    return _words_of_any(text)


def _words_of_any(text: str) -> list[str]:
    """Split a text whatever its characters are."""
    ignored, many_marks, special, word = _patterns()
    characters = "".join(set(text))
    if ignored.search(characters):
        text = ignored.sub("", text)
    if any(map(unicodedata.combining, characters)) or not MARKS_LIKE_LETTERS.isdisjoint(characters):
        text = many_marks.sub(_in_canonical_order, text)
    text = unicodedata.normalize("NFKC", text).lower()
    if special.search("".join(set(text))):
        return word.findall(text)
    return _SIMPLE_WORD.findall(text)


@lru_cache(CACHED_TEXTS)
def _remembered(text: str) -> tuple[str, ...]:
    return tuple(words(text))


def short_words(text: str) -> Sequence[str]:
    """Return the words of a text that is probably short and comes again."""
    return _remembered(text) if len(text) <= CACHED_LENGTH else words(text)


def words_by_node(tree: PageTree) -> dict[int, Sequence[str]]:
    """Return the words of each text node: what segments, pages and fingerprints count."""
    nodes = tree.texts
    return dict(zip(nodes.tolist(), map(short_words, tree.texts_of(nodes)), strict=True))


def _in_canonical_order(match: re.Match[str]) -> str:
    """Sort the marks of a letter with very many as the normalisation would.

    Python's sorts them by insertion, which takes the square of their number.
    """
    taken_apart = {mark: unicodedata.normalize("NFKD", mark) for mark in set(match[0])}
    marks = "".join([taken_apart[mark] for mark in match[0]])
    return "".join(sorted(marks, key=unicodedata.combining))


@cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    r"""Return the patterns of ignored characters, of many marks, of marks and scripts, of words.

    The third finds marks and letters of scripts without spaces; texts that have none are split by
    ``[^\W_]+``, three times as fast. ``[^\W_]`` is a letter or digit and never a mark; a word is a
    run of them outside the spaceless scripts, each with its marks, or else a single one (then of a
    spaceless script) with its marks.
    """
    # Marks and format characters live in the first two planes and in 0xE0000-0xE0FFF.
    planes = (*range(0x80, 0x20000), *range(0xE0000, 0xE1000))
    categories = map(unicodedata.category, map(chr, planes))
    found = {code: kind for code, kind in zip(planes, categories, strict=True) if kind in MARKS}
    ignored, marks = set(EXTRA_IGNORED), set()
    for code, category in found.items():
        if category == "Cf" or (category == "Mn" and code >= 0xE0000):
            ignored.add(code)
        else:
            marks.add(code)
    ignored.discard(ZERO_WIDTH_SPACE)
    spaceless = "".join(f"{chr(low)}-{chr(high)}" for low, high in SPACELESS_RANGES)
    inside = _ranges(marks - ignored)
    mark = f"[{inside}]"
    letter = rf"[^\W_{spaceless}]"
    combining = {code for code in marks if unicodedata.combining(chr(code))}
    combining.update(map(ord, MARKS_LIKE_LETTERS))
    return (
        re.compile(f"[{_ranges(ignored)}]+"),
        re.compile(f"[{_ranges(combining)}]{{{STREAM_SAFE + 1},}}+"),
        re.compile(f"[{inside}{spaceless}]"),
        re.compile(rf"{letter}+(?:{mark}+{letter}*)*|[^\W_]{mark}*"),
    )


def _ranges(codes: set[int]) -> str:
    """Write code points, none of them in ASCII, as the inside of a character class."""
    parts: list[str] = []
    ordered = sorted(codes)
    start = 0
    for end in range(len(ordered)):
        if end + 1 == len(ordered) or ordered[end + 1] != ordered[end] + 1:
            parts.append(f"{chr(ordered[start])}-{chr(ordered[end])}")
            start = end + 1
    return "".join(parts)
