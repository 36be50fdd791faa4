"""Third step: pages of known sites are judged again, shard by shard; most stay as they are.

It is what a crawl does at its end (`store.revision`): the same dossiers, the same verdicts, the
same texts. What it takes to judge a page once more is kept of sites that are not yet well known,
for a crawl that goes on from here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from websegment_scrapy.batch.rows import PAGES, parquet, signed, write_rows
from websegment_scrapy.store.templates import COUNT_ALL
from websegment_scrapy.tasks import judge_again

if TYPE_CHECKING:
    from concurrent.futures import Future
    from pathlib import Path

    from websegment_scrapy.batch.folder import Folder
    from websegment_scrapy.batch.options import Options
    from websegment_scrapy.batch.sites import Verdicts
    from websegment_scrapy.pool import AnalysisPool

__all__ = ["judge_shard"]

PER_TASK = 32
"""Pages that are judged again together (as `store.revision.PER_TASK`)."""


def judge_shard(
    folder: Folder,
    path: Path,
    state: str,
    options: Options,
    verdicts: Verdicts,
    pool: AnalysisPool,
) -> None:
    """Write a shard of the results from the shard of the same name that was analysed.

    `state` tells of which shards the verdicts are, and is kept with it.
    """
    rows: list[dict[str, Any]] = parquet().read_table(path, columns=list(PAGES)).to_pylist()
    waiting: list[tuple[list[dict[str, Any]], Future[Any]]] = []
    if options.site_templates:
        waiting = _submit(rows, options, verdicts, pool)
    for chunk, future in waiting:
        for row, answer in zip(chunk, future.result(), strict=True):
            if answer is not None:
                text, signature = answer
                row |= signed(text, signature, options)
    with folder.whole(folder.pages / path.name) as part:
        write_rows(part, rows, PAGES, {"shards": state})


def _submit(
    rows: list[dict[str, Any]], options: Options, verdicts: Verdicts, pool: AnalysisPool
) -> list[tuple[list[dict[str, Any]], Future[Any]]]:
    """Have all pages judged again of which a site is known."""
    kept = [row for row in rows if row["dossier"] is not None]
    shared = verdicts.hosts_of([row["document_hash"] for row in kept])
    asked = {row["document_hash"]: shared.get(row["document_hash"], [row["host"]]) for row in kept}
    known = verdicts.of(sorted({host for hosts in asked.values() for host in hosts}))
    judged = []
    for row in kept:
        sites = [known.get(host, (0, None))[1] for host in asked[row["document_hash"]]]
        if any(site is not None for site in sites):
            judged.append((row, (row["dossier"], sites, row["content_hash"])))
        if known.get(row["host"], (0, None))[0] >= COUNT_ALL:
            row["dossier"] = None
    chunks = [judged[start : start + PER_TASK] for start in range(0, len(judged), PER_TASK)]
    return [
        (
            [row for row, _ in chunk],
            pool.submit(judge_again, [task for _, task in chunk], options.signature),
        )
        for chunk in chunks
    ]
