"""What of a text is steady: words without figures, and without the names of dates beside them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.timing import takes_under
from websegment_scrapy.dedup.steady import NAMES, steady_words


@given(st.lists(st.sampled_from(["3", "2nd", "x²", "may", "march", "de", "wind", "猫"])))
def test_names_go_as_far_as_they_stand_beside_what_goes(found: list[str]) -> None:
    goes = [any(map(str.isdigit, word)) for word in found]
    for _ in found:
        for place, word in enumerate(found):
            beside = goes[max(place - 1, 0) : place + 2]
            goes[place] |= word in NAMES and any(beside)
    assert steady_words(found) == [word for word, gone in zip(found, goes, strict=True) if not gone]


def test_a_long_row_of_names_takes_linear_time() -> None:
    found = ["3", *["may"] * 100_000]
    assert steady_words(found) == []
    assert takes_under(0.5, lambda: steady_words(found))
