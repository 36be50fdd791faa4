"""What of a text or a link counts in a template's hash: numbers, dates, tokens and queries do not.

A template says the same on every page but for its counters ("Comments (12)"), its dates, its
session ids and tokens. All of them are masked before anything is hashed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from websegment_scrapy.page.words import short_words, words

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["letters_of", "normal_link", "normal_text"]

WIDE_LETTER = 3
"""Letters that one character of a script without spaces counts for: it is a word of its own."""

TOKEN_LENGTH = 16
"""A word this long with a digit in it is a token: a session id, a hash, an encoded number."""

_DIGITS = re.compile(r"\d+")
_DIGIT = re.compile(r"\d")
_NO_LETTERS = b" 0123456789"
_LETTER = re.compile(r"[^\W\d_]")
_TOKEN = re.compile(rf"\b(?=\w*\d)\w{{{TOKEN_LENGTH},}}\b")
_WORD = r"[^\W\d_]{3,12}"
_ORDINAL = r"\d{1,2}(?:st|nd|rd|th|\.)?"
# "12 March 2019", "12. März 2019", "12 de marzo de 2019", "March 12th, 2019", "Tue, Mar 12, 2019":
# a day, a word and a year, in any language with letters.
_DATE = re.compile(
    rf"(?:[^\W\d_]{{2,12}}\.?, ?)?"
    rf"(?:{_ORDINAL} (?:de )?{_WORD}\.?,? (?:de )?\d{{4}}|{_WORD}\.? {_ORDINAL},? \d{{4}})(?!\d)"
)
_YEAR = re.compile(r" \d{4}(?!\d)")
"""How a date ends."""

LONGEST_DATE = 64
"""Characters of a date at most: its parts have 45 together."""

_LINK_END = re.compile(r"[?#;]")
_LINK_START = re.compile(r"^(?:\.{0,2}/)+")
_INDEX = re.compile(r"(?:^|/)index\.\w{2,5}$")


def normal_text(text: str, *, keep_numbers: bool = False) -> str:
    """Return the words of a text, its dates, numbers and tokens replaced by ``0``.

    Parameters
    ----------
    text
        The text of one text node.
    keep_numbers
        Keep the digits of a text without letters: in a cell of a table they are the content.
    """
    if not _DIGIT.search(text) or (keep_numbers and not _LETTER.search(text)):
        return " ".join(short_words(text))
    found = words(_without_dates(text.lower()))
    text = " ".join(found)
    if max(map(len, found), default=0) >= TOKEN_LENGTH:
        text = _TOKEN.sub("0", text)
    return _DIGITS.sub("0", text)


def _without_dates(text: str) -> str:
    """Replace the dates of a text in lower case by ``0``.

    A date ends with its year, so only what stands before a year is searched: a date may begin with
    any letter, and a search for one everywhere takes ten times as long.
    """
    pieces: list[str] = []
    done = 0
    for low, high in _before_years(text):
        for date in _DATE.finditer(text, low, high):
            pieces += text[done : date.start()], "0"
            done = date.end()
    return "".join([*pieces, text[done:]]) if done else text


def _before_years(text: str) -> Iterator[tuple[int, int]]:
    """Yield the ranges that the dates of a text lie in, each of which ends with a year."""
    low = high = 0
    for year in _YEAR.finditer(text):
        begin = max(year.end() - LONGEST_DATE, 0)
        if begin > high and high:
            yield low, high
            low = begin
        elif not high:
            low = begin
        high = year.end()
    if high:
        yield low, high


def letters_of(text: str) -> int:
    """Count the letters of a normalised text; digits count nothing."""
    if text.isascii():
        return len(text.encode("ascii").translate(None, _NO_LETTERS))
    found = 0
    for word in text.split():
        if len(word) == 1 and not word.isascii():
            found += WIDE_LETTER
        elif word != "0":
            found += len(word)
    return found


def normal_link(href: str) -> str:
    """Return what of a link stays the same from page to page.

    Query, fragment, path parameters (``;jsessionid=``), leading ``../`` and ``index.html`` go;
    tokens within the path are masked. Links to the same page and scripts become empty.
    """
    path = _LINK_END.split(href, maxsplit=1)[0].strip().lower()
    if path.startswith(("javascript:", "data:")):
        return ""
    path = _INDEX.sub("", _LINK_START.sub("", path)).rstrip("/")
    return _TOKEN.sub("0", path)
