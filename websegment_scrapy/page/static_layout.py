"""An estimate of a page's layout from its HTML alone: block flow in a 1280 px window.

Text is wrapped by character count, tables get columns, images their declared sizes; style sheets
are not read, so floats and grids come out stacked. It is not what a browser shows, but distances,
widths and sizes mean roughly the same, so that every engine works without a browser.

Three passes over the nodes in document order or its reverse, none of them recursive: widths from
the top down, heights from the bottom up, positions from the top down.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from websegment_scrapy.page.line_flow import LineFlow
from websegment_scrapy.page.static_style import DEFAULT_STYLE, static_styles, whole_number
from websegment_scrapy.page.tags import BLOCK, HEADINGS, REPLACED, TABLE_CELLS
from websegment_scrapy.page.tree import TEXT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from websegment_scrapy.page.capture import Style
    from websegment_scrapy.page.walk import Nodes

__all__ = ["VIEWPORT_WIDTH", "Flow", "no_layout", "static_layout"]

VIEWPORT_WIDTH = 1280
"""CSS pixels; the rendered pages have the same width (``crawl/snapshot.py``)."""

CHARACTER_WIDTH = 0.5
"""Mean width of a Latin letter, in font sizes; East Asian ones are twice as wide."""

BODY_MARGIN = 8.0  # this and the indents: the HTML standard's style sheet
INDENT = {"ul": 40.0, "ol": 40.0, "dir": 40.0, "menu": 40.0, "blockquote": 40.0, "dd": 40.0}
MIN_COLUMN = 24.0  # the narrowest column of a table, in pixels
SPACED = HEADINGS | {"p", "ul", "ol", "dl", "blockquote", "pre", "figure", "hr", "fieldset"}
"""Blocks with a vertical margin of one line in the HTML standard's style sheet."""

REPLACED_SIZE = {
    "audio": (300.0, 54.0),
    "img": (160.0, 120.0),
    "input": (170.0, 22.0),
    "meter": (80.0, 16.0),
    "progress": (160.0, 16.0),
    "select": (150.0, 22.0),
    "svg": (24.0, 24.0),
    "textarea": (300.0, 60.0),
}
DEFAULT_REPLACED_SIZE = (300.0, 150.0)
"""CSS 2, section 10.3.2: the size of a replaced element that declares none."""

_INLINE_LENGTH = {
    name: re.compile(rf"(?<![\w-]){name}\s*:\s*([\d.]+)\s*(px|%)", re.IGNORECASE)
    for name in ("width", "height")
}
_NUMBER = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(%|px)?")
_WIDE = re.compile(
    "[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60]"
)

Layout = tuple["NDArray[np.float32]", list[int], list[bool]]
"""Boxes, style numbers and visibility of all nodes."""


def static_layout(nodes: Nodes) -> tuple[Layout, tuple[Style, ...], int]:
    """Return ``(boxes, styles, visible), style table, width`` for the nodes of a page."""
    numbers, styles = static_styles(nodes)
    sizes = [style.font_size for style in styles]
    flow = Flow(nodes, [sizes[number] for number in numbers])
    return (flow.boxes(), numbers, [not hidden for hidden in nodes.hidden]), styles, VIEWPORT_WIDTH


def no_layout(nodes: Nodes) -> tuple[Layout, tuple[Style, ...], int]:
    """Return the same without a layout: what is not hidden has a box of one pixel at the origin."""
    count = len(nodes)
    boxes = np.tile(np.array([0.0, 0.0, 1.0, 1.0], dtype=np.float32), (count, 1))
    visible = [not hidden for hidden in nodes.hidden]
    return (boxes, [0] * count, visible), (DEFAULT_STYLE,), VIEWPORT_WIDTH


class Flow:
    """The state of the three passes: geometry of each node relative to its containing block.

    The children of a node are not listed anywhere: the first is the next node, and each other one
    is where the subtree of the one before it ends.
    """

    def __init__(self, nodes: Nodes, font_size: list[float]) -> None:
        count = len(nodes)
        self.nodes = nodes
        self.font_size = font_size
        self.text_width = self._text_widths()
        self.is_block = self._block_level()
        self.x = [0.0] * count
        self.y = [0.0] * count
        self.width = [0.0] * count
        self.height = [0.0] * count

    def boxes(self) -> NDArray[np.float32]:
        """Run the passes and return every node's box on the page."""
        self._widths()
        self._heights()
        self._positions()
        self._wrap_inline_elements()
        columns = np.array([self.x, self.y, self.width, self.height], dtype=np.float32)
        return np.ascontiguousarray(columns.T)

    def _text_widths(self) -> list[float]:
        nodes, font_size = self.nodes, self.font_size
        widths = [0.0] * len(nodes)
        hidden = nodes.hidden
        for index, text in enumerate(nodes.text):
            if text and not hidden[index]:
                cells = len(text) if text.isascii() else len(text) + len(_WIDE.findall(text))
                widths[index] = cells * CHARACTER_WIDTH * font_size[index]
        return widths

    @cached_property
    def content_width(self) -> list[float]:
        """Width of all inline content of each subtree if it stood on one line; tables need it."""
        nodes, total = self.nodes, list(self.text_width)
        for index in range(len(nodes) - 1, -1, -1):
            if nodes.tag[index] in REPLACED and not nodes.hidden[index]:
                total[index] = self.replaced_size(index, float(VIEWPORT_WIDTH))[0]
            if (parent := nodes.parent[index]) >= 0:
                total[parent] += total[index]
        return total

    def _block_level(self) -> list[bool]:
        """Mark blocks, and the inline elements that contain one."""
        parent, hidden = self.nodes.parent, self.nodes.hidden
        block = [tag in BLOCK for tag in self.nodes.tag]
        for index in range(len(block) - 1, 0, -1):
            if block[index] and not hidden[index]:
                block[parent[index]] = True
        return block

    def _children(self, node: int) -> list[int]:
        end, found = self.nodes.end, []
        child, stop = node + 1, end[node]
        while child < stop:
            found.append(child)
            child = end[child]
        return found

    def _declared(self, index: int, name: str, available: float) -> float | None:
        """Return a declared width or height in pixels; percentages of widths only."""
        shown = self.nodes.presentation.get(index)
        if not shown:
            return None
        match = _INLINE_LENGTH[name].search(shown.get("style", "")) or _NUMBER.match(
            shown.get(name, "")
        )
        if match is None:
            return None
        try:
            amount = float(match[1])
        except ValueError:
            return None
        if match[2] == "%":
            return available * min(amount, 100.0) / 100 if name == "width" else None
        return min(amount, 100_000.0)

    def replaced_size(self, index: int, available: float) -> tuple[float, float]:
        """Return a replaced element's declared size, or the usual one of its kind."""
        width, height = REPLACED_SIZE.get(self.nodes.tag[index], DEFAULT_REPLACED_SIZE)
        declared_width = self._declared(index, "width", available)
        declared_height = self._declared(index, "height", available)
        if declared_width is not None and declared_height is None and width:
            height = height * declared_width / width
        return (
            width if declared_width is None else declared_width,
            height if declared_height is None else declared_height,
        )

    def _widths(self) -> None:
        nodes, widths = self.nodes, self.width
        hidden, presentation = nodes.hidden, nodes.presentation
        parents, tags = nodes.parent, nodes.tag
        for index, is_block in enumerate(self.is_block):
            if not is_block or hidden[index]:
                continue
            parent, tag = parents[index], tags[index]
            if parent < 0:
                widths[index] = float(VIEWPORT_WIDTH)
                continue
            if tag in TABLE_CELLS and widths[index]:
                continue  # set with its table
            indent = BODY_MARGIN if tag == "body" else INDENT.get(tag, 0.0)
            available = max(widths[parent] - indent * (2 if tag == "body" else 1), 1.0)
            declared = None
            if index in presentation:
                declared = self._declared(index, "width", available)
            self.x[index] = indent
            widths[index] = available if declared is None else min(declared, available)
            if tag == "table":
                self._columns(index, declared is not None)

    def _columns(self, table: int, declared: bool) -> None:
        """Share a table's width among its columns by their content, as automatic layout does."""
        rows = self._rows(table)
        wanted: list[float] = []
        for row in rows:
            for column, cell, span in row:
                while len(wanted) < column + span:
                    wanted.append(MIN_COLUMN)
                own = self._declared(cell, "width", self.width[table])
                if own is None:
                    own = self.content_width[cell]
                if span == 1:
                    wanted[column] = max(wanted[column], own)
        if not wanted:
            return
        total = sum(wanted)
        if declared or total > self.width[table]:
            wanted = [width * self.width[table] / total for width in wanted]
        else:
            self.width[table] = total
        edges = [0.0]
        for width in wanted:
            edges.append(edges[-1] + width)
        for row in rows:
            for column, cell, span in row:
                self.x[cell] = edges[column]
                self.width[cell] = max(edges[column + span] - edges[column], 1.0)

    def _rows(self, table: int) -> list[list[tuple[int, int, int]]]:
        """List the cells of a table's own rows as ``(column, node, columns spanned)``."""
        rows = []
        groups = [table]
        groups += [
            child
            for child in self._children(table)
            if self.nodes.tag[child] in ("thead", "tbody", "tfoot")
        ]
        for group in groups:
            for child in self._children(group):
                if self.nodes.tag[child] != "tr":
                    continue
                row, column = [], 0
                for cell in self._children(child):
                    if self.nodes.tag[cell] in TABLE_CELLS and not self.nodes.hidden[cell]:
                        span = self._span(cell)
                        row.append((column, cell, span))
                        column += span
                rows.append(row)
        return rows

    def _span(self, cell: int) -> int:
        text = self.nodes.presentation.get(cell, {}).get("colspan", "1").strip()
        return min(max(whole_number(text, 1), 1), 100)

    def _heights(self) -> None:
        nodes = self.nodes
        is_block, hidden, tags = self.is_block, nodes.hidden, nodes.tag
        for index in range(len(nodes) - 1, -1, -1):
            if is_block[index] and not hidden[index]:
                if tags[index] == "tr":
                    self._row_height(index)
                else:
                    self._block_height(index)

    def _row_height(self, row: int) -> None:
        tallest = 0.0
        for child in self._children(row):
            self.y[child] = 0.0
            tallest = max(tallest, self.height[child])
        self.height[row] = tallest

    def _block_height(self, block: int) -> None:
        """Stack a block's block children; flow what is inline between them into lines."""
        nodes, y, margin = self.nodes, 0.0, 0.0
        end, hidden, is_block = nodes.end, nodes.hidden, self.is_block
        line: LineFlow | None = None
        child, stop = block + 1, end[block]
        while child < stop:
            if hidden[child]:
                pass
            elif not is_block[child]:
                if line is None:
                    line = LineFlow(self, self.width[block])
                line.place(child, y + margin)
            else:
                if line is not None and line.used:
                    y += margin + line.finish()
                    margin = 0.0
                own = self.font_size[child] if nodes.tag[child] in SPACED else 0.0
                place = self.y[child] = y + max(margin, own)
                y = place + self.height[child]
                margin = own
            child = end[child]
        if line is not None and line.used:
            y += margin + line.finish()
        declared = self._declared(block, "height", 0.0) if block in nodes.presentation else None
        if nodes.tag[block] == "hr":
            y = max(y, 2.0)
        self.height[block] = max(y, declared or 0.0)

    def _positions(self) -> None:
        """Turn positions within the containing block into positions on the page."""
        nodes, x, y = self.nodes, self.x, self.y
        hidden, is_block, width = nodes.hidden, self.is_block, self.width
        container = [0] * len(nodes)
        for index, parent in enumerate(nodes.parent):
            if parent < 0:
                continue
            around = container[index] = parent if is_block[parent] else container[parent]
            if hidden[index]:
                continue
            if is_block[index] or width[index] or nodes.tag[index] == TEXT:
                x[index] += x[around]
                y[index] += y[around]

    def _wrap_inline_elements(self) -> None:
        """Give inline elements the box around what is in them."""
        nodes, x, y, width, height = self.nodes, self.x, self.y, self.width, self.height
        end, hidden, is_block = nodes.end, nodes.hidden, self.is_block
        for index in range(len(nodes) - 1, -1, -1):
            stop = end[index]
            if is_block[index] or hidden[index] or stop == index + 1:
                continue
            if nodes.tag[index] in REPLACED:
                continue
            child = index + 1
            if end[child] == stop:  # nothing else is in it, as in most of them
                boxes = [child] if width[child] else []
            else:
                boxes = [child for child in self._children(index) if width[child]]
            if len(boxes) == 1:
                (child,) = boxes
                x[index], y[index] = x[child], y[child]
                width[index] = x[child] + width[child] - x[child]
                height[index] = y[child] + height[child] - y[child]
            elif boxes:
                left = min(x[child] for child in boxes)
                top = min(y[child] for child in boxes)
                x[index], y[index] = left, top
                width[index] = max(x[child] + width[child] for child in boxes) - left
                height[index] = max(y[child] + height[child] for child in boxes) - top
