"""Gaps between leaves, against a slow oracle."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from websegment_scrapy.page.build import build_tree
from websegment_scrapy.page.gaps import gap_bits
from websegment_scrapy.page.tree import TEXT, PageTree

PAGES = sorted((Path(__file__).parent / "gate").glob("*.html"))


def slow_gaps(tree: PageTree, leaves: list[int], bits: list[int]) -> list[int]:
    """Go from leaf to leaf: what is opened lies between them, what is closed above the first."""
    gaps = []
    for before, after in pairwise(leaves):
        union = 0
        for node in range(before, after + 1):
            union |= bits[node]
        for node in tree.ancestors(before):
            if tree.end[node] <= after:
                union |= bits[node]
        gaps.append(union)
    return gaps


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_gaps_equal_a_walk_from_leaf_to_leaf(path: Path) -> None:
    tree = build_tree(path.read_text(encoding="utf-8"))
    chooser = np.random.default_rng(7)
    bits = chooser.choice([0, 0, 0, 0, 1, 2, 4, 8], len(tree)).astype(np.uint8)
    for leaves in (tree.leaves, np.flatnonzero(chooser.random(len(tree)) < 0.2)):
        found = gap_bits(tree, leaves, bits).tolist()
        assert found == slow_gaps(tree, leaves.tolist(), bits.tolist())


def test_a_page_with_one_leaf_has_no_gap() -> None:
    tree = build_tree("<p>one")
    assert len(gap_bits(tree, tree.leaves, np.ones(len(tree), dtype=np.uint8))) == 0


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_xpaths_of_many_nodes_are_those_of_each(path: Path) -> None:
    tree = build_tree(path.read_text(encoding="utf-8"))
    nodes = list(range(0, len(tree), 7))
    slow = []
    for node in nodes:
        chain = reversed([node, *tree.ancestors(node)])
        steps = [(tree.tag_name(each).replace(TEXT, "text()"), tree.nth[each]) for each in chain]
        slow.append("".join(f"/{name}[{place}]" for name, place in steps))
    assert tree.xpaths(nodes) == slow
    assert tree.xpath(nodes[-1]) == tree.xpaths(nodes)[-1]
