"""The command ``websegment`` (also ``scrapy websegment``).

Exit status 0: done; 1: a page failed, the others were still written; 2: wrong use; 130:
interrupted (Ctrl-C).
"""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING

from websegment_scrapy.cli.progress import IS_QUIET
from websegment_scrapy.exceptions import WebsegmentError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

__all__ = ["build_parser", "main"]

INTERRUPTED = 130
"""As shells call it: 128 and the number of SIGINT."""

SUBCOMMANDS = {
    "segment": "segments and leaves of pages as JSON lines",
    "extract": "the main text of pages",
    "batch": "whole archives to Parquet, with their near-duplicates",
    "compare": "are two pages near-duplicates?",
    "dedup": "query the database of near-duplicate decisions",
    "templates": "what a site repeats on its pages",
    "report": "what crawls found, as one HTML file to look at",
    "view": "a database and pages to look at, on this machine",
    "data": "make the data folder of evaluate and train from downloaded sets",
    "train": "make the model files",
    "evaluate": "measure engines on labelled data",
    "bench": "measure on this machine",
}
"""Each is a module of this folder, which is loaded when it is needed."""


def build_parser(
    prog: str = "websegment", needed: Collection[str] = SUBCOMMANDS
) -> argparse.ArgumentParser:
    """Return the parser with all subcommands; those that are not needed only have their names."""
    parser = argparse.ArgumentParser(
        prog=prog, description="Segment pages, extract main texts, query near-duplicate decisions."
    )
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, summary in SUBCOMMANDS.items():
        if name in needed:
            module = import_module(f"websegment_scrapy.cli.{name}")
            module.add_parser(subparsers, summary)
        else:
            subparsers.add_parser(name, help=summary)
    return parser


def main(arguments: Sequence[str] | None = None, prog: str = "websegment") -> int:
    """Run the command line and return its exit status."""
    given = sys.argv[1:] if arguments is None else arguments
    parsed = build_parser(prog, given[:1]).parse_args(given)
    before = IS_QUIET.set(getattr(parsed, "quiet", False))
    try:
        status: int = parsed.run(parsed)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader (head, less) has gone; nothing is left to say, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print(f"{prog}: interrupted", file=sys.stderr)
        return INTERRUPTED
    except WebsegmentError as error:
        print(f"{prog}: {error}", file=sys.stderr)
        return 2
    finally:
        IS_QUIET.reset(before)
    return status


if __name__ == "__main__":
    sys.exit(main())
