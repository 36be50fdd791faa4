"""Draws docs/pictures/segments.png: a page of the example with its segments, and its main text.

By hand, when the page or what is found on it has changed (it needs a Chromium and Pillow, which the
extra ``plot`` brings)::

    python docs/pictures/make.py
"""

from __future__ import annotations

import base64
import io
import sys
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image
from playwright.sync_api import sync_playwright

from websegment_scrapy import analyze
from websegment_scrapy.crawl.browser import find_chromium
from websegment_scrapy.crawl.snapshot import Snapshotter

if TYPE_CHECKING:
    from websegment_scrapy.analysis import AnalyzedPage

ROOT = Path(__file__).resolve().parent.parent.parent
PICTURE = Path(__file__).with_name("segments.png")
PORT = 18651
SITE, PATH = 0, "/news/rain-gauge.html"

VIEWPORT = {"width": 1280, "height": 1024}  # that of rendering, so that the boxes fit
WIDTH, PAGE_WIDTH = 920, 520
SHARPNESS = 2
MARGIN = 14
"""Pixels of the page that are shown around its segments."""
PADDING = 5
"""Pixels of the page between the text of a segment and its outline."""
COLOURS = 96
"""Of the palette: flat colours and text need no more, and the file stays small."""

ROLES = {
    "main": "#1a7f37",
    "navigation": "#0969da",
    "header": "#8250df",
    "footer": "#bc4c00",
    "other": "#6e7781",
}


def draw() -> bytes:
    """Return the picture as PNG."""
    sys.path.insert(0, str(ROOT / "example_project"))
    from demo.server import WebServers

    servers = WebServers(PORT)
    servers.start()
    try:
        url = servers.sites[SITE].origin + PATH
        with Snapshotter() as snapshotter:
            page = analyze(snapshotter.render(url), url=url)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=find_chromium(None).executable, args=["--no-sandbox"]
            )
            shown = browser.new_page(viewport=VIEWPORT)
            shown.goto(url)
            screenshot = shown.screenshot(full_page=True)
            context = browser.new_context(
                viewport={"width": WIDTH, "height": 400}, device_scale_factor=SHARPNESS
            )
            composed = context.new_page()
            composed.set_content(compose(page, screenshot))
            picture = composed.screenshot(full_page=True)
            browser.close()
    finally:
        servers.stop()
    small = (
        Image.open(io.BytesIO(picture)).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    )
    packed = io.BytesIO()
    small.save(packed, "PNG", optimize=True)
    return packed.getvalue()


def compose(page: AnalyzedPage, screenshot: bytes) -> str:
    """Return the HTML of the picture: the page with its segments, and its main text."""
    segments = [segment for segment in page.segments if segment.words]
    left = min(segment.box[0] for segment in segments) - MARGIN
    right = max(segment.box[0] + segment.box[2] for segment in segments) + MARGIN
    bottom = max(segment.box[1] + segment.box[3] for segment in segments) + MARGIN
    image = Image.open(io.BytesIO(screenshot)).crop((left, 0, right, bottom))
    cropped = io.BytesIO()
    image.save(cropped, "PNG")
    scale = PAGE_WIDTH / image.width
    boxes = "".join(
        f'<i style="left:{(x - left - PADDING) * scale:.1f}px;top:{(y - PADDING) * scale:.1f}px;'
        f"width:{(width + 2 * PADDING) * scale:.1f}px;"
        f'height:{(height + 2 * PADDING) * scale:.1f}px;--role:{ROLES[segment.role]}"></i>'
        for segment in segments
        for x, y, width, height in [segment.box]
    )
    counts = {
        role: sum(segment.words for segment in segments if segment.role == role) for role in ROLES
    }
    legend = "".join(
        f'<span style="--role:{ROLES[role]}"><b></b>{role}, {words} words</span>'
        for role, words in counts.items()
        if words
    )
    title, *paragraphs = [line for line in page.main_text.split("\n") if line.strip()]
    text = "".join(f"<p>{escape(paragraph)}</p>" for paragraph in paragraphs)
    source = base64.b64encode(cropped.getvalue()).decode()
    total = sum(counts.values())
    return f"""<!DOCTYPE html><meta charset="utf-8"><style>
    * {{ box-sizing: border-box }}
    body {{ margin: 0; padding: 16px; width: {WIDTH}px; background: #fff; color: #1f2328;
            font: 14px/1.5 "DejaVu Sans", Arial, sans-serif }}
    main {{ display: flex; gap: 20px; align-items: stretch }}
    h2 {{ font-size: 14px; margin: 0 0 8px }}
    .page {{ position: relative; width: {PAGE_WIDTH}px; height: {image.height * scale:.0f}px;
             border: 1px solid #d0d7de; overflow: hidden; flex: none }}
    .page img {{ width: 100%; display: block }}
    i {{ position: absolute; border: 1.5px solid var(--role); border-radius: 3px;
         background: color-mix(in srgb, var(--role) 14%, transparent) }}
    .text {{ border: 2px solid {ROLES["main"]}; border-radius: 4px; padding: 12px 16px;
             font-size: 11.5px; line-height: 1.4; min-height: {image.height * scale:.0f}px }}
    .text h3 {{ margin: 0 0 6px; font-size: 16px }} .text p {{ margin: 0 0 6px }}
    footer {{ display: flex; gap: 22px; margin-top: 12px; font-size: 13px }}
    footer b {{ display: inline-block; width: 13px; height: 13px; margin-right: 6px;
                vertical-align: -2px; border: 2px solid var(--role);
                background: color-mix(in srgb, var(--role) 14%, transparent) }}
    </style><main>
    <div><h2>A page, its segments by role: {total} words</h2>
    <div class="page"><img src="data:image/png;base64,{source}">{boxes}</div></div>
    <div><h2>Its main text: {counts["main"]} words</h2>
    <div class="text"><h3>{escape(title)}</h3>{text}</div></div>
    </main><footer>{legend}</footer>"""


if __name__ == "__main__":
    PICTURE.write_bytes(draw())
    print(f"{PICTURE}: {PICTURE.stat().st_size / 1000:.0f} kB")
