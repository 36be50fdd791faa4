"""Where the fuzz has its pages from, and the form in which a browser would hand them over."""

from __future__ import annotations

import html
import itertools
import json
import re
from pathlib import Path
from random import Random

from websegment_scrapy.measure.datasets import CONTENT_SETS, content_pages, data_directory
from websegment_scrapy.page.capture import CAPTURE_VERSION, Captured

CORPUS = Path(__file__).parent / "corpus"
GATE = Path(__file__).parents[1] / "gate"
PAGES_OF_A_SET = 250
LONGEST = 300_000

_START_TAG = re.compile(r"<([a-zA-Z][a-zA-Z0-9]*)(?=[\s>/])")


def own_pages() -> list[bytes]:
    """Return the pages of our own: those of the accuracy gate, and nasty ones."""
    return [path.read_bytes() for path in sorted([*GATE.glob("*.html"), *CORPUS.glob("*.html")])]


def real_pages() -> list[bytes]:
    """Return the first pages of the data sets (``WEBSEGMENT_DATA``)."""
    data = data_directory()
    found = (
        page.html.encode("utf-8", "replace")
        for name in CONTENT_SETS
        for page in itertools.islice(content_pages(data, name), PAGES_OF_A_SET)
    )
    return [page for page in found if len(page) <= LONGEST]


def captured(rng: Random, text: str) -> Captured:
    """Return a page as it comes from the browser: with the layout in its tags, some of it odd."""
    mark = f"{rng.getrandbits(64):016x}"
    styles = [_style(rng) for _ in range(rng.choice((1, 5, 40)))]
    page = {
        "v": CAPTURE_VERSION, "width": 1280, "height": 800, "page_width": 1280,
        "page_height": 9000, "styles": styles,
    }  # fmt: skip
    top = 0

    def with_layout(match: re.Match[str]) -> str:
        nonlocal top
        top += rng.choice((0, 1, 20, 20, 300))
        box = f"{rng.choice((0, 8, 300, -50))} {top} {_length(rng)} {_length(rng)}"
        texts = ";".join([rng.choice((box, "-", f"0 {top} 0 0", "x"))] * rng.randrange(3))
        style = rng.randrange(len(styles) + (rng.random() < 0.05))
        found = f'{match[0]} data-ws-{mark}-box="{box} {style}"'
        return f'{found} data-ws-{mark}-text="{texts}"' if texts else found

    text = _START_TAG.sub(with_layout, text)
    value = html.escape(json.dumps(page))
    return Captured(f'<html data-ws-{mark}-page="{value}">{text}', mark)


def _length(rng: Random) -> int:
    return rng.choice((0, 0, 1, 20, 300, 1280, 999_999_999))


def _style(rng: Random) -> list[object]:
    return [
        rng.choice(("block", "inline", "inline-block", "none", "table-cell", "contents", "")),
        rng.random() < 0.9, rng.choice(("000000", "ffffff", "zzzzzz", "")),
        rng.choice(("", "", "eeeeee")), rng.choice((16, 12.5, 0, 1e9)), rng.choice((400, 700, 0)),
        rng.choice(("serif", "arial", "")), rng.random() < 0.1, rng.random() < 0.1,
        rng.random() < 0.1, rng.choice(("static", "absolute")), rng.choice(("none", "left")),
        rng.random() < 0.1, rng.random() < 0.1,
    ]  # fmt: skip
