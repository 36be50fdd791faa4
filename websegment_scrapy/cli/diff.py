"""``websegment dedup diff``: what changed on a page between two visits."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TextIO

from websegment_scrapy.cli.output import printable, write_rows
from websegment_scrapy.dedup.passages import edits
from websegment_scrapy.store.kept_texts import texts_of
from websegment_scrapy.view.lookups import page_by_url

if TYPE_CHECKING:
    import argparse

    from websegment_scrapy.store.database import Database

__all__ = ["add_arguments", "answer"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``diff``."""
    parser.description = (
        "What was taken out of a page's text (-) and put in (+) between the last two texts that "
        "the database keeps of it. A crawl with WEBSEGMENT_KEEP_TEXTS keeps them."
    )
    parser.add_argument("url", metavar="URL")
    parser.add_argument(
        "--back",
        type=int,
        default=1,
        metavar="N",
        help="compare the last text with the one N changes before (default: %(default)s)",
    )


def answer(database: Database, args: argparse.Namespace, out: TextIO) -> int:
    """Write the edits of a page; exit status 1 if nothing can be compared."""
    with database.read() as connection:
        page = page_by_url(connection, args.url)
        versions = [] if page is None else texts_of(connection, [page]).get(page, [])
    if args.back < 1 or len(versions) <= args.back:
        said = (
            f"{args.url} is not in {database.name}: no crawl has stored it"
            if page is None
            else f"{len(versions)} texts of {args.url} are kept in {database.name}, too few to go "
            f"{args.back} back: a crawl with WEBSEGMENT_KEEP_TEXTS = {max(args.back, 1) + 1} keeps "
            "them"
        )
        print(printable(said), file=sys.stderr)
        return 1
    before, after = versions[-1 - args.back], versions[-1]
    rows = [{"what": sign, "text": text} for sign, text in edits(before.text, after.text)]
    if args.format == "table":
        out.write(f"--- {before.seen_at.isoformat()}\n+++ {after.seen_at.isoformat()}\n")
        out.writelines(f"{row['what']} {printable(row['text'])}\n" for row in rows)
    else:
        write_rows(rows, args.format, out, ["what", "text"], raw_csv=args.raw_csv)
    return 0
