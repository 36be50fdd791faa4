"""Line numbers beside code, which highlighters write into pages as text: they are none of it.

A reader sees them, but nobody wrote them, and each design has its own way: a cell beside the code
(Pygments, Rouge, Hexo, Chroma, SyntaxHighlighter), a cell in each row, or a ``span`` at the
beginning of each line. All have in common that they are nothing but numbers that follow each other,
and that they stand beside code. Numbers in tables of figures, and numbers in code, do not.

A text that is a line number is taken out of its node, which stays.
"""

from __future__ import annotations

import re
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple

from websegment_scrapy.page.tags import TABLE_CELLS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from websegment_scrapy.page.walk import Nodes

__all__ = ["drop_line_numbers"]

_NUMBERS = re.compile(r"\s*+\d{1,6}+(?:\s++\d{1,6}+)*+\s*+")
_NAMES = frozenset(
    "gutter lineno linenos linenodiv linenum linenumber linenumbers line-number line-numbers "
    "line_numbers ln lnt crayon-num crayon-nums hljs-ln-numbers blob-num rouge-gutter "
    "js-line-number react-syntax-highlighter-line-number".split()
)
"""What highlighters call their numbers. Without such a name, a single number is none of a line."""

_LINES = frozenset({"br", "div", "li", "p"})
"""Elements in ``pre`` that begin a line."""

LEVELS = 12
"""Elements around a number that are looked at."""

CELLS = 3
"""Most cells of a row of code: numbers before and after a change, and the line."""


class _Place(NamedTuple):
    """Where a number stands: in a cell, in ``pre``, or in what is called a gutter."""

    node: int
    kind: str
    is_named: bool


def drop_line_numbers(nodes: Nodes) -> None:
    """Take the text away from the nodes that are line numbers."""
    numbers = {
        node: [int(number) for number in text.split()]
        for node, text in enumerate(nodes.text)
        if text and text[0] <= "9" and text.isascii() and _NUMBERS.fullmatch(text)
    }
    if not numbers or ("pre" not in nodes.tag and "table" not in nodes.tag):
        return
    code = _Code(nodes)
    for group, is_named in code.columns(numbers):
        counted = [number for node in group for number in numbers[node]]
        if _follow(counted) and (is_named or len(counted) > 1):
            for node in group:
                _drop(nodes, node)


class _Code:
    """What is asked of a page's nodes about code."""

    def __init__(self, nodes: Nodes) -> None:
        self.nodes = nodes
        self.texts = list(accumulate(map(bool, nodes.text), initial=0))
        self.pres = list(accumulate((tag == "pre" for tag in nodes.tag), initial=0))

    def columns(self, numbers: dict[int, list[int]]) -> Iterator[tuple[list[int], bool]]:
        """Yield the texts that may be the line numbers of one piece of code, and if a name says so.

        Numbers that are alone in their cells may be those of a table of which each row is a line.
        """
        nodes = self.nodes
        places: dict[_Place, list[int]] = {}
        for node in numbers:
            places.setdefault(self._place(node), []).append(node)
        rows: dict[tuple[int, bool], list[int]] = {}
        for place, group in places.items():
            if place.kind == "pre":
                starting = [node for node in group if self._begins_line(node, place.node)]
                first = starting[0] if starting else place.node
                is_first = self._count(self.texts, place.node, first) == 0
                texts = self._count(self.texts, place.node, nodes.end[place.node])
                if is_first and len(starting) < texts:
                    yield starting, place.is_named
            elif len(group) != self._count(self.texts, place.node, nodes.end[place.node]):
                continue
            elif place.kind == "gutter":
                around = nodes.parent[place.node]
                if self._count(self.pres, around, nodes.end[around]):
                    yield group, place.is_named
            elif self._is_beside_code(place):
                if sum(len(numbers[node]) for node in group) > 1:
                    yield group, place.is_named
                else:
                    table = nodes.parent[nodes.parent[place.node]]
                    rows.setdefault((table, place.is_named), []).extend(group)
        for (_, is_named), group in rows.items():
            yield group, is_named

    def _place(self, node: int) -> _Place:
        nodes = self.nodes
        pre = gutter = -1
        above = nodes.parent[node]
        for _ in range(LEVELS):
            if above < 0:
                break
            if not _NAMES.isdisjoint(nodes.names.get(above, "").split()):
                gutter = above
            if nodes.tag[above] in TABLE_CELLS:
                return _Place(above, "cell", gutter >= 0)
            if nodes.tag[above] == "pre" and pre < 0:
                pre = above
            above = nodes.parent[above]
        if pre >= 0 and not 0 <= gutter <= pre:
            return _Place(pre, "pre", gutter >= 0)
        return _Place(max(gutter, 0), "gutter", gutter >= 0)

    def _is_beside_code(self, place: _Place) -> bool:
        """Say whether another cell of the row has code; a name says so as well."""
        nodes, row = self.nodes, self.nodes.parent[place.node]
        cells: list[int] = []
        node = row + 1
        while node < nodes.end[row] and len(cells) <= CELLS:
            if nodes.tag[node] in TABLE_CELLS:
                cells.append(node)
            node = nodes.end[node]
        if not 2 <= len(cells) <= CELLS:
            return False
        others = (cell for cell in cells if cell != place.node)
        return place.is_named or any(self._count(self.pres, at, nodes.end[at]) for at in others)

    def _begins_line(self, node: int, pre: int) -> bool:
        """Say whether a text in ``pre`` is the first of its line."""
        if "\n" in self.nodes.blank_before.get(node, ""):
            return True
        for before in range(node - 1, pre, -1):
            if self.nodes.text[before]:
                return False
            if self.nodes.tag[before] in _LINES:
                return True
        return True

    @staticmethod
    def _count(run: Sequence[int], begin: int, end: int) -> int:
        return run[end] - run[begin]


def _follow(numbers: Sequence[int]) -> bool:
    return all(after == before + 1 for before, after in pairwise(numbers))


def _drop(nodes: Nodes, node: int) -> None:
    """Take a text away; the line break before it now stands before the next text."""
    nodes.text[node] = ""
    blank = nodes.blank_before.pop(node, "")
    following = node + 1
    while following < len(nodes) and not nodes.text[following]:
        following += 1
    if blank and following < len(nodes):
        own = nodes.blank_before.get(following, "")
        nodes.blank_before[following] = blank + own
