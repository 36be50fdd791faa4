"""Visible text without an area is read like any other."""

from __future__ import annotations

import html
import json

import pytest

from websegment_scrapy.analysis import analyze
from websegment_scrapy.extraction import extract
from websegment_scrapy.page.capture import CAPTURE_VERSION, Captured
from websegment_scrapy.segment.registry import engine_names

MARK = "c0ffee"
STYLE = ["block", 1, "000000", "", 16, 400, "serif", 0, 0, 0, "static", "none", 0, 0]
WORDS = "The ferry leaves the harbour at noon, and whoever is late waits for the evening one. "


def rendered(body: str) -> Captured:
    """Return a page as a browser captures it; ``@x y w h`` in a tag stands for boxes of both."""
    page = {
        "v": CAPTURE_VERSION, "width": 1280, "height": 800, "page_width": 1280, "page_height": 900,
        "styles": [STYLE, ["inline", *STYLE[1:]]],
    }  # fmt: skip
    for style in (0, 1):
        sign = "@" if not style else "~"
        parts = body.split(sign)
        body = parts[0] + "".join(
            f'data-ws-{MARK}-box="{part[: part.index(">")]} {style}" '
            f'data-ws-{MARK}-text="{part[: part.index(">")]}"{part[part.index(">") :]}'
            for part in parts[1:]
        )
    value = html.escape(json.dumps(page))
    return Captured(
        f'<html data-ws-{MARK}-page="{value}" data-ws-{MARK}-box="0 0 1280 900 0">'
        f'<body data-ws-{MARK}-box="0 0 1280 900 0">{body}</body></html>',
        MARK,
    )


PAGE = rendered(
    f"<article @0 0 800 600><h1 @0 0 800 40>A day at the harbour</h1>"
    f"<p @0 50 800 60>{WORDS * 3}</p><p @0 120 800 60>{WORDS}<b ~400 120 0 20>\u200c</b></p>"
    f"<p @0 200 800 0>{WORDS * 2}</p><p @0 220 800 60>{WORDS * 4}</p></article>"
)


@pytest.mark.parametrize("engine", engine_names())
def test_text_without_an_area_is_part_of_the_main_text(engine: str) -> None:
    page = analyze(PAGE, engine=engine)
    assert page.rendered
    assert page.main_text.count("The ferry leaves") == 10
    assert "\u200c" in page.main_text


@pytest.mark.parametrize("main_text", ["learned", "pagelevel", "largest"])
@pytest.mark.parametrize("markdown", [True, False])
def test_every_way_to_the_main_text_takes_it(main_text: str, *, markdown: bool) -> None:
    assert "harbour" in extract(PAGE, main_text=main_text, markdown=markdown).main_text


def test_a_page_of_nothing_else_has_its_text() -> None:
    page = rendered(f"<p @0 0 0 0>{WORDS * 20}</p>")
    assert "ferry" in extract(page).main_text


def test_a_stray_text_that_the_estimate_gives_no_box_parts_the_others_all_the_same() -> None:
    html = f"<p>{WORDS * 3}</p><table><tr><td>{WORDS} one</td>*<td>{WORDS} two</td></tr></table>"
    assert analyze(html).main_text == extract(html).main_text
