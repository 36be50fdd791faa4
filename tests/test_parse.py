"""Markup that would make a page vanish."""

from __future__ import annotations

import random

import pytest

from tests.timing import takes_under
from websegment_scrapy.page.build import build_tree
from websegment_scrapy.page.markup import MAX_ATTRIBUTES, _limited, limit_attributes, limit_depth
from websegment_scrapy.page.parse import parse_html


def texts(html: str) -> list[str]:
    tree = build_tree(html)
    return [tree.text_of(leaf) for leaf in tree.leaves.tolist()]


@pytest.mark.parametrize("start", ["<title>Never ended", "<TITLE lang=en>Never ended"])
def test_a_title_that_never_ends_does_not_swallow_the_page(start: str) -> None:
    html = f"<html><head>{start}<link rel=x></head><body><p>All of the text</p></body></html>"
    assert texts(html) == ["All of the text"]
    assert build_tree(html).head.title == "Never ended"


def test_a_title_that_ends_is_left_alone() -> None:
    html = "<title>a < b</title><svg><title>icon</title></svg><p>text</p>"
    assert "text" in texts(html)
    assert build_tree(html).head.title == "a < b"


def test_a_title_and_nothing_else_is_an_empty_page() -> None:
    assert texts("<title>Only this") == []


@pytest.mark.parametrize("name", ["embed", "wbr", "source"])
def test_control_characters_in_an_element_without_an_end_are_no_error(name: str) -> None:
    tree = build_tree(f"<p>a</p><{name}>b\x01\x1bc<p>d</p>\x02e</{name}>f")
    assert tree.text == "abcdef"


def test_thousands_of_elements_without_an_end_lose_no_text() -> None:
    tree = build_tree("<p>" + "x<wbr>" * 5000 + "last</p>")
    assert tree.text == "x" * 5000 + "last"


def test_tags_nested_too_deep_go_and_their_text_stays() -> None:
    assert limit_depth("<a>1<b>2<c>3</c>4</b>5</a>", 2) == "<a>1<b>2 3 4</b>5</a>"
    assert limit_depth("<a><b><c title='>'>x</c>", 1) == "<a>  x "
    assert limit_depth("<a><!-- <b> --><script>if (a<b) </script><b>x", 1) == (
        "<a><!-- <b> --><script>if (a<b) </script> x"
    )


def test_a_tag_keeps_as_many_attributes_as_any_page_has() -> None:
    many = "".join(f" a{number}=1" for number in range(3 * MAX_ATTRIBUTES))
    few = "".join(f" a{number}=1" for number in range(MAX_ATTRIBUTES))
    assert limit_attributes(f"<p{many}>x<b{few}>y") == f"<p{few}>x<b{few}>y"
    quoted = """ a='>"<b'""" * MAX_ATTRIBUTES
    assert limit_attributes(f"<p{quoted * 2}>x") == f"<p{quoted}>x"


@pytest.mark.parametrize(
    "text",
    [
        "<script>if (a<b" + " c" * 5000 + ") </script><p>x",
        "<p title=it's>" + "a word's end " * 3000,
        "<!-- <b" + " c" * 5000 + "> --><p>x",
        "a < b" + " c" * 5000,
        '<p title="' + "a " * 5000 + '">x',
    ],
)
def test_what_only_looks_like_many_attributes_is_left_alone(text: str) -> None:
    assert limit_attributes(text) == text


@pytest.mark.parametrize(
    ("start", "unit"),
    [
        ("", "<title "), ("<p ", "a=1 "), ("<p ", "a='>' "), ("<p", "/a"), ("", "<embed>x"),
        ("<div>" * 3000, "<!-- "), ("<div>" * 3000, "<script "), ("<div>" * 3000, "<a '\""),
        ("<div>" * 3000, "<a "), ("<div>" * 3000, "<script></script"), ("", "<a b='<a "),
        ("", "<style><"), ("", "<p =="), ("", "<!---"),
    ],
)  # fmt: skip
def test_broken_markup_takes_linear_time(start: str, unit: str) -> None:
    assert takes_under(3, lambda: parse_html(start + unit * 100_000))


@pytest.mark.parametrize("seed", range(40))
def test_no_tag_with_many_attributes_is_overlooked(seed: int) -> None:
    # A look at quotes and ends of tags says of most texts that there is none; it must be right.
    chooser = random.Random(seed)
    forms = (" a", " a=b", ' a="b"', " a='b'", ' a="b>c"', " a='>'", "/a", ' a = "=\'>"', " a=b'")
    between = (
        "<p>x",
        "<b y='",
        '">',
        "<script>x = '<b>'",
        "</script>",
        "<!--",
        "-->",
        "it's ",
        "=",
    )
    text = ""
    for _ in range(6):
        text += "".join(chooser.choices(between, k=4)) + "<a"
        kinds = chooser.sample(forms, chooser.randint(1, 3))
        text += "".join(chooser.choices(kinds, k=chooser.choice((3, 400, 700, 1100)))) + ">"
    assert limit_attributes(text) == _limited(text)
