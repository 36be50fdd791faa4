"""The command line as its users call it."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.site import Route, Site
from tests.texts import page, prose
from websegment_scrapy.cli.main import main

KEYS = {"url", "engine", "title", "rendered", "main_text", "segments", "groups", "leaves"} | {
    "page_type",
    "page_type_probability",
    "main_text_score",
}


def run(
    *arguments: str, stdin: bytes | None = None, folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "websegment_scrapy.cli.main", *arguments],
        input=stdin,
        capture_output=True,
        cwd=folder,
        timeout=120,
        check=False,
    )
    return subprocess.CompletedProcess(
        done.args, done.returncode, done.stdout.decode(), done.stderr.decode()
    )


def write_pages(folder: Path, *numbers: int) -> list[str]:
    paths = []
    for number in numbers:
        path = folder / f"{number}.html"
        path.write_text(page(prose(number), f"Page {number}"))
        paths.append(str(path))
    return paths


def test_segment_gives_one_json_object_for_each_page_in_order(tmp_path: Path) -> None:
    paths = write_pages(tmp_path, *range(12))
    done = run("segment", *paths, "--attributes", "href", "--engine", "bf-plain")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    pages = [json.loads(line) for line in done.stdout.splitlines()]
    assert [found["title"] for found in pages] == [f"Page {number}" for number in range(12)]
    assert all(set(found) == KEYS for found in pages)
    assert pages[0]["engine"] == "bf-plain"
    assert pages[0]["url"] == Path(paths[0]).as_uri()
    assert {leaf["attributes"]["href"] for leaf in pages[0]["leaves"]} >= {"/home", None}


def test_a_page_that_fails_is_named_and_the_others_are_written(tmp_path: Path) -> None:
    good = write_pages(tmp_path, 1, 2)
    bad = tmp_path / "bad.html"
    bad.write_bytes(b"%PDF-1.7 ...")
    missing = str(tmp_path / "missing.html")
    out = tmp_path / "out.jsonl"
    done = run("segment", good[0], str(bad), missing, good[1], "-o", str(out))
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        f"websegment: {bad}: not HTML but a PDF document",
        f"websegment: {missing}: no such file, and no http or https URL",
    ]
    assert len(out.read_text().splitlines()) == 2


def test_extract_writes_texts_or_json(tmp_path: Path) -> None:
    paths = write_pages(tmp_path, 1, 2)
    done = run("extract", *paths)
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.split("\f")
    assert first.strip().endswith(prose(1))
    assert second.strip().endswith(prose(2))
    done = run("extract", "--json", *paths)
    pages = [json.loads(line) for line in done.stdout.splitlines()]
    keys = {"url", "title", "main_text", "main_text_score"}
    assert [set(found) for found in pages] == [keys] * 2


@pytest.mark.parametrize("method", ["learned", "pagelevel", "largest"])
def test_extract_marks_headings_and_lists_as_markdown(tmp_path: Path, method: str) -> None:
    items = "".join(f"<li>{prose(number, 12)}</li>" for number in range(3))
    html = f"<article><h1>Story</h1><p>{prose(1, 80)}</p><ol>{items}</ol></article>"
    (tmp_path / "page.html").write_text(html)
    done = run("extract", "--format", "markdown", "--main-text", method, "page.html",
               folder=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert prose(1, 80) in done.stdout
    if method == "learned":
        assert f"\n1. {prose(0, 12)}\n2. {prose(1, 12)}\n3. " in done.stdout


def test_standard_input_is_a_page_or_json_lines_of_pages() -> None:
    done = run("extract", "-", stdin=page(prose(1)).encode())
    assert done.stdout.strip().endswith(prose(1))
    lines = [{"url": f"http://x/{n}", "html": page(prose(n)), "extra": 1} for n in (1, 2, 3)]
    done = run("extract", "--json", "-", stdin="\n".join(map(json.dumps, lines)).encode())
    assert done.returncode == 0, done.stderr
    assert [json.loads(line)["url"] for line in done.stdout.splitlines()] == [
        "http://x/1",
        "http://x/2",
        "http://x/3",
    ]


def test_urls_are_fetched_and_errors_named() -> None:
    with Site({"/a": page(prose(1), "A"), "/gone": Route(status=410)}) as site:
        done = run("extract", "--json", site.url("/a"), site.url("/gone"), "http://127.0.0.1:1/")
    assert done.returncode == 1
    assert json.loads(done.stdout)["title"] == "A"
    assert "the server answered 410" in done.stderr
    assert "could not be fetched" in done.stderr


@pytest.mark.browser
def test_rendered_pages_say_so_and_show_what_scripts_write(tmp_path: Path) -> None:
    path = tmp_path / "script.html"
    script = f"document.body.insertAdjacentHTML('beforeend', '<p>{prose(1)}</p>')"
    path.write_text(f"<h1>T</h1><script>{script}</script>")
    done = run("segment", "--render", str(path))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["rendered"] is True
    assert prose(1) in found["main_text"]
    assert "data-ws" not in done.stdout


def test_compare_gives_the_evidence(tmp_path: Path) -> None:
    one, other = write_pages(tmp_path, 1, 2)
    copy = tmp_path / "copy.html"
    copy.write_text(page(prose(1), "Another title").replace("home", "start"))
    done = run("compare", one, str(copy))
    assert done.returncode == 0, done.stderr
    assert "near-duplicates: yes" in done.stdout
    answer = json.loads(run("compare", "--json", one, other, "--signature", "shingles").stdout)
    assert answer["near_duplicates"] is False
    assert answer["shared_shingles"] == 0
    answer = json.loads(run("compare", "--json", one, str(copy)).stdout)
    assert answer["near_duplicates"] is True
    assert answer["similarity"] > 0.9


def test_wrong_use_is_status_2_in_one_line(tmp_path: Path) -> None:
    for arguments, message in (
        (["segment"], "the following arguments are required"),
        (["segment", "x.html", "--engine", "nope"], "there is no engine 'nope'"),
        (["dedup", "summary"], "websegment.db"),
        (["extract", "x.html", "--workers", "-3"], "WEBSEGMENT_WORKERS is -3"),
        (["no-such-command"], "invalid choice"),
    ):
        done = run(*arguments, folder=tmp_path)
        assert done.returncode == 2, arguments
        assert message in done.stderr
        assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


def test_the_meter_tells_pace_and_time_left(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from websegment_scrapy.cli import progress as told

    now = [0.0]
    monkeypatch.setattr(told.time, "monotonic", lambda: now[0])

    def seconds() -> Iterator[int]:
        for number in range(8):
            now[0] += 10
            yield number

    assert list(told.progress(seconds(), 8, "pages")) == list(range(8))
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "2/8 pages, 0.1/s, 1:00 left"
    assert lines[-1] == "8/8 pages, 0.1/s"
    before = told.IS_QUIET.set(True)
    list(told.progress(seconds(), 8))
    told.IS_QUIET.reset(before)
    with told.counting("pages brought") as count:
        now[0] += 4000
        count(1000)
    assert capsys.readouterr().err == "1000 pages brought, 0.2/s\n"


def test_progress_is_drawn_on_a_terminal_only(tmp_path: Path) -> None:
    paths = write_pages(tmp_path, 1, 2, 3)
    leader, follower = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "websegment_scrapy.cli.main", "extract", *paths],
        stdout=subprocess.DEVNULL,
        stderr=follower,
    ) as process:
        os.close(follower)
        drawn = b""
        while True:
            try:
                piece = os.read(leader, 1024)
            except OSError:
                break
            if not piece:
                break
            drawn += piece
        assert process.wait() == 0
    os.close(leader)
    assert b"3/3 pages" in drawn
    assert "pages" not in run("extract", *paths).stderr


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    paths = write_pages(tmp_path, *range(20))
    command = [sys.executable, "-m", "websegment_scrapy.cli.main", "segment", *paths]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0


def test_what_a_command_needs_is_said_before_it_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "content").mkdir()
    (tmp_path / "content" / "wcxb_dev.jsonl.xz").write_bytes(b"")
    assert main(["evaluate", "extraction", "--data", str(tmp_path)]) == 2
    assert "dragnet.jsonl.xz' does not exist" in capsys.readouterr().err
    monkeypatch.setattr("websegment_scrapy.bench.server.find_spec", lambda name: None)
    assert main(["bench", "store", "--database", "postgresql://127.0.0.1:9/none"]) == 2
    assert 'pip install "websegment-scrapy[postgresql]"' in capsys.readouterr().err
