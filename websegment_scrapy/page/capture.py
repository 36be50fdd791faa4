r"""Layout that travels in the HTML: the script that writes it, and what reads and removes it.

A rendered page carries three attributes, written in the browser by ``capture.js`` (`SCRIPT`):

``data-ws-page`` on ``<html>``
    ``{"v": 1, "width", "height", "page_width", "page_height", "styles": [[…], …]}``: size of the
    viewport and of the page in CSS pixels, and the table of distinct styles (fields of `Style`).
``data-ws-box="x y w h s"`` on every element that has a box
    Document coordinates in whole CSS pixels, and the element's row of the style table.
``data-ws-text="x y w h;-;…"`` on every element with text of its own
    One entry for each non-blank text node among its children, ``-`` for one without a box.
    Characters of blank text: space, ``\t\n\r\f\v``, U+00A0, U+200B, U+FEFF.

Because the layout is part of the document it survives HTTP caches, WARC files and fixtures.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, NamedTuple

__all__ = [
    "CAPTURE_VERSION",
    "SCRIPT",
    "PageCapture",
    "Style",
    "is_captured",
    "read_box",
    "read_page",
    "read_text",
    "strip_capture",
]

CAPTURE_VERSION = 1
SCRIPT = files(__package__).joinpath("capture.js").read_text(encoding="utf-8")
"""A JavaScript function expression that takes ``{settle: milliseconds}``."""

_HEAD_CHARS = 65_536  # how far into a document <html> is looked for
_MAX_DIGITS = 9  # capture.js limits coordinates to ten million
_COORDINATE = re.compile(rf"-?\d{{1,{_MAX_DIGITS}}}", re.ASCII)

Box = tuple[int, int, int, int]


class Style(NamedTuple):
    """One row of the style table.

    Colours are ``"rrggbb"``; `background` is ``""`` when transparent. `visible` is false for
    ``visibility``, for opacity 0 on the element or above it, and for boxes clipped away or
    outside the page. `font_family` is the first name, in lower case.
    """

    display: str
    visible: bool
    color: str
    background: str
    font_size: float
    font_weight: int
    font_family: str
    italic: bool
    underline: bool
    border: bool
    position: str
    float_: str


@dataclass(frozen=True, slots=True)
class PageCapture:
    """What ``data-ws-page`` says: viewport, page size and the style table."""

    width: int
    height: int
    page_width: int
    page_height: int
    styles: tuple[Style, ...]


def read_page(value: str) -> PageCapture | None:
    """Read the value of ``data-ws-page``; ``None`` when it is broken or of another version."""
    try:
        page = json.loads(value)
        if page["v"] != CAPTURE_VERSION:
            return None
        return PageCapture(
            width=int(page["width"]),
            height=int(page["height"]),
            page_width=int(page["page_width"]),
            page_height=int(page["page_height"]),
            styles=tuple(_read_style(row) for row in page["styles"]),
        )
    except (KeyError, OverflowError, RecursionError, TypeError, ValueError):
        return None


def _read_style(row: list[Any]) -> Style:
    display, visible, color, background, size, weight, family, *marks, position, float_ = row
    italic, underline, border = (bool(mark) for mark in marks)
    return Style(
        display=str(display),
        visible=bool(visible),
        color=str(color),
        background=str(background),
        font_size=float(size),
        font_weight=int(weight),
        font_family=str(family),
        italic=italic,
        underline=underline,
        border=border,
        position=str(position),
        float_=str(float_),
    )


def read_box(value: str) -> tuple[int, int, int, int, int] | None:
    """Read the value of ``data-ws-box``: x, y, width, height, style; ``None`` when broken."""
    numbers = _whole_numbers(value)
    if numbers is None or len(numbers) != 5 or min(numbers[2:]) < 0:
        return None
    x, y, width, height, style = numbers
    return x, y, width, height, style


def read_text(value: str) -> list[Box | None]:
    """Read the value of ``data-ws-text``: a box, or ``None``, for each non-blank text node."""
    boxes: list[Box | None] = []
    for entry in value.split(";"):
        numbers = None if entry == "-" else _whole_numbers(entry)
        if numbers is None or len(numbers) != 4 or min(numbers[2:]) < 0:
            boxes.append(None)
        else:
            x, y, width, height = numbers
            boxes.append((x, y, width, height))
    return boxes


def _whole_numbers(value: str) -> list[int] | None:
    parts = value.split(" ")
    if not all(_COORDINATE.fullmatch(part) for part in parts):
        return None
    return [int(part) for part in parts]


# A start tag as the HTML tokeniser reads it; nothing backtracks, so any input takes linear time.
_ATTRIBUTES = r"""(?:[^"'>]++|"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z))*+(?:>|\Z)"""
_RAW_TEXT = "script|style|xmp|iframe|noembed|noframes|noscript|plaintext"
_MARKUP = re.compile(
    rf"""
    <(?: !--.*?(?:-->|\Z)
      | (?P<raw>{_RAW_TEXT})(?=[\s/>])(?P<attributes>{_ATTRIBUTES}).*?(?:</(?P=raw)|\Z)
      | [a-z]{_ATTRIBUTES}
    )""",
    re.DOTALL | re.IGNORECASE | re.VERBOSE,
)
_RECT = r"-?[0-9]+[ ]-?[0-9]+[ ][0-9]+[ ][0-9]+"
_CAPTURE = re.compile(
    rf"""
    (?:[ ]data-ws-(?:
        box="{_RECT}[ ][0-9]+"
      | text="(?:{_RECT}|-)(?:;(?:{_RECT}|-))*+"
      | page="{{&quot;v&quot;:[^"<>]*+"
    ))++(?=\s*/?>\Z)""",
    re.VERBOSE,
)
_CAPTURED = re.compile(
    r"""\s*(?:<!doctype[^>]*>\s*|<!--.*?-->\s*)*+<html\s[^<>]*?data-ws-page="\{&quot;v&quot;:""",
    re.DOTALL | re.IGNORECASE,
)
_MARK = " data-ws-"


def is_captured(html: str | bytes) -> bool:
    """Tell whether a document carries its layout, from its beginning alone."""
    head = html[:_HEAD_CHARS]
    text = head.decode("latin-1").removeprefix("ï»¿") if isinstance(head, bytes) else head
    return _CAPTURED.match(text.removeprefix("\ufeff")) is not None


def strip_capture(html: str) -> str:
    """Remove the three attributes from a serialised document and change nothing else.

    They are removed only where ``capture.js`` writes them, at the end of a start tag, and only
    with values of the exact form; comments, scripts, texts and other attributes that merely
    look alike stay.
    """
    return _MARKUP.sub(_strip_tag, html)


def _strip_tag(match: re.Match[str]) -> str:
    markup = match[0]
    found = markup.find(_MARK)
    if found < 0 or markup.startswith("<!--"):
        return markup
    end = match.end("attributes") - match.start() if match["raw"] else len(markup)
    return _CAPTURE.sub("", markup[:end], count=1) + markup[end:]
