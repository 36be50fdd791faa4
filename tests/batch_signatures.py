"""What the near-duplicates of millions of pages cost: ``python -m tests.batch_signatures 100000``.

Signatures are made up: a quarter of the pages are copies of another, of a similarity between 0.5
and 1 in their 128 values. Rows are written as a batch writes them, and its last step is run on
them.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from websegment_scrapy.batch.clusters import find_clusters
from websegment_scrapy.batch.folder import Folder
from websegment_scrapy.batch.options import Limits, Options

SHARD = 100_000
SIZE = 128
COPIES = 0.25


def binaries(values: np.ndarray[Any, Any]) -> pa.Array:
    """Rows of numbers as values of bytes."""
    width = values.shape[1] * values.itemsize
    offsets = np.arange(len(values) + 1, dtype=np.int32) * width
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(values))]
    return pa.Array.from_buffers(pa.binary(), len(values), buffers)


def write(folder: Folder, count: int, seed: int) -> None:
    """Write the rows, shard by shard; copies are of pages of the same shard."""
    for shard, start in enumerate(range(0, count, SHARD)):
        rng = np.random.default_rng((seed, shard))
        size = min(SHARD, count - start)
        values = rng.integers(0, 2**32, (size, SIZE), dtype=np.uint32)
        copies = np.flatnonzero(rng.random(size) < COPIES)
        copies = copies[copies > 0]
        originals = (rng.random(len(copies)) * copies).astype(np.int64)
        for copy, original, kept in zip(
            copies, originals, rng.uniform(0.5, 1, len(copies)), strict=True
        ):
            keep = rng.random(SIZE) < kept
            values[copy, keep] = values[original, keep]
        numbers = np.arange(start, start + size)
        urls = pa.array(
            [f"https://host{number % 9973}.example/{number:x}" for number in numbers.tolist()]
        )
        hashes = rng.integers(0, 2**63, (size, 2), dtype=np.uint64)
        table = pa.table(
            {
                "input": pa.array([f"{shard:05d}"] * size),
                "record": numbers - start,
                "canonical_url": urls,
                "url_key": binaries(rng.integers(0, 2**63, (size, 2), dtype=np.uint64)),
                "date": pa.array(["2024-01-02T03:04:05Z"] * size),
                "outcome": pa.array(["page"] * size),
                "words": pa.array(np.full(size, 300)),
                "content_hash": binaries(hashes),
                "signature": binaries(values),
            }
        )
        pq.write_table(table, folder.shard(folder.pages, shard, 0), compression="zstd")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.batch_signatures", description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--folder", type=Path, help="keep the rows here, and take them from here")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Folder(args.folder or Path(temporary))
        with folder.locked():
            if len(folder.shards(folder.pages)) * SHARD < args.count:
                write(folder, args.count, args.seed)
            before = resource.getrusage(resource.RUSAGE_SELF)
            began = time.monotonic()
            found = find_clusters(folder, Options(), Limits(workers=args.workers))
            seconds = time.monotonic() - began
            after = resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"{args.count}: {seconds:.1f} s, {cpu:.1f} s of CPU, {after.ru_maxrss / 2**20:.2f} GiB")
    print(asdict(found), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
