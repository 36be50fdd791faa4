"""The curve of recall and precision: exact where it claims to be, and drawn."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from websegment_scrapy.cli.main import main
from websegment_scrapy.dedup.shingles import shingle_hashes
from websegment_scrapy.evaluate.signatures import draw, evaluate_signatures, plant
from websegment_scrapy.measure.datasets import DataError

CHOOSER = random.Random(2)
TEXTS = [" ".join(f"w{CHOOSER.randrange(3000)}" for _ in range(200)) for _ in range(80)]


def jaccard(a: str, b: str) -> float:
    one, other = (set(shingle_hashes(text.split()).tolist()) for text in (a, b))
    return len(one & other) / len(one | other)


def test_planted_copies_are_spread_from_half_to_whole_similarity() -> None:
    found = [max(jaccard(copy, text) for text in TEXTS) for copy in plant(TEXTS * 4)]
    assert all(0.45 <= value <= 1 for value in found)
    assert min(found) < 0.6 < 0.9 < max(found)


def test_every_pair_is_in_the_bin_of_its_exact_similarity() -> None:
    texts = [*TEXTS, *plant(TEXTS)]
    expected = [0] * 20
    for a in range(len(texts)):
        for b in range(a + 1, len(texts)):
            value = jaccard(texts[a], texts[b])
            if value:
                expected[min(int(value / 0.05 + 1e-9), 19)] += 1
    minhash, shingles = evaluate_signatures(texts)
    assert [each.pairs for each in minhash.bins] == expected
    assert [each.pairs for each in shingles.bins] == expected
    assert (minhash.kind, shingles.kind) == ("minhash", "shingles")
    pairs, found = minhash.share(0.9, 1.0)
    assert pairs == found > 0
    assert minhash.share(0.0, 0.5)[1] == 0
    assert "from 0.9 on" in minhash.table()
    assert minhash.to_dict()["kind"] == "minhash"


def test_the_curve_is_drawn(tmp_path: Path) -> None:
    file = tmp_path / "curve.png"
    draw(evaluate_signatures([*TEXTS, *plant(TEXTS)]), file)
    assert file.read_bytes().startswith(b"\x89PNG")


def test_a_curve_that_cannot_be_drawn_is_refused_before_anything_is_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("websegment_scrapy.evaluate.figures.find_spec", lambda _: None)
    arguments = [
        "evaluate",
        "signatures",
        "--png",
        str(tmp_path / "c.png"),
        "--data",
        str(tmp_path),
    ]
    assert main(arguments) == 2
    assert "--png needs matplotlib" in capsys.readouterr().err


def test_no_texts_are_an_error() -> None:
    with pytest.raises(DataError, match="no texts"):
        evaluate_signatures([])
