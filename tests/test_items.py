"""Items that fit: they join with the database, the log stays short, tables are tables."""

from __future__ import annotations

import gc
import json
import sqlite3
import weakref
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request, signals
from scrapy.exceptions import DropItem
from scrapy.http import HtmlResponse
from scrapy.settings import Settings
from scrapy.utils.test import get_crawler

from tests.crawling import Crawl, crawl
from tests.site import Route, Site
from tests.spiders import AttrsItem
from tests.texts import page, prose
from websegment_scrapy import Addon, ShortLogFormatter, belongs_to
from websegment_scrapy.crawl.pages import PageRegistry
from websegment_scrapy.crawl.results import RESULT_FIELDS

PLAIN = {"WEBSEGMENT_RENDER": "never", "WEBSEGMENT_WORKERS": 1}


def stored(folder: Path) -> dict[str, str]:
    """The decision of each URL in the database."""
    with sqlite3.connect(folder / "pages.db") as database:
        rows = dict(database.execute("SELECT url, decision FROM pages").fetchall())
    database.close()
    return rows


ODD_URLS = (
    "/list?b=2&a=1",
    "/list?q=a+b&q=%C3%A9",
    "/umlaut/ä ö?x=ü",
    "/tilde/%7Euser/%2e",
    "/fragment?a=1#part",
    "/bracket?ids[]=1",
    "/empty?=&b",
    "/json",
    "/short",
)


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> tuple[Crawl, Path]:
    folder = tmp_path_factory.mktemp("odd")
    routes: dict[str, str | Route] = {}
    with Site(routes) as site:

        def answer(path: str, _: bytes) -> str:
            return "Too short." if path == "/short" else page(prose(sum(path.encode())), path[:9])

        for path in ("/list", "/fragment", "/bracket", "/empty", "/short"):
            routes[path] = Route(body=answer)
        routes["/tilde/~user/."] = routes["/tilde/~user/%2e"] = routes["/tilde/%7Euser/%2e"] = (
            Route(body=answer)
        )
        routes["/umlaut/%C3%A4%20%C3%B6"] = Route(body=answer)
        routes["/json"] = Route(body='{"a": 1}', content_type="application/json")
        site.routes.update(routes)
        done = crawl([site.url(path) for path in ODD_URLS], PLAIN, folder=folder)
    assert done.status == 0, done.log
    return done, folder


def test_every_item_joins_with_the_database_by_its_url(odd: tuple[Crawl, Path]) -> None:
    done, folder = odd
    pages = stored(folder)
    assert len(done.items) == len(ODD_URLS)
    results = [item["websegment"] for item in done.items]
    decided = {result["url"]: result["decision"] for result in results if result["decision"]}
    assert decided == pages
    assert len(decided) == len(ODD_URLS) - 1  # all but the JSON
    assert any(item["url"] != item["websegment"]["url"] for item in done.items)


def test_every_result_has_all_fields(odd: tuple[Crawl, Path]) -> None:
    for item in odd[0].items:
        assert set(item["websegment"]) - {"segments"} == set(RESULT_FIELDS)


def test_the_url_is_there_without_a_store_too() -> None:
    without = {"websegment_scrapy.DedupPipeline": None, "tests.crawling.WriteItems": 900}
    with Site({"/list": page(prose(1))}) as site:
        done = crawl([site.url("/list?b=2&a=1")], {**PLAIN, "ITEM_PIPELINES": without})
    (item,) = done.items
    assert item["websegment"]["url"] == site.url("/list?a=1&b=2")
    assert item["websegment"]["decision"] is None


@pytest.fixture(scope="module")
def dropped() -> Crawl:
    """Pages of which most are copies, with URLs that are too long for a line."""
    long = "/" + "very-long-path-" * 30
    texts = {f"{long}{number}": page(prose(number % 5, 400)) for number in range(20)}
    texts |= {f"/ä/{number}": page(prose(number % 5, 400)) for number in range(5)}
    texts |= {"/unwanted": page(prose(77, 3000)), "/broken": page(prose(78, 3000))}
    settings = {
        **PLAIN,
        "WEBSEGMENT_DROP_DUPLICATES": True,
        "ITEM_PIPELINES": {"tests.spiders.UserDrops": 300},
    }
    with Site({path.replace("ä", "%C3%A4"): text for path, text in texts.items()}) as site:
        done = crawl([site.url(path) for path in texts], settings, timeout=300)
    assert done.status == 0, done.log
    return done


def test_a_dropped_item_is_one_short_line_at_info(dropped: Crawl) -> None:
    lines = [line for line in dropped.log.splitlines() if ": near-duplicate " in line]
    assert len(lines) == dropped.stats["websegment/duplicates_dropped"] == 20
    assert max(len(line.encode()) for line in lines) <= 300
    assert all(" INFO: Dropped http://127.0.0.1:" in line for line in lines)
    assert all("(1.00) of http://127.0.0.1:" in line for line in lines)


def test_other_drops_and_errors_stay_as_they_are_but_for_our_texts(dropped: Crawl) -> None:
    assert "WARNING: Dropped: the user's reason" in dropped.log
    assert "ERROR: Error processing {'url': 'http://127.0.0.1:" in dropped.log
    assert prose(77, 3000)[:50] in dropped.log  # the beginning of the text is shown
    assert "segments" not in dropped.log
    assert prose(77, 3000)[:300] not in dropped.log
    assert len(dropped.log) < 20 * 300 + 20_000


def test_scraped_items_are_one_line_and_unchanged_ones_are_dropped_in_one(tmp_path: Path) -> None:
    settings = {**PLAIN, "LOG_LEVEL": "DEBUG", "WEBSEGMENT_DROP_UNCHANGED": True}
    with Site({"/a": page(prose(1, 800))}) as site:
        first = crawl([site.url("/a")], settings, folder=tmp_path)
        again = crawl([site.url("/a")], settings, folder=tmp_path)
    (line,) = [line for line in first.log.splitlines() if "DEBUG: Scraped" in line]
    assert f"DEBUG: Scraped {site.url('/a')}: new, " in line
    assert line.endswith(" words")
    assert prose(1, 800)[:100] not in first.log
    (line,) = [line for line in again.log.splitlines() if "Dropped" in line]
    assert line.endswith(f"INFO: Dropped {site.url('/a')}: not changed since the last visit")


def test_a_log_formatter_of_the_users_is_left_alone() -> None:
    own = "scrapy.logformatter.LogFormatter"  # Scrapy's own shows whole items again
    for given, expected in (({}, ShortLogFormatter), ({"LOG_FORMATTER": own}, own)):
        settings = Settings(given)
        Addon().update_settings(settings)
        assert settings["LOG_FORMATTER"] == expected


TABLE = {**PLAIN, "CONCURRENT_REQUESTS": 1, "WEBSEGMENT_FLATTEN": True}


def test_a_csv_feed_comes_back_through_pandas(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    feed = tmp_path / "items.csv"
    text = f'{prose(1)} "Quoted", and; a\ttab – 日本語.</p><p>={prose(2)}'
    routes: dict[str, str | Route] = {
        "/skipped": page(prose(4)),  # the first item makes the columns
        "/json": Route(body='{"a": 1}', content_type="application/json"),
        "/a": page(text, "First, of all"),
        "/copy": page(text, "Other"),
        "/b": page(prose(3)),
        "/short": page("Nothing here."),
    }
    with Site(routes) as site:
        done = crawl(
            [site.url(path) for path in routes],
            {**TABLE, "FEEDS": {str(feed): {"format": "csv"}}},
            folder=tmp_path,
            spider="tests.spiders.PlainItems",
        )
    assert done.status == 0, done.log
    table = pandas.read_csv(feed)
    flat = [f"websegment_{name}" for name in RESULT_FIELDS]
    assert sorted(table.columns) == sorted(["asked", "number", *flat])
    table["path"] = table["asked"].str.rpartition("/")[2]
    table = table.set_index("path")
    assert table["websegment_decision"].fillna("").to_dict() == {
        "skipped": "",
        "json": "",
        "a": "new",
        "copy": "duplicate",
        "b": "new",
        "short": "empty",
    }
    for item in done.items:
        row = table.loc[item["asked"].rpartition("/")[2]]
        for name, value in item.items():
            read = row[name]
            assert (pandas.isna(read) and value in (None, "")) or read == value, name
    assert table.loc["a", "websegment_main_text"].endswith(prose(2))
    assert table.loc["copy", "websegment_duplicate_of"] == table.loc["a", "websegment_url"]
    known = table[table["websegment_decision"].notna()]
    assert dict(zip(known["websegment_url"], known["websegment_decision"], strict=True)) == stored(
        tmp_path
    )
    assert table.loc["skipped", flat].isna().all()


def test_declared_items_get_the_flat_fields_they_have_and_one_warning() -> None:
    with Site({"/a": page(prose(1)), "/b": page(prose(2))}) as site:
        urls = [site.url("/a"), site.url("/b")]
        done = crawl(urls, TABLE, spider="tests.spiders.FlatItems")
    assert [item["websegment_decision"] for item in done.items] == ["new", "new"]
    assert [item["websegment_url"] for item in done.items] == urls
    assert done.log.count("Items of type FlatItem have no fields 'websegment_duplicate_of', ") == 1
    assert done.stats["websegment/items_without_field"] == 2  # once for each item


def test_an_awaited_download_is_the_page_of_an_item_that_says_so(tmp_path: Path) -> None:
    with Site({"/outer": page(prose(1)), "/inner": page(prose(2))}) as site:
        done = crawl(
            [site.url("/outer")], PLAIN, folder=tmp_path, spider="tests.spiders.AwaitingSpider"
        )
    assert done.status == 0, done.log
    for suffix in ("/inner", "#dict", "#dataclass", "#item"):
        assert done.result(suffix)["url"] == site.url("/inner"), suffix
        assert done.result(suffix)["main_text"].endswith(prose(2))
        assert done.result(suffix)["decision"] == "new"
    assert done.result("#outer")["main_text"].endswith(prose(1))
    assert done.stats["websegment/pages"] == 2
    assert stored(tmp_path) == {site.url("/outer"): "new", site.url("/inner"): "new"}


def test_an_item_of_three_pages_has_the_first_text_and_all_are_stored(tmp_path: Path) -> None:
    routes = {
        "/1": page(prose(1), links="<a class=next href=/2>more</a>"),
        "/2": page(prose(2), links="<a class=next href=/3>more</a>"),
        "/3": page(prose(3)),
    }
    with Site(routes) as site:
        done = crawl([site.url("/1")], PLAIN, folder=tmp_path, spider="tests.spiders.ChainSpider")
    assert done.status == 0, done.log
    (item,) = done.items
    assert item["websegment"]["url"] == site.url("/1")
    assert prose(1) in item["websegment"]["main_text"]
    assert stored(tmp_path) == dict.fromkeys(map(site.url, routes), "new")


def test_a_page_is_the_same_for_all_its_items_and_forgotten_with_its_response() -> None:
    crawler = get_crawler(settings_dict={"WEBSEGMENT_WORKERS": 1})
    registry = PageRegistry.of(crawler)
    url = "http://a.example/"
    response = HtmlResponse(url, request=Request(url))
    early, late = {"url": url}, {"url": url}
    told = {"response": response, "spider": None, "exception": DropItem("unwanted")}
    registry.remember(early, response)
    known = registry.recall(early)
    crawler.signals.send_catch_log(signals.item_scraped, item=early, **told)
    assert registry.recall(early) is None
    registry.remember(late, response)  # after a callback has awaited something
    assert known is not None
    assert registry.recall(late) is known
    crawler.signals.send_catch_log(signals.item_dropped, item=late, **told)
    gone = weakref.ref(response)
    del response, told
    gc.collect()
    assert gone() is None


def test_an_item_that_cannot_carry_its_pages_is_refused_with_the_remedy() -> None:
    with pytest.raises(TypeError, match=r"AttrsItem cannot carry their pages: .* slots=False"):
        belongs_to(AttrsItem(url="http://a.example/"), HtmlResponse("http://a.example/"))


def test_pages_without_items_are_recorded_on_request(tmp_path: Path) -> None:
    routes: dict[str, str | Route] = {
        "/item": page(prose(1)),
        "/none": page(prose(2)),
        "/bad": page(prose(3)),
        "/gone": Route(status=404, body=page(prose(4))),
        "/json": Route(body='{"a": 1}', content_type="application/json"),
    }
    with Site(routes) as site:
        done = crawl(
            [site.url(path) for path in routes],
            {**PLAIN, "WEBSEGMENT_RECORD": "pages"},
            folder=tmp_path,
            spider="tests.spiders.Silent",
        )
    assert done.status == 0, done.log
    # not the page of a status that Scrapy keeps from the spider, and not what is no page
    assert stored(tmp_path) == {site.url(path): "new" for path in ("/item", "/none", "/bad")}
    assert done.stats["websegment/decision/new"] == 3
    assert [item["url"] for item in done.items] == [site.url("/item")]
    assert done.items[0]["websegment"]["decision"] == "new"


def test_a_page_that_cannot_be_recorded_stops_nothing(tmp_path: Path) -> None:
    broken = {"websegment_scrapy.SegmentPipeline": None, "tests.test_items.BrokenAnalysis": 100}
    broken |= {"tests.crawling.WriteItems": 900}
    with Site({"/none": page(prose(1)), "/also": page(prose(2))}) as site:
        done = crawl(
            [site.url("/none"), site.url("/also")],
            {**PLAIN, "WEBSEGMENT_RECORD": "pages", "ITEM_PIPELINES": broken},
            spider="tests.spiders.Silent",
        )
    assert done.status == 0, done.log
    assert done.stats["finish_reason"] == "finished"
    assert done.log.count("ERROR: Not recorded: http://127.0.0.1") == 2
    assert "the analysis broke" in done.log


class BrokenAnalysis:
    """Stands in for an analysis with a bug."""

    @classmethod
    def from_crawler(cls, crawler: Any) -> BrokenAnalysis:
        from websegment_scrapy.crawl.pages import PageRegistry

        async def analyze(page: Any) -> Any:
            raise RuntimeError("the analysis broke")

        PageRegistry.of(crawler).steps["analysis"] = analyze
        return cls()


MIXED: dict[str, Route] = {
    "/api": Route(body=json.dumps({"html": page(prose(1))}), content_type="application/json"),
    "/api-2": Route(body='"just text"', content_type="application/json"),
    "/feed": Route(body="<rss><channel></channel></rss>", content_type="application/rss+xml"),
    "/map": Route(body="<urlset></urlset>", content_type="text/xml"),
    "/data": Route(body="<catalog><p>a b c</p></catalog>", content_type="application/xml"),
    "/paper.pdf": Route(body=b"%PDF-1.7\n" + bytes(range(256)), content_type="application/pdf"),
    "/image": Route(body=b"\x89PNG\r\n\x1a\n" + bytes(64), content_type="image/png"),
    "/xhtml": Route(body=page(prose(2)), content_type="application/xhtml+xml"),
    "/html-as-json": Route(body=page(prose(3)), content_type="application/json"),
    "/page": Route(body=page(prose(4))),
}


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Crawl, Path]:
    folder = tmp_path_factory.mktemp("mixed")
    with Site(MIXED) as site:
        done = crawl([site.url(path) for path in MIXED], PLAIN, folder=folder)
    assert done.status == 0, done.log
    return done, folder


def test_other_formats_are_counted_not_stored(mixed: tuple[Crawl, Path]) -> None:
    done, folder = mixed
    start = "websegment/other_formats/"
    counts = {
        name.removeprefix(start): value
        for name, value in done.stats.items()
        if name.startswith(start)
    }
    assert counts == {"json": 2, "feed": 1, "sitemap": 1, "xml": 1, "document": 1, "image": 1}
    pages = {"/xhtml", "/html-as-json", "/page"}
    assert {"/" + url.rpartition("/")[2] for url in stored(folder)} == pages
    assert done.stats["websegment/pages"] == 3
    assert "websegment/failed" not in done.stats


def test_other_formats_pass_with_the_reason_and_one_line(mixed: tuple[Crawl, Path]) -> None:
    done, _ = mixed
    assert len(done.items) == len(MIXED)
    assert done.result("/api")["reason"] == "not HTML but JSON"
    assert done.result("/api")["decision"] is None
    assert done.result("/paper.pdf")["reason"] == "not HTML but a PDF document"
    assert done.log.count("is no page (not HTML but") == 1
    assert "WARNING" not in done.log


def test_stats_have_names_of_a_bounded_number(mixed: tuple[Crawl, Path]) -> None:
    assert not [name for name in mixed[0].stats if "127.0.0.1" in name]
