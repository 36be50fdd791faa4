"""Which passages two texts share: exactly the shared shingles, in linear time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.texts import prose
from tests.timing import grows_linearly
from websegment_scrapy.dedup.passages import marked_texts, shared_passages
from websegment_scrapy.page.words import words

WORDS = st.lists(st.sampled_from("abcd"), max_size=40)


def covered_by_shingles(first: list[str], second: list[str], width: int) -> set[int]:
    """Return the words of the first that a window of both covers, by brute force."""
    width = max(1, min(width, len(first), len(second)))
    known = {tuple(second[at : at + width]) for at in range(len(second) - width + 1)}
    return {
        at + offset
        for at in range(len(first) - width + 1)
        if tuple(first[at : at + width]) in known
        for offset in range(width)
    }


@given(WORDS, WORDS, st.integers(1, 6))
def test_passages_are_the_words_of_shared_shingles(
    first: list[str], second: list[str], width: int
) -> None:
    found = shared_passages(first, second, width)
    for each in found:
        ours = first[each.first : each.first + each.length]
        assert ours == second[each.second : each.second + each.length]
    covered = {each.first + offset for each in found for offset in range(each.length)}
    assert covered == covered_by_shingles(first, second, width)


@given(st.text(max_size=80), st.text(max_size=80), st.integers(1, 4))
def test_pieces_are_the_whole_text_and_mark_both_alike(first: str, second: str, width: int) -> None:
    ours, theirs = marked_texts(first, second, width)
    assert "".join(piece.text for piece in ours) == first
    assert "".join(piece.text for piece in theirs) == second
    numbers = {piece.passage for piece in ours} - {None}
    assert {piece.passage for piece in theirs} - {None} <= numbers


def test_an_edited_copy_differs_where_it_was_edited() -> None:
    text = prose(1, 60)
    other = text.replace("Our teacher", "The baker's wife", 1) + "\nAnd a new end of it."
    ours, theirs = marked_texts(text, other, 6)
    assert any("new end" in piece.text and piece.passage is None for piece in theirs)
    marked = "".join(piece.text for piece in ours if piece.passage is not None)
    assert len(words(marked)) > 40


def test_scripts_without_spaces_are_marked_by_characters() -> None:
    ours, _ = marked_texts("東京は大きい都市です。雨が降る", "東京は大きい都市です。晴れの日", 4)
    assert [piece.passage is None for piece in ours] == [False, True]
    assert ours[1].text.endswith("雨が降る")


def test_hostile_texts_take_linear_time() -> None:
    for unit in ("a ", "a b ", "東"):
        assert grows_linearly(
            lambda size, unit=unit: lambda: marked_texts(unit * size, unit * (size // 2), 6),
            (2_000, 20_000),
            3.0,
        )
