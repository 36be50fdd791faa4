"""Known pages are come back to for less than a full look, and no change is missed by that."""

from __future__ import annotations

import gzip
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.crawling import Crawl, crawl
from tests.site import Route, Site
from tests.texts import page, prose

ALL = ["conditional", "hash", "schedule"]
NOISE = (
    "<!-- {0} --><meta name=csrf content=t{0}><script nonce=n{0}>stamp={0}</script>"
    "<a href='/x?session={0}'>Session</a><i>Request 0a1b2c3d4e5f{0:08d}</i>"
)


class Visits:
    """A site and the database of its crawls."""

    def __init__(self, site: Site, folder: Path) -> None:
        self.site = site
        self.folder = folder

    def crawl(
        self,
        *paths: str,
        spider: str = "PageSpider",
        how: Any = ("hash",),
        meta: dict[str, Any] | None = None,
        **more: Any,
    ) -> Crawl:
        settings: dict[str, Any] = {"WEBSEGMENT_RENDER": "never", "WEBSEGMENT_REVISIT": list(how)}
        settings["WEBSEGMENT_WORKERS"] = 1
        self.site.hits.clear()
        self.site.requests.clear()
        done = crawl(
            [self.site.url(path) for path in paths],
            {**settings, **{f"WEBSEGMENT_{name.upper()}": value for name, value in more.items()}},
            folder=self.folder,
            spider=f"tests.spiders.{spider}",
            meta=meta,
        )
        assert done.status == 0, done.log
        assert "Traceback" not in done.log, done.log
        return done

    def sql(self, statement: str) -> list[Any]:
        connection = sqlite3.connect(self.folder / "pages.db")
        with connection:
            rows = connection.execute(statement).fetchall()
        connection.close()
        return rows

    def last_decisions(self) -> dict[str, str]:
        rows = self.sql("SELECT url, decision FROM url_history ORDER BY seen_at")
        return {url.removeprefix(self.site.url("")): decision for url, decision in rows}


@pytest.fixture
def visits(tmp_path: Path) -> Iterator[Visits]:
    with Site() as site:
        yield Visits(site, tmp_path)


def noisy(text: str) -> Route:
    """Return a page that is another one at each request, but for its text."""
    count = 0

    def body(path: str, sent: bytes) -> str:
        nonlocal count
        count += 1
        return page(text, links=NOISE.format(count))

    return Route(body=body)


def not_modified(number: int) -> Route:
    """Return a page with validators."""
    stamp = {"ETag": f'"v{number}"', "Last-Modified": "Sat, 31 Jan 2026 12:00:00 GMT"}
    return Route(body=page(prose(number)), headers=stamp)


def test_what_has_not_changed_is_not_looked_at(visits: Visits) -> None:
    """It is not by its HTML, or because the server says so; what has changed is looked at."""
    routes = visits.site.routes
    routes |= {"/same": noisy(prose(1)), "/other": noisy(prose(2)), "/few": page("Few words.")}
    routes |= {"/tagged": not_modified(3), "/newer": not_modified(4), "/lost": page(prose(5))}
    paths = tuple(routes)
    how = ["conditional", "hash"]
    first = visits.crawl(*paths, how=how)
    assert first.stats["websegment/pages"] == 6
    assert not [each for each in visits.site.requests if "If-None-Match" in each[2]]
    routes["/other"] = noisy(prose(12))
    routes["/tagged"] = Route(status=304, headers={"ETag": '"v3"'})
    routes["/newer"] = not_modified(14)
    routes["/lost"] = page("Few words.")
    again = visits.crawl(*paths, how=how)
    assert visits.last_decisions() == {
        "/same": "unchanged",
        "/other": "changed",
        "/few": "empty",
        "/tagged": "unchanged",
        "/newer": "changed",
        "/lost": "empty",
    }
    asked = {path: headers.get("If-None-Match") for _, path, headers, _ in visits.site.requests}
    assert asked == {**dict.fromkeys(paths), "/tagged": '"v3"', "/newer": '"v4"'}
    assert visits.site.hits == dict.fromkeys(paths, 1)
    assert again.stats["websegment/pages"] == 4
    assert again.stats["websegment/revisit/same_html"] == 1
    assert again.stats["websegment/revisit/not_modified"] == 1
    assert again.stats["websegment/revisit/other_html"] == 3
    assert again.stats["websegment/decision/unchanged"] == 2
    assert {item["url"].rpartition("/")[2] for item in again.items} == {
        "other",
        "few",
        "newer",
        "lost",
    }
    told = visits.sql("SELECT reason, title FROM visits JOIN pages ON pages.id = visits.page_id "
                      "WHERE visits.decision = 'unchanged' ORDER BY 1")  # fmt: skip
    assert told == [
        ("its plain HTML is the same", "A page"),
        ("the server says that it is not modified", "A page"),
    ]
    # a page that lost its text is told from one that never had any
    assert again.stats["websegment/emptied"] == 1
    assert again.result("/lost")["emptied"] is True
    assert "the page had a text before" in again.result("/lost")["reason"]
    assert again.result("/few")["emptied"] is False
    assert "before" not in again.result("/few")["reason"]
    # the next full look comes by itself
    visits.sql("UPDATE revisits SET look_by = '2026-01-01 00:00:00.000000Z' "
               "WHERE page_id = (SELECT id FROM pages WHERE url LIKE '%/same')")  # fmt: skip
    routes["/lost"] = page(prose(5))
    third = visits.crawl("/same", "/other", "/lost", how=how)
    assert third.stats["websegment/revisit/full"] == 1
    assert {url.rpartition("/")[2]: found for url, found in third.decisions().items()} == {
        "same": "unchanged",
        "lost": "unchanged",
    }
    assert not any(item["websegment"]["emptied"] for item in third.items)
    # or where a request asks for it
    asked_for = visits.crawl("/tagged", how=how, meta={"websegment": {"revisit": False}})
    assert "websegment/revisit/not_modified" not in asked_for.stats
    assert not [each for each in visits.site.requests if "If-None-Match" in each[2]]


def test_compressed_pages_are_known_again(visits: Visits) -> None:
    zipped = gzip.compress(page(prose(1)).encode())
    visits.site.routes["/"] = Route(body=zipped, headers={"Content-Encoding": "gzip"})
    visits.crawl("/")
    again = visits.crawl("/")
    assert again.stats["websegment/revisit/same_html"] == 1


def test_pages_that_lead_to_others_still_do_and_others_wait_until_they_are_due(
    visits: Visits, capsys: pytest.CaptureFixture[str]
) -> None:
    from websegment_scrapy.cli.main import main

    def lead(*names: str) -> str:
        return "".join(f"<p><a href='/{name}'>{name}</a>" for name in names)

    routes = visits.site.routes
    routes["/"] = Route(body=f"<p>{prose(1)}{lead('a', 'inner')}", headers={"ETag": '"1"'})
    routes["/inner"] = Route(body=f"<p>{prose(2)}{lead('b', 'c')}", headers={"ETag": '"1"'})
    routes |= {f"/{name}": f"<p>{prose(number)}" for number, name in enumerate("abc", 3)}
    how: dict[str, Any] = {"spider": "FollowSpider", "how": ALL}
    assert visits.crawl("/", **how).stats["websegment/pages"] == 5
    visits.sql("UPDATE revisits SET due = '2026-01-01 00:00:00.000000Z' WHERE page_id IN "
               "(SELECT id FROM pages WHERE url LIKE '%/b' OR url LIKE '%/c')")  # fmt: skip
    database = f"sqlite:///{visits.folder / 'pages.db'}"
    assert main(["dedup", "due", "--database", database, "--format", "jsonl"]) == 0
    listed = capsys.readouterr().out
    assert [visits.site.url(f"/{name}") in listed for name in "abc"] == [False, True, True]
    routes["/b"] = f"<p>{prose(20)}"
    again = visits.crawl("/", **how)
    assert visits.site.hits == {"/": 1, "/inner": 1, "/b": 1, "/c": 1}
    assert not [each for each in visits.site.requests if "If-None-Match" in each[2]]
    assert again.stats["websegment/revisit/not_due"] == 1
    assert again.stats["websegment/unchanged_dropped"] == 2
    assert again.decisions() == {visits.site.url("/b"): "changed"}
    hours = dict(visits.sql("SELECT substr(url, -1), round(interval_seconds / 3600) FROM revisits "
                            "JOIN pages ON pages.id = page_id"))  # fmt: skip
    assert (hours["a"], hours["b"], hours["c"]) == (20, 5, 20)


SCRIPTED = (
    "<!doctype html><html><body><div id=app></div><script>"
    "fetch('/data').then(r => r.text()).then(t => "
    "{document.getElementById('app').innerHTML = '<h1>Page</h1><p>' + t})</script></body></html>"
)
PARTLY = (
    "</p><p id=more></p><script>fetch('/more').then(r => r.text()).then(t => "
    "{document.getElementById('more').textContent = t})</script><p>"
)
LINKED = "<script>document.write('<a href=/0>Zero</a>')</script>"


@pytest.mark.browser
def test_only_what_changed_is_rendered_and_nothing_is_missed_that_a_script_writes(
    visits: Visits,
) -> None:
    routes = visits.site.routes
    pages = {f"/{number}": noisy(prose(number)) for number in range(4)}
    pages |= {"/app": Route(body=SCRIPTED), "/partly": Route(body=page(prose(6) + PARTLY))}
    pages["/linked"] = Route(body=f"<p>{prose(7)}{LINKED}")
    routes |= pages
    routes["/data"] = Route(body=prose(5), content_type="text/plain")
    routes["/more"] = Route(body=prose(8, 30), content_type="text/plain")
    paths = tuple(pages)
    assert visits.crawl(*paths, render="always").stats["websegment/render/pages"] == len(paths)
    found = visits.sql(
        "SELECT substr(url, -3), plain_hash IS NOT NULL, links_by_script, rendered, "
        "julianday(look_by) - julianday(seen_at) FROM revisits JOIN pages ON pages.id = page_id"
    )
    told = {name.rpartition("/")[2]: rest for name, *rest in found}
    assert told["app"][:3] == [0, 0, 1]
    assert told["tly"][:3] == [1, 0, 1]
    assert told["ked"][:3] == [1, 1, 1]
    assert told["0"][:3] == [1, 0, 1]
    assert 5 <= told["tly"][3] <= 10
    assert 120 <= told["0"][3] <= 240
    routes["/2"] = noisy(prose(12))
    routes["/data"] = Route(body=prose(15), content_type="text/plain")
    routes["/more"] = Route(body=prose(18, 30), content_type="text/plain")
    again = visits.crawl(*paths, render="always")
    assert again.stats["websegment/render/pages"] == 2
    same = dict.fromkeys(paths, "unchanged")
    assert visits.last_decisions() == same | {"/2": "changed", "/app": "changed"}
    assert again.result("/2")["rendered"] is True
    # what only a script changed is found with the next full look; links of a script need one too
    visits.sql("UPDATE revisits SET look_by = '2026-01-01 00:00:00.000000Z' "
               "WHERE page_id = (SELECT id FROM pages WHERE url LIKE '%/partly')")  # fmt: skip
    visits.sql("UPDATE revisits SET leads_on = 1")
    third = visits.crawl("/partly", "/linked", "/1", render="always")
    assert third.result("/partly")["decision"] == "changed"
    assert third.stats["websegment/render/pages"] == 2
    assert visits.sql("SELECT count(*) FROM revisits WHERE scripted") == [(1,)]
