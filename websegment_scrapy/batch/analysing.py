"""First step: every record of every archive becomes a row, in shards that are whole or not there.

A shard ends after so many pages, so where it begins follows from its archive alone: whoever writes
it, and when, it has the same bytes. It says in its metadata where the next one begins, so that
nothing is read twice after the batch was killed.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from websegment_scrapy.archives.reading import read_records
from websegment_scrapy.batch.looking import look
from websegment_scrapy.batch.rows import ANALYSED, parquet, row_of, write_rows
from websegment_scrapy.exceptions import AnalysisError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Future
    from pathlib import Path

    from websegment_scrapy.archives.reading import Archive, Record
    from websegment_scrapy.batch.folder import Folder
    from websegment_scrapy.batch.options import Options
    from websegment_scrapy.pool import AnalysisPool

    _Waiting = tuple[Record, Future[Any] | None, int]
    """A record, what is found of it, and how many bytes its page has."""

__all__ = ["Shards", "is_full", "submit", "write_shard"]

RECORDS_PER_PAGE = 20
"""A shard has no more records than so many times its pages: an archive may have none."""

_NEXT = b"next"
"""Key of the metadata: number and offset of the record that the next shard begins with, or none."""

BYTES_AHEAD = 64 * 2**20
"""Of pages that are under way or waiting; one alone may have as many."""

Place = tuple[int, int]


class _Close(NamedTuple):
    """A shard is complete; the next one begins there."""

    following: Place | None


class Shards:
    """The shards of one archive: those that are not there yet are made."""

    def __init__(
        self,
        folder: Folder,
        number: int,
        archive: Archive,
        options: Options,
        window: int,
        submit: Callable[[Record], Future[Any]],
        progress: Callable[[int], None] = lambda _: None,
    ) -> None:
        self.failures: dict[str, str] = {}
        self._folder = folder
        self._number = number
        self._archive = archive
        self._options = options
        self._window = window
        self._submit = submit
        self._progress = progress

    def make(self) -> None:
        """Make all shards that are missing."""
        shard, place = 0, (0, 0)
        while True:
            path = self._path(shard)
            if path.is_file():
                following = _following(path)
            else:
                shard, following = self._make_from(shard, place)
            if following is None:
                return
            shard, place = shard + 1, following

    def _path(self, shard: int) -> Path:
        return self._folder.shard(self._folder.analysed, self._number, shard)

    def _make_from(self, shard: int, place: Place) -> tuple[int, Place | None]:
        """Make shards until one is there; return the last that was made, and what follows."""
        rows: list[dict[str, Any]] = []
        for each in self._in_order(self._events(place)):
            if not isinstance(each, _Close):
                rows.append(each)
                continue
            self._write(self._path(shard), rows, each.following)
            self._progress(len(rows))
            rows = []
            if each.following is None or self._path(shard + 1).is_file():
                return shard, each.following
            shard += 1
        raise AssertionError("the events of an archive end with the end of a shard")

    def _write(self, path: Path, rows: list[dict[str, Any]], following: Place | None) -> None:
        """Write a shard; one that cannot be written is noted, and the others go on."""
        try:
            write_shard(self._folder, path, rows, following)
        except (OSError, ValueError) as error:  # pyarrow's errors are ValueErrors
            self.failures[path.name] = f"it cannot be written: {error}"

    def _events(self, place: Place) -> Iterator[Record | _Close]:
        """Yield the records of the archive with the ends of the shards between them."""
        pages = records = 0
        for record in read_records(self._archive, place):
            if is_full(pages, records, self._options):
                yield _Close((record.number, record.offset))
                pages = records = 0
            records += 1
            pages += record.is_page
            yield record
        yield _Close(None)

    def _in_order(self, events: Iterable[Record | _Close]) -> Iterator[dict[str, Any] | _Close]:
        """Have pages analysed, some at a time, and yield the rows of all records in their order."""
        waiting: deque[_Waiting | _Close] = deque()
        ahead = 0
        for event in events:
            if isinstance(event, _Close):
                waiting.append(event)
            else:
                future = self._submit(event) if event.is_page else None
                waiting.append((replace(event, body=b""), future, len(event.body)))
                ahead += len(event.body)
            while waiting and (
                len(waiting) > self._window or ahead > BYTES_AHEAD or _is_ready(waiting[0])
            ):
                first = waiting.popleft()
                ahead -= 0 if isinstance(first, _Close) else first[2]
                yield self._row(first)
        while waiting:
            yield self._row(waiting.popleft())

    def _row(self, each: _Waiting | _Close) -> dict[str, Any] | _Close:
        if isinstance(each, _Close):
            return each
        record, future, _ = each
        found = None
        if future is not None:
            try:
                found = future.result()
            except AnalysisError as error:
                found = error
        return row_of(self._archive.name, record, found, self._options)


def is_full(pages: int, records: int, options: Options) -> bool:
    """Say whether a shard of so many pages and records ends."""
    return pages >= options.shard_pages or records >= RECORDS_PER_PAGE * options.shard_pages


def write_shard(
    folder: Folder, path: Path, rows: list[dict[str, Any]], following: Place | None
) -> None:
    """Write a shard that was analysed, and where the next one begins."""
    said = "" if following is None else f"{following[0]} {following[1]}"
    with folder.whole(path) as part:
        write_rows(part, rows, ANALYSED, {"next": said})


def submit(pool: AnalysisPool, options: Options) -> Callable[[Record], Future[Any]]:
    """Return what has a page analysed in a pool."""

    def analyse(record: Record) -> Future[Any]:
        return pool.submit(
            look,
            record.body,
            segments=options.segments,
            url=record.url,
            content_type=record.content_type,
            engine=options.engine,
            main_text=options.main_text,
            signature=options.signature,
            parts=options.site_templates,
        )

    return analyse


def _is_ready(each: _Waiting | _Close) -> bool:
    return isinstance(each, _Close) or each[1] is None or each[1].done()


def _following(path: Path) -> Place | None:
    """Return where the shard after one begins."""
    said = parquet().read_schema(path).metadata[_NEXT].decode()
    if not said:
        return None
    number, offset = said.split()
    return int(number), int(offset)
