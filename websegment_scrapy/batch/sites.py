"""Second step: what each site repeats, counted over the whole collection before anything is judged.

A crawl counts pages in the order in which it meets them; here all are there at once, so which of
them count goes by no order: of each site `COUNT_ALL` pages, those with the least hashes of their
URLs, are a sample like any other. As in a crawl, a page that says the same as another does not
count, and a URL counts once. DuckDB counts in bounded memory, through the disk where it must.
"""

from __future__ import annotations

import os
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from websegment_scrapy.batch.folder import BatchError
from websegment_scrapy.batch.looking import SEPARATOR
from websegment_scrapy.batch.rows import parquet, schema
from websegment_scrapy.store.templates import COUNT_ALL, FORGET_EVERY, FORGET_SHARE
from websegment_scrapy.template.sitelevel import SiteVerdict, needed_pages, site_verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from websegment_scrapy.batch.folder import Folder
    from websegment_scrapy.batch.options import Limits, Options

__all__ = ["Verdicts", "connect", "copy_rows", "count_sites"]

ROWS = 100_000
"""Rows in one group of a Parquet file, and in memory at once."""

REMEMBERED = 10_000
"""Sites whose verdicts are kept in memory: the next shard is likely to have the same ones."""

_SITES = f"""
WITH pages AS (
    SELECT host, parts[1] AS whole, min(url_key) AS url_key
    FROM read_parquet($shards)
    WHERE len(parts) > 0 AND host <> ''
    GROUP BY host, parts[1]
), visits AS (  -- a URL counts once, however often it was captured
    SELECT host, url_key, min(whole) AS whole FROM pages GROUP BY host, url_key
), chosen AS (
    SELECT host, url_key, whole,
           count(*) OVER (PARTITION BY host) AS all_pages,
           row_number() OVER (PARTITION BY host ORDER BY url_key) AS place
    FROM visits
), counted AS (
    SELECT host, url_key, whole, least(all_pages, {COUNT_ALL}) AS pages
    FROM chosen WHERE place <= {COUNT_ALL}
), found AS (
    SELECT rows.host, counted.pages, rows.url_key, rows.input, rows.record,
           rows.parts, rows.samples,
           row_number() OVER (PARTITION BY rows.host, rows.url_key ORDER BY input, record) AS place
    FROM read_parquet($shards) AS rows
    JOIN counted ON rows.host = counted.host AND rows.url_key = counted.url_key
                AND rows.parts[1] = counted.whole
), each AS (
    SELECT host, pages AS site_pages, unnest(parts) AS part,
           unnest(string_split(samples, chr({ord(SEPARATOR)}))) AS sample
    FROM found WHERE place = 1
)
SELECT host, site_pages, part, count(*) AS pages, min(sample) AS sample
FROM each GROUP BY host, site_pages, part
HAVING site_pages < {FORGET_EVERY} OR count(*) >= greatest(2, ceil({FORGET_SHARE} * site_pages))
ORDER BY host, part
"""

_DOCUMENTS = """
SELECT document_hash, list_sort(list(DISTINCT host))[1:8] AS hosts
FROM read_parquet($shards) WHERE document_hash IS NOT NULL
GROUP BY document_hash HAVING count(DISTINCT host) > 1
ORDER BY document_hash
"""
"""Hosts of documents that several have: as many of them as `store.revision` asks."""

_COUNTS = {
    "host": "string",
    "site_pages": "int64",
    "part": "int64",
    "pages": "int64",
    "sample": "string",
}


def connect(folder: Folder, limits: Limits, database: Path | None = None) -> Any:
    """Return a connection of DuckDB that takes no more memory than it may.

    Its tables are in a file, if one is named, and otherwise in memory.
    """
    try:
        import duckdb
    except ImportError as error:
        raise BatchError(
            f"a batch sorts and counts with DuckDB, which is missing ({error}): "
            'pip install "websegment-scrapy[batch]"'
        ) from None
    settings: dict[str, Any] = {
        "memory_limit": f"{limits.memory}MiB",
        "threads": limits.workers,
        "temp_directory": str(folder.work / f"duckdb-{os.getpid()}"),
        "preserve_insertion_order": False,
    }
    return duckdb.connect(database or ":memory:", config=settings)


def copy_rows(found: Any, path: Path, columns: Any, metadata: dict[str, str] | None = None) -> int:
    """Write the answer to a query as Parquet, in groups of one size: the same bytes every time."""
    writer = parquet()
    import pyarrow as pa

    count = 0
    waiting: list[Any] = []
    with writer.ParquetWriter(path, schema(columns, metadata), compression="zstd") as out:

        def write(*, all_of_it: bool) -> None:
            nonlocal waiting
            table = pa.Table.from_batches(waiting).cast(out.schema)
            whole = len(table) if all_of_it else len(table) // ROWS * ROWS
            for start in range(0, whole, ROWS):
                out.write_table(table.slice(start, min(ROWS, whole - start)), row_group_size=ROWS)
            waiting = table.slice(whole).to_batches()

        for batch in found.to_arrow_reader(ROWS):
            waiting.append(batch)
            count += len(batch)
            if sum(map(len, waiting)) >= ROWS:
                write(all_of_it=False)
        if waiting:
            write(all_of_it=True)
    return count


def count_sites(folder: Folder, limits: Limits) -> None:
    """Write what each site repeats, and which documents several sites have."""
    state = {"shards": folder.state_of(folder.analysed)}
    shards = [str(path) for path in folder.shards(folder.analysed)]
    steps = (
        (folder.documents, _DOCUMENTS, {"document_hash": "binary", "hosts": "strings"}),
        (folder.sites, _SITES, _COUNTS),
    )
    with connect(folder, limits) as connection:
        for path, query, columns in steps:
            found = connection.sql(query, params={"shards": shards})
            with folder.whole(path) as part:
                copy_rows(found, part, columns, state)


class Verdicts:
    """What is known of the sites of a collection, looked up shard by shard."""

    def __init__(self, folder: Folder, options: Options, limits: Limits) -> None:
        self._folder = folder
        self._options = options
        self._connection = connect(folder, limits)
        self._known: dict[str, tuple[int, SiteVerdict | None]] = {}

    def __enter__(self) -> Verdicts:
        return self

    def __exit__(self, *error: object) -> None:
        self._connection.close()

    def of(self, hosts: Sequence[str]) -> dict[str, tuple[int, SiteVerdict | None]]:
        """Return for hosts how many of their pages were counted, and the verdict on them."""
        if len(self._known) + len(hosts) > REMEMBERED:
            self._known = {}
        asked = [host for host in hosts if host not in self._known]
        if asked:
            self._known |= dict.fromkeys(asked, (0, None)) | self._read(asked)
        return {host: self._known[host] for host in hosts}

    def _read(self, hosts: Sequence[str]) -> dict[str, tuple[int, SiteVerdict | None]]:
        options = self._options
        found: dict[str, tuple[int, SiteVerdict | None]] = {}
        for host, pages, parts, counts in self._counts(hosts):
            least = min(needed_pages(pages, options.site_threshold))
            keep = counts >= least
            verdict = site_verdict(
                parts[keep],
                counts[keep],
                pages,
                theta=options.site_threshold,
                min_pages=options.site_min_pages,
            )
            found[host] = pages, verdict
        return found

    def _counts(
        self, hosts: Sequence[str]
    ) -> Iterator[tuple[str, int, np.ndarray[Any, Any], np.ndarray[Any, Any]]]:
        query = (
            "SELECT host, site_pages, part, pages FROM read_parquet($sites) "
            "WHERE host IN (SELECT unnest($hosts)) ORDER BY host, part"
        )
        wanted = {"sites": str(self._folder.sites), "hosts": list(hosts)}
        table = self._connection.execute(query, wanted).fetchnumpy()
        names = np.asarray(table["host"])
        bounds = [0, *(np.flatnonzero(names[1:] != names[:-1]) + 1).tolist(), len(names)]
        for start, end in pairwise(bounds if len(names) else []):
            part = np.asarray(table["part"][start:end], dtype=np.int64)
            counts = np.asarray(table["pages"][start:end], dtype=np.int64)
            yield str(names[start]), int(table["site_pages"][start]), part, counts

    def hosts_of(self, documents: Sequence[bytes]) -> dict[bytes, list[str]]:
        """Return the hosts of those documents that several have."""
        query = (
            "SELECT document_hash, hosts FROM read_parquet($path) "
            "WHERE document_hash IN (SELECT unnest($documents))"
        )
        wanted = {"path": str(self._folder.documents), "documents": list(documents)}
        return {
            bytes(key): list(hosts)
            for key, hosts in self._connection.execute(query, wanted).fetchall()
        }
