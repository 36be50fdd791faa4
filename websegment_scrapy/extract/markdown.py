"""The main text as Markdown: headings, lists, tables, code and quotes keep their form.

Text is written as it is, with a backslash where it would mean something at the start of a line or
as an HTML tag; links and emphasis are left out, because what is wanted is the text. A table that is
there for the layout is none: its texts are paragraphs.
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

LONGEST_CELL = 500
"""Characters of a cell above which a table is there for the layout."""

_NOT_IN_CELLS = HEADINGS | {"table", "pre", "ul", "ol", "blockquote", "article", "section"}
_MEANS_SOMETHING = re.compile(
    r"(\d*)((?:#{1,6}|[>+*-]|(?<=\d)[.)])(?:\s|$)|`{3}|~{3}|(?:[-=]+|[*_]{3,})\s*$)"
)
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_FENCE = re.compile(r"`{3,}")
QUOTE = ">"


@dataclass(frozen=True, slots=True)
class _Container:
    """A quote or an item of a list, whose mark stands before the lines in it."""

    node: int
    mark: str

    @property
    def margin(self) -> str:
        """What stands before all lines but an item's first one."""
        return "> " if self.mark == QUOTE else " " * (len(self.mark) + 1)


@dataclass(frozen=True, slots=True)
class _Place:
    """What the elements around a text make of it; nodes are -1 where there is none."""

    block: int
    heading: int = 0
    code: int = -1
    table: int = -1
    containers: tuple[_Container, ...] = ()


def markdown_text(tree: PageTree, templates: PageTemplates) -> str:
    """Return the text that is not template as Markdown."""
    return _Writer(tree, templates).write(templates.main.tolist())


class _Writer:
    def __init__(self, tree: PageTree, templates: PageTemplates) -> None:
        self.tree = tree
        self.parent: list[int] = tree.parent.tolist()
        self.names = [tree.tags[number] for number in tree.tag.tolist()]
        self.reader = Reader(tree, templates.nodes)
        self.places: dict[int, _Place] = {}
        self.is_data: dict[int, bool] = {}
        self.begun: set[int] = set()

    def write(self, nodes: list[int]) -> str:
        lines: list[str] = []
        before: _Place | None = None
        for place, group in groupby(nodes, key=self._place_of):
            new_item = bool(place.containers) and place.containers[-1].node not in self.begun
            if before is not None and not _goes_on(before, place, new_item=new_item):
                lines.append(_shared_margin(before, place))
            written = self._lines(place, list(group))
            lines.extend(f"{self._margin(place)}{line}".rstrip() for line in written)
            before = place
        return "\n".join(lines)

    def _margin(self, place: _Place) -> str:
        margin = ""
        for container in place.containers:
            is_new = container.node not in self.begun
            margin += f"{container.mark} " if is_new else container.margin
            self.begun.add(container.node)
        return margin

    def _lines(self, place: _Place, nodes: list[int]) -> list[str]:
        if place.table >= 0:
            return self._table(nodes)
        text = self.reader.text(np.array(nodes, dtype=np.int64))
        if place.heading:
            return [f"{'#' * place.heading} {_plain(' '.join(text.split()))}"]
        if place.code >= 0:
            longest = max((len(found) for found in _FENCE.findall(text)), default=2)
            fence = "`" * (longest + 1)
            return [fence, *text.split("\n"), fence]
        return [_escaped(line) for line in text.split("\n") if line]

    def _table(self, nodes: list[int]) -> list[str]:
        """Write the rows of a table in which something is kept, all equally wide."""
        texts: dict[int, str] = {}
        for cell, group in groupby(nodes, key=lambda node: self._above(node, TABLE_CELLS)):
            text = self.reader.text(np.array(list(group), dtype=np.int64))
            texts[cell] = _plain(" ".join(text.split())).replace("|", "\\|")
        kept = dict.fromkeys(self.parent[cell] for cell in texts)
        rows = [[texts.get(cell, "") for cell in self._cells(row)] for row in kept]
        width = max(len(row) for row in rows)
        lines = ["| " + " | ".join(row + [""] * (width - len(row))) + " |" for row in rows]
        return [lines[0], "|" + " --- |" * width, *lines[1:]]

    def _cells(self, row: int) -> list[int]:
        inside = range(row + 1, int(self.tree.end[row]))
        return [
            node for node in inside if self.parent[node] == row and self.names[node] in TABLE_CELLS
        ]

    def _above(self, node: int, names: frozenset[str]) -> int:
        while self.names[node] not in names:
            node = self.parent[node]
        return node

    def _place_of(self, node: int) -> _Place:
        parent = self.parent[node]
        if parent not in self.places:
            self.places[parent] = self._look_up(parent)
        return self.places[parent]

    def _look_up(self, node: int) -> _Place:
        """Look at the elements from a text's parent up."""
        block, heading, code, table, in_cell = -1, 0, -1, -1, False
        containers: list[_Container] = []
        item = -1
        while node >= 0:
            name = self.names[node]
            if block < 0 and name in BLOCK:
                block = node
            if name in HEADINGS and not heading:
                heading = int(name[1])
            elif name == "pre":
                code = node
            elif name in TABLE_CELLS:
                in_cell = True
            elif name == "table":
                if in_cell and self._holds_data(node):
                    block, heading, code, table, containers, item = node, 0, -1, node, [], -1
                in_cell = False
            elif name == "blockquote":
                containers.append(_Container(node, QUOTE))
            elif name == "li":
                item = node
                containers.append(_Container(node, "-"))
            elif name == "ol" and item >= 0:
                containers[-1] = _Container(item, f"{int(self.tree.nth[item])}.")
            if name in ("ul", "ol", "menu", "dir"):
                item = -1
            node = self.parent[node]
        return _Place(block, heading, code, table, tuple(reversed(containers)))

    def _holds_data(self, table: int) -> bool:
        """Say whether a table is one: rows and columns, and no running text in its cells."""
        if table not in self.is_data:
            self.is_data[table] = self._has_rows_and_columns(table)
        return self.is_data[table]

    def _has_rows_and_columns(self, table: int) -> bool:
        tree, end = self.tree, int(self.tree.end[table])
        cells: dict[int, int] = {}
        for node in range(table + 1, end):
            name = self.names[node]
            if name in _NOT_IN_CELLS:
                return False
            if name in TABLE_CELLS:
                row = self.parent[node]
                cells[row] = cells.get(row, 0) + 1
                if tree.text_end[int(tree.end[node]) - 1] - tree.text_start[node] > LONGEST_CELL:
                    return False
        return len(cells) > 1 and max(cells.values()) > 1


def _goes_on(before: _Place, place: _Place, *, new_item: bool) -> bool:
    """Say whether no empty line stands between: rows of a table, items of a list."""
    if before.table >= 0 and before.table == place.table:
        return True
    if not new_item or place.containers[-1].mark == QUOTE or not before.containers:
        return False
    marks = [container.mark for container in before.containers]
    own = [container.mark for container in place.containers]
    return marks[-1] != QUOTE and marks.count(QUOTE) == own.count(QUOTE)


def _shared_margin(before: _Place, place: _Place) -> str:
    """Return what stands on an empty line between two texts: the marks of quotes around both."""
    margin = ""
    for first, second in zip(before.containers, place.containers, strict=False):
        if first != second:
            break
        margin += first.margin
    return margin.rstrip()


def _plain(text: str) -> str:
    return _TAG.sub(r"\\<", text)


def _escaped(line: str) -> str:
    match = _MEANS_SOMETHING.match(line)
    if match:
        line = f"{match[1]}\\{line[match.end(1) :]}"
    return _plain(line)
