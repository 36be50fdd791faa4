"""Where the next record of an archive begins, when the one before it does not lead there."""

from __future__ import annotations

import re
import zlib
from typing import IO, TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Ending", "ending_of", "next_record"]

PIECE = 2**20
"""Bytes that are searched at once."""

_GZIP = b"\x1f\x8b\x08"
_WARC = b"WARC/1."
_LOOKED_AT = 512
"""Compressed bytes by which it is seen that a member begins like a record."""

HEAD = 2**16
"""Bytes of a record in which its head must end; fastwarc takes half of it."""

_HEAD_END = re.compile(rb"\r?\n\r?\n")
_LENGTH = re.compile(rb"\ncontent-length:[ \t]*(\d{1,15})[ \t]*\r?\n", re.IGNORECASE)
_NEXT = b"\nWARC/1."
_LINES = (b"\r\n\r\n", b"\n\n")


class Ending(NamedTuple):
    """How a record ends: as long as it says or not, where, and the records in one gzip member."""

    fits: bool
    place: int | None
    others: int = 0


def ending_of(stream: IO[bytes], place: int, *, is_gzip: bool) -> Ending:
    """Look how the record ends that begins at a place."""
    stream.seek(place)
    if not is_gzip:
        head = stream.read(HEAD)
        length = _length_of(head)
        if length is None:
            return Ending(fits=False, place=None)
        stream.seek(place + length)
        fits = stream.read(4).startswith(_LINES)
        return Ending(fits, place + length + 4 if fits else None)
    head = tail = b""
    size = others = 0
    inflater = zlib.decompressobj(31)
    read = 0
    try:
        for piece in _pieces(stream):
            read += len(piece)
            while piece and not inflater.eof:
                data = inflater.decompress(piece, PIECE)
                piece = inflater.unconsumed_tail
                size += len(data)
                head += data[: max(HEAD - len(head), 0)]
                others += (tail + data).count(_NEXT)
                tail = data[-(len(_NEXT) - 1) :]
            if inflater.eof:
                break
    except zlib.error:
        return Ending(fits=True, place=None)  # it cannot be told
    if not inflater.eof:
        return Ending(fits=True, place=None)
    length = _length_of(head)
    end = place + read - len(inflater.unused_data)
    return Ending(length is not None and 0 <= size - length <= 4, end, others)


def _pieces(stream: IO[bytes]) -> Iterator[bytes]:
    while piece := stream.read(PIECE):
        yield piece


def _length_of(head: bytes) -> int | None:
    """Return the bytes of a record, by its head."""
    end = _HEAD_END.search(head)
    length = _LENGTH.search(head, 0, end.end()) if end else None
    return None if end is None or length is None else end.end() + int(length[1])


def next_record(stream: IO[bytes], start: int, *, is_gzip: bool) -> int | None:
    """Return the first place from ``start`` on where a record seems to begin."""
    mark = _GZIP if is_gzip else _WARC
    place = start
    rest = b""
    while True:
        stream.seek(place + len(rest))
        piece = stream.read(PIECE)
        data = rest + piece
        found = data.find(mark)
        while found >= 0:
            if _is_record(stream, place + found, is_gzip=is_gzip):
                return place + found
            found = data.find(mark, found + 1)
        if not piece:
            return None
        rest = data[-(len(mark) - 1) :]
        place += len(data) - len(rest)


def _is_record(stream: IO[bytes], place: int, *, is_gzip: bool) -> bool:
    """Say whether what looks like the beginning of a record is one: at the start of a line."""
    if not is_gzip:
        stream.seek(max(place - 1, 0))
        return place == 0 or stream.read(1) == b"\n"
    stream.seek(place)
    try:
        return zlib.decompressobj(31).decompress(stream.read(_LOOKED_AT), 16).startswith(b"WARC/")
    except zlib.error:
        return False
