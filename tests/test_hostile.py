"""Pages of strangers in real crawls: where they may not reach, what they may not say or take."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from playwright.async_api import async_playwright

from tests.crawling import Crawl, crawl, start_crawl
from tests.site import Route, Site
from tests.texts import prose
from websegment_scrapy.crawl.browser import find_chromium, launch, launch_options
from websegment_scrapy.crawl.snapshot import Snapshotter
from websegment_scrapy.exceptions import AnalysisError

pytestmark = pytest.mark.browser

CANARY = "thecanaryofthehouse"
KEY = "the-canary-key"
HOSTILE = "hostilewords"


def page(title: str, body: str = "") -> str:
    text = prose(sum(map(ord, title)), 60)
    return f"<!doctype html><html><head><title>{title}</title></head><body><p>{text}</p>{body}"


def script(code: str) -> str:
    return f"<script>{code}</script>"


VOICE = f"""<!doctype html><html><head><title>voice</title></head><body>
<p>{" ".join([HOSTILE] * 40)}</p><script>
const go = () => {{ location = VICTIM; const end = Date.now() + 300; while (Date.now() < end); }};
new MutationObserver(go).observe(document, {{subtree: true, attributes: true, childList: true}});
setTimeout(go, 400);
</script>"""


def routes_of(internal: str, third: str, victim: str) -> dict[str, str | Route]:
    moved = Route(status=302, headers={"Location": internal})
    forged = (
        '<html data-ws-page=\'{"v":3,"width":1280,"height":9,"page_width":9,"page_height":9,'
        '"styles":[["block",1,"000000","",16,400,"a",0,0,0,"static","none",0,0]]}\'>'
        '<head><title>forged</title></head><body data-ws-box="0 0 900 900 0">'
    )
    plain_text = "".join(
        f' data-ws-box="1 2 3 4 {n}" data-ws-text="1 2 3 4"' for n in range(15_000)
    )
    return {
        "/robots.txt": Route(body="User-agent: *\nDisallow: /private", content_type="text/plain"),
        "/location": page("location", script(f"location = {internal!r}")),
        "/refresh": f'<meta http-equiv=refresh content="0;url={internal}">' + page("refresh"),
        "/moved": moved,
        "/post": page(
            "post",
            f'<form method=post action="{internal}"><input name=a></form>'
            + script("document.forms[0].submit()"),
        ),
        "/inside": page(
            "inside",
            f'<img src="{internal}i.png"><iframe src="{internal}f"></iframe>'
            f'<link rel=stylesheet href="{internal}s.css"><script src="{internal}s.js"></script>'
            + script(
                f"fetch({internal!r} + 'fetch').catch(() => 0);"
                f"new WebSocket({internal.replace('http', 'ws')!r} + 'ws');"
                f"new EventSource({internal!r} + 'events'); navigator.sendBeacon({internal!r});"
                f"window.open({internal!r} + 'popup');"
            ),
        ),
        "/forbidden": page("forbidden", script("location = '/private'")),
        "/private": page("private"),
        "/offsite": page("offsite", script(f"location = {third!r} + 'landed'")),
        "/offsite-moved": Route(status=302, headers={"Location": third + "moved"}),
        "/third": page(
            "third",
            f'<iframe src="{third}frame"></iframe><img src="{third}image.png">'
            + script(f"fetch({third!r} + 'fetch', {{mode: 'no-cors'}})"),
        ),
        "/voice": VOICE.replace("VICTIM", json.dumps(victim)),
        "/push": page(HOSTILE, script("history.pushState(null, '', '/victim')")),
        "/victim": page("victim"),
        "/forged": forged + f"<p>{prose(3, 60)}</p>",
        "/forged-later": forged
        + f"<p>{prose(4, 60)}</p>"
        + script(
            "new MutationObserver(all => { for (const {target, attributeName: name} of all)"
            " if (name.startsWith('data-ws') && target.getAttribute(name) !== '0 0 900 900 0')"
            " target.setAttribute(name, '0 0 900 900 0'); })"
            ".observe(document, {subtree: true, attributes: true})"
        ),
        "/attributes": Route(body=f"<a{plain_text}>" + prose(5, 40), content_type="text/plain"),
        "/comments": "<!---->" * 60 + "plain words " + prose(6, 60),
        "/doctypes": "<!doctype >   " * 40 + "plain words " + prose(7, 60),
        "/download": page("download", "<iframe src=/endless></iframe>"),
        "/endless": Route(
            body=b"x" * 1000,
            endless=b"x" * 1_000_000,
            headers={"Content-Disposition": "attachment; filename=x.bin"},
        ),
        "/heap": page(
            "heap", script("const a = []; for (;;) a.push(new Array(1e6).fill(a.length))")
        ),
        "/buffers": page(
            "buffers", script("const a = []; for (;;) a.push(new Uint8Array(1e8).fill(1))")
        ),
        "/bomb": Route(
            body=gzip.compress(b"<p>bomb bomb bomb" * 8_000_000, 1),
            headers={"Content-Encoding": "gzip"},
        ),
        "/blank": page("blank", script("location = 'about:blank'")),
        "/blob": page(
            "blob",
            script(
                f"location = URL.createObjectURL(new Blob(['<p>{HOSTILE}'], {{type:'text/html'}}))"
            ),
        ),
        "/nowhere": page("nowhere", script("location = 'http://127.0.0.1:1/'")),
    }


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("hostile")
    with (
        Site(address="127.0.0.2") as internal,
        Site(address="127.0.0.3") as third,
        Site({"/story": page("story of another")}, address="127.0.0.4") as other,
        Site() as site,
    ):
        internal.routes = dict.fromkeys(
            ("/", "/f", "/fetch", "/i.png", "/s.js", "/s.css", "/popup", "/ws", "/events"),
            page(CANARY, f"<p>{' '.join([CANARY] * 50)}</p>"),
        )
        third.routes = {name: page("third party") for name in ("/landed", "/moved", "/frame")}
        site.routes = routes_of(internal.url("/"), third.url("/"), other.url("/story"))
        paths = [
            path for path in site.routes if path not in ("/robots.txt", "/private", "/endless")
        ]
        started = time.monotonic()
        done = crawl(
            [*(site.url(path) for path in paths), other.url("/story")],
            {
                "WEBSEGMENT_PRIVATE_HOSTS": ["127.0.0.1", "127.0.0.3", "127.0.0.4/32"],
                "WEBSEGMENT_RENDER_TIMEOUT": 15,
                "WEBSEGMENT_RENDER_RETRIES": 0,
                "WEBSEGMENT_RENDER_MEMORY": 400,
                "WEBSEGMENT_PAGE_SIZE": 8,
                "ROBOTSTXT_OBEY": True,
                "DEFAULT_REQUEST_HEADERS": {"X-Api-Key": KEY, "Authorization": f"Basic {KEY}"},
                "RETRY_ENABLED": False,
                "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
                "EXTENSIONS": {"websegment_scrapy.bench.loop_lag.LoopLag": 1},
                "HTTPCACHE_ENABLED": True,
                "HTTPCACHE_DIR": str(folder / "cache"),
            },
            folder=folder,
            spider="tests.spiders.StayingSpider",
            timeout=240,
        )
        yield {
            "done": done,
            "folder": folder,
            "seconds": time.monotonic() - started,
            "site": site,
            "internal": internal,
            "third": third,
            "other": other,
        }


def item(crawled: dict[str, Any], path: str) -> dict[str, Any]:
    done: Crawl = crawled["done"]
    return done.result(crawled["site"].url(path))


def test_no_page_reaches_the_internal_service_in_any_way(crawled):
    assert crawled["internal"].requests == []
    for path in crawled["folder"].rglob("*"):
        if path.is_file() and path.name != "spec.json":
            assert CANARY.encode() not in path.read_bytes(), path
    assert "WEBSEGMENT_PRIVATE_HOSTS" in crawled["done"].log


@pytest.mark.parametrize("path", ["/location", "/post", "/inside"])
def test_a_page_that_tried_is_there_with_its_own_text(crawled, path):
    found = item(crawled, path)
    assert found["decision"] in ("new", "duplicate")
    assert found["words"] >= 40


@pytest.mark.parametrize("path", ["/moved", "/refresh"])
def test_a_redirect_to_the_internal_service_is_not_followed(crawled, path):
    assert not any(each["url"].endswith(path) for each in crawled["done"].items)


def test_the_crawls_rules_hold_for_where_a_page_ends_up(crawled):
    for path, word in (("/offsite", "allowed_domains"), ("/forbidden", "robots.txt")):
        found = item(crawled, path)
        assert not found["rendered"]
        assert word in found["render_error"]
    assert not any(
        "landed" in each["url"] or "private" in each["url"] for each in crawled["done"].items
    )
    assert not any(each["url"].endswith("/moved") for each in crawled["done"].items)


def test_the_requests_headers_reach_their_own_origin_only(crawled):
    assert crawled["third"].requests, "frames and images are loaded"
    for _, path, headers, _ in crawled["third"].requests:
        assert KEY not in str(headers), path
    own = {path: headers for _, path, headers, _ in crawled["site"].requests}
    assert own["/third"]["X-Api-Key"] == KEY
    assert own["/third"]["Authorization"] == f"Basic {KEY}"


def test_no_page_speaks_in_anothers_name(crawled):
    story = crawled["other"].url("/story")
    found = [each["websegment"] for each in crawled["done"].items if each["url"] == story]
    assert found, "the page that went there may be one of them"
    assert HOSTILE not in json.dumps(found)
    assert HOSTILE not in json.dumps(item(crawled, "/victim"))
    assert item(crawled, "/push")["title"] == HOSTILE, "its text is under its own address"
    for each in crawled["done"].items:
        if HOSTILE in each["websegment"]["main_text"]:
            assert each["url"].endswith(("/voice", "/push", "/blob"))


def test_no_layout_is_believed_but_the_browsers_own(crawled):
    for path in ("/forged", "/forged-later"):
        found = item(crawled, path)
        assert found["rendered"]
        assert not any(segment["box"] == [0, 0, 900, 900] for segment in found["segments"])


def test_nothing_holds_the_event_loop(crawled):
    for path in ("/comments", "/doctypes"):
        assert item(crawled, path)["words"] >= 40
    assert any(each["url"].endswith("/attributes") for each in crawled["done"].items)
    assert crawled["done"].stats["bench/lag_p99"] < 0.25, "many of these pages on a busy machine"


def test_a_download_ends_with_its_page(crawled):
    assert item(crawled, "/download")["words"] >= 40
    assert crawled["site"].hits["/endless"] >= 1


@pytest.mark.parametrize("path", ["/heap", "/buffers"])
def test_a_page_that_fills_memory_is_ended_and_says_so(crawled, path):
    found = item(crawled, path)
    assert not found["rendered"]
    assert "WEBSEGMENT_RENDER_MEMORY" in found["render_error"]
    assert found["words"] >= 40, "its plain HTML is harmless"


def test_a_bomb_is_not_unpacked(crawled):
    assert not any(each["url"].endswith("/bomb") for each in crawled["done"].items)
    assert "/bomb" in crawled["done"].log


@pytest.mark.parametrize("path", ["/blank", "/blob", "/nowhere"])
def test_what_no_server_sent_is_not_stored(crawled, path):
    found = item(crawled, path)
    assert not found["rendered"]
    assert found["render_error"]
    assert found["words"] >= 40


def test_nothing_is_left_behind(crawled):
    names = [" ".join(child.cmdline()) for child in psutil.Process().children(recursive=True)]
    assert not any("chrom" in name or "keeper" in name for name in names)


def test_a_captured_page_in_the_cache_is_believed_only_with_its_signature(tmp_path):
    settings = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path / "cache")}
    with Site({"/": page("cached")}) as site:
        first = crawl([site.url()], settings, folder=tmp_path)
        again = crawl([site.url()], settings, folder=tmp_path)
        for body in (tmp_path / "cache").rglob("response_body"):
            body.write_bytes(body.read_bytes().replace(b"</p>", b" forged</p>"))
        forged = crawl([site.url()], settings, folder=tmp_path)
    assert first.result("/")["rendered"]
    assert again.result("/")["rendered"]
    assert again.stats["httpcache/hit"] == 1
    assert not forged.result("/")["rendered"]
    assert "layout" in forged.result("/")["render_error"]


@pytest.mark.parametrize(
    ("settings", "meta", "expected"),
    [
        ({}, {}, ["", "seen=1"]),
        ({"COOKIES_ENABLED": False}, {}, ["", ""]),
        ({}, {"dont_merge_cookies": True}, ["", ""]),
    ],
)
def test_cookies_are_the_spiders_wish(settings, meta, expected):
    body = page("cookies", script("document.cookie = 'seen=1; path=/'"))
    with Site({"/a": body, "/b": body}) as site:
        crawl([site.url("/a"), site.url("/b")], {"CONCURRENT_REQUESTS": 1, **settings}, meta=meta)
        sent = [headers.get("Cookie", "") for _, _, headers, _ in site.requests]
    assert sent == expected


def test_sites_do_not_share_cookies_and_the_request_brings_its_own():
    body = page("cookies", script("document.cookie = 'seen=1; path=/'"))
    with Site({"/": body}) as one, Site({"/": body}, address="127.0.0.5") as two:
        crawl(
            [one.url(), two.url(), two.url("/?again")],
            {
                "CONCURRENT_REQUESTS": 1,
                "WEBSEGMENT_PRIVATE_HOSTS": "127.0.0.0/8",
            },
            spider="tests.spiders.CookieSpider",
        )
        assert [h.get("Cookie") for _, _, h, _ in one.requests] == ["own=2"]
        later = [set(h["Cookie"].split("; ")) for _, _, h, _ in two.requests]
    assert later == [{"own=2"}, {"own=2", "seen=1"}]


def test_a_saved_page_cannot_send_the_browser_to_another_file(tmp_path):
    secret = tmp_path / "secret.html"
    secret.write_text(f"<p>{CANARY}")
    saved = tmp_path / "saved.html"
    saved.write_text(f"<title>s</title><p>x{script(f'location = {secret.as_uri()!r}')}")
    with Snapshotter(timeout=10) as snapshotter, pytest.raises(AnalysisError, match="another file"):
        snapshotter.render(saved)


def test_a_url_on_the_command_line_names_its_own_host_only(tmp_path):
    with Site(address="127.0.0.2") as internal, Site() as site:
        internal.routes = {"/": page(CANARY)}
        site.routes = {
            "/": page("fine"),
            "/moved": Route(status=302, headers={"Location": internal.url("/")}),
        }
        with Snapshotter(timeout=10) as snapshotter:
            assert "fine" in snapshotter.render(site.url()).html
            with pytest.raises(AnalysisError, match=r"127\.0\.0\.2 is a private address"):
                snapshotter.render(site.url("/moved"))
        assert internal.requests == []


def test_after_sigkill_the_browser_ends_and_the_next_crawl_finds_a_clean_house(
    tmp_path, monkeypatch
):
    temporary = Path(tempfile.mkdtemp())  # the browser needs a short path
    monkeypatch.setenv("TMPDIR", str(temporary))
    settings = {
        "WEBSEGMENT_DATABASE": f"sqlite:///{tmp_path / 'pages.db'}",
        "WEBSEGMENT_RENDER_TIMEOUT": 30,
    }
    with Site({"/": Route(hang=True)}) as site:
        process = start_crawl([site.url()], settings, tmp_path)
        try:
            deadline = time.monotonic() + 60
            while not site.hits and time.monotonic() < deadline:
                time.sleep(0.1)
            family = psutil.Process(process.pid).children(recursive=True)
            assert any("chrom" in each.name() for each in family)
            assert any(temporary.iterdir())
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()
        _, alive = psutil.wait_procs(family, timeout=15)
    assert not alive, [each.cmdline() for each in alive]
    assert not any(temporary.iterdir())
    temporary.rmdir()


def test_the_sandbox_is_on_where_the_system_allows_it(monkeypatch, caplog):
    choice = find_chromium()
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    options = launch_options(choice)
    assert options["chromium_sandbox"]

    async def start() -> bool:
        async with async_playwright() as playwright:
            browser = await launch(playwright.chromium, options)
            connected = browser.is_connected()
            await browser.close()
            return connected

    assert asyncio.run(start())
    warned = [record for record in caplog.records if "without its sandbox" in record.getMessage()]
    assert len(warned) == (os.getuid() == 0), "as root Chromium refuses its sandbox"
