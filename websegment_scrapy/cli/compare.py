"""``websegment compare``: do two pages count as near-duplicates, and on what evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from websegment_scrapy.cli.extract import extract_page
from websegment_scrapy.cli.inputs import Results, add_input_arguments
from websegment_scrapy.cli.output import printable, to_json
from websegment_scrapy.config import SIGNATURE_KINDS, Config
from websegment_scrapy.dedup.shingles import shingle_hashes
from websegment_scrapy.dedup.signature import RECIPES, signature_of, similarity
from websegment_scrapy.page.words import words

if TYPE_CHECKING:
    import argparse

    from websegment_scrapy.extraction import Extraction

__all__ = ["add_parser", "run", "shared_passages"]

SHOWN, WORDS = 5, 40
"""Passages shown, and words of each."""


def add_parser(
    subparsers: argparse._SubParsersAction[argparse.ArgumentParser], summary: str
) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser("compare", help=summary, description=__doc__)
    add_input_arguments(parser, nargs=2)
    parser.add_argument(
        "--signature", choices=SIGNATURE_KINDS, default=Config().signature, help="recipe"
    )
    parser.add_argument("--similarity", type=float, help="threshold (default: the recipe's)")
    parser.add_argument("--json", action="store_true", help="the answer as a JSON object")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Compare two inputs."""
    pages = list(Results(args, extract_page))
    if len(pages) != 2:
        return 1
    answer = _compare(pages[0], pages[1], args.signature, args.similarity)
    if args.json:
        print(to_json(answer))
    else:
        _print_answer(answer)
    return 0


def _compare(
    first: Extraction, second: Extraction, kind: str, threshold: float | None
) -> dict[str, object]:
    """Gather the evidence: the signatures' similarity, and the exact one of the shingle sets."""
    recipe = RECIPES[kind]
    limit = recipe.default_similarity if threshold is None else threshold
    signatures = [signature_of(page.main_text, recipe) for page in (first, second)]
    sets = [
        set(shingle_hashes(words(page.main_text), recipe.width).tolist())
        for page in (first, second)
    ]
    common, union = len(sets[0] & sets[1]), len(sets[0] | sets[1])
    measured = similarity(*signatures)
    enough = min(first.words, second.words) >= Config().min_words
    keys = len(set(signatures[0].keys()) & set(signatures[1].keys()))
    return {
        "near_duplicates": bool(enough and keys and measured >= limit),
        "same_text": signatures[0].content_hash == signatures[1].content_hash and enough,
        "signature": kind,
        "similarity": round(measured, 4),
        "threshold": limit,
        "shared_keys": keys,
        "jaccard": round(common / union, 4) if union else 0.0,
        "shared_shingles": common,
        "enough_words": enough,
        "passages": shared_passages(words(first.main_text), words(second.main_text), recipe.width),
        "pages": [
            {"url": page.url, "title": page.title, "words": page.words} for page in (first, second)
        ],
    }


def shared_passages(first: list[str], second: list[str], width: int) -> list[str]:
    """Return the longest runs of words that both texts have, each at least a shingle long.

    A run is as long as its shingles are all in the other text; the order there may differ.
    """
    known = {tuple(second[at : at + width]) for at in range(len(second) - width + 1)}
    passages: dict[str, int] = {}
    start = end = 0
    for at in range(len(first) - width + 2):
        if tuple(first[at : at + width]) in known:
            if at >= end:
                start = at
            end = at + width
        elif end and at == end - width + 1:
            passages.setdefault(" ".join(first[start:end]), end - start)
            end = 0
    return sorted(passages, key=lambda passage: -passages[passage])


def _print_answer(answer: dict[str, object]) -> None:
    pages = answer["pages"]
    assert isinstance(pages, list)
    for name, page in zip("AB", pages, strict=True):
        title, url = printable(page["title"] or "(no title)"), printable(page["url"])
        print(f"{name}: {title}, {page['words']} words, {url}")
    print(f"near-duplicates: {'yes' if answer['near_duplicates'] else 'no'}")
    if not answer["enough_words"]:
        print(f"one of them has fewer than {Config().min_words} words: too little to compare")
    print(
        f"similarity {answer['similarity']} by {answer['signature']} signature, "
        f"threshold {answer['threshold']}, {answer['shared_keys']} keys in common"
    )
    print(
        f"exact: {answer['shared_shingles']} six-word shingles in common, "
        f"Jaccard similarity {answer['jaccard']}"
    )
    passages = answer["passages"]
    assert isinstance(passages, list)
    for passage in passages[:SHOWN]:
        found = passage.split()
        shown = passage if len(found) <= WORDS else " ".join(found[:WORDS]) + " …"
        print(f"shared, {len(found)} words: {printable(shown)}")
    if len(passages) > SHOWN:
        print(f"and {len(passages) - SHOWN} more shared passages")
