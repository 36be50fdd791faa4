"""``python -m tests.revisits``: what does it cost to come back to a site of which little changed?

A local site of pages that are other bytes at each request (tokens, sessions, stamps) is crawled and
rendered, some pages change, and it is crawled again with ``WEBSEGMENT_REVISIT``. One page in ten
builds itself from data in its HTML, one in fifty has a paragraph that a script fetches, and three
are empty without their scripts; each kind has its share in the changes. Printed are the pages
rendered, the time beside that of the first crawl, and what was decided; the exit status is 1 when
a change was missed, something was taken for one, or a bound of the project was not kept.
"""

from __future__ import annotations

import argparse
import json
import random
import sqlite3
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.crawling import Crawl, crawl
from tests.site import Route, Site
from tests.texts import page, prose

MOST_SHARE = 0.15
MOST_MORE = 5
"""Pages that may be rendered besides those that changed."""

SHELLS = 3
FETCH = "<script>fetch('{0}').then(r => r.text()).then(t => {{ {1} }})</script>"
SHOW = "document.getElementById('{0}').innerHTML = '<h1>Page</h1><p>' + {1}"


class ChangingSite:
    """A site of numbered pages, each with the number of its text."""

    def __init__(self, site: Site, count: int) -> None:
        self.site = site
        self.texts = list(range(count))
        self.requests = 0
        links = "".join(f"<li><a href='/{number}'>Page {number}</a>" for number in range(count))
        site.routes["/"] = f"<html><body><ul>{links}</ul></body></html>"
        for number in range(count):
            site.routes[f"/{number}"] = Route(body=self.document)
            site.routes[f"/{number}/data"] = Route(body=self.data, content_type="text/plain")

    def kind(self, number: int) -> str:
        """Say how a page comes by its text."""
        if number < SHELLS:
            return "shell"
        if number % 50 == 7:
            return "partly"
        return "data" if number % 10 == 5 else "html"

    def data(self, path: str, sent: bytes) -> str:
        number = int(path.split("/")[1])
        return prose(self.texts[number] if self.kind(number) == "shell" else number, 30)

    def document(self, path: str, sent: bytes) -> str:
        number = int(path[1:])
        self.requests += 1
        stamp = f"{self.requests:08d}"
        noise = (
            f"<!-- {stamp} --><input type=hidden name=token value=t{stamp}>"
            f"<a href='/0?session={stamp}'>Session</a><i>Request 0a1b2c3d4e5f{stamp}</i>"
            f"<script nonce=n{stamp}>window.stamp = {stamp[-4:].lstrip('0') or 0}</script>"
        )
        text, kind = prose(self.texts[number], 400), self.kind(number)
        if kind == "shell":
            show = FETCH.format(f"/{number}/data", SHOW.format("app", "t"))
            return f"<html><body><div id=app></div>{noise}{show}</body></html>"
        if kind == "data":
            show = SHOW.format("app", "data.text")
            script = f"var data = {json.dumps({'text': text})}; {show}"
            noise = noise.partition("<script")[0]  # its scripts are what tells the text
            return f"<html><body><div id=app></div>{noise}<script>{script}</script></body></html>"
        if kind == "partly":
            more = FETCH.format(f"/{number}/data", SHOW.format("more", "t"))
            text += f"</p><div id=more></div>{more}<p>"
        return page(text, f"Page {number}", links=noise)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.revisits", description=__doc__)
    parser.add_argument("--pages", type=int, default=1000, metavar="N", help="default: 1000")
    parser.add_argument("--changed", type=int, default=20, metavar="N", help="default: 20")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="default: 1")
    args = parser.parse_args(arguments)
    with Site() as site, tempfile.TemporaryDirectory() as temporary:
        changing = ChangingSite(site, args.pages)
        folder = Path(temporary)
        first, first_seconds = visit(site, folder)
        report("first crawl", first, first_seconds)
        changed = chosen(changing, args.changed, args.seed)
        for number in changed:
            changing.texts[number] += 10 * args.pages
        again, seconds = visit(site, folder)
        report("revisit", again, seconds)
        decisions = last_decisions(folder)
    wanted = {f"/{number}": "unchanged" for number in range(args.pages)}
    wanted |= {f"/{number}": "changed" for number in changed}
    missed = sorted(path for path, kind in wanted.items() if decisions.get(path) != kind)
    rendered = again.stats.get("websegment/render/pages", 0)
    share = seconds / first_seconds
    print(f"changed: {args.changed}, wrongly decided: {len(missed)} {missed[:10]}")
    print(f"rendered: {rendered} of {args.pages + 1}; time: {share:.3f} of the first crawl's")
    kept = share <= MOST_SHARE and rendered <= args.changed + MOST_MORE
    return 1 if missed or not kept else 0


def chosen(changing: ChangingSite, count: int, seed: int) -> list[int]:
    """Choose the pages that change: one of each kind at least, where the text is their own."""
    numbers = list(range(len(changing.texts)))
    random.Random(seed).shuffle(numbers)
    one = {changing.kind(number): number for number in numbers}
    others = [number for number in numbers if number not in one.values()]
    return sorted([*one.values(), *[each for each in others if each >= SHELLS]][:count])


def visit(site: Site, folder: Path) -> tuple[Crawl, float]:
    """Crawl the site and return what came of it, and the seconds it took."""
    settings: dict[str, Any] = {"WEBSEGMENT_REVISIT": ["hash"], "WEBSEGMENT_RENDER": "always"}
    started = time.monotonic()
    spider = "tests.spiders.IndexSpider"
    done = crawl([site.url("/")], settings, folder=folder, spider=spider, timeout=3600)
    seconds = time.monotonic() - started
    if done.status or "Traceback" in done.log:
        sys.exit(done.log[-5000:])
    return done, seconds


def report(name: str, done: Crawl, seconds: float) -> None:
    counts = {
        key.removeprefix("websegment/"): value
        for key, value in sorted(done.stats.items())
        if key.startswith(("websegment/decision", "websegment/revisit", "websegment/render/pages"))
    }
    print(f"{name}: {seconds:.1f} s, {counts}", flush=True)


def last_decisions(folder: Path) -> dict[str, str]:
    connection = sqlite3.connect(folder / "pages.db")
    rows = connection.execute("SELECT url, decision FROM url_history ORDER BY seen_at").fetchall()
    connection.close()
    return {"/" + url.split("/", 3)[3]: decision for url, decision in rows}


if __name__ == "__main__":
    sys.exit(main())
