"""How a crawl ends: what is under way is finished in limited time, or left for the resume.

On its first SIGINT or SIGTERM Scrapy closes the spider when every request in progress is done,
however long that takes. On the second it stops where it stands: requests in progress are in no
queue any more, and the queue in the ``JOBDIR``, which is only written when it is closed, is lost.

Here a crawl has `GRACE_SECONDS` after the first signal. Then, on the second signal, or when its
store is lost, it *leaves*: downloads, analyses and decisions that are not done are given up, and
their requests go back into Scrapy's own queue, past the filter of duplicates, from which a resumed
crawl takes them like any other. A file of our own beside that queue would have to be kept in step
with it. With nothing left in progress Scrapy's closing comes to its end, so feeds, stats and the
``JOBDIR`` are whole; where it does not, the queue at least is closed before the process ends.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar
from weakref import WeakKeyDictionary, WeakSet

from scrapy import signals
from scrapy.exceptions import DropItem, IgnoreRequest
from scrapy.extensions.corestats import CoreStats
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.defer import deferred_from_coro

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from scrapy import Request
    from scrapy.crawler import Crawler

    from websegment_scrapy.exceptions import WebsegmentError

__all__ = ["Ending", "LeftForResume"]

logger = logging.getLogger(__name__)

GRACE_SECONDS = 30.0
"""After the first signal, for what is under way: as long as one page may take in the browser or in
analysis by default, and a third of the time that systemd gives to a service."""

FORCED_SECONDS = 5.0
"""After the second signal, for Scrapy to close what is open."""

LOOK_SECONDS = 0.1
"""Between two looks whether the crawl is being stopped: Scrapy does not say so."""

FILTER_KEY = "_websegment_filter"
"""Meta key of a request that was put back: it passed the filter of duplicates only this once."""

_R = TypeVar("_R")


class LeftForResume(DropItem, IgnoreRequest):
    """A request, or an item of its page, was given up because the crawl ends."""

    def __init__(self) -> None:
        super().__init__("the crawl ends; the page is left for the resume", log_level="DEBUG")


class Ending:
    """The end of one crawl; its components share it (`Ending.of`).

    Stats: ``websegment/left``, pages that were under way and are not decided.

    A crawl that failed (`fail`) or could not start (`refuse`) has an exit status that is not 0.
    """

    _of_crawler: ClassVar[WeakKeyDictionary[Crawler, Ending]] = WeakKeyDictionary()

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self.leaving = False
        self._failed = False
        self._under_way: set[asyncio.Future[Any]] = set()
        self._to_abandon: list[Callable[[], None]] = []
        self._left: set[Request] = set()
        self._decided: WeakSet[Request] = WeakSet()
        self._queue_closed = False
        self._forcing = False
        self._closing: asyncio.Future[None] | None = None
        self._watching: asyncio.Task[None] | None = None
        try:
            self._crawl_task: asyncio.Task[Any] | None = asyncio.current_task()
        except RuntimeError:  # Scrapy's older interface builds a crawl before there is a loop
            self._crawl_task = None
        crawler.signals.connect(self._opened, signals.spider_opened)
        crawler.signals.connect(self._closed, signals.spider_closed)
        crawler.signals.connect(self._stopped, signals.engine_stopped)
        self._reactor: Any = sys.modules.get("twisted.internet.reactor")  # importing installs it
        if self._reactor is not None:
            self._trigger = self._reactor.addSystemEventTrigger("before", "shutdown", self._forced)

    @classmethod
    def of(cls, crawler: Crawler) -> Ending:
        """Return the one that a crawl's components share."""
        if crawler not in cls._of_crawler:
            cls._of_crawler[crawler] = cls(crawler)
        return cls._of_crawler[crawler]

    @property
    def stopping(self) -> bool:
        """Whether the crawl was told to stop; what fails now may fail because of that."""
        return not self.crawler.crawling

    def on_leave(self, abandon: Callable[[], None]) -> None:
        """Have a function called when the crawl leaves, at once if it does already."""
        self._to_abandon.append(abandon)
        if self.leaving:
            abandon()

    def leave(self) -> None:
        """Give up what is under way; its requests are put back for the resume."""
        if self.leaving:
            return
        self.leaving = True
        for abandon in self._to_abandon:
            abandon()
        for work in tuple(self._under_way):
            work.cancel()
        self._empty_slots()

    async def unless_left(self, work: Coroutine[Any, Any, _R], request: Request | None) -> _R:
        """Await `work` for a request; `LeftForResume` if the crawl leaves before it is done."""
        if self.leaving:
            work.close()
            raise self.left(request)
        task = asyncio.ensure_future(work)
        self._under_way.add(task)
        try:
            return await task
        except asyncio.CancelledError:
            own = asyncio.current_task()
            if not self.leaving or (own is not None and own.cancelling()):
                raise
            raise self.left(request) from None
        finally:
            self._under_way.discard(task)

    def left(self, request: Request | None) -> LeftForResume:
        """Put a request that is not done back into Scrapy's queue; return what to raise."""
        if request is not None:
            self._put_back(request)
        return LeftForResume()

    def decided(self, request: Request | None) -> None:
        """Note that the page of a request is stored: nothing of it is left."""
        if request is not None:
            self._decided.add(request)

    def fail(self, error: WebsegmentError, reason: str) -> None:
        """Close a crawl that cannot go on, at once and with the reason; its status is not 0."""
        if self._failed:
            return
        self._failed = True
        logger.error("The crawl is stopped: %s", error)
        closing = self.crawler.engine.close_spider_async(reason=reason)
        self._closing = asyncio.ensure_future(closing)
        self.leave()

    def refuse(self, reason: str) -> None:
        """Prepare for an error of ``open_spider``, which ends a crawl before it starts.

        That it is logged here as one line is enough: asyncio does not log it again. Scrapy closes
        the spider without having opened it, for which its ``CoreStats`` are not made.
        """
        self.leave()
        core = self.crawler.get_extension(CoreStats)
        if core is not None:
            self.crawler.signals.disconnect(core.spider_closed, signal=signals.spider_closed)
        assert self.crawler.stats is not None
        self.crawler.stats.set_value("finish_reason", reason)
        if self._crawl_task is not None:
            self._crawl_task.add_done_callback(
                lambda task: None if task.cancelled() else task.exception()
            )

    @property
    def _scheduler(self) -> Any:
        slot = self.crawler.engine._slot
        return None if slot is None else slot.scheduler

    def _put_back(self, request: Request) -> None:
        """Put back what came from Scrapy's queue (robots.txt and media did not), once.

        A queue that holds requests until they are done (`scheduler`) only has to be told.
        """
        if request in self._left or request in self._decided or self._queue_closed:
            return
        if request.callback is NO_CALLBACK:
            return
        self._left.add(request)
        give_back = getattr(self._scheduler, "give_back", None)
        if give_back is None or not give_back(request):
            again = request.replace(dont_filter=True)
            if not request.dont_filter:
                again.meta[FILTER_KEY] = True
            again.meta.pop("playwright_page", None)
            try:
                self.crawler.engine.crawl(again)
            except (OSError, RuntimeError) as error:  # a full disk may be why the crawl ends
                logger.error("Not left for the resume: %s: %s", request.url[:500], error)  # noqa: TRY400
                return
        assert self.crawler.stats is not None
        self.crawler.stats.inc_value("websegment/left")

    def _opened(self) -> None:
        self._watching = asyncio.ensure_future(self._watch())

    async def _watch(self) -> None:
        """Wait for a signal to stop; then for what is under way, in limited time."""
        try:
            while self.crawler.crawling and not self.leaving:
                await asyncio.sleep(LOOK_SECONDS)
            deadline = monotonic() + GRACE_SECONDS
            while not self.leaving and monotonic() < deadline:
                await asyncio.sleep(LOOK_SECONDS)
            self.leave()
            while True:  # requests that come out of other middlewares
                await asyncio.sleep(LOOK_SECONDS)
                self._empty_slots()
        except asyncio.CancelledError:
            if not self._queue_closed:  # a second signal without a reactor cancels everything
                self.leave()
                self._close_queue()
            raise

    def _empty_slots(self) -> None:
        """Give up the requests that wait for their turn to be downloaded."""
        for slot in getattr(self.crawler.engine.downloader, "slots", {}).values():
            while slot.queue:
                request, waiting = slot.queue.popleft()
                waiting.errback(self.left(request))

    def _forced(self) -> Any:
        """Delay the end of the process until the crawl is closed; called by the reactor."""
        return deferred_from_coro(self._close_by_force())

    async def _close_by_force(self) -> None:
        self._forcing = True
        if self._watching is None:  # not open yet
            return
        engine = self.crawler.engine
        if not self._queue_closed:
            self.leave()
            self._closing = asyncio.ensure_future(engine.close_spider_async(reason="shutdown"))
        deadline = monotonic() + FORCED_SECONDS
        while engine.spider is not None and monotonic() < deadline:
            await asyncio.sleep(LOOK_SECONDS / 10)
        self._close_queue()

    def _close_queue(self) -> None:
        """Put back what is in progress and close Scrapy's queue, if Scrapy does not come to it."""
        slot = self.crawler.engine._slot
        if slot is None or self._queue_closed:
            return
        for request in tuple(slot.inprogress):
            self._put_back(request)
        self._queue_closed = True
        if hasattr(slot.scheduler, "close"):
            with suppress(OSError):
                slot.scheduler.close("shutdown")

    def _closed(self) -> None:
        self._queue_closed = True
        if self._watching is not None:
            self._watching.cancel()
        if self._reactor is not None and not self._forcing:
            self._reactor.removeSystemEventTrigger(self._trigger)
        left = len(self._left)
        shared = hasattr(self._scheduler, "give_back")
        if left and (shared or getattr(self._scheduler, "persist", False)):  # scrapy-redis's
            logger.info("%d pages under way were left in the queue that crawlers share", left)
        elif left and self.crawler.settings["JOBDIR"]:
            logger.info("%d pages under way were left: they are done when the crawl resumes", left)
        elif left:
            logger.info(
                "%d pages under way were left undecided; there is no JOBDIR to resume", left
            )

    def _stopped(self) -> None:
        """Have a crawl that failed end with a status that is not 0.

        Scrapy's commands look at ``bootstrap_failed``, which it sets for a crawler that has no
        spider when it is done.
        """
        if self._failed:
            asyncio.get_running_loop().call_soon(setattr, self.crawler, "spider", None)
