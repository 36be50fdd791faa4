"""The accuracy gate: no page of our own may lose what it has reached."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.gate import FOLDER, MEAN, SLACK, FloorWouldFall, below, measure, raised, read_floors
from tests.gate.__main__ import main


def test_every_page_and_the_mean_reach_their_floors() -> None:
    figures = measure()
    floors = read_floors()
    assert set(floors) == set(figures), "a page has no floor: run 'make floors'"
    fallen = below(floors, figures)
    assert not fallen, "\n".join(["the main text has become worse:", *fallen])


def test_every_page_has_a_main_text() -> None:
    pages = {path.stem for path in FOLDER.glob("*.html")}
    assert len(pages) >= 16
    assert pages == {path.stem for path in FOLDER.glob("*.txt")}
    empty = {name for name in pages if not (FOLDER / f"{name}.txt").read_text("utf-8").strip()}
    assert empty == {"login", "not_found", "search_form"}


def test_floors_rise_to_the_figures_less_a_slack_and_stay_otherwise() -> None:
    found = raised({"a": 0.5, "b": 0.9}, {"a": 0.8, "b": 0.9, "new": 1.0, MEAN: 0.9})
    wanted = {"a": 0.8 - SLACK, "b": 0.9, "new": 1.0 - SLACK, MEAN: 0.9 - SLACK}
    assert found == pytest.approx(wanted, abs=0.001)


def test_no_floor_is_lowered_and_no_page_taken_away() -> None:
    with pytest.raises(FloorWouldFall, match=r"a: 0\.400 is below its floor 0\.500") as error:
        raised({"a": 0.5, "gone": 0.7, "b": 0.2}, {"a": 0.4, "b": 0.9})
    assert "gone: the page is gone, its floor is 0.700" in str(error.value)
    assert "b:" not in str(error.value)


def test_the_command_raises_floors_and_refuses_to_lower_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("no_template.html", "no_template.txt"):
        shutil.copy(FOLDER / name, tmp_path)
    floors = tmp_path / "floors.json"
    command = ["--pages", str(tmp_path), "--floors", str(floors)]
    assert main([*command, "--show"]) == 0
    assert not floors.exists()
    assert main(command) == 0
    pinned = floors.read_bytes()
    assert set(json.loads(pinned)) == {"no_template", MEAN}
    assert main(command) == 0
    assert floors.read_bytes() == pinned
    (tmp_path / "no_template.txt").write_text("Another text. " * 40)
    capsys.readouterr()
    assert main(command) == 2
    errors = capsys.readouterr().err
    assert "no_template: 0." in errors
    assert f"is below its floor {json.loads(pinned)['no_template']:.3f}" in errors
    assert floors.read_bytes() == pinned
