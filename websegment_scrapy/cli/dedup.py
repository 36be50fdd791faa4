"""``websegment dedup``: what the dedup database knows."""

from __future__ import annotations

import argparse
import re
import sys
from contextlib import closing
from dataclasses import asdict, fields
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, TypeVar

from websegment_scrapy.cli import diff, resign, revise
from websegment_scrapy.cli.arguments import add_database, add_format, add_quiet, add_raw_csv
from websegment_scrapy.cli.output import open_output, printable, write_rows
from websegment_scrapy.cli.progress import arriving, counting, steps
from websegment_scrapy.store import answers, lifecycle, merging, queries
from websegment_scrapy.store.database import Database
from websegment_scrapy.store.integrity import integrity
from websegment_scrapy.store.models import SCHEMA_VERSION
from websegment_scrapy.store.resign import former_pages
from websegment_scrapy.store.schedule import due_pages
from websegment_scrapy.store.schema import migrate, read_info
from websegment_scrapy.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["add_parser", "run"]

_Answer = TypeVar(
    "_Answer",
    answers.ChangeRow,
    answers.DueRow,
    answers.PageRow,
    answers.PairRow,
    answers.RevisedRow,
    answers.SiteRow,
)
_T = TypeVar("_T")


def add_parser(
    subparsers: argparse._SubParsersAction[argparse.ArgumentParser], summary: str
) -> None:
    """Add ``dedup`` and its questions to the command line."""
    parser = subparsers.add_parser(
        "dedup",
        help=summary,
        description="Query the database that crawls write their near-duplicate decisions to.",
    )
    questions = parser.add_subparsers(metavar="QUESTION", required=True)

    def add(name: str, text: str, answer: Callable[..., int]) -> argparse.ArgumentParser:
        question = questions.add_parser(name, help=text, description=f"{text.capitalize()}.")
        add_database(question)
        add_format(
            question,
            "jsonl" if name == "export" else "table",
            text="how to write the answer (default: %(default)s)",
        )
        add_raw_csv(question)
        add_quiet(question)
        question.set_defaults(run=run, answer=answer, question=name)
        return question

    add("summary", "numbers of pages, decisions, clusters and visits", _summary)
    clusters = add("clusters", "clusters of near-duplicates, largest first", _clusters)
    clusters.add_argument("--min-size", type=int, default=2, metavar="N", help="default: 2")
    clusters.add_argument(
        "--limit", type=int, default=20, metavar="N", help="default: 20; 0: all of them"
    )
    add("url", "everything about one URL", _url).add_argument("url", metavar="URL")
    add("pairs", "each near-duplicate with the page that it repeats", _pairs)
    changed = add("changed", "pages whose text has changed, and how much", _changed)
    changed.add_argument(
        "--since",
        type=moment,
        required=True,
        metavar="WHEN",
        help="2026-01-31, 2026-01-31T12:00 (UTC), or a time ago: 90m, 12h, 7d",
    )
    changed.add_argument(
        "--new", action="store_true", help="also pages that were new: all that is new since then"
    )
    changed.add_argument(
        "--revised",
        action="store_true",
        help="instead, pages that were judged again because more is known about their site",
    )
    due = add("due", "pages that are due to be visited again, the longest due first", _due)
    due.add_argument(
        "--at", type=moment, metavar="WHEN", help="at another time (default: now); as --since"
    )
    diff.add_arguments(add("diff", "what changed on a page between two visits", diff.answer))
    add("sites", "hosts with their numbers, the largest first", _sites)
    add("export", "all pages", _export)
    to_migrate = add("migrate", "bring a database of an older version up to date", _summary)
    to_migrate.set_defaults(run=_migrate)
    forgotten = add(
        "forget", "remove pages that were not seen for long; keep their number", _summary
    )
    forgotten.add_argument(
        "--not-seen-for",
        type=float,
        required=True,
        metavar="DAYS",
        help="days since the last visit",
    )
    forgotten.set_defaults(run=_forget)
    merged = add(
        "merge", "bring all pages of another database, or of a batch, into this one", _summary
    )
    merged.add_argument(
        "source", metavar="SOURCE", help="the other database, or the folder of a batch"
    )
    merged.set_defaults(run=_merge, bring=merging.merge)
    copied = add("copy", "copy another database into this new one, also to PostgreSQL", _summary)
    copied.add_argument("source", metavar="SOURCE", help="the other database")
    copied.set_defaults(run=_merge, bring=merging.copy)
    resign.add_arguments(add("resign", "change the recipe of the signatures, in place", _summary))
    revise.add_arguments(add("revise", "judge pages again whose site became known", _summary))
    add("vacuum", "give back the room of what was removed", _summary).set_defaults(run=_vacuum)
    add("check", "check that the database is sound (exit status 1 if not)", _check)


def run(args: argparse.Namespace) -> int:
    """Answer the question; return the exit status."""
    with (
        closing(queries.open_for_reading(args.database)) as database,
        open_output(args.output) as out,
    ):
        status: int = args.answer(database, args, out)
    return status


def _migrate(args: argparse.Namespace) -> int:
    with closing(Database.open(args.database, create=True)) as database, steps("migrate") as say:
        say("bringing the tables up to date")
        found = migrate(database)
        with database.read() as connection:
            read_info(database, connection)
    said = "is up to date"
    if found != SCHEMA_VERSION:
        said = f"migrated from schema version {found} to {SCHEMA_VERSION}"
    print(f"{database.name}: {said}", file=sys.stderr)
    return 0


def _forget(args: argparse.Namespace) -> int:
    before = datetime.now(UTC) - timedelta(days=args.not_seen_for)
    with (
        _open_for_writing(args.database) as database,
        counting("pages forgotten", lifecycle.not_seen_since(database, before)) as progress,
    ):
        count = lifecycle.forget(database, before, progress)
    print(f"{database.name}: {count} pages forgotten", file=sys.stderr)
    return 0


def _merge(args: argparse.Namespace) -> int:
    if (Path(args.source) / "batch.json").is_file():
        return _merge_batch(args)
    info = queries.info_of(args.source)
    with (
        closing(queries.open_for_reading(args.source)) as source,
        Store.open(args.database, recipe=info.recipe, similarity=info.similarity) as store,
        counting("pages brought", queries.page_count(source)) as progress,
    ):
        brought = args.bring(source, store, progress)
    print(
        f"{store.database.name}: {brought.pages} pages and {brought.visits} visits of "
        f"{source.name}",
        file=sys.stderr,
    )
    return 0


def _merge_batch(args: argparse.Namespace) -> int:
    """Take the results of ``websegment batch`` into a database, also into a new one."""
    from websegment_scrapy.batch.merging import merge_batch, open_batch

    folder, options = open_batch(Path(args.source))
    found = folder.summary()["total"]
    total = sum(found.get(outcome, 0) for outcome in ("page", "empty", "failed"))
    with (
        Store.open(
            args.database,
            recipe=options.recipe,
            similarity=options.similarity,
            min_words=options.min_words,
        ) as store,
        counting("pages brought", total) as progress,
    ):
        brought = merge_batch(folder, options, store, progress=progress)
    print(
        f"{store.database.name}: {brought.pages} pages and the counts of {brought.sites} sites of "
        f"{args.source}",
        file=sys.stderr,
    )
    return 0


def _vacuum(args: argparse.Namespace) -> int:
    with _open_for_writing(args.database) as database, steps("vacuum") as say:
        say("writing the database anew")
        lifecycle.vacuum(database)
    return 0


def _open_for_writing(url: str) -> closing[Database]:
    """Open a database that exists."""
    queries.open_for_reading(url).close()
    return closing(Database.open(url, create=True))


def _summary(database: Database, args: argparse.Namespace, out: TextIO) -> int:
    with steps("summary") as say:
        say("counting")
        row = asdict(queries.summary(database))
    if args.format == "table":
        write_rows([{"what": name, "value": value} for name, value in row.items()], "table", out)
    else:
        write_rows([row], args.format, out, raw_csv=args.raw_csv)
    return 0


def _clusters(database: Database, args: argparse.Namespace, out: TextIO) -> int:
    found = _told(queries.clusters(database, args.min_size, args.limit or None), args, out)
    if args.format == "jsonl":
        write_rows(map(asdict, found), "jsonl", out)
        return 0
    # One line for each page, so that every cell holds one value.
    columns = ("cluster", "size", "representative", "url")
    rows = (
        dict(zip(columns, (number, each.size, each.representative, url), strict=True))
        for number, each in enumerate(found, start=1)
        for url in each.urls
    )
    write_rows(rows, args.format, out, columns, raw_csv=args.raw_csv)
    return 0


def _url(database: Database, args: argparse.Namespace, out: TextIO) -> int:
    story = queries.story(database, args.url)
    if story is None:
        said = f"{args.url} is not in {database.name}: no crawl has stored it"
        print(printable(said), file=sys.stderr)
        return 1
    if args.format == "jsonl":
        write_rows([asdict(story)], "jsonl", out)
        return 0
    visits = [asdict(visit) for visit in story.visits]
    if args.format == "table":
        page = [{"what": name, "value": value} for name, value in asdict(story.page).items()]
        page += [{"what": "same cluster", "value": url} for url in story.cluster]
        write_rows(page, "table", out)
        out.write("\n")
    write_rows(visits, args.format, out, raw_csv=args.raw_csv)
    return 0


def _pairs(database: Database, args: argparse.Namespace, out: TextIO) -> int:
    return _write_all(queries.pairs(database), answers.PairRow, args, out)


def _changed(database: Database, args: argparse.Namespace, out: TextIO) -> int:
    if args.revised:
        return _write_all(queries.revised(database, args.since), answers.RevisedRow, args, out)
    found = queries.changed(database, args.since, new_too=args.new)
    return _write_all(found, answers.ChangeRow, args, out)


def _due(database: Database, args: argparse.Namespace, out: TextIO) -> int:
    found = due_pages(database, args.at or datetime.now(UTC))
    return _write_all(found, answers.DueRow, args, out)


def _sites(database: Database, args: argparse.Namespace, out: TextIO) -> int:
    return _write_all(queries.sites(database), answers.SiteRow, args, out)


def _export(database: Database, args: argparse.Namespace, out: TextIO) -> int:
    total = queries.page_count(database)
    return _write_all(queries.pages(database), answers.PageRow, args, out, total)


def _write_all(
    found: Iterable[_Answer],
    kind: type[_Answer],
    args: argparse.Namespace,
    out: TextIO,
    total: int = 0,
) -> int:
    """Write rows of a kind with all their columns, also where there is no row."""
    columns = [field.name for field in fields(kind)]
    rows = map(asdict, _told(found, args, out, total))
    write_rows(rows, args.format, out, columns, raw_csv=args.raw_csv)
    return 0


def _told(
    found: Iterable[_T], args: argparse.Namespace, out: TextIO, total: int = 0
) -> Iterable[_T]:
    """Say how many rows have come, unless they are seen to come themselves."""
    if args.format != "table" and out.isatty():
        return found
    return arriving(found, args.question, total)


def _check(database: Database, args: argparse.Namespace, out: TextIO) -> int:
    with steps("check") as say:
        problems = integrity(database, say)
    if problems or args.format != "table":
        rows = [{"problem": problem} for problem in problems]
        write_rows(rows, args.format, out, ["problem"], raw_csv=args.raw_csv)
    shown = printable("; ".join(problems)) if args.output else f"{len(problems)} problems"
    print(f"{database.name}: {shown if problems else 'sound'}", file=sys.stderr)
    former = former_pages(database)
    if former:
        print(
            f"{database.name}: {former} pages have signatures of a former recipe "
            "(websegment dedup resign)",
            file=sys.stderr,
        )
    return 1 if problems else 0


def moment(value: str) -> datetime:
    """Read a time: a date, a date with a time (UTC), or a time ago."""
    ago = re.fullmatch(r"(\d+)([mhd])", value)
    if ago:
        units = {"m": "minutes", "h": "hours", "d": "days"}
        return datetime.now(UTC) - timedelta(**{units[ago[2]]: int(ago[1])})
    try:
        found = datetime.fromisoformat(value)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{value!r} is no time: write 2026-01-31, 2026-01-31T12:00 or 7d"
        ) from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
