"""``websegment train``: make the shipped model files again, or others from one's own pages.

What trains is imported when it runs, not with every command.
"""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from websegment_scrapy.archives.reading import is_archive
from websegment_scrapy.cli.arguments import add_data, add_quiet, add_snapshots
from websegment_scrapy.cli.output import printable
from websegment_scrapy.cli.progress import progress
from websegment_scrapy.exceptions import AnalysisError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from websegment_scrapy.evaluate.segmentation import GoldTask
    from websegment_scrapy.learn.examples import Example
    from websegment_scrapy.learn.pagelevel import TemplateExample
    from websegment_scrapy.measure.datasets import LabelledPage
    from websegment_scrapy.measure.marks import Mark
    from websegment_scrapy.measure.sites import CrawledSite
    from websegment_scrapy.model_files import LayoutKind
    from websegment_scrapy.template.sitelevel import SiteVerdict

__all__ = ["add_parser", "run_content", "run_segmentation", "run_templates", "run_types"]

MODELS = Path(__file__).parent.parent / "models"
LAYOUTS: tuple[LayoutKind, ...] = ("rendered", "static")


def add_parser(
    subparsers: argparse._SubParsersAction[argparse.ArgumentParser], summary: str
) -> None:
    """Add the subcommand and what can be trained."""
    parser = subparsers.add_parser(
        "train", help=summary, description="Make the model files from labelled data."
    )
    kinds = parser.add_subparsers(metavar="WHAT", required=True)
    segmentation = kinds.add_parser(
        "segmentation",
        help="models of auto, gcuts, cclus and wps",
        description="Train the models of auto, gcuts, cclus and wps on the labelled pages, of each "
        "one for rendered and one for static layout.",
    )
    _add_common(segmentation)
    _add_marks(segmentation, "borders of segments", "auto learns from them")
    add_quiet(segmentation)
    segmentation.set_defaults(run=run_segmentation)
    templates = kinds.add_parser(
        "templates",
        help="models of PageLevel, from what sites repeat",
        description="Train the models of PageLevel from crawled sites, one for rendered and one "
        "for static layout. What a site repeats is its template: nothing is labelled by hand.",
    )
    _add_common(templates)
    templates.epilog = "This command needs crawled sites: name their folder with --sites or --data."
    templates.add_argument(
        "--sites",
        type=Path,
        metavar="DIR",
        help="folder with one sub-folder of saved pages for each site, or an archive (*.warc, "
        "*.warc.gz, *.wacz), instead of sites.tar.xz of the data sets",
    )
    templates.add_argument(
        "--database",
        metavar="URL",
        help="dedup database whose counts say what a site repeats, where it knows the host that a "
        "sub-folder is named after; the other sites are counted from their saved pages",
    )
    add_quiet(templates)
    templates.set_defaults(run=run_templates)
    content = kinds.add_parser(
        "content",
        help="the model of our own main text",
        description="Train the model that tells main text from template, on pages with their main "
        "texts (wcxb_dev); it serves rendered and plain pages.",
    )
    add_data(content)
    _add_folder(content)
    _add_marks(content, "blocks", "these are learned from as well")
    add_quiet(content)
    content.set_defaults(run=run_content)
    types = kinds.add_parser(
        "types",
        help="the model of the types of pages",
        description="Train the model that tells articles, forums, products and other types of "
        "pages apart, on pages of known types (wcxb_dev); it serves rendered and plain pages.",
    )
    add_data(types)
    _add_folder(types)
    add_quiet(types)
    types.set_defaults(run=run_types)


def _add_folder(parser: argparse.ArgumentParser) -> None:
    """Add where the files go; that is to be said, for the installed ones are in use."""
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument(
        "-o", "--output", type=Path, metavar="DIR", help="write the model files to this folder"
    )
    where.add_argument(
        "--install",
        action="store_true",
        help="write over the model files of the installed package, which every crawl uses",
    )


def _add_marks(parser: argparse.ArgumentParser, what: str, use: str) -> None:
    parser.add_argument(
        "--marks",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help=f"what websegment view has written: where people said that {what} are wrong, {use} "
        "(may be repeated)",
    )


def _add_common(parser: argparse.ArgumentParser) -> None:
    add_data(parser)
    add_snapshots(parser)
    parser.add_argument(
        "--layout", choices=LAYOUTS, action="append", help="only this layout (default: both)"
    )
    _add_folder(parser)


def run_segmentation(args: argparse.Namespace) -> int:
    """Train and write the models; 1 if a page could not be used."""
    from websegment_scrapy.evaluate.folds import plain_views
    from websegment_scrapy.learn.auto import train_auto
    from websegment_scrapy.learn.marked import marked_examples
    from websegment_scrapy.learn.segmentation import train
    from websegment_scrapy.learn.wps import train_wps
    from websegment_scrapy.measure.datasets import data_directory, labelled_pages

    output = _folder(args)
    failed: dict[str, str] = {}
    marked = marked_examples(_marks(args.marks))
    _say_marked(args.marks, sum(int((each.gold >= 0).sum()) for each in marked), "leaves", marked)
    with labelled_pages(data_directory(args.data)) as pages:
        layouts: tuple[LayoutKind, ...] = tuple(args.layout or LAYOUTS)
        for layout in layouts:
            tasks, errors = _tasks(pages, render=layout == "rendered", args=args)
            examples = _examples(tasks, errors)
            failed |= _told(errors)
            auto = train_auto(examples, layout, views=plain_views(tasks), marked=marked)
            _say_written(auto.save(output))
            for model in (train(examples, layout), train_wps(examples, layout)):
                _say_written(model.save(output))
    return 1 if failed else 0


def run_templates(args: argparse.Namespace) -> int:
    """Train and write the models of PageLevel; 1 if a page could not be used."""
    from websegment_scrapy.learn.pagelevel import train_templates
    from websegment_scrapy.learn.pagelevel_sites import site_examples
    from websegment_scrapy.measure.documents import Documents

    layouts: tuple[LayoutKind, ...] = tuple(args.layout or LAYOUTS)
    examples: dict[LayoutKind, list[TemplateExample]] = {layout: [] for layout in layouts}
    failed: dict[str, str] = {}
    with (
        _sites(args) as sites,
        contextlib.closing(
            Documents(render="rendered" in layouts, snapshots=args.snapshots)
        ) as documents,
    ):
        verdicts = _verdicts(args.database, [site.name for site in sites])
        for site in progress(iter(sites), len(sites), "sites"):
            found, errors = site_examples(site, layouts, documents, verdicts.get(site.name))
            for layout, pages in found.items():
                examples[layout].extend(pages)
            failed |= _told(errors)
    for layout in layouts:
        _say_written(train_templates(examples[layout], layout).save(_folder(args)))
    return 1 if failed else 0


@contextlib.contextmanager
def _sites(args: argparse.Namespace) -> Iterator[Sequence[CrawledSite]]:
    """Give the sites of a folder, of the data sets, or of an archive, whose counts are told."""
    from websegment_scrapy.measure.archived import saved_pages
    from websegment_scrapy.measure.datasets import data_directory
    from websegment_scrapy.measure.sites import crawled_sites

    with contextlib.ExitStack() as stack:
        folder = args.sites
        if folder is not None and is_archive(folder):
            source = folder
            folder, counts = stack.enter_context(saved_pages(source))
            print(printable(f"websegment: {source}: {counts}"), file=sys.stderr)
        yield stack.enter_context(crawled_sites(folder or data_directory(args.data)))


def _verdicts(database: str | None, hosts: Sequence[str]) -> dict[str, SiteVerdict]:
    """Read what sites repeat from a dedup database, as far as it knows them."""
    if database is None:
        return {}
    from websegment_scrapy.store.queries import open_for_reading
    from websegment_scrapy.store.templates import read_verdict

    with contextlib.closing(open_for_reading(database)) as opened, opened.read() as connection:
        found = {host: read_verdict(connection, host) for host in hosts}
    return {host: verdict for host, verdict in found.items() if verdict is not None}


def run_content(args: argparse.Namespace) -> int:
    """Train and write the model of our own main text."""
    from websegment_scrapy.evaluate.extraction import TRAINING_SET
    from websegment_scrapy.learn.content import content_examples, train_content
    from websegment_scrapy.learn.marked import marked_pages
    from websegment_scrapy.measure.datasets import content_pages, data_directory

    marked = marked_pages(_marks(args.marks))
    _say_marked(args.marks, sum(int(page.known.sum()) for page in marked), "blocks", marked)
    pages = list(content_pages(data_directory(args.data), TRAINING_SET))
    examples = [example for example in content_examples(pages, progress) if example is not None]
    model = train_content(examples, marked=marked, progress=progress)
    _say_written(model.save(_folder(args)))
    return 0


def run_types(args: argparse.Namespace) -> int:
    """Train and write the model of the types of pages."""
    from websegment_scrapy.evaluate.extraction import TRAINING_SET
    from websegment_scrapy.learn.page_types import TermTable, train_types, type_examples
    from websegment_scrapy.measure.datasets import content_pages, data_directory

    pages = list(content_pages(data_directory(args.data), TRAINING_SET))
    _say_written(train_types(TermTable(type_examples(pages, progress))).save(_folder(args)))
    return 0


def _marks(paths: Sequence[Path]) -> list[Mark]:
    """Read files of marks, before anything that takes long."""
    from websegment_scrapy.measure.marks import read_marks

    return [mark for path in paths for mark in read_marks(path)]


def _say_marked(paths: Sequence[Path], number: int, what: str, pages: Sequence[object]) -> None:
    """Say what marks come to: they may speak of other things than what is trained."""
    if paths:
        print(f"marks: {number} {what} of {len(pages)} pages are learned from", file=sys.stderr)


def _told(errors: dict[str, str]) -> dict[str, str]:
    """Say which pages could not be used, and why; return the same."""
    for name, reason in errors.items():
        print(f"{name}: {reason}", file=sys.stderr)
    return errors


def _say_written(paths: Sequence[Path]) -> None:
    for path in paths:
        sys.stdout.write(f"{path}\n")


def _folder(args: argparse.Namespace) -> Path:
    return args.output or MODELS


def _tasks(
    pages: list[LabelledPage], *, render: bool, args: argparse.Namespace
) -> tuple[dict[str, GoldTask], dict[str, str]]:
    """Read the labelled pages; return them and why others cannot be read, both by name."""
    from websegment_scrapy.evaluate.segmentation import gold_task
    from websegment_scrapy.measure.documents import Documents

    tasks: dict[str, GoldTask] = {}
    errors: dict[str, str] = {}
    with contextlib.closing(Documents(render=render, snapshots=args.snapshots)) as documents:
        for page in progress(iter(pages), len(pages), "labelled pages"):
            try:
                html = documents.read(page)
            except AnalysisError as error:
                errors[page.name] = str(error)
            else:
                tasks[page.name] = gold_task(page, html, rendered=render)
    return tasks, errors


def _examples(tasks: dict[str, GoldTask], errors: dict[str, str]) -> list[Example]:
    """Prepare labelled pages; those that teach nothing are added to the errors."""
    from websegment_scrapy.evaluate.folds import labelled_example

    examples: list[Example] = []
    for name, task in progress(iter(tasks.items()), len(tasks), "features"):
        example = labelled_example(name, task)
        if len(example.gold) > 1 and (example.gold >= 0).any():
            examples.append(example)
        else:
            errors[name] = "no leaf lies in a labelled block"
    return examples
