"""``SharedScheduler``: scrapy-redis's queue for many crawlers, of which a killed one loses nothing.

scrapy-redis takes a request out of Redis before its page is downloaded, and puts what a page leads
to into its filter of duplicates and then into its queue: a crawler that is killed takes what it had
in hand with it. Here requests are held on lease (`leases`) until Scrapy is done with them, their
items have left the pipelines and their pages are decided.
"""

from __future__ import annotations

import asyncio
import logging
import os
import pickle
import secrets
import socket
from time import monotonic
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from scrapy import Request
from scrapy.utils.misc import load_object

from websegment_scrapy.crawl.ending import Ending
from websegment_scrapy.crawl.kept_requests import KeptRequests
from websegment_scrapy.crawl.leases import LeasedQueue, NewRequest
from websegment_scrapy.crawl.pages import PageRegistry, config_of
from websegment_scrapy.exceptions import QueueError

try:
    from redis.backoff import NoBackoff
    from redis.exceptions import RedisError
    from redis.retry import Retry
    from scrapy_redis.queue import Base as Requests
    from scrapy_redis.scheduler import Scheduler
except ImportError as error:
    raise ImportError(
        f"SharedScheduler stands on scrapy-redis, which is missing ({error}): "
        'pip install "websegment-scrapy[redis]"'
    ) from None

if TYPE_CHECKING:
    from typing import Self

    from scrapy import Spider
    from scrapy.crawler import Crawler

    from websegment_scrapy.crawl.leases import Turn

__all__ = ["SharedScheduler"]

logger = logging.getLogger(__name__)

BEAT_SECONDS = 1.0
"""Between two turns of a crawler that takes nothing: it renews its lease, tells what is done, and
sees what others have put in."""

ENOUGH = 100
"""New requests that are not kept back for the next turn."""

PATIENCE = 60.0
"""Seconds for which Redis may be gone, as for the database (`store.store`)."""


class SharedScheduler(Scheduler):  # type: ignore[misc]  # it has no types
    """Scrapy scheduler for crawlers that share one queue in Redis.

    Settings: those of scrapy-redis, of which ``DUPEFILTER_CLASS`` has to be scrapy-redis's, and
    without ``SCHEDULER_PERSIST`` what was seen is forgotten when the last crawler has finished, not
    the first; ``WEBSEGMENT_LEASE``: seconds after which what a silent crawler holds goes to others.

    A crawler is idle only when nothing waits and nobody holds anything, so that the last ones take
    over what a dead one held. Stopped in good order it gives back what is not done, at once.

    What cannot be serialised (an item that `belongs_to` pages travels with their responses) stays
    in this crawler's memory (`kept_requests`).

    Stats: ``websegment/queue/recovered``, ``websegment/queue/unreadable``,
    ``websegment/queue/in_memory``, ``websegment/queue/unreachable_seconds``; scrapy-redis's
    ``scheduler/enqueued/redis`` and ``scheduler/dequeued/redis``, and ``dupefilter/filtered``.
    """

    crawler: Crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Connect to Redis; a crawl that has none, or would do harm to others, does not start."""
        try:
            _check_filter(crawler.settings["DUPEFILTER_CLASS"])
            scheduler: Self = super().from_crawler(crawler)
            scheduler.server.set_retry(Retry(NoBackoff(), 0))  # it would sleep in the event loop
            scheduler._prepare(crawler)
        except (QueueError, RedisError) as error:
            reason = _told(error) if isinstance(error, RedisError) else str(error)
            logger.error("The crawl cannot start without its queue: %s", reason)  # noqa: TRY400
            Ending.of(crawler).refuse(f"websegment queue: {reason}")
            raise QueueError(reason) from None
        return scheduler

    def _prepare(self, crawler: Crawler) -> None:
        """Look at the queue, and empty it where that is asked for."""
        self.crawler = crawler
        spider = crawler.spider
        assert spider is not None
        self.df = load_object(self.dupefilter_cls).from_spider(spider)
        self.key = self.queue_key % {"spider": spider.name}
        self.requests = Requests(self.server, spider, self.key, self.serializer)
        self.lease = config_of(crawler).lease
        name = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
        self.leased = LeasedQueue(self.server, self.key, self.df.key, name)
        self.registry = PageRegistry.of(crawler)
        self.origins = self.registry.origins = WeakKeyDictionary[Request, Request]()
        self.new: list[NewRequest] = []
        self.tokens: dict[Request, str] = {}
        """The requests in hand."""
        self.given_back: set[Request] = set()
        self.kept = KeptRequests()
        self.last: Turn | None = None
        self.silent_since: float | None = None
        if self.server.exists(self.key):
            raise QueueError(
                f"{self.key} in Redis is a queue of scrapy-redis's own scheduler, which this one "
                "does not read: let the crawl that wrote it finish, or delete the key"
            )
        if self.flush_on_start:
            turn = self._turn(leaving=True)
            if turn is not None and turn.others:
                raise QueueError(
                    f"SCHEDULER_FLUSH_ON_START would take the queue {self.key} from {turn.others} "
                    f"crawlers that are at work, or were {self.lease:g} seconds ago: start with it "
                    "once, before them"
                )
            self.leased.forget()

    def open(self, spider: Spider) -> None:
        """Join the crawlers at the queue."""
        self.spider = spider
        turn = self._turn()
        if turn is not None and turn.waiting:
            logger.info("Going on with a crawl: %d requests are waiting", turn.waiting)
        self.beating = asyncio.ensure_future(self._beat())

    def close(self, reason: str) -> None:
        """Give back what is not done, and leave."""
        self.beating.cancel()
        left = self._turn(leaving=True, clear=reason == "finished" and not self.persist)
        if left is None and self.tokens:
            logger.error("Redis is not told: what was held goes to others in %g s", self.lease)

    def enqueue_request(self, request: Request) -> bool:
        """Put a request into the queue, with the next turn."""
        fingerprint = "" if request.dont_filter else self.df.request_fingerprint(request)
        try:
            data = self.requests._encode_request(request)
        except (ValueError, TypeError, AttributeError, RecursionError, pickle.PicklingError) as why:
            return self._keep(request, fingerprint, why)
        self.new.append(NewRequest(fingerprint, request.priority, data))
        if len(self.new) >= ENOUGH and self.silent_since is None:
            self._turn()
        return True

    def next_request(self) -> Request | None:
        """Take the next request in hand."""
        if self.kept:
            return self.kept.take()
        turn = self._turn(want=1)
        for token, data in () if turn is None else turn.taken:
            try:
                request: Request = self.requests._decode_request(data)
            except Exception as why:
                self._put_aside(token, data, why)
                return self.next_request()
            self.tokens[request] = token
            self.stats.inc_value("scheduler/dequeued/redis")
            return request
        return None

    def has_pending_requests(self) -> bool:
        """Say whether there is anything to do, now or when others are done or dead."""
        if self.kept or self.new or self.last is None or self.silent_since is not None:
            return True
        return self.last.waiting > 0 or self.last.theirs > 0

    def __len__(self) -> int:
        return len(self.kept) + len(self.new) + (0 if self.last is None else self.last.waiting)

    def give_back(self, request: Request) -> bool:
        """Have a request that is not done go to the others; say whether it came from here."""
        if request not in self.tokens and request not in self.kept:
            return False
        self.given_back.add(request)
        return True

    def _turn(self, want: int = 0, *, leaving: bool = False, clear: bool = False) -> Turn | None:
        """Tell Redis where we are, and hear from it; ``None``: it cannot be reached."""
        held, done = self._hand()
        new = tuple(self.new)
        try:
            turn = self.leased.turn(
                lease=0 if leaving else self.lease,
                new=new,
                done=[self.tokens[request] for request in done],
                held=() if leaving else [self.tokens[request] for request in held],
                want=want,
                clear=clear,
            )
        except RedisError as error:
            self._unreachable(error)
            return None
        del self.new[: len(new)]
        for request in set(self.tokens) - set(held):
            del self.tokens[request]
            self.given_back.discard(request)
        self._count("scheduler/enqueued/redis", len(new) - turn.filtered)
        self._count("dupefilter/filtered", turn.filtered)
        if turn.recovered:
            self._count("websegment/queue/recovered", turn.recovered)
            told = "%d requests were taken back from a crawler that is silent for %g seconds"
            logger.warning(told, turn.recovered, self.lease)
        if self.silent_since is not None:
            logger.info("Redis is back after %.0f seconds", monotonic() - self.silent_since)
            self._count("websegment/queue/unreachable_seconds", monotonic() - self.silent_since)
            self.silent_since = None
        self.last = turn
        return turn

    def _hand(self) -> tuple[list[Request], list[Request]]:
        """Tell what is in hand: what goes on, and what is done; what was given back is neither."""
        slot = self.crawler.engine._slot if self.crawler.engine is not None else None
        busy = self.registry.requests_in_use() | (set() if slot is None else slot.inprogress)
        for fingerprint in self.kept.finish(busy | self.given_back):
            self.new.append(NewRequest(fingerprint, 0, b""))
        pinned = self.kept.pinned()
        held, done = [], []
        for request, token in self.tokens.items():
            if request in busy or token in pinned:
                held.append(request)
            elif request not in self.given_back:
                done.append(request)
        return held, done

    def _keep(self, request: Request, fingerprint: str, why: Exception) -> bool:
        """Keep what cannot be serialised, unless it is known."""
        if fingerprint and self._is_known(fingerprint):
            self._count("dupefilter/filtered", 1)
            return False
        if not self.stats.get_value("websegment/queue/in_memory"):
            told = "%s and others that cannot be serialised stay in this crawler's memory: %s"
            logger.warning(told, request, why)
        self._count("websegment/queue/in_memory", 1)
        self.kept.add(request, fingerprint, self.origins.get(request), self.tokens)
        return True

    def _is_known(self, fingerprint: str) -> bool:
        if self.kept.knows(fingerprint) or fingerprint in {each.fingerprint for each in self.new}:
            return True
        try:
            return bool(self.server.sismember(self.df.key, fingerprint))
        except RedisError as error:
            self._unreachable(error)
            return False

    def _put_aside(self, token: str, data: bytes, why: Exception) -> None:
        """Keep what cannot be read where it can be looked at."""
        place = f"{self.key}:unreadable"
        told = "A request (of another version?) cannot be read; it is kept as %s in %s: %r"
        logger.error(told, token, place, why)
        self._count("websegment/queue/unreadable", 1)
        try:
            self.server.hset(place, token, data)
            self.leased.turn(lease=self.lease, done=[token], held=list(self.tokens.values()))
        except RedisError as error:
            self._unreachable(error)

    def _unreachable(self, error: RedisError) -> None:
        """Wait for Redis, which is asked again with every beat; not for ever."""
        if self.silent_since is None:
            self.silent_since = monotonic()
            logger.warning("Redis does not answer, waiting for it: %s", _told(error))
        elif monotonic() - self.silent_since > PATIENCE:
            failed = QueueError(_told(error))
            Ending.of(self.crawler).fail(failed, f"websegment queue: {failed}")

    async def _beat(self) -> None:
        """Keep the lease, whatever else goes on; wake Scrapy when there is something to do."""
        while True:
            await asyncio.sleep(min(BEAT_SECONDS, self.lease / 4))
            turn = self._turn()
            slot = self.crawler.engine._slot
            if slot is not None and turn is not None and (turn.waiting or not turn.theirs):
                slot.nextcall.schedule()

    def _count(self, stat: str, number: float) -> None:
        if number:
            self.stats.inc_value(stat, number)


def _check_filter(name: str) -> None:
    if not hasattr(load_object(name), "from_spider"):
        raise QueueError(
            f"DUPEFILTER_CLASS is {name!r}, which this crawler would have for itself: "
            'set it to "scrapy_redis.dupefilter.RFPDupeFilter"'
        )


def _told(error: Exception) -> str:
    reason = " ".join(str(error).split())
    return f"{reason}: check that Redis runs and that REDIS_URL (or REDIS_HOST) is right"
