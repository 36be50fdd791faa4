"""Which passages two texts share, on the evidence of their signatures: windows of words.

A passage is a run of words that stands in both texts and is at least a window long. The words of
the first text that are in some passage are exactly those of its shared shingles, whatever their
order in the second; so what is marked is what made the similarity.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from websegment_scrapy.page.words import words

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["EDIT_WIDTH", "Passage", "Piece", "edits", "marked_texts", "shared_passages"]

EDIT_WIDTH = 3
"""Words in a row that count as kept when two visits to a page are compared: small edits show."""

_TOKEN = re.compile(r"\s*\S+|\s+")


@dataclass(frozen=True, slots=True)
class Passage:
    """A run of words that both texts have: where it begins in each, and how many words it has."""

    first: int
    second: int
    length: int


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a text; ``passage`` is the number of the passage it belongs to, if any."""

    text: str
    passage: int | None


def shared_passages(first: Sequence[str], second: Sequence[str], width: int) -> list[Passage]:
    """Return the passages of `first`, in its order, each at least `width` words long.

    The time is linear in the words: of a window that the second text repeats, the place after the
    former passage is taken, or else the first.
    """
    width = max(1, min(width, len(first), len(second)))
    places: dict[tuple[str, ...], int] = {}
    for at in range(len(second) - width, -1, -1):
        places[tuple(second[at : at + width])] = at
    found: list[Passage] = []
    at = 0
    while at + width <= len(first):
        window = tuple(first[at : at + width])
        if window not in places:
            at += 1
            continue
        place = places[window]
        if found:
            following = found[-1].second + found[-1].length
            if tuple(second[following : following + width]) == window:
                place = following
        length = width
        while (
            at + length < len(first)
            and place + length < len(second)
            and first[at + length] == second[place + length]
        ):
            length += 1
        found.append(Passage(at, place, length))
        # The windows that reach beyond the passage are looked at too, as its shingles are.
        at = _next_start(first, places, at, length, width)
    return found


def _next_start(
    first: Sequence[str],
    places: dict[tuple[str, ...], int],
    at: int,
    length: int,
    width: int,
) -> int:
    """Return where the next passage may begin: inside the last one if a window there goes on."""
    for start in range(at + length - width + 1, at + length):
        if tuple(first[start : start + width]) in places:
            return start
    return at + length


def marked_texts(first: str, second: str, width: int) -> tuple[list[Piece], list[Piece]]:
    """Return both texts in pieces: those of the same passage have the same number.

    Line breaks stay in the pieces. What the second text repeats of a passage belongs to it too.
    """
    ours, theirs = _tokens(first), _tokens(second)
    first_words, second_words = _words(ours), _words(theirs)
    passages = shared_passages(first_words, second_words, width)
    of_first: list[int | None] = [None] * len(first_words)
    of_second: list[int | None] = [None] * len(second_words)
    for number, passage in enumerate(passages):
        for offset in range(passage.length):
            if of_first[passage.first + offset] is None:
                of_first[passage.first + offset] = number
            if of_second[passage.second + offset] is None:
                of_second[passage.second + offset] = number
    for back in shared_passages(second_words, first_words, width):
        for offset in range(back.length):
            if of_second[back.first + offset] is None:
                of_second[back.first + offset] = of_first[back.second + offset]
    return _pieces(ours, of_first), _pieces(theirs, of_second)


@dataclass(frozen=True, slots=True)
class _Token:
    """A piece of text with the blanks before it, and its words as signatures count them."""

    text: str
    words: tuple[str, ...]


def _tokens(text: str) -> list[_Token]:
    """Cut a text so that each piece has as few words as possible."""
    found: list[_Token] = []
    for match in _TOKEN.finditer(text):
        piece = match[0]
        own = tuple(words(piece))
        single = [tuple(words(each)) for each in piece] if len(own) > 2 else []
        if sum(map(len, single)) == len(own) > 2:
            # A script without spaces: each character is a word.
            found += [_Token(each, its) for each, its in zip(piece, single, strict=True)]
        else:
            found.append(_Token(piece, own))
    return found


def _words(tokens: Sequence[_Token]) -> list[str]:
    return [word for token in tokens for word in token.words]


def _pieces(tokens: Sequence[_Token], passages: Sequence[int | None]) -> list[Piece]:
    """Join tokens of the same passage; one without words goes with what stands before it."""
    numbered: list[tuple[str, int | None]] = []
    at = 0
    for token in tokens:
        own = passages[at : at + len(token.words)]
        at += len(token.words)
        if own:
            number = next((each for each in own if each is not None), None)
        else:
            number = numbered[-1][1] if numbered else None
        blank = len(token.text) - len(token.text.lstrip())
        if numbered and blank and numbered[-1][1] != number:
            # Blanks between a passage and what is none belong to neither: no marked edges.
            numbered.append((token.text[:blank], None))
            numbered.append((token.text[blank:], number))
        else:
            numbered.append((token.text, number))
    return [
        Piece("".join(text for text, _ in run), number)
        for number, run in groupby(numbered, key=lambda each: each[1])
    ]


def edits(before: str, after: str, width: int = EDIT_WIDTH) -> list[tuple[str, str]]:
    """Return what was taken out of a text (``-``) and put in (``+``), in the order of the texts.

    What moved as a whole is no edit.
    """
    found: list[tuple[int, str, str]] = []
    for sign, pieces in zip("-+", marked_texts(before, after, width), strict=True):
        last = -1
        for piece in pieces:
            if piece.passage is not None:
                last = piece.passage
            elif words(piece.text):
                found.append((last, sign, " ".join(piece.text.split())))
    order = {"-": 0, "+": 1}
    return [(sign, text) for _, sign, text in sorted(found, key=lambda e: (e[0], order[e[1]]))]
