"""Near-duplicates of a batch's pages by datatrove's steps of MinHash, verified at the end.

The signatures are the store's, in the files of datatrove's first step; its second step sorts them
into buckets; what it would join at the end without a look is compared here, and placed by the rules
of the store.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from websegment_scrapy.batch.clusters import find_clusters
from websegment_scrapy.batch.folder import Folder
from websegment_scrapy.batch.options import Limits, Options
from websegment_scrapy.batch.rows import parquet
from websegment_scrapy.batch.run import summarise
from websegment_scrapy.cluster.blocks import opened
from websegment_scrapy.cluster.engine import (
    Document,
    HashConfig,
    MinhashConfig,
    MinhashDedupBuckets,
    MinhashDedupSignature,
    PipelineStep,
    get_datafolder,
)
from websegment_scrapy.dedup.shingles import shingle_hashes
from websegment_scrapy.dedup.signature import RECIPES, minhash_values
from websegment_scrapy.page.words import words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

__all__ = ["PageReader", "StoreSignatures", "VerifiedClusters", "bucket_block", "minhash_config"]

_PAIR = np.dtype([("file", "<u4"), ("document", "<u4")])
"""Of datatrove's ``.dups`` files: two of them are a pair."""


class PageReader(PipelineStep):  # type: ignore[misc]
    """Yield a document for every page of this task's shards of the results."""

    type = "📖 - READER"
    name = "websegment: pages"

    def __init__(self, folder: str) -> None:
        super().__init__()
        self.folder = folder

    def run(self, data: Any = None, rank: int = 0, world_size: int = 1) -> Iterator[Any]:
        """Read every n-th shard."""
        folder = Folder(Path(self.folder))
        columns = ["input", "record", "url", "outcome", "main_text"]
        for path in folder.shards(folder.pages)[rank::world_size]:
            for row in parquet().read_table(path, columns=columns).to_pylist():
                if row["outcome"] == "page":
                    name = f"{row['input']}#{row['record']}"
                    yield Document(row["main_text"], name, metadata={"url": row["url"]})


def minhash_config() -> Any:
    """Return what datatrove has to know of our signatures: 16 bands of 8 values of 32 bits."""
    recipe = RECIPES["minhash"]
    return MinhashConfig(
        n_grams=recipe.width,
        num_buckets=recipe.bands,
        hashes_per_bucket=recipe.rows,
        seed=recipe.seed,
        hash_config=HashConfig(precision=32),
    )


class StoreSignatures(MinhashDedupSignature):  # type: ignore[misc]
    """Write the store's own signatures as datatrove's first step of MinHash writes its own."""

    name = "websegment: signatures (MinHash stage 1)"

    def __init__(self, output_folder: str) -> None:
        PipelineStep.__init__(self)  # its own would load a tokenizer of words, which is ours here
        self.output_folder = get_datafolder(output_folder)
        self.config = minhash_config()
        self.num_hashes = self.config.num_buckets * self.config.hashes_per_bucket
        self.skip_existing_sigs = False

    def get_shingles(self, text: str) -> NDArray[np.uint64]:
        """Return the shingles of a text, as signatures have them."""
        return shingle_hashes(words(text), RECIPES["minhash"].width)

    def get_signature(self, shingles: NDArray[np.uint64]) -> list[list[int]]:
        """Return the values of a signature, band by band."""
        recipe = RECIPES["minhash"]
        values = minhash_values(shingles, recipe).reshape(recipe.bands, recipe.rows)
        found: list[list[int]] = values.tolist()
        return found


def bucket_block(signatures: str, pairs: str) -> Any:
    """Return datatrove's own second step of MinHash, for our signatures."""
    return MinhashDedupBuckets(signatures, pairs, config=minhash_config())


class VerifiedClusters(PipelineStep):  # type: ignore[misc]
    """Verify what the buckets have found, and write clusters and summary, in one task.

    Only pages that stand in a bucket with another are compared. What comes out is what
    `batch.clusters` finds by itself.

    Parameters
    ----------
    folder, options, limits
        Those of the batch.
    pairs
        Where ``MinhashDedupBuckets`` has written.
    tasks
        Of the step that wrote the signatures: it says which page is which.
    """

    type = "🫂 - DEDUP"
    name = "websegment: verified clusters"

    def __init__(
        self,
        folder: str,
        pairs: str,
        tasks: int,
        options: Options | None = None,
        limits: Limits | None = None,
    ) -> None:
        super().__init__()
        self.folder = folder
        self.pairs = pairs
        self.tasks = tasks
        self.options = options or Options()
        self.limits = limits or Limits()

    def run(self, data: Any = None, rank: int = 0, world_size: int = 1) -> None:
        """Verify; other tasks than the first have nothing to do."""
        if rank == 0:
            folder = opened(self.folder)
            rows = self._rows(folder)
            none = np.empty(0, dtype=np.int64)
            found = find_clusters(
                folder, self.options, self.limits, lambda path: rows.get(Path(path).name, none)
            )
            folder.finish(summarise(folder, found, {}, self.limits))

    def _rows(self, folder: Folder) -> dict[str, NDArray[np.int64]]:
        """Return of each shard the rows whose pages stand in a bucket with another."""
        pieces = [
            np.frombuffer(path.read_bytes(), dtype=_PAIR)
            for path in sorted(Path(self.pairs).glob("*.dups"))
        ]
        named = np.unique(np.concatenate(pieces)) if pieces else np.empty(0, dtype=_PAIR)
        found: dict[str, NDArray[np.int64]] = {}
        for rank in range(self.tasks):
            documents = named["document"][named["file"] == rank].astype(np.int64)
            before = 0
            for path in folder.shards(folder.pages)[rank :: self.tasks]:
                outcomes = parquet().read_table(path, columns=["outcome"])["outcome"].to_pylist()
                pages = np.flatnonzero([outcome == "page" for outcome in outcomes])
                own = documents[(documents >= before) & (documents < before + len(pages))] - before
                found[path.name] = pages[own]
                before += len(pages)
        return found
