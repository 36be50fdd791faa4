"""Charts as SVG, drawn by hand: bars with their spread, and curves on logarithmic axes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from websegment_scrapy.bench.spread import Spread

__all__ = ["Drawing", "bars", "curves", "svg"]

WIDTH = 860
LABEL = 210
"""Room for the names at the left of bars."""

ROW = 22
PLOT = 380
"""Height of the curves."""

COLOURS = (
    "#1f6fb4", "#d1495b", "#2e8b57", "#8e5ea2", "#c77700", "#17a2a2", "#7a5c3e", "#d9589a",
    "#5b6770", "#8a9a1f", "#3d3d9e", "#b0a000",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Drawing:
    """A part of a picture and its height."""

    marks: str
    height: float


def svg(drawings: Sequence[Drawing]) -> str:
    """Put drawings below each other into one picture."""
    top, placed = 0.0, []
    for drawing in drawings:
        placed.append(f'<g transform="translate(0 {top:.0f})">{drawing.marks}</g>')
        top += drawing.height
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{top:.0f}" '
        f'viewBox="0 0 {WIDTH} {top:.0f}" font-family="sans-serif" font-size="12">'
        f'<rect width="{WIDTH}" height="{top:.0f}" fill="#fff"/>{"".join(placed)}</svg>\n'
    )


def bars(title: str, values: Mapping[str, Spread], digits: int = 1) -> Drawing:
    """Draw a bar for each value, with a line from its lower to its upper quartile."""
    room = WIDTH - LABEL - 150
    most = max([spread.high for spread in values.values()], default=0) or 1.0
    marks = [_text(10, 22, title, weight="bold")]
    for number, (name, spread) in enumerate(values.items()):
        y = 40 + number * ROW
        length = room * spread.median / most
        low, high = (LABEL + room * end / most for end in (spread.low, spread.high))
        colour = COLOURS[0] if name.startswith("ours") else "#9aa5ad"
        marks += [
            _text(LABEL - 8, y + 13, name, anchor="end"),
            f'<rect x="{LABEL}" y="{y}" width="{length:.1f}" height="{ROW - 6}" fill="{colour}"/>',
            f'<path d="M{low:.1f} {y + 8}H{high:.1f}" stroke="#222" stroke-width="2"/>',
            _text(max(high, LABEL + length) + 8, y + 13, spread.shown(digits)),
        ]
    return Drawing("".join(marks), 40 + len(values) * ROW + 20)


def curves(
    title: str, across: str, along: str, lines: Mapping[str, Mapping[int, float]]
) -> Drawing:
    """Draw values by size, both axes logarithmic, with a legend."""
    points = [(x, max(y, 1e-3)) for line in lines.values() for x, y in line.items()]
    if not points:
        return Drawing("", 0)
    left, right, top, bottom = 60.0, WIDTH - 210.0, 40.0, PLOT - 45.0
    x_ends = _decades([x for x, _ in points])
    y_ends = _decades([y for _, y in points])

    def place(value: float, ends: tuple[int, int], start: float, stop: float) -> float:
        return start + (math.log10(value) - ends[0]) / (ends[1] - ends[0]) * (stop - start)

    marks = [_text(10, 22, f"{title}, {along}", weight="bold")]
    for power in range(x_ends[0], x_ends[1] + 1):
        x = place(10.0**power, x_ends, left, right)
        marks.append(_rule(f"M{x:.1f} {top}V{bottom}"))
        marks.append(_text(x, bottom + 16, f"{10**power:,}", anchor="middle"))
    for power in range(y_ends[0], y_ends[1] + 1):
        y = place(10.0**power, y_ends, bottom, top)
        marks.append(_rule(f"M{left} {y:.1f}H{right}"))
        marks.append(_text(left - 6, y + 4, f"{10.0**power:,g}", anchor="end"))
    for number, (name, line) in enumerate(lines.items()):
        colour = COLOURS[number % len(COLOURS)]
        dash = "" if number < len(COLOURS) else ' stroke-dasharray="5 3"'
        way = " ".join(
            f"{place(x, x_ends, left, right):.1f},{place(max(y, 1e-3), y_ends, bottom, top):.1f}"
            for x, y in line.items()
        )
        y = top + 10 + number * 15
        marks.append(
            f'<polyline points="{way}" fill="none" stroke="{colour}" stroke-width="1.8"{dash}/>'
            f'<path d="M{right + 12} {y - 4}h18" stroke="{colour}" stroke-width="2"{dash}/>'
        )
        marks.append(_text(right + 35, y, name))
    marks.append(_text((left + right) / 2, bottom + 34, across, anchor="middle"))
    return Drawing("".join(marks), max(PLOT, top + 30 + len(lines) * 15) + 10)


def _decades(values: Sequence[float]) -> tuple[int, int]:
    """Return the powers of ten that values lie between, never the same."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def _rule(way: str) -> str:
    return f'<path d="{way}" stroke="#ddd" fill="none"/>'


def _text(x: float, y: float, text: str, *, anchor: str = "start", weight: str = "normal") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-weight="{weight}">'
        f"{escape(text)}</text>"
    )
