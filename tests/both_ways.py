"""``python -m tests.both_ways``: is a page another one because a browser looks at it?

Pages of the saved sites (``sites.tar.xz`` of ``WEBSEGMENT_DATA`` or ``--data``) are crawled without
a browser and then, into the same database, with one. Of those whose shown text has the same words
both times none may be `changed`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.known_sites import items_of
from websegment_scrapy.bench.mix import real_mix
from websegment_scrapy.bench.serving import serving, write_mix
from websegment_scrapy.measure.datasets import data_directory
from websegment_scrapy.measure.sites import crawled_sites
from websegment_scrapy.page.words import words

MOST_CHANGED = 0.01


def shown(item: dict[str, Any]) -> Counter[str]:
    """Return the words of a page's segments: what it shows, as far as is known."""
    return Counter(words(" ".join(segment["text"] for segment in item["segments"])))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.both_ways", description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--pages", type=int, default=600, help="of which some show other text")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    with (
        crawled_sites(data_directory(args.data) / "sites.tar.xz") as sites,
        tempfile.TemporaryDirectory() as temporary,
    ):
        folder = Path(temporary)
        mix = real_mix(sites, args.pages, args.seed)
        with serving(write_mix(mix, folder / "sites"), folder / "sites.json") as origins:
            urls = [origins[page.site] + quote(page.path) for page in mix if not page.scripted]
            plain, rendered = (items_of(urls, how, folder / "crawl") for how in ("never", "always"))
    both = [url for url in plain if url in rendered and rendered[url]["rendered"]]
    same = [url for url in both if shown(plain[url]) == shown(rendered[url])]
    decided = Counter(rendered[url]["decision"] for url in same)
    for url in same:
        if rendered[url]["decision"] == "changed":
            print(f"changed: {url} (similarity {rendered[url]['similarity']})")
    print(f"{len(same)} of {len(both)} pages show the same words both ways: {dict(decided)}")
    others = Counter(rendered[url]["decision"] for url in set(both) - set(same))
    print(f"the others: {dict(others)}")
    return 0 if same and decided["changed"] <= MOST_CHANGED * len(same) else 1


if __name__ == "__main__":
    sys.exit(main())
