"""Proves that the wheel and the sdist work where nothing else is installed.

Both are built as a release builds them: the sdist from the checkout, the wheel from the sdist. The
wheel has the package with its data files and nothing else, the sdist all that its tests need. Each
is installed in an empty virtual environment, where a new Scrapy project gets the one line that the
README promises, crawls two pages of a server on this machine, twice, and is asked what it found.
Nothing is rendered, so no browser is needed. It uses the standard library only.

``distributions.py [wheel] [sdist] [--keep FOLDER]``
    both, where none is named; ``--keep`` leaves the two files in a folder.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sqlite3
import sys
import tarfile
import threading
import tomllib
import zipfile
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from environments import ROOT, Environment, temporary_folder
from running import say

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = ["build", "fault", "main", "prove", "sources"]

KINDS = {"wheel": "*.whl", "sdist": "*.tar.gz"}
PACKAGE = "websegment_scrapy"
LEFT_OUT = {"__pycache__", "results", ".scrapy", ".DS_Store"}
"""Folders that git ignores too, because running things makes them."""
IGNORED = (".pyc", ".db", ".db-wal", ".db-shm")
BUILD_SECONDS = 900.0
COMMAND_SECONDS = 120.0
CRAWL_SECONDS = 300.0

LINE = 'ADDONS = {"websegment_scrapy.Addon": 500}\n'
SPIDER = """\
import scrapy


class TwoPagesSpider(scrapy.Spider):
    name = "two_pages"

    def __init__(self, start_url, **kwargs):
        super().__init__(**kwargs)
        self.start_urls = [start_url]

    def parse(self, response):
        yield {"link": response.url}
        yield from response.follow_all(css="a.next")
"""
PAGES = {
    "/bridge": (
        "The bridge over the river was opened on Monday after four years of work. Hundreds of "
        "people walked across it in the rain, and the mayor cut a ribbon that had been kept dry "
        "in a tin. Trams will cross it from spring; until then it belongs to those on foot.",
        '<a class="next" href="/orchard">next</a>',
    ),
    "/orchard": (
        "Every autumn the orchard behind the school is picked by its pupils. This year frost in "
        "April left few apples, but pears were plenty, and the juice was sold out before noon. "
        "With the money the oldest class wants to plant a walnut, which none of them will eat.",
        "",
    ),
}
"""Two pages that have nothing in common, and the link from one to the other."""


class _Site(BaseHTTPRequestHandler):
    """Serves the two pages; there is no robots.txt."""

    def do_GET(self) -> None:
        known = PAGES.get(self.path)
        title = self.path.strip("/").capitalize()
        text, link = known or ("Nothing is here.", "")
        page = f"<title>{title}</title><h1>{title}</h1><p>{text}</p>{link}".encode()
        self.send_response(200 if known else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, *_: object) -> None:
        """Say nothing about requests."""


@contextmanager
def _served() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Site)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def build(folder: Path) -> dict[str, Path]:
    """Build both into a folder; return their files by kind."""
    say("Building the sdist, and the wheel from it")
    builder = Environment(folder / "builder")
    builder.install("build")
    made = folder / "dist"
    command = ["python", "-m", "build", "--outdir", str(made), str(ROOT)]
    builder.run(*command, folder=folder, seconds=BUILD_SECONDS)
    files = {}
    for kind, pattern in KINDS.items():
        found = sorted(made.glob(pattern))
        if len(found) != 1:
            sys.exit(f"The build gave {len(found)} files {pattern} instead of one")
        files[kind] = found[0]
    return files


def sources(kind: str, root: Path = ROOT) -> set[str]:
    """Return the files of the checkout that a distribution must have, relative to its top."""
    tops = [PACKAGE]
    if kind == "sdist":
        project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
        include = project["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
        tops = ["pyproject.toml", *(each.lstrip("/") for each in include)]
    found = set()
    for top in tops:
        path = root / top
        inside = path.rglob("*") if path.is_dir() else [path]
        found |= {each.relative_to(root) for each in inside if each.is_file()}
    return {
        each.as_posix()
        for each in found
        if not LEFT_OUT.intersection(each.parts) and not each.name.endswith(IGNORED)
    }


def fault(kind: str, names: Iterable[str], wanted: set[str]) -> str | None:
    """Say what a distribution lacks, or has and should not have.

    Parameters
    ----------
    kind
        ``"wheel"`` or ``"sdist"``.
    names
        The files in it, as the archive names them.
    wanted
        The files that it must have (`sources`).
    """
    found = {name for name in names if not name.endswith("/")}
    if kind == "wheel":  # beside the package: what describes it
        found = {name for name in found if not _top(name).endswith(".dist-info")}
    else:  # all is in one folder; PKG-INFO is made, .gitignore is hatchling's own
        found = {str(PurePosixPath(*PurePosixPath(name).parts[1:])) for name in found}
        found -= {"PKG-INFO", ".gitignore"}
    lacking, foreign = sorted(wanted - found), sorted(found - wanted)
    if lacking:
        return f"the {kind} lacks {', '.join(lacking)}"
    return f"the {kind} has what it should not have: {', '.join(foreign)}" if foreign else None


def _top(name: str) -> str:
    return PurePosixPath(name).parts[0]


def _check_contents(kind: str, file: Path) -> None:
    if kind == "wheel":
        with zipfile.ZipFile(file) as wheel:
            names = wheel.namelist()
    else:
        with tarfile.open(file) as sdist:
            names = [each.name for each in sdist.getmembers() if not each.isdir()]
    found = fault(kind, names, sources(kind))
    if found is not None:
        sys.exit(f"{file.name}: {found}")


def prove(file: Path, folder: Path) -> None:
    """Install a distribution where nothing else is, and crawl with it."""
    say(f"Installing {file.name} in an empty environment")
    environment = Environment(folder / "venv")
    environment.install(str(file))
    say("Crawling two pages, twice")
    startproject = ["scrapy", "startproject", "small"]
    environment.run(*startproject, folder=folder, seconds=COMMAND_SECONDS)
    project = folder / "small"
    with (project / "small" / "settings.py").open("a", encoding="utf-8") as settings:
        settings.write(LINE)
    (project / "small" / "spiders" / "two_pages.py").write_text(SPIDER, encoding="utf-8")
    with _served() as site:
        for decision in ("new", "unchanged"):
            _crawl(environment, project, site, decision)
        _ask(environment, project, site)
    print(f"{file.name}: installed, crawled twice, asked")


def _crawl(environment: Environment, project: Path, site: str, decision: str) -> None:
    """Crawl, and check that every item has its result, and every page its row."""
    command = ["scrapy", "crawl", "two_pages", "-a", f"start_url={site}/bridge"]
    options = ["-s", "WEBSEGMENT_RENDER=never", "-s", "DOWNLOAD_DELAY=0", "-O", "items.jsonl"]
    said = environment.run(*command, *options, folder=project, seconds=CRAWL_SECONDS)
    lines = (project / "items.jsonl").read_text(encoding="utf-8").splitlines()
    results = {item["link"]: item.get("websegment") or {} for item in map(json.loads, lines)}
    found = {link: result.get("decision") for link, result in results.items()}
    wanted = {f"{site}{path}": decision for path in PAGES}
    _same("decisions of items", found, wanted, said)
    for path, (text, _) in PAGES.items():
        main_text = results[f"{site}{path}"]["main_text"]
        _same(f"main text of {path}: its paragraph is in it", text in main_text, True, said)
    with closing(sqlite3.connect(project / "websegment.db")) as database:
        rows = database.execute("SELECT url, decision FROM pages").fetchall()
    _same("rows of the database", {url for url, _ in rows}, set(wanted), said)


def _ask(environment: Environment, project: Path, site: str) -> None:
    """Ask with both commands."""
    for command in (["websegment"], ["scrapy", "websegment"]):
        asked = [*command, "dedup", "url", f"{site}/bridge"]
        said = environment.run(*asked, folder=project, seconds=COMMAND_SECONDS)
        _same(f"{' '.join(asked)} names the page", f"{site}/bridge" in said, True, said)


def _same(what: str, found: object, wanted: object, said: str) -> None:
    if found != wanted:
        say(said)
        sys.exit(f"{what}: {found} instead of {wanted}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Build, then prove what was chosen."""
    parser = argparse.ArgumentParser(description="Build, install and try wheel and sdist.")
    parser.add_argument("kinds", nargs="*", metavar="wheel|sdist", help="both without any")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="leave the two files here")
    chosen = parser.parse_args(arguments)
    unknown = set(chosen.kinds) - set(KINDS)
    if unknown:
        parser.error(f"{', '.join(sorted(unknown))}: wheel or sdist")
    with temporary_folder() as folder:
        files = build(folder)
        for kind, file in files.items():
            _check_contents(kind, file)
        for kind in chosen.kinds or KINDS:
            (folder / kind).mkdir()
            prove(files[kind], folder / kind)
        if chosen.keep:
            chosen.keep.mkdir(parents=True, exist_ok=True)
            for file in files.values():
                shutil.copy(file, chosen.keep)
    return 0


if __name__ == "__main__":
    sys.exit(main())
