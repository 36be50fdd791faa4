"""Why a page was judged as it was: evidence and rules of its leaves, the energy of its segments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from websegment_scrapy.content.evidence import evidence_of
from websegment_scrapy.content.model import shipped_content_model
from websegment_scrapy.segment.graph_cuts import GraphCuts
from websegment_scrapy.segment.registry import get_engine

if TYPE_CHECKING:
    from websegment_scrapy.analysis import AnalyzedPage
    from websegment_scrapy.content.page_templates import PageTemplates

__all__ = ["explain", "leaf_evidence", "leaf_rules"]

SHOWN = 4
"""Kinds of evidence shown for each leaf."""


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
