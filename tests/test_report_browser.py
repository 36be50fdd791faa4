"""The report as a person opens it: from disk, in a real Chromium, narrow and wide."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.seen import Watched, browser, fill
from tests.test_report import hostile_database
from websegment_scrapy.cli.main import main

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as started:
        yield started


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    fill(f"sqlite:///{folder}/store.db")
    target = folder / "report.html"
    main(["report", "--database", str(folder / "store.db"), "-o", str(target), "-q"])
    return target


def opened(chromium: Browser, path: Path, width: int = 1440, scheme: str = "light") -> Watched:
    context = chromium.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True
    )
    watched = Watched(context.new_page())
    watched.page.set_default_timeout(10_000)
    watched.page.goto(path.as_uri())
    return watched


def test_a_duplicate_is_followed_to_its_pair_and_the_passage_is_marked(
    chromium: Browser, made: Path
) -> None:
    watched = opened(chromium, made)
    page = watched.page
    page.get_by_role("region", name="Copies", exact=True).get_by_text("the passages").click()
    expect(page.locator("#detail h2")).to_contain_text("Similarity 0.")
    marks = page.locator("#detail .text").nth(1).locator("mark")
    assert "a" in marks.first.inner_text()
    shares = page.locator("#detail .pair .soft").all_inner_texts()
    assert [share.endswith("% of it stands in the other text.") for share in shares] == [True] * 2
    assert all(60 < int(share.split()[0]) < 100 for share in shares)
    marks.first.click()
    assert page.locator("#detail .text").nth(0).locator("mark.on").count() >= 1
    assert page.locator("#detail .text").nth(1).locator(".only").count() >= 1
    page.get_by_role("link", name="Copied").first.click()
    expect(page.locator("#detail h2")).to_contain_text("Copied")
    page.go_back()
    page.go_back()
    expect(page.locator("#overview")).to_be_visible()
    assert watched.outside() == watched.errors == watched.harmed() == []


def test_the_first_sentences_say_what_the_crawls_did(chromium: Browser, made: Path) -> None:
    watched = opened(chromium, made)
    lead = watched.page.locator(".lead").inner_text()
    assert lead.startswith(
        "5 pages of 3 sites in 2 crawls: 3 with a text of their own, 1 that repeat another page, "
        "1 that could not be read. Since the crawl before: 1 came, 1 changed."
    )


def test_the_lowest_scores_come_first_and_lead_to_their_pages(
    chromium: Browser, made: Path
) -> None:
    watched = opened(chromium, made)
    page = watched.page
    section = page.locator("#scores")
    scores = [
        float(text.split()[0]) for text in section.locator("td:nth-child(2)").all_inner_texts()
    ]
    assert len(scores) == 4
    assert scores == sorted(scores)
    drawn = section.get_by_role("img", name="Pages by the score of their text")
    assert "0.9 to 1: " in (drawn.get_attribute("aria-label") or "")
    section.get_by_role("link").first.click()
    expect(page.locator("#detail dl")).to_contain_text(f"{scores[0]:.2f} (expected F1")
    assert watched.errors == []


def test_what_changed_leads_to_before_and_after(chromium: Browser, made: Path) -> None:
    watched = opened(chromium, made)
    page = watched.page
    page.goto(f"{made.as_uri()}#/since/changed")
    expect(page.locator("#detail h2")).to_have_text("1 page changed")
    assert page.locator("#detail td").nth(1).inner_text().endswith("%")
    assert watched.errors == []


def test_tables_are_sorted_and_filtered_by_the_keyboard(chromium: Browser, made: Path) -> None:
    watched = opened(chromium, made)
    page = watched.page
    region = page.get_by_role("region", name="Sites and decisions")
    rows = region.locator("tbody tr")
    assert rows.nth(0).inner_text().startswith("c.example")
    region.get_by_role("button", name="site", exact=True).focus()
    page.keyboard.press("Enter")
    assert rows.nth(0).inner_text().startswith("a.example")
    assert region.locator("th").first.get_attribute("aria-sort") == "ascending"
    page.get_by_role("link", name="c.example").first.press("Enter")
    expect(page.locator("#detail h2")).to_have_text("c.example")
    assert page.evaluate("document.activeElement.tagName") == "H2"
    assert watched.errors == []


@pytest.mark.parametrize("width", [360, 1440])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_wider_than_the_window(
    chromium: Browser, made: Path, width: int, scheme: str
) -> None:
    watched = opened(chromium, made, width, scheme)
    page = watched.page
    for hash_ in ("", "#/page/1", "#/pair/2", "#/cluster/1", "#/site/a.example", "#/between/0/1"):
        page.goto(f"{made.as_uri()}{hash_}")
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width, hash_
    assert watched.errors == []


@pytest.mark.parametrize("width", [900, 1200, 1440])
def test_tables_fit_a_wide_window(chromium: Browser, made: Path, width: int) -> None:
    page = opened(chromium, made, width).page
    cut = page.evaluate(
        "[...document.querySelectorAll('.scroll')].filter((box) => "
        "box.scrollWidth > box.clientWidth).map((box) => box.ariaLabel)"
    )
    assert cut == []


def test_hostile_strings_run_nothing_and_ask_for_nothing(chromium: Browser, tmp_path: Path) -> None:
    hostile_database(f"sqlite:///{tmp_path}/store.db")
    target = tmp_path / "report.html"
    main(["report", "--database", str(tmp_path / "store.db"), "-o", str(target), "-q"])
    watched = opened(chromium, target)
    page = watched.page
    links = page.evaluate("[...document.querySelectorAll('a')].map((a) => a.getAttribute('href'))")
    assert len(links) > 50
    assert all(link.startswith("#") for link in links)
    seen = sorted(set(links))
    for link in seen[:150]:
        page.goto(f"{target.as_uri()}{link}")
        page.evaluate(
            "document.querySelectorAll('a, button, td').forEach((each) => "
            "each.dispatchEvent(new MouseEvent('mouseover', {bubbles: true})))"
        )
        assert watched.harmed() == [], link
    assert watched.outside() == watched.errors == []
