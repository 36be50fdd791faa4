"""``websegment segment``: pages in, one JSON object with segments and leaves per page out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from websegment_scrapy.analysis import analyze
from websegment_scrapy.cli.arguments import add_output
from websegment_scrapy.cli.inputs import PageTask, Results, add_input_arguments
from websegment_scrapy.cli.output import open_output, to_json
from websegment_scrapy.explanation import explain, leaf_evidence, leaf_rules

if TYPE_CHECKING:
    import argparse

__all__ = ["add_parser", "run"]


def add_parser(
    subparsers: argparse._SubParsersAction[argparse.ArgumentParser], summary: str
) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser("segment", help=summary, description=__doc__)
    add_input_arguments(parser)
    parser.add_argument(
        "--attributes",
        action="append",
        default=[],
        metavar="NAME",
        help="HTML attribute to report for each leaf, from the nearest element that has it; may "
        "be repeated",
    )
    parser.add_argument(
        "--explain",
        action="store_true",
        help="add to each leaf which evidence moved its templateness; engines gcuts*: add the "
        "energy, its parts and the node that labels each segment",
    )
    add_output(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Segment every input."""
    results = Results(args, segment_page)
    with open_output(args.output) as output:
        for result in results:
            output.write(result + "\n")
    return results.status


def segment_page(task: PageTask) -> str:
    """Return the JSON line of one page; runs in a worker process."""
    page = analyze(task.html, attributes=task.attributes, **task.options)
    found = page.to_dict()
    if task.explain:
        found["explain"] = explain(page)
        for leaf, evidence, rule in zip(
            found["leaves"], leaf_evidence(page), leaf_rules(page), strict=True
        ):
            leaf["evidence"], leaf["rule"] = evidence, rule
    return to_json(found)
