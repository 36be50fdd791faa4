"""``websegment evaluate``: measure engines on labelled data.

What measures is imported when it runs, not with every command.
"""

from __future__ import annotations

import argparse
import json
import sys
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from websegment_scrapy.cli.progress import progress
from websegment_scrapy.cli.segment import open_output
from websegment_scrapy.config import Config
from websegment_scrapy.exceptions import ConfigError
from websegment_scrapy.pool import AnalysisPool
from websegment_scrapy.segment.registry import engine_names, get_engine

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "add_parser",
    "run_dedup",
    "run_segmentation",
    "run_signatures",
    "run_speed",
    "run_templates",
]


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommand and what can be evaluated."""
    parser = subparsers.add_parser(
        "evaluate",
        help="measure engines on labelled data",
        description="Measure engines on labelled data.",
    )
    kinds = parser.add_subparsers(metavar="WHAT", required=True)
    segmentation = kinds.add_parser(
        "segmentation",
        help="agreement with hand-marked segments",
        description="Agreement of the engines with segments marked by hand: ARI and NMI.",
    )
    _add_common(segmentation, "labelled pages")
    _add_rendering(segmentation)
    segmentation.add_argument(
        "--leaves",
        choices=("text", "all"),
        default="text",
        help="which leaves count: text, or all with images and form fields (default: text)",
    )
    segmentation.add_argument(
        "--folds",
        type=int,
        default=5,
        metavar="N",
        help="learned engines: train on all folds of sites but the page's own; 0 takes the shipped "
        "models, which were made from these pages (default: %(default)s)",
    )
    segmentation.add_argument(
        "--metric",
        choices=("lmnn", "nca", "euclidean"),
        default="lmnn",
        help="how the metric of the folds' models is learned (default: %(default)s)",
    )
    segmentation.add_argument(
        "--figures",
        type=Path,
        metavar="DIR",
        help="draw ARI over λ and the distribution of ARI here as PNG (needs matplotlib)",
    )
    segmentation.set_defaults(run=run_segmentation)
    speed = kinds.add_parser(
        "speed",
        help="time per page and how it grows",
        description="Time per labelled page beside trafilatura, and growth from 100 to 10,000 "
        "leaves. One process; run it on a quiet machine.",
    )
    _add_common(speed, "labelled pages")
    _add_rendering(speed)
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
    dedup.set_defaults(run=run_dedup)
    templates = kinds.add_parser(
        "templates",
        help="template words and links found by PageLevel",
        description="F-measures of template words, anchor words and links found by PageLevel, "
        "Basic and Smooth, on pages whose text nodes were labelled by hand (l3s_gn1).",
    )
    templates.add_argument(
        "--data",
        metavar="DIR",
        help="folder of the data sets (default: WEBSEGMENT_DATA, then ../shared/data)",
    )
    templates.add_argument(
        "--models",
        type=Path,
        metavar="DIR",
        help="folder of the model files (default: the shipped ones)",
    )
    templates.add_argument(
        "--limit", type=int, metavar="N", help="only the first N pages (default: all)"
    )
    templates.add_argument(
        "--json", metavar="FILE", help="write all results here as JSON; - for standard output"
    )
    templates.set_defaults(run=run_templates)
    signatures = kinds.add_parser(
        "signatures",
        help="recall and precision of the signatures against exact Jaccard similarity",
        description=(
            "Recall and precision of both signatures against the exact Jaccard similarity of all "
            "pairs of real page texts, with near-duplicates planted among them."
        ),
    )
    signatures.add_argument("--texts", type=int, default=20_000, metavar="N", help="real texts")
    signatures.add_argument(
        "--data",
        metavar="DIR",
        help="folder of the data sets (default: WEBSEGMENT_DATA, then ../shared/data)",
    )
    signatures.add_argument("--png", type=Path, metavar="FILE", help="draw the curves here")
    signatures.add_argument(
        "--json", metavar="FILE", help="write all results here as JSON; - for standard output"
    )
    signatures.set_defaults(run=run_signatures)


def run_segmentation(args: argparse.Namespace) -> int:
    """Measure the segmentation; 1 if a page could not be measured."""
    from websegment_scrapy.evaluate.datasets import (
        data_directory,
        labelled_pages,
    )
    from websegment_scrapy.evaluate.segmentation import evaluate_segmentation

    engines = _engines(args, first="gcuts")
    if args.folds < 0 or args.folds == 1:
        raise ConfigError(f"--folds is {args.folds}: it takes 0 or at least 2")
    if args.figures:
        from websegment_scrapy.evaluate.figures import draw_figures, need_matplotlib

        need_matplotlib()
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
            metric=args.metric,
            workers=args.workers,
            progress=progress,
        )
    if args.figures:
        draw_figures(result, args.figures)
    _write(args, [result.table()], result.to_dict())
    return 1 if result.not_measured else 0


def run_speed(args: argparse.Namespace) -> int:
    """Time the engines; 1 if a page could not be measured."""
    from websegment_scrapy.evaluate.datasets import data_directory, labelled_pages
    from websegment_scrapy.evaluate.speed import evaluate_speed

    engines = _engines(args, first="gcuts")
    with labelled_pages(data_directory(args.data)) as pages:
        result = evaluate_speed(
            pages[: args.limit],
            engines,
            render=args.render,
            snapshots=args.snapshots,
            progress=progress,
        )
    _write(args, [result.table()], result.to_dict())
    return 1 if result.not_measured else 0


def run_dedup(args: argparse.Namespace) -> int:
    """Measure near-duplicate decisions; 1 if a page could not be measured."""
    from websegment_scrapy.evaluate.datasets import (
        NEARDUP_SETS,
        data_directory,
        neardup_pages,
        neardup_pairs,
    )
    from websegment_scrapy.evaluate.dedup import DedupResult, evaluate_dedup

    engines, names = _engines(args), args.sets or list(NEARDUP_SETS[:1])
    data = data_directory(args.data)
    results: list[DedupResult] = []
    pairs = {name: list(islice(neardup_pairs(data, name), args.limit)) for name in names}
    with _pool(args) as pool:
        for name in names:
            pages = neardup_pages(data, name)
            result = evaluate_dedup(
                name,
                pages,
                pairs[name],
                engines,
                pool,
                signature=args.signature,
                progress=progress,
            )
            results.append(result)
    tables = [*(result.table() for result in results), DedupResult.published_table()]
    _write(args, tables, [result.to_dict() for result in results])
    return 1 if any(result.not_measured for result in results) else 0


def run_templates(args: argparse.Namespace) -> int:
    """Measure what PageLevel finds to be template."""
    from websegment_scrapy.evaluate.datasets import data_directory, node_pages
    from websegment_scrapy.evaluate.templates import evaluate_templates
    from websegment_scrapy.template.pagelevel import PageLevelModel, shipped_model

    if args.limit is not None and args.limit < 1:
        raise ConfigError(f"--limit is {args.limit}: it takes at least 1")
    static = PageLevelModel.load(args.models, "static") if args.models else shipped_model("static")
    pages = list(islice(node_pages(data_directory(args.data), "l3s_gn1"), args.limit))
    result = evaluate_templates(pages, static, total=len(pages), progress=progress)
    _write(args, [result.table()], result.to_dict())
    return 0


def run_signatures(args: argparse.Namespace) -> int:
    """Measure the signatures."""
    from websegment_scrapy.evaluate.datasets import data_directory
    from websegment_scrapy.evaluate.signatures import draw, evaluate_signatures, real_texts

    texts = real_texts(data_directory(args.data), args.texts)
    results = evaluate_signatures(texts, progress=progress)
    if args.png:
        draw(results, args.png)
    _write(args, [result.table() for result in results], [each.to_dict() for each in results])
    return 0


def _add_rendering(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--render",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="render the pages in Chromium first (default: yes)",
    )
    parser.add_argument(
        "--snapshots",
        type=Path,
        metavar="DIR",
        help="keep rendered pages here and take them from here",
    )


def _add_common(parser: argparse.ArgumentParser, limited: str) -> None:
    defaults = Config()
    parser.add_argument(
        "--engine",
        action="append",
        dest="engines",
        metavar="NAME",
        help=f"engine to measure; may be repeated (default: all: {', '.join(engine_names())})",
    )
    parser.add_argument(
        "--data",
        metavar="DIR",
        help="folder of the data sets (default: WEBSEGMENT_DATA, then ../shared/data)",
    )
    parser.add_argument(
        "--workers", type=int, default=defaults.workers, help="processes (default: %(default)s)"
    )
    parser.add_argument(
        "--limit", type=int, metavar="N", help=f"only the first N {limited} (default: all)"
    )
    parser.add_argument(
        "--json", metavar="FILE", help="write all results here as JSON; - for standard output"
    )


def _engines(args: argparse.Namespace, first: str | None = None) -> list[str]:
    """Return the engines to measure, each once; if all are, ``first`` or the default first."""
    if args.limit is not None and args.limit < 1:
        raise ConfigError(f"--limit is {args.limit}: it takes at least 1")
    default = first or Config().engine
    names = args.engines or [default, *(name for name in engine_names() if name != default)]
    for name in names:
        get_engine(name)
    return list(dict.fromkeys(names))


def _pool(args: argparse.Namespace) -> AnalysisPool:
    config = Config(workers=args.workers)
    return AnalysisPool(config.workers, timeout=config.page_timeout, memory=config.page_memory)


def _write(args: argparse.Namespace, tables: Sequence[str], value: Any) -> None:
    if args.json:
        with open_output(args.json) as output:
            json.dump(value, output, ensure_ascii=False, indent=1)
            output.write("\n")
    if args.json != "-":
        sys.stdout.write("\n\n".join(tables) + "\n")
