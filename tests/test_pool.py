from __future__ import annotations

import ctypes
import io
import os
import pickle
import signal
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from websegment_scrapy.analysis import analyze
from websegment_scrapy.exceptions import AnalysisError, NotHtml
from websegment_scrapy.extraction import extract
from websegment_scrapy.findings import Report
from websegment_scrapy.frames import BadAnswer, read_answer, write_answer
from websegment_scrapy.page.capture import Style
from websegment_scrapy.page.static_style import DEFAULT_STYLE
from websegment_scrapy.pool import AnalysisPool
from websegment_scrapy.tasks import report_on
from websegment_scrapy.worker import resident


def double(value: int) -> int:
    return 2 * value


def sleep_for(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


def take_memory(mebibytes: int) -> int:
    return len(bytearray(mebibytes * 2**20))


def die(status: int) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def refuse(what: str) -> None:
    raise NotHtml(f"not HTML but {what}")


def break_down(value: object) -> None:
    raise KeyError(value)


def speak(text: str) -> str:
    print(text)
    return text


def process_id(_: object) -> int:
    return os.getpid()


def swell(mebibytes: int) -> int:
    global _kept
    _kept = bytearray(os.urandom(2**20) * mebibytes)
    return os.getpid()


@pytest.fixture(scope="module")
def pool():
    with AnalysisPool(2, timeout=60, memory=200) as pool:
        yield pool


def test_results_come_in_the_order_of_the_inputs(pool: AnalysisPool) -> None:
    assert list(pool.map(double, range(20))) == [2 * value for value in range(20)]


def loaded(module: str) -> bool:
    return module in sys.modules


def test_keywords_travel_too_and_count_for_the_size(pool: AnalysisPool) -> None:
    assert pool.submit(double, value=4).result() == 8
    with pytest.raises(AnalysisError, match="WEBSEGMENT_PAGE_MEMORY"):
        pool.submit(double, value=b"x" * (64 * 2**20)).result()


def test_a_worker_that_analyses_for_a_crawl_loads_no_scrapy() -> None:
    with AnalysisPool(1, timeout=30, memory=500) as pool:
        found = pool.submit(report_on, b"<h1>Title</h1><p>Text of a page.", parts=True).result()
        assert isinstance(found, Report)
        assert not pool.submit(loaded, "scrapy").result()


def test_a_task_that_takes_too_long_is_ended_and_the_next_one_runs() -> None:
    with AnalysisPool(2, timeout=8, memory=200) as pool:
        started = time.monotonic()
        with pytest.raises(AnalysisError, match=r"longer than 8 s \(WEBSEGMENT_PAGE_TIMEOUT\)"):
            pool.submit(sleep_for, 60).result()
        assert time.monotonic() - started < 30
        assert pool.submit(double, 4).result() == 8


def test_a_task_that_takes_too_much_memory_is_refused(pool: AnalysisPool) -> None:
    assert pool.submit(take_memory, 50).result() == 50 * 2**20
    with pytest.raises(AnalysisError, match=r"more than 200 MiB \(WEBSEGMENT_PAGE_MEMORY\)"):
        pool.submit(take_memory, 1000).result()
    assert pool.submit(double, 4).result() == 8


def test_a_crash_is_one_failed_page(pool: AnalysisPool) -> None:
    with pytest.raises(AnalysisError, match="analysis process died"):
        pool.submit(die, 1).result()
    assert pool.submit(double, 4).result() == 8


def test_errors_carry_their_reason(pool: AnalysisPool) -> None:
    with pytest.raises(AnalysisError, match="not HTML but a PDF document"):
        pool.submit(refuse, "a PDF document").result()
    with pytest.raises(AnalysisError, match="KeyError: 'x'"):
        pool.submit(break_down, "x").result()


def test_a_failed_input_does_not_stop_the_others(pool: AnalysisPool) -> None:
    first, second, third = pool.map(refuse_odd, [2, 3, 4])
    assert (first, third) == (2, 4)
    assert isinstance(second, AnalysisError)


def refuse_odd(value: int) -> int:
    if value % 2:
        raise NotHtml("odd")
    return value


def test_inputs_that_could_not_be_loaded_pass_through(pool: AnalysisPool) -> None:
    error = AnalysisError("no such file")
    assert list(pool.map(double, [1, error, 2])) == [2, error, 4]


def test_what_an_engine_prints_does_not_disturb(pool: AnalysisPool) -> None:
    assert pool.submit(speak, "noise\n" * 1000).result().startswith("noise")


def test_a_worker_that_has_grown_is_replaced() -> None:
    with AnalysisPool(1, timeout=20, memory=1000) as pool:
        first = pool.submit(swell, 300).result()
        assert pool.submit(process_id, None).result() != first


def leave_holes(mib: int) -> int:
    """Take small pieces of memory, and let go of them all but the last."""
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    pieces = [libc.malloc(100_000) for _ in range(mib * 10)]
    for piece in pieces:
        ctypes.memset(piece, 7, 100_000)
    for piece in pieces[:-1]:
        libc.free(piece)
    return resident()


@pytest.mark.skipif(sys.platform != "linux", reason="the C library is another one")
def test_a_worker_gives_free_memory_back() -> None:
    with AnalysisPool(1, timeout=20, memory=1000) as pool:
        before = pool.submit(double, 1).result() and pool.submit(resident).result()
        assert pool.submit(leave_holes, 150).result() > before + 100 * 2**20
        assert pool.submit(resident).result() < before + 50 * 2**20


def test_closing_leaves_no_process_behind() -> None:
    with AnalysisPool(2, timeout=20, memory=200) as pool:
        workers = {pool.submit(process_id, None).result() for _ in range(8)}
    assert not any(psutil.pid_exists(worker) for worker in workers)
    with pytest.raises(AnalysisError, match="closed"):
        pool.submit(double, 1)


def test_workers_end_with_the_process_that_started_them() -> None:
    import subprocess
    import sys

    script = (
        "import os, time\n"
        "from tests.test_pool import process_id\n"
        "from websegment_scrapy.pool import AnalysisPool\n"
        "pool = AnalysisPool(1, timeout=20, memory=200)\n"
        "print(pool.submit(process_id, None).result(), flush=True)\n"
        "time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        worker = int(parent.stdout.readline())
        parent.kill()
    deadline = time.monotonic() + 10
    while psutil.pid_exists(worker) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not psutil.pid_exists(worker)


class Touch:
    """What a page that has taken over its worker would answer: a call in the crawl's process."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return os.mkdir, (self.path,)


class CallOurs:
    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return extract, ("<p>x",)


def answer_with(frame: bytes) -> None:
    """Write a frame instead of an answer, as code that a page brought into the worker could."""

    def forged(stream: io.BufferedIOBase, value: object) -> None:
        stream.write(frame)
        stream.flush()

    sys.modules["__main__"].write_answer = forged  # type: ignore[attr-defined]


def framed(value: object) -> bytes:
    data = pickle.dumps(value)
    return struct.pack(">Q", len(data)) + data


def test_a_worker_that_was_taken_over_runs_nothing_here(pool: AnalysisPool, tmp_path: Path) -> None:
    made = tmp_path / "made-by-the-page"
    answer = ("result", [{"a": Touch(str(made))}], False)
    with pytest.raises(AnalysisError, match=r"answered with posix\.mkdir"):
        pool.submit(answer_with, framed(answer)).result()
    assert not made.exists()
    with pytest.raises(AnalysisError, match="more than its memory"):
        pool.submit(answer_with, struct.pack(">Q", 200 * 2**20 + 1)).result()
    with pytest.raises(AnalysisError, match="something else than an answer"):
        pool.submit(answer_with, framed(("error", 5, False))).result()
    assert pool.submit(double, 4).result() == 8


FORGERIES = {
    "a class by name": b"cwebsegment_scrapy.analysis\nAnalysis\n.",
    "a function of ours": pickle.dumps(CallOurs()),
    "a function": pickle.dumps(("result", Touch("/nowhere"), False)),
    "cut off": b"\x80\x04K",
    "nothing": b"",
    "a function of the makers": b"cwebsegment_scrapy.frames\nread_task\n.",
    "an attribute of a maker": b"cwebsegment_scrapy.frames\nrecord.__call__\n.",
    "a maker changed": b"cwebsegment_scrapy.frames\nrecord\n(N}X\x01\x00\x00\x00aK\x01stb.",
    "no record": b"cwebsegment_scrapy.frames\nrecord\n(U\x02osU\x06system(ttR.",
    "objects in an array": b"cwebsegment_scrapy.frames\narray\n(U\x02|O(K\x01tC\x08AAAAAAAAtR.",
    "an extension": b"\x80\x02\x82\x01.",
    "a persistent id": b"Pos.system\n.",
}  # fmt: skip


@pytest.mark.parametrize("forgery", FORGERIES.values(), ids=FORGERIES)
def test_forged_answers_are_refused(forgery: bytes) -> None:
    stream = io.BytesIO(struct.pack(">Q", len(forgery)) + forgery)
    with pytest.raises(BadAnswer):
        read_answer(stream, 10_000)


def test_an_answer_longer_than_allowed_is_refused_unread() -> None:
    stream = io.BytesIO(struct.pack(">Q", 2**62) + b"x" * 100)
    with pytest.raises(BadAnswer, match="more than its memory"):
        read_answer(stream, 10_000)
    assert stream.tell() == 8


def test_answers_of_records_and_arrays_come_as_they_were() -> None:
    page = analyze("<h1>Title</h1><p>Some words of a text.</p>" * 5, parts=True).summary()
    value = (
        page,
        [np.arange(6.0).reshape(2, 3), np.float32(0.5), {1: {b"x", None}}, DEFAULT_STYLE],
    )
    stream = io.BytesIO()
    write_answer(stream, value)
    stream.seek(0)
    found, (matrix, number, rest, style) = read_answer(stream, 10**6)
    assert found.to_dict() == page.to_dict()
    assert found.signature == page.signature
    assert (found.parts.hashes == page.parts.hashes).all()
    assert type(found) is type(page)
    assert matrix.tolist() == [[0, 1, 2], [3, 4, 5]]
    matrix[0, 0] = 7  # it can be written to
    assert (number, type(number)) == (0.5, np.float32)
    assert (rest, style, type(style)) == ({1: {b"x", None}}, DEFAULT_STYLE, Style)


def test_texts_without_room_in_a_worker_are_refused_unread(pool: AnalysisPool) -> None:
    started = time.process_time()
    with pytest.raises(AnalysisError, match=r"the page has 64 MiB.*\(WEBSEGMENT_PAGE_MEMORY\)"):
        pool.submit(length, b"x" * (64 * 2**20)).result()
    assert time.process_time() - started < 1
    assert pool.submit(length, b"x" * (8 * 2**20)).result() == 8 * 2**20


def length(text: bytes | str) -> int:
    return len(text)


def decoded_length(text: bytes) -> int:
    from websegment_scrapy.page.decode import decode

    return len(decode(text) + "\U0010ffff")


def test_a_text_that_swells_when_it_is_decoded_is_refused(pool: AnalysisPool) -> None:
    for body in (b"x" * (45 * 2**20), "\U0010ffff".encode() * (11 * 2**20)):
        with pytest.raises(AnalysisError, match=r"more than 200 MiB \(WEBSEGMENT_PAGE_MEMORY\)"):
            pool.submit(decoded_length, body).result()
    assert pool.submit(double, 4).result() == 8


def test_a_result_without_room_is_refused(pool: AnalysisPool) -> None:
    with pytest.raises(AnalysisError, match=r"more than 200 MiB \(WEBSEGMENT_PAGE_MEMORY\)"):
        pool.submit(answer_of, 120).result()
    assert pool.submit(double, 4).result() == 8


def answer_of(mebibytes: int) -> list[bytes]:
    return [b"x" * 2**20 for _ in range(mebibytes)]
