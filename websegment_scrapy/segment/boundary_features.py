"""Features of candidate boundaries (WPS, section 4): the sides, their relation, their context.

All are taken from the page's feature matrix (``features.py``); nothing is measured again. A region
of several rows has their mean by leaves, and a box, leaves, words and links of its own.

- **Local segment features** of the region above (left of) the boundary and of the one below, and of
  the region that the boundary would cut.
- **Local segment relation features**: differences of the two in place, size, colours, font, text
  and depth in the DOM; the gap between them, and how it compares with the others of the sequence.
- **Context features** of each side in the sequence of its siblings: mean distance of structure,
  occurrence frequency, mean and deviation of the intervals between occurrences; their differences,
  and how often the two follow each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from websegment_scrapy.segment.features import METRIC_FEATURES
from websegment_scrapy.segment.wps_graph import HORIZONTAL, LAYERS, VERTICAL

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from websegment_scrapy.segment.features import PageFeatures
    from websegment_scrapy.segment.wps_graph import WpsGraph

__all__ = ["BOUNDARIES_VERSION", "boundary_features", "boundary_names"]

BOUNDARIES_VERSION = 1
"""Raised whenever a feature of boundaries, or what a boundary is, changes its meaning."""

STRUCTURE = (
    "is_list", "is_item", "is_table", "is_row", "is_cell", "is_paragraph", "is_heading",
    "is_division", "is_section", "is_frame", "is_form", "is_anchor", "is_inline", "items_share",
    "cells_share", "paragraphs_share", "lists_share", "tables_share", "images_share",
    "fields_share", "headings_share", "anchor_share", "log_leaves", "log_words",
)  # fmt: skip
"""Columns by which the structure of two siblings is compared."""

KINDS = STRUCTURE[:13]
"""Columns that tell which siblings occur again: the tags of their wrappers."""

SIGNED = ("font_size", "font_weight", "log_height", "log_width", "log_words", "anchor_share",
          "log_leaves", "words_per_sentence")  # fmt: skip
"""Columns whose difference counts with its sign: a heading stands above its text."""

CONTEXT = ("structure_distance", "frequency", "interval", "interval_spread", "place_in_sequence")
RELATION = (
    "gap", "gap_to_mean", "gap_to_widest", "overlap_across", "aligned", "same_box_size",
    "family_of_structure", "pair_frequency", "frequency_difference", "interval_difference",
    "horizontal", "vertical", "layers", "log_parts", "several_above", "several_below",
    "several_around", "depth_of_graph",
)  # fmt: skip


def boundary_names(features: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of the columns, for those of a page's feature matrix."""
    return (
        *(f"above_{name}" for name in features),
        *(f"below_{name}" for name in features),
        *(f"around_{name}" for name in features),
        *(f"differs_{name}" for name in METRIC_FEATURES),
        *(f"changes_{name}" for name in SIGNED),
        *(f"above_{name}" for name in CONTEXT),
        *(f"below_{name}" for name in CONTEXT),
        *RELATION,
    )


def boundary_features(graph: WpsGraph, features: PageFeatures) -> NDArray[np.float64]:
    """Return one row for each boundary of a page; `boundary_names` names the columns."""
    names = features.names
    position = {name: number for number, name in enumerate(names)}
    boxes = _boxes(graph, features.boxes)
    regions = _regions(graph, features, boxes, position)
    above, below, within = graph.above, graph.above + 1, graph.within()
    metric = regions[:, [position[name] for name in METRIC_FEATURES]]
    signed = regions[:, [position[name] for name in SIGNED]]
    context, kind = _context(graph, regions, position)
    return np.hstack(
        (
            regions[above],
            regions[below],
            regions[within],
            np.abs(metric[above] - metric[below]),
            signed[below] - signed[above],
            context[above],
            context[below],
            _relation(graph, boxes, context, kind),
        )
    )


def _means(
    graph: WpsGraph, features: PageFeatures, values: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the means of rows over each region, by leaves."""
    leaves = (features.skeleton.high - features.skeleton.low)[graph.rows].astype(np.float64)
    start = graph.row_start[:-1]
    total = np.add.reduceat(values[graph.rows] * leaves[:, None], start, axis=0)
    return np.asarray(total / np.add.reduceat(leaves, start)[:, None])


def _boxes(graph: WpsGraph, boxes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ``left, top, right, bottom`` of each region."""
    start = graph.row_start[:-1]
    low = np.minimum.reduceat(boxes[graph.rows, :2], start, axis=0)
    high = np.maximum.reduceat(boxes[graph.rows, 2:], start, axis=0)
    return np.hstack((low, high))


def _regions(
    graph: WpsGraph,
    features: PageFeatures,
    boxes: NDArray[np.float64],
    position: dict[str, int],
) -> NDArray[np.float64]:
    """Return the feature matrix of the regions."""
    found = _means(graph, features, np.ascontiguousarray(features.matrix))
    several = np.diff(graph.row_start) > 1
    if not several.any():
        return found
    start = graph.row_start[:-1]

    def put(name: str, values: NDArray[np.float64]) -> None:
        found[several, position[name]] = values[several]

    for name in ("left", "top"):
        put(name, np.minimum.reduceat(features.matrix[graph.rows, position[name]], start))
    for name in ("right", "bottom", "font_max"):
        put(name, np.maximum.reduceat(features.matrix[graph.rows, position[name]], start))
    for name in ("log_words", "log_chars", "log_links", "log_images", "log_fields", "sentences",
                 "log_headings", "log_items", "log_cells", "log_paragraphs"):  # fmt: skip
        column = np.expm1(features.matrix[graph.rows, position[name]])
        put(name, np.log1p(np.maximum(np.add.reduceat(column, start), 0.0)))
    for name in ("leaves_of_page", "words_of_page", "area_share"):
        put(name, np.add.reduceat(features.matrix[graph.rows, position[name]], start))
    leaves = np.exp(features.matrix[graph.rows, position["log_leaves"]])
    put("log_leaves", np.log(np.add.reduceat(leaves, start)))
    width = np.log(np.maximum(boxes[:, 2] - boxes[:, 0], 1.0))
    height = np.log(np.maximum(boxes[:, 3] - boxes[:, 1], 1.0))
    for name, values in (("log_width", width), ("log_height", height),
                         ("log_area", width + height), ("aspect", width - height)):  # fmt: skip
        put(name, values)
    return found


def _context(
    graph: WpsGraph, regions: NDArray[np.float64], position: dict[str, int]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return ``CONTEXT`` of each region among its siblings, and a number for its kind.

    The mean squared distance of a vector to the vectors of a group is its squared distance to their
    mean, and their variance: no pairs are compared.
    """
    found = np.zeros((graph.regions, len(CONTEXT)))
    around = graph.around
    structure = regions[:, [position[name] for name in STRUCTURE]]
    member = np.flatnonzero(around >= 0)
    number = np.maximum(np.bincount(around[member], minlength=graph.regions), 1).astype(np.float64)
    mean = np.zeros((graph.regions, len(STRUCTURE)))
    square = np.zeros_like(mean)
    np.add.at(mean, around[member], structure[member])
    np.add.at(square, around[member], structure[member] ** 2)
    mean, square = mean / number[:, None], square / number[:, None]
    spread = np.maximum(square - mean**2, 0.0)
    near = around[member]
    distance = ((structure[member] - mean[near]) ** 2 + spread[near]).sum(axis=1)
    found[member, 0] = np.log1p(distance)
    several = np.diff(graph.row_start) > 1
    bits = regions[:, [position[name] for name in KINDS]] > 0.5
    kind = bits @ (1 << np.arange(len(KINDS))) * 2 + several
    _, same = np.unique(kind[member] * np.int64(graph.regions) + near, return_inverse=True)
    count = np.bincount(same).astype(np.float64)
    found[member, 1] = (count[same] - 1) / np.maximum(number[near] - 1, 1)
    order = np.lexsort((member, same))
    later = order[1:][same[order[1:]] == same[order[:-1]]]
    earlier = order[:-1][same[order[1:]] == same[order[:-1]]]
    interval = (member[later] - member[earlier]).astype(np.float64)
    pairs = np.maximum(count - 1, 1)
    first = np.bincount(same[later], interval, len(count)) / pairs
    second = np.bincount(same[later], interval**2, len(count)) / pairs
    found[member, 2] = np.where(count > 1, first, 0.0)[same] / number[near]
    found[member, 3] = np.sqrt(np.maximum(second - first**2, 0.0))[same] / number[near]
    found[member, 4] = (member - graph.first[near]) / np.maximum(number[near] - 1, 1)
    return found, kind


def _relation(
    graph: WpsGraph,
    boxes: NDArray[np.float64],
    context: NDArray[np.float64],
    kind: NDArray[np.int64],
) -> NDArray[np.float64]:
    above, below, within = graph.above, graph.above + 1, graph.within()
    one, two = boxes[above], boxes[below]
    vertical = graph.kind == VERTICAL
    along = np.where(vertical, two[:, 0] - one[:, 2], two[:, 1] - one[:, 3])
    gap = np.log1p(np.clip(along, 0.0, None))
    sums = np.bincount(within, gap, graph.regions)
    number = np.bincount(within, minlength=graph.regions)
    widest = np.zeros(graph.regions)
    np.maximum.at(widest, within, gap)
    shared = np.minimum(one[:, 2:], two[:, 2:]) - np.maximum(one[:, :2], two[:, :2])
    size_one, size_two = one[:, 2:] - one[:, :2], two[:, 2:] - two[:, :2]
    ratio = np.minimum(size_one, size_two) / np.maximum(np.maximum(size_one, size_two), 1.0)
    across = np.clip(shared / np.maximum(np.minimum(size_one, size_two), 1.0), 0.0, 1.0)
    start = np.abs(one[:, :2] - two[:, :2]) <= 2
    follows, pair = _pairs(within, kind[above], kind[below])
    several = np.diff(graph.row_start) > 1
    depth = np.zeros(graph.regions)
    for region in range(1, graph.regions):
        depth[region] = depth[graph.around[region]] + 1
    return np.column_stack(
        (
            gap,
            gap - sums[within] / number[within],
            gap - widest[within],
            np.where(vertical, across[:, 1], across[:, 0]),
            np.where(vertical, start[:, 1], start[:, 0]),
            np.where(vertical, ratio[:, 1], ratio[:, 0]),
            kind[above] == kind[below],
            follows[pair] / number[within],
            np.abs(context[above, 1] - context[below, 1]),
            np.abs(context[above, 2] - context[below, 2]),
            graph.kind == HORIZONTAL,
            vertical,
            graph.kind == LAYERS,
            np.log(number[within]),
            several[above],
            several[below],
            several[within],
            np.minimum(depth[within], 20.0),
        )
    )


def _pairs(
    within: NDArray[np.int32], one: NDArray[np.int64], two: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count how often two kinds follow each other in a sequence; return counts and their owners."""
    keys = np.column_stack((within, one, two))
    _, owner, count = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
    return count, owner.ravel()
