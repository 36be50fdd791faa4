"""What fifty crawlers ask of one PostgreSQL and one Redis: ``python -m tests.fleet_costs``.

The store: each crawler is a process with two threads that decide transactions of 16 pages, as fast
as they can, on a PostgreSQL with the settings of the compose file. One of them is stopped in the
middle (SIGSTOP: it hangs, and so do its locks) and goes on later. The queue: each crawler does as a
crawl does, a turn for every request, which leads to ten links of which one is new.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import psycopg

from tests.fleet import postgresql_settings
from tests.redis_server import RedisServer
from websegment_scrapy.bench.server import new_database, postgresql
from websegment_scrapy.bench.synthetic import RECIPE
from websegment_scrapy.bench.torture import CONTEXT, PAGES
from websegment_scrapy.crawl.leases import LeasedQueue, NewRequest
from websegment_scrapy.crawl.writer import BATCH, POSTGRESQL_THREADS
from websegment_scrapy.exceptions import StoreError
from websegment_scrapy.store.store import Store

REQUEST = b"x" * 600  # a pickled request with a little meta
LINKS = 10
HELD = 16  # Scrapy's CONCURRENT_REQUESTS


def store_crawler(url: str, number: int, seconds: float, folder: str) -> None:
    times: list[float] = []
    decided = [0] * POSTGRESQL_THREADS
    end = time.monotonic() + seconds

    def decide(store: Store, thread: int) -> None:
        first = (number * POSTGRESQL_THREADS + thread) * 1_000_000
        while time.monotonic() < end:
            begun = time.monotonic()
            begin = first + decided[thread]
            try:
                store.decide_many(PAGES.records(begin, begin + BATCH))
            except StoreError:  # it hung for longer than a store is patient
                return
            times.append(time.monotonic() - begun)
            decided[thread] += BATCH

    with Store.open(url, recipe=RECIPE) as store:
        threads = [
            threading.Thread(target=decide, args=(store, thread))
            for thread in range(POSTGRESQL_THREADS)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    Path(folder, str(number)).write_text(json.dumps([sum(decided), times]))


def queue_crawler(port: int, number: int, seconds: float, folder: str) -> None:
    import redis

    chance = random.Random(number)
    queue = LeasedQueue(redis.Redis(port=port), "costs:requests", "costs:filter", str(number))
    times: list[float] = []
    hand: list[str] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done = hand[: max(len(hand) - HELD + 1, 0)]
        links = [NewRequest(f"{chance.randrange(10**5)}", 0, REQUEST) for _ in range(LINKS - 1)]
        links.append(NewRequest(f"{number}/{len(times)}", 0, REQUEST))
        begun = time.monotonic()
        turn = queue.turn(lease=60, new=links, done=done, held=hand[len(done) :], want=1)
        times.append(time.monotonic() - begun)
        hand = hand[len(done) :] + [token for token, _ in turn.taken]
        time.sleep(0.02 * chance.random())  # the page: a crawler has other things to do
    Path(folder, str(number)).write_text(json.dumps([len(times), times]))


def together(target: Any, crawlers: int, arguments: tuple[Any, ...], watch: Any) -> str:
    """Run so many processes; return how many a second they did and how long one took."""
    seconds = arguments[-1]
    with tempfile.TemporaryDirectory() as folder:
        first, *rest = arguments
        started = [
            CONTEXT.Process(target=target, args=(first, number, *rest, folder))
            for number in range(crawlers)
        ]
        for process in started:
            process.start()
        watch(started)
        for process in started:
            process.join()
            assert process.exitcode == 0
        results = [json.loads(path.read_text()) for path in Path(folder).iterdir()]
    times = np.array([each for _, many in results for each in many]) * 1000
    number = sum(count for count, _ in results)
    middle, late, last = np.percentile(times, [50, 99, 100])
    took = f"median {middle:.1f} ms, 99 % {late:.0f} ms, longest {last:.0f} ms"
    return f"{number / seconds:,.0f}/s; {took}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--crawlers", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--hang", type=float, default=0.0, help="seconds for which one is stopped")
    args = parser.parse_args()
    with postgresql(settings=postgresql_settings()) as server:
        url = new_database(server.get_uri(), "costs")
        Store.open(url, recipe=RECIPE).close()
        most = [0, 0]

        def watch(started: list[Any]) -> None:
            begun = time.monotonic()
            stopped = 0
            with psycopg.connect(url, autocommit=True) as connection:
                while any(each.is_alive() for each in started):
                    counts = connection.execute(
                        "SELECT (SELECT count(*) FROM pg_stat_activity WHERE backend_type = "
                        "'client backend' AND pid <> pg_backend_pid()),"
                        "(SELECT count(*) FROM pg_locks WHERE locktype = 'advisory')"
                    ).fetchone()
                    assert counts is not None
                    most[:] = map(max, most, counts)
                    since = time.monotonic() - begun
                    if args.hang and not stopped and since > args.seconds / 2:
                        stopped = started[0].pid
                        os.kill(stopped, signal.SIGSTOP)
                    if stopped and args.hang and since > args.seconds / 2 + args.hang:
                        args.hang = 0.0
                        os.kill(stopped, signal.SIGCONT)
                    time.sleep(0.1)

        told = together(store_crawler, args.crawlers, (url, args.seconds), watch)
        with psycopg.connect(url) as connection:
            ((stored, distinct),) = connection.execute(
                "SELECT count(*), count(DISTINCT url) FROM pages"
            ).fetchall()
        print(f"store: pages {told}, a transaction of {BATCH}; {stored} stored as {distinct} URLs")
        print(f"store: at most {most[0]} connections and {most[1]} advisory locks", flush=True)
    with tempfile.TemporaryDirectory() as folder, RedisServer(Path(folder)) as redis:
        seconds = min(args.seconds, 30.0)
        told = together(queue_crawler, args.crawlers, (redis.port, seconds), lambda _: None)
        known = redis.client.info()
        waiting = redis.client.zcard("costs:requests:waiting")
        cpu = (known["used_cpu_user"] + known["used_cpu_sys"]) / seconds
        size = known["used_memory"] / max(waiting, 1)
        print(f"queue: turns {told}; Redis took {cpu:.0%} of a core")
        print(f"queue: {waiting} wait, each in {size:,.0f} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
