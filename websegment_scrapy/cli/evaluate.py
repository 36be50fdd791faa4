"""``websegment evaluate``: measure engines on labelled data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from websegment_scrapy.cli import evaluate_engines, evaluate_texts

if TYPE_CHECKING:
    import argparse

__all__ = ["add_parser"]


def add_parser(
    subparsers: argparse._SubParsersAction[argparse.ArgumentParser], summary: str
) -> None:
    """Add the subcommand and what can be evaluated."""
    parser = subparsers.add_parser(
        "evaluate", help=summary, description="Measure engines on labelled data."
    )
    kinds = parser.add_subparsers(metavar="WHAT", required=True)
    evaluate_engines.add_parsers(kinds)
    evaluate_texts.add_parsers(kinds)
