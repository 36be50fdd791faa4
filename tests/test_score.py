"""``main_text_score``: how good a main text is expected to be."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.content_pages import content_page, small_model
from tests.gate import FOLDER
from websegment_scrapy.analysis import analyze
from websegment_scrapy.cli.main import main
from websegment_scrapy.content.expectation import Expectation, promised
from websegment_scrapy.content.model import ContentModel
from websegment_scrapy.extraction import extract
from websegment_scrapy.learn.calibration import POINTS, calibrated


def test_an_article_has_a_high_score_and_a_list_of_products_a_lower() -> None:
    scores = {
        name: analyze((FOLDER / f"{name}.html").read_text("utf-8")).main_text_score or 0.0
        for name in ("news", "documentation", "listing")
    }
    assert min(scores["news"], scores["documentation"]) > 0.85
    assert 0.0 < scores["listing"] < scores["news"]


def test_it_is_the_same_everywhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    html = content_page(4).html
    path = tmp_path / "page.html"
    path.write_text(html)
    score = extract(html).main_text_score
    assert score == analyze(html).main_text_score == analyze(html).report().main_text_score
    for command in (["extract", "--json"], ["segment"]):
        assert main([*command, str(path), "--workers", "1"]) == 0
        assert json.loads(capsys.readouterr().out)["main_text_score"] == pytest.approx(score)


@pytest.mark.parametrize("method", ["pagelevel", "largest"])
def test_other_methods_promise_nothing(method: str) -> None:
    assert analyze(content_page(4).html, main_text=method).main_text_score is None


@pytest.mark.parametrize("html", ["", "<img src=x>", "<ul><li><a href=/>Home</a></ul>"])
def test_without_a_main_text_there_is_no_score(html: str) -> None:
    assert extract(html).main_text_score is None


def test_the_promise_is_the_f1_where_blocks_are_known() -> None:
    words, known = np.array([10.0, 20.0, 30.0]), np.array([1.0, 0.0, 1.0])
    kept = np.array([True, True, False])
    assert promised(words, known, kept) == pytest.approx(2 * 10 / (30 + 40))
    assert promised(words, known * 0, kept) == 0.0
    assert promised(words * 0, known, kept) == 0.0


def test_what_is_expected_is_what_was_reached_and_never_falls() -> None:
    rng = np.random.default_rng(15)
    promise = rng.uniform(0.3, 1.0, 400)
    reached = np.clip(promise**2 + rng.normal(0, 0.05, 400), 0, 1)
    found = calibrated(zip(promise, reached, strict=True))
    scores = [found.score(each) for each in np.linspace(0, 1, 50)]
    assert scores == sorted(scores)
    for tenth in np.array_split(np.argsort(promise), 10):
        expected = np.mean([found.score(each) for each in promise[tenth]])
        assert expected == pytest.approx(reached[tenth].mean(), abs=0.03)


def test_with_few_pages_promises_are_believed() -> None:
    found = calibrated([(0.5, 1.0)] * (POINTS - 1))
    assert found.score(0.25) == Expectation.uncalibrated().score(0.25) == 0.25


def test_training_measures_what_to_expect_and_the_file_keeps_it(tmp_path: Path) -> None:
    model = small_model()
    model.save(tmp_path)
    html = content_page(1001).html
    read = ContentModel.load(tmp_path)
    score = extract(html, model=read).main_text_score
    assert score == pytest.approx(extract(html, model=model).main_text_score, abs=1e-5)
    assert score is not None
    assert score > 0.8
