"""What pages load by themselves when they are rendered: it is there, or it costs little."""

from __future__ import annotations

from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from tests import crawling
from tests.site import Site
from tests.test_render import crawl
from tests.texts import prose
from websegment_scrapy.crawl.finishing import MAX_REQUESTS, PageRequests
from websegment_scrapy.crawl.gone import ENOUGH, MAX_ORIGINS, SECONDS, GoneOrigins
from websegment_scrapy.crawl.snapshot import Snapshotter

PAGE = (
    "<!doctype html><title>x</title><p id=p></p>"
    "<script>const show = text => {{ p.append(text) }}; {}</script>"
)
ASKING = {
    "/fetch": "fetch('/data').then(answer => answer.text()).then(show)",
    "/xhr": "const x = new XMLHttpRequest(); x.onload = () => show(x.responseText); "
    "x.open('GET', '/data'); x.send()",
}


@pytest.mark.browser
def test_text_that_a_page_fetches_is_rendered(tmp_path: Path) -> None:
    pages = {path: PAGE.format(script) for path, script in ASKING.items()}
    with Site({**pages, "/data": "a sentence of the data"}) as site:
        result = crawl(tmp_path, [site.url(path) for path in pages])
        for path in pages:
            item = result["by_url"][site.url(path)]
            assert item["flags"] == ["playwright"]
            assert '<p id="p">a sentence of the data</p>' in item["text"], path


@pytest.mark.browser
def test_pages_of_a_site_do_not_ask_on_and_on_for_a_host_that_is_gone(tmp_path: Path) -> None:
    images = "".join(f"<img src='http://gone.invalid/{number}.png'>" for number in range(50))
    there = "<img src='/there.png' onload='p.append(`seen`)' onerror='p.append(`seen`)'>"
    page = f"<p id=p>Some words and </p>{images}{there}"
    with Site({"/1": page, "/2": page}) as site:
        done = crawling.crawl(
            [site.url("/1"), site.url("/2")],
            {"CONCURRENT_REQUESTS": 1},
            folder=tmp_path,
            spider="tests.spiders.FailureSpider",
        )
    for path in ("/1", "/2"):
        assert done.result(path)["rendered"] is True
        assert done.result(path)["main_text"] == "Some words and seen"
    failed = {key: count for key, count in done.stats.items() if key.startswith("failed/")}
    assert failed == {
        "failed/net::ERR_SOCKS_CONNECTION_FAILED": 50,
        "failed/net::ERR_BLOCKED_BY_CLIENT.Inspector": 50,
    }


@pytest.mark.browser
def test_of_frames_without_end_only_some_are_loaded(tmp_path: Path) -> None:
    frames = "".join(f"<iframe src='/frame?{number}'></iframe>" for number in range(500))
    with Site({"/": f"<p>{prose(1, 40)}</p>{frames}", "/frame": "<p>framed</p>"}) as site:
        done = crawling.crawl([site.url("/")], {"WEBSEGMENT_RENDER": "always"}, folder=tmp_path)
        assert 0 < sum("/frame" in path for path in site.hits) <= 200
    assert done.result(site.url("/"))["rendered"] is True
    assert done.result(site.url("/"))["words"] >= 40


@pytest.mark.browser
def test_of_requests_without_end_only_some_are_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    followed = []
    started = PageRequests._started

    def counted(self: PageRequests, request: Any) -> None:
        followed.append(request.url)
        started(self, request)

    monkeypatch.setattr(PageRequests, "_started", counted)
    asking = f"for (let n = 0; n < {3 * MAX_REQUESTS}; n++) fetch('/data?' + n); show('some words')"
    with Site({"/": PAGE.format(asking), "/data": "x"}) as site, Snapshotter() as browser:
        captured = browser.render(site.url("/"))
    assert "some words" in captured.html
    assert len(followed) == MAX_REQUESTS + 1


def test_an_origin_is_given_up_after_some_failures_and_no_other_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gone, refused = GoneOrigins(), "net::ERR_SOCKS_CONNECTION_FAILED"
    for number in range(ENOUGH):
        assert gone.patterns() == []
        gone.note("http://a.test/1", "net::ERR_ABORTED")
        gone.note("http://a.test/1", None)
        gone.note(f"https://me:secret@b.test:8443/{number}", refused)
        gone.note("http://*/", refused)
    wanted = ["https://b.test:8443/*", r"http://\*/*"]
    assert [each["urlPattern"] for each in gone.patterns()] == wanted
    monkeypatch.setattr("websegment_scrapy.crawl.gone.monotonic", lambda: monotonic() + SECONDS)
    gone.note("http://*/", refused)
    assert gone.patterns() == []
    for number in range(2 * MAX_ORIGINS):
        for _ in range(ENOUGH):
            gone.note(f"http://{number}.test/", refused)
    assert len(gone.patterns()) == MAX_ORIGINS
