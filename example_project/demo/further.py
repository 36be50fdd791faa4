"""Commands to look further when the demo has ended, and the pages that they read.

The sites are no longer served then: the commands ask the database or read HTML files.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from demo.pages import respond

if TYPE_CHECKING:
    from collections.abc import Iterable

    from demo.web import Site

__all__ = ["keep_page", "where_to_look"]

TOOL = "websegment"


def keep_page(url: str, sites: Iterable[Site], folder: Path) -> str:
    """Write a page of the sites to an HTML file in the folder; return the file's name."""
    for site in sites:
        path = url.removeprefix(site.origin)
        found = respond(site, path) if path != url else None
        if found:
            name = f"{site.key}-{path.strip('/').removesuffix('.html').replace('/', '-')}.html"
            (folder / name).write_text(found[1], encoding="utf-8")
            return name
    raise ValueError(f"{url} is no page of the example sites")


def where_to_look(folder: Path, page: str, original: str, copy: str) -> str:
    """Name commands that can be pasted into a terminal.

    Parameters
    ----------
    folder
        Where the database is, and the HTML files.
    page, original, copy
        Names of HTML files there: any page, and two copies of a text.
    """
    commands = (
        "dedup summary",
        "dedup pairs",
        "dedup changed --since 1d",
        f"extract {page}",
        f"segment {page} -o segments.json",
        f"compare {original} {copy}",
    )
    tool = _tool(folder)
    return "\n".join([f"  cd {shlex.quote(str(folder))}", *(f"  {tool} {c}" for c in commands)])


def _tool(folder: Path) -> str:
    """Return how to call this environment's websegment from the folder."""
    own = Path(sys.executable).with_name(TOOL)
    on_path = shutil.which(TOOL)
    if on_path and Path(on_path).samefile(own):
        return TOOL
    return shlex.quote(os.path.relpath(own, folder))
