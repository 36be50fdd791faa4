"""``websegment dedup``: every question in every format, and helpful errors."""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import json
import sqlite3
from pathlib import Path

import pytest

from tests.test_store_support import record, words_of
from websegment_scrapy.cli import dedup
from websegment_scrapy.cli.main import main
from websegment_scrapy.dedup.signature import RECIPES
from websegment_scrapy.store import PageRecord, Store

A, B, C = (f"http://example.com/{name}" for name in "abc")


@pytest.fixture(params=RECIPES)
def database(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """Make a database of each recipe: questions need not know which."""
    path = tmp_path / "store.db"
    recipe = RECIPES[request.param]
    with Store.open(f"sqlite:///{path}", recipe=recipe, similarity=0.6) as store:
        store.decide(record(A, words_of(1), recipe, title='One, "two"\nthree'))
        store.decide(record(B, words_of(1), recipe))
        store.decide(PageRecord(url=C, error="timed out"))
    return path


def run(*arguments: str) -> int:
    parser = argparse.ArgumentParser()
    dedup.add_parser(parser.add_subparsers(), "questions")
    parsed = parser.parse_args(["dedup", *arguments])
    status: int = parsed.run(parsed)
    return status


@pytest.mark.parametrize("question", ["summary", "clusters", "pairs", "sites", "export", "check"])
@pytest.mark.parametrize("style", ["table", "jsonl", "csv"])
def test_every_question_is_answered_in_every_format(
    database: Path, question: str, style: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(question, "--database", str(database), "--format", style) == 0
    output = capsys.readouterr().out
    if style == "jsonl":
        assert all(isinstance(json.loads(line), dict) for line in output.splitlines())
    elif (question, style) == ("check", "table"):
        assert output == ""
    else:
        assert output


def test_the_summary_counts(database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("summary", "--database", f"sqlite:///{database}", "--format", "jsonl")
    found = json.loads(capsys.readouterr().out)
    assert (found["pages"], found["new"], found["duplicate"], found["failed"]) == (3, 1, 1, 1)
    assert found["similarity"] == 0.6
    run("summary", "--database", str(database))
    assert "duplicate        1\n" in capsys.readouterr().out


def test_clusters_are_listed_page_by_page_or_as_objects(
    database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run("clusters", "--database", str(database), "--format", "csv")
    assert capsys.readouterr().out.splitlines() == [
        "cluster,size,representative,url",
        f"1,2,{A},{A}",
        f"1,2,{A},{B}",
    ]
    run("clusters", "--database", str(database), "--format", "jsonl")
    assert json.loads(capsys.readouterr().out)["urls"] == [A, B]
    run("clusters", "--database", str(database), "--format", "csv", "--min-size", "3")
    assert capsys.readouterr().out == "cluster,size,representative,url\n"


@pytest.mark.parametrize("style", ["table", "jsonl", "csv"])
def test_one_url_is_told_with_its_visits(
    database: Path, style: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("url", B + "#x", "--database", str(database), "--format", style) == 0
    output = capsys.readouterr().out
    assert A in output
    if style == "jsonl":
        assert [visit["decision"] for visit in json.loads(output)["visits"]] == ["duplicate"]


def test_an_unknown_url_is_said_in_one_line(
    database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("url", "http://never.example/", "--database", str(database)) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("http://never.example/ is not in sqlite:///")


@pytest.mark.parametrize("when", ["7d", "90m", "2020-01-31", "2020-01-31T12:00"])
def test_changes_are_listed_since_a_time(
    database: Path, when: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run("changed", "--since", when, "--new", "--database", str(database), "--format", "jsonl")
    assert json.loads(capsys.readouterr().out)["url"] == A
    run("changed", "--since", when, "--database", str(database), "--format", "csv")
    assert capsys.readouterr().out.startswith("url,seen_at,crawl,decision,changed_share")


def test_a_time_that_is_none_is_refused(database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run("changed", "--since", "soon", "--database", str(database))
    assert "'soon' is no time: write" in capsys.readouterr().err


def test_pairs_are_written(database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("pairs", "--database", str(database), "--format", "jsonl")
    assert json.loads(capsys.readouterr().out) == {
        "url": B,
        "duplicate_of": A,
        "representative": A,
        "similarity": 1.0,
    }


def test_an_export_to_a_csv_file_can_be_read_back(database: Path, tmp_path: Path) -> None:
    target = tmp_path / "pages.csv"
    run("export", "--database", str(database), "--format", "csv", "-o", str(target))
    rows = list(csv.DictReader(io.StringIO(target.read_text(encoding="utf-8"))))
    assert [row["url"] for row in rows] == [A, B, C]
    assert rows[0]["title"] == 'One, "two"\nthree'
    assert rows[2]["error"] == "timed out"


def test_an_export_is_json_lines_unless_said_otherwise(
    database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run("export", "--database", str(database))
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["decision"] for line in lines] == ["new", "duplicate", "failed"]


def test_check_says_sound_or_names_the_damage(
    database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("check", "--database", str(database)) == 0
    assert capsys.readouterr().err.rstrip().endswith("store.db: sound")
    with contextlib.closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("DELETE FROM visits WHERE page_id = 1")
    assert run("check", "--database", str(database)) == 1
    assert "pages without a visit: 1" in capsys.readouterr().out


def test_a_missing_database_is_one_line_with_status_2_and_is_not_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = tmp_path / "none.db"
    for database in (str(missing), f"sqlite:///{missing}"):
        assert main(["dedup", "summary", "--database", database]) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.count("\n") == 1
        assert "there is no such file: run a crawl first" in captured.err
    assert not missing.exists()
