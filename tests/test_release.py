"""What a release stands on: the proofs of .ci/, the workflows that run them, and the checklist."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
WORKFLOWS = ROOT / ".github" / "workflows"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def proof(monkeypatch: pytest.MonkeyPatch, name: str) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / ".ci")
    return importlib.import_module(name)


@pytest.fixture
def versions(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return proof(monkeypatch, "versions")


@pytest.fixture
def release(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return proof(monkeypatch, "release")


@pytest.fixture
def distributions(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return proof(monkeypatch, "distributions")


def workflow(name: str) -> dict[str, Any]:
    loaded = yaml.safe_load((WORKFLOWS / name).read_text(encoding="utf-8"))
    assert isinstance(loaded, dict)
    return loaded


def steps(job: dict[str, Any]) -> list[str]:
    return [step["run"] for step in job["steps"] if "run" in step]


def pythons() -> list[str]:
    named = re.compile(r"Programming Language :: Python :: (3\.\d+)")
    return [match[1] for each in PROJECT["classifiers"] if (match := named.fullmatch(each))]


@pytest.mark.parametrize("name", ["ci.yml", "release.yml"])
def test_a_workflow_may_only_read_and_pins_what_it_uses(name: str) -> None:
    loaded = workflow(name)
    assert loaded["permissions"] == {"contents": "read"}
    for title, job in loaded["jobs"].items():
        assert job["timeout-minutes"] <= 120, title
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step), step
            if "uses" in step:
                assert re.fullmatch(r"[\w./-]+@(v\d+|release/v\d+)", step["uses"]), step


def test_the_matrix_is_what_the_classifiers_promise() -> None:
    jobs = workflow("ci.yml")["jobs"]
    assert jobs["newest"]["strategy"]["matrix"]["python"] == pythons()
    assert PROJECT["requires-python"] == f">={pythons()[0]}"
    setup = next(step for step in jobs["lowest"]["steps"] if "with" in step)
    assert setup["with"]["python-version"] == pythons()[0]


def test_every_step_of_a_workflow_can_be_run_here() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for name in ("ci.yml", "release.yml"):
        for job in workflow(name)["jobs"].values():
            for command in steps(job):
                program, what, *_ = command.split()
                if program == "make":
                    assert re.search(rf"(?m)^{what}:", makefile), command
                else:
                    assert program == "python", command
                    assert (ROOT / what).is_file(), command


def test_ci_runs_every_proof() -> None:
    jobs = workflow("ci.yml")["jobs"]
    run = {command for job in jobs.values() for command in steps(job)}
    assert run == {
        "python .ci/versions.py newest",
        "python .ci/versions.py lowest",
        "python .ci/distributions.py",
        "make docs",
        "make test",
    }


def test_a_release_is_published_without_a_password_after_it_was_tried() -> None:
    loaded = workflow("release.yml")
    assert loaded[True] == {"push": {"tags": ["v*"]}}  # YAML reads "on" as a truth value
    jobs = loaded["jobs"]
    assert [command.split()[1] for command in steps(jobs["build"])] == [
        ".ci/release.py",
        ".ci/distributions.py",
    ]
    assert jobs["publish"]["needs"] == "build"
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert "secrets." not in (WORKFLOWS / "release.yml").read_text(encoding="utf-8")


def test_the_version_has_its_heading_in_the_changelog() -> None:
    assert re.search(rf"(?m)^## {re.escape(PROJECT['version'])} \(", CHANGELOG)


@pytest.mark.parametrize(
    ("tag", "changelog", "reason"),
    [
        ("v1.2.3", "# Changelog\n\n## 1.2.3 (2026-05-04)\n\n- New.\n", None),
        ("v1.2.4", "## 1.2.3 (2026-05-04)\n\n- New.\n", "the tag is v1.2.4"),
        ("1.2.3", "## 1.2.3 (2026-05-04)\n\n- New.\n", "the tag is 1.2.3"),
        ("v1.2.3", "## 1.2.30 (2026-05-04)\n\n- New.\n", "no date"),
        ("v1.2.3", "## 1.2.2 (2026-05-04)\n\n- New.\n", "no heading"),
        ("v1.2.3", "## 1.2.3 (not released yet)\n\n- New.\n", "no date"),
        ("v1.2.3", "## 1.2.3 (2026-05-04)\n\n## 1.2.2\n\n- Old.\n", "says nothing"),
    ],
)
def test_a_tag_is_released_when_version_and_changelog_agree(
    release: ModuleType, tag: str, changelog: str, reason: str | None
) -> None:
    found = release.why_not(tag, "1.2.3", changelog)
    assert (found is None) if reason is None else (reason in found)


def test_the_lowest_versions_are_those_that_the_bounds_name(versions: ModuleType) -> None:
    given = ["a>=1.2", "b[c,d]>=2.0.1,<3", "e-f.g<4,>= 3"]
    assert versions.lowest(given) == ["a==1.2", "b[c,d]==2.0.1", "e-f.g==3"]
    with pytest.raises(SystemExit, match="No lowest version is named by 'h<2'"):
        versions.lowest(["h<2"])


def test_every_requirement_has_a_lowest_version(versions: ModuleType) -> None:
    wanted = versions.requirements(PROJECT)
    assert set(PROJECT["dependencies"]) <= set(wanted)
    assert len(versions.lowest(wanted)) == len(wanted)
    assert all((ROOT / "tests" / name).is_file() for name in versions.TESTS)


def test_the_lowest_versions_are_shown_without_anything_but_python() -> None:
    command = [sys.executable, "-S", str(ROOT / ".ci" / "versions.py"), "lowest", "--show"]
    empty = {"PATH": os.defpath}
    ran = subprocess.run(command, capture_output=True, text=True, check=True, env=empty)
    assert len(ran.stdout.splitlines()) > len(PROJECT["dependencies"])
    assert all("==" in line for line in ran.stdout.splitlines())


@pytest.mark.parametrize(
    ("kind", "names", "fault"),
    [
        ("wheel", ["p/a.py", "p/b.js", "p-1.dist-info/METADATA"], None),
        ("wheel", ["p/a.py", "p-1.dist-info/METADATA"], "the wheel lacks p/b.js"),
        ("wheel", ["p/a.py", "p/b.js", "tests/c.py"], "should not have: tests/c.py"),
        ("sdist", ["p-1/p/a.py", "p-1/p/b.js", "p-1/PKG-INFO"], None),
        ("sdist", ["p-1/p/b.js", "p-1/PKG-INFO"], "the sdist lacks p/a.py"),
    ],
)
def test_what_a_distribution_lacks_or_has_too_much_is_named(
    distributions: ModuleType, kind: str, names: list[str], fault: str | None
) -> None:
    found = distributions.fault(kind, names, {"p/a.py", "p/b.js"})
    assert (found is None) if fault is None else (fault in found)


def test_distributions_are_compared_with_the_files_that_are_here(
    distributions: ModuleType,
) -> None:
    wheel, sdist = (distributions.sources(kind) for kind in ("wheel", "sdist"))
    assert {"websegment_scrapy/py.typed", "websegment_scrapy/page/capture.js"} <= wheel
    assert wheel < sdist
    assert {"docs/index.md", "mkdocs.yml", "SECURITY.md", "tests/test_release.py"} <= sdist
    assert {".ci/running.py", "Makefile", "example_project/README.md"} <= sdist
    assert not any("__pycache__" in name for name in sdist)


def test_the_checklist_names_every_proof_and_is_a_page_of_the_site() -> None:
    checklist = (ROOT / "docs" / "release.md").read_text(encoding="utf-8")
    for path in sorted((ROOT / ".ci").glob("*.py")):
        if "def main(" in path.read_text(encoding="utf-8") and path.name != "bootstrap.py":
            assert f".ci/{path.name}" in checklist
    assert "release.md" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
