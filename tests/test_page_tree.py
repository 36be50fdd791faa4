from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from websegment_scrapy.page.build import build_tree
from websegment_scrapy.page.parse import parse_html
from websegment_scrapy.page.reading import Reader
from websegment_scrapy.page.tree import TEXT, PageTree


def texts(tree: PageTree) -> list[str]:
    return [tree.text_of(leaf) for leaf in tree.leaves.tolist() if tree.is_text[leaf]]


def reading(html: str) -> str:
    tree = build_tree(html)
    return Reader(tree).text(tree.leaves)


def test_leaves_are_visible_text_and_replaced_elements_in_order() -> None:
    tree = build_tree(
        "<title>no</title><p>one <b>two</b><img src=x><script>no</script><style>no</style>"
        "<select><option>no</select><noscript>no</noscript><span hidden>no</span>"
        "<i style='display: none'>no</i><input type=hidden><input><textarea>no</textarea> three"
    )
    kinds = [tree.leaf_kind(leaf) for leaf in tree.leaves.tolist()]
    assert texts(tree) == ["one", "two", "three"]
    assert kinds == ["text", "text", "img", "select", "input", "textarea", "text"]


def test_every_xpath_finds_its_node_in_the_parsed_document() -> None:
    html = (
        "<body>a<!-- c -->b<div>x<br>y</div><div><p>z<o:p>w</o:p><fb:like>v</fb:like>"
        "<?pi x?>u</div> t"
    )
    tree = build_tree(html)
    root = parse_html(html)
    for node in range(len(tree)):
        found = root.getroottree().xpath(tree.xpath(node))
        assert len(found) == 1, tree.xpath(node)
        if tree.is_text[node]:
            assert " ".join(str(found[0]).split()) == tree.text_of(node)
        else:
            assert found[0].tag == tree.tag_name(node)


_TAGS = st.sampled_from(["div", "p", "span", "b", "ul", "li", "table", "tr", "td", "a", "x-y"])
_HTML = st.recursive(
    st.text(alphabet="ab \n<&é日", max_size=8).map(lambda text: text.replace("<", "&lt;"))
    | st.sampled_from(["<br>", "<img>", "<!-- c -->", "<hr>"]),
    lambda inner: st.tuples(_TAGS, st.lists(inner, max_size=4)).map(
        lambda pair: f"<{pair[0]}>{''.join(pair[1])}</{pair[0]}>"
    ),
    max_leaves=20,
)


@given(_HTML)
def test_arrays_describe_the_same_tree_as_lxml(html: str) -> None:
    tree = build_tree(html)
    root = parse_html(html)
    elements = [element for element in root.iter() if isinstance(element.tag, str)]
    nodes = [node for node in range(len(tree)) if tree.tag_name(node) != TEXT]
    assert [tree.tag_name(node) for node in nodes] == [element.tag for element in elements]
    number = dict(zip(elements, nodes, strict=True))
    for element, node in number.items():
        above = element.getparent()
        assert tree.parent[node] == (-1 if above is None else number[above])
        inside = [number[e] for e in element.iter() if isinstance(e.tag, str)]
        assert node < tree.end[node] <= len(tree)
        assert set(inside) <= set(range(node, int(tree.end[node])))
    for node in range(len(tree)):
        assert len(root.getroottree().xpath(tree.xpath(node))) == 1
        children = np.flatnonzero(tree.parent == node)
        assert all(tree.end[child] <= tree.end[node] for child in children)
    assert np.isfinite(tree.box).all()
    assert (tree.box[:, 2:] >= 0).all()


def test_links_reach_down_to_text_inside_them() -> None:
    tree = build_tree('<a href="/x">one <b>two</b></a> three <a name=y>four</a>')
    targets = [tree.links[link] if link >= 0 else None for link in tree.link[tree.leaves].tolist()]
    assert targets == ["/x", "/x", None, None]


def test_an_attribute_comes_from_the_nearest_element_that_has_it() -> None:
    tree = build_tree(
        "<div data-id=1>a<p>b<i data-id=2>c</i></div>d", attributes=["data-id", "class"]
    )
    found = {tree.text_of(leaf): tree.attribute("data-id", leaf) for leaf in tree.leaves.tolist()}
    assert found == {"a": "1", "b": "1", "c": "2", "d": None}


def test_titles_and_language_come_from_the_head() -> None:
    head = build_tree(
        '<html lang="cs"><title> A\n title </title><meta property="og:title" content="Shared">'
    ).head
    assert (head.title, head.og_title) == ("A title", "Shared")


@pytest.mark.parametrize(
    "html",
    ["", "  \n", "\0", "<!-- comment -->", "<script>only()</script>", "<frameset></frameset>"],
)
def test_pages_without_text_have_no_leaves(html: str) -> None:
    tree = build_tree(html)
    assert texts(tree) == []
    assert len(tree) > 0


def test_nul_bytes_and_broken_surrogates_do_not_hide_text() -> None:
    assert texts(build_tree("<p>a\0b</p><p>c\ud800d")) == ["ab", "c�d"]


def test_five_thousand_nested_elements_keep_their_text() -> None:
    tree = build_tree("<div>" * 5000 + "deep" + "</div>" * 5000 + "<p>after")
    assert texts(tree) == ["deep", "after"]


def test_paragraphs_lines_and_cells_are_kept() -> None:
    assert reading("<h1>T</h1><p>one\n two<p>three<br>four<ul><li>a<li>b</ul>") == (
        "T\n\none two\n\nthree\nfour\n\na\nb"
    )
    assert reading("<table><tr><td>a<td>b<tr><td>c</table>") == "a\tb\nc"


def test_words_that_the_page_runs_together_stay_together() -> None:
    assert reading("<p>un<b>believ</b>able <i>really</i>, <a>yes</a>!") == (
        "unbelievable really, yes!"
    )


def test_preformatted_text_keeps_its_lines() -> None:
    assert reading("<pre>\nfor x in y:\n    print(x)\n</pre>") == "for x in y:\n    print(x)"


def test_text_around_leaves_that_are_left_out_is_a_new_paragraph() -> None:
    tree = build_tree("<p>a <b>b</b> c")
    assert Reader(tree).text(tree.leaves[[0, 2]]) == "a\n\nc"


def test_a_page_tree_is_the_same_in_every_run() -> None:
    html = "<div><p>one</p><table><tr><td>x<td>y</table><img width=10 height=5></div>"
    first, second = build_tree(html), build_tree(html)
    assert np.array_equal(first.box, second.box)
    assert first.styles == second.styles


def test_parse_html_always_gives_an_element() -> None:
    for text in ("", "<", "<>", "<a", "]]>", "&", "</p>", "\ufeff"):
        assert isinstance(parse_html(text), etree._Element)


@pytest.mark.parametrize("tag", ["embed", "wbr", "source", "track", "keygen", "bgsound"])
def test_text_after_an_element_without_end_tag_is_not_inside_it(tag: str) -> None:
    html = f"<p>before <{tag}>after <b>bold</b> end</p><div>more</div>"
    assert texts(build_tree(html)) == ["before", "after", "bold", "end", "more"]
