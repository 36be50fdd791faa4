"""Bad input is normal on the web: every page gets an outcome and the crawl goes on."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from tests.crawling import Crawl, crawl, start_crawl
from tests.site import Route, Site
from tests.texts import page, prose

TEXT = prose(50)
FRENCH = (
    "Il était une fois une princesse très âgée, qui rêvait d’un château à la lisière de la forêt "
    "où l’été durait toute l’année ; les fées l’avaient prévenue dès sa naissance."
)
LINK = '<li><a href="/same">the same link</a></li>'
LONG_PATH = "/" + "x" * 10_000
PDF = b"%PDF-1.7\n" + bytes(range(256)) * 40
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4

ROUTES: dict[str, str | Route] = {
    "/empty-body": "",
    "/white": " \n\t ",
    "/only-script": "<html><script>document.title = 'x'</script></html>",
    "/frameset": "<html><title>Frames</title><frameset cols=50%,50%><frame src=/a></frameset>",
    "/20-mb": page("".join(f"<p>{prose(number, 50)}</p>" for number in range(60_000))),
    "/nested": "<div>" * 5000 + TEXT + "</div>" * 5000,
    "/million-words": page("word " * 1_000_000),
    "/ten-thousand-links": page(prose(51), links=f"<ul>{LINK * 10_000}</ul>"),
    "/no-charset": Route(body=page(FRENCH).encode("cp1252"), content_type="text/html"),
    "/wrong-charset": Route(
        body=page(prose(53) + " naïve café").encode("latin-1"),
        content_type="text/html; charset=utf-8",
    ),
    "/shift-jis": Route(
        body=page("吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。" * 3).encode(
            "shift_jis"
        ),
        content_type="text/html; charset=shift_jis",
    ),
    "/nul": page(prose(54)[:300] + "\0" + prose(54)[300:]),
    "/broken-utf8": Route(body=page(prose(55)).encode().replace(b"river", b"ri\xff\xedver")),
    "/pdf-as-html": Route(body=PDF),
    "/image-as-html": Route(body=PNG),
    "/json-as-html": Route(body=json.dumps({"text": TEXT})),
    "/feed-as-html": Route(body=f"<?xml version='1.0'?><rss><item>{TEXT}</item></rss>"),
    "/html-as-pdf": Route(body=page(prose(56)), content_type="application/pdf"),
    "/html-as-text": Route(body=page(prose(57)), content_type="text/plain"),
    "/text": Route(body=prose(58), content_type="text/plain"),
    "/redirect": Route(status=302, headers={"Location": "/target"}),
    "/target": page(prose(59)),
    LONG_PATH: page(prose(60)),
    "/twice": page(prose(61)),
    "/after": page(prose(62)),
}

EXPECTED = {
    "/empty-body": "empty",
    "/white": "empty",
    "/only-script": "empty",
    "/frameset": "empty",
    "/nested": "new",
    "/million-words": "new",
    "/ten-thousand-links": "new",
    "/no-charset": "new",
    "/wrong-charset": "new",
    "/shift-jis": "new",
    "/nul": "new",
    "/broken-utf8": "new",
    "/pdf-as-html": None,
    "/image-as-html": None,
    "/json-as-html": None,
    "/feed-as-html": None,
    "/html-as-pdf": "new",
    "/html-as-text": "new",
    "/text": "new",
    "/target": "new",
    LONG_PATH: "new",
    "/after": "new",
}

NO_PAGES = [path for path, decision in EXPECTED.items() if decision is None]


def bad_crawl(folder: Path, render: str) -> Crawl:
    settings = {
        "WEBSEGMENT_RENDER": render,
        "WEBSEGMENT_PAGE_TIMEOUT": 60,
        "URLLENGTH_LIMIT": 0,
    }
    with Site(ROUTES) as site:
        urls = [site.url(path) for path in ROUTES if path != "/target"]
        urls += [site.url("/twice"), "data:text/html,<p>" + "x%20" * 50]
        return crawl(urls, settings, folder=folder, timeout=300)


@pytest.fixture(scope="module")
def bad(tmp_path_factory: pytest.TempPathFactory) -> tuple[Crawl, Path]:
    folder = tmp_path_factory.mktemp("bad")
    return bad_crawl(folder, "never"), folder


def test_every_page_gets_its_outcome(bad: tuple[Crawl, Path]) -> None:
    done, _ = bad
    assert done.status == 0, done.log
    found = {path: done.result(path)["decision"] for path in EXPECTED}
    assert found == EXPECTED
    assert len(done.items) == len(ROUTES) + 1


def test_twenty_megabytes_are_decided_or_refused_with_the_reason(bad: tuple[Crawl, Path]) -> None:
    result = bad[0].result("/20-mb")
    assert result["decision"] == "new" or "WEBSEGMENT_PAGE_" in result["reason"]


def test_what_is_no_page_says_what_it_is(bad: tuple[Crawl, Path]) -> None:
    reasons = {path: bad[0].result(path)["reason"] for path in NO_PAGES}
    assert reasons == {
        "/pdf-as-html": "not HTML but a PDF document",
        "/image-as-html": "not HTML but a PNG image",
        "/json-as-html": "not HTML but JSON",
        "/feed-as-html": "not HTML but an RSS feed",
    }


def test_text_survives_bad_encodings(bad: tuple[Crawl, Path]) -> None:
    done, _ = bad
    assert FRENCH in done.result("/no-charset")["main_text"]
    assert "吾輩は猫である" in done.result("/shift-jis")["main_text"]
    assert done.result("/nested")["main_text"] == TEXT
    assert done.result("/million-words")["words"] >= 1_000_000


def test_the_same_url_twice_is_one_page(bad: tuple[Crawl, Path]) -> None:
    done, folder = bad
    decisions = sorted(
        item["websegment"]["decision"] for item in done.items if item["url"].endswith("/twice")
    )
    assert decisions == ["new", "unchanged"]
    with sqlite3.connect(folder / "pages.db") as database:
        rows = database.execute("SELECT url FROM pages").fetchall()
        assert len(rows) == len(set(rows)) == len(ROUTES) - len(NO_PAGES)
    database.close()


@pytest.mark.browser
def test_every_page_gets_its_outcome_in_the_browser_too(tmp_path: Path) -> None:
    done = bad_crawl(tmp_path, "always")
    assert done.status == 0, done.log
    found = {path: done.result(path)["decision"] for path in EXPECTED}
    # What is no page would be shown as garbage: the bytes are taken as the server sent them.
    assert found == EXPECTED
    assert len(done.items) == len(ROUTES) + 1


def test_two_crawls_at_once_share_a_database(tmp_path: Path) -> None:
    routes = {f"/{number}": page(prose(number % 20)) for number in range(40)}
    folders = [tmp_path / "one", tmp_path / "two"]
    settings = {
        "WEBSEGMENT_RENDER": "never",
        "WEBSEGMENT_DATABASE": f"sqlite:///{tmp_path / 'shared.db'}",
    }
    with Site(routes) as site:
        urls = [site.url(path) for path in routes]
        for folder in folders:
            folder.mkdir()
        crawls = [start_crawl(urls, settings, folder) for folder in folders]
        assert [process.wait(120) for process in crawls] == [0, 0]
    decisions = []
    for folder in folders:
        lines = (folder / "items.jsonl").read_text().splitlines()
        decisions += [json.loads(line)["websegment"]["decision"] for line in lines]
    assert len(decisions) == 80
    assert decisions.count("new") == 20
    assert decisions.count("duplicate") == 20
    assert decisions.count("unchanged") == 40
    with sqlite3.connect(tmp_path / "shared.db") as database:
        assert database.execute("SELECT count(*), count(DISTINCT url) FROM pages").fetchone() == (
            40,
            40,
        )
    database.close()
