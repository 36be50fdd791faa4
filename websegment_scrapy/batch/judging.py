"""Third step: pages of known sites are judged again, shard by shard; most stay as they are.

It is what a crawl does at its end (`store.revision`): the same dossiers, the same verdicts, the
same texts. What it takes to judge a page once more is kept of sites that are not yet well known,
for a crawl that goes on from here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from websegment_scrapy.batch.looking import sign_again
from websegment_scrapy.batch.rows import PAGES, parquet, schema, signed, write_table
from websegment_scrapy.exceptions import AnalysisError
from websegment_scrapy.store.templates import COUNT_ALL

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from concurrent.futures import Future
    from pathlib import Path

    from websegment_scrapy.batch.folder import Folder
    from websegment_scrapy.batch.options import Options
    from websegment_scrapy.batch.sites import Verdicts
    from websegment_scrapy.pool import AnalysisPool

__all__ = ["judge_shards"]

PER_TASK = 32
"""Pages that are judged again together (as `store.revision.PER_TASK`)."""

_ASKED = ("host", "document_hash", "content_hash", "dossier")


class _Shard(NamedTuple):
    """A shard that is judged: its rows, which go without a dossier, and the answers to come."""

    path: Path
    table: Any
    well_known: list[int]
    waiting: list[tuple[list[int], Future[Any]]]


def judge_shards(
    folder: Folder,
    paths: Iterable[Path],
    state: str,
    options: Options,
    verdicts: Verdicts,
    pool: AnalysisPool,
) -> Iterator[tuple[Path, Exception | None]]:
    """Write shards of the results from the shards of the same names that were analysed.

    Yields each with the error if it cannot be made. While one is written the next is judged.
    `state` tells of which shards the verdicts are, and is kept with them.
    """
    before: _Shard | None = None
    for path in paths:
        shard = error = None
        try:
            shard = _judge(path, options, verdicts, pool)
        except _ERRORS as caught:
            error = caught
        if before is not None:
            yield before.path, _write(folder, before, state, options)
        if error is not None:
            yield path, error
        before = shard
    if before is not None:
        yield before.path, _write(folder, before, state, options)


_ERRORS = (AnalysisError, OSError, ValueError)  # pyarrow's errors are ValueErrors


def _judge(path: Path, options: Options, verdicts: Verdicts, pool: AnalysisPool) -> _Shard:
    """Have all pages of a shard judged again of which a site is known."""
    table = parquet().read_table(path, columns=list(PAGES))
    if not options.site_templates:
        return _Shard(path, table, [], [])
    hosts, documents, texts, dossiers = (table[name].to_pylist() for name in _ASKED)
    kept = [row for row, dossier in enumerate(dossiers) if dossier is not None]
    shared = verdicts.hosts_of([documents[row] for row in kept])
    asked = {row: shared.get(documents[row], [hosts[row]]) for row in kept}
    known = verdicts.of(sorted({host for each in asked.values() for host in each}))
    judged = []
    for row in kept:
        sites = [known.get(host, (0, None))[1] for host in asked[row]]
        if any(site is not None for site in sites):
            judged.append((row, (dossiers[row], sites, texts[row])))
    chunks = [judged[start : start + PER_TASK] for start in range(0, len(judged), PER_TASK)]
    return _Shard(
        path,
        table,
        [row for row in kept if known.get(hosts[row], (0, None))[0] >= COUNT_ALL],
        [
            (
                [row for row, _ in chunk],
                pool.submit(sign_again, [task for _, task in chunk], options.signature),
            )
            for chunk in chunks
        ],
    )


def _write(folder: Folder, shard: _Shard, state: str, options: Options) -> Exception | None:
    """Write a shard with what was judged otherwise; most columns stay as they were read."""
    changed: dict[str, dict[int, Any]] = {}
    if shard.well_known:
        changed["dossier"] = dict.fromkeys(shard.well_known)
    try:
        for rows, future in shard.waiting:
            for row, answer in zip(rows, future.result(), strict=True):
                if answer is not None:
                    for name, value in signed(answer, options).items():
                        changed.setdefault(name, {})[row] = value
        table = _with(shard.table, changed)
        with folder.whole(folder.pages / shard.path.name) as part:
            write_table(part, table, {"shards": state})
    except _ERRORS as error:
        return error
    return None


def _with(table: Any, changed: dict[str, dict[int, Any]]) -> Any:
    """Return a table with other values in some rows of some columns."""
    import pyarrow as pa

    for name, rows in changed.items():
        values = table[name].to_pylist()
        for row, value in rows.items():
            values[row] = value
        place = list(PAGES).index(name)
        field = schema(PAGES).field(place)
        table = table.set_column(place, field, pa.array(values, field.type))
    return table
