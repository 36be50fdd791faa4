"""``websegment report``: what crawls found, as one HTML file that needs nothing else."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from websegment_scrapy.cli.arguments import add_database, add_quiet, add_site_rules
from websegment_scrapy.cli.progress import steps
from websegment_scrapy.config import Config
from websegment_scrapy.exceptions import WebsegmentError
from websegment_scrapy.store.queries import open_for_reading
from websegment_scrapy.view.report import report
from websegment_scrapy.view.texts import SiteRules

if TYPE_CHECKING:
    import argparse

__all__ = ["add_parser", "run"]

DEFAULT_FILE = "websegment.html"


def add_parser(
    subparsers: argparse._SubParsersAction[argparse.ArgumentParser], summary: str
) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser("report", help=summary, description=__doc__)
    add_database(parser)
    parser.add_argument(
        "--items",
        action="append",
        default=[],
        metavar="FEED",
        help="what a crawl wrote besides (JSON lines, or Scrapy's JSON): its texts are shown; may "
        "be repeated, the earliest first",
    )
    parser.add_argument(
        "--field",
        default=Config().field,
        metavar="NAME",
        help="the items' field with the result (default: %(default)s)",
    )
    add_site_rules(parser)
    parser.add_argument(
        "-o", "--output", default=DEFAULT_FILE, metavar="FILE", help="default: %(default)s"
    )
    add_quiet(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Make the report."""
    rules = SiteRules(args.threshold, args.min_pages)
    with (
        closing(open_for_reading(args.database)) as database,
        steps("report") as progress,
    ):
        html = report(database, args.items, field=args.field, rules=rules, progress=progress)
    if args.output == "-":
        sys.stdout.write(html)
        return 0
    path = Path(args.output)
    data = html.encode("utf-8", "replace")
    try:
        path.write_bytes(data)
    except OSError as error:
        raise WebsegmentError(
            f"{path} cannot be written ({error.strerror}): name another file with -o"
        ) from None
    if not args.quiet:
        print(f"{path}: {len(data) / 1e6:.1f} MB", file=sys.stderr)
    return 0
