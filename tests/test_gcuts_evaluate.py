"""Speed and figures of the evaluation."""

from __future__ import annotations

from pathlib import Path

import pytest

from websegment_scrapy.cli.main import main
from websegment_scrapy.evaluate import speed
from websegment_scrapy.evaluate.figures import draw_figures
from websegment_scrapy.evaluate.segmentation_result import (
    CurvePoint,
    EngineResult,
    PageScores,
    SegmentationResult,
)
from websegment_scrapy.measure.metrics import Interval
from websegment_scrapy.page.build import build_tree


def test_long_pages_have_about_as_many_leaves_as_asked_for() -> None:
    for leaves in (100, 1000):
        assert len(build_tree(speed.long_page(leaves)).leaves) == pytest.approx(leaves, rel=0.2)


def test_growth_is_fitted_to_the_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed, "GROWTH", (50, 100, 200))
    result = speed.evaluate_speed([], ["justrules"], render=False)
    assert result.growth[0].engine == "justrules"
    assert set(result.growth[0].milliseconds) == {50, 100, 200}
    assert "n^" in result.table()


def test_one_fold_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "segmentation", "--folds", "1", "--engine", "gcuts"]) == 2
    assert "--folds is 1" in capsys.readouterr().err


def test_figures_are_drawn_as_png(tmp_path: Path) -> None:
    interval = Interval(0.5, 0.4, 0.6)
    engine = EngineResult("gcuts", interval, interval, interval, 0.1, 0.5, 20.0)
    pages = {
        name: PageScores(10, {"gcuts": ari}, {"gcuts": ari}, {"gcuts": 20.0})
        for name, ari in (("a", 0.2), ("b", 0.9))
    }
    curves = {"gcuts": [CurvePoint(0.0, 0.4, 0.6), CurvePoint(1.0, 0.5, 0.7)]}
    result = SegmentationResult(True, "text", 5, (engine,), pages, {}, curves)
    files = draw_figures(result, tmp_path)
    assert [file.name for file in files] == [
        "ari-distribution-rendered.png",
        "gcuts-curve-rendered.png",
    ]
    for file in files:
        assert file.read_bytes().startswith(b"\x89PNG")
    assert "5-fold by site" in result.table()
