"""What the commands read: URLs, HTML files, standard input; rendered or not."""

from __future__ import annotations

import contextlib
import json
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from websegment_scrapy.archives.reading import Counts, archives_in, is_archive, read_records
from websegment_scrapy.cli.arguments import add_page_limits, add_quiet, add_render, add_workers
from websegment_scrapy.cli.output import printable
from websegment_scrapy.cli.progress import counting, progress
from websegment_scrapy.config import MAIN_TEXTS, Config
from websegment_scrapy.exceptions import AnalysisError, ConfigError, NotHtml
from websegment_scrapy.page.decode import OtherFormat
from websegment_scrapy.pool import AnalysisPool
from websegment_scrapy.segment.registry import engine_names, get_engine

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator

    from websegment_scrapy.archives.reading import Record
    from websegment_scrapy.page.capture import Captured

__all__ = [
    "PageTask",
    "Results",
    "add_input_arguments",
    "load",
    "load_archive",
    "refuse_to_render_archives",
]

FETCH_TIMEOUT = 30
MAX_BYTES = 64 * 2**20
USER_AGENT = "websegment (+https://pypi.org/project/websegment-scrapy/)"

_R = TypeVar("_R")
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class PageTask:
    """A page to analyse, and how; what a worker process gets."""

    source: str
    html: str | bytes | Captured
    url: str
    content_type: str | None
    engine: str
    main_text: str
    attributes: tuple[str, ...] = ()
    explain: bool = False
    markdown: bool = False
    archived: bool = False

    @property
    def options(self) -> dict[str, Any]:
        """What `analyze` and `extract` are told about it besides the document."""
        names = ("url", "content_type", "engine", "main_text")
        return {name: getattr(self, name) for name in names}


def add_input_arguments(parser: argparse.ArgumentParser, nargs: str | int = "+") -> None:
    """Add the inputs and the options that all page commands share."""
    defaults = Config()
    parser.add_argument(
        "inputs",
        metavar="INPUT",
        nargs=nargs,
        help="a URL, an HTML file, a file of JSON lines with 'html' and 'url' (*.jsonl), an "
        "archive (*.warc, *.warc.gz, *.wacz), or - for standard input",
    )
    parser.add_argument(
        "--engine",
        default=defaults.engine,
        help=f"segmentation engine (default: %(default)s; known: {', '.join(engine_names())})",
    )
    parser.add_argument(
        "--main-text",
        choices=MAIN_TEXTS,
        default=defaults.main_text,
        help="how the main text is found (default: %(default)s)",
    )
    add_render(parser, default=False)
    add_workers(parser)
    add_quiet(parser)
    add_page_limits(parser)


class Results(Generic[_R]):
    """The results of ``function`` on every input, in the order of the inputs.

    It runs in worker processes. An input that failed is named on standard error with the reason;
    ``status`` is 1 then, otherwise 0.
    """

    def __init__(self, args: argparse.Namespace, function: Callable[[PageTask], _R]) -> None:
        self.status = 0
        self._args = args
        self._function = function

    def __iter__(self) -> Iterator[_R]:
        for source, result in _each_page(self._args, self._function):
            if isinstance(result, AnalysisError):
                print(printable(f"websegment: {source}: {result}"), file=sys.stderr)
                self.status = 1
            else:
                yield result


def _each_page(
    args: argparse.Namespace, function: Callable[[PageTask], _R]
) -> Iterator[tuple[str, _R | AnalysisError]]:
    """Yield each input's name with the result or the error; say what archives had."""
    get_engine(args.engine)
    config = Config(
        workers=args.workers, page_timeout=args.page_timeout, page_memory=args.page_memory
    )
    sources: list[tuple[str, Counts | None]] = []
    archives: dict[str, Counts] = {}

    def loaded() -> Iterator[PageTask | AnalysisError]:
        for name, task, counts in _tasks(args, archives):
            sources.append((name, counts))
            yield task

    with AnalysisPool(
        config.workers, timeout=config.page_timeout, memory=config.page_memory
    ) as pool:
        results = pool.map(partial(_called, function), loaded())
        for number, result in enumerate(_told(results, args.inputs)):
            name, counts = sources[number]
            if not isinstance(result, OtherFormat):
                yield name, result
            elif counts is not None:
                counts.turn(result.kind)
    for name, counts in archives.items():
        print(printable(f"websegment: {name}: {counts}"), file=sys.stderr)


def _told(results: Iterator[_T], inputs: list[str]) -> Iterator[_T]:
    """Say how many results have come; nobody knows how many pages an archive has."""
    if not any(map(is_archive, inputs)):
        yield from progress(results, len(inputs))
        return
    with counting("pages") as count:
        for number, result in enumerate(results, start=1):
            yield result
            count(number)


def _called(function: Callable[[PageTask], _R], task: PageTask) -> _R | OtherFormat:
    """Do what is asked with a page; of an archive what is none is passed over and counted."""
    try:
        return function(task)
    except NotHtml as error:
        if not task.archived:
            raise
        return OtherFormat(error.kind, str(error))


def _tasks(
    args: argparse.Namespace, archives: dict[str, Counts]
) -> Iterator[tuple[str, PageTask | AnalysisError, Counts | None]]:
    """Yield what is to be done with each page, its name, and the counts of its archive."""
    with contextlib.ExitStack() as stack:
        snapshotter = None
        if args.render:
            refuse_to_render_archives(args.inputs)
            from websegment_scrapy.crawl.snapshot import Snapshotter

            snapshotter = stack.enter_context(Snapshotter())
        for source in args.inputs:
            try:
                if is_archive(source):
                    counts = archives[source] = Counts()
                    for record in load_archive(source, counts):
                        name = f"{source}: record {record.number} {record.url}".rstrip()
                        if record.error is None:
                            yield name, _task(args, source, record.page, archived=True), counts
                        else:
                            yield name, AnalysisError(record.reason), counts
                    continue
                for page in load(source, snapshotter.render if snapshotter else None):
                    yield source, _task(args, source, page), None
            except AnalysisError as error:
                yield source, error, None


def _task(
    args: argparse.Namespace,
    source: str,
    page: tuple[str | bytes | Captured, str, str | None],
    *,
    archived: bool = False,
) -> PageTask:
    return PageTask(
        source=source,
        html=page[0],
        url=page[1],
        content_type=page[2],
        engine=args.engine,
        main_text=args.main_text,
        attributes=tuple(getattr(args, "attributes", ())),
        explain=getattr(args, "explain", False),
        markdown=getattr(args, "format", "text") == "markdown",
        archived=archived,
    )


def refuse_to_render_archives(inputs: list[str]) -> None:
    """Refuse what cannot be done: an archive has none of the files that a browser would ask for."""
    for source in filter(is_archive, inputs):
        raise ConfigError(f"{source} is an archive, which cannot be rendered: leave out --render")


def load_archive(source: str, counts: Counts) -> Iterator[Record]:
    """Yield the pages of an archive, and the records that cannot be read; count all of them."""
    path = Path(source)
    if not path.is_file():
        raise AnalysisError("no such file")
    for archive in archives_in(path):
        for record in read_records(archive):
            counts.add(record)
            if record.skipped is None:
                yield record


def load(
    source: str, render: Callable[[str], Captured] | None = None
) -> Iterator[tuple[str | bytes | Captured, str, str | None]]:
    """Yield ``(html, url, content type)`` of each page of an input."""
    is_url = urlsplit(source).scheme in ("http", "https")
    if is_url:
        yield (render(source), source, None) if render else _fetch(source)
    elif source == "-":
        yield from _pages_of(sys.stdin.buffer.read(), "")
    else:
        path = Path(source)
        if not path.is_file():
            raise AnalysisError("no such file, and no http or https URL")
        url = path.resolve().as_uri()
        if path.suffix == ".jsonl":
            yield from _pages_of(path.read_bytes(), url)
        elif render:
            yield render(source), url, None
        else:
            yield path.read_bytes(), url, None


def _pages_of(body: bytes, url: str) -> Iterator[tuple[str | bytes, str, str | None]]:
    """Split JSON lines of pages; anything else is one document."""
    lines = body.splitlines() if body[:1] == b"{" else []
    if not lines or b'"html"' not in lines[0]:
        yield body, url, None
        return
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            page = json.loads(line)
            yield str(page["html"]), str(page.get("url") or ""), None
        except (ValueError, KeyError, TypeError):
            raise AnalysisError(f"line {number} is no JSON object with the key 'html'") from None


def _fetch(url: str) -> tuple[bytes, str, str | None]:
    request = Request(url, headers={"User-Agent": USER_AGENT, "Accept": "text/html,*/*;q=0.5"})
    try:
        with urlopen(request, timeout=FETCH_TIMEOUT) as response:
            body = response.read(MAX_BYTES + 1)
            if len(body) > MAX_BYTES:
                raise AnalysisError(f"the body is larger than {MAX_BYTES // 2**20} MiB")
            return body, response.url, response.headers.get("Content-Type")
    except HTTPError as error:
        raise AnalysisError(f"the server answered {error.code} {error.reason}") from None
    except (URLError, OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        raise AnalysisError(f"could not be fetched: {reason}") from None
