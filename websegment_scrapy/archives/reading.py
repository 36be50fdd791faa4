"""WARC and WACZ files, record by record: every record comes out, with what it is or why it is none.

fastwarc finds the records; what it says of their content is not used (in fastwarc 2.0 a response
that is chunked and compressed swallows the record after it, and one that is not compressed as it
says ends the file). Where it cannot go on, because a gzip member is damaged or a record is not as
long as it says, reading goes on at the next place where a record begins, and the damage is counted.
"""

from __future__ import annotations

import zipfile
from collections import Counter
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path  # noqa: TC003 - a field of a data class
from typing import IO, TYPE_CHECKING, Any

from websegment_scrapy.archives.http import MAX_BYTES, BadResponse, read_response
from websegment_scrapy.archives.searching import ending_of, next_record
from websegment_scrapy.exceptions import AnalysisError, WebsegmentError
from websegment_scrapy.page.decode import format_of

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["SUFFIXES", "Archive", "Counts", "Record", "archives_in", "is_archive", "read_records"]

SUFFIXES = (".warc", ".warc.gz", ".wacz")

_KINDS = {2: "warcinfo", 16: "request", 32: "metadata", 64: "revisit"}
_KINDS |= {128: "conversion", 256: "continuation"}
_RESPONSE, _RESOURCE = 4, 8

_REACHING = ("cut off", "too large")
"""Errors of a last record that may have swallowed others, because it says that it is longer."""


@dataclass(frozen=True, slots=True)
class Archive:
    """One WARC file: a file by itself, or a member of a WACZ file."""

    path: Path
    member: str | None = None

    @property
    def name(self) -> str:
        """What it is called in messages and in results."""
        return str(self.path) if self.member is None else f"{self.path}!{self.member}"

    @contextmanager
    def opened(self) -> Iterator[IO[bytes]]:
        """Open it for reading."""
        with ExitStack() as stack:
            try:
                if self.member is None:
                    yield stack.enter_context(self.path.open("rb"))
                else:
                    whole = stack.enter_context(zipfile.ZipFile(self.path))
                    yield stack.enter_context(whole.open(self.member))
            except (OSError, zipfile.BadZipFile, RuntimeError, KeyError) as error:
                raise AnalysisError(f"{self.name} cannot be read: {error}") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One record of an archive.

    Attributes
    ----------
    number
        Its place among the records of its archive, from 0.
    offset
        Where it begins in its archive, or the gzip member that it is in.
    url, date
        ``WARC-Target-URI`` and ``WARC-Date`` as they are written there; empty where they are not.
    body, content_type, status
        Of a page: its bytes, the ``Content-Type`` and status of its response.
    skipped
        Why it is no page, if so: one of a few words.
    error, reason
        Why it should be one and cannot be read: one of a few words, and a sentence.
    """

    number: int = 0
    offset: int = 0
    url: str = ""
    date: str = ""
    body: bytes = b""
    content_type: str | None = None
    status: int | None = None
    skipped: str | None = None
    error: str | None = None
    reason: str = ""

    @property
    def is_page(self) -> bool:
        """Whether it is to be analysed."""
        return self.skipped is None and self.error is None

    @property
    def page(self) -> tuple[bytes, str, str | None]:
        """Its bytes, URL and content type."""
        return self.body, self.url, self.content_type


@dataclass(slots=True)
class Counts:
    """What became of the records of an archive: ``records`` is the sum of all others."""

    records: int = 0
    pages: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)

    def add(self, record: Record) -> None:
        """Count a record."""
        self.records += 1
        if record.skipped is not None:
            self.skipped[record.skipped] += 1
        elif record.error is not None:
            self.failed[record.error] += 1
        else:
            self.pages += 1

    def turn(self, reason: str) -> None:
        """Count a page as skipped: that it is none was seen when it was looked at."""
        self.pages -= 1
        self.skipped[reason] += 1

    def __str__(self) -> str:
        said = [f"{self.records} records", f"{self.pages} pages"]
        for what, reasons in (("skipped", self.skipped), ("failed", self.failed)):
            if reasons:
                each = ", ".join(f"{reason} {number}" for reason, number in sorted(reasons.items()))
                said.append(f"{reasons.total()} {what} ({each})")
        return f"{said[0]}: {', '.join(said[1:])}"


def is_archive(path: str | Path) -> bool:
    """Say whether a file is named like an archive."""
    return str(path).lower().endswith(SUFFIXES)


def archives_in(path: Path) -> list[Archive]:
    """Return the WARC files that a file is or has, in the order of their names."""
    if not path.name.lower().endswith(".wacz"):
        return [Archive(path)]
    try:
        with zipfile.ZipFile(path) as whole:
            names = sorted(name for name in whole.namelist() if name.endswith(SUFFIXES[:2]))
    except (OSError, zipfile.BadZipFile) as error:
        raise AnalysisError(f"{path} is no WACZ file that can be read: {error}") from None
    if not names:
        raise AnalysisError(f"{path} has no WARC file in it (archive/*.warc.gz)")
    return [Archive(path, name) for name in names]


def read_records(
    archive: Archive, start: tuple[int, int] = (0, 0), limit: int = MAX_BYTES
) -> Iterator[Record]:
    """Yield every record of an archive, in its order.

    Parameters
    ----------
    archive
        What to read.
    start
        ``number`` and ``offset`` of the record to begin with.
    limit
        Bytes of a record, and of its decoded body, above which it is not read.

    Raises
    ------
    AnalysisError
        If the archive cannot be opened.
    """
    number, offset = start
    with archive.opened() as stream:
        is_gzip = stream.read(2) == b"\x1f\x8b"
        if offset and not _begins(stream, offset):  # a gzip member of many records
            every = read_records(archive, limit=limit)
            yield from (each for each in every if each.number >= number)
            return
        for found in _read_on(stream, offset, limit, is_gzip=is_gzip):
            yield replace(found, number=number)
            number += 1


def _read_on(stream: IO[bytes], start: int, limit: int, *, is_gzip: bool) -> Iterator[Record]:
    """Read, and where that breaks off begin again at the next record.

    A record is handed out when it is known what follows it: where nothing can be read there, it may
    be this one that is not as long as it says.
    """
    place: int | None = start
    while place is not None:
        held: Record | None = None
        broken = ""
        try:
            for record in _iterate(stream, place, limit):
                if held is not None:
                    yield held
                held = record
        except OSError as error:
            broken = str(error) or "it cannot be read"
        if not broken and (held is None or held.error not in _REACHING):
            if held is not None:
                yield held
            return
        if held is None:
            reason = f"it is damaged: {broken}"
            yield Record(offset=place, error="damaged record", reason=reason)
            place = next_record(stream, place + 1, is_gzip=is_gzip)
            continue
        end = ending_of(stream, held.offset, is_gzip=is_gzip)
        if end.fits or not broken:
            yield held
        else:
            reason = "its Content-Length is wrong: no record follows it there"
            yield replace(held, body=b"", skipped=None, error="wrong length", reason=reason)
        if end.others:
            reason = f"{end.others} records after it, in one gzip member, cannot be reached"
            yield Record(offset=held.offset, error="damaged record", reason=reason)
        place = end.place
        if place is None:
            place = next_record(stream, held.offset + 1, is_gzip=is_gzip)
            if broken and end.fits and place is None:
                reason = f"what follows {held.url or 'the last record'} is damaged: {broken}"
                yield Record(offset=held.offset, error="damaged record", reason=reason)


def _begins(stream: IO[bytes], place: int) -> bool:
    """Say whether a record begins at a place."""
    stream.seek(place)
    try:
        return next(_iterator(stream), None) is not None
    except OSError:
        return False


def _iterator(stream: IO[bytes]) -> Iterator[Any]:
    try:
        from fastwarc.warc import ArchiveIterator
    except ImportError as error:
        raise WebsegmentError(
            f"archives are read by fastwarc, which is missing ({error}): "
            'pip install "websegment-scrapy[archives]"'
        ) from None
    return iter(ArchiveIterator(stream, parse_http=False))


def _iterate(stream: IO[bytes], place: int, limit: int) -> Iterator[Record]:
    """Yield records as fastwarc finds them."""
    stream.seek(place)
    for found in _iterator(stream):
        headers = found.headers
        url = (headers.get("WARC-Target-URI") or "").strip().strip("<>")
        date = headers.get("WARC-Date") or ""
        record = Record(offset=found.stream_pos, url=url, date=date)
        kind = int(found.record_type)
        if kind not in (_RESPONSE, _RESOURCE):
            yield replace(record, skipped=_KINDS.get(kind, "unknown type"))
            continue
        if found.content_length > limit:
            size = f"{found.content_length / 2**20:.0f} MiB, and {limit // 2**20} are read"
            yield replace(record, error="too large", reason=f"it has {size} at the most")
            continue
        block = _block(found)
        if len(block) < found.content_length:
            said = f"it breaks off after {len(block)} of {found.content_length} bytes"
            yield replace(record, error="cut off", reason=said)
        else:
            yield _looked_at(record, block, kind, headers.get("Content-Type"), limit)


def _block(found: Any) -> bytes:
    """Read what a record holds; less than it says where it breaks off."""
    block = bytearray()
    while len(block) < found.content_length:
        piece = found.reader.read(found.content_length - len(block))
        if not piece:
            break
        block += piece
    return bytes(block)


def _looked_at(
    record: Record, block: bytes, kind: int, content_type: str | None, limit: int
) -> Record:
    """Say what a complete record is."""
    status = None
    body = block
    if block[:5] == b"HTTP/" or (content_type or "").startswith("application/http"):
        try:
            response = read_response(block, limit)
        except BadResponse as error:
            return replace(record, error=error.kind, reason=str(error))
        status, content_type, body = response.status, response.content_type, response.body
    elif kind == _RESPONSE and not record.url.startswith(("http:", "https:")):
        return replace(record, skipped="not fetched by HTTP")
    if not record.url:
        return replace(record, error="no URL", reason="it has no WARC-Target-URI")
    if status is not None and not 200 <= status < 300:
        return replace(record, status=status, skipped=f"status {status}")
    if not body.strip():
        return replace(record, status=status, skipped="empty body")
    other = format_of(body, content_type)
    if other is not None:
        return replace(record, status=status, skipped=other.kind)
    return replace(record, body=body, content_type=content_type, status=status)
