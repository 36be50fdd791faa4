"""``python -m tests.fuzz``: for a time or for so many pages; exit status 1 if it finds a thing."""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Iterator

from tests.fuzz.functions import FUNCTIONS, run_function
from tests.fuzz.process import FuzzProcess

MEMORY_GROWTH = 1.10
ENOUGH = 100
"""Measurements of memory from which on it is judged."""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, metavar="N", help="go on for so long")
    parser.add_argument("--pages", type=int, metavar="N", help="so many mutated pages")
    parser.add_argument(
        "--functions", type=int, metavar="N", help="so many inputs to each function"
    )
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="default: 1")
    parser.add_argument(
        "--data", action="store_true", help="mutate the pages of WEBSEGMENT_DATA too"
    )
    parser.add_argument("--only", type=int, metavar="NUMBER", help="only the page of this number")
    args = parser.parse_args(arguments)
    if args.seconds is None and args.pages is None and args.functions is None and args.only is None:
        parser.error("say how much: --seconds, --pages, --functions or --only")
    findings = 0
    if args.functions:
        findings += fuzz_functions(args.seed, args.functions)
    if args.only is not None:
        findings += fuzz_pages(args, iter([args.only]))
    elif args.seconds is not None or args.pages:
        findings += fuzz_pages(args, _numbers(args.pages, args.seconds))
    print(f"{findings} findings")
    return 1 if findings else 0


def _numbers(pages: int | None, seconds: float | None) -> Iterator[int]:
    end = None if seconds is None else time.monotonic() + seconds
    number = 0
    while (pages is None or number < pages) and (end is None or time.monotonic() < end):
        yield number
        number += 1


def fuzz_functions(seed: int, count: int) -> int:
    """Give each function its inputs; return how many findings there are."""
    findings = 0
    for name in FUNCTIONS:
        began = time.process_time()
        for number in range(count):
            found = run_function(name, seed, number)
            if found:
                findings += 1
                print(f"seed {seed} input {number}: {found}", flush=True)
        print(f"{name}: {count} inputs, {time.process_time() - began:.0f} s", flush=True)
    return findings


def fuzz_pages(args: argparse.Namespace, numbers: Iterator[int]) -> int:
    """Analyse mutated pages in a process of its own; return how many findings there are."""
    findings = done = 0
    slowest = (0.0, -1)
    resident: list[int] = []
    process = FuzzProcess(args.seed, args.data)
    for number in numbers:
        answer = process.run(number)
        if isinstance(answer, str):
            findings += 1
            print(f"seed {args.seed} page {number}: {answer}", flush=True)
            process.end()
            process = FuzzProcess(args.seed, args.data)
            resident.clear()
        else:
            found, seconds, memory = answer
            slowest = max(slowest, (seconds, number))
            if memory is not None:
                resident.append(memory)
            if found:
                findings += 1
                print(f"seed {args.seed} page {number}: {found}", flush=True)
        done += 1
        if done % 1000 == 0:
            print(f"{done} pages, {findings} findings, {memory_said(resident)}", flush=True)
    process.end()
    print(f"{done} pages, slowest {slowest[0]:.2f} s (page {slowest[1]}), {memory_said(resident)}")
    if len(resident) >= ENOUGH and _last(resident) > MEMORY_GROWTH * _first(resident):
        findings += 1
        print("resident memory has grown by more than a tenth since the first tenth of the pages")
    return findings


def _first(resident: list[int]) -> float:
    """Return what is usual in the second tenth of the pages: a large one swells for a while."""
    tenth = len(resident) // 10
    return statistics.median(resident[tenth : 2 * tenth + 1])


def _last(resident: list[int]) -> float:
    """Return what is usual in the last tenth."""
    return statistics.median(resident[-(len(resident) // 10 + 1) :])


def memory_said(resident: list[int]) -> str:
    """Say what is usual at the beginning and at the end, and the extremes."""
    if not resident:
        return "no memory measured"
    found = (_first(resident), _last(resident), min(resident), max(resident))
    first, last, least, most = (round(each / 2**20) for each in found)
    return (
        f"resident {first} MiB after the first tenth, {last} MiB in the last (medians; {least} to "
        f"{most})"
    )


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
