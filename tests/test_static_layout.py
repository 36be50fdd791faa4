from __future__ import annotations

import pytest

from websegment_scrapy.page.build import build_tree
from websegment_scrapy.page.tree import PageTree


def box(tree: PageTree, text: str) -> tuple[float, float, float, float]:
    for leaf in range(len(tree)):
        if tree.text_of(leaf) == text:
            return tuple(tree.box[leaf].tolist())
    raise AssertionError(text)


def element_box(tree: PageTree, tag: str, nth: int = 0) -> tuple[float, float, float, float]:
    nodes = [node for node in range(len(tree)) if tree.tag_name(node) == tag]
    return tuple(tree.box[nodes[nth]].tolist())


def test_it_says_that_the_layout_is_estimated() -> None:
    tree = build_tree("<p>x")
    assert tree.layout == "static"
    assert tree.width == 1280


def test_blocks_are_stacked_and_inline_content_shares_a_line() -> None:
    tree = build_tree("<p>one <b>two</b></p><p>three</p>")
    one, two, three = box(tree, "one"), box(tree, "two"), box(tree, "three")
    assert one[1] == two[1]
    assert two[0] >= one[0] + one[2]
    assert three[1] >= one[1] + one[3]


def test_long_text_wraps_at_the_width_of_its_block() -> None:
    tree = build_tree("<p>" + "word " * 400)
    _, _, width, height = box(tree, ("word " * 400).strip())
    assert width <= 1264
    # 1999 characters of 8 px on lines of 1264 px: 13 lines
    assert height == pytest.approx(13 * 16 * 1.2, rel=0.01)


def test_a_line_break_starts_a_new_line() -> None:
    tree = build_tree("<p>one<br>two")
    assert box(tree, "two")[1] > box(tree, "one")[1]
    assert box(tree, "two")[0] == box(tree, "one")[0]


def test_table_cells_stand_side_by_side_and_rows_below_each_other() -> None:
    tree = build_tree(
        "<table><tr><td>a</td><td>b</td></tr><tr><td colspan=2>c</td></tr><tr><td>d<td>e</table>"
    )
    a, b, c, d = (box(tree, text) for text in "abcd")
    assert a[1] == b[1]
    assert b[0] > a[0]
    assert c[1] > a[1]
    assert c[0] == a[0]
    assert d[1] > c[1]


def test_columns_are_as_wide_as_declared() -> None:
    tree = build_tree(
        "<table width=800><tr><td width=200>menu</td><td width=600>text</td></tr></table>"
    )
    assert element_box(tree, "td", 0)[2] == pytest.approx(200)
    assert element_box(tree, "td", 1)[2] == pytest.approx(600)
    assert element_box(tree, "td", 1)[0] == pytest.approx(8 + 200)


def test_columns_share_the_page_by_their_content() -> None:
    tree = build_tree(f"<table><tr><td>{'menu ' * 30}<td>{'word ' * 600}</table>")
    narrow, wide = element_box(tree, "td", 0)[2], element_box(tree, "td", 1)[2]
    assert wide > 5 * narrow
    assert narrow + wide <= 1264.5


def test_declared_image_sizes_are_used() -> None:
    tree = build_tree(
        "<img width=300 height=100><img style='width: 50px; height:60px'><img width=50% >"
    )
    assert element_box(tree, "img", 0)[2:] == (300, 100)
    assert element_box(tree, "img", 1)[2:] == (50, 60)
    assert element_box(tree, "img", 2)[2] == pytest.approx(1264 / 2)


def test_an_inline_element_encloses_its_content() -> None:
    tree = build_tree("<p>x <a href=y>one <b>two</b></a>")
    left, _, width, _ = element_box(tree, "a")
    two = box(tree, "two")
    assert left <= box(tree, "one")[0]
    assert left + width == pytest.approx(two[0] + two[2])


def test_children_lie_inside_their_block() -> None:
    tree = build_tree("<div><h1>Title</h1><ul><li>a<li>b <img width=20 height=10></ul></div>")
    for node in range(1, len(tree)):
        if not tree.visible[node] or tree.box[node, 2] == 0:
            continue
        parent = tree.parent[node]
        x, y, width, height = tree.box[node].tolist()
        px, py, pwidth, pheight = tree.box[parent].tolist()
        assert px - 0.5 <= x
        assert py - 0.5 <= y
        assert x + width <= px + pwidth + 0.5
        assert y + height <= py + pheight + 0.5


def test_headings_are_larger_and_bold() -> None:
    tree = build_tree("<h1>Title</h1><p>text <a href=x>link</a> <font size=5 color=red>big</font>")
    style = {tree.text_of(leaf): tree.styles[tree.style[leaf]] for leaf in tree.leaves.tolist()}
    assert style["Title"].font_size == 32
    assert style["Title"].font_weight == 700
    assert style["text"].font_size == 16
    assert style["text"].font_weight == 400
    assert style["link"].underline
    assert style["link"].color == "0000ee"
    assert style["big"].font_size == 24
    assert style["big"].color == "ff0000"


def test_hostile_numbers_are_harmless() -> None:
    tree = build_tree(
        "<table width=1e9><tr><td width=999999999999 colspan=99999999>x</td></tr></table>"
        "<img width=-5 height=NaN><img width=99999999999999999999 height=0>"
        "<p style='font-size: 1.2.3px; width: ...px'>y</p><p style='font-size:99999999em'>z"
    )
    assert (tree.box[:, 2] <= 200_000).all()
    assert (tree.box >= 0).all()


def test_east_asian_characters_are_twice_as_wide() -> None:
    tree = build_tree("<p>漢字漢字</p><p>abcd</p>")
    assert box(tree, "漢字漢字")[2] == 2 * box(tree, "abcd")[2]
