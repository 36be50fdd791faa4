"""Lines of text in the estimated layout: a cursor that wraps at the width of its block."""

from __future__ import annotations

from typing import TYPE_CHECKING

from websegment_scrapy.page.tags import REPLACED
from websegment_scrapy.page.tree import TEXT

if TYPE_CHECKING:
    from websegment_scrapy.page.static_layout import Flow

__all__ = ["LineFlow"]

LINE_HEIGHT = 1.2
"""In font sizes; what browsers make of ``line-height: normal``, roughly."""


class LineFlow:
    """Lines of inline content inside one block: a cursor that wraps at the block's width."""

    def __init__(self, flow: Flow, width: float) -> None:
        self.flow = flow
        self.limit = max(width, 1.0)
        self.cursor = 0.0
        self.top = 0.0
        self.tallest = 0.0
        self.used = False

    def place(self, node: int, y: float) -> None:
        """Place the leaves of an inline subtree; ``y`` is where the run of lines starts."""
        flow, nodes = self.flow, self.flow.nodes
        tags, hidden, ends = nodes.tag, nodes.hidden, nodes.end
        index, end = node, ends[node]
        while index < end:
            tag = tags[index]
            if hidden[index]:
                index = ends[index]
            elif tag == TEXT:
                self._place_text(index, y)
                index += 1
            elif tag in REPLACED:
                self._place_box(index, y)
                index = ends[index]
            else:
                if tag == "br":
                    self.used = True
                    self._break(flow.font_size[index] * LINE_HEIGHT)
                index += 1

    def finish(self) -> float:
        """End the run of lines and return its height."""
        height = self.top + self.tallest
        self.cursor = self.top = self.tallest = 0.0
        self.used = False
        return height

    def _break(self, height: float) -> None:
        self.top += max(self.tallest, height)
        self.cursor = self.tallest = 0.0

    def _place_box(self, node: int, y: float) -> None:
        flow = self.flow
        width, height = flow.replaced_size(node, self.limit)
        if self.cursor and self.cursor + width > self.limit:
            self._break(0.0)
        flow.x[node], flow.y[node] = self.cursor, y + self.top
        flow.width[node], flow.height[node] = width, height
        self.cursor += width
        self.tallest = max(self.tallest, height)
        self.used = True

    def _place_text(self, node: int, y: float) -> None:
        flow = self.flow
        line_height = flow.font_size[node] * LINE_HEIGHT
        width = flow.text_width[node]
        breaks = flow.nodes.text[node].count("\n")
        self.used = True
        flow.y[node] = y + self.top
        reach = self.cursor + width
        lines = 1 + int(max(reach - 0.001, 0.0) // self.limit) + breaks
        if lines == 1:
            flow.x[node], flow.width[node], flow.height[node] = self.cursor, width, line_height
            self.cursor = reach
            self.tallest = max(self.tallest, line_height)
            return
        flow.x[node] = 0.0
        flow.width[node] = min(self.limit, reach) if not breaks else min(self.limit, width)
        flow.height[node] = lines * line_height
        self.top += max(self.tallest, line_height) + (lines - 2) * line_height
        self.cursor = reach % self.limit
        self.tallest = line_height
