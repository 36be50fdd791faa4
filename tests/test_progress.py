"""Commands that may take long say how far they are: on a terminal, in lines elsewhere, or not."""

from __future__ import annotations

import io
import sys
import time
from pathlib import Path

import pytest

from tests.seen import fill
from websegment_scrapy.cli import progress as told
from websegment_scrapy.cli.main import main
from websegment_scrapy.view.texts import SiteRules


class Terminal(io.StringIO):
    """A standard error that somebody looks at."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def database(tmp_path: Path) -> str:
    fill(f"sqlite:///{tmp_path}/store.db")
    return str(tmp_path / "store.db")


COMMANDS = {
    "summary": "summary: counting",
    "clusters": "clusters: asking the database",
    "pairs": "pairs: asking the database",
    "changed --since 2000-01-01": "changed: asking the database",
    "sites": "sites: asking the database",
    "export": "5/5 export",
    "migrate": "migrate: bringing the tables up to date",
    "forget --not-seen-for 0": "5/5 pages forgotten",
    "resign --similarity 0.72": "4/4 pages re-signed",
    "vacuum": "vacuum: writing the database anew",
    "check": "check: rule 2 of",
}


@pytest.mark.parametrize("command", COMMANDS)
def test_questions_to_a_database_say_how_far_they_are(
    database: str, command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["dedup", *command.split(), "--database", database]
    for quiet in ("-q", ""):  # first without, for some of them change the database
        copy = f"{database}.{len(quiet)}"
        Path(copy).write_bytes(Path(database).read_bytes())
        terminal = Terminal()
        monkeypatch.setattr(sys, "stderr", terminal)
        arguments = [*given[:-1], copy, *filter(None, [quiet])]
        assert main(arguments) == 0
        assert (COMMANDS[command] in terminal.getvalue()) is not bool(quiet)
        assert ("\x1b" in terminal.getvalue()) is not bool(quiet)
        monkeypatch.undo()


def test_merging_copying_and_judging_again_are_counted(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for question in ("copy", "merge"):
        terminal = Terminal()
        monkeypatch.setattr(sys, "stderr", terminal)
        target = str(tmp_path / f"{question}.db")
        assert main(["dedup", question, database, "--database", target]) == 0
        assert "5/5 pages brought" in terminal.getvalue()
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    rules = ["--threshold", str(SiteRules().theta), "--min-pages", "2"]
    assert main(["dedup", "revise", "--database", database, *rules]) == 0
    assert "2/2 pages judged again" in terminal.getvalue()


def test_a_step_that_takes_long_is_told_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(told, "LINE_SECONDS", 0.05)
    monkeypatch.setattr(told, "SILENT_SECONDS", 0.1)
    with told.steps("vacuum") as say:
        say("writing")
        time.sleep(0.5)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) >= 3
    assert set(lines) <= {"vacuum: writing, 0 s", "vacuum: writing, 1 s"}
    with told.steps("vacuum") as say:
        say("writing")
    time.sleep(0.2)
    assert capsys.readouterr().err == ""


def test_every_command_that_may_take_long_has_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("segment", "extract", "compare", "report", "view", "data", "train content",
                    "train segmentation", "train templates", "train types", "evaluate marks",
                    "evaluate segmentation", "evaluate extraction", "evaluate dedup"):  # fmt: skip
        with pytest.raises(SystemExit):
            main([*command.split(), "--help"])
        assert "--quiet" in capsys.readouterr().out, command
