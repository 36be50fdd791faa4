"""Empty virtual environments for the proofs: made, filled and asked, each in a folder that goes."""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from running import Ran, run, say

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["ROOT", "Environment", "temporary_folder"]

ROOT = Path(__file__).resolve().parent.parent
CREATE_SECONDS = 300.0
INSTALL_SECONDS = 1800.0
SHOWN_LINES = 40
"""Of what a command said that failed."""


class Environment:
    """A virtual environment with nothing but pip in it.

    Parameters
    ----------
    folder
        Where it is made.
    python
        The interpreter that it is made with; without one, that of the script.
    """

    def __init__(self, folder: Path, python: str | None = None) -> None:
        self.bin = folder / "bin"
        self.python = str(self.bin / "python")
        command = [python or sys.executable, "-m", "venv", "--clear", str(folder)]
        _must(run(command, seconds=CREATE_SECONDS, aloud=True), "The environment was not made")

    def install(self, *requirements: str) -> None:
        """Install packages, and check that the requirements of all of them are met."""
        command = [self.python, "-m", "pip", "install", "--disable-pip-version-check"]
        _must(
            run([*command, *requirements], seconds=INSTALL_SECONDS, aloud=True),
            f"pip could not install {' '.join(requirements)}",
        )
        _must(
            run([self.python, "-m", "pip", "check"], seconds=CREATE_SECONDS, aloud=True),
            "Packages do not fit together",
        )

    def run(self, *command: str, folder: Path, seconds: float) -> str:
        """Run a command of the environment, or end with what it said."""
        path = os.pathsep.join([str(self.bin), os.environ.get("PATH", os.defpath)])
        own = ("PYTHON", "WEBSEGMENT_", "SCRAPY_", "VIRTUAL_ENV")
        clean = {name: value for name, value in os.environ.items() if not name.startswith(own)}
        program = str(self.bin / command[0])
        ran = run(
            [program, *command[1:]],
            seconds=seconds,
            environ={**clean, "PATH": path},
            folder=folder,
            aloud=True,
        )
        _must(ran, f"This failed, or took more than {seconds:g} s: {' '.join(command)}")
        return ran.printed


def _must(ran: Ran, sentence: str) -> None:
    if not ran.well:
        say("\n".join(ran.printed.splitlines()[-SHOWN_LINES:]))
        sys.exit(sentence)


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Give a folder that is removed with all that is in it."""
    with tempfile.TemporaryDirectory(prefix="websegment-", ignore_cleanup_errors=True) as folder:
        yield Path(folder).resolve()
