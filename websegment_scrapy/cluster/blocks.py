"""Blocks of datatrove's pipelines: archives to documents, their analysis, and the steps of a batch.

`ArchiveReader` and `PageAnalysis` go with any other blocks of datatrove. The others make the folder
of a batch (`batch.folder`), step by step: `ShardWriter`, `SiteCounts`, `PageJudgement`, and those
of `minhash`. datatrove's own reader of WARC files leaves out what it cannot decode: hence ours.
"""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any

from websegment_scrapy.archives.reading import Archive, read_records
from websegment_scrapy.batch.analysing import is_full, submit, write_shard
from websegment_scrapy.batch.folder import Folder
from websegment_scrapy.batch.judging import judge_shards
from websegment_scrapy.batch.options import Limits, Options
from websegment_scrapy.batch.rows import row_of
from websegment_scrapy.batch.sites import Verdicts, count_sites
from websegment_scrapy.cluster.engine import Document, PipelineStep
from websegment_scrapy.exceptions import AnalysisError
from websegment_scrapy.pool import AnalysisPool

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from concurrent.futures import Future

__all__ = ["ArchiveReader", "PageAnalysis", "PageJudgement", "ShardWriter", "SiteCounts", "opened"]

WINDOW = 4
"""Pages that are under way or waiting, in a task."""


class ArchiveReader(PipelineStep):  # type: ignore[misc]
    """Yield a document for every record of this task's archives.

    Its ``metadata`` has ``archive``, the number of the archive, and ``record``, with the bytes of a
    page (`archives.reading.Record`); its text is empty. Statistics count records by what they are.

    Parameters
    ----------
    archives
        Path and member of each (`archives.reading.Archive`); a task reads every n-th.
    """

    type = "📖 - READER"
    name = "websegment: archives"

    def __init__(self, archives: Sequence[tuple[str, str | None]]) -> None:
        super().__init__()
        self.archives = list(archives)

    def run(self, data: Any = None, rank: int = 0, world_size: int = 1) -> Iterator[Any]:
        """Read every n-th archive."""
        if data:
            yield from data
        for number in range(rank, len(self.archives), world_size):
            path, member = self.archives[number]
            archive = Archive(Path(path), member)
            for record in read_records(archive):
                self.stat_update("records", record.skipped or record.error or "pages")
                name = f"{archive.name}#{record.number}"
                yield Document("", name, metadata={"archive": number, "record": record})


class PageAnalysis(PipelineStep):  # type: ignore[misc]
    """Give documents of `ArchiveReader` their main text, and ``metadata["row"]`` all that is known.

    Pages are analysed in a process of limited time and memory. Records that are no pages, or cannot
    be analysed, pass with an empty text and their reason in the row (`batch.rows`).
    """

    type = "🔎 - ANALYSIS"
    name = "websegment: main text and signature"

    def __init__(self, options: Options | None = None, limits: Limits | None = None) -> None:
        super().__init__()
        self.options = options or Options()
        self.limits = limits or Limits()

    def run(self, data: Iterable[Any], rank: int = 0, world_size: int = 1) -> Iterator[Any]:
        """Analyse pages, and pass documents on in their order."""
        limits = self.limits
        waiting: deque[tuple[Any, Future[Any] | None]] = deque()
        with AnalysisPool(1, timeout=limits.page_timeout, memory=limits.page_memory) as pool:
            analyse = submit(pool, self.options)
            for document in data:
                record = document.metadata["record"]
                waiting.append((document, analyse(record) if record.is_page else None))
                if len(waiting) > WINDOW:
                    yield self._done(*waiting.popleft())
            while waiting:
                yield self._done(*waiting.popleft())

    def _done(self, document: Any, future: Future[Any] | None) -> Any:
        found = None
        if future is not None:
            try:
                found = future.result()
            except AnalysisError as error:
                found = error
        record = document.metadata.pop("record")
        archive = document.id.rpartition("#")[0]
        row = row_of(archive, record, found, self.options)
        document.metadata |= {"row": row, "is_page": record.is_page}
        document.text = row["main_text"] or ""
        self.stat_update(row["outcome"])
        return document


class ShardWriter(PipelineStep):  # type: ignore[misc]
    """Write the rows of `PageAnalysis` as the shards of a batch: the same files, the same bytes."""

    type = "💽 - WRITER"
    name = "websegment: shards"

    def __init__(self, folder: str, archives: int, options: Options | None = None) -> None:
        super().__init__()
        self.folder = folder
        self.archives = archives
        self.options = options or Options()

    def run(self, data: Iterable[Any], rank: int = 0, world_size: int = 1) -> Iterator[Any]:
        """Write this task's archives, and pass the documents on."""
        folder = Folder(Path(self.folder))
        left = iter(range(rank, self.archives, world_size))
        archive, shard, pages = next(left, None), 0, 0
        rows: list[dict[str, Any]] = []

        def write(following: tuple[int, int] | None) -> None:
            assert archive is not None
            path = folder.shard(folder.analysed, archive, shard)
            write_shard(folder, path, rows, following)

        for document in data:
            row = document.metadata["row"]
            while archive is not None and archive != document.metadata["archive"]:
                write(None)
                archive, shard, pages, rows = next(left, None), 0, 0, []
            if is_full(pages, len(rows), self.options):
                write((row["record"], row["offset"]))
                shard, pages, rows = shard + 1, 0, []
            rows.append(row)
            pages += document.metadata["is_page"]
            yield document
        while archive is not None:
            write(None)
            archive, shard, pages, rows = next(left, None), 0, 0, []


class SiteCounts(PipelineStep):  # type: ignore[misc]
    """Count what sites repeat, in one task (`batch.sites`)."""

    type = "🔢 - COUNTS"
    name = "websegment: what sites repeat"

    def __init__(self, folder: str, limits: Limits | None = None) -> None:
        super().__init__()
        self.folder = folder
        self.limits = limits or Limits()

    def run(self, data: Any = None, rank: int = 0, world_size: int = 1) -> None:
        """Count; other tasks than the first have nothing to do."""
        if rank == 0:
            count_sites(opened(self.folder), self.limits)


class PageJudgement(PipelineStep):  # type: ignore[misc]
    """Judge the shards' pages by what their sites repeat (`batch.judging`)."""

    type = "⚖️ - JUDGEMENT"
    name = "websegment: pages of known sites"

    def __init__(
        self, folder: str, options: Options | None = None, limits: Limits | None = None
    ) -> None:
        super().__init__()
        self.folder = folder
        self.options = options or Options()
        self.limits = limits or Limits()

    def run(self, data: Any = None, rank: int = 0, world_size: int = 1) -> None:
        """Judge every n-th shard."""
        folder, limits = opened(self.folder), self.limits
        state = folder.state_of(folder.analysed)
        with (
            AnalysisPool(1, timeout=limits.page_timeout, memory=limits.page_memory) as pool,
            Verdicts(folder, self.options, limits) as verdicts,
        ):
            own = folder.shards(folder.analysed)[rank::world_size]
            for _, error in judge_shards(folder, own, state, self.options, verdicts, pool):
                if error is not None:
                    raise error


def opened(path: str) -> Folder:
    """Return a batch's folder that tasks work in: nobody but them, which the starter sees to."""
    folder = Folder(Path(path))
    folder.make()
    return folder
