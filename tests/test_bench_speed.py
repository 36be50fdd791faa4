"""Nothing becomes twice as slow unnoticed: ratios of CPU time, the least of several rounds."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from tests.timing import cpu_seconds
from websegment_scrapy import analyze, extract
from websegment_scrapy.bench.clock import STAGES
from websegment_scrapy.bench.made_pages import made_pages, page_of_nodes
from websegment_scrapy.bench.mix import made_mix
from websegment_scrapy.bench.serving import serving, write_pages
from websegment_scrapy.bench.stages import time_stages
from websegment_scrapy.bench.timed_crawl import time_crawl
from websegment_scrapy.measure.rivals import is_installed

TRIES = 4
GROWN = (2_000, 20_000)


class Tags(HTMLParser):
    """A yardstick of about the same kind of work: the standard library's parser, in Python."""

    def handle_data(self, data: str) -> None:
        self.words = data.split()


def parse(pages: list[str]) -> None:
    for page in pages:
        Tags().feed(page)


def least(action: Callable[[], object], tries: int = TRIES) -> float:
    return min(cpu_seconds(action) for _ in range(tries))


PAGES = [page.html for page in made_pages(20, seed=5)]
AGAINST_PARSING: dict[str, tuple[Callable[[str], Any], float]] = {
    "extract": (extract, 17.0),
    "analyze": (analyze, 50.0),
    "justrules": (partial(analyze, engine="justrules"), 36.0),
    "gcuts": (partial(analyze, engine="gcuts"), 54.0),
}
"""Twice the ratio of CPU time that was measured."""


@pytest.mark.parametrize("name", AGAINST_PARSING)
def test_a_page_costs_less_than_twice_what_it_did(name: str) -> None:
    function, bound = AGAINST_PARSING[name]
    function(PAGES[0])  # models are loaded once
    ratios = []
    for _ in range(TRIES):
        ours = least(lambda: [function(page) for page in PAGES], 1)
        ratios.append(ours / least(lambda: parse(PAGES), 3))
        if min(ratios) < bound:
            return
    pytest.fail(f"{name} takes {min(ratios):.1f} times the CPU of html.parser, at most {bound}")


@pytest.mark.parametrize("engine", ["auto", "justrules", "gcuts", "wps-margin"])
def test_ten_times_the_nodes_take_little_more_than_ten_times_as_long(engine: str) -> None:
    small, large = (page_of_nodes(nodes) for nodes in GROWN)
    quick = least(lambda: analyze(small, engine=engine))
    for _ in range(TRIES):
        if cpu_seconds(lambda: analyze(large, engine=engine)) < 10**1.3 * quick:
            return
    pytest.fail(f"{engine}: {GROWN} nodes")


def test_the_stages_are_the_most_of_an_analysis() -> None:
    page = page_of_nodes(2_000)
    time_stages(page)
    for _ in range(TRIES):
        cpu = {stage: spent for stage, (_, spent) in time_stages(page).items()}
        whole = cpu.pop(STAGES[-1])
        if 0.5 * whole < sum(cpu.values()) < 1.1 * whole:
            return
    pytest.fail(str(cpu))


NEVER_TO_SCRAPY, NEVER_TO_PIPELINE = 8.0, 3.0
"""Twice the ratios of CPU time that were measured, all processes together, from their start."""


@pytest.mark.slow
def test_a_crawl_costs_less_than_twice_what_it_did(tmp_path: Path) -> None:
    mix = [page for page in made_mix(60, seed=5) if not page.scripted]
    sites: dict[str, dict[str, bytes]] = {}
    for page in mix:
        sites.setdefault(page.site, {})[page.path] = page.body
    names = ["scrapy", "never", *(["pipeline"] if is_installed("trafilatura") else [])]
    spent: dict[str, float] = {}
    with serving(write_pages(sites, tmp_path / "sites"), tmp_path / "plan.json") as origins:
        urls = [origins[page.site] + page.path for page in mix]
        random.Random(5).shuffle(urls)
        for number in range(2):
            for name in names:
                done = time_crawl(name, urls, tmp_path / f"{name}{number}")
                assert len(done.items) == len(urls)
                spent[name] = min(spent.get(name, 1e9), done.own + done.children)
    assert spent["never"] < NEVER_TO_SCRAPY * spent["scrapy"]
    if "pipeline" in spent:
        assert spent["never"] < NEVER_TO_PIPELINE * spent["pipeline"]
