"""A whole crawl, from settings to database, without a browser."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tests.crawling import Crawl, crawl
from tests.site import Route, Site
from tests.texts import page, prose

NEVER = {"WEBSEGMENT_RENDER": "never"}


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory):
    """Two crawls of the same site, into one database; the second finds one page changed."""
    folder = tmp_path_factory.mktemp("crawl")
    edited = prose(1).replace("the", "an", 1)
    routes = {
        "/a": page(prose(1), "First"),
        "/copy": page(prose(1), "First"),
        "/edited": page(edited, "First"),
        "/b": page(prose(2), "Second"),
        "/short": page("Nothing here."),
        "/moved": Route(status=301, headers={"Location": "/b"}),
    }
    settings = {**NEVER, "CONCURRENT_REQUESTS": 1, "WEBSEGMENT_WORKERS": 1}
    with Site(routes) as site:
        urls = [site.url(path) for path in ("/a", "/copy", "/edited", "/b", "/short")]
        before = crawl(urls, settings, folder=folder)
        site.routes["/b"] = page(prose(3), "Second")
        after = crawl([*urls, site.url("/moved")], settings, folder=folder)
    return before, after, folder


def test_decisions_are_on_the_items(first: tuple[Crawl, Crawl, Path]) -> None:
    before, _, _ = first
    assert before.status == 0, before.log
    assert "alembic" not in before.log
    assert before.result("/a")["decision"] == "new"
    assert before.result("/copy")["decision"] == "duplicate"
    assert before.result("/copy")["duplicate_of"].endswith("/a")
    assert before.result("/copy")["similarity"] == 1.0
    assert before.result("/edited")["decision"] == "duplicate"
    assert 0.7 <= before.result("/edited")["similarity"] < 1
    assert before.result("/b")["decision"] == "new"
    assert before.result("/short")["decision"] == "empty"


def test_the_main_text_is_without_navigation_and_footer(first: tuple[Crawl, Crawl, Path]) -> None:
    result = first[0].result("/a")
    assert result["main_text"].endswith(prose(1))
    assert "rights reserved" not in result["main_text"]
    assert "about" not in result["main_text"].split("\n")[0]
    assert result["title"] == "First"
    assert result["rendered"] is False
    roles = [segment["role"] for segment in result["segments"]]
    assert roles.count("main") == 2  # the heading and the text
    assert "navigation" in roles


def test_a_second_crawl_knows_what_it_has_seen(first: tuple[Crawl, Crawl, Path]) -> None:
    _, after, _ = first
    assert after.result("/a")["decision"] == "unchanged"
    assert after.result("/copy")["decision"] == "unchanged"
    assert after.result("/copy")["duplicate_of"].endswith("/a")
    assert after.stats["websegment/decision/changed"] == 1
    # a redirect leads to a page that this crawl has already seen
    assert sorted(d for url, d in after.decisions().items() if url.endswith("/b")) in (
        ["changed"],
        ["unchanged"],
    )
    assert "websegment/decision/new" not in after.stats
    assert "websegment/decision/duplicate" not in after.stats


def test_the_database_holds_one_row_for_each_page(first: tuple[Crawl, Crawl, Path]) -> None:
    folder = first[2]
    with sqlite3.connect(folder / "pages.db") as database:
        rows = database.execute(
            "SELECT url, decision, words FROM pages WHERE model LIKE 'content-any-%'"
        ).fetchall()
        visits = database.execute("SELECT count(*) FROM visits").fetchone()[0]
        duplicates = database.execute("SELECT url, duplicate_of FROM duplicates").fetchall()
    database.close()
    assert len(rows) == len({url for url, _, _ in rows}) == 5
    assert visits == 11
    found = sorted((url.rpartition("/")[2], of[-2:]) for url, of in duplicates)
    assert found == [("copy", "/a"), ("edited", "/a")]


def test_stats_count_pages_and_words(first: tuple[Crawl, Crawl, Path]) -> None:
    stats = first[0].stats
    assert stats["websegment/pages"] == 5
    assert stats["websegment/decision/new"] == 2
    assert stats["websegment/decision/duplicate"] == 2
    assert stats["websegment/decision/empty"] == 1
    assert 0 < stats["websegment/words_kept"] < stats["websegment/words_seen"]


def test_items_of_every_type_share_one_analysis_and_one_decision() -> None:
    with Site({"/a": page(prose(1))}) as site:
        done = crawl([site.url("/a")], NEVER, spider="tests.spiders.ManyItems")
    assert done.status == 0, done.log
    assert done.stats["websegment/pages"] == 1
    assert done.stats["websegment/decision/new"] == 1
    with_result = [item for item in done.items if item.get("websegment")]
    assert len(done.items) == 5
    assert len(with_result) == 4
    assert {item["websegment"]["decision"] for item in with_result} == {"new"}
    assert done.result("#dict")["main_text"].endswith(prose(1))
    assert next(item for item in done.items if "kept" in item)["kept"] == "user's own"
    # the item type that has no room for the result is named, once, with the remedy
    assert done.stats["websegment/items_without_field"] == 1
    assert done.log.count("Items of type NarrowItem have no field 'websegment'") == 1


def test_duplicates_are_dropped_and_other_fields_used_on_request() -> None:
    settings = {
        **NEVER,
        "CONCURRENT_REQUESTS": 1,
        "WEBSEGMENT_WORKERS": 1,
        "WEBSEGMENT_DROP_DUPLICATES": True,
        "WEBSEGMENT_MAIN_TEXT_ONLY": True,
        "WEBSEGMENT_FIELD": "page",
        "WEBSEGMENT_SIGNATURE": "shingles",
        "WEBSEGMENT_ENGINE": "bf-rulebased",
    }
    with Site({"/a": page(prose(1)), "/copy": page(prose(1)), "/b": page(prose(2))}) as site:
        done = crawl([site.url(path) for path in ("/a", "/copy", "/b")], settings)
    assert done.status == 0, done.log
    assert [item["url"][-2:] for item in done.items] == ["/a", "/b"]
    assert "segments" not in done.items[0]["page"]
    assert done.items[0]["page"]["engine"] == ""  # nobody wanted segments
    assert done.stats["websegment/duplicates_dropped"] == 1
    assert done.stats["item_dropped_reasons_count/NearDuplicate"] == 1
    assert f": near-duplicate (1.00) of {site.url('/a')}" in done.log


def test_a_request_can_be_left_out() -> None:
    with Site({"/a": page(prose(1))}) as site:
        done = crawl([site.url("/a")], NEVER, meta={"websegment": {"skip": True}})
    assert done.status == 0, done.log
    assert "websegment" not in done.items[0]
    assert "websegment/pages" not in done.stats


def test_switched_off_it_does_nothing() -> None:
    with Site({"/a": page(prose(1))}) as site:
        done = crawl([site.url("/a")], {"WEBSEGMENT_ENABLED": False})
    assert done.status == 0, done.log
    assert done.items == [{"url": done.items[0]["url"], "status": 200}]
    assert not [name for name in done.stats if name.startswith("websegment")]


def test_a_misspelt_setting_is_an_error_that_names_the_right_one() -> None:
    done = crawl([], {"WEBSEGMENT_ENGIN": "justrules"})
    assert done.status != 0
    assert "there is no setting WEBSEGMENT_ENGIN: did you mean WEBSEGMENT_ENGINE?" in done.log


def test_a_database_of_other_parameters_stops_the_crawl_with_the_remedy(tmp_path: Path) -> None:
    with Site({"/a": page(prose(1))}) as site:
        crawl([site.url("/a")], NEVER, folder=tmp_path)
        done = crawl(
            [site.url("/a")], {**NEVER, "WEBSEGMENT_SIGNATURE": "shingles"}, folder=tmp_path
        )
    assert done.items == []
    assert done.stats["finish_reason"].startswith("websegment store: ")
    assert "minhash" in done.stats["finish_reason"]


def test_components_enabled_by_hand_work_without_the_addon() -> None:
    settings = {
        **NEVER,
        "ADDONS": {},
        "SPIDER_MIDDLEWARES": {"websegment_scrapy.RememberResponseMiddleware": 10},
        "ITEM_PIPELINES": {
            "websegment_scrapy.SegmentPipeline": 100,
            "websegment_scrapy.DedupPipeline": 200,
            "tests.crawling.WriteItems": 900,
        },
    }
    with Site({"/a": page(prose(1))}) as site:
        done = crawl([site.url("/a")], settings)
    assert done.status == 0, done.log
    assert done.result("/a")["decision"] == "new"


def test_without_the_spider_middleware_items_pass_and_the_remedy_is_named() -> None:
    off = {"websegment_scrapy.RememberResponseMiddleware": None}
    settings = {**NEVER, "SPIDER_MIDDLEWARES": off}
    with Site({"/item": page(prose(1))}) as site:
        done = crawl([site.url("/item")], settings, spider="tests.spiders.Silent")
    assert len(done.items) == 1
    assert "Is RememberResponseMiddleware in SPIDER_MIDDLEWARES" in done.log
    assert done.stats["websegment/items_without_response"] == 1


def test_a_store_that_cannot_be_opened_closes_the_spider_with_the_reason(tmp_path: Path) -> None:
    done = crawl(
        ["http://127.0.0.1:9/"],
        {**NEVER, "WEBSEGMENT_DATABASE": f"sqlite:///{tmp_path}/none/pages.db"},
    )
    assert done.stats["finish_reason"].startswith("websegment store: sqlite:///")
    assert "create it first" in done.stats["finish_reason"]
    assert "Traceback" not in done.log
    assert done.items == []
