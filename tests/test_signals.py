"""SIGINT and SIGTERM, as terminals and systemd send them: nothing is lost, failed or left running.

The long form is ``python -m tests.signals``.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.crawling import start_crawl
from tests.signals import PATIENT, Moment, left_running, stop_and_resume
from tests.site import Route, Site
from tests.texts import page, prose
from websegment_scrapy.pool import Abandoned, AnalysisPool


@pytest.fixture(autouse=True)
def interruptible() -> Iterator[None]:
    """Programs that are started in the background of a script ignore SIGINT, and so do theirs."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(
    "moment",
    [
        Moment(number=signal.SIGINT, pages=12),
        Moment(number=signal.SIGTERM, pages=12, again=0.1),
        Moment(number=signal.SIGTERM, pages=3, everybody=True, rendered=True),
        Moment(number=signal.SIGINT, pages=3, again=0.1, rendered=True),
    ],
    ids=str,
)
def test_a_stopped_crawl_resumes_where_it_was(moment: Moment, tmp_path: Path) -> None:
    found = stop_and_resume(moment, tmp_path, 6 if moment.rendered else 24)
    assert found.problems == [], (tmp_path / "log.txt").read_text()


@pytest.mark.parametrize("rendered", [False, True], ids=["plain", "rendered"])
def test_a_page_that_hangs_is_left_for_the_resume(rendered: bool, tmp_path: Path) -> None:
    settings = {
        "JOBDIR": str(tmp_path / "job"),
        "WEBSEGMENT_DATABASE": f"sqlite:///{tmp_path / 'pages.db'}",
        "WEBSEGMENT_RENDER": "always" if rendered else "never",
        "EXTENSIONS": {"tests.signals.ShortGrace": 0},
        **PATIENT,
    }
    with Site({"/hangs": Route(hang=True)}) as site:
        args = ([site.url("/hangs")], settings, tmp_path)
        crawl = start_crawl(*args, spider="tests.signals.LinkSpider", own_group=True)
        while not site.hits["/hangs"]:
            assert crawl.poll() is None, (tmp_path / "log.txt").read_text()
            time.sleep(0.01)
        known = set(psutil.Process(crawl.pid).children(recursive=True))
        os.killpg(crawl.pid, signal.SIGTERM)
        assert crawl.wait(90) == 0
        log = (tmp_path / "log.txt").read_text()
        assert "1 pages under way were left: they are done when the crawl resumes" in log
        assert left_running(known) == []
        site.routes["/hangs"] = page(prose(1))
        assert start_crawl(*args, spider="tests.signals.LinkSpider").wait(120) == 0
    assert '"decision": "new"' in (tmp_path / "items.jsonl").read_text()


def test_what_is_given_up_with_a_pool_is_no_failure_of_its_page() -> None:
    pool = AnalysisPool(1, timeout=60, memory=256)
    running, waiting = pool.submit(time.sleep, 60), pool.submit(time.sleep, 60)
    started = time.monotonic()
    while not running.running():
        time.sleep(0.01)
    pool.abandon()
    pool.close()
    assert time.monotonic() - started < 30
    for future in (running, waiting):
        with pytest.raises(Abandoned):
            future.result(0)
    with pytest.raises(Abandoned):
        pool.submit(time.sleep, 0)


SLEEPING = """
import time
from websegment_scrapy.pool import AnalysisPool
with AnalysisPool(1, timeout=600, memory=256) as pool:
    pool.submit(abs, 1).result()
    pool.submit(time.sleep, 600)
    print("begun", flush=True)
    time.sleep(600)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="there is no prctl")
def test_a_worker_ends_with_its_crawl_even_in_the_middle_of_a_page() -> None:
    with subprocess.Popen([sys.executable, "-c", SLEEPING], stdout=subprocess.PIPE) as main:
        assert main.stdout is not None
        assert main.stdout.readline() == b"begun\n"
        workers = set(psutil.Process(main.pid).children())
        assert len(workers) == 1
        main.kill()
        assert left_running(workers) == []


@pytest.mark.parametrize("render", ["--no-render", "--render"])
def test_an_interrupted_command_says_so_in_one_line(render: str, tmp_path: Path) -> None:
    """It is interrupted while it waits for a page, with its processes running."""
    with Site({"/": page(prose(1)), "/hangs": Route(hang=True)}) as site:
        command = ["-m", "websegment_scrapy.cli.main", "extract", render]
        inputs = [site.url("/hangs")]
        if render == "--render":  # pages may reach the host that they are asked for at
            inputs = [site.url("/"), *inputs]
        with subprocess.Popen(
            [sys.executable, *command, *inputs],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            process_group=0,
        ) as process:
            while not site.hits["/hangs"]:
                assert process.poll() is None
                time.sleep(0.01)
            known = set(psutil.Process(process.pid).children(recursive=True))
            os.killpg(process.pid, signal.SIGINT)
            assert process.stderr is not None
            told = process.stderr.read().decode()
        assert process.returncode == 130
        lines = [line for line in told.splitlines() if "sandbox" not in line]
        assert lines == ["websegment: interrupted"]
        assert left_running(known) == []
