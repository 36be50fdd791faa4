"""``websegment segment``: pages in, one JSON object with segments and leaves per page out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from websegment_scrapy.analysis import AnalyzedPage, analyze
from websegment_scrapy.cli.arguments import add_output
from websegment_scrapy.cli.inputs import PageTask, Results, add_input_arguments
from websegment_scrapy.cli.output import open_output, to_json
from websegment_scrapy.content.evidence import evidence_of
from websegment_scrapy.content.model import shipped_content_model
from websegment_scrapy.segment.graph_cuts import GraphCuts
from websegment_scrapy.segment.registry import get_engine

if TYPE_CHECKING:
    import argparse

    from websegment_scrapy.content.page_templates import PageTemplates

__all__ = ["add_parser", "explain", "leaf_evidence", "leaf_rules", "run"]

SHOWN = 4
"""Kinds of evidence shown for each leaf."""


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


def explain(page: AnalyzedPage) -> dict[str, Any] | None:
    """Return the energy of the page's segments and its terms; ``None`` for other engines."""
    engine = get_engine(page.engine)
    if not isinstance(engine, GraphCuts) or len(page.labels) < 2:
        return None
    solution = engine.solve(page.tree)
    terms = solution.terms
    nodes = dict(zip(page.labels.tolist(), solution.nodes.tolist(), strict=True))
    return {
        "lambda": solution.weight,
        "energy": terms.total,
        "leaves": terms.leaves,
        "neighbours": terms.neighbours,
        "visible_nodes": terms.visible,
        "invisible_nodes": terms.invisible,
        "labels": {str(segment): page.tree.xpath(node) for segment, node in sorted(nodes.items())},
    }


def leaf_evidence(page: AnalyzedPage) -> list[dict[str, float] | None]:
    """Say of each text leaf what spoke most for main text (above 0) or template (below 0)."""
    leaves = page.tree.leaves
    if page.templates is None or page.templates.judgement is None:
        return [None] * len(leaves)
    judgement, block = page.templates.judgement, _blocks(page.templates)
    evidence = evidence_of(judgement, shipped_content_model())
    found: list[dict[str, float] | None] = []
    for leaf in leaves.tolist():
        if leaf not in block:
            found.append(None)
            continue
        values = {kind: float(worth[block[leaf]]) for kind, worth in evidence.items()}
        most = sorted(values, key=lambda kind: -abs(values[kind]))[:SHOWN]
        found.append({kind: round(values[kind], 2) for kind in most})
    return found


def leaf_rules(page: AnalyzedPage) -> list[str | None]:
    """Name for each leaf the rule that makes it template whatever its evidence, if there is one."""
    leaves = page.tree.leaves
    if page.templates is None or page.templates.judgement is None:
        return [None] * len(leaves)
    ruled_out, block = page.templates.judgement.ruled_out, _blocks(page.templates)
    return [
        next((name for name, out in ruled_out.items() if leaf in block and out[block[leaf]]), None)
        for leaf in leaves.tolist()
    ]


def _blocks(templates: PageTemplates) -> dict[int, int]:
    """Return the block of each text node."""
    assert templates.judgement is not None
    blocks = templates.judgement.page.text.blocks.of_node
    return dict(zip(templates.nodes.tolist(), blocks.tolist(), strict=True))
