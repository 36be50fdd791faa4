"""Styles of pages that were not rendered, from tags and presentational attributes alone.

Style sheets are not read: the defaults of the HTML standard, the ``font`` element and inline
styles are all that is known.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from websegment_scrapy.page.capture import Style
from websegment_scrapy.page.tags import BLOCK, HEADINGS
from websegment_scrapy.page.tree import TEXT

if TYPE_CHECKING:
    from websegment_scrapy.page.walk import Nodes

__all__ = ["DEFAULT_STYLE", "static_styles", "whole_number"]

DEFAULT_STYLE = Style(
    display="block",
    visible=True,
    color="000000",
    background="",
    font_size=16.0,
    font_weight=400,
    font_family="serif",
    italic=False,
    underline=False,
    border=False,
    position="static",
    float_="none",
)

_FONT_SIZE = {"h1": 2.0, "h2": 1.5, "h3": 1.17, "h5": 0.83, "h6": 0.67, "small": 0.83, "big": 1.2}
"""Relative font sizes of the HTML standard's style sheet (section 15.3)."""

_FONT_ELEMENT = {"1": 10.0, "2": 13.0, "3": 16.0, "4": 18.0, "5": 24.0, "6": 32.0, "7": 48.0}
_BOLD = HEADINGS | {"b", "strong", "th"}
_ITALIC = frozenset({"i", "em", "cite", "dfn", "var", "address"})
_MONOSPACE = frozenset({"pre", "code", "tt", "kbd", "samp"})
_LINK_COLOR = "0000ee"
_DECLARATION = re.compile(
    r"(?<![\w-])(font-size|font-weight|background(?:-color)?|color|float|position)\s*:\s*([^;]+)",
    re.IGNORECASE,
)
_HEX = re.compile(r"#?([0-9a-f]{6}|[0-9a-f]{3})\b", re.IGNORECASE)
_LENGTH = re.compile(r"([\d.]+)\s*(px|pt|em|rem|%)", re.IGNORECASE)
MIN_FONT_SIZE, MAX_FONT_SIZE = 1.0, 200.0
MAX_DIGITS = 9
_UNITS = {"px": 1.0, "pt": 4 / 3, "rem": 16.0}
_NAMED = {
    "black": "000000",
    "white": "ffffff",
    "red": "ff0000",
    "green": "008000",
    "blue": "0000ff",
    "gray": "808080",
    "grey": "808080",
    "yellow": "ffff00",
    "silver": "c0c0c0",
    "navy": "000080",
    "orange": "ffa500",
}


_Key = tuple[int, str, bool] | tuple[int, str, bool, str | None, str | None, str | None]
"""The number of the style above, tag, whether it is a link, and what it declares, if anything."""


def static_styles(nodes: Nodes) -> tuple[list[int], tuple[Style, ...]]:
    """Give every node a style inherited from its parent and changed by its own tag.

    Returns the number of each node's style, and the distinct styles in the order of their numbers.
    """
    table: dict[Style, int] = {}
    styles: list[Style] = []
    numbers: list[int] = []
    known: dict[_Key, int] = {}
    link, presentation = nodes.link, nodes.presentation
    for index, (tag, parent) in enumerate(zip(nodes.tag, nodes.parent, strict=True)):
        above = numbers[parent] if parent >= 0 else -1
        if tag == TEXT and parent >= 0:
            numbers.append(above)
            continue
        shown = presentation.get(index)
        if shown is None:
            is_link = tag == "a" and parent >= 0 and link[index] != link[parent]
            key: _Key = (above, tag, is_link)
        else:
            is_link = tag == "a" and link[index] >= 0
            key = (above, tag, is_link, shown.get("color"), shown.get("size"), shown.get("style"))
        number = known.get(key)
        if number is None:
            around = styles[above] if above >= 0 else DEFAULT_STYLE
            style = _declared(_own_style(around, tag, is_link=is_link), shown or {})
            number = known[key] = table.setdefault(style, len(table))
            if number == len(styles):
                styles.append(style)
        numbers.append(number)
    return numbers, tuple(styles) or (DEFAULT_STYLE,)


def _own_style(above: Style, tag: str, *, is_link: bool) -> Style:
    return above._replace(
        display="block" if tag in BLOCK else "inline",
        background="",
        border=tag in ("hr", "fieldset"),
        position="static",
        float_="none",
        font_size=_bounded(above.font_size * _FONT_SIZE.get(tag, 1.0)),
        font_weight=700 if tag in _BOLD else above.font_weight,
        font_family="monospace" if tag in _MONOSPACE else above.font_family,
        italic=tag in _ITALIC or above.italic,
        underline=is_link or tag in ("u", "ins") or above.underline,
        color=_LINK_COLOR if is_link else above.color,
    )


def _declared(style: Style, shown: dict[str, str]) -> Style:
    if color := _color(shown.get("color", "")):
        style = style._replace(color=color)
    if size := _FONT_ELEMENT.get(shown.get("size", "")):
        style = style._replace(font_size=size)
    for name, value in _DECLARATION.findall(shown.get("style", "")):
        style = _declaration(style, name.lower(), value.strip().lower())
    return style


def _declaration(style: Style, name: str, value: str) -> Style:
    if name == "color":
        return style._replace(color=_color(value) or style.color)
    if name.startswith("background"):
        return style._replace(background=_color(value) or style.background)
    if name == "float" and value in ("left", "right"):
        return style._replace(float_=value)
    if name == "position" and value in ("absolute", "fixed", "relative", "sticky"):
        return style._replace(position=value)
    if name == "font-weight":
        weight = 700 if value.startswith("bold") else whole_number(value, 400)
        return style._replace(font_weight=min(weight, 1000))
    if name == "font-size" and (match := _LENGTH.match(value)):
        try:
            amount = float(match[1])
        except ValueError:
            return style
        unit = {"em": style.font_size, "%": style.font_size / 100} | _UNITS
        return style._replace(font_size=_bounded(amount * unit[match[2]]))
    return style


def _bounded(size: float) -> float:
    """Return a font size within the bounds: headings may be nested without end."""
    return round(min(max(size, MIN_FONT_SIZE), MAX_FONT_SIZE), 1)


def whole_number(value: str, default: int) -> int:
    """Read a number of an attribute; one of more than `MAX_DIGITS` digits is none."""
    return int(value) if len(value) <= MAX_DIGITS and value.isdecimal() else default


def _color(value: str) -> str:
    value = value.strip().lower()
    if named := _NAMED.get(value):
        return named
    if match := _HEX.search(value):
        digits = match[1].lower()
        return digits if len(digits) == 6 else "".join(digit * 2 for digit in digits)
    return ""
