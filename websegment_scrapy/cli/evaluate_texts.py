"""``websegment evaluate``: what no engine takes part in: main texts, templates, signatures.

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
    add_workers,
    check_limit,
)
from websegment_scrapy.cli.output import write_results
from websegment_scrapy.cli.progress import progress
from websegment_scrapy.config import Config
from websegment_scrapy.exceptions import ConfigError

if TYPE_CHECKING:
    import argparse

__all__ = [
    "add_parsers",
    "run_extraction",
    "run_marks",
    "run_signatures",
    "run_sites",
    "run_templates",
    "run_types",
]


def add_parsers(kinds: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``extraction``, ``marks``, ``types``, ``templates``, ``sites`` and ``signatures``."""
    marks = kinds.add_parser(
        "marks",
        help="what people said is wrong against what is found by now",
        description="Of the blocks that were marked in websegment view as content or template, and "
        "of the borders of segments that were said to be elsewhere, how many are so by now, and "
        "which are not.",
    )
    marks.add_argument("marks", type=Path, metavar="FILE", help="what websegment view has written")
    add_workers(marks)
    add_json(marks)
    add_quiet(marks)
    marks.set_defaults(run=run_marks)
    extraction = kinds.add_parser(
        "extraction",
        help="main texts against those that people marked",
        description="Word F1 and time of our main text, trafilatura's and resiliparse's on pages "
        "whose main text people marked. On wcxb_dev, from which the shipped model was made, a "
        "model is trained for each fold of hosts: that takes a while. One process.",
    )
    extraction.add_argument(
        "sets", metavar="SET", nargs="*", help="content sets (default: all four)"
    )
    add_data(extraction)
    add_limit(extraction, "pages of each set")
    add_json(extraction)
    extraction.add_argument(
        "--folds",
        type=int,
        default=5,
        metavar="N",
        help="folds of hosts of wcxb_dev (default: %(default)s)",
    )
    add_quiet(extraction)
    extraction.set_defaults(run=run_extraction)
    types = kinds.add_parser(
        "types",
        help="types of pages against those that people gave them",
        description="F1 of the types of pages on wcxb_dev, by host: a model is trained for each "
        "fold, of the types and of the main texts. Beside it the same classifier on the full text, "
        "on what PageLevel leaves of it, and on our main text. That takes a while. One process.",
    )
    add_data(types)
    add_limit(types, "pages")
    add_json(types)
    dealt = types.add_mutually_exclusive_group()
    dealt.add_argument(
        "--folds", type=int, default=5, metavar="N", help="folds of hosts (default: %(default)s)"
    )
    dealt.add_argument(
        "--aside",
        action="store_true",
        help="judge only the fifth of the hosts on which nothing was chosen, from the others",
    )
    types.add_argument(
        "--known-texts",
        action="store_true",
        help="main texts by the shipped model, which was made from these pages, for all of them: "
        "a few minutes instead of a quarter of an hour",
    )
    add_quiet(types)
    types.set_defaults(run=run_types)
    templates = kinds.add_parser(
        "templates",
        help="template words and links found by PageLevel",
        description="F-measures of template words, anchor words and links found by PageLevel, "
        "Basic and Smooth, on pages whose text nodes were labelled by hand (l3s_gn1).",
    )
    add_data(templates)
    templates.add_argument(
        "--models",
        type=Path,
        metavar="DIR",
        help="folder of the model files (default: the shipped ones)",
    )
    add_limit(templates, "pages")
    add_json(templates)
    add_quiet(templates)
    templates.set_defaults(run=run_templates)
    sites = kinds.add_parser(
        "sites",
        help="what it helps to know a site",
        description="How much of our main texts is text that the page's site repeats, by the page "
        "alone and once the site is known; on crawled sites (sites.tar.xz), of which every second "
        "page is counted and the others are judged.",
    )
    add_data(sites)
    add_limit(sites, "sites")
    add_json(sites)
    add_quiet(sites)
    sites.set_defaults(run=run_sites)
    signatures = kinds.add_parser(
        "signatures",
        help="recall and precision of the signatures against exact Jaccard similarity",
        description=(
            "Recall and precision of both signatures against the exact Jaccard similarity of all "
            "pairs of real page texts, with near-duplicates planted among them."
        ),
    )
    signatures.add_argument("--texts", type=int, default=20_000, metavar="N", help="real texts")
    add_data(signatures)
    signatures.add_argument("--png", type=Path, metavar="FILE", help="draw the curves here")
    add_json(signatures)
    add_quiet(signatures)
    signatures.set_defaults(run=run_signatures)


def run_extraction(args: argparse.Namespace) -> int:
    """Measure main texts."""
    from websegment_scrapy.evaluate.extraction import TRAINING_SET, evaluate_extraction, fold_models
    from websegment_scrapy.measure.datasets import CONTENT_SETS, content_pages, data_directory

    check_limit(args)
    _check_folds(args)
    data, results = data_directory(args.data), []
    # All are opened before anything is measured: one that is missing is said at once.
    sets = {name: content_pages(data, name) for name in args.sets or CONTENT_SETS}
    for name, found in sets.items():
        pages = list(islice(found, args.limit))
        learned = name == TRAINING_SET
        results.append(
            evaluate_extraction(
                name,
                pages,
                model_of=fold_models(pages, args.folds, progress) if learned else None,
                folds=args.folds if learned else 0,
                progress=progress,
            )
        )
    write_results(
        args.json, [result.table() for result in results], [each.to_dict() for each in results]
    )
    return 0


def run_types(args: argparse.Namespace) -> int:
    """Measure the types of pages."""
    from websegment_scrapy.evaluate.extraction import TRAINING_SET
    from websegment_scrapy.evaluate.page_types import evaluate_types
    from websegment_scrapy.measure.datasets import content_pages, data_directory

    check_limit(args)
    _check_folds(args)
    pages = list(islice(content_pages(data_directory(args.data), TRAINING_SET), args.limit))
    result = evaluate_types(
        pages,
        folds=args.folds,
        aside=args.aside,
        known_texts=args.known_texts,
        progress=progress,
    )
    write_results(args.json, [result.table()], result.to_dict())
    return 0


def _check_folds(args: argparse.Namespace) -> None:
    if args.folds < 2:
        raise ConfigError(f"--folds is {args.folds}: it takes at least 2")


def run_templates(args: argparse.Namespace) -> int:
    """Measure what PageLevel finds to be template."""
    from websegment_scrapy.evaluate.pagelevel import evaluate_templates
    from websegment_scrapy.measure.datasets import data_directory, node_pages
    from websegment_scrapy.template.pagelevel import PageLevelModel, shipped_pagelevel_model

    check_limit(args)
    static = (
        PageLevelModel.load(args.models, "static")
        if args.models
        else shipped_pagelevel_model("static")
    )
    pages = list(islice(node_pages(data_directory(args.data), "l3s_gn1"), args.limit))
    result = evaluate_templates(pages, static, total=len(pages), progress=progress)
    write_results(args.json, [result.table()], result.to_dict())
    return 0


def run_sites(args: argparse.Namespace) -> int:
    """Measure what it helps to know a site."""
    from websegment_scrapy.evaluate.site_help import evaluate_site_help
    from websegment_scrapy.measure.datasets import data_directory
    from websegment_scrapy.measure.sites import crawled_sites

    check_limit(args)
    with crawled_sites(data_directory(args.data)) as sites:
        result = evaluate_site_help(sites[: args.limit], progress)
    write_results(args.json, [result.table()], result.to_dict())
    return 0


def run_marks(args: argparse.Namespace) -> int:
    """Hold what people marked against what is found by now."""
    from websegment_scrapy.evaluate.marks import evaluate_marks
    from websegment_scrapy.measure.marks import read_marks
    from websegment_scrapy.pool import AnalysisPool

    marks = read_marks(args.marks)
    default = Config()
    with AnalysisPool(
        args.workers, timeout=default.page_timeout, memory=default.page_memory
    ) as pool:
        result = evaluate_marks(marks, pool, progress)
    write_results(args.json, [result.table()], result.to_dict())
    return 1 if result.lost else 0


def run_signatures(args: argparse.Namespace) -> int:
    """Measure the signatures."""
    from websegment_scrapy.evaluate.figures import need_matplotlib
    from websegment_scrapy.evaluate.signatures import draw, evaluate_signatures, real_texts
    from websegment_scrapy.measure.datasets import data_directory

    if args.png:
        need_matplotlib("--png")
    texts = real_texts(data_directory(args.data), args.texts)
    results = evaluate_signatures(texts, progress=progress)
    if args.png:
        draw(results, args.png)
    write_results(
        args.json, [result.table() for result in results], [each.to_dict() for each in results]
    )
    return 0
