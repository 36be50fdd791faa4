"""``websegment templates``: a user sees what a site repeats."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.test_store_support import MINHASH, query
from tests.test_store_templates import HOST, MENU, visit
from websegment_scrapy.cli.main import main
from websegment_scrapy.store import Store


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "store.db"
    with Store.open(f"sqlite:///{path}", recipe=MINHASH) as store:
        store.decide_many([visit(number) for number in range(9)])
        store.decide(visit(1, host="small.org"))
    return path


def test_the_table_shows_share_and_beginning(
    database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["templates", HOST, "--database", str(database)]) == 0
    shown = capsys.readouterr()
    head, *lines = shown.out.splitlines()
    assert head.split() == ["pages", "share", "sample"]
    assert len(lines) == len(MENU)
    assert lines[0].split() == ["9", "1.000", "p:", "part", "10"]
    assert shown.err == f"{HOST}: {len(MENU)} templates on 9 counted pages\n"


def test_a_url_names_its_site_and_json_has_the_hash(
    database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["templates", f"http://{HOST.upper()}/x", "--database", str(database)]
    assert main([*arguments, "--format", "jsonl"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert sorted(row["part"] for row in rows) == sorted(MENU)
    assert main([*arguments, "--threshold", "1", "--min-pages", "10"]) == 1


@pytest.mark.parametrize("site", ["small.org", "never-met.org"])
def test_of_a_site_that_is_not_known_it_says_so(
    database: Path, site: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["templates", site, "--database", str(database)]) == 1
    assert "fewer than 8: nothing is said about it yet" in capsys.readouterr().err


def test_forgotten_counts_are_learned_anew(
    database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["templates", HOST, "--database", str(database), "--forget"]) == 0
    assert "9 pages are forgotten" in capsys.readouterr().err
    assert main(["templates", HOST, "--database", str(database)]) == 1
    with Store.open(f"sqlite:///{database}", recipe=MINHASH) as store:
        decisions = store.decide_many([visit(number) for number in range(9)])
        assert {decision.kind for decision in decisions} == {"unchanged"}
        assert query(store, "SELECT template_pages FROM sites ORDER BY host") == [(9,), (1,)]


def test_a_missing_database_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["templates", HOST, "--database", str(tmp_path / "none.db")]) == 2
    assert "no such file" in capsys.readouterr().err
