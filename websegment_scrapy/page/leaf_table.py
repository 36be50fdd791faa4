"""What is measured of each leaf, and sums, means and extremes of it over ranges of leaves."""

from __future__ import annotations

import string
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from websegment_scrapy.page.tags import HEADINGS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from websegment_scrapy.page.tree import PageTree

__all__ = ["LeafTable", "finite", "leaf_table"]

LIMIT = 1e6
"""Coordinates and sizes beyond a million pixels are a broken capture's."""

INPUTS = frozenset({"input", "select", "textarea", "meter", "progress"})
"""Leaves that are fields of a form, or look like one; a ``button`` is no leaf."""

COUNTED = {
    "words": " ",
    "sentences": ".!?\u3002",
    "commas": ",\u3001",
    "digits": string.digits,
    "capitals": string.ascii_uppercase,
}
"""The characters that are counted. Words are counted by their blanks: models were trained so."""

LAST_CODE = 0x3003
"""Behind the last of them."""

Arrays = dict[str, "NDArray[np.float64]"]


def finite(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Replace what is no number by 0 and clip the rest to ``±LIMIT``."""
    found = np.clip(values, -LIMIT, LIMIT)
    np.copyto(found, 0.0, where=np.isnan(found))
    return found


@dataclass(frozen=True, slots=True, eq=False)
class LeafTable:
    """Measures of each leaf and sums over the first ``i`` leaves for every ``i``."""

    values: Arrays
    boxes: NDArray[np.float64]
    family: NDArray[np.int64]
    _running: NDArray[np.float64]

    def sums(self, low: NDArray[np.int32], high: NDArray[np.int32]) -> Arrays:
        """Return the sum of every measure over the leaves ``low … high − 1``."""
        return dict(zip(self.values, self._sums(low, high), strict=True))

    def means(self, low: NDArray[np.int32], high: NDArray[np.int32]) -> Arrays:
        """Return the mean of every measure over ranges of leaves, none of them empty."""
        count = (high - low).astype(np.float64)
        return dict(zip(self.values, self._sums(low, high) / count, strict=True))

    def _sums(self, low: NDArray[np.int32], high: NDArray[np.int32]) -> NDArray[np.float64]:
        found: NDArray[np.float64] = self._running.take(high, axis=1)
        found -= self._running.take(low, axis=1)
        return found

    def extremes(self, low: NDArray[np.int32], high: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return ``left, top, right, bottom`` of the box around each range of leaves."""
        corners = self.boxes * np.array([-1.0, -1.0, 1.0, 1.0])
        return np.asarray(_range_max(corners, low, high) * np.array([-1.0, -1.0, 1.0, 1.0]))

    def range_max(
        self, name: str, low: NDArray[np.int32], high: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        """Return the maximum of one measure over ranges of leaves."""
        return _range_max(self.values[name][:, None], low, high)[:, 0]


def leaf_table(tree: PageTree) -> LeafTable:
    """Measure every leaf of a page."""
    leaves = tree.leaves
    values = _text_counts(tree)
    box = finite(tree.box[leaves].astype(np.float64).reshape(-1, 4))
    sizes = np.maximum(box[:, 2:], 1.0)
    boxes = np.concatenate((box[:, :2], box[:, :2] + sizes), axis=1)
    text, field = tree.is_text[leaves], tree.tagged(INPUTS)[leaves]
    values["text"] = text.astype(np.float64)
    values["field"] = field.astype(np.float64)
    values["image"] = (~text & ~field).astype(np.float64)
    linked = tree.link[leaves] >= 0
    values["linked"] = values["chars"] * linked
    first = np.ones(len(leaves), dtype=bool)
    first[1:] = tree.link[leaves[1:]] != tree.link[leaves[:-1]]
    values["is_linked"] = linked.astype(np.float64)
    values["links"] = (linked & first).astype(np.float64)
    values["heading"] = tree.inside(*HEADINGS)[leaves].astype(np.float64)
    family = _styles(tree, values)
    running = np.zeros((len(values), len(leaves) + 1))
    np.cumsum(np.array(list(values.values())), axis=1, out=running[:, 1:])
    return LeafTable(values, boxes, family, running)


def _text_counts(tree: PageTree) -> Arrays:
    """Count characters, words, sentences and kinds of characters of every leaf."""
    start, end = tree.text_start[tree.leaves], tree.text_end[tree.leaves]
    values: Arrays = {"chars": (end - start).astype(np.float64)}
    if tree.text.isascii():
        kinds = _kinds()[np.frombuffer(tree.text.encode(), dtype=np.uint8)]
    else:
        codes = np.frombuffer(tree.text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
        kinds = _kinds()[np.minimum(codes, LAST_CODE)]
    for number, name in enumerate(COUNTED, 1):
        # Few characters are of a kind: those before a place are found among them.
        places = np.flatnonzero(kinds == number)
        found = np.searchsorted(places, end) - np.searchsorted(places, start)
        values[name] = found.astype(np.float64)
    values["words"] += values["chars"] > 0
    return values


@cache
def _kinds() -> NDArray[np.uint8]:
    """Return for every character up to `LAST_CODE` its number in `COUNTED`, from 1 on; or 0."""
    table = np.zeros(LAST_CODE + 1, dtype=np.uint8)
    for number, characters in enumerate(COUNTED.values(), 1):
        table[list(map(ord, characters))] = number
    return table


def _styles(tree: PageTree, values: Arrays) -> NDArray[np.int64]:
    """Add the style of every leaf; return the number of its font family."""
    leaves, styles = tree.leaves, tree.styles
    number = tree.style[leaves]
    families = sorted({style.font_family for style in styles})
    family = np.array([families.index(style.font_family) for style in styles], dtype=np.int64)
    family = family[number]
    weight = values["chars"] + 1.0
    main = int(np.argmax(np.bincount(family, weights=weight))) if len(family) else 0
    colours = np.array([_colour(style.color, 0) for style in styles]).reshape(-1, 3)
    background = _backgrounds(tree)[leaves]
    for position, channel in enumerate("rgb"):
        values[f"colour_{channel}"] = colours[number, position]
        values[f"background_{channel}"] = background[:, position]
    light = colours[number].mean(axis=1)
    size = finite(np.array([style.font_size for style in styles], dtype=np.float64))
    values["font_size"] = np.log(np.clip(size, 1.0, 200.0))[number]
    values["font_size_2"] = values["font_size"] ** 2
    values["light"], values["light_2"] = light, light**2
    values["font_weight"] = np.array([style.font_weight / 1000 for style in styles])[number]
    values["italic"] = np.array([float(style.italic) for style in styles])[number]
    values["underline"] = np.array([float(style.underline) for style in styles])[number]
    values["main_family"] = (family == main).astype(np.float64)
    return family


def _backgrounds(tree: PageTree) -> NDArray[np.float64]:
    """Return the colour behind every node: its own, or the nearest ancestor's; white at last."""
    own = np.array([style.background != "" for style in tree.styles], dtype=bool)[tree.style]
    own &= ~tree.is_text
    source = np.full(len(tree), -1, dtype=np.int64)
    nodes = np.flatnonzero(own)
    for node, end in zip(nodes.tolist(), tree.end[nodes].tolist(), strict=True):
        source[node:end] = node  # what lies deeper comes later
    colours = np.array([_colour(style.background, 255) for style in tree.styles]).reshape(-1, 3)
    found: NDArray[np.float64] = colours[tree.style[np.maximum(source, 0)]]
    found[source < 0] = 1.0
    return found


def _colour(value: str, default: int) -> tuple[float, float, float]:
    try:
        number = int(value, 16) if len(value) == 6 else default * 0x010101
    except ValueError:
        number = default * 0x010101
    return (number >> 16 & 255) / 255, (number >> 8 & 255) / 255, (number & 255) / 255


def _range_max(
    values: NDArray[np.float64], low: NDArray[np.int32], high: NDArray[np.int32]
) -> NDArray[np.float64]:
    """Maxima over ranges by a sparse table (Bender and Farach-Colton, 2000): O(n log n)."""
    if not len(low):
        return np.zeros((0, values.shape[1]))
    tables = [values]
    step = 1
    while 2 * step <= len(values):
        before = tables[-1]
        tables.append(np.maximum(before[: len(before) - step], before[step:]))
        step *= 2
    level = np.floor(np.log2(high - low)).astype(np.int64)
    found = np.empty((len(low), values.shape[1]))
    for number, table in enumerate(tables):
        rows = np.flatnonzero(level == number)
        if len(rows):
            found[rows] = np.maximum(table[low[rows]], table[high[rows] - (1 << number)])
    return found
