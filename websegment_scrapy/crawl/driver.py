"""Playwright's driver, the Node.js process between the crawl and the browser: how it is started.

Playwright starts it in the crawl's own process group, where SIGINT and SIGTERM end it, and with it
every page that is being rendered. Node.js undoes what a process inherits about signals, so it is
started by a small program of ours: in a session of its own, which a terminal does not reach, and
with handlers that do nothing, for SIGTERM to all processes of a service. It ends, with the browser,
when the crawl's end of its pipe closes, however the crawl ended.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["OWN_SIGNALS", "driver_in"]

OWN_SIGNALS = {"handle_sigint": False, "handle_sigterm": False}
"""Options of Playwright's ``launch``: its driver does not close the browser on signals."""

NODE_VARIABLE = "PLAYWRIGHT_NODEJS_PATH"
"""Playwright's environment variable for the program that runs its driver."""

_IGNORE = 'for (const name of ["SIGINT", "SIGTERM"]) process.on(name, () => {});\n'


@contextlib.contextmanager
def driver_in(folder: Path) -> Iterator[None]:
    """Have a driver that is started meanwhile be left alone by signals.

    Parameters
    ----------
    folder
        Where it and the browser keep their temporary files.
    """
    tempfile.gettempdir()  # remembered before: only the new process is to use the folder
    changes = {"TMPDIR": str(folder)}
    program = _program(folder)
    if program is not None:
        changes[NODE_VARIABLE] = program
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _program(folder: Path) -> str | None:
    """Write the program that starts Node.js; ``None`` where none can be started from the folder."""
    node = os.environ.get(NODE_VARIABLE) or _bundled_node()
    if os.name != "posix" or node is None:
        return None
    ignore = folder / "ignore.cjs"
    ignore.write_text(_IGNORE, encoding="utf-8")
    session = [] if shutil.which("setsid") is None else ["setsid"]
    command = shlex.join([*session, node, "--require", str(ignore)])
    program = folder / "node"
    program.write_text(f'#!/bin/sh\nexec {command} "$@"\n', encoding="utf-8")
    program.chmod(0o700)
    return str(program) if os.access(program, os.X_OK) else None


def _bundled_node() -> str | None:
    spec = find_spec("playwright")
    if spec is None or spec.origin is None:
        return None
    node = Path(spec.origin).parent / "driver" / "node"
    return str(node) if node.is_file() else None
