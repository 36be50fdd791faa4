"""Mutations of pages: what breaks in transit, and what somebody writes on purpose."""

from __future__ import annotations

from random import Random

LONGEST = 400_000
"""Bytes of a mutated page: most pages are smaller, and time is better spent on more of them."""

NASTY = (
    "\x00", "\x01\x02\x1b[31m\x07", "\x7f\x80\x9b", "\u200b", "\u200c", "\u200d\ufeff", "\u2028",
    "\u202e\u2066", "\ufffe\uffff", "\U0010ffff", "\ufdfa" * 20, "e" + "\u0301\u0323" * 60,
    "東京" * 30,
    "&#0;", "&#xD800;", "&#27;", "&#99999999999;", "&" * 50, "&amp" * 20, "&notanentity;", "&#x;",
    "<", ">", "</", "<!", "<!--", "-->", "<!---->" * 30, "<![CDATA[", "]]>", "<?xml", "<?pi ?>",
    "<!doctype >   " * 20, "<!DOCTYPE html [", "<title>", "</title>", "<script>", "</script>",
    "<script>{", '<script type="application/ld+json">{"@context":"https://schema.org","text":"',
    '"articleBody":"\\ud800\\u0000 ' + "&#" + "1" * 50, "<style>", "</style>", "<textarea>",
    "<plaintext>", "<noscript>", "<template>", "<iframe>", "<svg><title>", "<math>", "<frameset>",
    "<embed>\x01", "<wbr>" * 30, "<source>", "<keygen>", "<b>\u200c</b>", "<b hidden>", "<input>",
    "<table><tr><td>" * 8, "</table>" * 8, "<td colspan=99999999999999999999>",
    "<td colspan=100>" * 9,
    "<form><form><select><option>", "<select><table>", "<option><optgroup>", "<li><ol><ul><li>",
    "<blockquote>" * 30, "<div>" * 60, "</div>" * 60, "<b><i><p></b></i>", "<a href=x><a href=y>",
    "<p class='" + "aB " * 300 + "'>", "<p " + "x=1 " * 300 + ">",
    "<p style='width:" + "9" * 400 + "px'>",
    "<p style='font-weight:" + "9" * 5000 + "'>", "<p style='display:none'>",
    "<font size=9 color=#zz>",
    "<p style='font-size:" + "1" * 400 + "em;color:#12;width:1e9%'>",
    "<img width=-5 height=1e999>",
    "<h1>" * 20, "<pre>\n\n", "</pre>", "<br>" * 40, "<hr>", "<x-y:z>", "<o:p>", "<a=b>",
    "<p/ / =>",
    "<meta charset=rot13>", "<meta charset=utf-16>", "<meta charset=idna>", "<base href='//['>",
    "<body>", "</body>", "<html>", "</html>", "<head>", "<dl><dd><dt>", "data-ws-page=", "\r\n\r",
)  # fmt: skip
CHARSETS = (
    "utf-8 utf-16 utf-16le utf-7 utf-32 iso-8859-1 iso-8859-8 windows-1251 koi8-r shift_jis euc-jp "
    "iso-2022-jp gb2312 gbk hz big5 euc-kr iso-2022-kr rot13 hex idna punycode undefined base64 "
    "zlib unicode_escape cp037 mbcs aliases x-user-defined no-such é"
).split()


def nasty(rng: Random) -> bytes:
    """Return a fragment, sometimes many times."""
    return rng.choice(NASTY).encode() * (rng.choice((1, 1, 1, 3, 50)))


def _place(rng: Random, page: bytes) -> int:
    """Return a place in a page; half of them at the border of a tag."""
    place = rng.randrange(len(page) + 1)
    return page.find(rng.choice((b"<", b">")), place) + 1 if rng.random() < 0.5 else place


def flip(rng: Random, page: bytes, other: bytes) -> bytes:
    changed = bytearray(page)
    for _ in range(rng.choice((1, 5, 50))):
        if changed:
            changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)


def truncate(rng: Random, page: bytes, other: bytes) -> bytes:
    place = _place(rng, page)
    return page[:place] if rng.random() < 0.7 else page[place:]


def repeat(rng: Random, page: bytes, other: bytes) -> bytes:
    start, to = _place(rng, page), _place(rng, page)
    piece = page[start : start + rng.choice((20, 200, 5000))] * rng.choice((1, 2, 20))
    return page[:to] + piece + page[to:]


def move(rng: Random, page: bytes, other: bytes) -> bytes:
    start = _place(rng, page)
    end = min(len(page), start + rng.choice((10, 500, 20_000)))
    rest, piece = page[:start] + page[end:], page[start:end]
    to = _place(rng, rest)
    return rest[:to] + piece + rest[to:]


def remove(rng: Random, page: bytes, other: bytes) -> bytes:
    start = _place(rng, page)
    return page[:start] + page[start + rng.choice((1, 5, 50, 2000)) :]


def insert(rng: Random, page: bytes, other: bytes) -> bytes:
    for _ in range(rng.choice((1, 3, 10))):
        place = _place(rng, page)
        page = page[:place] + nasty(rng) + page[place:]
    return page


def declare(rng: Random, page: bytes, other: bytes) -> bytes:
    name = rng.choice(CHARSETS)
    text = page.decode("utf-8", "replace")
    try:
        body = text.encode(name, "replace") if rng.random() < 0.5 else page
    except (LookupError, ValueError, TypeError):
        body = page
    return f'<meta charset="{name}">'.encode() + body if rng.random() < 0.7 else body


def splice(rng: Random, page: bytes, other: bytes) -> bytes:
    return page[: _place(rng, page)] + other[_place(rng, other) :]


def nest(rng: Random, page: bytes, other: bytes) -> bytes:
    name = rng.choice(
        (b"div", b"b", b"table", b"ul", b"blockquote", b"span", b"font", b"a", b"object")
    )
    place = _place(rng, page)
    return page[:place] + b"<%s>" % name * rng.choice((10, 300, 3000)) + page[place:]


def surrogates(rng: Random, page: bytes, other: bytes) -> bytes:
    place = _place(rng, page)
    return (
        page[:place]
        + rng.choice((b"\xed\xa0\x80", b"\xff\xfe", b"\xef\xbb\xbf", b"\xc0\x80"))
        + page[place:]
    )


MUTATIONS = (
    flip,
    truncate,
    repeat,
    move,
    remove,
    insert,
    insert,
    declare,
    splice,
    nest,
    surrogates,
)


def mutate(rng: Random, page: bytes, other: bytes) -> bytes:
    """Change a page one to four times."""
    for _ in range(rng.randint(1, 4)):
        page = rng.choice(MUTATIONS)(rng, page, other)[:LONGEST]
    return page
