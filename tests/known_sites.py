"""``python -m tests.known_sites``: how many pages does ``"auto"`` wrongly leave unrendered?

Pages of the saved sites (``sites.tar.xz`` of ``WEBSEGMENT_DATA`` or ``--data``), a fifth of them
built by script (`bench.mix`), are crawled in two halves: the sites of the second one are known by
then. All are crawled with ``"always"`` too. Wrongly left is a page whose main text, as it is when
rendered, is for a fifth neither in its plain HTML nor in the main text without a browser, which is
what a crawl itself asks of pages that it looked at both ways; and any that a script builds.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.crawling import crawl
from websegment_scrapy.bench.mix import MixedPage, real_mix
from websegment_scrapy.bench.serving import serving, write_mix
from websegment_scrapy.dedup.plain import PlainHtml
from websegment_scrapy.measure.datasets import data_directory
from websegment_scrapy.measure.report import text_table
from websegment_scrapy.measure.sites import crawled_sites
from websegment_scrapy.tasks import is_told

Items = dict[str, dict[str, Any]]

LEAST_RENDERED = 0.9
"""Share of the pages of ``"always"``; the rest are no HTML, or failed."""


@contextmanager
def served_mix(
    data: Path | None, pages: int, seed: int
) -> Iterator[tuple[Path, dict[str, MixedPage]]]:
    """Serve a mix of saved pages; give an empty folder, and the pages by their addresses."""
    with (
        crawled_sites(data_directory(data) / "sites.tar.xz") as sites,
        tempfile.TemporaryDirectory() as temporary,
    ):
        folder = Path(temporary)
        mix = real_mix(sites, pages, seed)
        with serving(write_mix(mix, folder / "sites"), folder / "sites.json") as origins:
            yield folder, {origins[page.site] + quote(page.path): page for page in mix}


def items_of(urls: list[str], render: str, folder: Path) -> Items:
    """Crawl pages; return the result field of each."""
    folder.mkdir(exist_ok=True)
    settings = {
        "WEBSEGMENT_RENDER": render,
        "WEBSEGMENT_PRIVATE_HOSTS": ["127.0.0.0/8"],
        "LOG_LEVEL": "ERROR",
    }
    done = crawl(urls, settings, folder=folder, timeout=3600)
    assert done.status == 0, done.log
    return {item["url"]: item["websegment"] for item in done.items}


def is_wrongly_left(page: MixedPage, plain: dict[str, Any], rendered: dict[str, Any]) -> bool:
    """Tell whether a page should have been rendered."""
    if plain["rendered"] or not rendered["rendered"]:
        return False
    if page.scripted:
        return True
    found = PlainHtml.read(page.body).text
    return not is_told(rendered["main_text"] or "", found, page.body, None, page.path)


def main() -> int:
    """Crawl, compare, and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.known_sites")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--pages", type=int, default=1000, help="of each half")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    with served_mix(args.data, 2 * args.pages, args.seed) as (folder, pages):
        rows = []
        urls = list(pages)
        for name, half in (("unknown", urls[: args.pages]), ("known", urls[args.pages :])):
            found = items_of(half, "auto", folder / "auto")
            always = items_of(half, "always", folder / "always")
            left = [
                url
                for url in half
                if url in found
                and url in always
                and is_wrongly_left(pages[url], found[url], always[url])
            ]
            seen, compared = (
                sum(item["rendered"] for item in items.values()) for items in (found, always)
            )
            if compared < LEAST_RENDERED * len(half):
                sys.exit(f"{compared} of {len(half)} pages were rendered: nothing to compare with")
            rows.append([name, str(len(half)), str(seen), str(compared), str(len(left))])
            for url in left:
                built = "built by script" if pages[url].scripted else "as it is"
                print(f"{name}: {pages[url].site}{pages[url].path} ({built})")
        print(text_table(["sites", "pages", "rendered", "with always", "wrongly left"], rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
