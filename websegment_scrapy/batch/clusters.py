"""Fourth step: near-duplicates of the whole collection, by the rules of the store.

Pages are numbered in the order in which the store settles the pages of a crawl, the shortest URL
first (`store.settling`); of several captures of a URL the last one that has a text counts. Among
pages that are connected by similarity (`components`) each that is similar to no representative
before it becomes one, the others join the most similar one (`dedup.stars.homes`). The store leaves
components of more than `MAX_COMPONENT` pages as they came; here they are placed like the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from websegment_scrapy.batch.components import components
from websegment_scrapy.batch.rows import parquet
from websegment_scrapy.batch.sites import ROWS, connect, copy_rows
from websegment_scrapy.batch.sketches import Sketches
from websegment_scrapy.dedup.stars import homes, repeated
from websegment_scrapy.store.settling import MAX_COMPONENT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from websegment_scrapy.batch.folder import Folder
    from websegment_scrapy.batch.options import Limits, Options

    Sharing = Callable[[str], NDArray[np.int64]]

__all__ = ["CLUSTERS", "Found", "find_clusters", "place_all"]

CLUSTERS = {
    "id": "int64",
    "url": "string",
    "input": "string",
    "record": "int64",
    "words": "int64",
    "decision": "string",
    "cluster": "int64",
    "representative": "string",
    "duplicate_of": "string",
    "similarity": "float64",
}
"""The columns of ``clusters.parquet``: every page that has a text, once."""

_CURRENT = """
CREATE TABLE current AS
WITH captures AS (
    SELECT url_key, filename, file_row_number, outcome, date, input, record
    FROM read_parquet($shards, filename = true, file_row_number = true)
    WHERE outcome = 'page'
), last AS (
    SELECT filename, file_row_number, row_number() OVER (
        PARTITION BY url_key ORDER BY date DESC, input DESC, record DESC) AS place
    FROM captures
), pages AS (
    SELECT rows.filename, rows.file_row_number, canonical_url AS url, input, record, words,
           content_hash
    FROM read_parquet($shards, filename = true, file_row_number = true) AS rows
    JOIN last USING (filename, file_row_number)
    WHERE last.place = 1
)
SELECT row_number() OVER (ORDER BY length(url), url) - 1 AS id, * FROM pages
"""

_RESULT = """
SELECT page.id, page.url, page.input, page.record, page.words,
       CASE WHEN place.cluster = page.id THEN 'new' ELSE 'duplicate' END AS decision,
       place.cluster, representative.url AS representative,
       target.url AS duplicate_of, place.similarity
FROM current AS page
JOIN places AS place ON place.id = page.id
JOIN current AS representative ON representative.id = place.cluster
LEFT JOIN current AS target ON target.id = place.target
ORDER BY page.id
"""


@dataclass(frozen=True, slots=True)
class Found:
    """What the search for near-duplicates came to."""

    pages: int
    clusters: int
    duplicates: int
    verified: int
    crowded_keys: int


def find_clusters(
    folder: Folder, options: Options, limits: Limits, sharing: Sharing | None = None
) -> Found:
    """Write ``clusters.parquet``.

    Parameters
    ----------
    folder, options, limits
        Those of the batch.
    sharing
        Tells which pages have a key in common with another, where that is known already: of each
        file of ``pages/`` some rows. Only those are compared then.
    """
    shards = [str(path) for path in folder.shards(folder.pages)]
    database = folder.work / "clusters.duckdb"
    with connect(folder, limits, database) as connection:
        connection.execute(_CURRENT, {"shards": shards})
        count = int(connection.execute("SELECT count(*) FROM current").fetchall()[0][0])
        sketches = Sketches(folder.work / "signatures", options.recipe, count)
        hashes = np.zeros((count, 2), dtype=np.uint64)
        _read(connection, sketches, hashes)
        among = None if sharing is None else _among(connection, sharing, count)
        found = components(sketches, options.threshold, among)
        home, target, similarity = place_all(
            sketches, found.labels, found.first, hashes, options.threshold
        )
        _fill_places(connection, home, target, similarity)
        answer = connection.sql(_RESULT)
        with folder.whole(folder.clusters) as part:
            copy_rows(answer, part, CLUSTERS, {"shards": folder.state_of(folder.pages)})
    duplicates = int((home != np.arange(count)).sum())
    return Found(count, count - duplicates, duplicates, found.verified, found.crowded_keys)


def _read(connection: Any, sketches: Sketches, hashes: NDArray[np.uint64]) -> None:
    """Read the signatures and content hashes of all pages that count, to their numbers."""
    for path, rows, ids in _by_file(connection):
        table = parquet().read_table(path, columns=["signature", "content_hash"]).take(rows)
        sketches.put(ids, table["signature"].to_pylist())
        data = b"".join(table["content_hash"].to_pylist())
        hashes[ids] = np.frombuffer(data, dtype="<u8").reshape(-1, 2)


def _among(connection: Any, sharing: Sharing, count: int) -> NDArray[np.bool_]:
    """Return which pages have a key in common with another."""
    found = np.zeros(count, dtype=bool)
    for path, rows, ids in _by_file(connection):
        found[ids[np.isin(rows, sharing(path))]] = True
    return found


def _by_file(connection: Any) -> Iterator[tuple[str, NDArray[np.int64], NDArray[np.int64]]]:
    """Yield each file, some of its rows, and the numbers of the pages in these."""
    query = "SELECT filename, file_row_number, id FROM current ORDER BY filename, file_row_number"
    for batch in connection.sql(query).to_arrow_reader(ROWS):
        names = batch["filename"].dictionary_encode()
        which = np.asarray(names.indices)
        rows, ids = (np.asarray(batch[name]) for name in ("file_row_number", "id"))
        for number, name in enumerate(names.dictionary.to_pylist()):
            chosen = which == number
            yield name, rows[chosen], ids[chosen]


def _fill_places(
    connection: Any,
    home: NDArray[np.int64],
    target: NDArray[np.int64],
    similarity: NDArray[np.float64],
) -> None:
    """Hand where pages belong to DuckDB."""
    import pyarrow as pa

    connection.execute(
        "CREATE TABLE places (id BIGINT, cluster BIGINT, target BIGINT, similarity DOUBLE)"
    )
    for start in range(0, len(home), ROWS):
        piece = slice(start, start + ROWS)
        none = target[piece] < 0
        some = pa.table(
            {
                "id": np.arange(start, start + len(none)),
                "cluster": home[piece],
                "target": pa.array(target[piece], mask=none),
                "similarity": pa.array(similarity[piece], mask=none),
            }
        )
        connection.register("piece", some)
        connection.execute("INSERT INTO places SELECT * FROM piece")
        connection.unregister("piece")


def place_all(
    sketches: Sketches,
    labels: NDArray[np.int64],
    first: NDArray[np.int64],
    hashes: NDArray[np.uint64],
    threshold: float,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return each page's representative, the page that it repeats (-1: none), how similar that is.

    Parameters
    ----------
    sketches
        The signatures.
    labels
        Which pages are connected.
    first
        The first page with an equal signature: pages of equal ones are placed alike.
    hashes
        Of the words of each page, as two numbers.
    threshold
        From which similarity on two pages are near-duplicates.
    """
    count = len(labels)
    home = np.arange(count)
    target = np.full(count, -1, dtype=np.int64)
    value = np.zeros(count)
    distinct = np.flatnonzero(first == np.arange(count))
    order = distinct[np.argsort(labels[distinct], kind="stable")]
    starts = np.flatnonzero(np.diff(labels[order], prepend=-1)) if len(order) else order
    sizes = np.diff(np.append(starts, len(order)))
    pairs = starts[sizes == 2]
    ones, others = order[pairs], order[pairs + 1]
    home[others] = target[others] = ones
    value[others] = sketches.similar(others, ones)
    for start, size in zip(starts[sizes > 2].tolist(), sizes[sizes > 2].tolist(), strict=True):
        _place(sketches, order[start : start + size], threshold, home, target, value)
    _place_equal(first, hashes, home, target, value)
    return home, target, value


def _place(
    sketches: Sketches,
    members: NDArray[np.int64],
    threshold: float,
    home: NDArray[np.int64],
    target: NDArray[np.int64],
    value: NDArray[np.float64],
) -> None:
    """Place the pages of a component of different signatures."""
    count = len(members)

    def similar(place: int) -> NDArray[np.float64]:
        return sketches.similar_to(int(members[place]), members)

    found, best = homes(count, similar, threshold)
    home[members] = members[found]
    others = np.flatnonzero(found != np.arange(count))
    if count > MAX_COMPONENT:
        target[members[others]] = members[found[others]]
        value[members[others]] = best[others]
        return
    for place in others.tolist():
        row = similar(place)
        chosen = repeated(place, found, row, np.zeros(count, dtype=bool), threshold)
        target[members[place]], value[members[place]] = members[chosen], row[chosen]


def _place_equal(
    first: NDArray[np.int64],
    hashes: NDArray[np.uint64],
    home: NDArray[np.int64],
    target: NDArray[np.int64],
    value: NDArray[np.float64],
) -> None:
    """Place pages where the first of an equal signature is: each repeats the first of its words."""
    others = np.flatnonzero(first != np.arange(len(first)))
    home[others] = home[first[others]]
    target[others], value[others] = first[others], 1.0
    # Of equal signatures, but other words than the first: the first of the same words, if any.
    apart = others[(hashes[others] != hashes[first[others]]).any(axis=1)]
    earliest: dict[tuple[int, int, int], int] = {}
    for page in apart.tolist():
        key = (int(first[page]), int(hashes[page, 0]), int(hashes[page, 1]))
        if key in earliest:
            target[page] = earliest[key]
        else:
            earliest[key] = page
