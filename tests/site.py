"""A real HTTP server on a loopback address whose routes a test programs."""

from __future__ import annotations

import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

__all__ = ["Route", "Site"]

MAX_SECONDS = 60.0  # nothing outlives this, even when a test forgets to close the site


@dataclass(frozen=True, kw_only=True)
class Route:
    """What one path answers.

    `body` may be a function of the request's path and body. `delay` seconds pass before the
    answer; `hang` never answers; `drop` closes the connection without an answer; `endless`
    sends the body and then this chunk again and again, without an end.
    """

    body: str | bytes | Callable[[str, bytes], str | bytes] = ""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "text/html; charset=utf-8"
    delay: float = 0.0
    hang: bool = False
    drop: bool = False
    endless: bytes | None = None


class Site:
    """Context manager: ``with Site({"/": "<p>Hi"}) as site: get(site.url("/"))``.

    Routes are HTML texts or `Route` objects and can be changed while the server runs
    (``site.routes``). ``site.hits`` counts the requests of each path, query included; a path
    without a route is a 404. A route with a query is preferred to one without.
    """

    def __init__(
        self, routes: Mapping[str, str | Route] | None = None, address: str = "127.0.0.1"
    ) -> None:
        self.address = address
        self.routes: dict[str, str | Route] = dict(routes or {})
        self.hits: Counter[str] = Counter()
        self.requests: list[tuple[str, str, dict[str, str], bytes]] = []
        self._closing = threading.Event()
        self._server = _Server((address, 0), _Handler)
        self._server.site = self
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        )

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def url(self, path: str = "/") -> str:
        return f"http://{self.address}:{self.port}{path}"

    def route_of(self, path: str) -> Route:
        found = self.routes.get(path, self.routes.get(path.partition("?")[0]))
        if found is None:
            return Route(status=404, body="<p>not found")
        return found if isinstance(found, Route) else Route(body=found)

    def wait(self, seconds: float) -> bool:
        """Wait, but not beyond the end of the site; return whether it goes on."""
        return not self._closing.wait(min(seconds, MAX_SECONDS))


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128
    site: Site

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Browsers leave in the middle of an answer; that is no error of the test."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    timeout = MAX_SECONDS

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def _answer(self) -> None:
        site = self.server.site
        sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        site.hits[self.path] += 1
        site.requests.append((self.command, self.path, dict(self.headers), sent))
        route = site.route_of(self.path)
        if route.drop:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        if route.hang:
            site.wait(MAX_SECONDS)
            self.close_connection = True
            return
        if route.delay and not site.wait(route.delay):
            return
        body = route.body(self.path, sent) if callable(route.body) else route.body
        data = body.encode() if isinstance(body, str) else body
        self.send_response(route.status)
        if "Content-Type" not in route.headers:
            self.send_header("Content-Type", route.content_type)
        for name, value in route.headers.items():
            self.send_header(name, value)
        if route.endless is None:
            self.send_header("Content-Length", str(len(data)))
        else:
            self.send_header("Connection", "close")
            self.close_connection = True
        self.end_headers()
        if self.command == "HEAD":
            return
        self.wfile.write(data)
        if route.endless is not None:
            end = time.monotonic() + MAX_SECONDS
            while time.monotonic() < end and site.wait(0.05):
                self.wfile.write(route.endless)

    do_GET = do_POST = do_HEAD = do_PUT = _answer  # noqa: N815
