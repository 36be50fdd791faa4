"""The layout in the HTML: written by a real browser, read, and removed without a trace."""

from __future__ import annotations

import html as html_module
import re
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree
from lxml import html as lxml_html

from tests.site import Site
from tests.test_render import own_browsers
from websegment_scrapy.crawl.snapshot import Snapshotter
from websegment_scrapy.exceptions import AnalysisError
from websegment_scrapy.page.capture import (
    PageCapture,
    Style,
    is_captured,
    read_box,
    read_page,
    read_text,
    strip_capture,
)

PAGE_VALUE = "{&quot;v&quot;:1,&quot;styles&quot;:[[&quot;block&quot;]]}"


@pytest.fixture(scope="module")
def snapshotter():
    with Snapshotter(settle=0.05, timeout=20) as opened:
        yield opened


def render(snapshotter: Snapshotter, folder: Path, text: str) -> str:
    path = folder / "page.html"
    path.write_text(text, encoding="utf-8")
    return snapshotter.render(path)


class Captured:
    def __init__(self, text: str) -> None:
        self.tree = lxml_html.document_fromstring(text)
        page = read_page(self.tree.get("data-ws-page"))
        assert page is not None
        self.page: PageCapture = page

    def element(self, name: str) -> etree._Element:
        return self.tree.get_element_by_id(name)

    def box(self, name: str) -> tuple[int, ...] | None:
        value = self.element(name).get("data-ws-box")
        return None if value is None else read_box(value)[:4]

    def style(self, name: str) -> Style:
        return self.page.styles[read_box(self.element(name).get("data-ws-box"))[4]]

    def texts(self, name: str) -> list[tuple[int, int, int, int] | None]:
        value = self.element(name).get("data-ws-text")
        return [] if value is None else read_text(value)


@pytest.mark.browser
def test_boxes_texts_and_styles_are_what_the_page_declares(snapshotter, tmp_path):
    captured = Captured(
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
    assert (captured.page.width, captured.page.page_width) == (1280, 1280)
    assert captured.page.page_height == 3000
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
    captured = Captured(
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
    assert captured.tree.body.get("data-ws-box") != "1 2 3 4 5"


@pytest.mark.browser
def test_strange_documents_are_captured_or_refused_but_never_hang(snapshotter, tmp_path):
    for text in ("", "<frameset cols='50%,50%'><frame><frame></frameset>", "<p>\ud83d\ude00 \0 x"):
        path = tmp_path / "odd.html"
        path.write_text(text, encoding="utf-8", errors="surrogatepass")
        assert is_captured(snapshotter.render(path))
    picture = tmp_path / "p.svg"
    picture.write_text('<svg xmlns="http://www.w3.org/2000/svg"><text>x</text></svg>')
    with pytest.raises(AnalysisError, match="not an HTML page"):
        snapshotter.render(picture)
    with pytest.raises(AnalysisError, match="neither an http"):
        snapshotter.render(tmp_path / "missing.html")
    many = "<body>" + "<p>a <b>b</b></p>" * 10_000
    assert render(snapshotter, tmp_path, many).count(" data-ws-box=") >= 20_000


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
    text = render(snapshotter, tmp_path, original)
    assert is_captured(text)
    assert is_captured(text.encode())
    assert not is_captured(original)
    assert strip_capture(text) == original
    assert strip_capture(original) == original


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
        assert is_captured(snapshotter.render(site.url("/")))
        (browser,) = (found for found in own_browsers() if found not in others)
        browser.kill()
        browser.wait(5)
        assert is_captured(snapshotter.render(site.url("/")))
        with pytest.raises(AnalysisError, match=r"not be rendered: .*ERR_"):
            snapshotter.render("http://127.0.0.1:1/")


def test_broken_values_are_none_not_errors():
    assert read_box("1 -2 3 4 5") == (1, -2, 3, 4, 5)
    for value in ("", "1 2 3 4", "1 2 3 4 5 6", "NaN 2 3 4 5", "1 2 -3 4 5", "1e9 2 3 4 5",
                  "9" * 5000 + " 2 3 4 5", "1.5 2 3 4 5", "१ 2 3 4 5"):  # fmt: skip
        assert read_box(value) is None, value
    assert read_text("1 2 3 4;-;x;5 6 7 8;") == [(1, 2, 3, 4), None, None, (5, 6, 7, 8), None]
    good = (
        '{"v":1,"width":1280,"height":9,"page_width":1280,"page_height":9,"styles":'
        '[["block",1,"000000","",16,400,"arial",0,0,0,"static","none"]]}'
    )
    page = read_page(good)
    assert page is not None
    assert page.styles[0].font_family == "arial"
    broken = (good.replace('"v":1', '"v":2'), good.replace("16", "[]"), good[:-3])
    for value in ("", "[]", "{}", "null", *broken, good.replace(',"none"', ""), "[" * 100_000):
        assert read_page(value) is None, value[:80]


RECT = st.tuples(*[st.integers(-999, 9999)] * 2, *[st.integers(0, 9999)] * 2).map(
    lambda rect: " ".join(map(str, rect))
)
BOX = st.tuples(RECT, st.integers(0, 99)).map(lambda pair: f' data-ws-box="{pair[0]} {pair[1]}"')
TEXT = st.lists(RECT | st.just("-"), min_size=1, max_size=3).map(
    lambda entries: f' data-ws-text="{";".join(entries)}"'
)
LOOKALIKE = st.sampled_from(
    [
        '<b data-ws-box="1 2 3 4 5">',
        ' data-ws-text="-">',
        "<script>",
        "<!--",
        "<style",
        "'",
        '"',
        "data-ws-page=",
        "é",
        "&quot;",
        ">",
        "<",
        "--",
        " ",
    ]
)
NASTY = st.lists(LOOKALIKE | st.text(max_size=5), max_size=4).map("".join)


def escape_text(text: str) -> str:
    return html_module.escape(text, quote=False)


def escape_value(text: str) -> str:
    # browsers before 2025 left < and > in attribute values as they are
    return text.replace("&", "&amp;").replace('"', "&quot;")


@st.composite
def elements(draw: st.DrawFn, depth: int = 3) -> tuple[str, str]:
    """Return a serialised element with capture attributes and the same without."""
    name = draw(st.sampled_from(["p", "div", "a-b", "h1", "script", "style", "iframe", "svg"]))
    attributes = "".join(
        f' {key}="{escape_value(value)}"'
        for key, value in draw(
            st.dictionaries(st.sampled_from(["id", "data-wsid", "data-ws-x", "title"]), NASTY)
        ).items()
    )
    mark = draw(st.just("") | BOX | TEXT | st.tuples(BOX, TEXT).map("".join))
    marked = plain = ""
    if name in {"script", "style", "iframe"}:
        marked = plain = re.sub(r"</", "", draw(NASTY)).removesuffix("<")
    elif depth:
        for _ in range(draw(st.integers(0, 3))):
            kind = draw(st.sampled_from(["text", "comment", "element"]))
            if kind == "element":
                with_mark, without = draw(elements(depth - 1))
            elif kind == "text":
                with_mark = without = escape_text(draw(NASTY))
            else:
                with_mark = without = f"<!--{draw(NASTY).replace('-', '')}-->"
            marked += with_mark
            plain += without
    close = f"</{name}>"
    return (
        f"<{name}{attributes}{mark}>{marked}{close}",
        f"<{name}{attributes}>{plain}{close}",
    )


@settings(max_examples=300)
@given(elements())
def test_stripping_undoes_capturing_for_any_document(pair):
    marked, plain = pair
    head = "<!DOCTYPE html><html"
    assert strip_capture(f'{head} data-ws-page="{PAGE_VALUE}">{marked}') == f"{head}>{plain}"


@pytest.mark.parametrize("unit", ["<a ", "<script", '<a b="', "<!-- ", " data-ws-box=", "<script>"])
def test_stripping_takes_linear_time_on_hostile_input(unit):
    started = time.perf_counter()
    text = unit * (1_000_000 // len(unit))
    assert strip_capture(text) == text
    assert time.perf_counter() - started < 2


def test_a_large_page_is_stripped_in_an_instant():
    row = '<p class="c" data-ws-box="1 2 3 4 5" data-ws-text="1 2 3 4">' + "word " * 20 + "</p>"
    text = row * (1_000_000 // len(row))
    started = time.perf_counter()
    stripped = strip_capture(text)
    assert time.perf_counter() - started < 0.5
    assert "data-ws" not in stripped
