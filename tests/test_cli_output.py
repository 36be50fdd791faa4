"""What pages say cannot speak to the terminal or the spreadsheet of whoever reads it."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.test_cli import run
from tests.test_store_support import record, words_of
from tests.texts import prose
from websegment_scrapy.cli.main import main
from websegment_scrapy.cli.output import printable, printable_text, to_json, write_rows
from websegment_scrapy.dedup.signature import RECIPES
from websegment_scrapy.store import Store

ESCAPE = "\x1b]0;owned\x07\x1b[31m"
OBEYED = [
    *map(chr, range(32)),
    *map(chr, range(0x7F, 0xA0)),
    *"\u2028\u2029\u202a\u202e\u2066\u2069",
]
FORMULAS = ("=cmd|' /C calc'!A0", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1+1")


def is_quiet(text: str, *, but: str = "") -> bool:
    return not any(mark in text for mark in OBEYED if mark not in but)


@given(st.text(st.characters(exclude_categories=())))
def test_nothing_that_a_terminal_obeys_is_left(text: str) -> None:
    assert is_quiet(printable(text))
    assert printable(text).encode() is not None  # it can be written
    assert is_quiet(printable_text(text, terminal=True), but="\n\t")
    assert is_quiet(
        printable_text(text, terminal=False), but="\n\t\u2028\u2029\u202a\u202e\u2066\u2069"
    )
    assert is_quiet(to_json({"title": text, text: [1]}))
    assert json.loads(to_json([text])) == [text]


@given(st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs"))))
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert printable(text) == printable_text(text, terminal=True) == text
    assert to_json(text) == json.dumps(text, ensure_ascii=False)


def test_control_characters_are_shown_as_such() -> None:
    assert printable(f"a{ESCAPE}b\u202ec\n") == r"a\x1b]0;owned\x07\x1b[31mb\u202ec\x0a"
    assert printable_text("a\r\nb\tc\rd", terminal=False) == "a\nb\tc\\x0dd"
    assert printable_text("\u202bعربي\u202c", terminal=False) == "\u202bعربي\u202c"


def written(style: str, row: dict[str, object], *, raw_csv: bool = False) -> str:
    out = io.StringIO(newline="")
    write_rows([row], style, out, raw_csv=raw_csv)
    return out.getvalue()


@pytest.mark.parametrize("formula", FORMULAS)
def test_a_formula_is_a_text_in_csv(formula: str) -> None:
    _, (cell,) = csv.reader(io.StringIO(written("csv", {"title": formula}), newline=""))
    assert cell == "'" + printable_text(formula, terminal=True)
    assert formula in written("csv", {"title": formula}, raw_csv=True)


def test_numbers_are_no_formulas() -> None:
    row = {"a": -5, "b": -0.25, "c": "-5", "d": "+4.5", "e": "-", "f": "a=b", "g": None}
    assert written("csv", row).splitlines()[1] == "-5,-0.250,-5,+4.5,'-,a=b,"


@pytest.mark.parametrize("style", ["table", "csv", "jsonl"])
def test_a_hostile_title_is_harmless_in_every_answer(
    tmp_path: Path, style: str, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe, database = RECIPES["minhash"], f"sqlite:///{tmp_path / 'store.db'}"
    with Store.open(database, recipe=recipe, similarity=0.6) as store:
        title = f"=HYPERLINK(1){ESCAPE}\u202e"
        store.decide(record("http://example.com/a", words_of(1), recipe, title=title))
        store.decide(record(f"http://example.com/{ESCAPE}", words_of(1), recipe, title="B"))
    for question in (
        ["export"],
        ["pairs"],
        ["clusters"],
        ["url", "http://example.com/a"],
        ["sites"],
    ):
        assert main(["dedup", *question, "--database", database, "--format", style]) == 0
        output = capsys.readouterr()
        assert is_quiet(output.out + output.err, but="\n")
        if style == "csv":
            cells = [cell for row in csv.reader(io.StringIO(output.out)) for cell in row]
            assert not any(cell.startswith("=") for cell in cells)
    assert main(["dedup", "export", "--database", database, "--format", "csv", "--raw-csv"]) == 0
    assert title in capsys.readouterr().out


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    path = tmp_path / "page.html"
    controls = ESCAPE.replace("\x1b", "&#27;") + ESCAPE + "\x9b1m\x7f\u202e"
    path.write_text(
        f"<meta charset=utf-8><title>T {controls}</title><article><p>{prose(1)} {controls} end</p>"
        f"<p>{prose(2)}</p></article>"
    )
    return path


@pytest.mark.parametrize(
    "command", [["extract"], ["extract", "--json"], ["segment"], ["compare"], ["compare", "--json"]]
)
def test_a_hostile_page_is_harmless_in_every_command(hostile: Path, command: list[str]) -> None:
    inputs = [str(hostile)] * (2 if command[0] == "compare" else 1)
    done = run(*command, *inputs)
    assert done.returncode == 0, done.stderr
    assert is_quiet(done.stdout, but="\n\u202e")
    assert r"\x1b" in done.stdout or r"\u001b" in done.stdout


def test_on_a_terminal_marks_of_direction_are_shown_too(hostile: Path) -> None:
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "websegment_scrapy.cli.main", "extract", str(hostile)]
    with subprocess.Popen(command, stdout=slave, stderr=subprocess.DEVNULL):
        os.close(slave)
        output = b""
        try:
            while piece := os.read(master, 65536):
                output += piece
        except OSError:  # the other side has gone
            pass
    os.close(master)
    assert is_quiet(output.decode(), but="\r\n")
    assert rb"\u202e" in output


def test_error_lines_are_harmless(tmp_path: Path) -> None:
    done = run("extract", str(tmp_path / f"no{ESCAPE}file"))
    assert done.returncode == 1
    assert is_quiet(done.stderr, but="\n")
    assert r"no\x1b]0;owned" in done.stderr
