"""The viewer as a person uses it, in a real Chromium."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.seen import HOSTILE, Watched, article, browser, fill
from tests.test_report import hostile_database
from tests.texts import prose
from tests.viewing import viewing
from websegment_scrapy.crawl.snapshot import Snapshotter
from websegment_scrapy.page.capture import Captured
from websegment_scrapy.view.server import ViewServer
from websegment_scrapy.view.viewer import Document

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ViewServer, Path]]:
    """Serve a database, a page that was rendered and one that was not."""
    folder = tmp_path_factory.mktemp("view")
    fill(f"sqlite:///{folder}/store.db")
    (folder / "page.html").write_text(article(f"{prose(1)}\n{prose(2)}\n{prose(3)}"))

    def render() -> tuple[Captured, bytes | None]:
        with Snapshotter() as snapshotter:
            return snapshotter.render_with_picture(folder / "page.html")

    # In a thread of its own: here Playwright's loop may run already.
    with ThreadPoolExecutor(1) as executor:
        captured, picture = executor.submit(render).result()
    assert picture is not None
    assert picture.startswith(b"\xff\xd8")
    documents = [
        Document("rendered", captured, "http://a.example/x", None, picture),
        Document("plain", article(prose(1)), "http://a.example/y"),
        Document("hostile", hostile_page(), "javascript:alert(1)"),
    ]
    with viewing(folder / "marks.jsonl", f"sqlite:///{folder}/store.db", documents) as server:
        yield server, folder / "marks.jsonl"


def hostile_page() -> str:
    """Return a page that shows hostile strings as its text, and is hostile itself."""
    from html import escape

    texts = [f"<p title='{escape(text[:200])}'>{escape(text[:2000])}</p>" for text in HOSTILE]
    scripts = "<script>alert(1)</script><img src=http://evil.example/ onerror=alert(2)>"
    return f"<title>{escape(HOSTILE[1])}</title>{scripts}<h1>{prose(4)}</h1>{''.join(texts)}"


@pytest.fixture(scope="module")
def chromium(served: tuple[ViewServer, Path]) -> Iterator[Browser]:
    """Start a browser when that of the rendering has ended: its keeper ends all of its kind."""
    with browser() as started:
        yield started


def opened(
    chromium: Browser, url: str, width: int = 1440, scheme: str = "light"
) -> tuple[Watched, Page]:
    context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    watched = Watched(context.new_page())
    watched.page.set_default_timeout(30_000)
    watched.page.goto(url)
    return watched, watched.page


def test_a_segment_is_hovered_its_reason_read_the_engine_switched_and_it_is_marked_wrong(
    chromium: Browser, served: tuple[ViewServer, Path]
) -> None:
    server, marks = served
    watched, page = opened(chromium, f"{server.url}page/0")
    box = page.locator("g.r-main rect").last
    box.scroll_into_view_if_needed()
    box.hover()
    about = page.locator("#about")
    assert "Segment" in about.locator("h2").inner_text()
    assert "templateness" in about.inner_text()
    assert "Evidence, above 0 for main text" in about.inner_text()
    assert "words are main text." in about.locator(".verdict").inner_text()
    assert "/html" in about.inner_text()
    page.locator("#tree button.r-navigation").first.click()
    assert about.locator(".verdict").inner_text().startswith("Left out: none of its ")
    line = page.locator("#main button", has_text=prose(2)[:40])
    line.click()
    assert "main" in page.locator("#about h2").inner_text()
    assert page.locator("g.on").count() == 1
    about.get_by_role("button", name="it is template").click()
    page.get_by_text("Written to").wait_for()
    about.get_by_role("button", name="its border is wrong").click()
    where = about.get_by_label("Where its border should be")
    about.get_by_role("button", name="write it down").click()
    page.get_by_text("Say where first").wait_for()
    where.select_option(
        where.locator("optgroup").nth(0).locator("option").last.get_attribute("value")
    )
    about.get_by_role("button", name="write it down").click()
    page.get_by_text("Written to").and_(page.get_by_text("cut.")).wait_for()
    mark, border = [json.loads(each) for each in marks.read_text().splitlines()]
    assert (mark["kind"], mark["role"]) == ("template", "main")
    assert border["border"]["should"] == "cut"
    assert len(border["border"]["between"]) == 2
    with page.expect_navigation():
        page.get_by_label("Engine").select_option("wps-margin")
    assert "engine=wps-margin" in page.url
    assert page.locator("#tree .soft", has_text="cut:").count() >= 1
    assert watched.outside(server.url) == watched.errors == watched.harmed() == []


def test_outlines_lie_where_the_segments_are_on_the_picture(
    chromium: Browser, served: tuple[ViewServer, Path]
) -> None:
    server, _ = served
    _, page = opened(chromium, f"{server.url}page/0")
    page.wait_for_function("document.querySelector('.shown img').complete")
    scale = page.evaluate(
        "document.querySelector('.shown img').clientWidth /"
        " document.querySelector('.shown img').naturalWidth"
    )
    data = json.loads(page.locator("#data").text_content() or "")
    segment = next(each for each in data["page"]["segments"] if each["role"] == "main")
    shape = page.get_by_role("button", name=f"Segment {segment['id']}:").locator("rect")
    found, frame = shape.bounding_box(), page.locator(".shown img").bounding_box()
    assert found is not None
    assert frame is not None
    assert abs(found["x"] - frame["x"] - scale * segment["box"][0]) < 4
    assert abs(found["y"] - frame["y"] - scale * segment["box"][1]) < 4
    assert abs(found["width"] - scale * segment["box"][2]) < 8


def test_the_keyboard_goes_through_the_segments(
    chromium: Browser, served: tuple[ViewServer, Path]
) -> None:
    server, _ = served
    watched, page = opened(chromium, f"{server.url}page/1")
    page.locator("#shown").focus()
    titles = set()
    for _ in range(4):
        page.keyboard.press("Tab")
        titles.add(page.locator("#about h2").inner_text())
    assert len(titles) >= 2
    assert "estimated from the HTML" in page.locator("main").inner_text()
    assert watched.errors == []


def test_a_copy_is_followed_to_its_pair(chromium: Browser, served: tuple[ViewServer, Path]) -> None:
    server, _ = served
    watched, page = opened(chromium, server.url)
    page.get_by_label("Address, host or title").fill("Copied")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Copied").click()
    page.get_by_role("link", name="side by side").first.click()
    marks = page.locator(".text").nth(1).locator("mark")
    marks.first.click()
    assert page.locator(".text").nth(0).locator("mark.on").count() >= 1
    assert page.locator(".only").count() >= 1
    assert watched.outside(server.url) == watched.errors == watched.harmed() == []


@pytest.mark.parametrize("width", [360, 1440])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_wider_than_the_window(
    chromium: Browser, served: tuple[ViewServer, Path], width: int, scheme: str
) -> None:
    server, _ = served
    paths = ("", "?q=bridge", "url/2", "pair/2/1", "cluster/1", "site?host=c.example", "page/0",
             "page/1", "page/2", "none")  # fmt: skip
    watched, page = opened(chromium, server.url, width, scheme)
    for path in paths:
        page.goto(f"{server.url}{path}")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
    assert watched.harmed() == []
    assert watched.outside(server.url) == []


def test_hostile_strings_run_nothing_and_ask_for_nothing(
    chromium: Browser, served: tuple[ViewServer, Path], tmp_path: Path
) -> None:
    hostile_database(f"sqlite:///{tmp_path}/store.db")
    documents = [Document(HOSTILE[0], hostile_page(), HOSTILE[2])]
    with viewing(tmp_path / "m.jsonl", f"sqlite:///{tmp_path}/store.db", documents) as server:
        watched, page = opened(chromium, server.url)
        pending, seen = [server.url, f"{server.url}page/0"], set()
        while pending and len(seen) < 80:
            url = pending.pop()
            if url in seen:
                continue
            seen.add(url)
            page.goto(url)
            page.evaluate(
                "document.querySelectorAll('a, button, td, g').forEach((each) => "
                "each.dispatchEvent(new MouseEvent('mouseenter', {bubbles: true})))"
            )
            assert watched.harmed() == [], url
            pending += page.evaluate("[...document.links].map((a) => a.href.split('#')[0])")
        assert len(seen) > 40
        assert watched.outside(server.url) == watched.errors == []


def test_another_site_in_the_same_browser_cannot_read_the_viewer(
    chromium: Browser, served: tuple[ViewServer, Path]
) -> None:
    from tests.site import Site

    server, _ = served
    with Site({"/": "<p>Hi"}) as site:
        _, page = opened(chromium, site.url("/"))
        read = page.evaluate(
            "(url) => fetch(url).then((answer) => answer.text()).catch(() => 'refused')", server.url
        )
        assert read == "refused"
        framed = page.evaluate(
            """(url) => new Promise((done) => { const frame = document.createElement('iframe');
            frame.onload = () => { try { done(frame.contentDocument?.body?.innerText ?? 'refused') }
            catch { done('refused') } }; frame.src = url; document.body.append(frame); })""",
            server.url,
        )
        assert framed == "refused"
