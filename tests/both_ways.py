"""``python -m tests.both_ways``: is a page another one because a browser looks at it?

Pages of the saved sites (``sites.tar.xz`` of ``WEBSEGMENT_DATA`` or ``--data``) are crawled without
a browser and then, into the same database, with one. Of those whose shown text has the same words
both times none may be `changed`.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from tests.known_sites import items_of, served_mix
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
    with served_mix(args.data, args.pages, args.seed) as (folder, pages):
        urls = [url for url, page in pages.items() if not page.scripted]
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
