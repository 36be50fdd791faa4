"""A part of one page set into another, on the arrays of their trees."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from websegment_scrapy.page.tree import PageTree

__all__ = ["spliced"]

S = TypeVar("S", bound=np.generic)


def spliced(tree: PageTree, part: PageTree, root: int, parent: int, position: int) -> PageTree:
    """Set what is below a node of one page into another page.

    Parameters
    ----------
    tree
        The page that is added to.
    part
        The page that it comes from.
    root
        The node of `part` whose descendants are taken.
    parent
        The node of `tree` that they become children of.
    position
        The index that the first of them gets: where a child of `parent` begins, or its end.
    """
    taken = slice(root + 1, int(part.end[root]))
    count = taken.stop - taken.start
    move = position - taken.start
    # A node that ended at the very place was closed before, unless it is around the new ones.
    around = np.zeros(len(tree), dtype=bool)
    around[[parent, *tree.ancestors(parent)]] = True
    grown = (tree.end > position) | ((tree.end == position) & around)
    above = (tree.parent + count * (tree.parent >= position)).astype(np.int32)
    below = np.where(part.parent[taken] == root, parent, part.parent[taken] + move)
    tags, tag = _joined(tree.tags, part.tags, part.tag[taken])
    text = len(tree.text)

    def joined(old: NDArray[S], new: NDArray[Any]) -> NDArray[S]:
        return np.concatenate((old[:position], new.astype(old.dtype), old[position:]))

    def moved(nodes: dict[int, str], others: dict[int, str]) -> dict[int, str]:
        own = {node + count * (node >= position): value for node, value in nodes.items()}
        new = {
            node + move: value for node, value in others.items() if taken.start <= node < taken.stop
        }
        return own | new

    leaves = part.leaves[(part.leaves >= taken.start) & (part.leaves < taken.stop)] + move
    own_leaves = tree.leaves + count * (tree.leaves >= position)
    depth = part.depth[taken] + (tree.depth[parent] - part.depth[root])
    link = np.where(part.link[taken] >= 0, part.link[taken] + len(tree.links), -1)
    return replace(
        tree,
        parent=joined(above, below),
        end=joined((tree.end + count * grown).astype(np.int32), part.end[taken] + move),
        depth=joined(tree.depth, depth),
        tag=joined(tree.tag, tag),
        nth=joined(tree.nth, part.nth[taken]),
        box=joined(tree.box, part.box[taken]),
        style=joined(tree.style, part.style[taken] + len(tree.styles)),
        visible=joined(tree.visible, part.visible[taken]),
        readable=joined(tree.readable, part.readable[taken]),
        text_start=joined(tree.text_start, part.text_start[taken] + text),
        text_end=joined(tree.text_end, part.text_end[taken] + text),
        space_before=joined(tree.space_before, part.space_before[taken]),
        link=joined(tree.link, link),
        leaves=np.sort(np.concatenate((own_leaves, leaves))).astype(tree.leaves.dtype),
        tags=tags,
        styles=tree.styles + part.styles,
        links=tree.links + part.links,
        text=tree.text + part.text,
        names=moved(dict(tree.names), dict(part.names)),
        blank_before=moved(dict(tree.blank_before), dict(part.blank_before)),
    )


def _joined(
    tags: tuple[str, ...], others: tuple[str, ...], tag: NDArray[np.int32]
) -> tuple[tuple[str, ...], NDArray[np.int32]]:
    """Give the tags of two pages common numbers."""
    both = (*tags, *(name for name in others if name not in tags))
    number = np.array([both.index(name) for name in others], dtype=np.int32)
    return both, number[tag]
