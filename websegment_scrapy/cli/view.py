"""``websegment view``: a database and pages to look at, in the browser of this machine."""

from __future__ import annotations

import contextlib
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from websegment_scrapy.archives.reading import Counts, is_archive
from websegment_scrapy.cli.arguments import DEFAULT_DATABASE, add_site_rules
from websegment_scrapy.cli.inputs import (
    add_input_arguments,
    load,
    load_archive,
    refuse_to_render_archives,
)
from websegment_scrapy.cli.output import printable
from websegment_scrapy.cli.progress import progress
from websegment_scrapy.exceptions import AnalysisError, WebsegmentError
from websegment_scrapy.pool import AnalysisPool
from websegment_scrapy.segment.registry import get_engine
from websegment_scrapy.store.queries import open_for_reading
from websegment_scrapy.view.marks import Marks
from websegment_scrapy.view.server import ViewServer
from websegment_scrapy.view.texts import SiteRules
from websegment_scrapy.view.viewer import Document, Viewer

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from websegment_scrapy.page.capture import Captured

__all__ = ["add_parser", "run"]

MOST_DOCUMENTS = 200
"""Pages that are held in memory."""


def add_parser(
    subparsers: argparse._SubParsersAction[argparse.ArgumentParser], summary: str
) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser("view", help=summary, description=__doc__)
    add_input_arguments(parser, nargs="*")
    parser.add_argument(
        "--database",
        metavar="URL",
        help=f"SQLAlchemy URL or path of an SQLite file (default: {DEFAULT_DATABASE}, if it is "
        "there)",
    )
    add_site_rules(parser)
    parser.add_argument(
        "--marks",
        type=Path,
        default=Path("websegment-marks.jsonl"),
        metavar="FILE",
        help="where it is written what is wrong (default: %(default)s)",
    )
    parser.add_argument(
        "--screenshots",
        type=Path,
        metavar="DIR",
        help="the crawls' WEBSEGMENT_KEEP_SCREENSHOTS: pictures of the database's pages",
    )
    parser.add_argument("--port", type=int, default=0, help="default: any free one")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Serve until Ctrl-C."""
    get_engine(args.engine)
    with contextlib.ExitStack() as stack:
        database = None
        if args.database or Path("websegment.db").is_file() or not args.inputs:
            opened = open_for_reading(args.database or DEFAULT_DATABASE, mapped=True)
            database = stack.enter_context(contextlib.closing(opened))
        failed = False
        documents: list[Document] = []
        for found in progress(_documents(args), len(args.inputs)):
            if isinstance(found, Document):
                documents.append(found)
            else:
                failed = True
                print(printable(f"websegment: {found}"), file=sys.stderr)
        if failed and not documents and database is None:
            return 1
        pool = stack.enter_context(
            AnalysisPool(min(args.workers, 2), timeout=args.page_timeout, memory=args.page_memory)
        )
        viewer = Viewer(
            documents[:MOST_DOCUMENTS],
            pool,
            Marks(args.marks),
            database,
            SiteRules(args.threshold, args.min_pages),
            engine=args.engine,
            main_text=args.main_text,
            screenshots=args.screenshots,
        )
        try:
            server = stack.enter_context(ViewServer(viewer.answer, args.port))
        except OSError as error:
            raise WebsegmentError(
                f"port {args.port} cannot be used ({error.strerror}): name another with --port"
            ) from None
        if viewer.rooms is not None:
            threading.Thread(target=viewer.rooms.warm_up, daemon=True).start()
        print(f"{server.url}\nCtrl-C ends it.", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            server.serve_forever()
    return 0


def _documents(args: argparse.Namespace) -> Iterator[Document | str]:
    """Read all inputs, and take their pictures if they are rendered; a text says what failed."""
    with contextlib.ExitStack() as stack:
        pictures: list[bytes | None] = []
        render = None
        if args.render:
            refuse_to_render_archives(args.inputs)
            from websegment_scrapy.crawl.snapshot import Snapshotter

            snapshotter = stack.enter_context(Snapshotter())

            def render(source: str) -> Captured:
                captured, picture = snapshotter.render_with_picture(source)
                pictures.append(picture)
                return captured

        for source in args.inputs:
            pictures.clear()
            try:
                if is_archive(source):
                    yield from _archived(source)
                    continue
                for html, url, content_type in load(source, render):
                    picture = pictures[0] if pictures else None
                    yield Document(source, html, url, content_type, picture)
            except AnalysisError as error:
                yield f"{source}: {error}"


def _archived(source: str) -> Iterator[Document | str]:
    """Read the first pages of an archive: as many as are shown."""
    counts = Counts()
    for record in load_archive(source, counts):
        if record.error is None:
            yield Document(source, record.body, record.url, record.content_type, None)
        else:
            yield f"{source}: record {record.number} {record.url}: {record.reason}"
        if counts.pages >= MOST_DOCUMENTS:
            break
    print(printable(f"websegment: {source}: {counts}"), file=sys.stderr)
