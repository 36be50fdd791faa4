"""Code in the common highlighters comes out as code: its lines, without their numbers."""

from __future__ import annotations

import pytest

from tests.technical_posts.designs import HIGHLIGHTERS
from websegment_scrapy.extraction import extract
from websegment_scrapy.page.build import build_tree
from websegment_scrapy.page.reading import Reader

LINES = ("def total(rows):", "    found = 0", "", "    return found + 7", "    # 42")
TEXT = "<p>The function that counts the rows of a table stands in a module of its own.</p>"


def text_of(html: str) -> str:
    tree = build_tree(html, estimate_layout=False)
    return Reader(tree, tree.texts).text(tree.texts)


@pytest.mark.parametrize("highlighter", HIGHLIGHTERS)
def test_code_has_its_lines_and_not_their_numbers(highlighter: str) -> None:
    html = f"<p>before</p>{HIGHLIGHTERS[highlighter](LINES, 'python')}<p>after</p>"
    before, *lines, after = [line for line in text_of(html).split("\n") if line]
    assert (before, after) == ("before", "after")
    assert lines == [line for line in LINES if line]


@pytest.mark.parametrize("highlighter", HIGHLIGHTERS)
def test_a_line_alone_has_no_number(highlighter: str) -> None:
    html = f"<p>before</p>{HIGHLIGHTERS[highlighter](['pip install it'], 'bash')}<p>after</p>"
    assert text_of(html).split() == ["before", "pip", "install", "it", "after"]


@pytest.mark.parametrize("highlighter", HIGHLIGHTERS)
def test_markdown_has_it_as_code(highlighter: str) -> None:
    html = f"{TEXT}{HIGHLIGHTERS[highlighter](LINES, 'python')}{TEXT}"
    marked = extract(f"<article>{html}</article>", markdown=True).main_text
    _, code, _ = marked.split("```")
    written = [line for line in code.strip("\n").split("\n") if line]
    assert written == [line for line in LINES if line]


@pytest.mark.parametrize(
    "html",
    [
        "<table><tr><td>1</td><td>one</td></tr><tr><td>2</td><td>two</td></tr></table>",
        "<table><tr><td>1</td><td>2</td><td>3</td></tr></table>",
        "<pre>1\n2\n3</pre>",
        "<pre><b>x</b> = [<i>1</i>, <i>2</i>, <i>3</i>]</pre>",
        "<pre><i>3</i>\n<i>1</i>\n<i>2</i></pre>",
        "<table><tr><td>7</td><td><pre>a year</pre></td></tr></table>",
        "<p class=ln>1</p><p>one</p><p class=ln>2</p>",
        "<ol class=gutter><li>1<li>2</ol>",
    ],
    ids=[
        "a numbered table", "a row of figures", "numbers alone", "numbers in code", "no numbering",
        "one number beside code", "named without code", "a list",
    ],
)  # fmt: skip
def test_other_numbers_stay(html: str) -> None:
    plain = build_tree(html, estimate_layout=False)
    digits = [letter for letter in html.replace("</", "<") if letter.isdigit()]
    assert [letter for letter in plain.text if letter.isdigit()] == digits
