"""``websegment compare`` shows what two texts have in common."""

from __future__ import annotations

import random

from websegment_scrapy.cli.compare import shared_passages

TEXT = "the quick brown fox jumps over the lazy dog while the band plays on".split()


def test_a_text_shares_all_of_itself() -> None:
    assert shared_passages(TEXT, TEXT, 6) == [" ".join(TEXT)]


def test_passages_are_named_longest_first() -> None:
    other = ["so", *TEXT[:8], "sleeping", *TEXT[8:]]
    assert shared_passages(TEXT, other, 6) == [" ".join(TEXT[:8]), " ".join(TEXT[8:])]


def test_less_than_a_shingle_is_no_passage() -> None:
    assert shared_passages(TEXT[:5], TEXT[:5], 6) == []
    assert shared_passages(TEXT, TEXT[:5], 6) == []
    assert shared_passages([], TEXT, 6) == []


def test_every_passage_is_in_both_texts_shingle_by_shingle() -> None:
    chooser = random.Random(1)
    for _ in range(200):
        one, other = ([chooser.choice("abc") for _ in range(30)] for _ in range(2))
        joined = " ".join(other)
        for passage in shared_passages(one, other, 6):
            assert passage in " ".join(one)
            found = passage.split()
            for at in range(len(found) - 5):
                assert " ".join(found[at : at + 6]) in joined
