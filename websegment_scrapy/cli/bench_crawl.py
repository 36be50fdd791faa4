"""``websegment bench crawl``: crawls of a local mix of pages, ours beside what users have."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from websegment_scrapy.bench.crawls import bench_crawl
from websegment_scrapy.bench.mix import SCRIPTED, made_mix, real_mix
from websegment_scrapy.bench.variants import variants
from websegment_scrapy.cli.arguments import add_json, add_plot, add_quiet, at_least
from websegment_scrapy.cli.bench_hostile import orderly_end
from websegment_scrapy.cli.output import write_results
from websegment_scrapy.cli.progress import progress
from websegment_scrapy.exceptions import ConfigError
from websegment_scrapy.measure.sites import crawled_sites

if TYPE_CHECKING:
    import argparse

__all__ = ["add_crawl", "run_crawl"]

PAGES, ROUNDS, SEED = 200, 3, 1


def add_crawl(what: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``crawl`` to ``bench``."""
    parser = what.add_parser(
        "crawl",
        help="pages per second, CPU, memory and lag of crawls: ours, Scrapy alone, with others",
        description=(
            "Crawl the same pages on loopback with Scrapy alone (scrapy), with trafilatura and "
            "datasketch in a pipeline (pipeline), with scrapy-playwright alone (playwright), and "
            "with this plugin in each mode of WEBSEGMENT_RENDER; in turn, each crawl in a process "
            f"of its own with a new database. {SCRIPTED:.0%} of the pages are built by script from "
            "their own content. Without FOLDER the pages are made from a seed."
        ),
    )
    parser.add_argument(
        "folders",
        metavar="FOLDER",
        nargs="*",
        help="saved pages, with a sub-folder for each site, or sites.tar.xz (default: pages that "
        "are made)",
    )
    parser.add_argument(
        "--pages",
        type=int,
        default=PAGES,
        metavar="N",
        help="pages, drawn from those of the folders (default: %(default)s)",
    )
    parser.add_argument(
        "--rounds", type=int, default=ROUNDS, metavar="N", help="(default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=SEED, metavar="N", help="(default: 1)")
    parser.add_argument(
        "--variants",
        nargs="+",
        choices=variants(),
        default=variants(),
        metavar="NAME",
        help=f"which crawls (default: all: {', '.join(variants())})",
    )
    add_json(parser)
    add_plot(parser)
    add_quiet(parser)
    parser.set_defaults(run=run_crawl)


def run_crawl(args: argparse.Namespace) -> int:
    """Measure, and write tables, JSON and picture; return 1 when a page came to nothing."""
    at_least(args, "pages", 1)
    at_least(args, "rounds", 1)
    for folder in args.folders:
        if not Path(folder).exists():
            raise ConfigError(
                f"{folder!r} is no folder: name one with saved pages of sites, or sites.tar.xz"
            )
    with contextlib.ExitStack() as stack:
        stack.enter_context(orderly_end())
        sites = [
            site
            for folder in args.folders
            for site in stack.enter_context(crawled_sites(Path(folder)))
        ]
        mix = real_mix(sites, args.pages, args.seed) if sites else made_mix(args.pages, args.seed)
        place = stack.enter_context(
            # a short name: the browser puts a socket below it (107 bytes)
            tempfile.TemporaryDirectory(prefix="wsb", ignore_cleanup_errors=True)
        )
        found = bench_crawl(
            mix,
            args.variants,
            rounds=args.rounds,
            seed=args.seed,
            folder=Path(place),
            progress=progress,
        )
    if args.plot:
        Path(args.plot).write_text(found.picture(), encoding="utf-8")
    write_results(args.json, found.tables(), found.to_dict())
    return 1 if any(cost.missing for cost in found.costs) else 0
