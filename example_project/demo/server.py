"""Serves the three example sites on this machine, during a crawl or by hand.

``python -m demo.server`` serves them until Ctrl-C, to look at them in a browser. During
``scrapy crawl news`` the extension below does it, so that the example needs nothing else.
"""

from __future__ import annotations

import logging
import sys
import threading
from functools import partial
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from scrapy import signals

from demo.pages import respond
from demo.web import HOST, Site, load_sites

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler

__all__ = ["FIRST_PORT", "DemoWeb", "WebServers"]

FIRST_PORT = 8651
SERVER_NAME = "websegment-demo"

logger = logging.getLogger(__name__)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, *args: Any, site: Site, server_name: str) -> None:
        self.site = site
        self.server_version = server_name
        super().__init__(*args)

    def do_GET(self) -> None:
        found = respond(self.site, self.path)
        kind, text = found or ("text/plain", f"{self.site.name} has no page {self.path}\n")
        body = text.encode()
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        logger.debug(format, *args)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False  # a browser's idle connections must not hold up the end of the crawl

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Keep quiet about a browser that hangs up in the middle of an answer."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class WebServers:
    """The three servers, one per site, on consecutive ports.

    Parameters
    ----------
    first_port
        Port of the first site.
    later
        Serve the sites as they are a week later.
    """

    def __init__(self, first_port: int = FIRST_PORT, *, later: bool = False) -> None:
        self.sites = load_sites(first_port, later=later)
        self._name = SERVER_NAME + ("-later" if later else "")
        self._servers: list[_Server] = []

    def start(self) -> None:
        """Serve in the background; leave the ports to the same web where it already runs."""
        for site in self.sites:
            answer = partial(_Handler, site=site, server_name=self._name)
            try:
                server = _Server((HOST, site.port), answer)
            except OSError as error:
                if _server_at(site.port) == self._name:
                    continue
                self.stop()
                raise OSError(
                    f"port {site.port} is taken ({error.strerror}): choose three free ports, for "
                    f"example scrapy crawl news -s DEMO_PORT=9651, or make demo PORT=9651"
                ) from None
            self._servers.append(server)
            threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self) -> None:
        """Stop what :meth:`start` started."""
        for server in self._servers:
            server.shutdown()
            server.server_close()
        self._servers.clear()


class DemoWeb:
    """Scrapy extension that serves the example sites as long as the crawl runs.

    Settings: ``DEMO_PORT``, the first of three ports; ``DEMO_LATER``, the sites a week later.
    """

    def __init__(self, servers: WebServers) -> None:
        self.servers = servers

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Start serving before the first request is made."""
        port, later = crawler.settings.getint("DEMO_PORT"), crawler.settings.getbool("DEMO_LATER")
        web = cls(WebServers(port, later=later))
        web.servers.start()
        crawler.signals.connect(web.servers.stop, signal=signals.engine_stopped)
        return web


def _server_at(port: int) -> str:
    """Return how the server at a port names itself (its name and its Python's)."""
    connection = HTTPConnection(HOST, port, timeout=2)
    try:
        connection.request("GET", "/robots.txt")
        return (connection.getresponse().getheader("Server") or "").partition(" ")[0]
    except (OSError, HTTPException):
        return ""
    finally:
        connection.close()


def main() -> None:
    """Serve until Ctrl-C."""
    servers = WebServers(int(sys.argv[1]) if len(sys.argv) > 1 else FIRST_PORT)
    servers.start()
    for site in servers.sites:
        print(f"{site.origin}/  {site.name}, {len(site.pages)} pages")
    print("Ctrl-C ends it.")
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        servers.stop()


if __name__ == "__main__":
    main()
