"""``websegment templates``: what a site repeats, as the database knows it."""

from __future__ import annotations

import sys
from contextlib import closing
from dataclasses import asdict, fields
from typing import TYPE_CHECKING

from websegment_scrapy.cli.arguments import add_database, add_format, add_raw_csv, add_site_rules
from websegment_scrapy.cli.output import open_output, printable, write_rows
from websegment_scrapy.page.by_script import REASONS
from websegment_scrapy.store import queries
from websegment_scrapy.store.database import Database
from websegment_scrapy.store.record import canonical_url, host_of
from websegment_scrapy.store.rendering import rendering_rows
from websegment_scrapy.store.templates import TemplatePart, forget_site, template_parts

if TYPE_CHECKING:
    import argparse

__all__ = ["add_parser", "run"]


def add_parser(
    subparsers: argparse._SubParsersAction[argparse.ArgumentParser], summary: str
) -> None:
    """Add ``templates`` to the command line."""
    parser = subparsers.add_parser(
        "templates",
        help=summary,
        description=(
            "Show the parts that a site repeats, as crawls have counted them: on how many of the "
            "counted pages each was, and how it begins; and how many of its pages needed the "
            "browser when they were looked at both ways. Exit status 1 if too few are counted."
        ),
    )
    parser.add_argument("site", metavar="SITE", help="a host, such as example.org, or a URL")
    add_database(parser)
    add_site_rules(parser)
    parser.add_argument(
        "--forget",
        action="store_true",
        help="forget the site's counts, such as after a new design: its pages count anew",
    )
    add_format(parser)
    add_raw_csv(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Show or forget a site's templates; return the exit status."""
    host = host_of(canonical_url(args.site)) if "://" in args.site else args.site.lower()
    with closing(queries.open_for_reading(args.database)) as database:
        if args.forget:
            return _forget(args.database, host)
        with database.read() as connection:
            pages, found = template_parts(
                connection, host, theta=args.threshold, min_pages=args.min_pages
            )
            rendering = rendering_rows(connection, host)
        with open_output(args.output) as out:
            columns = [field.name for field in fields(TemplatePart)]
            if args.format == "table":
                columns.remove("part")
            rows = ({name: asdict(each)[name] for name in columns} for each in found)
            write_rows(rows, args.format, out, columns, raw_csv=args.raw_csv)
    said = f"{len(found)} templates on {pages} counted pages"
    if pages < args.min_pages:
        said = f"{pages} pages counted, fewer than {args.min_pages}: nothing is said about it yet"
    print(f"{printable(host)}: {said}", file=sys.stderr)
    for row in rendering:
        kind = REASONS.get(row.sign, printable(row.sign))
        print(
            f"{printable(host)}: {row.share:.0%} of the last pages that were looked at both ways "
            f"needed the browser, where {kind}",
            file=sys.stderr,
        )
    return 1 if pages < args.min_pages else 0


def _forget(url: str, host: str) -> int:
    with closing(Database.open(url, create=True)) as database, database.write() as connection:
        pages = forget_site(connection, host)
    print(f"{printable(host)}: the counts of {pages} pages are forgotten", file=sys.stderr)
    return 0
