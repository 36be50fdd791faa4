"""Proves that the package works with the versions that pyproject.toml allows.

``versions.py lowest``
    the lowest version of every requirement, all together: where it says ``>=``, that is what is
    installed;
``versions.py newest``
    the newest of everything that pip finds.

Both run the tests that need neither a browser nor PostgreSQL, in an environment of their own. It
uses the standard library only. ``versions.py lowest --show`` prints the requirements and installs
nothing; ``--python PATH`` names another interpreter, arguments after ``--`` go to pytest.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from typing import TYPE_CHECKING, Any

from environments import ROOT, Environment, temporary_folder
from running import say

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["lowest", "main", "requirements"]

EXTRAS = ("postgresql", "plot", "redis")
"""What users may add, beside the package's own requirements."""
TOOLS = ("hypothesis", "pandas", "psutil", "pytest", "pytest-xdist")
"""Of the extra ``dev``: what the chosen tests need."""
TESTS = (
    "test_alignment.py",
    "test_analysis.py",
    "test_cclus.py",
    "test_config.py",
    "test_content.py",
    "test_crawl_sites.py",
    "test_decode.py",
    "test_fingerprint.py",
    "test_fusion.py",
    "test_gate.py",
    "test_gcuts.py",
    "test_isotonic.py",
    "test_items.py",
    "test_markdown.py",
    "test_page_tree.py",
    "test_parse.py",
    "test_signature.py",
    "test_store.py",
    "test_store_migrations.py",
    "test_upstream.py",
    "test_words.py",
)
"""Every part of the package, in the time of a coffee."""
CHOICE = "not postgresql"
NOT_WITH_LOWEST = {
    "a_page_is_the_same_for_all_its_items_and_forgotten": (
        "Scrapy's helper that makes a crawler for tests needs a reactor in older versions"
    ),
    "a_migrated_database_has_the_shape_of_a_new_one": (
        "the inspector of older SQLAlchemys overlooks a CHECK that begins on a line of its own"
    ),
}
"""Tests that fail because of how they look at the package, with the reason."""
TEST_SECONDS = 900.0

_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(?P<extras>\[[\w,-]+\])?(?P<bounds>[^;]*)")
_LOWEST = re.compile(r">=\s*([\w.]+)")


def requirements(project: dict[str, Any]) -> list[str]:
    """Return the requirements of the package, of its extras, and of the tests."""
    optional = project["optional-dependencies"]
    given = [*project["dependencies"], *(each for name in EXTRAS for each in optional[name])]
    tools = [each for each in optional["dev"] if _named(each) in TOOLS]
    missing = set(TOOLS) - {_named(each) for each in tools}
    if missing:
        sys.exit(f"The extra dev of pyproject.toml has no {', '.join(sorted(missing))}")
    return [*given, *tools]


def lowest(given: Iterable[str]) -> list[str]:
    """Return each requirement with ``==`` and the version that its ``>=`` names."""
    pinned = []
    for requirement in given:
        found = _REQUIREMENT.fullmatch(requirement)
        bound = _LOWEST.search(found["bounds"]) if found else None
        if found is None or bound is None:
            sys.exit(f"No lowest version is named by {requirement!r}: pyproject.toml needs a >=")
        pinned.append(f"{found['name']}{found['extras'] or ''}=={bound[1]}")
    return pinned


def _named(requirement: str) -> str:
    found = _REQUIREMENT.match(requirement)
    return found["name"] if found else ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the environment and run the tests in it."""
    parser = argparse.ArgumentParser(description="Try the versions that pyproject.toml allows.")
    parser.add_argument("which", choices=["lowest", "newest"])
    parser.add_argument("--python", help="the interpreter; without it, the one that runs this")
    parser.add_argument("--show", action="store_true", help="print the requirements, no more")
    parser.add_argument("pytest", nargs="*", help="after --: arguments for pytest")
    chosen = parser.parse_args(arguments)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = requirements(project)
    if chosen.which == "lowest":
        wanted = lowest(wanted)
    if chosen.show:
        print("\n".join(wanted))
        return 0
    with temporary_folder() as folder:
        environment = Environment(folder / "venv", chosen.python)
        say(f"Installing the {chosen.which} versions")
        upgrade = ["--upgrade"] if chosen.which == "newest" else []
        environment.install(*upgrade, str(ROOT), *wanted)
        print(environment.run("pip", "freeze", folder=folder, seconds=60.0), end="")
        say("Running the tests")
        tests = [f"tests/{name}" for name in TESTS]
        passed_over = NOT_WITH_LOWEST if chosen.which == "lowest" else ()
        choice = " and not ".join([CHOICE, *passed_over])
        options = ["-q", "-p", "no:cacheprovider", "-m", "not browser", "-k", choice]
        command = ["python", "-m", "pytest", *options, *tests, *chosen.pytest]
        print(environment.run(*command, folder=ROOT, seconds=TEST_SECONDS))
    return 0


if __name__ == "__main__":
    sys.exit(main())
