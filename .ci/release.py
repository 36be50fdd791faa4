"""Says whether a tag may be released: it is the version, and the changelog tells what is new.

``release.py v1.2.3``
    exit status 0 when pyproject.toml has version 1.2.3 and CHANGELOG.md a heading ``## 1.2.3`` with
    its date, ``## 1.2.3 (2026-05-04)``, and something below it. It uses the standard library only.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main", "why_not"]

ROOT = Path(__file__).resolve().parent.parent
DATE = r"\d{4}-\d\d-\d\d"


def why_not(tag: str, version: str, changelog: str) -> str | None:
    """Say why a tag may not be released, if it may not."""
    if tag != f"v{version}":
        return f"the tag is {tag}, the version in pyproject.toml {version}: one of them is wrong"
    heading = re.search(rf"(?m)^## {re.escape(version)}(?P<when>.*)$", changelog)
    if heading is None:
        return f"CHANGELOG.md has no heading '## {version}'"
    if not re.fullmatch(rf" \({DATE}\)", heading["when"]):
        return f"CHANGELOG.md gives no date of {version}: write '## {version} (YEAR-MONTH-DAY)'"
    entries = changelog[heading.end() :].split("\n## ")[0]
    return None if entries.strip() else f"CHANGELOG.md says nothing about {version}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Look at the checkout."""
    parser = argparse.ArgumentParser(description="May this tag be released?")
    parser.add_argument("tag")
    tag = parser.parse_args(arguments).tag
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    reason = why_not(tag, project["version"], changelog)
    if reason is not None:
        print(f"Not released: {reason}", file=sys.stderr)
    return 0 if reason is None else 1


if __name__ == "__main__":
    sys.exit(main())
