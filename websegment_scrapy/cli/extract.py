"""``websegment extract``: the main text of pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from websegment_scrapy.cli.arguments import add_output
from websegment_scrapy.cli.inputs import PageTask, Results, add_input_arguments
from websegment_scrapy.cli.output import open_output, printable_text, to_json
from websegment_scrapy.extraction import Extraction, extract

if TYPE_CHECKING:
    import argparse

__all__ = ["add_parser", "run"]


def add_parser(
    subparsers: argparse._SubParsersAction[argparse.ArgumentParser], summary: str
) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser("extract", help=summary, description=__doc__)
    add_input_arguments(parser)
    parser.add_argument(
        "--json",
        action="store_true",
        help="one JSON object per page: url, title, main_text, main_text_score",
    )
    parser.add_argument(
        "--format",
        choices=("text", "markdown"),
        default="text",
        help="markdown marks headings, lists, tables, code and quotes (default: %(default)s)",
    )
    add_output(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Extract every input; texts of several pages are separated by a form feed.

    Texts have no control characters of their own but line break and tab (`printable_text`).
    """
    results = Results(args, extract_page)
    separator = ""
    with open_output(args.output) as output:
        for result in results:
            if args.json:
                page = {
                    "url": result.url,
                    "title": result.title,
                    "main_text": result.main_text,
                    "main_text_score": result.main_text_score,
                }
                output.write(to_json(page) + "\n")
            else:
                text = printable_text(result.main_text, terminal=output.isatty())
                output.write(f"{separator}{text}\n")
                separator = "\f"
    return results.status


def extract_page(task: PageTask) -> Extraction:
    """Extract one page; runs in a worker process."""
    return extract(task.html, markdown=task.markdown, **task.options)
