"""A batch from its archives to its clusters, or what an earlier run has left of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from websegment_scrapy.archives.reading import archives_in
from websegment_scrapy.batch.analysing import Shards, submit
from websegment_scrapy.batch.clusters import find_clusters
from websegment_scrapy.batch.folder import Folder
from websegment_scrapy.batch.judging import judge_shards
from websegment_scrapy.batch.rows import parquet
from websegment_scrapy.batch.sites import Verdicts, connect, count_sites
from websegment_scrapy.exceptions import AnalysisError
from websegment_scrapy.pool import AnalysisPool

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from websegment_scrapy.archives.reading import Archive
    from websegment_scrapy.batch.clusters import Found
    from websegment_scrapy.batch.options import Limits, Options

__all__ = ["run_batch", "summarise"]

WINDOW = 16
"""Pages for each worker that are under way or waiting: work for the time that it takes to write a
shard."""


def run_batch(
    inputs: Sequence[Path],
    output: Path,
    options: Options,
    limits: Limits,
    say: Callable[[str], None] = lambda _: None,
    progress: Callable[[int], None] = lambda _: None,
) -> dict[str, Any]:
    """Do what is not done yet, and return the summary.

    Parameters
    ----------
    inputs
        Archives. What cannot be read is noted in the summary, and the others are done.
    output
        The folder of the batch (`folder`).
    options, limits
        What is asked for, and what it may take.
    say
        Is told which step begins.
    progress
        Is told how many records are rows by now.

    Raises
    ------
    BatchError
        If another run works in the folder, it holds another batch, or a package is missing.
    """
    parquet()
    folder = Folder(output)
    with folder.locked():
        failures: dict[str, str] = {}
        archives: list[Archive] = []
        for path in inputs:
            try:
                archives += archives_in(path)
            except AnalysisError as error:
                failures[str(path)] = str(error)
        folder.settle_on(options, archives)
        if folder.is_done:
            return folder.summary()
        with (
            connect(folder, limits),
            AnalysisPool(
                limits.workers, timeout=limits.page_timeout, memory=limits.page_memory
            ) as pool,
        ):
            say("analysing")
            failures |= _analyse(folder, archives, options, limits, pool, progress)
            state = folder.state_of(folder.analysed)
            if options.site_templates:
                say("counting what sites repeat")
                if not (_is_of(folder.documents, state) and _is_of(folder.sites, state)):
                    count_sites(folder, limits)
                say("judging again")
            failures |= _judge(folder, state, options, limits, pool)
        say("finding near-duplicates")
        found = find_clusters(folder, options, limits)
        summary = summarise(folder, found, failures, limits)
        folder.finish(summary)
    return summary


def _analyse(
    folder: Folder,
    archives: Sequence[Archive],
    options: Options,
    limits: Limits,
    pool: AnalysisPool,
    progress: Callable[[int], None],
) -> dict[str, str]:
    """Make the shards of all archives; return which could not be made, and why."""
    failures: dict[str, str] = {}
    done = 0

    def count(rows: int) -> None:
        nonlocal done
        done += rows
        progress(done)

    window = WINDOW * limits.workers
    for number, archive in enumerate(archives):
        shards = Shards(folder, number, archive, options, window, submit(pool, options), count)
        try:
            shards.make()
        except (AnalysisError, OSError) as error:
            failures[archive.name] = str(error)
        failures |= {f"analysed/{name}": said for name, said in shards.failures.items()}
    return failures


def _judge(
    folder: Folder, state: str, options: Options, limits: Limits, pool: AnalysisPool
) -> dict[str, str]:
    """Make the shards of the results; return which could not be made, and why."""
    failures: dict[str, str] = {}
    missing = (
        path
        for path in folder.shards(folder.analysed)
        if not _is_of(folder.pages / path.name, state)
    )
    with Verdicts(folder, options, limits) as verdicts:
        for path, error in judge_shards(folder, missing, state, options, verdicts, pool):
            if error is not None:
                failures[f"pages/{path.name}"] = f"it cannot be made: {error}"
    return failures


def _is_of(path: Path, state: str) -> bool:
    """Say whether a file is there and was made of all shards that there are."""
    if not path.is_file():
        return False
    found: bytes = parquet().read_schema(path).metadata.get(b"shards", b"")
    return found.decode() == state


def summarise(
    folder: Folder, found: Found, failures: dict[str, str], limits: Limits
) -> dict[str, Any]:
    """Count the rows of each archive by outcome and reason, and tell what else came out."""
    shards = [str(path) for path in folder.shards(folder.pages)]
    query = (
        "SELECT input, outcome, reason, count(*) FROM read_parquet($shards) GROUP BY ALL "
        "ORDER BY input, outcome, reason"
    )
    counts: dict[str, Any] = {each["name"]: {"records": 0} for each in folder.manifest()["inputs"]}
    total: Counter[str] = Counter()
    if shards:
        with connect(folder, limits) as connection:
            for name, outcome, reason, number in connection.execute(
                query, {"shards": shards}
            ).fetchall():
                own = counts.setdefault(name, {"records": 0})
                own["records"] += number
                total["records"] += number
                total[outcome] += number
                if reason is None:
                    own[outcome] = own.get(outcome, 0) + number
                else:
                    own.setdefault(outcome, {})[reason] = number
    return {
        "inputs": counts,
        "total": dict(sorted(total.items())),
        "near_duplicates": asdict(found),
        "failed": failures,
        "complete": not failures,
    }
