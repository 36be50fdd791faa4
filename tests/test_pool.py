from __future__ import annotations

import os
import signal
import time

import psutil
import pytest

from websegment_scrapy.exceptions import AnalysisError, NotHtml
from websegment_scrapy.pool import AnalysisPool


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
    with AnalysisPool(2, timeout=3, memory=200) as pool:
        yield pool


def test_results_come_in_the_order_of_the_inputs(pool: AnalysisPool) -> None:
    assert list(pool.map(double, range(20))) == [2 * value for value in range(20)]


def test_a_task_that_takes_too_long_is_ended_and_the_next_one_runs(pool: AnalysisPool) -> None:
    started = time.monotonic()
    with pytest.raises(AnalysisError, match=r"longer than 3 s \(WEBSEGMENT_PAGE_TIMEOUT\)"):
        pool.submit(sleep_for, 60).result()
    assert time.monotonic() - started < 15
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
