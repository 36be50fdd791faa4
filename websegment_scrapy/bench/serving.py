"""Sites on loopback addresses, served from a process of its own: ``python -m …serving PLAN``.

A site is a folder of pages, and of another one with what they load, if there is one.
"""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from mimetypes import guess_type
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from websegment_scrapy.bench.mix import MixedPage

__all__ = ["serving", "write_mix", "write_pages"]


def write_pages(sites: Mapping[str, Mapping[str, bytes]], folder: Path) -> dict[str, list[str]]:
    """Write the pages of sites, each by its path, into folders; return those as `serving` takes."""
    for site, pages in sites.items():
        for path, body in pages.items():
            place = folder / site / path.lstrip("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(body)
    return {site: [str(folder / site)] for site in sites}


def write_mix(mix: Iterable[MixedPage], folder: Path) -> dict[str, list[str]]:
    """Write the pages of a mix; beside the folder of each site stand those that its pages load."""
    sites: dict[str, dict[str, bytes]] = {}
    files: dict[str, dict[str, None]] = {}
    for page in mix:
        sites.setdefault(page.site, {})[page.path] = page.body
        if page.files is not None:
            files.setdefault(page.site, {})[page.files] = None
    folders = write_pages(sites, folder)
    return {site: [*own, *files.get(site, ())] for site, own in folders.items()}


@contextmanager
def serving(sites: Mapping[str, list[str]], plan: Path) -> Iterator[dict[str, str]]:
    """Serve the folders of each site on an address of its own; give the sites' origins.

    ``plan`` is a file that is written for the server.
    """
    plan.write_text(json.dumps(dict(sites)))
    command = [sys.executable, "-m", __name__, str(plan)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        try:
            origins: dict[str, str] = json.loads(server.stdout.readline())
            yield origins
        finally:
            server.stdin.close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    folders: tuple[Path, ...] = ()

    def do_GET(self) -> None:
        """Answer with the file of that path, from the first folder that has it."""
        path = unquote(urlsplit(self.path).path).lstrip("/")
        found = next(filter(None, (_inside(folder, path) for folder in self.folders)), None)
        body = b"" if found is None else found.read_bytes()
        self.send_response(404 if found is None else 200)
        kind = None if found is None else guess_type(found.name)[0]
        self.send_header("Content-Type", kind or "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of browsers that go away in the middle of an answer."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def _inside(folder: Path, path: str) -> Path | None:
    """Return a file of a folder, none that is outside of it."""
    place = (folder / path).resolve()
    return place if place.is_file() and place.is_relative_to(folder) else None


def main() -> None:
    """Serve until standard input ends."""
    sites = json.loads(Path(sys.argv[1]).read_text())
    origins = {}
    for number, (site, folders) in enumerate(sites.items()):
        places = tuple(Path(folder).resolve() for folder in folders)
        address = f"127.0.{number // 250}.{number % 250 + 2}"
        server = _Server((address, 0), type("Site", (_Handler,), {"folders": places}))
        Thread(target=server.serve_forever, daemon=True).start()
        origins[site] = f"http://{address}:{server.server_port}"
    print(json.dumps(origins), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
