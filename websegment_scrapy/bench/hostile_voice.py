"""Hostile pages that say what is not so: another's URL, a forged layout, text that breaks."""

from __future__ import annotations

import json

from websegment_scrapy.bench.hostile_web import (
    FORGED_PLACE,
    Answer,
    Ask,
    HostilePage,
    Kind,
    scripted,
)

__all__ = ["SPEAKING"]

WRITE_SEEN = (
    "let seen = false; const tricks = f => new MutationObserver(() => { if (!seen && "
    "document.documentElement.hasAttribute('data-ws-page')) { seen = true; f(); } })"
    ".observe(document, {attributes: true, subtree: true, childList: true});"
)
"""Calls a function once the capture has been written into the page."""

BUSY = (
    "const busy = ms => { const end = performance.now() + ms; while (performance.now() < end); };"
)
LEAVE = "tricks(() => setTimeout(() => { busy(150); location = '@neighbour@'; busy(250); }, 0));"
"""The page is asked for its HTML while it is busy, and has to leave while it is busy still: then it
is written out first and leaves right after, so that the address asked for last is another's."""

LONG = "<div id='long' hidden></div>"
FILL = "document.getElementById('long').innerHTML = '<i>a</i>'.repeat(300000);"
"""Makes the page long, so that writing it out takes a while."""

ATTRIBUTES = 30_000
PAGE_ATTRIBUTE = json.dumps(
    {
        "v": 1,
        "width": 1280,
        "height": 1024,
        "page_width": 1280,
        "page_height": 2000,
        "styles": [["block", 1, "000000", "ffffff", 16, 400, "serif", 0, 0, 0, "static", "none"]],
    }
)
FORGED_BOX = f"7 {FORGED_PLACE} 900 700"


def _forged(page: HostilePage, _ask: Ask) -> Answer:
    """Answer with plain HTML that claims to have been laid out, far below where it is."""
    html = page.html(attributes=f" data-ws-page='{PAGE_ATTRIBUTE}'")
    box, text = f"data-ws-box='{FORGED_BOX} 0'", f"data-ws-text='{FORGED_BOX}'"
    html = html.replace("<article><h1>", f"<article {box}><h1 {box} {text}>")
    return Answer(html.replace("<p>", f"<p {box} {text}>"))


def _attributes(page: HostilePage, _ask: Ask) -> Answer:
    """Answer with a tag of 30,000 captures, none of which ends where a capture ends."""
    tag = ' data-ws-box="1 2 3 4 5"' * ATTRIBUTES
    text = f'<html data-ws-page="{{&quot;v&quot;:1}}"{tag} x>{page.word}'
    return Answer(text, content_type="text/plain")


def _prefixed(name: str, prefix: str) -> Kind:
    """Return a kind whose pages are a prefix and then plain words."""

    def answer(page: HostilePage, _ask: Ask) -> Answer:
        return Answer(prefix + f"plain words of the {page.word} " * 20)

    return Kind(name, answer)


def _charset(name: str) -> Kind:
    def answer(page: HostilePage, _ask: Ask) -> Answer:
        html = page.html(head=f"<meta charset='{name}'>")
        return Answer(html, content_type=f"text/html; charset={name}")

    return Kind(f"charset-{name}", answer, honest=True)


def _bytes(name: str, body: bytes, content_type: str = "text/html; charset=utf-8") -> Kind:
    """Return a kind that sends something else under the name of HTML."""

    def answer(_page: HostilePage, _ask: Ask) -> Answer:
        return Answer(body, content_type=content_type)

    return Kind(name, answer)


def _nested(page: HostilePage, _ask: Ask) -> Answer:
    return Answer(page.html("<div>" * 5000 + "deep" + "</div>" * 5000))


def _odd(name: str, before: str, odd: str) -> Kind:
    """Return a kind whose pages have something odd put before a part of their HTML."""

    def answer(page: HostilePage, _ask: Ask) -> Answer:
        return Answer(page.html().replace(before, odd + before))

    return Kind(name, answer, honest=True)


OTHERS = (
    scripted(
        "voice-observer",
        WRITE_SEEN + BUSY + "tricks(() => { location = '@victim@'; busy(300); });",
        site=0,
    ),
    scripted("voice-neighbour", WRITE_SEEN + BUSY + LEAVE),
    scripted(
        "voice-delayed",
        WRITE_SEEN + FILL + "tricks(() => setTimeout(() => { location = '@victim@'; }, "
        "Math.random() * 150));",
        body=LONG,
    ),
    scripted(
        "voice-timed",
        WRITE_SEEN + "tricks(() => setTimeout(() => { location = '@victim@'; }, "
        "Math.random() * 60));",
    ),
    scripted(
        "voice-getters",
        "for (const [p, n] of [[Element.prototype, 'outerHTML'], [Document.prototype, 'doctype']])"
        "{ const g = Object.getOwnPropertyDescriptor(p, n).get; Object.defineProperty(p, n, {get() "
        "{ const r = g.call(this); location = '@victim@'; return r; }}); }",
    ),
    scripted("voice-pushstate", "history.pushState(null, '', '@neighbour@')"),
    scripted(
        "voice-pushstate-late",
        WRITE_SEEN + "tricks(() => history.pushState(null, '', '@neighbour@'))",
    ),
    scripted(
        "voice-base",
        "addEventListener('load', () => setTimeout(() => { const text = document.querySelector("
        "'article').outerHTML; document.open(); document.write('<!doctype html><base href="
        '"@victim@"><title>a</title>\' + text); document.close(); }, 20))',
    ),
    Kind("forged-plain", _forged, "never"),
    Kind("forged-rendered", _forged),
    scripted(
        "forged-observer",
        WRITE_SEEN + "tricks(() => { for (const e of document.querySelectorAll('[data-ws-box]')) {"
        "e.setAttribute('data-ws-box', '"
        + FORGED_BOX
        + " 0'); if (e.hasAttribute('data-ws-text')) e.setAttribute('data-ws-text', '"
        + FORGED_BOX
        + "'); }})",
    ),
)

TEXTS = (
    _prefixed("regex-comments", "<!---->" * 60),
    _prefixed("regex-doctype", "<!doctype >   " * 40),
    Kind("capture-attributes", _attributes),
    _odd(
        "text-zero-area",
        "</p></article>",
        " <b>&zwnj;</b> one <i>&zwj;</i></p><p><b>&zwnj;</b></p><p>The last words come here.",
    ),
    *(_charset(name) for name in ("rot13", "hex", "idna", "undefined")),
    _odd("text-embed", "</p></article>", "<embed src='a&#1;b'>and \x03 so \x04 on"),
    Kind("text-nested", _nested, honest=True),
    _bytes(
        "text-shift-jis", ("<title>t</title><p>" + "日本語の記事です。" * 40).encode("shift-jis")
    ),
    _bytes("html-json", json.dumps({"a": ["word"] * 500}).encode()),
    _bytes("html-pdf", b"%PDF-1.7\n1 0 obj <<>> endobj\n" + bytes(range(256)) * 40 + b"%%EOF"),
    _bytes("html-png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256)) * 40),
    _odd("title-escapes", "Hostile", "\x1b[2J\x1b]0;owned\x07\x9b31m\u202e\u2066"),
    _odd("title-formula", "Hostile", "=cmd|' /C calc'!A0"),
)

SPEAKING: tuple[Kind, ...] = (*OTHERS, *TEXTS)
