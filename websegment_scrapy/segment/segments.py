"""A partition of leaves described for people: segments with place, size, words and text."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from websegment_scrapy.page.reading import Reader
from websegment_scrapy.page.subtrees import uniform_ranges
from websegment_scrapy.page.words import words_by_node

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from websegment_scrapy.page.tree import PageTree

__all__ = ["MOSTLY_LINKS", "Role", "Segment", "describe_segments", "relabel", "union_box"]

Role = Literal["main", "navigation", "header", "footer", "links", "other"]

MOSTLY_LINKS = 0.5
"""Share of linked words from which a segment is no main text (Block Fusion, section 5.4)."""


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    """One segment of a page.

    Attributes
    ----------
    id
        Position among the page's segments, by their first leaf.
    role
        ``main``, ``navigation`` (at least half of its words are linked), ``header``, ``footer`` or
        ``other``; where templateness is not known ``main``, ``links`` or ``other``.
    templateness
        0 (content) to 1 (template), ``None`` when nothing scored it.
    xpaths
        The largest subtrees that belong wholly to the segment.
    box
        ``x, y, width, height`` around its leaves.
    words, linked_words, links
        Words, words inside links, and distinct link targets.
    text
        Its text in reading order.
    leaves
        Positions of its leaves among ``tree.leaves``.
    parent
        The group that it was cut out of (`hierarchy.Group`), if the engine knows.
    informative
        Whether it is the one that presents the major information of the page.
    """

    id: int
    role: Role
    templateness: float | None
    xpaths: tuple[str, ...]
    box: tuple[int, int, int, int]
    words: int
    linked_words: int
    links: int
    text: str
    leaves: NDArray[np.int32]
    parent: int | None = None
    informative: bool = False

    @property
    def is_mostly_links(self) -> bool:
        """Say whether at least half of the words are linked."""
        return self.words > 0 and self.linked_words >= MOSTLY_LINKS * self.words

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form (see the documentation)."""
        names = "id role templateness xpaths box words links text parent informative".split()
        values = {name: getattr(self, name) for name in names}
        return values | {"xpaths": list(self.xpaths), "box": list(self.box)}


def relabel(labels: NDArray[np.int32]) -> NDArray[np.int32]:
    """Give the segments the numbers 0, 1, 2 … in the order of their first leaves."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int32)
    rank[np.argsort(first)] = np.arange(len(first), dtype=np.int32)
    return rank[inverse]


def describe_segments(
    tree: PageTree,
    labels: NDArray[np.int32],
    words: Mapping[int, Sequence[str]] | None = None,
    reader: Reader | None = None,
) -> tuple[Segment, ...]:
    """Describe every segment of a partition numbered by ``relabel``.

    ``words`` are those of each text node (`words_by_node`) and ``reader`` that of all leaves, if
    they are there already. Roles are ``links`` or ``other`` here; `text.main_text` chooses the main
    one.
    """
    if not len(labels):
        return ()
    count = int(labels.max()) + 1
    order = np.argsort(labels, kind="stable").astype(np.int32)
    bounds = np.searchsorted(labels[order], np.arange(count + 1))
    nodes = tree.leaves[order]
    xpaths = _xpaths(tree, labels, count)
    boxes = _union_boxes(tree, nodes, bounds[:-1])
    words = words_by_node(tree) if words is None else words
    leaf_words = [len(words.get(leaf, ())) for leaf in nodes.tolist()]
    links = tree.link[nodes].tolist()
    reader = reader or Reader(tree)
    found = []
    for number, (low, high) in enumerate(pairwise(bounds.tolist())):
        total = sum(leaf_words[low:high])
        linked = [place for place in range(low, high) if links[place] >= 0]
        in_links = sum([leaf_words[place] for place in linked])
        found.append(
            Segment(
                id=number,
                role="links" if total and in_links >= MOSTLY_LINKS * total else "other",
                templateness=None,
                xpaths=xpaths[number],
                box=boxes[number],
                words=total,
                linked_words=in_links,
                links=len({tree.links[links[place]] for place in linked}),
                text=reader.text(nodes[low:high]),
                leaves=order[low:high],
            )
        )
    return tuple(found)


def union_box(tree: PageTree, leaves: NDArray[np.int32]) -> tuple[int, int, int, int]:
    """Return the smallest box around some leaves."""
    return _union_boxes(tree, leaves, np.zeros(1, dtype=np.int64))[0]


def _union_boxes(
    tree: PageTree, leaves: NDArray[np.int32], first: NDArray[np.int64]
) -> list[tuple[int, int, int, int]]:
    """Return the smallest boxes around runs of leaves; ``first`` says where each run begins."""
    box = tree.box[leaves]
    low = np.minimum.reduceat(box[:, :2], first, axis=0)
    high = np.maximum.reduceat(box[:, :2] + box[:, 2:], first, axis=0)
    rounded = np.rint(np.hstack([low, high - low])).astype(np.int64)
    return [(left, top, width, height) for left, top, width, height in rounded.tolist()]


def _xpaths(tree: PageTree, labels: NDArray[np.int32], count: int) -> list[tuple[str, ...]]:
    """Write each segment as the XPaths of its maximal subtrees.

    The leaves of a subtree are neighbours in document order, so a subtree is uniform when the
    label does not change between its first and its last leaf.
    """
    low = np.searchsorted(tree.leaves, np.arange(len(tree)))
    high = np.searchsorted(tree.leaves, tree.end)
    uniform = high > low
    uniform[uniform] = uniform_ranges(labels, low[uniform], high[uniform])
    uniform[0] = False  # the document is no segment: its head is not part of the page
    topmost = uniform.copy()
    below = tree.parent >= 0
    topmost[below] &= ~uniform[tree.parent[below]]
    found: list[list[str]] = [[] for _ in range(count)]
    nodes = np.flatnonzero(topmost)
    for label, xpath in zip(labels[low[nodes]].tolist(), tree.xpaths(nodes.tolist()), strict=True):
        found[label].append(xpath)
    return [tuple(paths) for paths in found]
