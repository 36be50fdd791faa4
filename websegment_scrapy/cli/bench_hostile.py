"""``websegment bench hostile``: a crawl among pages that mean it harm."""

from __future__ import annotations

import contextlib
import signal
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from websegment_scrapy.bench.hostile import COLUMNS, Plan, one_by_one, soak
from websegment_scrapy.bench.hostile_kinds import chosen_kinds
from websegment_scrapy.cli.arguments import add_format, at_least
from websegment_scrapy.cli.output import open_output, write_rows

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator

__all__ = ["add_hostile", "orderly_end", "run_hostile"]

LIMIT_SECONDS = 3600.0
EACH_SECONDS = 120.0


def add_hostile(what: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``hostile`` to ``bench``."""
    parser = what.add_parser(
        "hostile",
        help="that no page stops the crawl, reaches where it must not, or speaks for another",
        description=(
            "Crawl a local web of normal pages, alone and then with hostile ones among them, with "
            "the add-on and a browser as they are; then kill such a crawl and start it again. Are "
            "all normal pages stored rightly, was the internal service left alone, did secrets "
            "stay where they belong, what did it cost, what is left over? Exit status 1 when a "
            "condition fails. Everything is on loopback."
        ),
    )
    parser.add_argument(
        "--normal", type=int, default=600, metavar="N", help="normal pages (default: %(default)s)"
    )
    parser.add_argument(
        "--hostile",
        type=int,
        default=100,
        metavar="N",
        help="hostile pages, of each kind in turn (default: %(default)s)",
    )
    parser.add_argument(
        "--kinds",
        nargs="+",
        default=(),
        metavar="KIND",
        help="only these, by name or by the beginning of it, such as ssrf (default: all)",
    )
    parser.add_argument(
        "--timeout",
        type=float,
        default=10.0,
        metavar="S",
        help="WEBSEGMENT_RENDER_TIMEOUT and DOWNLOAD_TIMEOUT of the crawls (default: %(default)s)",
    )
    parser.add_argument(
        "--limit",
        type=float,
        metavar="S",
        help="for one crawl, which is ended then (default: an hour; with --each two minutes)",
    )
    parser.add_argument(
        "--each",
        action="store_true",
        help="crawl each kind alone among a few normal pages: what does each of them do?",
    )
    parser.add_argument("--keep", metavar="DIR", help="keep logs, items, databases and caches here")
    add_format(parser)
    parser.set_defaults(run=run_hostile)


def run_hostile(args: argparse.Namespace) -> int:
    """Run the crawls and write a row for each condition; return 1 when one failed."""
    at_least(args, "normal", 1)
    at_least(args, "hostile", 1)
    kinds = chosen_kinds(args.kinds)
    with contextlib.ExitStack() as stack:
        stack.enter_context(orderly_end())
        folder = args.keep or stack.enter_context(
            tempfile.TemporaryDirectory(prefix="websegment-bench-", ignore_cleanup_errors=True)
        )
        out = stack.enter_context(open_output(args.output))
        plan = Plan(
            normal=args.normal,
            hostile=args.hostile,
            kinds=kinds,
            timeout=args.timeout,
            limit=args.limit or (EACH_SECONDS if args.each else LIMIT_SECONDS),
            folder=Path(folder).absolute(),
            say=_progress,
        )
        rows = []
        for row in one_by_one(plan) if args.each else soak(plan):
            rows.append(row)
            if args.format == "jsonl":  # at once: a long run that is ended has not been in vain
                write_rows([row], args.format, out)
                out.flush()
        if args.format != "jsonl":
            write_rows(rows, args.format, out, COLUMNS)
    return 0 if all(row["passed"] for row in rows) else 1


@contextlib.contextmanager
def orderly_end() -> Iterator[None]:
    """Let SIGTERM end the crawls too: they are in sessions of their own."""

    def leave(number: int, _frame: object) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _progress(name: str, total: int) -> Callable[[int], None]:
    """Say which crawl begins; on a terminal, draw how many of its pages are done."""
    shown = sys.stderr.isatty()
    print(f"{name}: {total} pages", file=sys.stderr, flush=True)

    def tick(done: int) -> None:
        if shown:
            end = "\n" if done >= total else ""
            print(f"\r{done}/{total} pages", end=end, file=sys.stderr, flush=True)

    return tick
