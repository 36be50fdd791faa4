"""Words: equal to a plain regular expression on English, right for the world's scripts."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.timing import takes_under
from websegment_scrapy.page.words import _UNUSUAL, _words_of_any, words


@given(st.text(st.characters(max_codepoint=127)))
def test_ascii_words_are_those_of_the_plain_regular_expression(text: str) -> None:
    assert words(text) == re.findall(r"[^\W_]+", text.lower())


@given(st.text(st.characters(codec="latin-1", exclude_characters="\xad")))
def test_latin_words_are_those_of_the_plain_regular_expression_after_nfkc(text: str) -> None:
    normal = unicodedata.normalize("NFKC", text).lower()
    if not any(unicodedata.category(character).startswith("M") for character in normal):
        assert words(text) == re.findall(r"[^\W_]+", normal)


def test_usual_characters_need_no_normalisation() -> None:
    usual = [character for code in range(0x3000) if not _UNUSUAL.search(character := chr(code))]
    assert len(usual) > 500
    for character in usual:
        text = f"{character} one{character}Two {character}{character}3"
        assert words(text) == _words_of_any(text), ascii(character)
    assert words("".join(usual)) == _words_of_any("".join(usual))


@given(st.text(st.characters(exclude_categories=())))
def test_any_string_gives_non_empty_encodable_words_that_split_no_further(text: str) -> None:
    found = words(text)
    for word in found:
        assert word
        assert word.encode()
        assert not any(character.isspace() or character == "_" for character in word)
        assert word[0].isalnum()
        assert all(
            character.isalnum() or unicodedata.category(character).startswith("M")
            for character in word
        )


@given(st.text())
def test_composed_and_decomposed_text_give_the_same_words(text: str) -> None:
    assert words(unicodedata.normalize("NFD", text)) == words(unicodedata.normalize("NFC", text))


@given(st.lists(st.sampled_from(["Straße", "naïve", "हिन्दी", "ไทย", "東", "x2", "مُحَمَّد"])))
def test_words_of_joined_texts_are_the_joined_words(parts: list[str]) -> None:
    assert words(" ".join(parts)) == [word for part in parts for word in words(part)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("snake_case", ["snake", "case"]),
        ("co\u00adoperate", ["cooperate"]),
        ("a\u200cb a\u200db a\u2060b \ufeffab", ["ab", "ab", "ab", "ab"]),
        ("zero\u200bwidth", ["zero", "width"]),
        ("ﬁne Ｆｕｌｌ", ["fine", "full"]),
        ("cafe\u0301", ["café"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("مُحَمَّد قال", ["مُحَمَّد", "قال"]),
        ("\u0301abc", ["abc"]),
        ("東京タワー", ["東", "京", "タ", "ワ", "ー"]),
        ("ｶﾞ", ["ガ"]),
        ("葛\U000e0100飾", ["葛", "飾"]),
        ("\U00020000\U00020001", ["\U00020000", "\U00020001"]),
        ("ที่นี่", ["ที่", "นี่"]),
        ("ພາສາ", ["ພ", "າ", "ສ", "າ"]),
        ("ភាសា", ["ភា", "សា"]),
        ("မြန်မာ", ["မြ", "န်", "မာ"]),
        ("བོད་ཡིག", ["བོ", "ད", "ཡི", "ག"]),
        ("iPhone東京15", ["iphone", "東", "京", "15"]),
        ("한국어 텍스트", ["한국어", "텍스트"]),
        ("a\x00b\ud800c", ["a", "b", "c"]),
        ("", []),
        ("…—😀", []),
    ],
)
def test_words_of(text: str, expected: list[str]) -> None:
    assert words(text) == [unicodedata.normalize("NFKC", word) for word in expected]


@pytest.mark.parametrize("text", ["plain words here ", "größe café naïve "])
def test_a_million_words_are_split_in_well_under_a_second(text: str) -> None:
    words("é")
    long = text * 333_334
    assert len(words(long)) == 1_000_002
    assert takes_under(1.0, lambda: words(long))


@given(
    st.text(st.sampled_from("ae東\u0301\u0323\u0344\u0308\u0f71\u0f73\uff9e\u3099"), max_size=200),
    st.sampled_from(["", "\u0301\u0323" * 20, "\u0f73\u0301" * 30, "\u0323" * 40]),
)
def test_the_order_of_many_marks_is_the_canonical_one(text: str, marks: str) -> None:
    normal = unicodedata.normalize("NFKC", f"{text}{marks}{text}")
    assert words(f"{text}{marks}{text}") == words(normal)


@pytest.mark.parametrize("marks", ["\u0301\u0323", "\u0344\u0323", "\u0f73\u0301", "\uff9e\u0323"])
def test_a_letter_with_a_hundred_thousand_marks_takes_no_time(marks: str) -> None:
    assert len(words("a" + marks * 50_000)) == 1
    assert takes_under(2, lambda: words("a" + marks * 50_000))
