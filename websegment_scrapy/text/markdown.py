"""The main text as Markdown: headings, lists, tables, code and quotes keep their form.

Text is written as it is, with a backslash where it would mean something at the start of a line or
as an HTML tag; links and emphasis are left out, because what is wanted is the text. A table that is
there for the layout is none: its texts are paragraphs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from websegment_scrapy.page.reading import Reader
from websegment_scrapy.page.tags import BLOCK, HEADINGS, TABLE_CELLS
from websegment_scrapy.page.walk import CODE_LINE

if TYPE_CHECKING:
    from websegment_scrapy.content.page_templates import PageTemplates
    from websegment_scrapy.page.tree import PageTree

__all__ = ["markdown_text"]

LONGEST_CELL = 500
"""Characters of a cell above which a table is there for the layout."""

MAX_ENCLOSURES = 50
"""Quotes and lists within each other that are marked: every line has the marks of all of them."""

_LISTS = frozenset({"ul", "ol", "menu", "dir"})
_NOT_IN_CELLS = HEADINGS | {"table", "pre", "ul", "ol", "blockquote", "article", "section"}
_MEANS_SOMETHING = re.compile(
    r"(\d*)((?:#{1,6}|[>+*-]|(?<=\d)[.)])(?:\s|$)|`{3}|~{3}|(?:[-=]+|[*_]{3,})\s*$)"
)
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_FENCE = re.compile(r"`{3,}")
QUOTE = ">"


@dataclass(frozen=True, slots=True)
class _Enclosure:
    """A quote or an item of a list, whose mark stands before the lines in it.

    CommonMark calls them container blocks (section 5).
    """

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
    enclosures: tuple[_Enclosure, ...] = ()
    open_table: int = field(default=-1, compare=False)
    is_ordered: bool = field(default=False, compare=False)


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
        self.code_tables = self._tables_of_code()

    def _tables_of_code(self) -> set[int]:
        """Return the tables of which each row is a line of code."""
        lines = (node for node, called in self.tree.names.items() if CODE_LINE in called)
        found = {self.parent[self.parent[line]] for line in lines}
        tables = found | {self.parent[node] for node in found if node >= 0}
        return {node for node in tables if node >= 0 and self.names[node] == "table"}

    def write(self, nodes: list[int]) -> str:
        lines: list[str] = []
        before: _Place | None = None
        for place, group in groupby(nodes, key=self._place_of):
            new_item = bool(place.enclosures) and place.enclosures[-1].node not in self.begun
            if before is not None and not _goes_on(before, place, new_item=new_item):
                lines.append(_shared_margin(before, place))
            written = self._lines(place, list(group))
            lines.extend(f"{self._margin(place)}{line}".rstrip() for line in written)
            before = place
        return "\n".join(lines)

    def _margin(self, place: _Place) -> str:
        margin = ""
        for enclosure in place.enclosures:
            is_new = enclosure.node not in self.begun
            margin += f"{enclosure.mark} " if is_new else enclosure.margin
            self.begun.add(enclosure.node)
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
        """Return what the elements around a text make of it: each element is looked at once."""
        chain, above = [], self.parent[node]
        while above >= 0 and above not in self.places:
            chain.append(above)
            above = self.parent[above]
        place = self.places[above] if above >= 0 else _Place(-1)
        for element in reversed(chain):
            place = self.places[element] = self._within(element, place)
        return place

    def _within(self, node: int, around: _Place) -> _Place:
        """Return what an element makes of the text in it, given what is around the element."""
        name, table = self.names[node], around.open_table
        if around.table >= 0 or around.code >= 0:
            return around  # in the cells of a table with data, and in code, there is only text
        if name in TABLE_CELLS and self._holds_data(table):
            return replace(self._around(table), block=table, table=table)
        place = replace(around, block=node) if name in BLOCK else around
        if name in HEADINGS:
            return replace(place, heading=int(name[1]))
        if name == "pre":
            return replace(place, code=node)
        if name == "table":
            if node in self.code_tables:
                return replace(place, code=node)
            return replace(place, open_table=node)
        if name in _LISTS:
            return replace(place, is_ordered=name == "ol")
        if name not in ("li", "blockquote") or len(around.enclosures) >= MAX_ENCLOSURES:
            return place
        mark = "-" if name == "li" else QUOTE
        if name == "li" and around.is_ordered:
            mark = f"{int(self.tree.nth[node])}."
        enclosures = (*around.enclosures, _Enclosure(node, mark))
        return replace(place, enclosures=enclosures, is_ordered=around.is_ordered and name != "li")

    def _around(self, node: int) -> _Place:
        return self.places.get(self.parent[node], _Place(-1))

    def _holds_data(self, table: int) -> bool:
        """Say whether a table is one: rows and columns, and no running text in its cells."""
        if table < 0:
            return False
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
    if not new_item or place.enclosures[-1].mark == QUOTE or not before.enclosures:
        return False
    marks = [enclosure.mark for enclosure in before.enclosures]
    own = [enclosure.mark for enclosure in place.enclosures]
    return marks[-1] != QUOTE and marks.count(QUOTE) == own.count(QUOTE)


def _shared_margin(before: _Place, place: _Place) -> str:
    """Return what stands on an empty line between two texts: the marks of quotes around both."""
    margin = ""
    for first, second in zip(before.enclosures, place.enclosures, strict=False):
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
