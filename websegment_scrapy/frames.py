"""Objects on the pipes between a crawl and its workers: an 8-byte length and a pickle.

Tasks are our own and plain pickles. Answers come from a process that read a stranger's page: one
that a page has taken over must not be able to run code in the crawl, and a plain pickle may name
any function. So an answer is made of containers, texts, numbers, and two things more, which are
written as calls of the two makers below and read by nothing else: records (data classes, named
tuples and enumerations of this package), made field by field without calling any code of theirs,
and arrays of numbers. A name of anything else in an answer is refused, and so is a frame longer
than the worker's memory, before anything of it is read.
"""

from __future__ import annotations

import io
import pickle
import struct
import sys
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from typing import IO, Any, cast

import numpy as np

from websegment_scrapy.exceptions import AnalysisError

__all__ = ["BadAnswer", "read_answer", "read_task", "size_of", "write_answer", "write_task"]

_LENGTH = struct.Struct(">Q")
_PACKAGE = "websegment_scrapy"
_NUMBERS = frozenset("?biufc")
"""Kinds of numpy's types that are numbers (and truth values)."""

DRAINED = 2**20
"""Bytes of a frame that are passed over at once."""


class BadAnswer(AnalysisError):
    """A worker's answer is none; what the worker says can no longer be trusted."""


class _Maker:
    """A function that a pickle can call but not change: it has no attributes."""

    __slots__ = ()

    def __reduce__(self) -> str:
        return type(self).__name__.lower().strip("_")


class _Record(_Maker):
    __slots__ = ()

    def __call__(self, module: str, name: str, values: tuple[Any, ...]) -> Any:
        kind = _record_class(module, name)
        if issubclass(kind, Enum):
            return kind(*values)
        if not is_dataclass(kind):
            return tuple.__new__(kind, values)
        made: Any = object.__new__(cast("type", kind))
        for field, value in zip(_field_names(cast("type", kind)), values, strict=True):
            object.__setattr__(made, field, value)
        return made


class _Array(_Maker):
    __slots__ = ()

    def __call__(self, kind: str, shape: tuple[int, ...], data: bytes) -> Any:
        number = np.dtype(kind)
        if number.kind not in _NUMBERS:
            raise BadAnswer(f"the analysis process answered with an array of {kind!r}")
        return np.frombuffer(data, dtype=number).reshape(shape).copy()[()]


record, array = _Record(), _Array()
_MAKERS = {(__name__, "record"): record, (__name__, "array"): array}


@cache
def _field_names(kind: type[Any]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


@cache
def _record_class(module: str, name: str) -> Any:
    """Return a class of records of this package; ``BadAnswer`` if it is none."""
    kind = getattr(sys.modules.get(module), name, None)
    if (
        module.partition(".")[0] == _PACKAGE
        and isinstance(kind, type)
        and kind.__module__ == module
        and (is_dataclass(kind) or issubclass(kind, Enum) or _is_named_tuple(kind))
    ):
        return kind
    raise BadAnswer(f"the analysis process answered with {module}.{name}, which is no record")


def _is_named_tuple(kind: type) -> bool:
    return issubclass(kind, tuple) and hasattr(kind, "_fields")


class _AnswerPickler(pickle.Pickler):
    def reducer_override(self, value: Any) -> Any:
        kind = type(value)
        if isinstance(value, np.ndarray | np.generic):
            return array, (value.dtype.str, value.shape, value.tobytes())
        if kind.__module__.partition(".")[0] != _PACKAGE or isinstance(value, type | _Maker):
            return NotImplemented
        if isinstance(value, Enum):
            values: tuple[Any, ...] = (value.value,)
        elif is_dataclass(kind):
            values = tuple([getattr(value, field) for field in _field_names(kind)])
        elif _is_named_tuple(kind):
            values = tuple(value)
        else:
            return NotImplemented
        return record, (kind.__module__, kind.__qualname__, values)


class _AnswerUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        try:
            return _MAKERS[module, name]
        except KeyError:
            raise BadAnswer(f"the analysis process answered with {module}.{name}") from None


def write_task(stream: IO[bytes], value: object) -> None:
    """Write one object of our own."""
    _write(stream, pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL))


def read_task(stream: IO[bytes]) -> Any:
    """Read one object of our own; ``EOFError`` at the end.

    Where there is no memory for it the frame is passed over, so that the answer still fits.
    """
    size = _size(stream)
    try:
        data = _data(stream, size)
    except MemoryError:
        while size > 0 and (piece := stream.read(min(size, DRAINED))):
            size -= len(piece)
        raise
    return pickle.loads(data)


def write_answer(stream: IO[bytes], value: object) -> None:
    """Write one answer of a worker."""
    buffer = io.BytesIO()
    _AnswerPickler(buffer, protocol=pickle.HIGHEST_PROTOCOL).dump(value)
    _write(stream, buffer.getbuffer())


def read_answer(stream: IO[bytes], limit: int) -> Any:
    """Read one answer of at most ``limit`` bytes; ``EOFError`` at the end, else ``BadAnswer``."""
    size = _size(stream)
    if size > limit:
        raise BadAnswer(f"the analysis process answered with {size} bytes, more than its memory")
    data = _data(stream, size)
    try:
        return _AnswerUnpickler(io.BytesIO(data)).load()
    except BadAnswer:
        raise
    except Exception as error:
        raise BadAnswer(
            f"the analysis process answered with no answer: {type(error).__name__}"
        ) from None


def size_of(value: object) -> int:
    """Return the characters and bytes of the texts in a task: what it takes at the least."""
    if isinstance(value, str | bytes):
        return len(value)
    if isinstance(value, tuple | list):
        return sum(map(size_of, value))
    if is_dataclass(value) and not isinstance(value, type):
        return sum(size_of(getattr(value, field.name)) for field in fields(value))
    return 0


def _write(stream: IO[bytes], data: bytes | memoryview) -> None:
    stream.write(_LENGTH.pack(len(data)))
    stream.write(data)
    stream.flush()


def _size(stream: IO[bytes]) -> int:
    header = stream.read(_LENGTH.size)
    if len(header) < _LENGTH.size:
        raise EOFError
    size: int = _LENGTH.unpack(header)[0]
    return size


def _data(stream: IO[bytes], size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return data
