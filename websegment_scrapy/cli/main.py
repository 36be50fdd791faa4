"""The command ``websegment`` (also ``scrapy websegment``).

Exit status 0: done; 1: a page failed, the others were still written; 2: wrong use; 130:
interrupted (Ctrl-C).
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from websegment_scrapy.cli import (
    bench,
    compare,
    dedup,
    evaluate,
    extract,
    segment,
    templates,
    train,
)
from websegment_scrapy.exceptions import WebsegmentError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["build_parser", "main"]

INTERRUPTED = 130
"""As shells call it: 128 and the number of SIGINT."""

_SUBCOMMANDS = (segment, extract, compare, dedup, templates, train, evaluate, bench)


def build_parser(prog: str = "websegment") -> argparse.ArgumentParser:
    """Return the parser with all subcommands."""
    parser = argparse.ArgumentParser(
        prog=prog, description="Segment pages, extract main texts, query near-duplicate decisions."
    )
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True)
    for module in _SUBCOMMANDS:
        module.add_parser(subparsers)
    return parser


def main(arguments: Sequence[str] | None = None, prog: str = "websegment") -> int:
    """Run the command line and return its exit status."""
    parsed = build_parser(prog).parse_args(arguments)
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
    return status


if __name__ == "__main__":
    sys.exit(main())
