"""What one page has below a node set into another, on the arrays of their trees."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from websegment_scrapy.page.tree import PageTree

__all__ = ["spliced"]

S = TypeVar("S", bound=np.generic)


def spliced(tree: PageTree, other: PageTree, root: int, parent: int, position: int) -> PageTree:
    """Set what is below a node of one page into another page.

    Parameters
    ----------
    tree
        The page that is added to.
    other
        The page that it comes from.
    root
        The node of `other` whose descendants are taken.
    parent
        The node of `tree` that they become children of.
    position
        The index that the first of them gets: where a child of `parent` begins, or its end.
    """
    taken = slice(root + 1, int(other.end[root]))
    count = taken.stop - taken.start
    move = position - taken.start
    # A node that ended at the very place was closed before, unless it is around the new ones.
    around = np.zeros(len(tree), dtype=bool)
    around[[parent, *tree.ancestors(parent)]] = True
    grown = (tree.end > position) | ((tree.end == position) & around)
    above = (tree.parent + count * (tree.parent >= position)).astype(np.int32)
    below = np.where(other.parent[taken] == root, parent, other.parent[taken] + move)
    tags, tag = _joined(tree.tags, other.tags, other.tag[taken])
    text = len(tree.text)

    def joined(old: NDArray[S], new: NDArray[Any]) -> NDArray[S]:
        return np.concatenate((old[:position], new.astype(old.dtype), old[position:]))

    def moved(nodes: dict[int, str], others: dict[int, str]) -> dict[int, str]:
        own = {node + count * (node >= position): value for node, value in nodes.items()}
        new = {
            node + move: value for node, value in others.items() if taken.start <= node < taken.stop
        }
        return own | new

    leaves = other.leaves[(other.leaves >= taken.start) & (other.leaves < taken.stop)] + move
    own_leaves = tree.leaves + count * (tree.leaves >= position)
    depth = other.depth[taken] + (tree.depth[parent] - other.depth[root])
    link = np.where(other.link[taken] >= 0, other.link[taken] + len(tree.links), -1)
    return replace(
        tree,
        parent=joined(above, below),
        end=joined((tree.end + count * grown).astype(np.int32), other.end[taken] + move),
        depth=joined(tree.depth, depth),
        tag=joined(tree.tag, tag),
        nth=joined(tree.nth, other.nth[taken]),
        box=joined(tree.box, other.box[taken]),
        style=joined(tree.style, other.style[taken] + len(tree.styles)),
        visible=joined(tree.visible, other.visible[taken]),
        readable=joined(tree.readable, other.readable[taken]),
        text_start=joined(tree.text_start, other.text_start[taken] + text),
        text_end=joined(tree.text_end, other.text_end[taken] + text),
        space_before=joined(tree.space_before, other.space_before[taken]),
        link=joined(tree.link, link),
        leaves=np.sort(np.concatenate((own_leaves, leaves))).astype(tree.leaves.dtype),
        tags=tags,
        styles=tree.styles + other.styles,
        links=tree.links + other.links,
        text=tree.text + other.text,
        names=moved(dict(tree.names), dict(other.names)),
        blank_before=moved(dict(tree.blank_before), dict(other.blank_before)),
    )


def _joined(
    tags: tuple[str, ...], others: tuple[str, ...], tag: NDArray[np.int32]
) -> tuple[tuple[str, ...], NDArray[np.int32]]:
    """Give the tags of two pages common numbers."""
    both = (*tags, *(name for name in others if name not in tags))
    number = np.array([both.index(name) for name in others], dtype=np.int32)
    return both, number[tag]
