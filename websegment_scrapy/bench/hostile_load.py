"""Hostile pages that take what they can: time, memory, disk, processes, windows.

Every one of them has an end of its own: what the scripts allocate and what the servers send is
bounded, so that a crawl without any defence fails the bench and not the machine.
"""

from __future__ import annotations

import asyncio
import functools
import struct
import time
import zlib
from typing import TYPE_CHECKING

from websegment_scrapy.bench.hostile_web import Answer, Ask, HostilePage, Kind, scripted

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

__all__ = ["LOADING", "STREAM_BYTES", "STREAM_SECONDS"]

STREAM_SECONDS = 60.0
"""How long an endless answer goes on."""

STREAM_BYTES = 3 * 2**30
"""Bytes that all endless downloads of one page may send together."""

BOMB_MIB = 1900
"""What the gzip bomb becomes; it is a thousandth of that on the wire."""

BIG_BYTES = 20 * 10**6
_CHUNK = b"\xa5" * 2**18
_SENT: dict[str, int] = {}


async def _endless(page: HostilePage) -> AsyncIterator[bytes]:
    end = time.monotonic() + STREAM_SECONDS
    while time.monotonic() < end and _SENT.get(page.prefix, 0) < STREAM_BYTES:
        _SENT[page.prefix] = _SENT.get(page.prefix, 0) + len(_CHUNK)
        yield _CHUNK


async def _slow(page: HostilePage) -> AsyncIterator[bytes]:
    end = time.monotonic() + STREAM_SECONDS
    yield page.html().removesuffix("</body></html>").encode()
    while time.monotonic() < end:
        yield b"<p>more"
        await asyncio.sleep(0.2)


async def _crumbs() -> AsyncIterator[bytes]:
    end = time.monotonic() + STREAM_SECONDS
    while time.monotonic() < end:
        yield b"a"
        await asyncio.sleep(0.2)


def _held(name: str, script: str) -> Kind:
    """Return a kind whose pages never finish loading, so that their scripts have the time."""
    body = f"<img src='@own@slow' width='9'><script>{script}</script>"

    def answer(page: HostilePage, ask: Ask) -> Answer:
        if ask.path == "slow":
            return Answer(_crumbs(), content_type="image/png")
        return Answer(page.html(body))

    return Kind(name, answer, costly=True)


def _attachment(page: HostilePage) -> Answer:
    return Answer(
        _endless(page),
        content_type="application/octet-stream",
        headers={"Content-Disposition": 'attachment; filename="endless.bin"'},
    )


def _download(name: str, body: str) -> Kind:
    """Return a kind whose pages start endless downloads from below themselves."""

    def answer(page: HostilePage, ask: Ask) -> Answer:
        return _attachment(page) if ask.path.startswith("file") else Answer(page.html(body))

    return Kind(name, answer, costly=True)


@functools.cache
def _bomb() -> bytes:
    """Return HTML that is 1.9 MB as gzip and 1.9 GB without; made block by block."""
    head = b"<!doctype html><title>Bomb</title><p>"
    block = b"a" * 2**20
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    first = packer.compress(head) + packer.flush(zlib.Z_FULL_FLUSH)
    packed = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)
    check, size = zlib.crc32(head), len(head)
    for _ in range(BOMB_MIB):
        check = zlib.crc32(block, check)
        size += len(block)
    start = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
    return start + first + packed * BOMB_MIB + packer.flush() + struct.pack("<II", check, size)


def _gzip_bomb(_page: HostilePage, _ask: Ask) -> Answer:
    return Answer(_bomb(), headers={"Content-Encoding": "gzip"})


def _big(page: HostilePage, _ask: Ask) -> Answer:
    line = f"<p>The {page.word} has a very long page, and this is a line of it.</p>\n"
    return Answer(page.html(line * (BIG_BYTES // len(line))))


def _next_page(page: HostilePage, ask: Ask) -> Answer:
    """Answer with a page that goes on to the next, for ever."""
    here = int(ask.path or 0) if (ask.path or "0").isdigit() else 0
    return Answer(page.html(f"<script>location = '@own@{here + 1}'</script>"))


def _next_redirect(page: HostilePage, ask: Ask) -> Answer:
    here = int(ask.path or 0) if (ask.path or "0").isdigit() else 0
    return Answer("", 302, headers={"Location": f"{page.prefix}{here + 1}"})


DISK = (
    Kind("download-direct", lambda page, _: _attachment(page), costly=True),
    _download("download-location", "<script>location = '@own@file'</script>"),
    _download("download-frames", "<iframe src='@own@file'></iframe>" * 20),
    _download(
        "download-anchors",
        "<script>for (let i = 0; i < 10; i++) { const a = document.createElement('a'); a.href = "
        "'@own@file' + i; a.download = 'f' + i; document.body.append(a); a.click(); }</script>",
    ),
)

MEMORY = (
    _held(
        "memory-heap",
        "const kept = []; const more = () => { for (let i = 0; i < 8; i++) kept.push(new Array("
        "1e6).fill(Math.random())); if (kept.length < 500) setTimeout(more, 0); }; more()",
    ),
    _held(
        "memory-buffers",
        "const kept = []; const more = () => { kept.push(new Uint8Array(2 ** 26).fill(7)); "
        "if (kept.length < 96) setTimeout(more, 0); }; more()",
    ),
    _held(
        "memory-dom",
        "let n = 0; const more = () => { for (let i = 0; i < 10; i++) { const p = "
        "document.createElement('p'); p.textContent = ('word' + n + ' ').repeat(1e5); "
        "document.body.append(p); } if (++n < 200) setTimeout(more, 0); }; more()",
    ),
    Kind("gzip-bomb", _gzip_bomb, costly=True),
    Kind("gzip-bomb-plain", _gzip_bomb, "never", costly=True),
    Kind("big-page", _big, costly=True),
)

TIME = (
    scripted("cpu-loop", "for (;;);", costly=True),
    scripted("cpu-late-loop", "addEventListener('load', () => { for (;;); })", costly=True),
    scripted(
        "cpu-microtasks", "(async () => { for (;;) await Promise.resolve(); })()", costly=True
    ),
    scripted(
        "cpu-changes", "setInterval(() => { document.querySelector('h1').textContent += ' a'; }, 1)"
    ),
    Kind("redirect-script", _next_page),
    Kind("redirect-302", _next_redirect),
    Kind("slow-body", lambda page, _: Answer(_slow(page)), costly=True),
    scripted("flood-frames", body="<iframe src='@own@frame'></iframe>" * 2000, costly=True),
    scripted(
        "flood-fetch",
        "for (let i = 0; i < 5000; i++) fetch('@own@data?' + i).catch(() => 0)",
        costly=True,
    ),
    scripted(
        "flood-popups",
        "let n = 0; setInterval(() => { if (n++ < 300) window.open('@own@popup'); }, 10)",
        costly=True,
    ),
    scripted("flood-alerts", "for (let i = 0; i < 1e6; i++) alert('a')", costly=True),
    scripted(
        "flood-leaving",
        "onbeforeunload = e => { e.preventDefault(); e.returnValue = 'a'; }; location = '@own@a'",
    ),
    scripted(
        "flood-history",
        "setInterval(() => { for (let i = 0; i < 50; i++) history.pushState(null, '', '@own@' + "
        "Math.random()); }, 5)",
    ),
    scripted(
        "flood-console",
        "const line = 'a'.repeat(1e4); setInterval(() => { for (let i = 0; i < 50; i++) "
        "console.log(line); }, 5)",
        costly=True,
    ),
    scripted(
        "permissions",
        "Notification.requestPermission(); navigator.geolocation.getCurrentPosition(() => 0);"
        "navigator.mediaDevices?.getUserMedia({audio: true}).catch(() => 0)",
    ),
)

LOADING: tuple[Kind, ...] = (*DISK, *MEMORY, *TIME)
