r"""Layout that travels in the HTML: the script that reads it, and what reads and removes it.

A rendered page (`Captured`) carries three attributes, written in the browser by ``capture.js``
(`SCRIPT`). ``M`` is the capture's mark, a random text that the page cannot know, so what a page has
of such attributes itself is never taken for layout:

``data-ws-M-page`` on ``<html>``
    ``{"v": 3, "width", "height", "page_width", "page_height", "styles": [[…], …]}``: size of the
    viewport and of the page in CSS pixels, and the table of distinct styles (fields of `Style`).
``data-ws-M-box="x y w h s"`` on every element that has a box
    Document coordinates in whole CSS pixels, and the element's row of the style table.
``data-ws-M-text="x y w h;-;…"`` on every element with text of its own
    One entry for each non-blank text node among its children, ``-`` for one without a box or
    indented out of sight.
    Characters of blank text: space, ``\t\n\r\f\v``, U+00A0, U+200B, U+FEFF.

Because the layout is part of the document it survives HTTP caches. The mark does not travel in the
document: whoever stores one must keep it, and must know that it came from a capture.
"""

from __future__ import annotations

import json
import re
import secrets
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, NamedTuple, get_type_hints

__all__ = [
    "CAPTURE_VERSION",
    "SCRIPT",
    "Captured",
    "PageCapture",
    "Style",
    "new_mark",
    "read_box",
    "read_page",
    "read_text",
]

CAPTURE_VERSION = 3
SCRIPT = files(__package__).joinpath("capture.js").read_text(encoding="utf-8")
"""A JavaScript function expression; its head says what it takes and returns."""

MARK_BYTES = 8
"""Of the mark's randomness: a page has one guess, for the mark is used once."""

_MARK = re.compile(r"[0-9a-f]{2,64}")
_MAX_DIGITS = 9  # capture.js limits coordinates to ten million
_COORDINATE = re.compile(rf"-?\d{{1,{_MAX_DIGITS}}}", re.ASCII)

Box = tuple[int, int, int, int]


def new_mark() -> str:
    """Return a mark for one capture."""
    return secrets.token_hex(MARK_BYTES)


@dataclass(frozen=True, slots=True)
class Captured:
    """The HTML of a rendered page with its layout in it.

    Parameters
    ----------
    html
        The document, serialised by the browser.
    mark
        What the names of the layout's attributes contain: small hexadecimal digits.
    """

    html: str
    mark: str

    def __post_init__(self) -> None:
        if not _MARK.fullmatch(self.mark):
            raise ValueError(f"mark is {self.mark!r}: it takes small hexadecimal digits")

    def name(self, what: str) -> str:
        """Return the name of an attribute: ``what`` is ``"page"``, ``"box"`` or ``"text"``."""
        return f"data-ws-{self.mark}-{what}"

    def plain(self) -> str:
        """Return the document without its layout, otherwise unchanged.

        The browser writes the values in double quotes and without any inside; nothing else in the
        document has such a name.
        """
        return re.sub(rf' data-ws-{self.mark}-(?:page|box|text)="[^"]*+"', "", self.html)


class Style(NamedTuple):
    """One row of the style table.

    Colours are ``"rrggbb"``; `background` is ``""`` when transparent. `visible` is false for
    ``visibility``, for opacity 0 on the element or above it, and for boxes clipped away or
    outside the page. `comes` says of such an element that it has a transition or an animation, or
    that the box that cuts it off shows something else: it is hidden for the moment. `pointer` is
    the cursor of what can be clicked. `font_family` is the first name, in lower case.
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
    comes: bool = False
    pointer: bool = False


_STYLE_KINDS = tuple(get_type_hints(Style).values())


@dataclass(frozen=True, slots=True)
class PageCapture:
    """What ``data-ws-page`` says: the viewport's width and the style table."""

    width: int
    styles: tuple[Style, ...]


def read_page(value: str) -> PageCapture | None:
    """Read the value of ``data-ws-page``; ``None`` when it is broken or of another version."""
    try:
        page = json.loads(value)
        if page["v"] != CAPTURE_VERSION:
            return None
        return PageCapture(int(page["width"]), tuple(map(_read_style, page["styles"])))
    except (KeyError, OverflowError, RecursionError, TypeError, ValueError):
        return None


def _read_style(row: list[Any]) -> Style:
    """Read a row of the style table; a number of values that is not that of `Style` is an error."""
    return Style(*(kind(value) for kind, value in zip(_STYLE_KINDS, row, strict=True)))


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
