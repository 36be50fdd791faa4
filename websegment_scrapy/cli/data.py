"""``websegment data``: downloaded data sets to the folder that ``evaluate`` and ``train`` read."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from websegment_scrapy.cli.arguments import add_quiet
from websegment_scrapy.cli.progress import steps

if TYPE_CHECKING:
    import argparse

__all__ = ["add_parser", "run"]

KINDS = ("wcxb", "dragnet", "cleaneval", "l3s_gn1", "segmentation")


def add_parser(
    subparsers: argparse._SubParsersAction[argparse.ArgumentParser], summary: str
) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "data",
        help=summary,
        description="Turn a downloaded data set into what evaluate and train read. The sets are no "
        "part of the package; docs/data.md names their sources and licences.",
        epilog="Then: websegment evaluate … --data DIR, or WEBSEGMENT_DATA=DIR.",
    )
    parser.add_argument("kind", metavar="KIND", choices=KINDS, help=f"one of {', '.join(KINDS)}")
    parser.add_argument(
        "sources", metavar="SOURCE", nargs="+", type=Path, help="folder of the unpacked originals"
    )
    parser.add_argument(
        "-o", "--output", metavar="DIR", type=Path, required=True, help="the data folder"
    )
    add_quiet(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Convert a set; 1 if a page of it could not be used."""
    from websegment_scrapy.measure.convert import convert

    with steps("data") as say:
        say(f"converting {args.kind}")
        converted = convert(args.kind, args.sources, args.output)
    for name, reason in converted.errors.items():
        print(f"{name}: {reason}", file=sys.stderr)
    print(f"{converted.path}: {converted.pages} pages")
    return 1 if converted.errors else 0
