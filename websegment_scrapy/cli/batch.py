"""``websegment batch``: whole archives to Parquet, with the near-duplicates among all pages."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from websegment_scrapy.archives.reading import is_archive
from websegment_scrapy.cli.arguments import (
    add_page_limits,
    add_quiet,
    add_site_rules,
    add_workers,
    at_least,
)
from websegment_scrapy.cli.output import printable
from websegment_scrapy.cli.progress import counting
from websegment_scrapy.config import MAIN_TEXTS, Config
from websegment_scrapy.exceptions import ConfigError
from websegment_scrapy.segment.registry import engine_names, get_engine

if TYPE_CHECKING:
    import argparse

__all__ = ["add_parser", "run"]


def add_parser(
    subparsers: argparse._SubParsersAction[argparse.ArgumentParser], summary: str
) -> None:
    """Add the subcommand."""
    default = Config()
    parser = subparsers.add_parser("batch", help=summary, description=__doc__)
    parser.add_argument(
        "inputs",
        metavar="INPUT",
        nargs="+",
        type=Path,
        help="an archive (*.warc, *.warc.gz, *.wacz)",
    )
    parser.add_argument("-o", "--output", metavar="DIR", required=True, type=Path)
    parser.add_argument(
        "--engine",
        default=default.engine,
        help=f"segmentation engine (default: %(default)s; known: {', '.join(engine_names())})",
    )
    parser.add_argument("--main-text", choices=MAIN_TEXTS, default=default.main_text)
    parser.add_argument("--signature", choices=("minhash", "shingles"), default=default.signature)
    parser.add_argument(
        "--similarity", type=float, metavar="S", help="default: the signature's own"
    )
    parser.add_argument("--min-words", type=int, default=default.min_words, metavar="N")
    parser.add_argument("--segments", action="store_true", help="write the segments of each page")
    parser.add_argument(
        "--no-sites",
        action="store_true",
        help="judge each page alone, not by what its site repeats",
    )
    add_site_rules(parser)
    parser.add_argument(
        "--shard-pages",
        type=int,
        default=1000,
        metavar="N",
        help="pages in a file, and what is lost when the run is killed (default: %(default)s)",
    )
    parser.add_argument(
        "--memory",
        type=int,
        default=2048,
        metavar="MIB",
        help="memory for sorting and counting (default: %(default)s)",
    )
    add_page_limits(parser)
    add_workers(parser)
    add_quiet(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run the batch, or go on with it; 1 if something failed."""
    from websegment_scrapy.batch.options import Limits, Options
    from websegment_scrapy.batch.run import run_batch

    get_engine(args.engine)
    config = Config(  # says what is wrong with a value
        workers=args.workers,
        page_timeout=args.page_timeout,
        page_memory=args.page_memory,
        similarity=args.similarity,
        min_words=args.min_words,
        site_threshold=args.threshold,
        site_min_pages=args.min_pages,
    )
    at_least(args, "memory", 256)
    if args.shard_pages < 1:
        raise ConfigError(f"--shard-pages is {args.shard_pages}: it takes at least 1")
    for path in args.inputs:
        if not is_archive(path):
            raise ConfigError(f"{path} is no archive: batch takes *.warc, *.warc.gz and *.wacz")
    options = Options(
        engine=args.engine,
        main_text=args.main_text,
        signature=args.signature,
        similarity=args.similarity,
        min_words=args.min_words,
        segments=args.segments,
        site_templates=not args.no_sites,
        site_threshold=args.threshold,
        site_min_pages=args.min_pages,
        shard_pages=args.shard_pages,
    )
    limits = Limits(
        workers=config.workers,
        page_timeout=args.page_timeout,
        page_memory=args.page_memory,
        memory=args.memory,
    )

    def say(step: str) -> None:
        if not args.quiet:
            print(f"batch: {step}", file=sys.stderr, flush=True)

    with counting("records") as progress:
        summary = run_batch(args.inputs, args.output, options, limits, say, progress)
    _tell(args.output, summary)
    return 0 if summary["complete"] else 1


def _tell(output: Path, summary: dict[str, Any]) -> None:
    """Say what became of all records, and what failed."""
    total, found = summary["total"], summary["near_duplicates"]
    counts = ", ".join(f"{total[name]} {name}" for name in sorted(total) if name != "records")
    print(
        f"{output}: {total.get('records', 0)} records ({counts}); "
        f"{found['clusters']} clusters of {found['pages']} pages",
        file=sys.stderr,
    )
    for name, reason in summary["failed"].items():
        print(printable(f"websegment: {name}: {reason}"), file=sys.stderr)
