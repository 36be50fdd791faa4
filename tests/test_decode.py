from __future__ import annotations

import codecs
import json
import zlib

import pytest
import scrapy

from tests.timing import takes_under
from websegment_scrapy.exceptions import NotHtml
from websegment_scrapy.page.decode import (
    SNIFFED_BYTES,
    WEB_ENCODINGS,
    decode,
    is_plainly_not_html,
    refuse_other_formats,
)


def test_the_http_header_decides_the_encoding() -> None:
    body = "<p>žluťoučký kůň".encode("iso-8859-2")
    assert decode(body, content_type="text/html; charset=iso-8859-2") == "<p>žluťoučký kůň"


def test_a_meta_element_decides_when_the_header_is_silent() -> None:
    body = '<html><meta charset="shift_jis"><p>日本語の文章です'.encode("shift_jis")
    assert "日本語の文章です" in decode(body, content_type="text/html")


def test_a_known_encoding_wins_over_the_header() -> None:
    body = "<p>Привет".encode("koi8-r")
    assert decode(body, content_type="text/html; charset=utf-8", encoding="koi8-r") == "<p>Привет"


def test_a_byte_order_mark_is_obeyed_and_removed() -> None:
    assert decode("<p>Grüße".encode("utf-16")) == "<p>Grüße"


def test_undeclared_text_is_utf8_or_guessed() -> None:
    assert decode("<p>naïve".encode()) == "<p>naïve"
    french = (
        "<p>Il était une fois une princesse très âgée, qui rêvait d’un château à la lisière de la "
        "forêt où l’été durait toute l’année ; les fées l’avaient prévenue dès sa naissance."
    )
    assert decode(french.encode("cp1252")) == french


@pytest.mark.skipif(scrapy.version_info < (2, 19), reason="older ones guess in another way")
def test_a_guess_is_the_one_that_scrapy_makes() -> None:
    from scrapy.http import HtmlResponse

    for text, encoding in (("<p>naïve", "latin-1"), ("<p>Ärger über Öl", "cp1252")):
        body = text.encode(encoding)
        assert decode(body) == HtmlResponse("http://localhost", body=body).text


def test_a_wrong_charset_gives_text_not_an_error() -> None:
    text = decode("<p>naïve".encode("latin-1"), content_type="text/html; charset=utf-8")
    assert text.startswith("<p>na")
    assert decode(b"<p>x", content_type="text/html; charset=no-such-charset") == "<p>x"


@pytest.mark.parametrize(
    ("body", "what"),
    [
        (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3 ...", "PDF"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "PNG"),
        (b"\xff\xd8\xff\xe0\0\x10JFIF", "JPEG"),
        (b"GIF89a\x01\0\x01\0", "GIF"),
        (b"PK\x03\x04\x14\0\0\0", "ZIP"),
        (b"RIFF\x10\0\0\0WEBPVP8 ", "WebP"),
        (zlib.compress(b"x" * 5000) * 20, "binary"),
    ],
)
def test_binary_answered_as_html_is_named(body: bytes, what: str) -> None:
    with pytest.raises(NotHtml, match=what):
        decode(body, content_type="text/html")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (json.dumps({"items": [{"html": "<p>no page</p>"}]}), "JSON"),
        ("[1, 2, 3]", "JSON"),
        ('{"cut off": [1, 2', None),
        ('<?xml version="1.0"?><!-- feed --><rss version="2.0"></rss>', "RSS"),
        ('<feed xmlns="http://www.w3.org/2005/Atom"></feed>', "Atom"),
        ('<?xml version="1.0"?><rdf:RDF></rdf:RDF>', "RDF"),
        ("<?xml version='1.0'?><urlset></urlset>", "sitemap"),
        ("<svg></svg>", "SVG"),
        ("<?xml version='1.0'?><!DOCTYPE html><html></html>", None),
        ("plain words", None),
        ("{not json but text with <b>tags</b>}", None),
        ("", None),
    ],
)
def test_other_formats_answered_as_html_are_named(text: str, what: str | None) -> None:
    if what is None:
        refuse_other_formats(text)
    else:
        with pytest.raises(NotHtml, match=what):
            refuse_other_formats(text)


def test_html_is_html_whatever_the_content_type_says() -> None:
    body = b"<!doctype html><p>Hello"
    assert decode(body, content_type="application/pdf").endswith("<p>Hello")
    assert decode(b"BM <p>starts like a bitmap").startswith("BM")


@pytest.mark.parametrize(
    "start", ["<!---->" * 60, "<!doctype >   " * 40, "<?xml ?> <!-- --> " * 40]
)
def test_what_stands_before_the_root_is_read_once(start: str) -> None:
    text = f"{start} plain words"
    assert takes_under(0.1, lambda: refuse_other_formats(text))
    assert takes_under(0.1, lambda: is_plainly_not_html(text.encode()[:SNIFFED_BYTES]))
    assert not is_plainly_not_html(text.encode()[:SNIFFED_BYTES])
    with pytest.raises(NotHtml, match="RSS"):
        refuse_other_formats(f"{start}<rss version='2.0'>")


@pytest.mark.parametrize(
    "body",
    [
        b"<!--" * 256, b"<!doctype [" * 100, b"<?xml " * 200, b"<" + b"a" * 1023, b"a:" * 512,
        b" " * 1024, b"\x01" * 1024, b"<!doctype " * 100, b"{ " * 512, b"\0<" * 512,
    ],
)  # fmt: skip
def test_a_look_at_the_first_bytes_takes_less_than_a_millisecond(body: bytes) -> None:
    assert takes_under(0.001, lambda: is_plainly_not_html(body))


NOT_OF_THE_WEB = (
    "rot13 rot_13 hex hex_codec idna undefined base64 punycode zlib bz2 uu quopri unicode_escape "
    "raw_unicode_escape mbcs oem utf-7 utf-32 charmap cp037 aliases"
).split()


@pytest.mark.parametrize("name", NOT_OF_THE_WEB)
def test_a_codec_that_is_no_encoding_of_the_web_counts_as_undeclared(name: str) -> None:
    body = "<p>naïve".encode()
    assert decode(body, content_type=f"text/html; charset={name}") == "<p>naïve"
    assert decode(body, encoding=name) == "<p>naïve"
    meta = f'<meta charset="{name}">'.encode()
    assert decode(meta + body).endswith("<p>naïve")


def test_every_encoding_of_the_web_is_a_codec_of_text() -> None:
    for name in WEB_ENCODINGS:
        assert codecs.lookup(name).name == name
        assert isinstance(decode(b"<p>x \xff\x80", encoding=name), str)
