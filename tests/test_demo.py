"""The example project, crawled as a newcomer does: every decision against the truth."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

PROJECT = Path(__file__).resolve().parent.parent / "example_project"
sys.path.insert(0, str(PROJECT))

from demo.truth import truth  # noqa: E402
from demo.web import load_sites  # noqa: E402


def free_ports(count: int) -> int:
    """Return the first of so many consecutive free ports."""
    for first in range(18_651, 60_000, 10):
        try:
            for port in range(first, first + count):
                with socket.create_server(("127.0.0.1", port)):
                    pass
        except OSError:
            continue
        return first
    raise AssertionError("no free ports")


def crawl_demo(folder: Path, port: int, **settings: str) -> tuple[str, list[dict[str, Any]]]:
    """Crawl the example and return what it printed and its items."""
    items = folder / "items.jsonl"
    items.unlink(missing_ok=True)
    values = {
        "DEMO_PORT": str(port),
        "WEBSEGMENT_DATABASE": f"sqlite:///{folder / 'demo.db'}",
        **settings,
    }
    options = [part for name, value in values.items() for part in ("-s", f"{name}={value}")]
    done = subprocess.run(
        [sys.executable, "-m", "scrapy", "crawl", "news", "-o", f"{items}:jsonlines", *options],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env=os.environ | {"PYTHONWARNINGS": "error"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout, [json.loads(line) for line in items.read_text().splitlines()]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("demo")
    port = free_ports(3)
    return port, crawl_demo(folder, port), crawl_demo(folder, port), folder


@pytest.mark.browser
def test_every_decision_of_the_first_crawl_is_right(runs: Any) -> None:
    port, (_, items), _, _ = runs
    expected = truth(load_sites(port))
    assert {item["url"] for item in items} == set(expected)
    first: dict[str, str] = {}
    wrong = []
    for item in items:  # in the order of the decisions, one page at a time
        result, page = item["websegment"], expected[item["url"]]
        if page.kind == "thin":
            right = result["decision"] in ("new", "empty")
        elif page.text is None or page.text not in first:
            right = result["decision"] == "new"
            first.setdefault(page.text or item["url"], item["url"])
        else:
            right = (
                result["decision"] == "duplicate"
                and result["representative"] == first[page.text]
                and expected[result["duplicate_of"]].text == page.text
            )
        if not right:
            wrong.append((item["url"], page, result["decision"], result["duplicate_of"]))
    assert wrong == []
    assert all(item["websegment"]["rendered"] for item in items)


@pytest.mark.browser
def test_edited_copies_are_similar_and_exact_ones_equal(runs: Any) -> None:
    _, (_, items), _, _ = runs
    similar = defaultdict(list)
    for item in items:
        if item["websegment"]["decision"] == "duplicate":
            similar[item["websegment"]["similarity"] == 1].append(item["websegment"]["similarity"])
    # Bylines and dates belong to the texts, and each site writes its own.
    assert len(similar[True]) >= 1
    assert len(similar[False]) >= 10
    assert min(similar[False]) >= 0.7


@pytest.mark.browser
def test_boilerplate_is_not_in_the_main_texts(runs: Any) -> None:
    _, (_, items), _, _ = runs
    articles = [item["websegment"]["main_text"] for item in items]
    for phrase in ("All rights reserved", "cookie", "Log in", "Share"):
        assert sum(phrase in text for text in articles) <= 4, phrase


@pytest.mark.browser
def test_the_second_crawl_finds_nothing_new(runs: Any) -> None:
    _, (_, before), (printed, after), _ = runs
    decisions = {item["url"]: item["websegment"]["decision"] for item in before}
    again = {item["url"]: item["websegment"]["decision"] for item in after}
    assert again == {
        url: "empty" if decision == "empty" else "unchanged" for url, decision in decisions.items()
    }
    assert "New duplicates: 0; known from before: 38" in printed


@pytest.mark.browser
def test_the_report_is_a_table_that_people_understand(runs: Any) -> None:
    _, (printed, _), _, _ = runs
    assert "87 pages on 3 site(s)" in printed
    assert "New duplicates: 38" in printed
    for heading in ("pages", "new", "duplicate", "stripped", "is a copy of", "Stripped most"):
        assert heading in printed
    tables, _, commands = printed.partition("The decisions are in")
    assert max(map(len, tables.splitlines())) <= 100
    assert "websegment dedup summary" in commands


@pytest.mark.browser
def test_the_command_line_answers_from_the_demo_database(runs: Any) -> None:
    _, _, _, folder = runs
    for command in (["dedup", "summary"], ["dedup", "clusters"], ["dedup", "check"]):
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "websegment_scrapy.cli.main",
                *command,
                "--database",
                f"sqlite:///{folder / 'demo.db'}",
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout + done.stderr


def test_without_a_browser_the_other_sites_are_still_right(tmp_path: Path) -> None:
    port = free_ports(3)
    _, items = crawl_demo(tmp_path, port, WEBSEGMENT_RENDER="never")
    expected = truth(load_sites(port))
    duplicates = [item for item in items if item["websegment"]["decision"] == "duplicate"]
    assert len(duplicates) == 24
    for item in duplicates:
        of = item["websegment"]["duplicate_of"]
        assert expected[item["url"]].text == expected[of].text is not None
