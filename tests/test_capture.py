"""The layout in the HTML: written by a real browser, read, and removed without a trace."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree
from lxml import html as lxml_html

from tests.site import Route, Site
from tests.test_render import own_browsers
from tests.timing import takes_under
from websegment_scrapy.crawl import trackers
from websegment_scrapy.crawl.snapshot import Snapshotter
from websegment_scrapy.exceptions import AnalysisError
from websegment_scrapy.page.build import build_tree
from websegment_scrapy.page.capture import (
    Captured,
    PageCapture,
    Style,
    read_box,
    read_page,
    read_text,
)


@pytest.fixture(scope="module")
def snapshotter():
    with Snapshotter(settle=0.05, timeout=20) as opened:
        yield opened


def render(snapshotter: Snapshotter, folder: Path, text: str) -> Captured:
    path = folder / "page.html"
    path.write_text(text, encoding="utf-8")
    return snapshotter.render(path)


class Reading:
    """A captured page, read attribute by attribute."""

    def __init__(self, captured: Captured) -> None:
        self.captured = captured
        self.tree = lxml_html.document_fromstring(captured.html)
        page = read_page(self.tree.get(captured.name("page")))
        assert page is not None
        self.page: PageCapture = page

    def element(self, name: str) -> etree._Element:
        return self.tree.get_element_by_id(name)

    def box(self, name: str) -> tuple[int, ...] | None:
        value = self.element(name).get(self.captured.name("box"))
        return None if value is None else read_box(value)[:4]

    def style(self, name: str) -> Style:
        return self.page.styles[read_box(self.element(name).get(self.captured.name("box")))[4]]

    def texts(self, name: str) -> list[tuple[int, int, int, int] | None]:
        value = self.element(name).get(self.captured.name("text"))
        return [] if value is None else read_text(value)


@pytest.mark.browser
def test_boxes_texts_and_styles_are_what_the_page_declares(snapshotter, tmp_path):
    captured = Reading(
        render(
            snapshotter,
            tmp_path,
            """<!doctype html><html><body style="margin:0;height:3000px">
<div id=a style="position:absolute;left:10px;top:20px;width:300px;height:40px;color:#123456;
  background:rgba(0,0,0,.5);font:italic 700 12.5px 'My Font',serif;border:1px solid red">x</div>
<p id=p style="position:absolute;top:100px;left:0;margin:0;font:20px/20px monospace">one
  <b id=b>two</b>\u200b<i>&nbsp;</i> three <span style="display:none">gone</span></p>
<u id=u>under <span id=us>lined</span></u>
<div id=c style="display:contents">contents</div>
<div id=n style="display:none"><p id=np>none</p></div>
<p id=v style="visibility:hidden">v</p>
<div style="opacity:0"><p id=o>o</p></div>
<p id=off style="position:absolute;left:-5000px">off</p>
<p id=sr style="position:absolute;width:1px;height:1px;overflow:hidden;clip:rect(0,0,0,0)">sr</p>
<div style="height:20px;overflow:hidden"><p id=in style="margin:0">in</p>
  <p id=cut style="margin-top:90px">cut</p></div>
<div style="height:20px;overflow:auto"><p id=scroll style="margin-top:90px">scroll</p></div>
<details><summary>s</summary><p id=d>closed</p></details>
<textarea id=t>typed</textarea><svg width=9 height=9><rect id=r width=5 height=5></rect></svg>
</body></html>""",
        )
    )
    assert captured.page.width == 1280
    assert captured.box("a") == (10, 20, 302, 42)
    style = captured.style("a")
    assert style == Style(
        "block", True, "123456", "808080", 12.5, 700, "my font", True, False, True, "absolute",
        "none",
    )  # fmt: skip
    first, third = captured.texts("p")
    (second,) = captured.texts("b")
    assert first is not None
    assert second is not None
    assert third is not None
    assert first[0] == 0
    assert abs(first[1] - 100) <= 4, "glyphs are higher than the line"
    assert abs(first[0] + first[2] - second[0]) <= 1
    assert second[0] + second[2] <= third[0] + 15
    assert second == captured.box("b")
    assert captured.style("b").font_weight == 700
    assert captured.style("us").underline
    assert captured.box("c") is None
    assert len(captured.texts("c")) == 1
    assert captured.box("n") is captured.box("np") is None
    assert captured.texts("np") == []
    for hidden in ("v", "o", "off", "sr", "cut", "d"):
        assert not captured.style(hidden).visible, hidden
    for shown in ("a", "p", "in", "scroll", "t", "r"):
        assert captured.style(shown).visible, shown
    assert captured.texts("t") == [None]
    assert captured.box("r")[2:] == (5, 5)


@pytest.mark.browser
def test_a_page_that_bends_the_platform_is_captured_all_the_same(snapshotter, tmp_path):
    captured = Reading(
        render(
            snapshotter,
            tmp_path,
            """<!doctype html><html data-ws-page="forged"><body data-ws-box="1 2 3 4 5">
<img name=documentElement><img name=body><form id=f>text
<input name=attributes><input name=setAttribute><input name=parentNode><input name=firstChild>
<input name=nextSibling><input name=nodeType><input name=getBoundingClientRect></form>
<script>
Array.prototype.toJSON = () => "broken"; Array.prototype.push = null; JSON.stringify = null;
Object.prototype.extra = "extra"; Promise = null; String.prototype.extra = 1;
customElements.define("x-host", class extends HTMLElement {
  connectedCallback() { this.attachShadow({mode: "open"}).innerHTML = "<slot></slot>"; }
});
for (let i = 0; i < 300; i++) {
  let node = document.getElementById("deep");
  while (node.lastElementChild) node = node.lastElementChild;
  node.append(document.createElement("div"), "t");
}
let n = 0; setInterval(() => document.getElementById("tick").textContent = n++, 5);
</script><div id=deep></div><p id=tick></p><x-host><p id=slotted>slotted</p></x-host></body></html>
""",
        )
    )
    assert captured.texts("f")[0] is not None
    assert captured.box("slotted")[2] > 0
    assert captured.tree.body.get("data-ws-box") == "1 2 3 4 5", "the page's own word, not ours"
    assert build_tree(captured.captured.plain()).layout == "static"
    assert build_tree(captured.captured).layout == "rendered"


@pytest.mark.browser
def test_strange_documents_are_captured_or_refused_but_never_hang(snapshotter, tmp_path):
    for text in ("", "<frameset cols='50%,50%'><frame><frame></frameset>", "<p>\ud83d\ude00 \0 x"):
        path = tmp_path / "odd.html"
        path.write_text(text, encoding="utf-8", errors="surrogatepass")
        assert Reading(snapshotter.render(path)).page.width == 1280
    picture = tmp_path / "p.svg"
    picture.write_text('<svg xmlns="http://www.w3.org/2000/svg"><text>x</text></svg>')
    with pytest.raises(AnalysisError, match="no HTML page"):
        snapshotter.render(picture)
    with pytest.raises(AnalysisError, match="neither an http"):
        snapshotter.render(tmp_path / "missing.html")
    many = "<body>" + "<p>a <b>b</b></p>" * 10_000
    captured = render(snapshotter, tmp_path, many)
    assert captured.html.count(captured.name("box")) >= 20_000


@pytest.mark.browser
def test_stripping_gives_back_what_the_browser_had(snapshotter, tmp_path):
    original = (
        '<!DOCTYPE html><html lang="en"><head><title>t &lt; data-ws-box="1 2 3 4 5"</title>'
        "<script>var x = '<b data-ws-box=\"1 2 3 4 5\">';</script></head>"
        '<body class="data-ws-box" title="&quot; data-ws-box=&quot;1 2 3 4 5&quot;">'
        '<!-- <p data-ws-text="-"> --><p data-wsid="7" data-ws-note="1 2 3 4 5">text</p>'
        '<pre>&lt;p data-ws-box="1 2 3 4 5"&gt;</pre>'
        '<iframe width="9"></iframe><textarea>&lt;p data-ws-text="-"&gt;</textarea>'
        "</body></html>"
    )
    captured = render(snapshotter, tmp_path, original)
    assert captured.html != original
    assert captured.plain() == original


@pytest.mark.browser
def test_servers_that_count_visitors_are_not_asked(monkeypatch):
    say = "document.write('<p>counted</p>')"
    with (
        Site({"/count.js": Route(body=say, content_type="text/javascript")}) as counter,
        Site({}) as site,
    ):
        origin = counter.url("/").rstrip("/")
        monkeypatch.setattr(trackers, "ORIGINS", (origin, "https://www.google-analytics.com"))
        script = f'<script src="{origin}/count.js?{{}}"></script>'
        site.routes["/"] = "<title>t</title><p>text</p>" + script.format("")
        site.routes["/shows"] = (
            f"<title>t</title><p>text</p><img src='/?of={origin}/a'>" + script.format("x")
        )
        counter.routes["/own"] = "<title>t</title><p>own</p>" + script.format("own")
        with Snapshotter(settle=0) as snapshotter:
            assert "counted" not in snapshotter.render(site.url("/")).html
            assert counter.requests == []
            assert "counted" not in snapshotter.render(site.url("/shows")).html
            assert any(path.startswith("/?of=") for path in site.hits), "it only names the other"
            assert "counted" in snapshotter.render(counter.url("/own")).html


@pytest.mark.browser
def test_a_snapshotter_survives_endless_scripts_and_a_killed_browser(tmp_path):
    others = own_browsers()
    with (
        Site({"/": "<title>ok</title><p>ok", "/loop": "<script>for (;;) {}</script>"}) as site,
        Snapshotter(timeout=4, settle=0) as snapshotter,
    ):
        snapshotter.render(site.url("/"))
        started = time.monotonic()
        with pytest.raises(AnalysisError, match="not rendered within 4 s"):
            snapshotter.render(site.url("/loop"))
        assert time.monotonic() - started < 15
        assert "ok" in snapshotter.render(site.url("/")).html
        (browser,) = (found for found in own_browsers() if found not in others)
        browser.kill()
        browser.wait(5)
        assert "ok" in snapshotter.render(site.url("/")).html
        with pytest.raises(AnalysisError, match=r"not be rendered: .*ERR_"):
            snapshotter.render("http://127.0.0.1:1/")


def test_broken_values_are_none_not_errors():
    assert read_box("1 -2 3 4 5") == (1, -2, 3, 4, 5)
    for value in ("", "1 2 3 4", "1 2 3 4 5 6", "NaN 2 3 4 5", "1 2 -3 4 5", "1e9 2 3 4 5",
                  "9" * 5000 + " 2 3 4 5", "1.5 2 3 4 5", "१ 2 3 4 5"):  # fmt: skip
        assert read_box(value) is None, value
    assert read_text("1 2 3 4;-;x;5 6 7 8;") == [(1, 2, 3, 4), None, None, (5, 6, 7, 8), None]
    good = (
        '{"v":3,"width":1280,"height":9,"page_width":1280,"page_height":9,"styles":'
        '[["block",1,"000000","",16,400,"arial",0,0,0,"static","none",0,1]]}'
    )
    page = read_page(good)
    assert page is not None
    assert page.styles[0].font_family == "arial"
    assert page.styles[0].pointer
    broken = (good.replace('"v":3', '"v":2'), good.replace("16", "[]"), good[:-3])
    for value in ("", "[]", "{}", "null", *broken, good.replace(',"none"', ""), "[" * 100_000):
        assert read_page(value) is None, value[:80]


MARK = "0123456789abcdef"
RECT = st.tuples(*[st.integers(-999, 9999)] * 2, *[st.integers(0, 9999)] * 2).map(
    lambda rect: " ".join(map(str, rect))
)
BOX = st.tuples(RECT, st.integers(0, 99)).map(
    lambda pair: f' data-ws-{MARK}-box="{pair[0]} {pair[1]}"'
)
TEXT = st.lists(RECT | st.just("-"), min_size=1, max_size=3).map(
    lambda entries: f' data-ws-{MARK}-text="{";".join(entries)}"'
)
NASTY = st.lists(
    st.sampled_from(
        ['<b data-ws-box="1 2 3 4 5">', ' data-ws-text="-">', " data-ws-00-box=", "<script>",
         "<!--", "'", '"', "é", "&quot;", ">", "<", " "]
    )
    | st.text(max_size=5),
    max_size=4,
).map("".join)  # fmt: skip


@settings(max_examples=300)
@given(st.lists(st.tuples(NASTY, st.just("") | BOX | TEXT), max_size=8))
def test_stripping_undoes_capturing_for_any_document(parts):
    marked = "".join(f"<p{attributes}>{text}" for text, attributes in parts)
    plain = "".join(f"<p>{text}" for text, _ in parts)
    assert Captured(marked, MARK).plain() == plain


@pytest.mark.parametrize(
    "unit", ["<a ", ' data-ws-box="1 2 3 4 5"', f" data-ws-{MARK}-box", f' data-ws-{MARK}-box="']
)
def test_stripping_takes_linear_time_on_hostile_input(unit):
    page = Captured(unit * (1_000_000 // len(unit)), MARK)
    assert takes_under(1, page.plain)


def test_a_large_page_is_stripped_in_an_instant():
    box, text = f' data-ws-{MARK}-box="1 2 3 4 5"', f' data-ws-{MARK}-text="1 2 3 4"'
    row = f'<p class="c"{box}{text}>' + "word " * 20 + "</p>"
    page = Captured(row * (1_000_000 // len(row)), MARK)
    assert takes_under(0.5, page.plain)
    assert "data-ws" not in page.plain()


@pytest.mark.parametrize("mark", ["", "x", "0 1", "0(a", "AB", "0" * 65])
def test_a_mark_is_hexadecimal(mark):
    with pytest.raises(ValueError, match="small hexadecimal digits"):
        Captured("<p>x", mark)
