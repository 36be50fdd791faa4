"""``websegment bench extract``: what extractors take for the same pages."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING

from websegment_scrapy.bench.extract import ExtractPlan, bench_extract
from websegment_scrapy.bench.growth import SIZES
from websegment_scrapy.bench.made_pages import made_pages
from websegment_scrapy.cli.arguments import add_json, add_plot, add_quiet, at_least
from websegment_scrapy.cli.inputs import load
from websegment_scrapy.cli.output import write_results
from websegment_scrapy.cli.progress import progress
from websegment_scrapy.exceptions import AnalysisError, ConfigError
from websegment_scrapy.measure.rivals import RIVALS
from websegment_scrapy.page.decode import decode
from websegment_scrapy.segment.registry import engine_names, get_engine

if TYPE_CHECKING:
    import argparse

__all__ = ["add_extract", "run_extract"]

PAGES, ROUNDS, SEED = 40, 5, 1
SMALLEST = 10
"""Nodes of a page that the growth may begin with."""

HTML = (".html", ".htm", ".xhtml")


def add_extract(what: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``extract`` to ``bench``."""
    parser = what.add_parser(
        "extract",
        help="milliseconds, CPU and memory of a page: every engine, every stage, other extractors",
        description=(
            "Time our main text, the whole analysis with every engine, each of its stages, and "
            "other extractors on the same pages, in turn, each in a process of its own; then on "
            "larger and larger pages. Without INPUT the pages are made from a seed, and their "
            "main texts are known. Other extractors are measured where they are installed: "
            "pip install 'websegment-scrapy[rivals]'."
        ),
    )
    parser.add_argument(
        "inputs",
        metavar="INPUT",
        nargs="*",
        help="an HTML file, a folder of them, a file of JSON lines with 'html' (*.jsonl), a URL, "
        "or - for standard input (default: pages that are made)",
    )
    parser.add_argument(
        "--pages",
        type=int,
        default=PAGES,
        metavar="N",
        help="pages, drawn from the inputs if those have more (default: %(default)s)",
    )
    parser.add_argument(
        "--rounds", type=int, default=ROUNDS, metavar="N", help="(default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=SEED, metavar="N", help="(default: 1)")
    parser.add_argument(
        "--engines",
        nargs="*",
        default=engine_names(),
        metavar="NAME",
        help="which of ours; none: only the main text and the stages (default: all)",
    )
    parser.add_argument(
        "--rivals",
        nargs="*",
        default=list(RIVALS),
        choices=list(RIVALS),
        metavar="NAME",
        help=f"which other extractors (default: all: {', '.join(RIVALS)})",
    )
    parser.add_argument(
        "--sizes",
        type=int,
        nargs="*",
        default=SIZES,
        metavar="N",
        help="nodes of the pages on which it is seen how costs grow; none: it is not "
        f"(default: {' '.join(map(str, SIZES))})",
    )
    add_json(parser)
    add_plot(parser)
    add_quiet(parser)
    parser.set_defaults(run=run_extract)


def run_extract(args: argparse.Namespace) -> int:
    """Measure, and write tables, JSON and picture; return 1 when a page or a method failed."""
    at_least(args, "pages", 1)
    at_least(args, "rounds", 1)
    for size in args.sizes:
        if size < SMALLEST:
            raise ConfigError(f"--sizes has {size}: the smallest page has {SMALLEST} nodes")
    for name in args.engines:
        get_engine(name)
    texts: list[str] | None = None
    if args.inputs:
        pages = _pages(args.inputs, args.pages, args.seed)
    else:
        made = made_pages(args.pages, args.seed)
        pages, texts = [page.html for page in made], [page.text for page in made]
    plan = ExtractPlan(
        pages=pages,
        texts=texts,
        engines=args.engines,
        rivals=args.rivals,
        rounds=args.rounds,
        sizes=args.sizes,
        seed=args.seed,
    )
    found = bench_extract(plan, progress)
    if args.plot:
        Path(args.plot).write_text(found.picture(), encoding="utf-8")
    write_results(args.json, found.tables(), found.to_dict())
    return 1 if any(cost.failed for cost in found.costs) else 0


def _pages(inputs: list[str], count: int, seed: int) -> list[str]:
    """Read all pages of the inputs, in a fixed order; draw as many as are wanted."""
    sources: list[str] = []
    for given in inputs:
        path = Path(given)
        if path.is_dir():
            files = (file for file in path.rglob("*") if file.suffix.lower() in HTML)
            sources += sorted(str(file) for file in files if file.is_file())
        else:
            sources.append(given)
    if not sources:
        raise ConfigError(
            f"there is no page in {', '.join(map(repr, inputs))}: it takes folders with files "
            f"named {', '.join('*' + name for name in HTML)}"
        )
    chooser = random.Random(seed)
    if len(sources) > count:  # before they are read: a folder may have very many
        sources = sorted(chooser.sample(sources, count))
    pages = []
    for source in sources:
        try:
            for html, _, content_type in load(source):
                if isinstance(html, bytes):
                    pages.append(decode(html, content_type=content_type))
                elif isinstance(html, str):
                    pages.append(html)
        except AnalysisError as error:
            raise ConfigError(f"{source}: {error}; leave it out") from None
    return pages if len(pages) <= count else chooser.sample(pages, count)
