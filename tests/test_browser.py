"""Where the browser is looked for, and what is said when there is none."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from websegment_scrapy.crawl.browser import (
    NICENESS,
    SESSION_NICENESS,
    BrowserChoice,
    find_chromium,
    gently,
    launch_options,
)
from websegment_scrapy.exceptions import BrowserNotFound


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def bare(tmp_path, monkeypatch):
    """A machine without any browser."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path / "registry"))
    monkeypatch.delenv("WEBSEGMENT_CHROMIUM", raising=False)
    monkeypatch.setattr("websegment_scrapy.crawl.browser._SYSTEM_PATHS", ())
    return tmp_path


def revision() -> str:
    spec = find_spec("playwright")
    assert spec is not None
    assert spec.origin is not None
    described = Path(spec.origin).parent / "driver" / "package" / "browsers.json"
    browsers = json.loads(described.read_text())["browsers"]
    return next(browser["revision"] for browser in browsers if browser["name"] == "chromium")


def test_the_order_is_named_then_playwrights_then_the_systems(bare, monkeypatch):
    system = program(bare / "bin" / "chromium")
    assert find_chromium() == BrowserChoice(str(system), "system")
    smaller = program(bare / "bin" / "chromium-headless-shell")
    assert find_chromium() == BrowserChoice(str(smaller), "system")
    folder = bare / "registry" / f"chromium-{revision()}"
    own = program(folder / "chrome-linux" / "chrome")
    assert find_chromium().origin == "system", "not a complete installation"
    (folder / "INSTALLATION_COMPLETE").touch()
    assert find_chromium() == BrowserChoice(str(own), "playwright")
    shell_folder = bare / "registry" / f"chromium_headless_shell-{revision()}"
    shell = program(shell_folder / "chrome-linux" / "headless_shell")
    (shell_folder / "INSTALLATION_COMPLETE").touch()
    assert find_chromium() == BrowserChoice(str(shell), "playwright")
    named = program(bare / "elsewhere" / "chrome")
    monkeypatch.setenv("WEBSEGMENT_CHROMIUM", str(named))
    assert find_chromium() == BrowserChoice(str(named), "explicit")
    assert find_chromium(str(system)) == BrowserChoice(str(system), "explicit")


def test_another_revision_of_playwrights_browser_does_not_count(bare):
    folder = bare / "registry" / "chromium-1"
    program(folder / "chrome-linux" / "chrome")
    (folder / "INSTALLATION_COMPLETE").touch()
    with pytest.raises(BrowserNotFound):
        find_chromium()


def test_the_error_names_every_remedy(bare):
    with pytest.raises(BrowserNotFound) as caught:
        find_chromium()
    for remedy in ("playwright install chromium", "`chromium` package", "WEBSEGMENT_CHROMIUM"):
        assert remedy in str(caught.value)


def test_a_named_browser_that_is_none_is_an_error_not_a_reason_to_take_another(bare):
    program(bare / "bin" / "chromium")
    with pytest.raises(BrowserNotFound, match="no-such"):
        find_chromium(str(bare / "no-such"))


def test_background_traffic_is_off_and_the_sandbox_on_but_for_root():
    options = launch_options(BrowserChoice("/x/chromium", "explicit"))
    assert options["executable_path"] == "/x/chromium"
    arguments = set(options["args"])
    assert {
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-dev-shm-usage",
        "--disable-quic",
        "--disable-sync",
        "--no-default-browser-check",
    } <= arguments
    assert options["chromium_sandbox"] == (os.geteuid() != 0)


def test_the_browser_gives_way_to_the_crawl_whatever_session_it_is_in(tmp_path):
    started = gently(shutil.which("sleep"), tmp_path)
    group = Path("/proc/self/autogroup")
    ours = group.read_text() if group.exists() else ""
    before = os.getpriority(os.PRIO_PROCESS, 0)
    for alone in (True, False):
        with subprocess.Popen([started, "60"], start_new_session=alone) as browser:
            try:
                own = Path(f"/proc/{browser.pid}")
                deadline = time.monotonic() + 10
                while b"sleep" not in (own / "cmdline").read_bytes().split(b"\0")[0]:
                    assert time.monotonic() < deadline
                    time.sleep(0.02)
                priority = os.getpriority(os.PRIO_PROCESS, browser.pid)
                assert priority == min(before + NICENESS, 19)
                if alone and ours:
                    assert (own / "autogroup").read_text().endswith(f"nice {SESSION_NICENESS}\n")
            finally:
                browser.kill()
    assert not ours or group.read_text() == ours, "the crawl's own session stays as it is"
