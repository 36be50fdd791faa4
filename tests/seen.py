"""What the tests of the views share: databases with texts, hostile strings, a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from tests.texts import prose
from websegment_scrapy import analyze
from websegment_scrapy.crawl.browser import find_chromium
from websegment_scrapy.dedup.signature import RECIPES
from websegment_scrapy.findings import Findings
from websegment_scrapy.store import PageRecord, Store

__all__ = ["HOSTILE", "Watched", "article", "browser", "fill", "seen"]

A, B, C = "http://a.example/bridge", "http://b.example/copy", "http://c.example/other"

_FIELDS = {field.name for field in fields(PageRecord)} & {field.name for field in fields(Findings)}

SCRIPT = "window.hacked=1;alert(1)"
HOSTILE = [
    f"<script>{SCRIPT}</script>",
    f"</script><script>{SCRIPT}</script>",
    f"<img src=x onerror={SCRIPT}>",
    f"<svg onload={SCRIPT}>",
    f"<svg><script>{SCRIPT}</script></svg>",
    f"\"><script>{SCRIPT}</script>",
    f"'><img src=x onerror={SCRIPT}>",
    f"\" onmouseover=\"{SCRIPT}\" x=\"",
    f"' autofocus onfocus='{SCRIPT}",
    f"javascript:{SCRIPT}",
    f"JaVaScRiPt:{SCRIPT}",
    f"\x01javascript:{SCRIPT}",
    f"data:text/html,<script>{SCRIPT}</script>",
    f"vbscript:{SCRIPT}",
    f"<a href=javascript:{SCRIPT}>click</a>",
    f"<iframe srcdoc='<script>{SCRIPT}</script>'></iframe>",
    "<iframe src=http://evil.example/></iframe>",
    "<link rel=stylesheet href=http://evil.example/x.css>",
    "<link rel=prefetch href=http://evil.example/>",
    "<meta http-equiv=refresh content='0;url=http://evil.example/'>",
    "<base href=http://evil.example/>",
    "<img src=http://evil.example/pixel.png>",
    "<style>*{background:url(http://evil.example/)}</style>",
    "<body background=http://evil.example/>",
    "<form action=http://evil.example/><input autofocus></form>",
    "<object data=http://evil.example/></object>",
    "<video src=http://evil.example/ autoplay></video>",
    f"{{{{ ''.__class__ }}}}{{% print('{SCRIPT}') %}}",
    f"${{{SCRIPT}}}`{SCRIPT}`",
    f"<!--><script>{SCRIPT}</script>-->",
    f"<![CDATA[<script>{SCRIPT}</script>]]>",
    f"]]></script><script>{SCRIPT}</script>",
    f"<template><script>{SCRIPT}</script></template>",
    f"\\u003cscript\\u003e{SCRIPT}\\u003c/script\\u003e",
    f"&lt;script&gt;{SCRIPT}&lt;/script&gt;",
    f"\u202e<script>{SCRIPT}</script>\u202c",
    f"\u2028{SCRIPT}\u2029",
    f"\ud800<script>{SCRIPT}</script>",
    f"\x00<script>{SCRIPT}</script>",
    "__proto__", "constructor", "[object Object]", "%00%0a%0d", "W" * 100_000,
]  # fmt: skip
"""Strings that would do something if they were taken for more than strings."""


def article(text: str, title: str = "A bridge") -> str:
    """Return a page with a menu, a text and a footer."""
    menu = "".join(f'<li><a href="/{name}">{name}</a></li>' for name in ("home", "news", "about"))
    paragraphs = "".join(f"<p>{line}</p>" for line in text.split("\n"))
    return (
        f"<!doctype html><html><head><title>{title}</title></head><body><ul>{menu}</ul>"
        f"<h1>{title}</h1>{paragraphs}<hr><div>All rights reserved. <a href='/i'>Imprint</a></div>"
    )


def seen(url: str, html: str, **more: Any) -> PageRecord:
    """Return what a crawl would store of a page."""
    found = analyze(html, url=url, parts=True)
    own = {name: getattr(found, name) for name in _FIELDS} | {"url": url, **more}
    return PageRecord(**own)


def fill(url: str) -> None:
    """Make a database: a page, its copy on another host, one that changed, one that failed."""
    before, after = prose(2), f"{prose(2, 150)} {prose(9, 80)}"
    with Store.open(url, recipe=RECIPES["minhash"]) as store:
        first, second = "news 2026-05-04T09:00:00Z", "news 2026-05-05T09:00:00Z"
        store.decide(seen(A, article(prose(1, 300)), crawl=first, http_status=200))
        copy = f"{prose(1, 285)} {prose(7, 30)}"
        store.decide(seen(B, article(copy, "Copied"), crawl=first, rendered=True))
        store.decide(seen(C, article(before, "Other"), crawl=first))
        store.decide(PageRecord(url="http://c.example/gone", error="timed out", crawl=first))
        store.decide(seen(C, article(after, "Other"), crawl=second))
        store.decide(seen(f"{C}/new", article(prose(5), "Fresh"), crawl=second))


class Watched:
    """A page of a browser that notes what it must not do."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.requests: list[str] = []
        self.dialogs: list[str] = []
        self.errors: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("dialog", lambda dialog: (self.dialogs.append(dialog.message), dialog.dismiss()))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on(
            "console",
            lambda said: self.errors.append(said.text) if said.type == "error" else None,
        )

    def outside(self, *allowed: str) -> list[str]:
        """Return what was asked for elsewhere."""
        return [url for url in self.requests if not url.startswith(("file:", "data:", *allowed))]

    def harmed(self) -> list[str]:
        """Return what was run or opened."""
        hacked = self.page.evaluate("() => 'hacked' in window")
        return [*self.dialogs, *(["a script ran"] if hacked else [])]


@contextmanager
def browser() -> Iterator[Browser]:
    """Start a real Chromium."""
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=find_chromium(None).executable, args=["--no-sandbox"]
        )
        yield started
        started.close()
