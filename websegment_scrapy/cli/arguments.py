"""Options that several commands have, each written down once."""

from __future__ import annotations

import argparse
from pathlib import Path

from websegment_scrapy.cli.output import FORMATS
from websegment_scrapy.config import Config
from websegment_scrapy.exceptions import ConfigError

__all__ = [
    "add_data",
    "add_database",
    "add_format",
    "add_json",
    "add_limit",
    "add_output",
    "add_page_limits",
    "add_plot",
    "add_quiet",
    "add_raw_csv",
    "add_render",
    "add_site_rules",
    "add_snapshots",
    "add_workers",
    "at_least",
    "check_limit",
]

DEFAULT_DATABASE = "sqlite:///websegment.db"


def add_data(parser: argparse.ArgumentParser) -> None:
    """Add ``--data``, the folder of the data sets, and say that there must be one."""
    parser.epilog = (
        "This command needs the data sets, which are no part of the package: name their folder "
        "with --data or WEBSEGMENT_DATA."
    )
    parser.add_argument(
        "--data",
        metavar="DIR",
        help="folder of the data sets (default: WEBSEGMENT_DATA, then ../shared/data)",
    )


def add_limit(parser: argparse.ArgumentParser, limited: str) -> None:
    """Add ``--limit``; ``limited`` names what is counted."""
    parser.add_argument(
        "--limit", type=int, metavar="N", help=f"only the first N {limited} (default: all)"
    )


def check_limit(args: argparse.Namespace) -> None:
    """Refuse a ``--limit`` that leaves nothing."""
    if args.limit is not None and args.limit < 1:
        raise ConfigError(f"--limit is {args.limit}: it takes at least 1")


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add ``--json``, the file for all results (`output.write_results`)."""
    parser.add_argument(
        "--json", metavar="FILE", help="write all results here as JSON; - for standard output"
    )


def add_plot(parser: argparse.ArgumentParser) -> None:
    """Add ``--plot``, the file for a picture of the results."""
    parser.add_argument("--plot", metavar="FILE", help="draw the results here, as SVG")


def at_least(args: argparse.Namespace, name: str, least: int) -> None:
    """Refuse a number that is too small."""
    if getattr(args, name) < least:
        raise ConfigError(f"--{name} is {getattr(args, name)}: it takes at least {least}")


def add_render(parser: argparse.ArgumentParser, *, default: bool) -> None:
    """Add ``--render`` and ``--no-render``."""
    said = "yes" if default else "no"
    parser.add_argument(
        "--render",
        action=argparse.BooleanOptionalAction,
        default=default,
        help=f"render the pages in Chromium first (default: {said})",
    )


def add_snapshots(parser: argparse.ArgumentParser) -> None:
    """Add ``--snapshots``, the folder of rendered pages."""
    parser.add_argument(
        "--snapshots",
        type=Path,
        metavar="DIR",
        help="keep rendered pages here and take them from here",
    )


def add_workers(parser: argparse.ArgumentParser) -> None:
    """Add ``--workers``, the number of processes."""
    parser.add_argument(
        "--workers", type=int, default=Config().workers, help="processes (default: %(default)s)"
    )


def add_page_limits(parser: argparse.ArgumentParser) -> None:
    """Add ``--page-timeout`` and ``--page-memory``, what one page may take."""
    default = Config()
    parser.add_argument(
        "--page-timeout",
        type=float,
        default=default.page_timeout,
        metavar="SECONDS",
        help="how long one page may take (default: %(default)s)",
    )
    parser.add_argument(
        "--page-memory",
        type=int,
        default=default.page_memory,
        metavar="MIB",
        help="how much memory one page may take (default: %(default)s)",
    )


def add_database(parser: argparse.ArgumentParser) -> None:
    """Add ``--database``, the store that crawls write to."""
    parser.add_argument(
        "--database",
        default=DEFAULT_DATABASE,
        metavar="URL",
        help="SQLAlchemy URL or path of an SQLite file (default: %(default)s)",
    )


def add_quiet(parser: argparse.ArgumentParser) -> None:
    """Add ``--quiet``: how far the work is stays unsaid (`progress`)."""
    parser.add_argument("-q", "--quiet", action="store_true", help="do not say how far it is")


def add_site_rules(parser: argparse.ArgumentParser) -> None:
    """Add ``--threshold`` and ``--min-pages``: when a site is known, and what it repeats."""
    default = Config()
    parser.add_argument(
        "--threshold",
        type=float,
        default=default.site_threshold,
        metavar="SHARE",
        help="the crawls' WEBSEGMENT_SITE_THRESHOLD (default: %(default)s)",
    )
    parser.add_argument(
        "--min-pages",
        type=int,
        default=default.site_min_pages,
        metavar="N",
        help="the crawls' WEBSEGMENT_SITE_MIN_PAGES (default: %(default)s)",
    )


def add_format(
    parser: argparse.ArgumentParser, default: str = "table", *, text: str | None = None
) -> None:
    """Add ``--format``, how rows are written (`output.write_rows`), and where to."""
    parser.add_argument("--format", choices=FORMATS, default=default, help=text)
    add_output(parser, "write to a file")


def add_raw_csv(parser: argparse.ArgumentParser) -> None:
    """Add ``--raw-csv`` where cells come from pages (`output.write_rows`)."""
    parser.add_argument(
        "--raw-csv",
        action="store_true",
        help="CSV: write cells as they are; otherwise one that a spreadsheet would run as a "
        "formula (it begins with =, +, -, @, a tab or a line break) gets an apostrophe before it, "
        "and control characters are shown as \\x1b",
    )


def add_output(parser: argparse.ArgumentParser, text: str = "write here (default: stdout)") -> None:
    """Add ``--output``, a file instead of standard output (`output.open_output`)."""
    parser.add_argument("-o", "--output", metavar="FILE", help=text)
