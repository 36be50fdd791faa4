"""A crawl learns what its sites repeat, and a page does not change because its site is known."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tests.crawling import Crawl, crawl
from tests.site import Site
from tests.texts import page, prose

SETTINGS = {
    "WEBSEGMENT_RENDER": "never",
    "CONCURRENT_REQUESTS": 1,
    "WEBSEGMENT_WORKERS": 1,
    "WEBSEGMENT_SITE_MIN_PAGES": 5,
}
NOTE = (
    "Our newsletter comes out on the first Monday of each month and is free of charge for all "
    "readers of this site."
)
COUNT = 12


def numbered(number: int) -> str:
    """Return a page whose main segment, judged alone, holds the site's note."""
    return page(f"{prose(number)}<br>{NOTE}", f"Number {number}")


@pytest.fixture(scope="module")
def crawls(tmp_path_factory: pytest.TempPathFactory) -> tuple[Crawl, Crawl, Path]:
    """Crawl a site twice; when the second crawl begins the site is known."""
    folder = tmp_path_factory.mktemp("sites")
    with Site({f"/{number}": numbered(number) for number in range(COUNT)}) as site:
        urls = [site.url(f"/{number}") for number in range(COUNT)]
        before = crawl(urls, SETTINGS, folder=folder)
        site.routes["/3"] = page(f"{prose(99)}<br>{NOTE}", "Number 3")
        after = crawl(urls, SETTINGS, folder=folder)
    return before, after, folder


def test_the_first_pages_are_judged_alone_and_the_last_with_their_site(
    crawls: tuple[Crawl, Crawl, Path],
) -> None:
    before, _, _ = crawls
    assert before.status == 0, before.log
    assert NOTE in before.result("/0")["main_text"]
    known = before.stats["websegment/pages_of_known_sites"]
    assert 0 < known <= COUNT - 5
    without = [item for item in before.items if NOTE not in item["websegment"]["main_text"]]
    assert len(without) == known
    assert all(
        prose(int(item["url"].rpartition("/")[2])) in item["websegment"]["main_text"]
        for item in before.items
    )


def test_a_page_is_unchanged_although_its_main_text_became_shorter(
    crawls: tuple[Crawl, Crawl, Path],
) -> None:
    _, after, _ = crawls
    assert after.status == 0, after.log
    assert after.stats["websegment/pages_of_known_sites"] == COUNT
    assert NOTE not in after.result("/0")["main_text"]
    assert after.stats["websegment/decision/unchanged"] == COUNT - 1
    assert after.result("/3")["decision"] == "changed"


def test_the_first_pages_are_judged_again_at_the_end(crawls: tuple[Crawl, Crawl, Path]) -> None:
    before, after, _ = crawls
    known = before.stats["websegment/pages_of_known_sites"]
    assert before.stats["websegment/revised"] == COUNT - known
    assert "websegment/revised" not in after.stats
    # Those that were delivered with another text say so once.
    told = [item["url"] for item in after.items if item["websegment"]["revised"]]
    first = [item["url"] for item in before.items if NOTE in item["websegment"]["main_text"]]
    assert set(told) == {url for url in first if not url.endswith("/3")}


def test_a_page_that_was_judged_again_is_not_dropped_as_unchanged(tmp_path: Path) -> None:
    with Site({f"/{number}": numbered(number) for number in range(8)}) as site:
        urls = [site.url(f"/{number}") for number in range(8)]
        first = crawl(urls, SETTINGS, folder=tmp_path)
        dropping = {**SETTINGS, "WEBSEGMENT_DROP_UNCHANGED": True}
        second = crawl(urls, dropping, folder=tmp_path)
        third = crawl(urls, dropping, folder=tmp_path)
    late = {item["url"] for item in first.items if NOTE in item["websegment"]["main_text"]}
    assert late
    assert {item["url"] for item in second.items} == late
    assert all(NOTE not in item["websegment"]["main_text"] for item in second.items)
    assert not third.items


def test_each_page_is_counted_once(crawls: tuple[Crawl, Crawl, Path]) -> None:
    with sqlite3.connect(crawls[2] / "pages.db") as database:
        pages = database.execute("SELECT template_pages FROM sites").fetchall()
        counted = database.execute("SELECT max(pages) FROM template_counts").fetchall()
        samples = database.execute(
            "SELECT sample FROM template_counts WHERE pages = ?", (COUNT,)
        ).fetchall()
    database.close()
    assert pages == counted == [(COUNT,)]
    assert any("Our newsletter comes out" in sample for (sample,) in samples)


def test_switched_off_nothing_is_counted(tmp_path: Path) -> None:
    with Site({f"/{number}": numbered(number) for number in range(8)}) as site:
        urls = [site.url(f"/{number}") for number in range(8)]
        done = crawl(urls, {**SETTINGS, "WEBSEGMENT_SITE_TEMPLATES": "False"}, folder=tmp_path)
    assert done.status == 0, done.log
    assert "websegment/pages_of_known_sites" not in done.stats
    assert all(NOTE in item["websegment"]["main_text"] for item in done.items)
    with sqlite3.connect(tmp_path / "pages.db") as database:
        assert database.execute("SELECT count(*) FROM template_counts").fetchall() == [(0,)]
    database.close()


def test_without_a_store_pages_are_judged_alone(tmp_path: Path) -> None:
    with Site({f"/{number}": numbered(number) for number in range(8)}) as site:
        urls = [site.url(f"/{number}") for number in range(8)]
        alone = {
            "ITEM_PIPELINES": {
                "tests.crawling.WriteItems": 900,
                "websegment_scrapy.SegmentPipeline": 200,
                "websegment_scrapy.DedupPipeline": None,
            }
        }
        done = crawl(urls, {**SETTINGS, **alone}, folder=tmp_path)
    assert done.status == 0, done.log
    assert len(done.items) == 8
    assert all(NOTE in item["websegment"]["main_text"] for item in done.items)
    assert "websegment/pages_of_known_sites" not in done.stats
