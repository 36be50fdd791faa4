"""``websegment dedup resign``: another recipe for the signatures of a database."""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from websegment_scrapy.cli.progress import counting
from websegment_scrapy.config import Config
from websegment_scrapy.dedup.signature import RECIPES
from websegment_scrapy.exceptions import WebsegmentError
from websegment_scrapy.store import queries
from websegment_scrapy.store.database import Database
from websegment_scrapy.store.resign import adopt, resign
from websegment_scrapy.store.store import Store

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``resign``."""
    parser.description = (
        "Make another recipe that of the database, and re-sign what can be re-signed now. The "
        "database keeps no texts: other pages are re-signed with --from, or when a crawl meets "
        "them."
    )
    parser.add_argument(
        "--signature",
        choices=sorted(RECIPES),
        help="the new kind of signature (default: the present kind, as this version makes it)",
    )
    parser.add_argument(
        "--similarity",
        type=float,
        metavar="S",
        help="the new similarity (default: the present one; with another kind, that kind's own)",
    )
    parser.add_argument(
        "--from",
        dest="texts",
        action="append",
        default=[],
        metavar="FILE",
        help=(
            "JSON lines with url and main_text, or with the same in websegment, or flat as "
            "websegment_url and websegment_main_text: as crawls export their items and as "
            "websegment extract --json writes; - for standard input"
        ),
    )
    parser.add_argument(
        "--field",
        default=Config().field,
        metavar="NAME",
        help="the items' field that has main_text in it (default: %(default)s)",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Adopt the recipe, re-sign; return the exit status."""
    for name in args.texts:
        if name != "-" and not Path(name).is_file():
            raise WebsegmentError(f"{name}: there is no such file: name the exported items")
    info = queries.info_of(args.database)
    recipe = RECIPES[args.signature or info.recipe.kind]
    similarity = args.similarity
    if similarity is None:
        same = recipe.kind == info.recipe.kind
        similarity = info.similarity if same else recipe.default_similarity
    with contextlib.closing(Database.open(args.database, create=True)) as database:
        former = adopt(database, recipe, similarity)
    bad = 0

    def texts() -> Iterator[tuple[str, str]]:
        nonlocal bad
        for name in args.texts:
            with _open(name) as lines:
                for number, line in enumerate(lines, 1):
                    found = _url_and_text(line, args.field)
                    if found is not None:
                        yield found
                    elif line.strip():
                        bad += 1
                        print(
                            f"{name}, line {number}: no JSON object with url and main_text",
                            file=sys.stderr,
                        )

    with (
        Store.open(args.database, recipe=recipe, similarity=similarity) as store,
        counting("pages re-signed", former) as progress,
    ):
        done = resign(store, texts(), progress)
    said = f"{done.pages} pages re-signed"
    if done.other_text:
        said += f", {done.other_text} texts are not those of the last visit"
    if done.unknown:
        said += f", {done.unknown} texts belong to no page"
    if done.left:
        said += (
            f"; {done.left} pages still have signatures of a former recipe: a crawl that meets "
            "them renews them, so does --from FILE"
        )
    print(f"{database.name}: {recipe.kind}, similarity {similarity}: {said}", file=sys.stderr)
    return 1 if bad else 0


def _url_and_text(line: str, field: str) -> tuple[str, str] | None:
    """Read URL and main text of one line, if it has them."""
    try:
        item = json.loads(line)
        found = item.get(field)
        result = found if isinstance(found, dict) else item
        if f"{field}_main_text" in item:  # WEBSEGMENT_FLATTEN
            result = {name: item.get(f"{field}_{name}") for name in ("url", "main_text")}
        text = result["main_text"]
        url = result.get("url") or item["url"]  # its own page's, if it says so
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
    return (url, text) if isinstance(url, str) and isinstance(text, str) else None


@contextlib.contextmanager
def _open(name: str) -> Iterator[TextIO]:
    if name == "-":
        yield sys.stdin
        return
    with Path(name).open(encoding="utf-8", errors="replace") as lines:
        yield lines
