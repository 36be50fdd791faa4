"""Text blocks and what is counted of them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from websegment_scrapy.content.features import BlockFeatures, block_features
from websegment_scrapy.content.lexicon import Lexicon, name_words
from websegment_scrapy.content.place import shifted
from websegment_scrapy.content.text import (
    CLASSES,
    COMMA,
    DIGIT,
    LETTER,
    SENTENCE,
    SPACE,
    UPPER,
    block_text,
)
from websegment_scrapy.page.build import build_tree

NO_WORDS = Lexicon({}, {}, {})


def column(page: BlockFeatures, name: str) -> np.ndarray:
    return page.matrix[:, page.names.index(name)]


def texts(html: str) -> list[str]:
    return [" ".join(text.split()) for text in block_text(build_tree(html)).texts]


def test_block_level_tags_cut_and_inline_ones_do_not() -> None:
    html = "<p>one <b>two</b> <a href=x>three</a><p>four<ul><li>five<li>six</ul>seven"
    assert texts(html) == ["one two three", "four", "five", "six", "seven"]


def test_cells_are_blocks_and_line_breaks_cut_nothing() -> None:
    assert texts("<table><tr><td>a<td>b</table><p>c<br>d") == ["a", "b", "c d"]


def test_hidden_text_has_blocks_of_its_own() -> None:
    page = block_text(build_tree("<p>seen <span hidden>not seen</span> again"))
    assert [text.split() for text in page.texts] == [["seen"], ["not", "seen"], ["again"]]
    assert page.shown.tolist() == [True, False, True]


def test_every_text_node_is_in_one_block() -> None:
    page = block_text(build_tree("<div>a<p>b <i>c</i> d</p>e<ul><li>f</ul></div>"))
    assert page.blocks.of_node.tolist() == [0, 1, 1, 1, 2, 3]
    assert len(page.blocks.nodes) == page.blocks.first[-1]


@pytest.mark.parametrize("html", ["", "<p></p>", "<script>var a = 1</script>", "<img src=x>"])
def test_a_page_without_text_has_no_blocks(html: str) -> None:
    tree = build_tree(html)
    assert len(block_text(tree)) == 0
    assert block_features(tree, NO_WORDS) is None


def test_words_links_and_characters_are_counted() -> None:
    page = block_text(build_tree("<p>Two <a href=x>linked words</a>, 12.<p>日本語。テスト、x"))
    assert page.words.tolist() == [4, 5]  # two letters of a script without spaces are a word
    assert page.linked.tolist() == [2, 0]
    first = dict.fromkeys(range(CLASSES), 0.0) | {
        UPPER: 1, LETTER: 13, COMMA: 1, DIGIT: 2, SENTENCE: 1, SPACE: 2,
    }  # fmt: skip
    assert {kind: page.counts[kind, 0] for kind in range(CLASSES)} == first
    assert page.counts[SENTENCE, 1] == page.counts[COMMA, 1] == 1


@given(st.lists(st.text(alphabet="ab1,. é漢\U0001f600", min_size=1, max_size=12), max_size=8))
def test_counts_are_those_of_the_blocks_texts(parts: list[str]) -> None:
    page = block_text(build_tree("".join(f"<p>{part}</p>" for part in parts)))
    for number, text in enumerate(page.texts):
        assert page.counts[:, number].sum() == len(text)
        assert page.counts[DIGIT, number] == text.count("1")
        assert page.counts[SPACE, number] == text.count(" ")
        own = [token for token, block in zip(page.tokens, page.token_block, strict=True)
               if block == number]  # fmt: skip
        assert page.words[number] == sum(max(1, math.ceil(token.count("漢") / 2)) for token in own)


def test_names_are_split_at_capitals_digits_and_signs() -> None:
    assert list(name_words("PostBody entry-text2 XMLFeed")) == [
        "post", "body", "entry", "text", "xml", "feed",
    ]  # fmt: skip


def test_shifting_past_the_end_leaves_only_the_outside() -> None:
    values = np.array([1.0, 2.0])
    assert shifted(values, 1, -1.0).tolist() == [2, -1]
    assert shifted(values, -1, -1.0).tolist() == [-1, 1]
    assert shifted(values, 3, -1.0).tolist() == [-1, -1]
    assert shifted(values, -3, -1.0).tolist() == [-1, -1]


def test_columns_say_where_a_block_stands() -> None:
    html = (
        "<body><nav><a href=1>Home</a></nav><main><h1>Title</h1><p>One two three."
        "<p>Four five.</main>"
    )
    page = block_features(build_tree(html), Lexicon({"home": -1.0}, {}, {}))
    assert page is not None
    assert column(page, "in_nav").tolist() == [1, 0, 0, 0]
    assert column(page, "in_main").tolist() == [0, 1, 1, 1]
    assert column(page, "lexicon").tolist() == [-1, 0, 0, 0]
    assert column(page, "heading_distance").tolist() == [999, 0, 1, 2]
    assert column(page, "path_count").tolist() == [1, 1, 2, 2]
    assert column(page, "l0_words").tolist() == [1, 1, 3, 2]
    assert column(page, "l1_words").tolist() == [7, 6, 6, 6]
    assert np.isfinite(page.matrix).all()


def test_columns_have_the_same_names_on_every_page() -> None:
    pages = [
        block_features(build_tree(html), NO_WORDS)
        for html in ("x", "<p>a<p>b", "<div hidden>a</div>", "<table><tr><td>1<td>2</table>")
    ]
    assert len({page.names for page in pages if page is not None}) == 1
    assert all(page is not None for page in pages)
