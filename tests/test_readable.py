"""What a reader of a rendered page can get to see, as a real browser shows it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.test_capture import render
from tests.texts import prose
from websegment_scrapy import analyze
from websegment_scrapy.crawl.snapshot import Snapshotter
from websegment_scrapy.page.build import build_tree

HIDDEN = {
    "not displayed": "<div style='display:none'>WORD</div>",
    "hidden": "<div hidden>WORD</div>",
    "invisible": "<div style='visibility:hidden'>WORD</div>",
    "transparent": "<div style='opacity:0'><p>WORD</p></div>",
    "left of the page": "<div style='position:absolute;left:-9999px'>WORD</div>",
    "above the page": "<div style='position:absolute;top:-9999px'><p>WORD</p></div>",
    "indented away": "<h2 style='text-indent:-9999px'>WORD</h2>",
    "indented out of its box": "<h2 style='text-indent:100%;width:90px;white-space:nowrap;"
    "overflow:hidden'>WORD</h2>",
    "of no height": "<div style='height:0;overflow:hidden'><p>WORD</p></div>",
    "of one pixel": "<div style='width:1px;height:1px;overflow:hidden'><p>WORD</p></div>",
    "clipped": "<span style='position:absolute;clip:rect(0,0,0,0)'>WORD</span>",
    "of no size": "<div style='font-size:0'>WORD</div>",
    "for browsers without scripts": "<noscript>WORD</noscript>",
    "template": "<template><p>WORD</p></template>",
    "behind a link to another page": "<p><a href=/more>More</a></p><div hidden>WORD</div>",
    "another kind of element": "<div class='a b'>shown</div><div class='b c d' hidden>WORD</div>",
    "not displayed in what is opened": "<details><summary>S</summary><p>text"
    "<b style='display:none'>WORD</b></p></details>",
}
READABLE = {
    "shown": "<p>WORD</p>",
    "in the colour of the background": "<p style='color:#fff'>WORD</p>",
    "shown in what is hidden": "<div style='visibility:hidden'>a<p style='visibility:visible'>WORD",
    "of no box": "<div style='display:contents'>WORD</div>",
    "details": "<details><summary>S</summary><div>WORD</div></details>",
    "tab's panel": "<div role=tabpanel style='display:none'>WORD</div>",
    "panel that a control names": "<p>a</p><div hidden id=x>WORD</div><p>b</p>"
    "<p>c <button aria-controls='x'>d</button></p>",
    "panel that a link names": "<p>a</p><div hidden id=y>WORD</div><p>b</p><p>c <a href=#y>d</a>",
    "panel of the same class": "<div class='pane on'>a</div><div hidden class=pane id=z>WORD</div>",
    "item of a list": "<ul><li>a<li>b<li style='display:none'>WORD</ul>",
    "section under a button": "<h3><button>Q</button></h3><div hidden><p>WORD</p></div>",
    "section under what can be clicked": "<h3 style='cursor:pointer'>Q</h3>"
    "<div><div style='display:none'>WORD</div></div>",
    "text above 'read more'": "<p>a</p><div style='display:none'>WORD</div><a href='#'>More</a>",
    "rest of a long text": "<div style='height:40px;overflow:hidden'><p>a</p><p>b</p><p>c</p>"
    "<p>d</p><div>WORD</div></div>",
    "slide": "<div style='width:300px;overflow:hidden;white-space:nowrap'>"
    "<div style='display:inline-block;width:300px'>a</div><div style='display:inline-block'>WORD",
    "text that fades in": "<div style='opacity:0;transition:opacity 1s'><p>WORD</p></div>",
    "text that a script would fade in": "<p style='opacity:0;transition-property:opacity'>WORD</p>",
    "collapsed": "<div style='max-height:0;overflow:hidden;transition:all .3s'><p>WORD</p></div>",
    "scrolled": "<div style='height:20px;overflow:auto'><p>a</p><p style='margin-top:90px'>WORD",
}  # fmt: skip


@pytest.fixture(scope="module")
def snapshotter():
    with Snapshotter(settle=0, timeout=60) as opened:
        yield opened


def readable_cases(snapshotter: Snapshotter, folder: Path, cases: dict[str, str]) -> set[str]:
    """Render all cases as one page, each in a section of its own, and return those readable."""
    sections = "".join(
        f"<section><p>Before.</p><section>{html.replace('WORD', f'word{number}word')}</section>"
        "<p>After.</p></section>"
        for number, html in enumerate(cases.values())
    )
    page = render(snapshotter, folder, f"<!doctype html><body style='width:900px'>{sections}")
    tree = build_tree(page)
    assert tree.layout == "rendered"
    words = {tree.text_of(node): node for node in range(len(tree)) if tree.is_text[node]}
    return {name for number, name in enumerate(cases) if tree.readable[words[f"word{number}word"]]}


@pytest.mark.browser
def test_what_no_reader_can_see_is_not_readable(snapshotter, tmp_path):
    assert readable_cases(snapshotter, tmp_path, HIDDEN) == set()


@pytest.mark.browser
def test_what_is_shown_or_can_be_opened_is_readable(snapshotter, tmp_path):
    assert set(READABLE) - readable_cases(snapshotter, tmp_path, READABLE) == set()


@pytest.mark.browser
def test_a_page_that_shows_nothing_yet_has_its_text(snapshotter, tmp_path):
    html = f"<!doctype html><body style='opacity:0'><h1>A note</h1><p>{prose(1, 80)}</p>"
    page = analyze(render(snapshotter, tmp_path, html))
    assert page.rendered
    assert prose(1, 80) in page.main_text
    assert page.words <= page.page_words


MENU = "".join(f"<li><a href=/{n}>Menu entry {n}</a>" for n in range(9))
FOOTER = "<footer><p>All rights reserved. <a href=/imprint>Imprint</a></p></footer>"


@pytest.mark.browser
@pytest.mark.parametrize(
    "name", ["left of the page", "not displayed", "of no height", "transparent"]
)
def test_hidden_text_is_no_main_text_and_takes_none_of_its_place(snapshotter, tmp_path, name):
    visible, spam = prose(1, 42), prose(2, 296)
    hidden = HIDDEN[name].replace("WORD", f"<p>{spam}</p>")
    captured = render(
        snapshotter,
        tmp_path,
        f"<!doctype html><title>A short note</title><ul>{MENU}</ul><article><h1>A short note</h1>"
        f"<p>{visible}</p></article>{hidden}{FOOTER}",
    )
    page = analyze(captured)
    assert page.rendered
    assert visible in page.main_text
    assert spam[:40] not in page.main_text
    assert page.words <= page.page_words


@pytest.mark.browser
def test_text_that_a_reader_opens_is_main_text(snapshotter, tmp_path):
    visible, opened = prose(1, 80), prose(2, 120)
    captured = render(
        snapshotter,
        tmp_path,
        f"<!doctype html><title>A note</title><ul>{MENU}</ul><article><h1>A note</h1><p>{visible}"
        f"</p><div style='display:none'><p>{opened}</p></div><p><a href='#'>Read more</a></p>"
        f"</article>{FOOTER}",
    )
    page = analyze(captured)
    assert visible in page.main_text
    assert opened in page.main_text
    assert page.words <= page.page_words


@pytest.mark.parametrize("method", ["learned", "pagelevel", "largest"])
def test_the_words_of_the_main_text_are_among_those_of_the_page(method):
    hidden = f"<h1>T</h1><p hidden>{prose(3, 90)}</p><p style='display:none'>{prose(4, 60)}</p>"
    told = (
        '<script type="application/ld+json">{"@context": "https://schema.org", '
        f'"articleBody": "{prose(5, 80)}"}}</script><nav><a href=/>Home</a></nav>'
    )
    described = f"<meta name=description content='{prose(6, 30)}'><div id=app></div>"
    for html in (hidden, told, described, f"<p>{prose(7)}</p>{hidden}"):
        page = analyze(html, main_text=method)
        assert page.words <= page.page_words
