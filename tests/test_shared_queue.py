"""Crawlers that share a queue: with a real Redis, and killed, stopped and cut off from it."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.crawling import crawl, start_crawl
from tests.redis_server import RedisServer
from tests.signals import PATIENT, articles
from tests.site import Route, Site
from tests.texts import page, prose
from websegment_scrapy.crawl.leases import LeasedQueue, NewRequest

FOLLOW = "tests.signals.LinkSpider"
SHARED = {
    "SCHEDULER": "websegment_scrapy.SharedScheduler",
    "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
    "SCHEDULER_PERSIST": True,
    "WEBSEGMENT_RENDER": "never",
    "WEBSEGMENT_WORKERS": 1,
    "WEBSEGMENT_LEASE": 600,
    "CONCURRENT_REQUESTS": 3,
    **PATIENT,
}


@pytest.fixture
def redis_server(tmp_path: Path) -> Iterator[RedisServer]:
    folder = tmp_path / "redis"
    folder.mkdir()
    with RedisServer(folder) as server:
        yield server


# ---------------------------------------------------------------------------- the queue


def queue_of(server: RedisServer, crawler: str) -> LeasedQueue:
    return LeasedQueue(server.client, "test:requests", "test:dupefilter", crawler)


def new(*numbers: int, priority: int = 0) -> list[NewRequest]:
    return [NewRequest(f"fingerprint {n}", priority, f"request {n}".encode()) for n in numbers]


def test_first_in_first_out_and_higher_priorities_first(redis_server: RedisServer) -> None:
    queue = queue_of(redis_server, "a")
    queue.turn(lease=60, new=[*new(1, 2), *new(3, priority=1), *new(4)])
    taken = queue.turn(lease=60, want=4).taken
    assert [data for _, data in taken] == [b"request 3", b"request 1", b"request 2", b"request 4"]


def test_what_was_seen_is_not_taken_again_and_unfiltered_requests_are(
    redis_server: RedisServer,
) -> None:
    queue = queue_of(redis_server, "a")
    assert queue.turn(lease=60, new=new(1, 1)).filtered == 1
    assert queue_of(redis_server, "b").turn(lease=60, new=new(1)).filtered == 1
    assert queue.turn(lease=60, new=[NewRequest("", 0, b"again")] * 2).waiting == 3


def test_what_a_silent_crawler_held_goes_to_the_others(redis_server: RedisServer) -> None:
    dead, alive = queue_of(redis_server, "dead"), queue_of(redis_server, "alive")
    dead.turn(lease=0.3, new=new(1, 2))
    (token, _), *_ = dead.turn(lease=0.3, want=2).taken
    found = alive.turn(lease=60, want=1)
    assert (found.taken, found.waiting, found.theirs) == ([], 0, 2)
    time.sleep(0.35)
    found = alive.turn(lease=60, want=1)
    assert (found.taken, found.recovered) == ([(token, b"request 1")], 2)
    assert dead.turn(lease=60, done=[token]).theirs == 1, "it is the other's now"


def test_what_is_done_after_the_lease_ran_out_is_not_done_again(redis_server: RedisServer) -> None:
    slow, other = queue_of(redis_server, "slow"), queue_of(redis_server, "other")
    slow.turn(lease=0.1, new=new(1))
    ((token, _),) = slow.turn(lease=0.1, want=1).taken
    time.sleep(0.15)
    assert other.turn(lease=60).waiting == 1
    assert slow.turn(lease=60, done=[token]).waiting == 0


def test_an_answer_that_was_lost_loses_nothing(redis_server: RedisServer) -> None:
    queue = queue_of(redis_server, "a")
    queue.turn(lease=60, new=new(1, 2))
    ((token, _),) = queue.turn(lease=60, want=1).taken
    queue.turn(lease=60, held=[token], want=1)  # nobody hears what this one takes
    ((_, data),) = queue.turn(lease=60, held=[token], want=1).taken
    assert data == b"request 2"


def test_who_leaves_gives_back_what_is_not_done(redis_server: RedisServer) -> None:
    queue = queue_of(redis_server, "a")
    queue.turn(lease=60, new=new(1, 2))
    (done, _), _ = queue.turn(lease=60, want=2).taken
    assert queue.turn(lease=0, done=[done]).waiting == 1
    assert queue_of(redis_server, "b").turn(lease=60).others == 0


def test_what_was_seen_is_forgotten_with_the_last_crawler(redis_server: RedisServer) -> None:
    one, two = queue_of(redis_server, "one"), queue_of(redis_server, "two")
    one.turn(lease=60, new=new(1))
    ((token, _),) = two.turn(lease=60, want=1).taken
    one.turn(lease=0, clear=True)
    assert redis_server.client.exists("test:dupefilter")
    two.turn(lease=0, done=[token], clear=True)
    assert redis_server.client.keys("*") == []


@pytest.mark.parametrize("seed", range(5))
def test_whatever_crawlers_and_redis_do_nothing_is_lost(
    redis_server: RedisServer, seed: int
) -> None:
    """Crawlers work, die, lose answers, are late; Redis is killed: each request comes to its end.

    Request n leads to 2n and 2n+1; nobody else puts them in.
    """
    chance = random.Random(seed)
    finished: set[int] = set()
    hands: dict[str, dict[str, int]] = {}
    queue_of(redis_server, "first").turn(lease=0, new=new(1))
    steps = 0
    while True:
        steps += 1
        name = chance.choice("abcd")
        hand = hands.setdefault(f"{name}{steps // 50}", {})
        queue = queue_of(redis_server, f"{name}{steps // 50}")
        done = [token for token in hand if chance.random() < 0.7]
        children = [child for t in done for child in (2 * hand[t], 2 * hand[t] + 1) if child < 128]
        held = [token for token in hand if token not in done]
        lease = 0.02 if chance.random() < 0.1 else 0.5
        finished |= {hand[token] for token in done}
        turn = queue.turn(lease=lease, new=new(*children), done=done, held=held, want=2)
        if chance.random() < 0.1:
            continue  # the answer is lost, and said again
        hand = {token: hand[token] for token in held}
        hand |= {token: int(data.split()[1]) for token, data in turn.taken}
        hands[f"{name}{steps // 50}"] = hand
        if chance.random() < 0.04:
            redis_server.kill()
            redis_server.start()
        if not turn.waiting and not turn.theirs and not turn.taken and not hand:
            break
        assert steps < 5000
        time.sleep(0.01 if chance.random() < 0.1 else 0)
    assert finished == set(range(1, 128))


# ---------------------------------------------------------------------------- crawls


def shared(server: RedisServer, folder: Path, **settings: Any) -> dict[str, Any]:
    database = f"sqlite:///{folder / 'pages.db'}"
    return {**SHARED, "REDIS_URL": server.url, "WEBSEGMENT_DATABASE": database, **settings}


def crawlers(
    site: Site, settings: dict[str, Any], folder: Path, number: int = 2, spider: str = FOLLOW
) -> list[subprocess.Popen[bytes]]:
    started = []
    for each in range(number):
        home = folder / str(each)
        home.mkdir(exist_ok=True)
        urls = [site.url("/")]
        started.append(start_crawl(urls, settings, home, spider=spider, own_group=True))
    return started


def log_of(folder: Path, number: int) -> str:
    return (folder / str(number) / "log.txt").read_text()


def end(processes: list[subprocess.Popen[bytes]], folder: Path) -> None:
    for number, process in enumerate(processes):
        try:
            assert process.wait(120) in (0, -signal.SIGKILL), log_of(folder, number)
        except subprocess.TimeoutExpired:
            for each in processes:
                each.kill()
            raise AssertionError(log_of(folder, number)) from None


def visits(folder: Path) -> Counter[str]:
    connection = sqlite3.connect(folder / "pages.db")
    rows = connection.execute(
        "SELECT url FROM pages JOIN visits ON visits.page_id = pages.id"
    ).fetchall()
    connection.close()
    return Counter("/" + url.partition("//")[2].partition("/")[2] for (url,) in rows)


def small_site(number: int) -> dict[str, Any]:
    others = {f"/{name}": page(prose(1)) for name in ("home", "news", "about", "imprint")}
    return {**articles(number), **others}


def slow_site() -> dict[str, Route]:
    """Return a site that one crawler has not read before the other has begun."""
    return {path: Route(body=body, delay=0.4) for path, body in small_site(24).items()}


def wait_for(what: Callable[[], Any], processes: list[subprocess.Popen[bytes]], why: str) -> None:
    deadline = time.monotonic() + 60
    while not what():
        assert time.monotonic() < deadline, why
        assert any(each.poll() is None for each in processes), why
        time.sleep(0.01)


def both_hold(server: RedisServer) -> bool:
    return len(server.client.keys("*:hand:*")) == 2


@pytest.mark.parametrize("record", ["items", "pages"])
def test_two_crawlers_do_every_page_once(
    record: str, redis_server: RedisServer, tmp_path: Path
) -> None:
    spider = FOLLOW if record == "items" else "tests.spiders.OnlyLinks"
    with Site(small_site(30)) as site:
        settings = shared(redis_server, tmp_path, WEBSEGMENT_RECORD=record)
        end(crawlers(site, settings, tmp_path, spider=spider), tmp_path)
        assert visits(tmp_path) == dict.fromkeys(site.routes, 1)
    keys = redis_server.client.keys("*")
    assert sorted(keys) == [
        f"{spider_name(spider)}:{each}".encode() for each in ("dupefilter", "requests:serial")
    ]


def spider_name(path: str) -> str:
    from scrapy.utils.misc import load_object

    name: str = load_object(path).name
    return name


def test_the_next_crawl_begins_anew_if_it_is_to(redis_server: RedisServer, tmp_path: Path) -> None:
    runs = [({}, 1), ({}, 1), ({"SCHEDULER_FLUSH_ON_START": True, "SCHEDULER_PERSIST": False}, 2)]
    with Site(small_site(3)) as site:
        for settings, times in runs:
            given = shared(redis_server, tmp_path, **settings)
            end(crawlers(site, given, tmp_path, number=1), tmp_path)
            assert visits(tmp_path) == dict.fromkeys(site.routes, times)
    assert redis_server.client.keys("*") == []


def test_a_stopped_crawler_gives_back_what_is_under_way(
    redis_server: RedisServer, tmp_path: Path
) -> None:
    """Nothing is visited twice, and the others need not wait for its lease."""
    with Site(slow_site()) as site:
        settings = shared(redis_server, tmp_path)
        settings["EXTENSIONS"] = {"tests.signals.ShortGrace": 0}
        processes = crawlers(site, settings, tmp_path)
        wait_for(lambda: both_hold(redis_server), processes, log_of(tmp_path, 0))
        for _ in range(2):
            os.killpg(processes[0].pid, signal.SIGTERM)
            time.sleep(0.2)
        end(processes, tmp_path)
        assert visits(tmp_path) == dict.fromkeys(site.routes, 1)
    assert "pages under way were left in the queue that crawlers share" in log_of(tmp_path, 0)


@pytest.mark.parametrize("spider", [FOLLOW, "tests.spiders.LinkedChain"])
def test_a_killed_crawler_loses_nothing(
    spider: str, redis_server: RedisServer, tmp_path: Path
) -> None:
    """Also when what it held could not be serialised."""
    with Site(slow_site()) as site:
        settings = shared(redis_server, tmp_path, WEBSEGMENT_LEASE=3)
        processes = crawlers(site, settings, tmp_path, spider=spider)
        wait_for(lambda: both_hold(redis_server), processes, log_of(tmp_path, 0))
        processes[0].kill()
        end(processes, tmp_path)
        assert set(visits(tmp_path)) == set(site.routes)
    assert "were taken back from a crawler that is silent" in log_of(tmp_path, 1)
    stats = json.loads((tmp_path / "1" / "stats.json").read_text())
    assert bool(stats.get("websegment/queue/in_memory")) == (spider != FOLLOW)


def test_redis_may_be_killed_and_come_back(redis_server: RedisServer, tmp_path: Path) -> None:
    with Site(slow_site()) as site:
        processes = crawlers(site, shared(redis_server, tmp_path), tmp_path)
        wait_for(lambda: both_hold(redis_server), processes, log_of(tmp_path, 0))
        redis_server.kill()
        time.sleep(2)
        redis_server.start()
        end(processes, tmp_path)
        assert set(visits(tmp_path)) == set(site.routes)
    assert "Redis does not answer, waiting for it" in log_of(tmp_path, 0)
    assert "Redis is back" in log_of(tmp_path, 0)


def test_a_crawl_whose_redis_does_not_come_back_ends_with_the_reason(
    redis_server: RedisServer, tmp_path: Path
) -> None:
    with Site(slow_site()) as site:
        settings = shared(redis_server, tmp_path)
        settings["EXTENSIONS"] = {"tests.signals.ShortQueuePatience": 0}
        (process,) = crawlers(site, settings, tmp_path, number=1)
        wait_for(lambda: len(site.hits) > 4, [process], log_of(tmp_path, 0))
        redis_server.kill()
        assert process.wait(60) == 1, log_of(tmp_path, 0)
    errors = [line for line in log_of(tmp_path, 0).splitlines() if " ERROR: " in line]
    assert "The crawl is stopped: " in errors[0]
    assert "check that Redis runs" in errors[0]
    assert "Traceback" not in log_of(tmp_path, 0)


def test_a_crawl_without_redis_does_not_start(tmp_path: Path) -> None:
    found = crawl(["http://127.0.0.1:9/"], {**SHARED, "REDIS_URL": "redis://127.0.0.1:1/0"})
    assert found.status == 1
    errors = [line for line in found.log.splitlines() if " ERROR: " in line]
    assert len(errors) == 1, found.log
    assert "The crawl cannot start without its queue" in errors[0]
    assert "REDIS_URL" in errors[0]


def test_a_request_that_cannot_be_read_is_put_aside(
    redis_server: RedisServer, tmp_path: Path
) -> None:
    queue = LeasedQueue(redis_server.client, "links:requests", "links:dupefilter", "other")
    queue.turn(lease=0, new=[NewRequest("", 5, b"no pickle")])
    with Site(small_site(3)) as site:
        end(crawlers(site, shared(redis_server, tmp_path), tmp_path, number=1), tmp_path)
        assert set(visits(tmp_path)) == set(site.routes)
    assert redis_server.client.hvals("links:requests:unreadable") == [b"no pickle"]
    assert "cannot be read" in log_of(tmp_path, 0)
    stats = json.loads((tmp_path / "0" / "stats.json").read_text())
    assert stats["websegment/queue/unreadable"] == 1


@pytest.mark.parametrize(
    ("settings", "remedy"),
    [
        ({"DUPEFILTER_CLASS": "scrapy.dupefilters.RFPDupeFilter"}, "scrapy_redis.dupefilter"),
        ({"SCHEDULER_FLUSH_ON_START": True}, "start with it once, before them"),
        ({"SCHEDULER_QUEUE_KEY": "old"}, "let the crawl that wrote it finish, or delete the key"),
    ],
    ids=str,
)
def test_settings_that_would_lose_something_are_refused(
    settings: dict[str, Any], remedy: str, redis_server: RedisServer, tmp_path: Path
) -> None:
    redis_server.client.zadd("old", {b"request": 1})
    queue = LeasedQueue(redis_server.client, "pages:requests", "pages:dupefilter", "other")
    queue.turn(lease=60, new=new(1))
    found = crawl(["http://127.0.0.1:9/"], shared(redis_server, tmp_path, **settings))
    assert found.status == 1
    (error,) = [line for line in found.log.splitlines() if " ERROR: " in line]
    assert remedy in error
    assert queue.turn(lease=60).waiting == 1


@pytest.mark.browser
def test_a_page_may_be_looked_at_by_one_crawler_and_rendered_by_the_other(
    redis_server: RedisServer, tmp_path: Path
) -> None:
    script = "<script>document.body.append(document.createElement('p').textContent = '{}')</script>"
    pages = {
        f"/{each}": f"<html><body><div id=root></div>{script.format(prose(each, 60))}"
        for each in range(8)
    }
    links = "".join(f'<a href="/{each}">{each}</a> ' for each in range(8))
    with Site({"/": page(prose(99), "Home", links=links)} | pages) as site:
        names = {f"/{name}": page(prose(1)) for name in ("home", "news", "about", "imprint")}
        site.routes |= names
        settings = shared(redis_server, tmp_path, WEBSEGMENT_RENDER="auto")
        end(crawlers(site, settings, tmp_path), tmp_path)
        assert visits(tmp_path) == dict.fromkeys(site.routes, 1)
    connection = sqlite3.connect(tmp_path / "pages.db")
    rendered = connection.execute("SELECT sum(rendered) FROM pages").fetchone()
    connection.close()
    assert rendered[0] >= 8
    assert "Traceback" not in log_of(tmp_path, 0) + log_of(tmp_path, 1)


def test_without_scrapy_redis_it_says_what_to_install() -> None:
    script = (
        "import sys\nsys.modules['scrapy_redis'] = None\n"
        "try:\n    from websegment_scrapy import SharedScheduler\n"
        "except ImportError as error:\n    print(error)"
    )
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout
    assert 'pip install "websegment-scrapy[redis]"' in told
