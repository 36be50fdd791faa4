"""The servers of the hostile bench: public sites, an internal service, a stranger; and their notes.

One event loop in a thread serves them all. They listen on loopback only, and whatever they send
without an end ends after a minute.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import socket
import threading
from collections import Counter
from typing import TYPE_CHECKING, Self
from urllib.parse import unquote

from websegment_scrapy.bench.hostile_web import (
    INTERNAL_ADDRESS,
    INTERNAL_WORDS,
    KEY_PREFIX,
    SITE_ADDRESSES,
    THIRD_ADDRESS,
    Answer,
    Ask,
    Origins,
    key_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from websegment_scrapy.bench.hostile_articles import Article
    from websegment_scrapy.bench.hostile_web import HostilePage

__all__ = ["Servers"]

HEAD_SECONDS = 20.0
SEND_SECONDS = 90.0  # for one answer, whoever reads it how slowly
MOST_BODY = 10**6
START_SECONDS = 10.0
STUN_COOKIE = b"\x21\x12\xa4\x42"  # RFC 8489, section 5
ROBOTS = "User-agent: *\nDisallow: /forbidden/\n"
_WEBSOCKET = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455, section 1.3
_SECRET_TEXT = (
    f"<!doctype html><title>Internal {INTERNAL_WORDS[0]}</title><article><h1>Internal</h1><p>"
    + " ".join(f"The {word} of the house is kept in the cellar." for word in INTERNAL_WORDS * 4)
    + "</p></article>"
)
_STRANGER_TEXT = (
    "<!doctype html><title>Stranger</title><article><p>"
    + "A stranger's page says little that is of interest. " * 9
)

Request = tuple[str, str, dict[str, str]]


class Servers:
    """Context manager: the whole web of a run.

    ``reached`` counts what the internal service received, by kind of page, and ``connections`` all
    connections to it, whether or not anything was said; ``leaks`` names each canary header that
    came to another origin than its own.
    """

    def __init__(self) -> None:
        self.reached: Counter[str] = Counter()
        self.connections = 0
        self.leaks: Counter[str] = Counter()
        self._articles: dict[str, Article] = {}
        self._pages: dict[str, HostilePage] = {}
        self._loop = asyncio.new_event_loop()
        self._servers: list[asyncio.Server] = []
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self.origins = self._bind()

    def serve(self, articles: Iterable[Article], pages: Iterable[HostilePage]) -> None:
        """Take these pages into the web."""
        self._articles.update((article.url, article) for article in articles)
        self._pages.update((page.prefix, page) for page in pages)

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._start(), self._loop).result(START_SECONDS)
        return self

    def __exit__(self, *error: object) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(START_SECONDS)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(START_SECONDS)
        self._loop.close()

    def _bind(self) -> Origins:
        self._sites = [_listener(address) for address in SITE_ADDRESSES]
        self._internal = [_listener(INTERNAL_ADDRESS)]
        with contextlib.suppress(OSError):
            self._internal.append(_listener("::1"))
        self._third = _listener(THIRD_ADDRESS)
        self._udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._udp.bind((INTERNAL_ADDRESS, 0))
        self._udp.setblocking(False)
        unused = _listener(SITE_ADDRESSES[0])
        dead = _origin(unused)
        unused.close()
        return Origins(
            sites=tuple(map(_origin, self._sites)),
            internal=_origin(self._internal[0]),
            internal_v6=_origin(self._internal[1]) if len(self._internal) > 1 else None,
            third=_origin(self._third),
            dead=dead,
            udp=self._udp.getsockname()[1],
        )

    async def _start(self) -> None:
        for listener in self._sites:
            await self._listen(listener, self._site)
        for listener in self._internal:
            await self._listen(listener, self._internal_service)
        await self._listen(self._third, self._stranger)
        self._packets, _ = await self._loop.create_datagram_endpoint(
            lambda: _Packets(self.reached), sock=self._udp
        )

    async def _listen(
        self, listener: socket.socket, answer: Callable[[Request, str], Answer]
    ) -> None:
        origin = _origin(listener)
        secret = listener in self._internal

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            if secret:
                self.connections += 1
            with contextlib.suppress(OSError, EOFError, TimeoutError, ValueError):
                async with asyncio.timeout(SEND_SECONDS):
                    await self._converse(reader, writer, origin, answer)
            writer.close()

        self._servers.append(await asyncio.start_server(serve, sock=listener, limit=2**17))

    async def _stop(self) -> None:
        for server in self._servers:
            server.close()
        self._packets.close()
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await asyncio.sleep(0.01)  # transports are closed by a later turn of the loop

    async def _converse(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        origin: str,
        answer: Callable[[Request, str], Answer],
    ) -> None:
        async with asyncio.timeout(HEAD_SECONDS):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.split("\r\n")
        method, path, _ = first.split(" ", 2)
        pairs = (line.partition(":") for line in lines if line)
        headers = {name.lower(): value.strip() for name, _, value in pairs}
        self._note_headers(origin, path, headers)
        length = int(headers.get("content-length") or 0)
        await reader.readexactly(min(length, MOST_BODY))
        found = answer((method, path, headers), origin)
        if found.status == 101:
            await _speak_websocket(writer, headers)
            return
        await _send(writer, found, head_only=method == "HEAD")

    def _note_headers(self, origin: str, path: str, headers: dict[str, str]) -> None:
        """Note every secret that is not this origin's own."""
        for name, value in headers.items():
            if KEY_PREFIX in value and not value.endswith(key_of(origin)):
                self.leaks[f"{name} to {origin}{path} from {value}"] += 1

    def _site(self, request: Request, origin: str) -> Answer:
        method, path, headers = request
        bare = path.partition("?")[0]
        if bare == "/robots.txt":
            return Answer(ROBOTS, content_type="text/plain")
        article = self._articles.get(origin + bare)
        if article is not None:
            return Answer(article.html)
        parts = bare.split("/", 4)
        if len(parts) == 5 and parts[1] == "h":
            page = self._pages.get(f"{origin}/h/{parts[2]}/{parts[3]}/")
            if page is not None:
                return page.kind.answer(page, Ask(parts[4], method, headers))
        return Answer("<p>not found", 404)

    def _internal_service(self, request: Request, origin: str) -> Answer:
        _, path, headers = request
        parts = path.split("/")
        self.reached[parts[2] if len(parts) > 2 else path] += 1
        if headers.get("upgrade", "").lower() == "websocket":
            return Answer("", 101)
        return Answer(_SECRET_TEXT)

    def _stranger(self, request: Request, origin: str) -> Answer:
        onward = unquote(request[1].partition("?to=")[2])
        if onward:
            return Answer("", 302, headers={"Location": onward})
        return Answer(_STRANGER_TEXT)


class _Packets(asyncio.DatagramProtocol):
    def __init__(self, reached: Counter[str]) -> None:
        self.reached = reached

    def datagram_received(self, data: bytes, addr: object) -> None:
        self.reached["webrtc" if data[4:8] == STUN_COOKIE else "webtransport"] += 1


def _listener(address: str) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.bind((address, 0))
    listener.setblocking(False)
    return listener


def _origin(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


async def _send(writer: asyncio.StreamWriter, answer: Answer, *, head_only: bool) -> None:
    lines = [f"HTTP/1.1 {answer.status} Answer", f"Content-Type: {answer.content_type}"]
    lines += [f"{name}: {value}" for name, value in answer.headers.items()]
    body = answer.body.encode() if isinstance(answer.body, str) else answer.body
    if isinstance(body, bytes):
        lines.append(f"Content-Length: {len(body)}")
    lines += ["Access-Control-Allow-Origin: *", "Connection: close", "", ""]
    writer.write("\r\n".join(lines).encode("latin-1"))
    if head_only:
        body = b""
    if isinstance(body, bytes):
        writer.write(body)
    else:
        async for piece in body:
            writer.write(piece)
            await writer.drain()
    await writer.drain()


async def _speak_websocket(writer: asyncio.StreamWriter, headers: dict[str, str]) -> None:
    """Accept a WebSocket, say the internal words, and wait a little."""
    key = headers.get("sec-websocket-key", "") + _WEBSOCKET
    accept = base64.b64encode(hashlib.sha1(key.encode(), usedforsecurity=False).digest()).decode()
    text = " ".join(INTERNAL_WORDS).encode()
    writer.write(
        f"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Accept: {accept}\r\n\r\n".encode()
        + bytes([0x81, len(text)])
        + text
    )
    await writer.drain()
    await asyncio.sleep(1)
