"""Pages, servers and browsers that misbehave: the crawl ends, and every page is accounted for."""

from __future__ import annotations

import socket

import pytest

from tests.crawling import crawl as run_crawl
from tests.site import Route, Site
from tests.test_render import PAGE, crawl

pytestmark = pytest.mark.browser

LOOP = "<title>loop</title><p>before</p><script>{}</script>"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_pages_that_never_finish_come_as_plain_html_and_leave_nothing_open(tmp_path):
    routes: dict[str, str | Route] = {
        "/loop": LOOP.format("for (;;) {}"),
        "/later": LOOP.format("setTimeout(() => { for (;;) {} }, 50)"),
        "/hang": Route(hang=True),
        "/endless": Route(body="<title>e</title>", endless=b"<p>more</p>"),
        "/slow": Route(body=PAGE.format("slow"), delay=0.5),
        "/image": PAGE.format("<img src=/hang>"),
        "/popup": PAGE.format("popup<script>window.open('/fine'); alert(1)</script>"),
        "/drop": Route(drop=True),
        "/fine": PAGE.format("fine"),
    }
    dead = f"http://127.0.0.1:{free_port()}/"
    with Site(routes) as site:
        result = crawl(
            tmp_path,
            [*(site.url(path) for path in routes), dead],
            settings={
                "WEBSEGMENT_RENDER_TIMEOUT": 10,
                "WEBSEGMENT_RENDER_RETRIES": 1,
                "DOWNLOAD_TIMEOUT": 1,
                "JOBDIR": str(tmp_path / "job"),
            },
        )
    stats, left = result["stats"], result["left"]
    got = {url.removeprefix(site.url("")): item for url, item in result["by_url"].items()}
    assert set(got) == {*routes, dead}
    for path in ("/slow", "/image", "/popup", "/fine"):
        assert got[path]["type"] == "RenderedResponse", (path, got[path], result["log"])
    for path in ("/loop", "/later"):
        assert got[path]["type"] == "HtmlResponse"
        assert "before" in got[path]["text"]
        assert "RenderBusyError" in got[path]["websegment"]["render_error"]
    for path in ("/hang", "/endless"):
        assert got[path]["error"] == "DownloadTimeoutError"
        assert "Timeout" in got[path]["websegment"]["render_error"]
    assert "net::ERR_" in got["/drop"]["websegment"]["render_error"]
    assert got[dead]["error"] == "DownloadConnectionRefusedError"
    assert "net::ERR_SOCKS_CONNECTION_FAILED" in got[dead]["websegment"]["render_error"]
    assert stats["websegment/render/fallback"] == 6
    assert stats["websegment/render/error/RenderBusyError"] == 2, "each of them tried once"
    retried = stats["websegment/render/retried"]
    assert retried >= 2
    # what a page is called is no name of a stat, or there would be one for each page
    assert not [name for name in stats if "127.0.0.1" in name]
    assert stats["websegment/render/pages"] == 4
    assert "websegment/render/unclosed" not in stats
    assert left["pages"] == 0
    assert left["contexts"] == 2, "one for each site"
    assert left["slots"] > 0
    # retries went through the disk queue
    assert "scheduler/unserializable" not in stats
    assert stats["scheduler/enqueued/disk"] == len(routes) + 1 + retried + 6


def test_pages_that_were_held_up_by_another_get_the_browser_to_themselves(tmp_path):
    built = "<script>document.body.append('built by script')</script>"
    flood = (
        "<script>const line = 'a'.repeat(1e4); setInterval(() => { for (let i = 0; i < 50; i++) "
        "console.log(line); }, 5)</script>"
    )
    routes = {"/flood": PAGE.format(flood)}
    routes |= {f"/{number}": Route(body=PAGE.format(built), delay=0.3) for number in range(12)}
    with Site(routes) as site:
        result = crawl(
            tmp_path,
            [site.url(path) for path in routes],
            settings={"WEBSEGMENT_RENDER_TIMEOUT": 8, "WEBSEGMENT_RENDER_RETRIES": 1},
        )
    got = {url.removeprefix(site.url("")): item for url, item in result["by_url"].items()}
    for path in routes.keys() - {"/flood"}:
        assert "built by script" in got[path]["text"], (path, got[path], result["log"])
    assert result["left"]["pages"] == 0
    assert result["left"]["slots"] > 0


def test_a_killed_browser_is_started_again_and_no_page_is_lost(tmp_path):
    routes = {f"/{n}": Route(body=PAGE.format(n), delay=0.1) for n in range(20)}
    with Site(routes) as site:
        result = crawl(
            tmp_path,
            [site.url(path) for path in routes],
            kill_browser_after=6,
        )
    assert result["stats"]["test/killed"] == 1
    assert result["stats"]["playwright/browser_count"] == 2
    assert len(result["by_url"]) == 20
    assert {item["type"] for item in result["items"]} == {"RenderedResponse"}, result["log"]
    assert result["left"]["pages"] == 0
    assert result["left"]["contexts"] == 1


@pytest.mark.parametrize("at_once", [1, 16])
def test_a_browser_that_answers_nothing_any_more_is_replaced_and_no_page_is_lost(tmp_path, at_once):
    routes = {f"/{n}": Route(body=PAGE.format(n), delay=0.1) for n in range(12)}
    with Site(routes) as site:
        result = crawl(
            tmp_path,
            [site.url(path) for path in routes],
            settings={
                "WEBSEGMENT_RENDER_TIMEOUT": 10,
                "WEBSEGMENT_RENDER_RETRIES": 1,
                "CONCURRENT_REQUESTS": at_once,
            },
            stop_browser_after=3,
        )
    assert result["stats"]["websegment/render/replaced"] == 1, result["log"]
    assert result["stats"]["playwright/browser_count"] == 2
    assert len(result["by_url"]) == 12
    assert {item["type"] for item in result["items"]} == {"RenderedResponse"}, result["log"]
    assert result["left"]["pages"] == 0


def test_without_a_browser_the_crawl_goes_on_and_says_so_once(tmp_path, monkeypatch):
    monkeypatch.delenv("WEBSEGMENT_CHROMIUM", raising=False)
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with Site({"/a": PAGE.format("a"), "/b": PAGE.format("b")}) as site:
        result = crawl(tmp_path, [site.url("/a"), site.url("/b")])
    assert [item["type"] for item in result["items"]] == ["HtmlResponse", "HtmlResponse"]
    for item in result["items"]:
        assert item["websegment"] == {"render_error": "no browser"}
    assert result["stats"]["websegment/render/unavailable"] == 1
    assert result["log"].count("WEBSEGMENT_CHROMIUM") == 1, "one line with the remedy"
    assert "playwright install chromium" in result["log"]


def test_a_named_browser_that_does_not_exist_stops_the_crawl_at_its_start(tmp_path):
    named = str(tmp_path / "no-such-chromium")
    done = run_crawl(["http://127.0.0.1:9/"], {"WEBSEGMENT_CHROMIUM": named})
    assert "Spider opened" not in done.log
    assert f"WEBSEGMENT_CHROMIUM is {named!r}, not a program" in done.log
    assert "playwright install chromium" in done.log
    assert done.items == []
    unrendered = {"WEBSEGMENT_CHROMIUM": named, "WEBSEGMENT_RENDER": "never"}
    assert run_crawl([], unrendered).status == 0


def test_a_follow_up_with_copied_meta_is_rendered_although_its_origin_failed(tmp_path):
    routes = {"/bad": LOOP.format("for (;;) {}"), "/good": PAGE.format("good")}
    with Site(routes) as site:
        result = crawl(
            tmp_path,
            [site.url("/bad")],
            follow={site.url("/bad"): [site.url("/good")]},
            settings={"WEBSEGMENT_RENDER_TIMEOUT": 3, "WEBSEGMENT_RENDER_RETRIES": 0},
        )
    assert result["by_url"][site.url("/bad")]["type"] == "HtmlResponse"
    good = result["by_url"][site.url("/good")]
    assert good["type"] == "RenderedResponse"
    assert "render_error" not in good["websegment"]


def test_pages_that_take_too_much_only_together_are_loaded_again_one_by_one(tmp_path):
    takes = "<script>const kept = new Uint8Array(280 * 2 ** 20).fill(7)</script><img src=/slow>"
    routes: dict[str, str | Route] = {f"/{n}": PAGE.format(takes) for n in range(4)}
    routes["/slow"] = Route(body="", delay=3)
    with Site(routes) as site:
        result = crawl(
            tmp_path,
            [site.url(f"/{n}") for n in range(4)],
            settings={
                "WEBSEGMENT_RENDER_MEMORY": 400,
                "PLAYWRIGHT_MAX_PAGES_PER_CONTEXT": 4,
                "PLAYWRIGHT_MAX_CONTEXTS": 4,
            },
        )
    assert len(result["by_url"]) == 4
    for item in result["by_url"].values():
        assert item["type"] == "RenderedResponse", (item, result["log"])
        assert not item["websegment"]
    assert result["stats"]["websegment/render/error/RenderCrowdedError"] >= 1


def test_pictures_that_a_page_has_drawn_count_as_what_it_takes(tmp_path):
    style = "position: fixed; inset: 0; will-change: transform; background: linear-gradient(#{:03x}"
    layers = "".join(f"<div style='{style.format(n)}, #fff)'>{n}</div>" for n in range(300))
    with Site({"/": PAGE.format(f"{layers}<img src=/slow>"), "/slow": Route(delay=5)}) as site:
        result = crawl(tmp_path, [site.url("/")], settings={"WEBSEGMENT_RENDER_MEMORY": 400})
    (item,) = result["by_url"].values()
    assert "WEBSEGMENT_RENDER_MEMORY" in item["websegment"]["render_error"], result["log"]
