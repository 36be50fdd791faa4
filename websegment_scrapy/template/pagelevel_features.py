"""The PageLevel paper's features of every row of a page (section 5.2).

The paper names closeness to the margins, distance from the centre, links per word, share of text in
anchors, size of anchors, share of links within the site, visible characters per character of HTML
and words in common with the title, and speaks of others made "from the position and area
annotations as well as from the text, links, anchortext". Tags, classes and ids are not among them,
so a page with other names gets the same scores.

Rows are those of the page's skeleton: nodes with the same visible leaves have the same features.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import numpy as np

from websegment_scrapy.page.leaf_table import LeafTable, finite, leaf_table
from websegment_scrapy.page.skeleton import Skeleton, build_skeleton
from websegment_scrapy.page.subtrees import range_sums
from websegment_scrapy.page.words import words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from websegment_scrapy.page.tree import PageTree

__all__ = ["FEATURES", "FEATURES_VERSION", "RowFeatures", "measure_rows", "own_links"]

FEATURES_VERSION = 1
"""Raised whenever a column changes its meaning: models name the version they were made with."""

FEATURES = (
    "left_margin", "right_margin", "top_margin", "bottom_margin", "nearest_margin",
    "log_top", "log_bottom", "centre_x", "centre_y", "centre_distance",
    "log_area", "area_share", "width_share", "log_height",
    "log_words", "words_per_area", "words_per_sentence", "words_per_leaf", "images_share",
    "fields_share", "log_links", "links_per_word", "anchor_share", "no_anchor", "anchor_words",
    "intra_share", "no_intra", "visible_share", "title_share", "title_found", "words_of_page",
)  # fmt: skip
"""Columns of the matrix."""

TITLE_LETTERS = 4
"""Latin words of a title that are shorter are taken for stop words."""


@dataclass(frozen=True, slots=True, eq=False)
class RowFeatures:
    """What is measured of a page.

    Attributes
    ----------
    skeleton
        The rows.
    matrix
        ``FEATURES`` of each row.
    area
        Area of the box around each row's leaves, in square pixels; never larger than its parent's.
    page_area
        Area of the whole page.
    """

    skeleton: Skeleton
    matrix: NDArray[np.float64]
    area: NDArray[np.float64]
    page_area: float


def measure_rows(tree: PageTree, url: str = "") -> RowFeatures:
    """Measure all rows of a page; ``url`` tells which links stay within the site."""
    skeleton, leaf = build_skeleton(tree), leaf_table(tree)
    columns: dict[str, NDArray[np.float64]] = {}
    area, page_area = _geometry(columns, tree, skeleton, leaf)
    _text(columns, tree, skeleton, leaf, area)
    _links(columns, tree, skeleton, leaf, url)
    _title(columns, tree, skeleton)
    matrix = np.empty((len(skeleton.low), len(FEATURES)))
    for number, name in enumerate(FEATURES):
        matrix[:, number] = columns[name]
    return RowFeatures(skeleton, finite(matrix), area, page_area)


def _geometry(
    columns: dict[str, NDArray[np.float64]], tree: PageTree, skeleton: Skeleton, leaf: LeafTable
) -> tuple[NDArray[np.float64], float]:
    left, top, right, bottom = leaf.extremes(skeleton.low, skeleton.high).T
    page_width = max(float(tree.width), float(right.max(initial=1.0)), 1.0)
    page_height = max(float(bottom.max(initial=1.0)), 1.0)
    width, height = np.maximum(right - left, 1.0), np.maximum(bottom - top, 1.0)
    area, page_area = width * height, page_width * page_height
    margins = (
        left / page_width,
        (page_width - right) / page_width,
        top / page_height,
        (page_height - bottom) / page_height,
    )
    for name, values in zip(("left", "right", "top", "bottom"), margins, strict=True):
        columns[f"{name}_margin"] = np.clip(values, 0.0, 1.0)
    columns["nearest_margin"] = np.clip(np.min(margins, axis=0), 0.0, 1.0)
    columns["log_top"] = np.log1p(np.maximum(top, 0.0))
    columns["log_bottom"] = np.log1p(np.maximum(page_height - bottom, 0.0))
    columns["centre_x"] = np.abs((left + right) / (2 * page_width) - 0.5)
    columns["centre_y"] = np.abs((top + bottom) / (2 * page_height) - 0.5)
    columns["centre_distance"] = np.hypot(columns["centre_x"], columns["centre_y"])
    columns["log_area"] = np.log(area)
    columns["area_share"] = np.minimum(area / page_area, 1.0)
    columns["width_share"] = np.minimum(width / page_width, 1.0)
    columns["log_height"] = np.log(height)
    return area, page_area


def _text(
    columns: dict[str, NDArray[np.float64]],
    tree: PageTree,
    skeleton: Skeleton,
    leaf: LeafTable,
    area: NDArray[np.float64],
) -> None:
    sums = leaf.sums(skeleton.low, skeleton.high)
    count = (skeleton.high - skeleton.low).astype(np.float64)
    total = sums["words"]
    columns["log_words"] = np.log1p(total)
    columns["words_per_area"] = np.log1p(total) - 0.5 * np.log(area)
    columns["words_per_sentence"] = np.log1p(total / np.maximum(sums["sentences"], 1.0))
    columns["words_per_leaf"] = np.log1p(total / np.maximum(sums["text"], 1.0))
    columns["words_of_page"] = total / max(float(leaf.values["words"].sum()), 1.0)
    columns["images_share"], columns["fields_share"] = sums["image"] / count, sums["field"] / count
    visible = np.zeros(len(tree))
    visible[tree.leaves] = leaf.values["chars"]
    markup = np.array([2.0 * len(name) + 5.0 for name in tree.tags])[tree.tag]
    is_text = tree.is_text
    markup[is_text] = (tree.text_end - tree.text_start)[is_text]
    markup += _address_lengths(tree)
    below = skeleton.top, tree.end[skeleton.top]
    columns["visible_share"] = range_sums(visible, *below) / np.maximum(
        range_sums(markup, *below), 1.0
    )


def _address_lengths(tree: PageTree) -> NDArray[np.float64]:
    """Return the length of each anchor's address; other attributes are not kept in a tree."""
    lengths = np.zeros(len(tree))
    if tree.links:
        own = tree.link >= 0
        own[1:] &= tree.link[1:] != tree.link[np.maximum(tree.parent[1:], 0)]
        nodes = np.flatnonzero(own)
        lengths[nodes] = np.array([len(link) for link in tree.links])[tree.link[nodes]]
    return lengths


def _links(
    columns: dict[str, NDArray[np.float64]],
    tree: PageTree,
    skeleton: Skeleton,
    leaf: LeafTable,
    url: str,
) -> None:
    low, high = skeleton.low, skeleton.high
    sums = leaf.sums(low, high)
    links, total = sums["links"], sums["words"]
    linked = leaf.values["words"] * leaf.values["is_linked"]
    own = own_links(tree, url).astype(np.float64)
    leaf_link = tree.link[tree.leaves]
    intra = np.where(leaf_link >= 0, own[leaf_link], 0.0) if len(own) else np.zeros(len(leaf_link))
    linked_words = range_sums(linked, low, high)
    columns["log_links"] = np.log1p(links)
    columns["links_per_word"] = np.minimum(links / np.maximum(total, 1.0), 2.0)
    columns["anchor_share"] = sums["linked"] / np.maximum(sums["chars"], 1.0)
    columns["no_anchor"] = (links == 0).astype(np.float64)
    columns["anchor_words"] = np.log1p(linked_words / np.maximum(links, 1.0))
    intra_links = range_sums(leaf.values["links"] * intra, low, high)
    columns["intra_share"] = intra_links / np.maximum(links, 1.0)
    columns["no_intra"] = ((links > 0) & (intra_links == 0)).astype(np.float64)


def _title(columns: dict[str, NDArray[np.float64]], tree: PageTree, skeleton: Skeleton) -> None:
    """Count words in common with the page's title, and the share of the title found."""
    rows = len(skeleton.low)
    title = {
        word
        for word in words(tree.head.title or tree.head.og_title)
        if len(word) >= TITLE_LETTERS or not word.isascii()
    }
    shared, every = np.zeros(len(tree.leaves)), np.zeros(len(tree.leaves))
    found = np.zeros(rows)
    if title:
        places: dict[str, list[int]] = {word: [] for word in title}
        for number, node in enumerate(tree.leaves.tolist()):
            text = words(tree.text_of(node))
            every[number] = len(text)
            for word in text:
                if word in title:
                    shared[number] += 1
                    places[word].append(number)
        for numbers in places.values():
            low = np.searchsorted(numbers, skeleton.low)
            found += np.searchsorted(numbers, skeleton.high) > low
        found /= len(title)
    columns["title_found"] = found
    columns["title_share"] = range_sums(shared, skeleton.low, skeleton.high) / np.maximum(
        range_sums(every, skeleton.low, skeleton.high), 1.0
    )


def own_links(tree: PageTree, url: str = "") -> NDArray[np.bool_]:
    """Say of each of ``tree.links`` whether it stays within the site.

    Relative links do, and those to the host of ``url`` or to a host above or below it. If ``url``
    is empty the page's host is taken for the one that most links name, provided that they are more
    than the relative ones.
    """
    hosts = [_host(link) for link in tree.links]
    own = _host(url)
    if not own:
        named = Counter(host for host in hosts if "." in host)
        if named:
            first, count = min(named.items(), key=lambda item: (-item[1], item[0]))
            own = first if count > hosts.count("") else ""
    inside = [not host or (own != "" and _same_site(host, own)) for host in hosts]
    return np.array(inside, dtype=bool)


def _host(link: str) -> str:
    """Return the host that a link names without ``www.``, or nothing if it is relative."""
    try:
        parts = urlsplit(link)
        host = parts.hostname
    except ValueError:
        return "invalid"
    if host:
        return host.removeprefix("www.")
    return parts.scheme + ":" if parts.scheme in ("mailto", "tel") else ""


def _same_site(one: str, two: str) -> bool:
    return one == two or one.endswith(f".{two}") or two.endswith(f".{one}")
