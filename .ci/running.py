"""Runs commands, and shows on standard error that something happens meanwhile.

On a terminal a line with the seconds and what the command said last is drawn again and again, and
removed at the end; elsewhere it is written every few seconds.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = ["Ran", "run", "say"]

DRAW_SECONDS = 0.2
LINE_SECONDS = 5.0
"""Between two lines where there is no terminal."""
TURNS = "|/-\\"


@dataclass(frozen=True, slots=True)
class Ran:
    """How a command ended: whether with status 0, in time, and what it printed."""

    well: bool
    printed: str

    @property
    def answer(self) -> str:
        """What it printed if it ended well, otherwise nothing."""
        return self.printed if self.well else ""


def say(sentence: str) -> None:
    """Tell what is going on, on standard error."""
    print(sentence, file=sys.stderr, flush=True)


def run(
    command: Sequence[str],
    *,
    seconds: float,
    environ: Mapping[str, str] | None = None,
    folder: Path | None = None,
    aloud: bool = False,
) -> Ran:
    """Run a command to its end, or for so many seconds.

    It runs in a session of its own, so that what it started ends with it, and in `folder`, if one
    is given. ``aloud``: what it says last is in the line that is shown, and its errors are in what
    it printed.
    """
    try:
        process = subprocess.Popen(
            command,
            env=environ,
            cwd=folder,
            bufsize=0,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if aloud else subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        return Ran(False, str(error))
    assert process.stdout is not None
    printed = bytearray()
    reader = threading.Thread(target=_read, args=(process.stdout, printed), daemon=True)
    reader.start()
    with process:
        try:
            _wait(process, reader, seconds, printed if aloud else b"")
        except BaseException as error:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
    return Ran(process.returncode == 0, bytes(printed).decode(errors="replace"))


def _read(stream: IO[bytes], printed: bytearray) -> None:
    while chunk := stream.read(65_536):
        printed.extend(chunk)


def _wait(
    process: subprocess.Popen[bytes],
    reader: threading.Thread,
    seconds: float,
    said: bytes | bytearray,
) -> None:
    """Wait until the command has ended and said everything; draw the line meanwhile."""
    started, lines = time.monotonic(), 0
    on_terminal = sys.stderr.isatty()
    try:
        while reader.is_alive() or process.poll() is None:
            reader.join(DRAW_SECONDS)
            if not reader.is_alive():
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(DRAW_SECONDS)
            passed = time.monotonic() - started
            if passed > seconds:
                raise subprocess.TimeoutExpired(process.args, seconds)
            line = f"{passed:3.0f} s  {_last_line(said)}".rstrip()
            if on_terminal:
                room = shutil.get_terminal_size((100, 24)).columns - 3
                turn = TURNS[int(passed / DRAW_SECONDS) % len(TURNS)]
                print(f"{turn} {line[:room]}\033[K\r", end="", file=sys.stderr, flush=True)
            elif passed // LINE_SECONDS > lines:
                lines = int(passed // LINE_SECONDS)
                say(f"  {line}")
    finally:
        if on_terminal:
            print("\033[K", end="", file=sys.stderr, flush=True)


def _last_line(said: bytes | bytearray) -> str:
    """Return the last line that is not blank, without what could move the cursor."""
    for line in reversed(bytes(said[-2000:]).decode(errors="replace").splitlines()):
        if line.strip():
            return "".join(letter for letter in line.strip() if letter.isprintable())[:120]
    return ""
