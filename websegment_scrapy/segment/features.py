"""One feature matrix per page: a row for each row of its skeleton, all columns finite.

The columns are the GCuts paper's visual set (section 4.3: position, shape, background, colours of
text, font sizes, weights, families) and content set (sentence length, anchor fraction, tags), and
what else tells segments apart: gaps to the siblings, borders, regularity among siblings and among
children, shares of the parent. Boxes are the boxes around the visible leaves, so a wrapper of size
zero or a box off the screen does no harm; broken numbers become zeros, extreme ones are clipped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from websegment_scrapy.page.leaf_table import LeafTable, finite, leaf_table
from websegment_scrapy.page.skeleton import Skeleton, build_skeleton
from websegment_scrapy.page.subtrees import range_sums
from websegment_scrapy.page.tags import HEADINGS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from websegment_scrapy.page.tree import PageTree

__all__ = ["FEATURES_VERSION", "METRIC_FEATURES", "PageFeatures", "page_features"]

FEATURES_VERSION = 1
"""Raised whenever a column changes its meaning: models name the version they were made with."""

Columns = dict[str, "NDArray[np.float64]"]

TAG_GROUPS: dict[str, frozenset[str]] = {
    "list": frozenset({"ul", "ol", "dl", "menu", "dir"}),
    "item": frozenset({"li", "dt", "dd"}),
    "table": frozenset({"table"}),
    "row": frozenset({"tr", "tbody", "thead", "tfoot"}),
    "cell": frozenset({"td", "th"}),
    "paragraph": frozenset({"p", "blockquote", "pre"}),
    "heading": HEADINGS,
    "division": frozenset({"div", "center"}),
    "section": frozenset({"section", "article", "main"}),
    "frame": frozenset({"nav", "header", "footer", "aside"}),
    "form": frozenset({"form", "fieldset"}),
    "anchor": frozenset({"a"}),
    "inline": frozenset("span b i em strong font small big u label abbr code".split()),
    "body": frozenset({"body", "html"}),
}
"""Kinds of elements; a row has a kind when a node of its chain has."""

_BITS = {
    tag: sum(1 << bit for bit, tags in enumerate(TAG_GROUPS.values()) if tag in tags)
    for tag in frozenset().union(*TAG_GROUPS.values())
}

METRIC_FEATURES = (
    "left", "top", "right", "bottom", "centre_x", "centre_y", "log_width", "log_height", "log_area",
    "aspect", "background_r", "background_g", "background_b", "colour_r", "colour_g", "colour_b",
    "font_size", "font_weight", "main_family", "italic", "underline", "words_per_sentence",
    "log_words", "anchor_share", "images_share", "fields_share", "headings_share", "items_share",
    "cells_share", "paragraphs_share", "depth",
)  # fmt: skip
"""Columns that mean the same for a leaf and for a node (the paper's sets): the metric's space."""


@dataclass(frozen=True, slots=True, eq=False)
class PageFeatures:
    """A page's feature matrix and what it was made from.

    Attributes
    ----------
    skeleton
        The rows.
    names
        Names of the columns.
    matrix
        One row for each row of the skeleton; a column lies together in memory.
    boxes
        ``left, top, right, bottom`` of every row.
    leaf
        What was measured of each leaf.
    """

    skeleton: Skeleton
    names: tuple[str, ...]
    matrix: NDArray[np.float64]
    boxes: NDArray[np.float64]
    leaf: LeafTable

    def columns(self, names: tuple[str, ...]) -> NDArray[np.float64]:
        """Return some columns of the matrix, in that order."""
        if names == self.names:
            return self.matrix
        position = {name: number for number, name in enumerate(self.names)}
        return np.ascontiguousarray(self.matrix[:, [position[name] for name in names]])


def page_features(tree: PageTree) -> PageFeatures:
    """Measure a page."""
    skeleton = build_skeleton(tree)
    leaf = leaf_table(tree)
    columns: Columns = {}
    boxes = _visual(columns, tree, skeleton, leaf)
    _content(columns, skeleton, leaf)
    kinds = _kinds(columns, tree, skeleton)
    _structure(columns, tree, skeleton)
    _siblings(columns, skeleton, boxes, tree, kinds)
    _children(columns, skeleton)
    _parents(columns, skeleton)
    matrix = finite(np.array(list(columns.values())))
    return PageFeatures(skeleton, tuple(columns), matrix.T, boxes, leaf)


def _visual(
    columns: Columns, tree: PageTree, skeleton: Skeleton, leaf: LeafTable
) -> NDArray[np.float64]:
    low, high = skeleton.low, skeleton.high
    boxes = leaf.extremes(low, high)
    left, top, right, bottom = boxes.T
    page_right = max(float(tree.width), float(right.max(initial=1.0)), 1.0)
    page_bottom = max(float(bottom.max(initial=1.0)), 1.0)
    width, height = np.maximum(right - left, 1.0), np.maximum(bottom - top, 1.0)
    columns["left"], columns["right"] = left / page_right, right / page_right
    columns["top"], columns["bottom"] = top / page_bottom, bottom / page_bottom
    columns["centre_x"] = (left + right) / (2 * page_right)
    columns["centre_y"] = (top + bottom) / (2 * page_bottom)
    columns["log_width"], columns["log_height"] = np.log(width), np.log(height)
    columns["log_area"] = np.log(width * height)
    columns["aspect"] = np.log(width / height)
    columns["top_px"] = np.log1p(np.maximum(top, 0.0))
    columns["from_bottom_px"] = np.log1p(np.maximum(page_bottom - bottom, 0.0))
    columns["area_share"] = width * height / (page_right * page_bottom)
    columns["off_centre"] = np.abs(columns["centre_x"] - 0.5)
    means = leaf.means(low, high)
    for name in ("background_r", "background_g", "background_b", "colour_r", "colour_g",
                 "colour_b", "font_size", "font_weight", "main_family", "italic",
                 "underline"):  # fmt: skip
        columns[name] = means[name]
    columns["font_spread"] = np.sqrt(np.maximum(means["font_size_2"] - means["font_size"] ** 2, 0))
    columns["colour_spread"] = np.sqrt(np.maximum(means["light_2"] - means["light"] ** 2, 0))
    columns["font_max"] = leaf.range_max("font_size", low, high)
    columns["first_font"] = leaf.values["font_size"][low] - means["font_size"]
    columns["first_heading"] = leaf.values["heading"][low]
    own = finite(tree.box[skeleton.top].astype(np.float64))
    columns["own_padding"] = np.log1p(np.maximum(own[:, 2] * own[:, 3], 0)) - columns["log_area"]
    own_low = finite(tree.box[skeleton.bottom].astype(np.float64))
    columns["own_height"] = np.log1p(np.maximum(own_low[:, 3], 0.0))
    return boxes


def _content(columns: Columns, skeleton: Skeleton, leaf: LeafTable) -> None:
    low, high = skeleton.low, skeleton.high
    count = (high - low).astype(np.float64)
    sums = leaf.sums(low, high)
    words, chars = sums["words"], np.maximum(sums["chars"], 1.0)
    columns["log_words"], columns["log_chars"] = np.log1p(words), np.log1p(sums["chars"])
    columns["words_per_sentence"] = np.log1p(words / np.maximum(sums["sentences"], 1.0))
    columns["words_per_leaf"] = np.log1p(words / count)
    columns["anchor_share"] = sums["linked"] / chars
    columns["log_links"] = np.log1p(sums["links"])
    columns["words_per_link"] = np.log1p(words / np.maximum(sums["links"], 1.0))
    columns["sentences"] = np.log1p(sums["sentences"])
    columns["commas_share"] = sums["commas"] / chars
    columns["digits_share"] = sums["digits"] / chars
    columns["capitals_share"] = sums["capitals"] / chars
    columns["images_share"], columns["fields_share"] = sums["image"] / count, sums["field"] / count
    columns["log_images"], columns["log_fields"] = np.log1p(sums["image"]), np.log1p(sums["field"])
    columns["text_share"] = sums["text"] / count
    columns["words_of_page"] = words / max(float(leaf.values["words"].sum()), 1.0)
    columns["words_per_area"] = np.log1p(words) - 0.5 * columns["log_area"]
    columns["headings_share"] = sums["heading"] / count
    columns["log_headings"] = np.log1p(sums["heading"])


def _kinds(columns: Columns, tree: PageTree, skeleton: Skeleton) -> NDArray[np.int32]:
    """Tag kinds of the chains and of what lies below them; return the kinds as bits."""
    names = list(TAG_GROUPS)
    bits = np.array([_BITS.get(tag, 0) for tag in tree.tags], dtype=np.int32)[tree.tag]
    rows = skeleton.row_of_node
    above = np.flatnonzero(rows >= 0)
    kinds = np.zeros(len(skeleton.low), dtype=np.int32)
    np.bitwise_or.at(kinds, rows[above], bits[above])
    has = (kinds >> np.arange(len(names))[:, None] & 1).astype(np.float64)
    columns |= zip([f"is_{name}" for name in names], has, strict=True)
    bottom, end = skeleton.bottom, tree.end[skeleton.bottom]
    leaves = (skeleton.high - skeleton.low).astype(np.float64)
    for name, label in (("item", "items"), ("cell", "cells"), ("paragraph", "paragraphs"),
                        ("table", "tables"), ("list", "lists"),
                        ("division", "divisions")):  # fmt: skip
        bit = names.index(name)
        # Nodes of the chain count: a leaf in a list item has an item as a list has items.
        below = range_sums(bits >> bit & 1, bottom, end)
        number = below.astype(np.float64) + columns[f"is_{name}"]
        columns[f"{label}_share"] = np.minimum(number / leaves, 2.0)
        columns[f"log_{label}"] = np.log1p(number)
    return kinds


def _structure(columns: Columns, tree: PageTree, skeleton: Skeleton) -> None:
    leaves = (skeleton.high - skeleton.low).astype(np.float64)
    columns["depth"] = tree.depth[skeleton.bottom].astype(np.float64)
    columns["skeleton_depth"] = skeleton.depth.astype(np.float64)
    columns["chain"] = (tree.depth[skeleton.bottom] - tree.depth[skeleton.top]).astype(np.float64)
    columns["log_leaves"] = np.log(leaves)
    columns["leaves_of_page"] = leaves / max(skeleton.leaves, 1)
    nodes = (tree.end[skeleton.bottom] - skeleton.bottom).astype(np.float64)
    columns["nodes_per_leaf"] = np.log(nodes / leaves)
    columns["first_of_page"] = skeleton.low / max(skeleton.leaves, 1)
    columns["last_of_page"] = skeleton.high / max(skeleton.leaves, 1)
    styles = tree.styles
    rows = skeleton.row_of_node
    above = np.flatnonzero(rows >= 0)
    for name, marks in (
        ("border", [style.border for style in styles]),
        ("background_set", [style.background != "" for style in styles]),
        ("floating", [style.float_ not in ("none", "") for style in styles]),
        ("positioned", [style.position in ("absolute", "fixed", "sticky") for style in styles]),
        ("boxed", [style.display not in ("inline", "contents", "") for style in styles]),
    ):
        marked = np.array(marks, dtype=bool)[tree.style[above]] & ~tree.is_text[above]
        columns[name] = np.minimum(
            np.bincount(rows[above], weights=marked, minlength=len(leaves)), 3.0
        )


def _siblings(
    columns: Columns,
    skeleton: Skeleton,
    boxes: NDArray[np.float64],
    tree: PageTree,
    kinds: NDArray[np.int32],
) -> None:
    """Place among the siblings, gaps to them, and how alike they are."""
    rows = len(skeleton.low)
    order = np.lexsort((skeleton.low, skeleton.parent))
    parent = skeleton.parent[order]
    together = np.zeros(rows, dtype=bool)
    together[1:] = parent[1:] == parent[:-1]
    starts = np.flatnonzero(~together)
    sizes = np.diff(np.append(starts, rows))
    group_start = np.repeat(starts, sizes)
    position = np.empty(rows)
    position[order] = np.arange(rows) - group_start
    number = np.empty(rows)
    number[order] = np.repeat(sizes, sizes)
    columns["siblings"] = np.log(number)
    columns["place"] = position / np.maximum(number - 1, 1)
    later = order[together]
    earlier = order[np.flatnonzero(together) - 1]
    gap_y = np.maximum(boxes[later, 1] - boxes[earlier, 3], 0.0)
    gap_x = np.maximum(boxes[later, 0] - boxes[earlier, 2], 0.0)
    beside = (gap_x > 0) & (boxes[later, 1] < boxes[earlier, 3])
    tag = tree.tag[skeleton.top]
    leaves = skeleton.high - skeleton.low
    same_tag = (tag[later] == tag[earlier]).astype(np.float64)
    same_kind = (kinds[later] == kinds[earlier]).astype(np.float64)
    same_size = 1.0 / (1.0 + np.abs(leaves[later] - leaves[earlier]))
    width = np.maximum(boxes[:, 2] - boxes[:, 0], 1.0)
    aligned = (np.abs(boxes[later, 0] - boxes[earlier, 0]) <= 2).astype(np.float64)
    same_width = np.minimum(width[later], width[earlier]) / np.maximum(width[later], width[earlier])
    for name, values in (
        ("gap_y", np.log1p(gap_y)), ("gap_x", np.log1p(gap_x)),
        ("beside", beside.astype(np.float64)), ("same_tag", same_tag), ("same_kind", same_kind),
        ("same_size", same_size), ("aligned", aligned), ("same_width", same_width),
    ):  # fmt: skip
        before, after = np.full(rows, -1.0), np.full(rows, -1.0)
        before[later] = values
        after[earlier] = values
        columns[f"{name}_before"], columns[f"{name}_after"] = before, after
        total = np.bincount(skeleton.parent[later], weights=values, minlength=rows)
        links = np.bincount(skeleton.parent[later], minlength=rows)
        columns[f"children_{name}"] = np.where(links > 0, total / np.maximum(links, 1), -1.0)
    widest = np.full(rows, -1.0)
    np.maximum.at(widest, skeleton.parent[later], np.log1p(gap_y))
    columns["children_gap_max"] = widest


def _children(columns: Columns, skeleton: Skeleton) -> None:
    """Add the number and spread of the children."""
    rows = len(skeleton.low)
    has_parent = np.flatnonzero(skeleton.parent >= 0)
    parent = skeleton.parent[has_parent]
    number = np.bincount(parent, minlength=rows).astype(np.float64)
    columns["children"] = np.log1p(number)
    columns["leaf_children"] = np.bincount(
        parent, weights=has_parent >= skeleton.inner, minlength=rows
    ) / np.maximum(number, 1.0)
    for name in ("log_height", "log_width", "anchor_share", "log_words", "font_size", "log_leaves"):
        values = columns[name][has_parent]
        mean = np.bincount(parent, weights=values, minlength=rows) / np.maximum(number, 1.0)
        square = np.bincount(parent, weights=values**2, minlength=rows) / np.maximum(number, 1.0)
        columns[f"children_{name}_spread"] = np.sqrt(np.maximum(square - mean**2, 0.0))
    largest = np.zeros(rows)
    np.maximum.at(largest, parent, columns["leaves_of_page"][has_parent])
    columns["largest_child"] = largest / np.maximum(columns["leaves_of_page"], 1e-9)


def _parents(columns: Columns, skeleton: Skeleton) -> None:
    """Add what the parent is, and the row's shares of it."""
    parent = np.maximum(skeleton.parent, 0)
    topmost = skeleton.parent < 0
    for name in ("log_area", "log_leaves", "log_words", "log_width", "log_height", "anchor_share",
                 "font_size", "log_links"):  # fmt: skip
        difference = columns[name] - columns[name][parent] if len(parent) else columns[name]
        columns[f"{name}_to_parent"] = np.where(topmost, 0.0, difference)
    for name in ("children", "leaf_children", "children_same_tag", "children_beside",
                 "leaves_of_page", "is_list", "is_table", "is_row", "is_body", "is_item",
                 "is_cell"):  # fmt: skip
        above = columns[name][parent] if len(parent) else columns[name]
        columns[f"parent_{name}"] = np.where(topmost, -1.0, above)
