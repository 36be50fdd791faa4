"""Inserts set into training pages: the page stays what it was, and the inserts are not its."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.content_pages import content_page
from websegment_scrapy.content.text import block_text
from websegment_scrapy.learn.content import ContentExample, content_examples
from websegment_scrapy.learn.grafts import graft
from websegment_scrapy.learn.inserts import Scraps
from websegment_scrapy.learn.splicing import spliced
from websegment_scrapy.page.build import build_tree
from websegment_scrapy.page.tree import TEXT, PageTree

TREE = "<html><body><div>a<p>b</p></div><ul><li>c<li>d</ul>e</body></html>"
PART = "<html><body><h2>x</h2><section class=n><p>y <a href='/z'>z</a></p></section></body></html>"


def nested(tree: PageTree) -> list[object]:
    """Return a tree as lists of tags and texts."""

    def of(node: int) -> object:
        if tree.tag_name(node) == TEXT:
            return tree.text_of(node)
        children: list[object] = [tree.tag_name(node), tree.names.get(node, "")]
        child = node + 1
        while child < tree.end[node]:
            assert (tree.parent[child], tree.depth[child]) == (node, tree.depth[node] + 1)
            children.append(of(child))
            child = int(tree.end[child])
        return children

    return [of(0)]


def node_of(tree: PageTree, tag: str) -> int:
    return [tree.tag_name(node) for node in range(len(tree))].index(tag)


@pytest.mark.parametrize(
    ("parent", "before", "expected"),
    [
        ("body", "div", "<html><body>{}<div>a<p>b</p></div><ul><li>c<li>d</ul>e</body></html>"),
        ("body", "ul", "<html><body><div>a<p>b</p></div>{}<ul><li>c<li>d</ul>e</body></html>"),
        ("body", "", "<html><body><div>a<p>b</p></div><ul><li>c<li>d</ul>e{}</body></html>"),
        ("div", "", "<html><body><div>a<p>b</p>{}</div><ul><li>c<li>d</ul>e</body></html>"),
    ],
)
def test_splicing_gives_the_tree_of_the_joined_html(
    parent: str, before: str, expected: str
) -> None:
    tree, part = (build_tree(html, estimate_layout=False) for html in (TREE, PART))
    node = node_of(tree, parent)
    position = node_of(tree, before) if before else int(tree.end[node])
    joined = spliced(tree, part, node_of(part, "body"), node, position)
    inner = PART.removeprefix("<html><body>").removesuffix("</body></html>")
    wanted = build_tree(expected.format(inner), estimate_layout=False)
    assert nested(joined) == nested(wanted)
    assert joined.links == wanted.links
    assert [joined.links[link] if link >= 0 else "" for link in joined.link.tolist()] == [
        wanted.links[link] if link >= 0 else "" for link in wanted.link.tolist()
    ]


@cache
def examples() -> list[ContentExample]:
    made = content_examples([content_page(seed) for seed in range(8)])
    return [example for example in made if example is not None]


SCRAPS = Scraps(
    remarks=("I thank you for this",), openings=("It began " * 15,), titles=("A title of three",)
)


@given(st.integers(0, 2**32), st.integers(0, 7))
def test_a_page_keeps_its_text_and_nothing_foreign_is_main_text(seed: int, number: int) -> None:
    example = examples()[number]
    made = graft(example.tree, example.shares, SCRAPS, np.random.default_rng(seed))
    assert made is not None
    tree, shares = made
    nested(tree)
    before, after = block_text(example.tree), block_text(tree)
    assert len(after) == len(shares)
    old = list(zip(before.texts, example.shares.tolist(), strict=True))
    new = list(zip(after.texts, shares.tolist(), strict=True))
    main = [block for block in new if block[1]]
    assert main
    assert main == [block for block in old if block[1]][: len(main)]
    left = iter(new)
    assert all(block in left for block in old if not block[1])  # in order, others between them


def test_the_same_seed_gives_the_same_page() -> None:
    example = examples()[0]
    one, other = (
        graft(example.tree, example.shares, SCRAPS, np.random.default_rng(3)) for _ in range(2)
    )
    assert one is not None
    assert other is not None
    assert nested(one[0]) == nested(other[0])


def test_a_page_without_an_article_is_left_alone() -> None:
    tree = build_tree("<html><body><p>Too short</p></body></html>", estimate_layout=False)
    assert graft(tree, np.ones(1), SCRAPS, np.random.default_rng(0)) is None


def test_scraps_come_from_main_texts_and_remarks_from_what_is_no_article() -> None:
    articles = [(example.tree, example.shares) for example in examples()]
    forum = build_tree(
        "<html><body><p>I think that my answer helps you most</p></body></html>",
        estimate_layout=False,
    )
    scraps = Scraps.of(articles, [(forum, np.ones(1))])
    assert scraps.remarks == ("I think that my answer helps you most",)
    assert len(scraps.openings) == len(scraps.titles) == len(articles)
    assert not Scraps.of([], [])
