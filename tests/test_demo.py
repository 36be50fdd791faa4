"""The demo as a newcomer sees it: what is on the screen, and every decision against the truth."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent
QUICK_START = ROOT / "docs" / "quickstart.md"
PROJECT = ROOT / "example_project"
sys.path.insert(0, str(PROJECT))

from demo.truth import truth  # noqa: E402
from demo.web import load_sites  # noqa: E402

PROGRESS = re.compile(r" *\d+ s  (starting|\d+ of \d+ pages, \d+\.\d/s  \w+ /.*)")

AS_ROOT = "WARNING: Chromium runs without its sandbox"


class Demo(NamedTuple):
    """What ``python -m demo`` printed and left behind."""

    port: int
    printed: str
    progress: list[str]
    first: list[dict[str, Any]]
    second: list[dict[str, Any]]


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


def run_demo(results: Path, *options: str) -> Demo:
    """Run the demo as ``make demo`` does; nothing but progress may be on standard error."""
    port = free_ports(3)
    done = subprocess.run(
        [sys.executable, "-m", "demo", f"--port={port}", f"--results={results}", *options],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        env=os.environ | {"PYTHONWARNINGS": "error"},
    )
    assert done.returncode == 0, done.stderr
    progress = done.stderr.splitlines()
    assert [line for line in progress if not PROGRESS.fullmatch(line) and AS_ROOT not in line] == []
    feeds = (
        [json.loads(line) for line in (results / name).read_text().splitlines()]
        for name in ("first.jsonl", "second.jsonl")
    )
    return Demo(port, done.stdout, progress, *feeds)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    return run_demo(tmp_path_factory.mktemp("demo") / "some results")


def section(printed: str, title: str) -> str:
    """Return what stands under a heading."""
    found = re.search(rf"^== {title}[^\n]*\n\n(.*?)(?=^==|\Z)", printed, re.MULTILINE | re.DOTALL)
    assert found, f"{title!r} is not in:\n{printed}"
    return found[1]


@pytest.mark.browser
def test_every_decision_of_the_first_crawl_is_right(demo: Demo) -> None:
    expected = truth(load_sites(demo.port))
    assert {item["url"] for item in demo.first} == set(expected)
    first: dict[str, str] = {}
    wrong = []
    for item in demo.first:  # in the order of the decisions, one page at a time
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
    assert all(item["websegment"]["rendered"] for item in demo.first)


@pytest.mark.browser
def test_edited_copies_are_similar_and_exact_ones_equal(demo: Demo) -> None:
    similar = defaultdict(list)
    for item in demo.first:
        if item["websegment"]["decision"] == "duplicate":
            similar[item["websegment"]["similarity"] == 1].append(item["websegment"]["similarity"])
    # Bylines and dates belong to the texts, and each site writes its own.
    assert len(similar[True]) >= 1
    assert len(similar[False]) >= 10
    assert min(similar[False]) >= 0.7


@pytest.mark.browser
def test_boilerplate_is_not_in_the_main_texts(demo: Demo) -> None:
    articles = [item["websegment"]["main_text"] for item in demo.first]
    for phrase in ("All rights reserved", "cookie", "Log in", "Share"):
        assert sum(phrase in text for text in articles) <= 4, phrase


@pytest.mark.browser
def test_the_second_crawl_finds_what_the_site_changed_and_nothing_else(demo: Demo) -> None:
    journal = load_sites(demo.port, later=True)[1]
    before = {item["url"]: item["websegment"]["decision"] for item in demo.first}
    again = {item["url"]: item["websegment"] for item in demo.second}
    assert set(again) == {journal.origin + path for path in journal.pages}
    edited = {f"{journal.origin}/", f"{journal.origin}/2024/08/pocket-knife/"}
    added = f"{journal.origin}/2024/07/harbour-crane/"
    for url, result in again.items():
        if url == added:
            assert result["decision"] == "duplicate"
            assert result["duplicate_of"].endswith("harbour-crane.html")
        elif before[url] == "empty":
            assert result["decision"] == "empty"
        else:
            assert result["decision"] == ("changed" if url in edited else "unchanged"), url


@pytest.mark.browser
def test_the_tables_of_both_crawls_are_what_people_understand(demo: Demo) -> None:
    first = section(demo.printed, "First crawl")
    assert "87 pages on 3 site(s)" in first
    assert "New duplicates: 38" in first
    for heading in ("pages", "new", "duplicate", "stripped", "is a copy of", "Stripped most"):
        assert heading in first
    second = section(demo.printed, "Second crawl")
    assert "27 pages on 1 site(s)" in second
    results = [item["websegment"] for item in demo.second]
    known = sum(each["decision"] == "unchanged" and bool(each["duplicate_of"]) for each in results)
    assert f"New duplicates: 1; known from before: {known}\n" in second
    tables = demo.printed.partition("== To look further")[0]
    lines = [line for line in tables.splitlines() if not line.startswith("The decisions are in")]
    assert max(map(len, lines)) <= 100


@pytest.mark.browser
def test_a_page_is_shown_before_and_after_with_its_segments(demo: Demo) -> None:
    shown = section(demo.printed, "What it made of them")
    url = re.search(r"One page before and after: Journal (\S+)", shown)
    assert url
    (page,) = (i["websegment"] for i in demo.first if i["url"].endswith(f"{demo.port + 1}{url[1]}"))
    assert f"THE WHOLE PAGE, {page['page_words']} words" in shown
    assert f"ITS MAIN TEXT, {page['words']} words" in shown
    before, after = (
        "\n".join(line.partition("|")[side] for line in shown.splitlines() if "|" in line)
        for side in (0, 2)
    )
    assert "One cookie, to remember" in before
    assert "One cookie" not in after
    roles = Counter(part["role"] for part in page["segments"] if part["words"])
    for role, count in roles.items():
        assert len(re.findall(rf"^{role} +\d+  ", shown, re.MULTILINE)) == count, role


@pytest.mark.browser
def test_two_copies_are_shown_side_by_side_with_the_passage_that_they_share(demo: Demo) -> None:
    shown = section(demo.printed, "What it made of them").partition("Two copies: ")[2]
    found = re.match(r"similarity (0\.\d\d), .* has (\d+) words", shown)
    assert found
    assert 0.7 <= float(found[1]) < 1
    assert int(found[2]) >= 40
    shared = [line.split(" = ") for line in shown.splitlines() if " = " in line]
    assert shared
    assert all(one.strip() == other.strip() for one, other in shared)
    assert " ≠ " in shown


@pytest.mark.browser
def test_what_changed_is_shown_in_sentences(demo: Demo) -> None:
    shown = section(demo.printed, "What the second crawl found")
    assert shown.startswith("27 pages: 21 unchanged, 3 empty, 2 changed, 1 duplicate\n")
    assert re.search(
        r"^changed +Journal /2024/08/pocket-knife/\n"
        r" +- It is in the kitchen drawer .*\n"
        r" +\+ My niece, who is twelve, .*$",
        shown,
        re.MULTILINE,
    )
    assert re.search(
        r"^duplicate +Journal /2024/07/harbour-crane/\n +of Gazette ", shown, re.MULTILINE
    )
    assert re.search(r"^gone +Journal /2024/07/soup/$", shown, re.MULTILINE)
    assert re.search(
        r"21 of them did change:\n +- Text and pictures may .*\n +\+ Text and pictures are ", shown
    )


@pytest.mark.browser
def test_every_command_that_is_suggested_works_as_printed(demo: Demo) -> None:
    commands = re.findall(r"^  (.+)$", section(demo.printed, "To look further"), re.MULTILINE)
    assert commands[0].startswith("cd ")
    assert len(commands) >= 6
    for command in commands[1:]:
        done = subprocess.run(
            ["/bin/sh", "-c", f"{commands[0]} && {command}"],
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}: {done.stderr}"
        assert done.stdout or " -o " in command, command
        if " compare " in command:
            assert "near-duplicates: yes" in done.stdout


@pytest.mark.browser
def test_there_are_lines_of_progress_while_it_crawls(demo: Demo) -> None:
    assert any(" of 87 pages, " in line for line in demo.progress)
    counted = [
        int(found[1]) for line in demo.progress if (found := re.search(r"(\d+) of 87", line))
    ]
    assert counted == sorted(counted)


@pytest.mark.browser
def test_the_quick_start_shows_what_the_demo_prints(demo: Demo) -> None:
    (shown,) = re.findall(r"```text\n(.*?)```", QUICK_START.read_text(), re.DOTALL)
    printed = [_without_seconds(line) for line in demo.printed.splitlines()]
    for line in shown.splitlines():
        if line.strip(" …"):
            assert _without_seconds(line) in printed, line


def _without_seconds(line: str) -> str:
    return re.sub(r"\d+ seconds", "N seconds", line.rstrip())


def test_without_a_browser_the_other_sites_are_still_right(tmp_path: Path) -> None:
    demo = run_demo(tmp_path, "--render=never")
    named = section(demo.printed, "Everything in one file").partition("\n")[0]
    report = json.loads(Path(named).read_text().split('id="data">')[1].split("</script>")[0])
    assert named == str(tmp_path / "report.html")
    assert len(report["texts"]) == report["summary"]["duplicate"] == 25  # one of the second crawl
    assert len(report["compared"]) == 2
    expected = truth(load_sites(demo.port))
    duplicates = [item for item in demo.first if item["websegment"]["decision"] == "duplicate"]
    assert len(duplicates) == 24
    for item in duplicates:
        of = item["websegment"]["duplicate_of"]
        assert expected[item["url"]].text == expected[of].text is not None
    assert Counter(item["websegment"]["decision"] for item in demo.second) == {
        "unchanged": 21,
        "empty": 3,
        "changed": 2,
        "duplicate": 1,
    }
