"""Which blocks of a page are its main text, when only the text is known."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from websegment_scrapy.learn.alignment import WINDOW, aligned_shares


def shares(blocks: list[str], gold: str) -> list[float]:
    return aligned_shares([block.split() for block in blocks], gold.split()).tolist()


def test_blocks_in_the_main_text_are_found_and_others_are_not() -> None:
    blocks = ["home news about contact us", "one two three four five", "six seven eight nine ten"]
    assert shares(blocks, "one two three four five six seven eight nine ten") == [0, 1, 1]


def test_a_block_may_be_main_text_in_part() -> None:
    assert shares(["a b c d x y z w"], "a b c d") == [0.5]
    assert shares(["a b c x d e f"], "a b c d e f") == [0]


def test_a_short_block_counts_only_in_its_place() -> None:
    text = "one two three four five six seven eight nine ten"
    far = " ".join(f"w{number}" for number in range(100))
    found = shares(["reply", text, "reply", far], f"{text} reply {far}")
    assert found == [0, 1, 1, 1]


def test_a_place_is_taken_once() -> None:
    text = "one two three four five"
    assert shares(["reply", text, "reply", "reply"], f"reply {text} reply") == [1, 1, 1, 0]


def test_short_blocks_are_found_where_nothing_else_is() -> None:
    assert shares(["red car", "blue car", "cart"], "blue car") == [0, 1, 0]


def test_nothing_is_found_in_an_empty_main_text() -> None:
    assert shares(["one two three four", "a", ""], "") == [0, 0, 0]
    assert shares([], "a b c d") == []


@given(st.lists(st.lists(st.sampled_from("abcd"), max_size=9), max_size=8))
def test_the_main_text_made_of_all_blocks_has_every_long_block(blocks: list[list[str]]) -> None:
    found = aligned_shares(blocks, [word for block in blocks for word in block])
    for share, block in zip(found.tolist(), blocks, strict=True):
        assert 0 <= share <= 1
        if len(block) >= WINDOW:
            assert share == 1
        elif not block:
            assert share == 0
