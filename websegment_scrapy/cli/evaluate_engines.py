"""``websegment evaluate``: what is measured for each engine: segmentation, speed, dedup.

What measures is imported when it runs, not with every command.
"""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from websegment_scrapy.cli.arguments import (
    add_data,
    add_json,
    add_limit,
    add_quiet,
    add_render,
    add_snapshots,
    add_workers,
    check_limit,
)
from websegment_scrapy.cli.output import write_results
from websegment_scrapy.cli.progress import progress
from websegment_scrapy.config import Config
from websegment_scrapy.exceptions import ConfigError
from websegment_scrapy.pool import AnalysisPool
from websegment_scrapy.segment.registry import engine_names, get_engine

if TYPE_CHECKING:
    import argparse

__all__ = ["add_parsers", "run_dedup", "run_segmentation", "run_speed"]


def add_parsers(kinds: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``segmentation``, ``speed`` and ``dedup``."""
    _add_segmentation(kinds)
    speed = kinds.add_parser(
        "speed",
        help="time per page and how it grows",
        description="Time per labelled page beside trafilatura, and growth from 100 to 10,000 "
        "leaves. One process; run it on a quiet machine.",
    )
    _add_common(speed, "labelled pages")
    add_render(speed, default=True)
    add_snapshots(speed)
    add_quiet(speed)
    speed.set_defaults(run=run_speed)
    dedup = kinds.add_parser(
        "dedup",
        help="near-duplicates found and non-duplicates kept",
        description="Near-duplicates found and non-duplicates kept, by the text compared.",
    )
    dedup.add_argument(
        "sets", metavar="SET", nargs="*", help="near-duplicate sets (default: lyrics_dev)"
    )
    _add_common(dedup, "pairs of each set")
    dedup.add_argument(
        "--signature",
        choices=("shingles", "minhash"),
        default="shingles",
        help="the papers' 8 smallest shingles, or MinHash (default: shingles)",
    )
    add_quiet(dedup)
    dedup.set_defaults(run=run_dedup)


def _add_segmentation(kinds: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = kinds.add_parser(
        "segmentation",
        help="agreement with hand-marked segments",
        description="Agreement of the engines with segments marked by hand: ARI and NMI.",
    )
    _add_common(parser, "labelled pages")
    add_render(parser, default=True)
    add_snapshots(parser)
    parser.add_argument(
        "--leaves",
        choices=("text", "all"),
        default="text",
        help="which leaves count: text, or all with images and form fields (default: text)",
    )
    parser.add_argument(
        "--folds",
        type=int,
        default=5,
        metavar="N",
        help="learned engines: train on all folds of sites but the page's own; 0 takes the shipped "
        "models, which were made from these pages (default: %(default)s)",
    )
    parser.add_argument(
        "--figures",
        type=Path,
        metavar="DIR",
        help="draw ARI over λ and the distribution of ARI here as PNG (needs matplotlib)",
    )
    add_quiet(parser)
    parser.set_defaults(run=run_segmentation)


def _add_common(parser: argparse.ArgumentParser, limited: str) -> None:
    parser.add_argument(
        "--engine",
        action="append",
        dest="engines",
        metavar="NAME",
        help=f"engine to measure; may be repeated (default: all: {', '.join(engine_names())})",
    )
    add_data(parser)
    add_workers(parser)
    add_limit(parser, limited)
    add_json(parser)


def run_segmentation(args: argparse.Namespace) -> int:
    """Measure the segmentation; 1 if a page could not be measured."""
    from websegment_scrapy.evaluate.segmentation import evaluate_segmentation
    from websegment_scrapy.measure.datasets import data_directory, labelled_pages

    engines = _engines(args, first="gcuts")
    if args.folds < 0 or args.folds == 1:
        raise ConfigError(f"--folds is {args.folds}: it takes 0 or at least 2")
    if args.figures:
        from websegment_scrapy.evaluate.figures import draw_figures, need_matplotlib

        need_matplotlib("--figures")
    with labelled_pages(data_directory(args.data)) as pages, _pool(args) as pool:
        result = evaluate_segmentation(
            pages[: args.limit],
            engines,
            pool,
            render=args.render,
            leaves=args.leaves,
            snapshots=args.snapshots,
            folds=args.folds,
            curves=args.figures is not None,
            workers=args.workers,
            progress=progress,
        )
    if args.figures:
        draw_figures(result, args.figures)
    write_results(args.json, [result.table()], result.to_dict())
    return 1 if result.not_measured else 0


def run_speed(args: argparse.Namespace) -> int:
    """Time the engines; 1 if a page could not be measured."""
    from websegment_scrapy.evaluate.speed import evaluate_speed
    from websegment_scrapy.measure.datasets import data_directory, labelled_pages

    engines = _engines(args, first="gcuts")
    with labelled_pages(data_directory(args.data)) as pages:
        result = evaluate_speed(
            pages[: args.limit],
            engines,
            render=args.render,
            snapshots=args.snapshots,
            progress=progress,
        )
    write_results(args.json, [result.table()], result.to_dict())
    return 1 if result.not_measured else 0


def run_dedup(args: argparse.Namespace) -> int:
    """Measure near-duplicate decisions; 1 if a page could not be measured."""
    from websegment_scrapy.evaluate.dedup import DedupResult, evaluate_dedup
    from websegment_scrapy.measure.datasets import (
        NEARDUP_SETS,
        data_directory,
        neardup_pages,
        neardup_pairs,
    )

    engines, names = _engines(args), args.sets or list(NEARDUP_SETS[:1])
    data = data_directory(args.data)
    results: list[DedupResult] = []
    pairs = {name: list(islice(neardup_pairs(data, name), args.limit)) for name in names}
    pages = {name: neardup_pages(data, name) for name in names}
    with _pool(args) as pool:
        for name in names:
            result = evaluate_dedup(
                name,
                pages[name],
                pairs[name],
                engines,
                pool,
                signature=args.signature,
                progress=progress,
            )
            results.append(result)
    tables = [*(result.table() for result in results), DedupResult.published_table()]
    write_results(args.json, tables, [result.to_dict() for result in results])
    return 1 if any(result.not_measured for result in results) else 0


def _engines(args: argparse.Namespace, first: str | None = None) -> list[str]:
    """Return the engines to measure, each once; if all are, ``first`` or the default first."""
    check_limit(args)
    default = first or Config().engine
    names = args.engines or [default, *(name for name in engine_names() if name != default)]
    for name in names:
        get_engine(name)
    return list(dict.fromkeys(names))


def _pool(args: argparse.Namespace) -> AnalysisPool:
    config = Config(workers=args.workers)
    return AnalysisPool(config.workers, timeout=config.page_timeout, memory=config.page_memory)
