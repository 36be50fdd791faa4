"""Where in the document every block stands: its ancestors, their names, who shares its path.

Ancestors are visited level by level for all nodes at once; totals of subtrees are differences of
running sums, because a subtree is a range of the pre-order.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from websegment_scrapy.content.names import CALLED_BIT, name_scores
from websegment_scrapy.page.subtrees import running_sums
from websegment_scrapy.page.tags import BLOCK, HEADINGS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from websegment_scrapy.content.lexicon import Lexicon
    from websegment_scrapy.content.text import BlockText, Columns

__all__ = ["CONTROLS", "FLAGS", "LEVELS", "BlockPlace", "place_columns"]

LEVELS = 5
"""Ancestors that are measured: each the nearest with more words than the one before."""

HALF = 0.5
"""Share of its words from which a block counts as links (Block Fusion, section 5.4)."""

PROSE = 12
"""Words from which a block that is not half links counts as running text."""

FLAGS: dict[str, frozenset[str]] = {
    "nav": frozenset({"nav", "menu"}),
    "header": frozenset({"header"}),
    "footer": frozenset({"footer"}),
    "aside": frozenset({"aside"}),
    "form": frozenset({"form", "fieldset", "label", "button", "dialog"}),
    "table": frozenset({"table"}),
    "list": frozenset({"ul", "ol"}),
    "item": frozenset({"li"}),
    "dl": frozenset({"dl"}),
    "article": frozenset({"article"}),
    "main": frozenset({"main"}),
    "section": frozenset({"section"}),
    "p": frozenset({"p"}),
    "quote": frozenset({"blockquote"}),
    "pre": frozenset({"pre", "code"}),
    "heading": HEADINGS,
    "h1": frozenset({"h1"}),
    "h2": frozenset({"h2"}),
    "figure": frozenset({"figure", "figcaption"}),
    "anchor": frozenset({"a"}),
    "bold": frozenset({"b", "strong"}),
    "emphasis": frozenset({"i", "em", "small"}),
    "span": frozenset({"span"}),
    "noscript": frozenset({"noscript"}),
    "template": frozenset({"template"}),
    "details": frozenset({"details", "summary"}),
    "time": frozenset({"time"}),
    "address": frozenset({"address"}),
    "cell": frozenset({"td", "th"}),
    "font": frozenset({"font", "center"}),
}
"""Kinds of elements that a block may lie in."""

COMMENTS_FOLLOW = re.compile(
    r"\W*(?:(?:\d+|one)\s+(?:comment|response|reply|reaction|thought|kommentar|commentaire"
    r"|comentario)|(?:(?:\d+|no|all|user|reader|recent)\s+)?(?:comments|responses|replies|reactions"
    r"|thoughts|discussion|kommentare|commentaires|comentarios|commenti|reacties|комментари\w*))"
    r"(?:\s+so\s+far|\s*\(?\d+\)?|\s+(?:to|on|for)\b.*)?\W*",
    re.IGNORECASE | re.DOTALL,
)
"""A line above comments, where no name says what they are."""

LINE = 120
"""Most characters of such a line."""

BEFORE_COMMENTS = 25
"""Words of running text that must come before it: what is commented on."""

_ALL_FLAGS = (1 << len(FLAGS)) - 1
_CALLED_SHIFT = len(FLAGS)
_TAG_FLAGS: dict[str, int] = {}
for _number, _tags in enumerate(FLAGS.values()):
    for _name in _tags:
        _TAG_FLAGS[_name] = _TAG_FLAGS.get(_name, 0) | 1 << _number
_IMAGES = frozenset({"img", "picture", "svg", "video"})
CONTROLS = frozenset({"input", "button", "select", "textarea"})
"""Elements of a form: a page without them, and without links, has no template."""

# Odd constants of splitmix64 and murmur3: paths become numbers that differ where the paths do.
_TAG, _NAMED, _STEP = (
    np.uint64(number) for number in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0xBF58476D1CE4E5B9)
)
_SHIFT = np.uint64(29)


@dataclass(frozen=True, slots=True, eq=False)
class BlockPlace:
    """What smoothing needs to know of the tree.

    Attributes
    ----------
    home, top
        The element that each block fills, and for each node the highest element around the same
        words.
    """

    home: NDArray[np.int64]
    top: NDArray[np.int64]


class _Nodes:
    """Arrays over the nodes of a page, filled from the root down."""

    def __init__(self, page: BlockText, lexicon: Lexicon) -> None:
        tree = self.tree = page.tree
        size, parent = len(tree), tree.parent
        self.own_flags = np.array([_TAG_FLAGS.get(tag, 0) for tag in tree.tags], dtype=np.int64)[
            tree.tag
        ]
        self.named, least, greatest, number, self.called = name_scores(page.tree, lexicon)
        # What a node inherits: flags and names in one number, least and greatest score as two
        # leasts, both paths side by side. Nodes of one level lie together while that is done.
        order = np.argsort(tree.depth, kind="stable")
        bounds = np.searchsorted(tree.depth[order], np.arange(1, int(tree.depth.max()) + 2))
        place = np.empty(size, dtype=np.int64)
        place[order] = np.arange(size)
        parents = place[parent[order]]
        inherited = (self.own_flags | (self.called << _CALLED_SHIFT))[order]
        name_sum = self.named[order]
        bounds_of_names = np.stack([least, -greatest], axis=1)[order]
        path = tree.tag.astype(np.uint64) * _TAG + np.uint64(1)
        paths = np.stack([path, path ^ (number * _NAMED)], axis=1)[order]
        node_words = np.zeros(size)
        node_words[page.blocks.nodes] = page.node_words
        self.word_run = running_sums(node_words)
        total = self.word_run[tree.end] - self.word_run[:-1]
        passes_home = ~tree.tagged(BLOCK)[order]
        # The highest of the elements around the same words stands for them all.
        passes_top = (total == total[parent])[order]
        home, top = order.copy(), order.copy()
        for begin, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            level, above = slice(begin, end), parents[begin:end]
            inherited[level] |= inherited[above]
            name_sum[level] += name_sum[above]
            np.minimum(bounds_of_names[level], bounds_of_names[above], out=bounds_of_names[level])
            around = paths[above]
            paths[level] += (around ^ (around >> _SHIFT)) * _STEP
            np.copyto(home[level], home[above], where=passes_home[level])
            np.copyto(top[level], top[above], where=passes_top[level])
        inherited, bounds_of_names, paths = inherited[place], bounds_of_names[place], paths[place]
        self.name_sum, self.home, self.top = name_sum[place], home[place], top[place]
        self.flags, self.inside = inherited & _ALL_FLAGS, inherited >> _CALLED_SHIFT
        self.name_min, self.name_max = bounds_of_names[:, 0], -bounds_of_names[:, 1]
        self.path, self.named_path = paths[:, 0], paths[:, 1]

    def below(self, values: NDArray[np.float64], node: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return what a running sum gains over the subtrees of nodes."""
        found: NDArray[np.float64] = values[self.tree.end[node]] - values[node]
        return found


def place_columns(
    columns: Columns, page: BlockText, lexicon: Lexicon
) -> tuple[BlockPlace, NDArray[np.int64]]:
    """Add the columns of each block's place; return the place and the flags of the elements."""
    tree, nodes = page.tree, _Nodes(page, lexicon)
    first = page.blocks.begin
    inner = tree.parent[first].astype(np.int64)
    home = nodes.home[inner]
    nodes.inside[_below_comment_lines(page, nodes, home)] |= CALLED_BIT["comments"]
    has = (nodes.flags[inner] >> np.arange(len(FLAGS))[:, None]) & 1
    columns |= zip([f"in_{flag}" for flag in FLAGS], has.astype(np.float64), strict=True)
    for kind, mark in CALLED_BIT.items():
        columns[f"in_{kind}"] = (nodes.inside[inner] & mark > 0).astype(np.float64)
        columns[f"page_{kind}"] = np.full(len(page), float((nodes.called & mark > 0).sum()))
    outside = page.words * (columns["in_comments"] == 0) * (columns["link_share"] < HALF)
    columns["page_prose_outside_comments"] = np.full(len(page), outside[page.words >= PROSE].sum())
    columns["depth"] = tree.depth[inner].astype(np.float64)
    parent = np.maximum(tree.parent[home], 0)
    columns["name_own"] = nodes.named[inner] + np.where(home != inner, nodes.named[home], 0.0)
    columns["name_parent"] = nodes.named[parent]
    columns["name_grandparent"] = nodes.named[np.maximum(tree.parent[parent], 0)]
    columns["name_sum"] = nodes.name_sum[inner]
    columns["name_min"], columns["name_max"] = nodes.name_min[inner], nodes.name_max[inner]
    _level_columns(columns, page, nodes, nodes.top[home])
    _path_columns(columns, page, "path", nodes.path[home])
    _path_columns(columns, page, "named", nodes.named_path[home])
    _heading_columns(columns, page)
    siblings = tree.parent[home].astype(np.float64)
    for offset in (-2, -1, 1, 2):
        same = shifted(siblings, offset, -9.0) == siblings
        columns[f"sibling{offset:+d}"] = same.astype(np.float64)
    return BlockPlace(nodes.top[home], nodes.top), nodes.own_flags


def shifted(values: NDArray[np.float64], offset: int, outside: float) -> NDArray[np.float64]:
    """Return for each place the value ``offset`` places on."""
    found = np.full(len(values), outside, dtype=values.dtype)
    if offset > 0:
        found[:-offset] = values[offset:]
    else:
        found[-offset:] = values[:offset]
    return found


def _below_comment_lines(
    page: BlockText, nodes: _Nodes, home: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return what follows a line that announces comments, within the element around both."""
    found = np.zeros(len(page.tree), dtype=bool)
    own = page.linked < page.words / 2
    prose = np.cumsum(np.where(own & (page.words >= PROSE), page.words, 0.0))
    for block in np.flatnonzero(own & (prose >= BEFORE_COMMENTS)).tolist():
        text = page.texts[block]
        if len(text) > LINE or not COMMENTS_FOLLOW.fullmatch(text):
            continue
        line = nodes.top[home[block]]
        around = page.tree.parent[line]
        if around >= 0:
            found[page.tree.end[line] : page.tree.end[around]] = True
    return found


def _level_columns(
    columns: Columns, page: BlockText, nodes: _Nodes, node: NDArray[np.int64]
) -> None:
    """Measure the ancestors of each block, from the nearest up."""
    tree, size = page.tree, len(page.tree)
    first = page.blocks.begin

    def run(values: NDArray[np.float64]) -> NDArray[np.float64]:
        at = np.zeros(size)
        at[first] = values
        return running_sums(at)

    prose = np.where(columns["link_share"] < HALF, page.words * (page.words >= PROSE), 0.0)
    linked, written, sentences = run(page.linked), run(prose), run(columns["sentences"])
    images, fields, headings = (
        running_sums(tree.tagged(kinds).astype(np.float64))
        for kinds in (_IMAGES, CONTROLS, HEADINGS)
    )
    total = max(float(page.words.sum()), 1.0)
    before = np.cumsum(page.words) - page.words
    chain = [node]
    for _ in range(1, LEVELS):
        chain.append(nodes.top[np.maximum(tree.parent[chain[-1]], 0)])
    levels = np.stack(chain)
    words = nodes.below(nodes.word_run, levels)
    some = np.maximum(words, 1.0)
    blocks = np.searchsorted(first, tree.end[levels]) - np.searchsorted(first, levels)
    measured = {
        "words": words,
        "links": nodes.below(linked, levels) / some,
        "blocks": blocks.astype(np.float64),
        "prose": nodes.below(written, levels) / some,
        "sentences": nodes.below(sentences, levels) / some,
        "headings": nodes.below(headings, levels),
        "images": nodes.below(images, levels),
        "fields": nodes.below(fields, levels),
        "share": words / total,
        "name": nodes.named[levels],
        "place": (before - nodes.word_run[levels]) / some,
    }
    for level in range(LEVELS):
        for name, values in measured.items():
            columns[f"l{level}_{name}"] = values[level]


def _path_columns(columns: Columns, page: BlockText, name: str, paths: NDArray[np.uint64]) -> None:
    """Measure all blocks of the same path together."""
    _, group, count = np.unique(paths, return_inverse=True, return_counts=True)
    words = np.bincount(group, page.words).astype(np.float64)
    some = np.maximum(words, 1.0)
    prose = np.bincount(group, np.where(page.words >= PROSE, page.words, 0.0))
    columns[f"{name}_count"] = count[group].astype(np.float64)
    columns[f"{name}_words"] = words[group]
    columns[f"{name}_share"] = words[group] / max(float(page.words.sum()), 1.0)
    columns[f"{name}_of_most"] = words[group] / max(float(words.max()), 1.0)
    columns[f"{name}_mean"] = (words / count)[group]
    columns[f"{name}_links"] = (np.bincount(group, page.linked) / some)[group]
    columns[f"{name}_prose"] = (prose / some)[group]


def _heading_columns(columns: Columns, page: BlockText) -> None:
    """Measure the heading above each block."""
    count, index = len(page), np.arange(len(page))
    is_heading = columns["in_heading"] > 0
    last = np.maximum.accumulate(np.where(is_heading, index, -1))
    at, none = np.maximum(last, 0), last < 0
    before = running_sums(page.words)
    columns["heading_distance"] = np.where(none, 999.0, (index - last).astype(np.float64))
    columns["heading_words"] = np.where(none, 9999.0, before[:-1] - before[at])
    columns["heading_lexicon"] = np.where(none, 0.0, columns["lexicon"][at])
    columns["heading_min"] = np.where(none, 0.0, columns["lexicon_min"][at])
    columns["heading_title"] = np.where(none, 0.0, columns["title_share"][at])
    level = np.where(columns["in_h1"] > 0, 1, np.where(columns["in_h2"] > 0, 2, 3))
    columns["heading_level"] = np.where(none, 0, level[at]).astype(np.float64)
    h1 = np.flatnonzero((columns["in_h1"] > 0) & page.shown)
    columns["h1_distance"] = (index - (int(h1[0]) if len(h1) else -1)).astype(np.float64)
    columns["has_h1"] = np.full(count, float(len(h1) > 0))
    titled = int(np.argmax(columns["of_title"] * columns["title_share"]))
    columns["title_distance"] = (index - titled).astype(np.float64)
    headings = np.append(np.flatnonzero(is_heading), count)
    following = headings[np.searchsorted(headings[:-1], index, side="right")]
    columns["words_to_heading"] = before[following] - before[index + 1]
