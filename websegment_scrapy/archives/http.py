"""An HTTP response as archives keep it: its head, and its body without the codings of the transfer.

Archives keep what servers sent. Some are true to the byte, chunks and compression included; others
(Common Crawl) keep bodies decoded and the header as it was, or renamed. So a coding that is
declared and not there is passed over, one that is there is taken off, and what cannot be read has
a reason.
"""

from __future__ import annotations

import io
import re
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from websegment_scrapy.exceptions import AnalysisError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["MAX_BYTES", "BadResponse", "Response", "read_response"]

MAX_BYTES = 64 * 2**20
"""Of a body, compressed or not: as for what commands fetch themselves."""

PIECE = 2**20
"""Bytes decompressed at once."""

MAX_CODINGS = 3
"""Codings of one body: a chain of a thousand is an attack."""

_STATUS = re.compile(rb"HTTP/\d(?:\.\d)?[ \t]+(\d{3})(?:[ \t\r]|$)")
_HEAD_END = re.compile(rb"\r?\n\r?\n")
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,16})[^\r\n]{0,1024}\r?\n")
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


class BadResponse(AnalysisError):
    """A response cannot be read; ``kind`` names the reason in counts."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class Response:
    """Status, ``Content-Type`` (``None``: it has none) and decoded body of a response."""

    status: int
    content_type: str | None
    body: bytes


def read_response(block: bytes, limit: int = MAX_BYTES) -> Response:
    """Read a response as it is kept in an archive.

    Raises
    ------
    BadResponse
        If its head is none, or its body cannot be decoded or is larger than ``limit``.
    """
    end = _HEAD_END.search(block)
    head = block if end is None else block[: end.start()]
    body = b"" if end is None else block[end.end() :]
    first, *lines = head.split(b"\n")
    status = _STATUS.match(first)
    if status is None:
        raise BadResponse("malformed HTTP head", f"its HTTP head begins with {first[:60]!r}")
    headers = _headers(lines)
    if "chunked" in headers.get("transfer-encoding", "").lower():
        body = _without_chunks(body)
    codings = [name.strip().lower() for name in headers.get("content-encoding", "").split(",")]
    wanted = [name for name in codings if name not in ("", "identity")]
    if len(wanted) > MAX_CODINGS:
        raise BadResponse("undecodable body", f"its body has {len(wanted)} codings")
    for name in reversed(wanted):
        body = _decoded(body, name, limit)
    if len(body) > limit:
        raise _too_large(limit)
    return Response(int(status[1]), headers.get("content-type"), body)


def _headers(lines: list[bytes]) -> dict[str, str]:
    """Return the fields by their names in small letters; of several the first, as browsers do."""
    found: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.decode("latin-1").partition(":")
        if colon:
            found.setdefault(name.strip().lower(), value.strip())
    return found


def _without_chunks(body: bytes) -> bytes:
    """Join the chunks of a body; one that has none is kept decoded."""
    pieces: list[bytes] = []
    place = 0
    while True:
        size = _CHUNK.match(body, place)
        if size is None:
            if not pieces:
                return body
            raise BadResponse("undecodable body", "the chunks of its body break off")
        length = int(size[1], 16)
        if length == 0:
            return b"".join(pieces)
        piece = body[size.end() : size.end() + length]
        pieces.append(piece)
        if len(piece) < length:
            raise BadResponse("undecodable body", "the chunks of its body break off")
        place = size.end() + length
        place += 2 if body[place : place + 2] == b"\r\n" else body[place : place + 1] == b"\n"


def _decoded(body: bytes, coding: str, limit: int) -> bytes:
    """Take one content coding off."""
    if not body:
        return body
    if coding in ("gzip", "x-gzip"):
        return _inflated(body, limit, 31) if body[:2] == _GZIP else body
    if coding == "deflate":
        return _deflated(body, limit)
    if coding in ("br", "zstd"):
        return _read_through(body, coding, limit)
    raise BadResponse("undecodable body", f"its body has the unknown coding {coding[:40]!r}")


def _deflated(body: bytes, limit: int) -> bytes:
    """Decode ``deflate``: with the header of zlib as the standard asks, or without, as some do."""
    for window in (15, -15):
        try:
            return _inflated(body, limit, window)
        except BadResponse as error:
            if error.kind == "too large":
                raise
    if b"<" in body[:1024]:  # kept decoded
        return body
    raise BadResponse("undecodable body", "its body is not compressed as it says (deflate)")


def _inflated(body: bytes, limit: int, window: int) -> bytes:
    """Decompress, but never more than is to be kept; gzip may have several members."""
    pieces: list[bytes] = []
    size = 0
    while body:
        inflater = zlib.decompressobj(window)
        while not inflater.eof:
            try:
                piece = inflater.decompress(body, PIECE)
            except zlib.error as error:
                raise BadResponse("undecodable body", f"its compressed body is damaged: {error}")  # noqa: B904
            size += len(piece)
            if size > limit:
                raise _too_large(limit)
            pieces.append(piece)
            body = inflater.unconsumed_tail
            if not piece and not body and not inflater.eof:
                raise BadResponse("undecodable body", "its compressed body breaks off")
        body = inflater.unused_data if window > 15 and inflater.unused_data[:2] == _GZIP else b""
    return b"".join(pieces)


def _read_through(body: bytes, coding: str, limit: int) -> bytes:
    """Decode Brotli and Zstandard by what fastwarc brings; a body that is kept decoded stays."""
    if (coding == "zstd" and body[:4] != _ZSTD) or body.lstrip()[:1] == b"<":
        return body
    from fastwarc import stream_io

    kinds: dict[str, Callable[[Any], Any]] = {
        "br": stream_io.BrotliReader,
        "zstd": stream_io.ZstdReader,
    }
    found = bytearray()
    try:
        reader = kinds[coding](io.BytesIO(body))
        while piece := reader.read(PIECE):
            found += piece
            if len(found) > limit:
                raise _too_large(limit)
    except (OSError, ValueError) as error:
        raise BadResponse("undecodable body", f"its compressed body is damaged: {error}") from None
    return bytes(found)


def _too_large(limit: int) -> BadResponse:
    return BadResponse("too large", f"its body is larger than {limit // 2**20} MiB")
