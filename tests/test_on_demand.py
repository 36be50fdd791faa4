"""With ``WEBSEGMENT_RENDER = "auto"`` those pages are rendered that need it, and no others."""

from __future__ import annotations

import gzip
import itertools
import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.crawling import Crawl, crawl
from tests.site import Route, Site
from tests.texts import page, prose
from websegment_scrapy.crawl.demand import OFTEN, SELDOM, is_drawn
from websegment_scrapy.dedup.plain import PlainHtml
from websegment_scrapy.page.by_script import read_signs
from websegment_scrapy.tasks import is_told

pytestmark = pytest.mark.browser

SCRIPT = "<script>window.stamp = 1</script>"
ROOT = (
    "<html><head><title>Shop</title></head><body><div id=root></div><script>"
    "document.getElementById('root').innerHTML = {}</script></body></html>"
)


def built(text: str) -> str:
    """Return a page that builds itself from a text."""
    return ROOT.format(json.dumps(f"<main><h1>Built</h1><p>{text}</p></main>"))


def shell(text: str) -> str:
    """Return a page with much text of its own whose main text a script brings."""
    made = json.dumps(f"<h1>Made</h1><p>{text}</p>")
    return (
        "<html><head><title>Shell</title></head><body><div id=made></div>"
        f"<footer><p>{prose(999, 200)}</p></footer>"
        f"<script>document.getElementById('made').innerHTML = {made}</script></body></html>"
    )


class Crawls:
    """A site and the database of its crawls."""

    def __init__(self, site: Site, folder: Path) -> None:
        self.site = site
        self.folder = folder

    def crawl(self, *paths: str, meta: dict[str, Any] | None = None, **more: Any) -> Crawl:
        self.site.hits.clear()
        settings = {"WEBSEGMENT_RENDER": "auto", "WEBSEGMENT_WORKERS": 1, **more}
        done = crawl(
            [self.site.url(path) for path in paths],
            settings,
            folder=self.folder,
            spider="tests.spiders.PageSpider",
            meta=meta,
        )
        assert done.status == 0, done.log
        assert "Traceback" not in done.log, done.log
        return done

    def paths(self, count: int, *, looked_at: bool = False) -> list[str]:
        """Return paths that are looked at both ways now and then, or such that are not."""
        every = SELDOM if looked_at else OFTEN
        paths = (f"/{number}" for number in itertools.count())
        mine = (path for path in paths if is_drawn(self.site.url(path), every) is looked_at)
        return list(itertools.islice(mine, count))

    def sql(self, statement: str) -> list[Any]:
        connection = sqlite3.connect(self.folder / "pages.db")
        rows = connection.execute(statement).fetchall()
        connection.close()
        return rows

    def pages(self) -> dict[str, tuple[int, str]]:
        rows = self.sql("SELECT url, rendered, render_reason FROM pages")
        return {url.removeprefix(self.site.url("")): tuple(row) for url, *row in rows}


@pytest.fixture
def crawls(tmp_path: Path) -> Iterator[Crawls]:
    with Site() as site:
        yield Crawls(site, tmp_path)


def test_what_a_script_builds_is_rendered_and_what_is_there_is_not(crawls: Crawls) -> None:
    plain = crawls.paths(8)
    for number, path in enumerate(plain):
        crawls.site.routes[path] = page(prose(number, 300), links=SCRIPT)
        crawls.site.routes[f"/built{number}"] = built(prose(100 + number, 300))
    crawls.site.routes["/still"] = page(prose(50, 300))
    built_ones = [f"/built{number}" for number in range(8)]
    done = crawls.crawl("/still", *itertools.chain(*zip(plain, built_ones, strict=True)))
    pages = crawls.pages()
    assert all(pages[path][0] for path in built_ones)
    assert sum(pages[path][0] for path in plain) == 1, pages
    assert pages["/still"] == (0, "it has no scripts")
    texts = {item["url"]: item["websegment"]["main_text"] for item in done.items}
    for number in range(8):
        assert prose(100 + number, 300)[:60] in texts[crawls.site.url(f"/built{number}")]
    reasons = {reason for _, reason in pages.values()}
    assert "its plain HTML tells what it says" in reasons
    assert "it has scripts and hardly any text" in reasons
    assert done.stats["websegment/render/compared"] == sum(seen for seen, _ in pages.values())


def test_a_site_is_known_in_the_next_crawl(crawls: Crawls) -> None:
    for number in range(12):
        crawls.site.routes[f"/{number}"] = shell(prose(number, 100))
    first = crawls.crawl(*(f"/{number}" for number in range(6)))
    assert all(rendered for rendered, _ in crawls.pages().values()), crawls.pages()
    assert first.stats["websegment/render/needed"] >= 1
    crawls.crawl(*(f"/{number}" for number in range(6)))
    last = crawls.crawl(*(f"/{number}" for number in range(6, 12)))
    assert all(rendered for rendered, _ in crawls.pages().values())
    assert last.stats["websegment/render/straight"] >= 3, last.stats


def test_pages_with_little_text_are_rendered_until_their_site_is_known(crawls: Crawls) -> None:
    paths = crawls.paths(20)
    for number, path in enumerate(paths):
        crawls.site.routes[path] = page(prose(number, 40), links=SCRIPT)
    crawls.crawl(*paths[:10])
    assert sum(rendered for rendered, _ in crawls.pages().values()) == 3
    crawls.crawl(*paths[10:])
    assert sum(rendered for rendered, _ in crawls.pages().values()) == 3


def test_text_that_a_design_cuts_up_is_in_the_plain_html_all_the_same(crawls: Crawls) -> None:
    paths = crawls.paths(8)
    for number, path in enumerate(paths):
        torn = " ".join(f"{word}<sup>7</sup>" for word in prose(number, 40).split())
        crawls.site.routes[path] = page("{}", links=SCRIPT).format(torn)
    done = crawls.crawl(*paths)
    assert done.stats["websegment/render/compared"] == 3
    assert done.stats["websegment/render/needed"] == 0


def test_words_for_narrow_screens_between_the_cells_of_a_table_are_no_scripts_work(
    crawls: Crawls,
) -> None:
    paths = crawls.paths(8)
    label = "<span class=x>only for narrow screens</span>"
    for number, path in enumerate(paths):
        cells = (f"<tr><td>{word} {number}{label}" for word in prose(number, 60).split())
        table = f"<style>.x {{ display: none }}</style><table>{''.join(cells)}</table>"
        crawls.site.routes[path] = page(table, links=SCRIPT)
    done = crawls.crawl(*paths)
    assert done.stats["websegment/render/compared"] == 3
    assert done.stats["websegment/render/needed"] == 0


def test_a_page_that_does_not_say_its_encoding_is_not_a_scripts_work(crawls: Crawls) -> None:
    paths = crawls.paths(8)
    for number, path in enumerate(paths):
        russian = prose(number, 40).translate({97 + n: 0x430 + n for n in range(26)})
        html = page(russian, links=SCRIPT)
        crawls.site.routes[path] = Route(body=html.encode(), content_type="text/html")
    done = crawls.crawl(*paths)
    assert done.stats["websegment/render/compared"] == 3
    assert done.stats["websegment/render/needed"] == 0


def tells(plain: bytes, text: str) -> bool:
    """Say whether plain HTML tells a text."""
    return is_told(text, PlainHtml.read(plain).text, plain, None, "http://a.example/")


LINES = "Size S M L\nColour\nOrange\nWhite\nNot sure what is right for you?\nBottle Opener 7.00"


@pytest.mark.parametrize(
    ("html", "told"),
    [
        ("<p>Size S M L<p>Colour<p>Orange<p>White<p>Not sure what is right for you?"
         "<p>Bottle Opener 7.00", True),
        ("<p>Bottle Opener 7.00<p>Size S M L<p>Clear<p>White<p>or<p>Orange<p>Colour<p>please"
         "<p>Not sure what is right for you?", True),
        ("<p>Size S M L<p>Colour<p>Orange<p>White<p>Bottle Opener", False),
        ("<p>you size what is S sure Bottle L M<p>Opener right Colour not 7.00 Orange for White",
         False),
    ],
)  # fmt: skip
def test_lines_in_another_order_are_no_scripts_work(html: str, told: bool) -> None:
    assert tells(f"<title>T</title>{html}".encode(), LINES) is told


def test_a_site_that_changes_its_technique_is_noticed(crawls: Crawls) -> None:
    looked_at, others = crawls.paths(4, looked_at=True), crawls.paths(20)
    for path in (*looked_at, *others):
        crawls.site.routes[path] = page(prose(1, 200), links=SCRIPT)
    crawls.crawl(*looked_at, *others[:10])
    for path in (*looked_at, *others):
        crawls.site.routes[path] = shell(prose(int(path[1:]), 100))
    crawls.crawl(*others[10:])
    assert not any(crawls.pages()[path][0] for path in others[10:])
    crawls.crawl(looked_at[0])  # one page in fifty
    crawls.crawl(*others[10:])
    assert all(crawls.pages()[path][0] for path in others[10:])


@pytest.mark.parametrize("zipped", [False, True])
def test_compressed_pages_are_read(crawls: Crawls, zipped: bool) -> None:
    def send(html: str) -> Route:
        if not zipped:
            return Route(body=html)
        return Route(body=gzip.compress(html.encode()), headers={"Content-Encoding": "gzip"})

    paths = crawls.paths(6)
    for number, path in enumerate(paths):
        crawls.site.routes[path] = send(page(prose(number, 300), links=SCRIPT))
    crawls.site.routes["/built"] = send(built(prose(9, 300)))
    crawls.crawl("/built", *paths)
    pages = crawls.pages()
    assert pages.pop("/built")[0]
    assert sum(rendered for rendered, _ in pages.values()) == 1


def test_the_cache_keeps_pages_as_they_ended_up(crawls: Crawls) -> None:
    crawls.site.routes["/plain"] = page(prose(1, 300))
    crawls.site.routes["/built"] = built(prose(2, 300))
    settings = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(crawls.folder / "cache")}
    crawls.crawl("/plain", "/built", **settings)
    before = crawls.pages()
    assert before["/built"][0]
    done = crawls.crawl("/plain", "/built", **settings)
    assert not crawls.site.hits
    assert done.stats["httpcache/hit"] == 2
    assert {path: rendered for path, (rendered, _) in crawls.pages().items()} == {
        "/plain": 0,
        "/built": 1,
    }
    decisions = crawls.sql("SELECT decision FROM visits ORDER BY id")
    assert [decision for (decision,) in decisions][2:] == ["unchanged", "unchanged"]


def test_one_request_may_say_otherwise(crawls: Crawls) -> None:
    crawls.site.routes["/built"] = built(prose(1, 300))
    crawls.crawl("/built", meta={"websegment": {"render": "never"}})
    assert crawls.pages()["/built"] == (0, None)
    crawls.crawl("/built", meta={"websegment": {"render": "always"}})
    assert crawls.pages()["/built"] == (1, None)


def test_without_the_handler_the_crawl_goes_on(crawls: Crawls) -> None:
    crawls.site.routes["/built"] = built(prose(1, 300))
    plain = "scrapy.core.downloader.handlers.http11.HTTP11DownloadHandler"
    done = crawls.crawl("/built", DOWNLOAD_HANDLERS={"http": plain, "https": plain})
    assert done.items[0]["websegment"]["render_error"] == "no render handler"
    assert crawls.pages()["/built"] == (0, None)


def test_what_is_posted_is_sent_once(crawls: Crawls) -> None:
    crawls.site.routes["/form"] = built(prose(1, 300))
    done = crawl(
        [crawls.site.url("/form")],
        {"WEBSEGMENT_RENDER": "auto", "WEBSEGMENT_WORKERS": 1},
        folder=crawls.folder,
        spider="tests.spiders.PostSpider",
    )
    assert done.status == 0, done.log
    assert [method for method, path, *_ in crawls.site.requests if path == "/form"] == ["POST"]
    assert crawls.pages()["/form"] == (0, "what is posted is sent once")


@pytest.mark.parametrize(
    ("html", "sign"),
    [
        (page(prose(1, 300), links=SCRIPT), ""),
        (page(prose(1, 30)), ""),
        (page(prose(1, 30), links=SCRIPT), "little"),
        (built("x"), "empty"),
        ("<div id=app></div><p>" + prose(1, 20) + "</p>" + SCRIPT, "root"),
        ("<div id=app></div><p>" + prose(1, 300) + "</p>" + SCRIPT, "root"),
        ("<div id=app><p>" + prose(1, 300) + "</p></div>" + SCRIPT, ""),
        ("<noscript>Please enable JavaScript</noscript><p>" + prose(1, 20) + SCRIPT, "asks"),
        ("<noscript>Please enable JavaScript</noscript><p>" + prose(1, 300) + SCRIPT, ""),
        ("<ul>" + "<li><a href=/x>A link of several words to read here now</a>" * 50 + SCRIPT,
         "little"),
        (f"<p>{prose(1, 300)}</p><script type='application/ld+json'>{{}}</script>", ""),
        ("", ""),
    ],
)  # fmt: skip
def test_signs_in_plain_html(html: str, sign: str) -> None:
    assert read_signs(html.encode()).sign == sign


def test_templates_shows_which_pages_of_a_site_need_the_browser(crawls: Crawls) -> None:
    crawls.site.routes["/"] = built(prose(1, 300))
    crawls.crawl("/")
    host = crawls.site.url("/").split("/")[2]
    command = [sys.executable, "-m", "websegment_scrapy.cli.main", "templates", host]
    database = f"sqlite:///{crawls.folder / 'pages.db'}"
    shown = subprocess.run([*command, "--database", database], capture_output=True, text=True)
    assert f"{host}: 100% of the last pages that were looked at both ways" in shown.stderr
    subprocess.run([*command, "--database", database, "--forget"], check=True, capture_output=True)
    assert crawls.sql(f"SELECT count(*) FROM site_rendering WHERE host = '{host}'") == [(0,)]
    assert crawls.sql("SELECT count(*) FROM site_rendering") == [(1,)], "what all sites are like"
