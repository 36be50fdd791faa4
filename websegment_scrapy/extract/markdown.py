"""The main text as Markdown: headings, lists, tables, code and quotes keep their form.

Text is written as it is, with a backslash where the start of a line would mean something; links and
emphasis are left out, because what is wanted is the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from websegment_scrapy.page.reading import Reader
from websegment_scrapy.page.tags import BLOCK, HEADINGS, TABLE_CELLS

if TYPE_CHECKING:
    from websegment_scrapy.page.tree import PageTree
    from websegment_scrapy.template.page_templates import PageTemplates

__all__ = ["markdown_text"]

_LISTS = frozenset({"ul", "ol", "menu", "dir"})
_MEANS_SOMETHING = re.compile(r"(\d*)((?:#{1,6}|[>+*-]|(?<=\d)[.)])(?:\s|$)|`{3})")
INDENT = "  "


@dataclass(frozen=True, slots=True)
class _Place:
    """What the elements around a text make of it; nodes are -1 where there is none."""

    block: int
    heading: int = 0
    is_code: bool = False
    item: int = -1
    marker: str = ""
    depth: int = 0
    row: int = -1
    table: int = -1
    quotes: int = 0


def markdown_text(tree: PageTree, templates: PageTemplates) -> str:
    """Return the text that is not template as Markdown."""
    reader = Reader(tree, templates.nodes)
    places: dict[int, _Place] = {}

    def place_of(node: int) -> _Place:
        parent = int(tree.parent[node])
        if parent not in places:
            places[parent] = _place(tree, parent)
        return places[parent]

    chunks: list[tuple[_Place, str]] = []
    for place, nodes in groupby(templates.main.tolist(), key=place_of):
        text = reader.text(np.fromiter(nodes, np.int64))
        if chunks and place.row >= 0 and chunks[-1][0].row == place.row:
            chunks[-1] = (chunks[-1][0], f"{chunks[-1][1]} | {_one_line(text)}")
        else:
            chunks.append((place, _one_line(text) if place.row >= 0 else text))
    lines: list[str] = []
    before: _Place | None = None
    for place, text in chunks:
        if before is not None and not _belong_together(before, place):
            lines.append(_quoted("", min(before.quotes, place.quotes)))
        lines.extend(_quoted(line, place.quotes) for line in _written(text, place, before))
        before = place
    return "\n".join(lines)


def _place(tree: PageTree, node: int) -> _Place:
    """Look at the elements from a text's parent up."""
    block = item = row = table = -1
    heading = depth = quotes = 0
    is_code, marker, in_cell = False, "", False
    while node >= 0:
        name = tree.tag_name(node)
        if block < 0 and name in BLOCK:
            block = node
        if name in HEADINGS and not heading:
            heading = int(name[1])
        elif name == "pre":
            is_code = True
        elif name == "li" and item < 0:
            item = node
        elif name in _LISTS:
            depth += 1
            if item >= 0 and not marker:
                marker = f"{int(tree.nth[item])}." if name == "ol" else "-"
        elif name in TABLE_CELLS and row < 0:
            in_cell = True
        elif name == "tr" and in_cell and row < 0:
            row = node
        elif name == "table" and row >= 0 and table < 0:
            table = node
        elif name == "blockquote":
            quotes += 1
        node = int(tree.parent[node])
    if is_code or heading:
        row = table = -1
    return _Place(block, heading, is_code, item, marker, depth, row, table, quotes)


def _written(text: str, place: _Place, before: _Place | None) -> list[str]:
    """Write one text; it may have several lines."""
    if place.heading:
        return [f"{'#' * place.heading} {_one_line(text)}"]
    if place.is_code:
        return ["```", *text.split("\n"), "```"]
    if place.row >= 0:
        first = before is None or before.table != place.table
        cells = text.count(" | ") + 1
        return [f"| {text} |", *(["|" + " --- |" * cells] if first else [])]
    lines = [_escaped(line) for line in text.split("\n") if line]
    if place.item < 0 or not place.marker:
        return lines
    margin = INDENT * max(place.depth - 1, 0)
    hang = margin + " " * (len(place.marker) + 1)
    goes_on = before is not None and before.item == place.item
    head = hang if goes_on else f"{margin}{place.marker} "
    return [f"{head if number == 0 else hang}{line}" for number, line in enumerate(lines)]


def _belong_together(before: _Place, place: _Place) -> bool:
    """Say whether no empty line stands between: rows of a table, items of a list."""
    if before.table >= 0 or place.table >= 0:
        return before.table == place.table
    return before.item >= 0 and place.item >= 0 and before.item != place.item


def _one_line(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _escaped(line: str) -> str:
    match = _MEANS_SOMETHING.match(line)
    return f"{match[1]}\\{line[match.end(1) :]}" if match else line


def _quoted(line: str, quotes: int) -> str:
    return f"{'> ' * quotes}{line}".rstrip() if quotes else line
