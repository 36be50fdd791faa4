"""``websegment train``: make the shipped model files again.

What trains is imported when it runs, not with every command.
"""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from websegment_scrapy.cli.progress import progress
from websegment_scrapy.exceptions import AnalysisError

if TYPE_CHECKING:
    import argparse

    from websegment_scrapy.evaluate.datasets import LabelledPage
    from websegment_scrapy.learn.examples import Example
    from websegment_scrapy.model_files import Layout

__all__ = ["add_parser", "run_segmentation"]

LAYOUTS: tuple[Layout, ...] = ("rendered", "static")


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommand and what can be trained."""
    parser = subparsers.add_parser(
        "train", help="make the model files", description="Make the model files from labelled data."
    )
    kinds = parser.add_subparsers(metavar="WHAT", required=True)
    segmentation = kinds.add_parser(
        "segmentation",
        help="models of gcuts and cclus",
        description="Train the models of gcuts and cclus on the labelled pages, one for rendered "
        "and one for static layout.",
    )
    segmentation.add_argument(
        "--data",
        metavar="DIR",
        help="folder of the data sets (default: WEBSEGMENT_DATA, then ../shared/data)",
    )
    segmentation.add_argument(
        "--snapshots",
        type=Path,
        metavar="DIR",
        help="keep rendered pages here and take them from here",
    )
    segmentation.add_argument(
        "--layout", choices=LAYOUTS, action="append", help="only this layout (default: both)"
    )
    segmentation.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="DIR",
        help="folder for the files (default: the installed package's own)",
    )
    segmentation.set_defaults(run=run_segmentation)


def run_segmentation(args: argparse.Namespace) -> int:
    """Train and write the models; 1 if a page could not be used."""
    from websegment_scrapy.evaluate.datasets import data_directory, labelled_pages
    from websegment_scrapy.learn.training import train

    output = args.output or Path(__file__).parent.parent / "models"
    failed = False
    with labelled_pages(data_directory(args.data)) as pages:
        layouts: tuple[Layout, ...] = tuple(args.layout or LAYOUTS)
        for layout in layouts:
            examples, errors = _examples(pages, render=layout == "rendered", args=args)
            for name, reason in errors.items():
                print(f"{name}: {reason}", file=sys.stderr)
                failed = True
            model = train(examples, layout)
            for path in model.save(output):
                sys.stdout.write(f"{path}\n")
    return 1 if failed else 0


def _examples(
    pages: list[LabelledPage], *, render: bool, args: argparse.Namespace
) -> tuple[list[Example], dict[str, str]]:
    from websegment_scrapy.evaluate.documents import Documents
    from websegment_scrapy.evaluate.folds import labelled_example
    from websegment_scrapy.evaluate.segmentation import PageTask

    examples: list[Example] = []
    errors: dict[str, str] = {}
    with contextlib.closing(Documents(render=render, snapshots=args.snapshots)) as documents:
        for page in progress(iter(pages), len(pages), "labelled pages"):
            try:
                html = documents.read(page)
            except AnalysisError as error:
                errors[page.name] = str(error)
                continue
            task = PageTask(html, frozenset(page.blocks), (), "text", render)
            example = labelled_example(page.name, task)
            if len(example.gold) > 1 and (example.gold >= 0).any():
                examples.append(example)
            else:
                errors[page.name] = "no leaf lies in a labelled block"
    return examples, errors
