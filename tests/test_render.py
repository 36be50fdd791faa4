"""Rendering in real crawls; run as a module this file is the crawl of one test."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from scrapy import Request, Spider, signals
from scrapy.http import HtmlResponse, TextResponse
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.test import get_crawler

from tests.site import Route, Site
from websegment_scrapy.config import Config
from websegment_scrapy.crawl.render import (
    RenderedResponse,
    RenderMiddleware,
    few_pages,
    render_settings,
)
from websegment_scrapy.page.capture import Captured

ROOT = Path(__file__).resolve().parent.parent
MIDDLEWARE = "websegment_scrapy.crawl.render.RenderMiddleware"
PAGE = "<!doctype html><html><head><title>{0}</title></head><body><p>Page {0}</p></body></html>"


def own_browsers() -> list[psutil.Process]:
    """Return the browsers among this process's own descendants, without their renderers."""
    found = []
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):  # it ended meanwhile
            command = child.cmdline()
            started_headless = any(word.startswith("--headless") for word in command)
            is_part = any(word.startswith("--type=") for word in command)
            program = Path(child.exe()).name  # not a shell that runs a script of its name
            if started_headless and not is_part and "chrom" in program:
                found.append(child)
    return found


class PlanSpider(Spider):
    """Requests what the plan lists and records what comes back."""

    name = "plan"
    plan: dict[str, Any]

    async def start(self):
        for entry in self.plan["requests"]:
            given = {"url": entry} if isinstance(entry, str) else dict(entry)
            given.setdefault("dont_filter", False)
            yield Request(callback=self.parse, errback=self.failed, **given)

    def parse(self, response):
        state = {
            "url": response.url,
            "status": response.status,
            "type": type(response).__name__,
            "flags": response.flags,
            "websegment": response.meta.get("websegment"),
            "playwright": response.meta.get("playwright"),
        }
        if isinstance(response, TextResponse):
            state["text"] = response.text[:20_000]
            state["clean"] = "data-ws-" not in response.text
            captured = getattr(response, "captured", None)
            state["boxes"] = captured.html.count(captured.name("box")) if captured else 0
        else:
            state["size"] = len(response.body)
        yield state
        count = self.crawler.stats.get_value("response_received_count", 0)
        if count == self.plan.get("kill_browser_after"):
            self.kill_browser()
        if count == self.plan.get("stop_browser_after"):
            for browser in own_browsers():
                browser.suspend()
        for url in self.plan.get("follow", {}).get(response.url, ()):
            yield Request(url, callback=self.parse, meta=response.meta)

    def failed(self, failure):
        meta = failure.request.meta
        yield {
            "url": failure.request.url,
            "error": failure.type.__name__,
            "websegment": meta.get("websegment"),
        }

    def kill_browser(self):
        for browser in own_browsers():
            browser.kill()
            self.crawler.stats.inc_value("test/killed")


def run_plan(plan_path: str, out_path: str) -> None:
    from scrapy.crawler import CrawlerProcess

    plan = json.loads(Path(plan_path).read_text())
    settings = {
        "DOWNLOADER_MIDDLEWARES": {MIDDLEWARE: 850},
        "LOG_LEVEL": "WARNING",
        "TELNETCONSOLE_ENABLED": False,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
        "DOWNLOAD_DELAY": 0,
        "ROBOTSTXT_OBEY": False,
        "RETRY_TIMES": 0,
        "WEBSEGMENT_PRIVATE_HOSTS": ["127.0.0.1"],
        **plan["settings"],
    }
    ours = {name: value for name, value in settings.items() if name.startswith("WEBSEGMENT_")}
    settings = {**render_settings(Config.from_settings(ours)), **settings}
    process = CrawlerProcess(settings)
    crawler = process.create_crawler(PlanSpider)
    items: list[dict[str, Any]] = []
    left: dict[str, int] = {}

    def at_close() -> None:
        handler = crawler.engine.downloader.handlers._handlers["http"].renderer()
        left["pages"] = handler._get_total_page_count()
        left["contexts"] = len(handler.context_wrappers)
        left["slots"] = handler._places.free

    crawler.signals.connect(lambda item: items.append(dict(item)), signals.item_scraped, weak=False)
    crawler.signals.connect(at_close, signals.spider_closed, weak=False)
    PlanSpider.plan = plan
    process.crawl(crawler)
    process.start()
    result = {"items": items, "stats": crawler.stats.get_stats(), "left": left}
    Path(out_path).write_text(json.dumps(result, default=str))


def crawl(
    folder: Path, requests: list[Any], *, seconds: float = 300, **plan: Any
) -> dict[str, Any]:
    """Crawl in a process of its own; return items by URL, stats, what was left open, the log."""
    env = {**os.environ, **plan.pop("env", {})}
    plan_path, out_path = folder / "plan.json", folder / "out.json"
    plan_path.write_text(json.dumps({"settings": {}, **plan, "requests": requests}))
    out_path.unlink(missing_ok=True)
    done = subprocess.run(
        [sys.executable, "-m", "tests.test_render", str(plan_path), str(out_path)],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(out_path.read_text())
    result["log"] = done.stderr
    result["by_url"] = {item["url"]: item for item in result["items"]}
    return result


pytestmark = pytest.mark.browser


def test_pages_arrive_rendered_and_clean_and_nothing_stays_open(tmp_path):
    routes = {f"/{n}": PAGE.format(n) for n in range(30)}
    routes["/0"] = Route(
        body="<title>x</title><p id=p></p><script>p.textContent = 'from script'</script>",
        headers={"X-Own": "kept"},
    )
    with Site(routes) as site:
        result = crawl(tmp_path, [site.url(path) for path in routes])
    assert len(result["items"]) == 30
    assert all(item["type"] == "RenderedResponse" for item in result["items"])
    assert all(item["clean"] and item["boxes"] >= 3 for item in result["items"])
    assert all(item["flags"] == ["playwright"] for item in result["items"])
    assert "from script" in result["by_url"][site.url("/0")]["text"]
    assert result["stats"]["websegment/render/pages"] == 30
    assert result["stats"]["websegment/render/seconds"] > 0
    assert result["left"]["pages"] == 0
    assert result["left"]["contexts"] == 1
    assert result["left"]["slots"] >= few_pages()
    assert result["stats"]["playwright/browser_count"] == 1


def test_undeclared_utf8_is_the_same_text_as_without_a_browser(tmp_path):
    text = "Глава\xa0первая: “naïve” 東京"
    html = f"<p>{text}</p><table><tr><td>\xa0</td><td>{text}</td></tr></table>"
    script = "<script>document.write('<p>caf\\u00e9 \\u20ac</p>')</script>"
    routes = {
        "/undeclared": Route(body=(html + script).encode(), content_type="text/html"),
        "/declared": Route(
            body=f"<p>{text}</p>".encode(), content_type="text/html; charset=iso-8859-1"
        ),
        "/meta": Route(
            body=f"<meta charset=utf-8><p>{text}</p>".encode(), content_type="text/html"
        ),
        "/late": Route(
            body=f"<div>{'a ' * 800}</div><meta charset=UTF-8><p>{text}</p>".encode(),
            content_type="text/html",
        ),
        "/western": Route(
            body=f"<meta charset=windows-1252><p>{text}</p>".encode(), content_type="text/html"
        ),
    }
    with Site(routes) as site:
        found = crawl(tmp_path, [site.url(path) for path in routes])["by_url"]
        texts = (found[site.url(path)]["text"].replace("&nbsp;", "\xa0") for path in routes)
        undeclared, declared, meta, late, western = texts
    assert undeclared.count(text) == 2
    assert "café €" in undeclared
    assert text in meta
    assert text in late
    assert "Ð" in declared
    assert "Ð" in western


def test_each_request_decides_and_resources_keep_their_type(tmp_path):
    big = "é" * 10
    routes = {
        "/robots.txt": Route(body="User-agent: *\nDisallow:", content_type="text/plain"),
        "/never": PAGE.format("never"),
        "/user": PAGE.format("user"),
        "/always": PAGE.format("always"),
        "/methods": PAGE.format("methods"),
        "/post": Route(body=lambda path, sent: PAGE.format(sent.decode())),
        "/moved": Route(status=302, headers={"Location": "/always?moved"}),
        "/gone": Route(status=404, body=PAGE.format("gone")),
        "/json": Route(body='{"a": [1, 2]}', content_type="application/json"),
        "/text": Route(body="<b>just text", content_type="text/plain"),
        "/pdf": Route(body=b"%PDF-1.4\n%%EOF", content_type="application/pdf"),
        "/zip": Route(body=b"PK\x03\x04data", content_type="application/zip"),
        "/svg": Route(
            body='<svg xmlns="http://www.w3.org/2000/svg"><text>x</text></svg>',
            content_type="image/svg+xml",
        ),
        "/latin": Route(
            body=f"<title>l</title><p>{big}<script>document.write('\\u4e2d')</script>".encode(
                "latin-1"
            ),
            content_type="text/html; charset=iso-8859-1",
        ),
    }
    with Site(routes) as site:
        requests: list[Any] = [
            {"url": site.url("/never"), "meta": {"websegment": {"render": "never"}}},
            {"url": site.url("/user"), "meta": {"playwright": False}},
            {"url": site.url("/post"), "method": "POST", "body": "sent"},
            *(site.url(path) for path in ("/always", "/moved", "/gone", "/json", "/text")),
            *(site.url(path) for path in ("/pdf", "/zip", "/svg", "/latin")),
        ]
        settings = {
            "ROBOTSTXT_OBEY": True,
            "HTTPERROR_ALLOW_ALL": True,
            "HTTPCACHE_ENABLED": True,
            "HTTPCACHE_DIR": str(tmp_path / "cache"),
        }
        result = crawl(tmp_path, requests, settings=settings)
        loaded = site.hits.total()
        again = crawl(tmp_path, requests, settings=settings)
        assert site.hits.total() == loaded, "the second crawl came from the HTTP cache"
    got = {url.removeprefix(site.url("")): item for url, item in result["by_url"].items()}
    for path in ("/never", "/user"):
        assert (got[path]["type"], got[path]["playwright"]) in (
            ("HtmlResponse", None),
            ("HtmlResponse", False),
        )
    for path in ("/always", "/post", "/always?moved", "/gone", "/latin"):
        assert got[path]["type"] == "RenderedResponse", path
    assert "Page sent" in got["/post"]["text"]
    assert got["/gone"]["status"] == 404
    assert "é" in got["/latin"]["text"]
    assert "\u4e2d" in got["/latin"]["text"]
    assert got["/json"]["type"] == "JsonResponse"
    assert json.loads(got["/json"]["text"]) == {"a": [1, 2]}
    assert got["/text"]["text"] == "<b>just text"
    assert got["/pdf"]["text"] == "%PDF-1.4\n%%EOF"
    assert got["/zip"]["size"] == len(b"PK\x03\x04data")
    assert "<text>" in got["/svg"]["text"]
    assert "websegment/render/fallback" not in result["stats"], result["log"]
    cached = {url.removeprefix(site.url("")): item for url, item in again["by_url"].items()}
    assert cached.keys() == got.keys()
    for path, item in cached.items():
        assert "cached" in item["flags"]
        assert item["type"] == got[path]["type"], path
        assert item.get("boxes") == got[path].get("boxes")
        assert item.get("text") == got[path].get("text")
    assert "playwright/browser_count" not in again["stats"], "nothing to render, nothing started"


def test_without_rendering_no_browser_starts_but_one_request_can_ask_for_it(tmp_path):
    with Site({"/a": PAGE.format("a"), "/b": PAGE.format("b")}) as site:
        plain = crawl(tmp_path, [site.url("/a")], settings={"WEBSEGMENT_RENDER": "never"})
        asked = crawl(
            tmp_path,
            [
                {"url": site.url("/a"), "meta": {"websegment": {"render": "always"}}},
                site.url("/b"),
            ],
            settings={"WEBSEGMENT_RENDER": "never"},
        )
    assert plain["items"][0]["type"] == "HtmlResponse"
    assert "playwright/browser_count" not in plain["stats"]
    assert asked["by_url"][site.url("/a")]["type"] == "RenderedResponse"
    assert asked["by_url"][site.url("/b")]["type"] == "HtmlResponse"


def middleware(**settings: Any) -> RenderMiddleware:
    crawler = get_crawler(Spider, {**render_settings(Config()), **settings}, prevent_warnings=False)
    crawler.spider = crawler._create_spider("unit")
    return RenderMiddleware.from_crawler(crawler)


def test_requests_without_callback_or_browser_use_are_left_alone():
    render = middleware()
    for request in (
        Request("http://a.test/", callback=NO_CALLBACK),
        Request("http://a.test/", method="HEAD"),
        Request("http://a.test/", method="POST", body=b"\xff\xfe"),
        Request("ftp://a.test/"),
        Request("http://a.test/", meta={"playwright": False}),
    ):
        before = dict(request.meta)
        asyncio.run(render.process_request(request))
        request.meta.pop("download_maxsize", None)
        assert request.meta == before


def test_meta_copied_to_another_page_starts_anew():
    render = middleware(WEBSEGMENT_RENDER_RETRIES=1)
    request = Request("http://a.test/")
    asyncio.run(render.process_request(request))
    retry = render.process_exception(request, RuntimeError("first"))
    assert retry is not None
    asyncio.run(render.process_request(retry))
    plain = render.process_exception(retry, RuntimeError("second"))
    assert plain is not None
    asyncio.run(render.process_request(plain))
    assert "playwright" not in plain.meta
    assert plain.meta["websegment"]["render_error"] == "RuntimeError: second"
    assert render.process_exception(plain, RuntimeError("third")) is None
    redirected = plain.replace(url="http://a.test/2")
    redirected.meta["redirect_urls"] = ["http://a.test/"]
    asyncio.run(render.process_request(redirected))
    assert "playwright" not in redirected.meta
    assert redirected.meta["websegment"]["render_error"] == "RuntimeError: second"
    follow_up = Request("http://a.test/3", meta=redirected.meta)
    asyncio.run(render.process_request(follow_up))
    assert follow_up.meta["playwright"] is True
    assert "render_error" not in follow_up.meta["websegment"]
    assert redirected.meta["websegment"]["render_error"] == "RuntimeError: second"
    declined = Request(
        "http://a.test/4", meta={**follow_up.meta, "websegment": {"render": "never"}}
    )
    asyncio.run(render.process_request(declined))
    assert "playwright" not in declined.meta


def test_rendered_response_keeps_its_layout_through_replace():
    captured = Captured("<p>x", "ab")
    response = RenderedResponse("http://a.test/", body=b"<p>x", encoding="utf-8", captured=captured)
    assert response.replace(status=404).captured is captured
    assert response.replace(body=b"<p>other").captured is None, "the layout is not of this text"
    other = response.replace(cls=HtmlResponse, status=404)
    assert (type(other), other.status, other.text) == (HtmlResponse, 404, "<p>x")


if __name__ == "__main__":
    run_plan(*sys.argv[1:])
