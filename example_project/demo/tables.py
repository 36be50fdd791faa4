"""Texts in columns: aligned tables, two texts side by side, texts cut in the middle."""

from __future__ import annotations

from itertools import zip_longest
from textwrap import shorten, wrap
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = [
    "WIDTH",
    "aligned",
    "beside",
    "cut",
    "cut_words",
    "host",
    "one_line",
    "short_url",
    "wrapped",
]

WIDTH = 100
"""Columns that everything fits into."""


def aligned(
    rows: Iterable[Sequence[str]], *, left: Sequence[int] = (0,), text: bool = False
) -> str:
    """Align columns to the right, those of ``left`` to the left.

    With ``text`` the last column is a text that is shortened to what room there is.
    """
    rows = list(rows)
    if text:
        left = (*left, len(rows[0]) - 1)
        columns = list(zip(*rows, strict=True))[:-1]
        room = WIDTH - sum(max(map(len, column)) + 2 for column in columns)
        rows = [[*row[:-1], one_line(row[-1], room)] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            f"{cell:<{width}}" if place in left else f"{cell:>{width}}"
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def beside(first: Sequence[str], second: Sequence[str], sign: str = "|") -> list[str]:
    """Put the lines of two texts beside each other, with a sign between them."""
    half = column_width(sign)
    return [
        f"{one:<{half}} {sign} {other}".rstrip()
        for one, other in zip_longest(first, second, fillvalue="")
    ]


def column_width(sign: str = "|") -> int:
    """Return how wide each of two columns may be."""
    return (WIDTH - len(sign) - 2) // 2


def wrapped(text: str) -> list[str]:
    """Break a text, line by line, into lines of one of two columns."""
    return [line for part in text.splitlines() for line in wrap(part, column_width())]


def cut(lines: Sequence[str], first: int, last: int) -> list[str]:
    """Keep the first and the last lines and say how many are left out between them."""
    left_out = len(lines) - first - last
    if left_out < 2:
        return list(lines)
    return [*lines[:first], f"    [… {left_out} lines …]", *lines[len(lines) - last :]]


def cut_words(words: Sequence[str], shown: int) -> str:
    """Keep so many of the first and of the last words, with an ellipsis between them."""
    if len(words) <= 2 * shown + 1:
        return " ".join(words)
    return " ".join([*words[:shown], "…", *words[-shown:]])


def one_line(text: str, room: int = WIDTH) -> str:
    """Write a text on one line and shorten it at a word."""
    return shorten(text, room, placeholder=" …")


def short_url(url: str, names: Mapping[str, str], room: int = WIDTH) -> str:
    """Shorten a URL to the site's name and the beginning of the path."""
    text = f"{names.get(host(url), host(url))} {url.split(host(url), 1)[1]}"
    return text if len(text) <= room else text[: room - 1] + "…"


def host(url: str) -> str:
    """Return host and port."""
    return urlsplit(url).netloc
