"""Main texts as Markdown."""

from __future__ import annotations

import json
import time

import numpy as np
import pytest

from websegment_scrapy import extract
from websegment_scrapy.content.page_templates import PageTemplates
from websegment_scrapy.page.build import build_tree
from websegment_scrapy.text.main_text import kept_text
from websegment_scrapy.text.markdown import markdown_text


def templates(html: str, without: str = "") -> tuple:
    """Return a page of which all is main text but the texts that contain a word."""
    tree = build_tree(html, estimate_layout=False)
    nodes = np.flatnonzero(tree.text_end > tree.text_start)
    kept = np.array(
        [not without or without not in tree.text_of(node) for node in nodes.tolist()], dtype=bool
    )
    none = np.zeros(len(nodes), dtype=bool)
    found = PageTemplates(nodes, np.where(kept, 0.0, 1.0), kept, kept, none)
    return tree, found


def markdown(html: str, without: str = "") -> str:
    return markdown_text(*templates(html, without))


def test_headings_have_their_level_and_paragraphs_an_empty_line_between() -> None:
    html = "<h1>A <b>b</b></h1><p>one <i>two</i><br>three</p><h3>C</h3><div>d</div>"
    assert markdown(html) == "# A b\n\none two\nthree\n\n### C\n\nd"


def test_nested_lists_are_indented_below_the_text_of_their_item() -> None:
    html = "<ul><li>a<li>b<ul><li>c<li>d</ul>more<li>e</ul>"
    assert markdown(html) == "- a\n- b\n  - c\n  - d\n\n  more\n- e"


def test_ordered_lists_have_numbers_and_indent_by_their_width() -> None:
    html = "<ol>" + "<li>x" * 9 + "<li>ten<ol><li>deep</ol></ol>"
    assert markdown(html).splitlines()[-3:] == ["9. x", "10. ten", "    1. deep"]


def test_an_item_may_hold_paragraphs_headings_code_and_quotes() -> None:
    html = "<ul><li><h3>H</h3><p>a</p><pre>x\ny</pre><blockquote>q</blockquote><li>b</ul>"
    wanted = "- ### H\n\n  a\n\n  ```\n  x\n  y\n  ```\n\n  > q\n\n- b"
    assert markdown(html) == wanted


def test_tables_have_a_header_row_and_keep_their_columns() -> None:
    html = (
        "<table><caption>Cap</caption><tr><th>Name<th>Size<tr><td>a|b<td>1 <b>kg</b>"
        "<tr><td><td><p>x<p>y<tr><td>last</table>"
    )
    assert markdown(html).split("\n") == [
        "Cap",
        "",
        "| Name | Size |",
        "| --- | --- |",
        "| a\\|b | 1 kg |",
        "|  | x y |",
        "| last |  |",
    ]


def test_rows_that_are_template_are_left_out_of_a_table() -> None:
    html = "<table><tr><td>a<td>b<tr><td>advert<td>advert<tr><td>c<td>advert</table>"
    assert markdown(html, without="advert") == "| a | b |\n| --- | --- |\n| c |  |"


@pytest.mark.parametrize(
    "html",
    [
        "<table><tr><td>one<td>two</table>",
        "<table><tr><td>one<tr><td>two</table>",
        "<table><tr><td>one<td><table><tr><td>two</table></table>",
        f"<table><tr><td>one<td>two {'word ' * 120}<tr><td>three<td>four</table>",
    ],
)
def test_a_table_for_the_layout_is_written_as_paragraphs(html: str) -> None:
    assert markdown(html).startswith("one\n\ntwo")


def test_code_keeps_its_lines_and_its_white_space() -> None:
    html = (
        "<pre>\n<span>def</span> <span>f</span>():\n    <b>return</b> 1\n\n<i># c</i>\n</pre><p>x"
    )
    assert markdown(html) == "```\ndef f():\n    return 1\n\n# c\n```\n\nx"
    assert kept_text(*templates(html)) == "def f():\n    return 1\n\n# c\n\nx"


def test_a_fence_is_longer_than_those_in_the_code() -> None:
    assert markdown("<pre>a\n````\nb</pre>") == "`````\na\n````\nb\n`````"


def test_quotes_nest() -> None:
    html = "<blockquote><p>a<blockquote>b</blockquote><ul><li>c<li>d</ul></blockquote><p>e"
    assert markdown(html) == "> a\n>\n> > b\n>\n> - c\n> - d\n\ne"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("# no heading", "\\# no heading"),
        ("1. no item", "1\\. no item"),
        ("2) no item", "2\\) no item"),
        ("- no item", "\\- no item"),
        ("> no quote", "\\> no quote"),
        ("```", "\\```"),
        ("---", "\\---"),
        ("===", "\\==="),
        ("* * x", "\\* * x"),
        ("the <div> element", "the \\<div> element"),
        ("3.5 kg", "3.5 kg"),
        ("#tag", "#tag"),
        ("a < b - c * d", "a < b - c * d"),
        ("-5 degrees", "-5 degrees"),
        ("1998", "1998"),
    ],
)
def test_text_that_would_mean_something_is_escaped(text: str, written: str) -> None:
    html = text.replace("<", "&lt;")
    assert markdown(f"<p>{html}") == written
    assert markdown(f"<ul><li>{html}</ul>") == f"- {written}"


def test_all_words_are_there() -> None:
    html = (
        "<dl><dt>term<dd>meaning</dl><ol>loose<li>item</ol><li>bare"
        "<table><tr><td>x</table><pre></pre>"
    )
    for word in ("term", "meaning", "loose", "item", "bare", "x"):
        assert word in markdown(html).split()


def test_an_empty_page_is_empty() -> None:
    assert markdown("") == ""
    assert markdown("<p>all", without="all") == ""


def test_deep_nesting_and_long_tables_take_bounded_time() -> None:
    started = time.process_time()
    assert markdown("<ul><li>a" * 900).count("\n") >= 400
    rows = "<tr><td>a<td>b<td>c" * 5000
    assert markdown(f"<table>{rows}</table>").count("\n") == 5000
    assert time.process_time() - started < 5


def test_a_page_without_a_main_segment_tells_its_text_in_markdown_too() -> None:
    story = " ".join(["A story that only a script would show to those who come here."] * 8)
    told = json.dumps({"@context": "https://schema.org", "articleBody": story})
    html = f'<script type="application/ld+json">{told}</script><a href=/>Home</a>'
    for markdown in (False, True):
        assert extract(html, main_text="largest", markdown=markdown).main_text == story
