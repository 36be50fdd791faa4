"""The viewer's HTTP server: for the person at this machine, and for nobody else.

It listens on 127.0.0.1 only. Every path begins with a random token, so that another user or a web
page in the same browser cannot guess it; the ``Host`` header must be our own address, so that a
name that somebody points to 127.0.0.1 (DNS rebinding) gets nothing; what is posted must come from
our own pages (``Origin``). No answer may be framed, cached or read by other sites, and nothing is
loaded from elsewhere.
"""

from __future__ import annotations

import secrets
import socket
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Answer", "Question", "ViewServer"]

ADDRESS = "127.0.0.1"
LARGEST_BODY = 100_000
MOST_DISCARDED = 10_000_000
READ_SECONDS = 10.0

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-DNS-Prefetch-Control": "off",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked: the path behind the token, the query, and what was posted, if anything."""

    path: str
    query: str = ""
    posted: bytes | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What is answered."""

    body: bytes
    type: str = "text/html; charset=utf-8"
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


class ViewServer(ThreadingHTTPServer):
    """A server for one viewer.

    Parameters
    ----------
    answer
        Gives the answer to a question; it is called in several threads.
    port
        0: any free one.
    """

    daemon_threads = True

    def __init__(self, answer: Callable[[Question], Answer], port: int = 0) -> None:
        self.answer = answer
        self.token = secrets.token_urlsafe(24)
        super().__init__((ADDRESS, port), _Handler)

    @property
    def url(self) -> str:
        """Where the viewer is, token and all."""
        return f"http://{ADDRESS}:{self.server_port}/{self.token}/"

    @property
    def hosts(self) -> tuple[str, ...]:
        """The values of ``Host`` that are ours."""
        return tuple(f"{name}:{self.server_port}" for name in (ADDRESS, "localhost"))


class _Handler(BaseHTTPRequestHandler):
    server: ViewServer
    server_version = "websegment"
    sys_version = ""
    timeout = READ_SECONDS
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer a question."""
        self._reply(None)

    def do_POST(self) -> None:
        """Take what one of our own pages posts."""
        origin = self.headers.get("Origin", "")
        if origin not in {f"http://{host}" for host in self.server.hosts}:
            self._refuse(403, "only the viewer's own pages may post")
            return
        if self.headers.get_content_type() != "application/json":
            self._refuse(415, "post JSON")
            return
        length = self.headers.get("Content-Length", "")
        if not _is_number(length) or int(length) > LARGEST_BODY:
            self._discard(length)
            self._refuse(413, "too much, or of unknown length")
            return
        self._reply(self.rfile.read(int(length)))

    def _reply(self, posted: bytes | None) -> None:
        if self.headers.get("Host") not in self.server.hosts:
            self._refuse(421, "this is not the viewer's address")
            return
        try:
            parts = urlsplit(self.path)
        except ValueError:
            self._refuse(400, "this is no address")
            return
        token, slash, path = parts.path.removeprefix("/").partition("/")
        if not slash or not secrets.compare_digest(token.encode(), self.server.token.encode()):
            self._refuse(404, "there is nothing here: use the address that the command has printed")
            return
        self._send(self.server.answer(Question(path, parts.query, posted)))

    def _discard(self, length: str) -> None:
        """Read what is too much, within reason: otherwise the answer would be lost with it."""
        left = min(int(length), MOST_DISCARDED) if _is_number(length) else 0
        while left > 0 and (piece := self.rfile.read(min(left, 65_536))):
            left -= len(piece)

    def _refuse(self, status: int, why: str) -> None:
        self.close_connection = True
        self._send(Answer(why.encode() + b"\n", "text/plain; charset=utf-8", status))

    def _send(self, answer: Answer) -> None:
        with suppress(ConnectionError, socket.timeout):
            self.send_response(answer.status)
            for name, value in {**HEADERS, **answer.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Type", answer.type)
            self.send_header("Content-Length", str(len(answer.body)))
            if self.close_connection:
                self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(answer.body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: addresses hold the token."""


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 12
