""".ci/bootstrap.py: which browser is chosen, with small scripts standing in for browsers.

And .ci/running.py: what is on the screen while commands run.
"""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent
STARTS = "echo '<html><p>it-starts</p></html>'"
LACKS_LIBRARIES = "echo 'error while loading shared libraries' >&2; exit 127"


@pytest.fixture
def bootstrap(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / ".ci")
    return importlib.import_module("bootstrap")


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / ".ci")
    return importlib.import_module("running")


class Machine:
    """A pretended machine: a PATH, and a Python whose Playwright may have a browser."""

    def __init__(self, root: Path) -> None:
        self.bin = root / "bin"
        self.bin.mkdir()
        self.playwright = root / "playwright" / "chrome"
        self.playwright.parent.mkdir()
        self.log = root / "log"
        self.environ = {"PATH": str(self.bin)}
        self.downloads(None)

    def script(self, path: Path, body: str) -> str:
        path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        path.chmod(0o755)
        return str(path)

    def command(self, name: str, body: str = STARTS) -> str:
        return self.script(self.bin / name, body)

    def downloads(self, browser: str | None) -> None:
        """Make ``playwright install`` give a browser with this body, or fail."""
        ready = self.script(self.playwright.with_name("ready"), browser or STARTS)
        install = f"/bin/ln -s {ready} {self.playwright}" if browser else "exit 1"
        self.python = self.command(
            "python",
            f'if [ "$1" = -c ]; then echo {self.playwright}; '
            f'else echo "$*" >> {self.log}; {install}; fi',
        )

    def logged(self) -> str:
        return self.log.read_text(encoding="utf-8") if self.log.exists() else ""


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    return Machine(tmp_path)


def test_the_browser_named_in_the_environment_comes_first(
    bootstrap: ModuleType, machine: Machine, tmp_path: Path
) -> None:
    named = machine.script(tmp_path / "mine", STARTS)
    machine.script(machine.playwright, STARTS)
    machine.command("chromium")
    environ = {**machine.environ, "WEBSEGMENT_CHROMIUM": named}
    assert bootstrap.find_browser(environ, machine.python) == named


def test_playwrights_own_comes_before_the_systems_and_without_a_download(
    bootstrap: ModuleType, machine: Machine
) -> None:
    own = machine.script(machine.playwright, STARTS)
    machine.command("chromium")
    assert bootstrap.find_browser(machine.environ, machine.python) == own
    assert machine.logged() == ""


def test_playwrights_own_is_downloaded_before_the_systems_is_taken(
    bootstrap: ModuleType, machine: Machine
) -> None:
    machine.downloads(STARTS)
    machine.command("chromium")
    found = bootstrap.find_browser(machine.environ, machine.python)
    assert found == str(machine.playwright)
    assert machine.logged() == "-m playwright install chromium\n"


@pytest.mark.parametrize(
    "name", ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"]
)
def test_the_systems_browser_is_taken_when_the_download_fails(
    bootstrap: ModuleType, machine: Machine, name: str
) -> None:
    system = machine.command(name)
    assert bootstrap.find_browser(machine.environ, machine.python) == system


def test_a_browser_that_lacks_libraries_is_passed_over(
    bootstrap: ModuleType, machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.downloads(LACKS_LIBRARIES)
    machine.command("chromium", LACKS_LIBRARIES)
    works = machine.command("google-chrome-stable")
    assert bootstrap.find_browser(machine.environ, machine.python) == works
    said = capsys.readouterr().err
    assert f"{machine.playwright} (Playwright's own) does not start; looking further" in said


@pytest.mark.parametrize("name", ["chromium-headless-shell", "chromium"])
def test_apt_is_asked_last_and_only_by_root(
    bootstrap: ModuleType, machine: Machine, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    ready = machine.script(machine.bin.parent / "packaged", STARTS)
    machine.command(
        "apt-get",
        f'echo "$DEBIAN_FRONTEND $*" >> {machine.log}; '
        f'case "$*" in *\\ {name}) /bin/ln -s {ready} {machine.bin}/{name};; '
        "*install*) exit 100;; esac",
    )
    assert bootstrap.find_browser(machine.environ, machine.python) is None
    assert "apt-get" not in machine.logged()
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    found = bootstrap.find_browser(machine.environ, machine.python)
    assert found == str(machine.bin / name)
    packages = ["chromium-headless-shell", "chromium"]
    tried = packages[: packages.index(name) + 1]
    asked = [line for line in machine.logged().splitlines() if line.startswith("noninteractive")]
    assert asked == [
        f"noninteractive -q {command}"
        for package in tried
        for command in ("update", f"install -y --no-install-recommends {package}")
    ]


def test_a_browser_that_hangs_is_given_up_with_all_that_it_started(
    bootstrap: ModuleType, machine: Machine, tmp_path: Path
) -> None:
    child = tmp_path / "child"
    hangs = machine.command("chromium", f"/bin/sleep 60 & echo $! > {child}; wait")
    begin = time.monotonic()
    assert not bootstrap.really_starts(hangs, seconds=1.0)
    assert time.monotonic() - begin < 10
    assert not _alive(int(child.read_text()))


def _alive(pid: int) -> bool:
    for _ in range(50):
        state = subprocess.run(
            ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False
        ).stdout.strip()
        if not state or state.startswith("Z"):
            return False
        time.sleep(0.1)
    return True


@pytest.mark.parametrize(("required", "status"), [(True, 1), (False, 0)])
def test_without_any_browser_one_sentence_says_what_to_do(
    bootstrap: ModuleType,
    machine: Machine,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    required: bool,
    status: int,
) -> None:
    monkeypatch.setattr(bootstrap, "STAMP", tmp_path / "stamp")
    monkeypatch.setattr(bootstrap, "VENV_PYTHON", machine.python)
    assert bootstrap.browser(machine.environ, required=required) == status
    assert capsys.readouterr().err.splitlines()[-1] == bootstrap.NO_BROWSER
    assert "WEBSEGMENT_CHROMIUM" in bootstrap.NO_BROWSER
    assert not (tmp_path / "stamp").exists()


def test_the_choice_is_remembered_until_the_browser_is_gone_or_another_is_named(
    bootstrap: ModuleType, machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stamp = tmp_path / "stamp"
    monkeypatch.setattr(bootstrap, "STAMP", stamp)
    monkeypatch.setattr(bootstrap, "VENV_PYTHON", machine.python)
    first = machine.command("chromium")
    machine.command("google-chrome")
    for _ in range(2):
        assert bootstrap.browser(machine.environ, required=True) == 0
        assert stamp.read_text() == f"{first}\n"
    assert machine.logged().count("install chromium") == 1

    named = machine.script(tmp_path / "mine", STARTS)
    environ = {**machine.environ, "WEBSEGMENT_CHROMIUM": named}
    assert bootstrap.browser(environ, required=True) == 0
    assert stamp.read_text() == f"{named}\n"

    Path(named).unlink()
    Path(first).unlink()
    assert bootstrap.browser(machine.environ, required=True) == 0
    assert stamp.read_text() == f"{machine.bin}/google-chrome\n"


@pytest.mark.browser
def test_a_real_chromium_really_starts(bootstrap: ModuleType) -> None:
    named = os.environ.get("WEBSEGMENT_CHROMIUM")
    found = named or shutil.which("chromium") or shutil.which("google-chrome")
    assert found, bootstrap.NO_BROWSER
    assert bootstrap.really_starts(found)


SPEAKS = "echo Collecting one; sleep 1; printf 'Collecting \\033[2Jtwo\\n\\n'; sleep 1"


def test_a_command_that_takes_long_has_a_line_every_few_seconds(
    running: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(running, "LINE_SECONDS", 0.5)
    ran = running.run(["/bin/sh", "-c", SPEAKS], seconds=60, aloud=True)
    assert ran == running.Ran(True, "Collecting one\nCollecting \x1b[2Jtwo\n\n")
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) >= 2
    assert all(re.fullmatch(r" +\d+ s  Collecting (one|\[2Jtwo)", line) for line in lines), lines


def test_on_a_terminal_the_line_moves_all_the_time_and_is_removed(
    running: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert running.run(["/bin/sh", "-c", SPEAKS], seconds=60, aloud=True).well
    *drawn, last = capsys.readouterr().err.split("\r")
    assert last == "\x1b[K"
    assert len(drawn) >= 5
    assert len(set(drawn)) >= 4
    assert "Collecting one" in "".join(drawn)


def test_what_a_command_said_that_failed_is_kept_and_a_missing_one_has_failed(
    running: ModuleType,
) -> None:
    failed = running.run(["/bin/sh", "-c", "echo no index >&2; exit 3"], seconds=60, aloud=True)
    assert (failed.well, failed.printed, failed.answer) == (False, "no index\n", "")
    assert not running.run(["/nowhere/pip"], seconds=60).well


def test_make_says_so_when_there_is_no_python(tmp_path: Path) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "pyproject.toml").touch()
    done = subprocess.run(
        ["make", "test", "PYTHON="], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "No Python >= 3.11 was found" in done.stderr


def test_make_help_lists_every_target() -> None:
    done = subprocess.run(
        ["make", "--no-print-directory", "help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    shown = [line.split()[1] for line in done.stdout.splitlines()]
    assert shown == ["help", "demo", "test", "check", "docs", "floors", "lint", "format", "clean"]


def test_the_redis_of_the_environment_comes_before_the_systems(
    bootstrap: ModuleType, tmp_path: Path
) -> None:
    machine = Machine(tmp_path)
    scripts = tmp_path / "venv"
    scripts.mkdir()
    system = machine.command("redis-server")
    assert bootstrap.find_redis(machine.environ, scripts) == system
    own = machine.script(scripts / "redis-server", "exit 0")
    assert bootstrap.find_redis(machine.environ, scripts) == own


def test_apt_is_asked_for_a_redis_where_that_is_possible(
    bootstrap: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine(tmp_path)
    machine.command("apt-get", f'[ "$2" = update ] || /bin/cp /bin/true {machine.bin}/redis-server')
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert bootstrap.find_redis(machine.environ, tmp_path) is None
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert bootstrap.find_redis(machine.environ, tmp_path) == str(machine.bin / "redis-server")


def test_without_a_redis_one_sentence_says_what_to_do(
    bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bootstrap, "find_redis", lambda environ, scripts: None)
    assert bootstrap.main(["redis"]) == 1
    assert "apt-get install redis-server" in capsys.readouterr().err
