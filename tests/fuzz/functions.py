"""Random inputs to the functions that see what strangers write first."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from random import Random

from tests.fuzz.mutations import CHARSETS, NASTY
from websegment_scrapy.cli.output import printable, to_json
from websegment_scrapy.dedup.signature import RECIPES, signature_of, similarity
from websegment_scrapy.exceptions import WebsegmentError
from websegment_scrapy.page.capture import Captured, read_box, read_page, read_text
from websegment_scrapy.page.decode import decode, is_plainly_not_html, refuse_other_formats
from websegment_scrapy.page.garbled import ungarbled
from websegment_scrapy.page.told import told_texts
from websegment_scrapy.store.record import canonical_url, clean, host_of, url_key
from websegment_scrapy.template.normalise import letters_of, normal_link, normal_text

MOST_SECONDS = 1.0
URL_PIECES = (
    "http://", "https://", "//", "data:,", "file:///", "javascript:", "a", "example.org", "[", "]",
    "[::1]", ":80", ":99999", ":x", "@", "user:pass@", "/", "../", "?", "&", "=", "#", "%", "%00",
    "%zz", "%C3%A9", "é", "東京", "\u202e", "\x00", "\ud800", " ", "\n", ";", "xn--", ".",
    "1" * 300,
)  # fmt: skip
BOX_PIECES = ("1", "-", "0", " ", ";", "999999999", "9" * 30, "x", "\u0661", "1e9", ".", "", "-5")
PAGE_PIECES = (
    "{", "}", "[", "]", ",", ":", '"v"', "1", "2", '"width"', "NaN", "Infinity", "-1", '"styles"',
    '"height"', '"page_width"', '"page_height"', "null", "true", '"x"', "1e999", "9" * 5000,
    '"\\ud800"',
)  # fmt: skip


def text_of(rng: Random) -> str:
    """Return characters of all kinds, and nasty fragments."""
    pieces = []
    for _ in range(rng.choice((0, 1, 3, 12))):
        kind = rng.randrange(4)
        if kind == 0:
            pieces.append(rng.choice(NASTY))
        elif kind == 1:
            pieces.append("".join(chr(rng.randrange(0x110000)) for _ in range(rng.randrange(20))))
        elif kind == 2:
            pieces.append("".join(rng.choices("abc XYZ 0189 .,;<>\"'&=/\n", k=rng.randrange(60))))
        else:
            pieces.append(rng.choice(("words of a text ", "<p>", "schema.org", '{"text": "')))
    return "".join(pieces)


def bytes_of(rng: Random) -> bytes:
    """Return bytes that could be the body of a response."""
    if rng.random() < 0.2:
        return rng.randbytes(rng.choice((1, 10, 300)))
    data = text_of(rng).encode("utf-8", "surrogatepass")
    start = rng.choice(
        (b"", b"", b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf", b"BM", b"<html>", b"[", b"{")
    )
    return start + data


def joined(rng: Random, pieces: tuple[str, ...]) -> str:
    return "".join(rng.choices(pieces, k=rng.randrange(12)))


def _decode(rng: Random) -> None:
    body, name = bytes_of(rng), rng.choice(CHARSETS)
    is_plainly_not_html(body[:1024])
    header = rng.choice(
        (None, f"text/html; charset={name}", f'text/html;charset="{name}', text_of(rng))
    )
    text = decode(body, content_type=header, encoding=rng.choice((None, None, name)))
    refuse_other_formats(text)
    ungarbled(body.decode("latin-1"))
    ungarbled(text)


def _signature(rng: Random) -> None:
    for recipe in RECIPES.values():
        first, second = (signature_of(text_of(rng), recipe) for _ in range(2))
        first.keys()
        assert 0.0 <= similarity(first, second) <= 1.0


def _url(rng: Random) -> None:
    url = joined(rng, URL_PIECES) if rng.random() < 0.8 else text_of(rng)
    canonical = canonical_url(url)
    assert isinstance(host_of(canonical), str)
    assert len(url_key(canonical)) == 16
    assert canonical_url(canonical) is not None
    clean(url).encode()
    normal_link(url)


def _capture(rng: Random) -> None:
    read_box(joined(rng, BOX_PIECES))
    read_text(joined(rng, BOX_PIECES))
    read_page(joined(rng, PAGE_PIECES))
    Captured(text_of(rng) + ' data-ws-ab-box="1" ' + text_of(rng), "ab").plain()


def _texts(rng: Random) -> None:
    text = text_of(rng)
    letters_of(normal_text(text, keep_numbers=rng.random() < 0.5))
    for told in told_texts([f"schema.org {text}"]):
        told.encode()
    printable(text).encode()
    to_json(text).encode()


FUNCTIONS: dict[str, Callable[[Random], None]] = {
    "decode": _decode,
    "signature": _signature,
    "url": _url,
    "capture": _capture,
    "texts": _texts,
}


def run_function(name: str, seed: int, number: int) -> str | None:
    """Call a function with the input of a number; return what is wrong."""
    began = time.process_time()
    try:
        FUNCTIONS[name](Random(f"{seed} {name} {number}"))
    except WebsegmentError:
        pass
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return f"{name}: {error!r:.200} in {where.filename}:{where.lineno}"
    seconds = time.process_time() - began
    return f"{name}: {seconds:.1f} s" if seconds > MOST_SECONDS else None
