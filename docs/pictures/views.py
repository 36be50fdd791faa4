"""Draws docs/pictures/report.png and view.png: the report of the example, and a page in the viewer.

By hand, when the views have changed (it needs a Chromium and Pillow, which the extra ``plot``
brings), after ``make demo``, whose results it shows::

    python docs/pictures/views.py
    python docs/pictures/views.py --all DIR   # every view, narrow and wide, dark and light
"""

from __future__ import annotations

import argparse
import io
import os
import sys
import threading
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from PIL import Image
from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "example_project"))

from demo.server import WebServers

from websegment_scrapy.cli.main import main as websegment
from websegment_scrapy.crawl.browser import find_chromium
from websegment_scrapy.crawl.snapshot import Snapshotter
from websegment_scrapy.pool import AnalysisPool
from websegment_scrapy.store.queries import changed, open_for_reading, pairs
from websegment_scrapy.view.lookups import page_by_url
from websegment_scrapy.view.marks import Marks
from websegment_scrapy.view.server import ViewServer
from websegment_scrapy.view.texts import SiteRules
from websegment_scrapy.view.viewer import Document, Viewer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parent.parent / "example_project" / "results"
FEEDS = ("first.jsonl", "second.jsonl")
PORT = 18651
SITE, PATH = 0, "/news/rain-gauge.html"
COLOURS = 128
"""Of the palette: flat colours and text need no more, and the files stay small."""

YEAR_1 = datetime(1, 1, 1, tzinfo=UTC)
WIDTHS, SCHEMES = (360, 1440), ("light", "dark")


@contextmanager
def served() -> Iterator[tuple[str, int, int, int, str]]:
    """Serve the example's database and a page of it.

    Gives its address, the ids of a pair and of a page that changed, and the pair's site.
    """
    with ExitStack() as stack:
        database = stack.enter_context(closing(open_for_reading("websegment.db")))
        with database.read() as connection:
            pair = min(pairs(database), key=lambda row: row.similarity)
            other = max(changed(database, YEAR_1), key=lambda row: row.seen_at).url
            ids = [page_by_url(connection, url) for url in (pair.url, pair.duplicate_of, other)]
        servers = WebServers(PORT)
        servers.start()
        stack.callback(servers.stop)
        url = servers.sites[SITE].origin + PATH
        with Snapshotter() as snapshotter:
            captured, picture = snapshotter.render_with_picture(url)
        document = Document("rain-gauge.html", captured, url, None, picture)
        plain = Document("rain-gauge.html, plain", captured.plain(), url)
        pool = stack.enter_context(AnalysisPool(1, timeout=60, memory=1024))
        marks = Marks(Path(os.devnull))
        viewer = Viewer(
            [document, plain],
            pool,
            marks,
            database,
            SiteRules(),
            engine="wps-margin",
            main_text="learned",
        )
        server = stack.enter_context(ViewServer(viewer.answer))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        copy, original, edited = ids
        assert copy is not None
        assert original is not None
        assert edited is not None
        yield server.url, copy, original, edited, urlsplit(pair.url).netloc
        server.shutdown()


def point_at_main(page: Page) -> None:
    """Point at the largest segment of the main text, as a person would."""
    page.wait_for_function("document.querySelector('.shown img')?.complete ?? true")
    lines = page.locator("#main button")
    if lines.count():
        lines.nth(min(2, lines.count() - 1)).click()


def shots(
    report: str, viewer: str, copy: int, original: int, edited: int, host: str
) -> dict[str, str]:
    """Return the addresses of all views by name."""
    site = quote(host, safe="")
    return {
        "report": f"{report}#/",
        "report-page": f"{report}#/page/{copy}",
        "report-pair": f"{report}#/pair/{copy}",
        "report-cluster": f"{report}#/cluster/{original}",
        "report-site": f"{report}#/site/{site}",
        "report-between": f"{report}#/between/0/1",
        "report-why": f"{report}#/why/0",
        "report-since": f"{report}#/since/changed",
        "report-change": f"{report}#/change/{edited}",
        "view": viewer,
        "view-search": f"{viewer}?q=rain",
        "view-url": f"{viewer}url/{copy}",
        "view-pair": f"{viewer}pair/{copy}/{original}",
        "view-cluster": f"{viewer}cluster/{original}",
        "view-site": f"{viewer}site?host={site}",
        "view-change": f"{viewer}change/{edited}",
        "view-nothing": f"{viewer}none",
        "view-page": f"{viewer}page/0",
        "view-page-left-out": f"{viewer}page/0",
        "view-page-border": f"{viewer}page/0",
        "view-page-plain": f"{viewer}page/1",
        "view-page-other": f"{viewer}page/1?engine=gcuts&main_text=pagelevel",
    }


def draw_all(browser: Browser, addresses: dict[str, str], folder: Path) -> None:
    """Write every view to a folder, to be looked at."""
    folder.mkdir(parents=True, exist_ok=True)
    for width in WIDTHS:
        for scheme in SCHEMES:
            context = browser.new_context(
                viewport={"width": width, "height": 900}, color_scheme=scheme
            )
            page = context.new_page()
            for name, address in addresses.items():
                page.goto("about:blank")
                page.goto(address)
                point_at_main(page)
                if name.endswith("-left-out"):
                    page.locator("#tree button.r-navigation").first.click()
                if name.endswith("-border"):
                    page.get_by_role("button", name="its border is wrong").click()
                    page.get_by_label("Where its border should be").wait_for()
                page.mouse.move(0, 0)  # scrolling moves the page below it
                page.evaluate("scrollTo(0, 0)")
                page.screenshot(path=folder / f"{name}-{width}-{scheme}.png", full_page=True)
            context.close()


def draw(browser: Browser, address: str, height: int) -> bytes:
    """Return a picture of the top of a view as a small PNG."""
    context = browser.new_context(
        viewport={"width": 1200, "height": height}, color_scheme="light", device_scale_factor=1.5
    )
    page = context.new_page()
    page.goto(address)
    point_at_main(page)
    picture = page.screenshot()
    context.close()
    small = (
        Image.open(io.BytesIO(picture)).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    )
    packed = io.BytesIO()
    small.save(packed, "PNG", optimize=True)
    return packed.getvalue()


def main() -> None:
    """Draw the pictures of the documentation, or all views."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=RESULTS, help="what make demo has left")
    parser.add_argument("--all", type=Path, metavar="DIR", help="every view, to be looked at")
    given = parser.parse_args()
    folder = given.all.resolve() if given.all else None
    os.chdir(given.results)  # names in the pictures are short then, and no machine's own
    feeds = [part for name in FEEDS for part in ("--items", name)]
    websegment(["report", "--database", "websegment.db", *feeds, "-o", "report.html", "-q"])
    report = (Path.cwd() / "report.html").as_uri()
    with served() as (viewer, *ids), sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=find_chromium(None).executable, args=["--no-sandbox"]
        )
        addresses = shots(report, viewer, *ids)
        if folder:
            draw_all(browser, addresses, folder)
        else:
            for name, view, height in (("report", "report", 860), ("view", "view-page", 820)):
                data = draw(browser, addresses[view], height)
                (HERE / f"{name}.png").write_bytes(data)
                print(f"{name}.png: {len(data) / 1000:.0f} kB")
        browser.close()


if __name__ == "__main__":
    main()
