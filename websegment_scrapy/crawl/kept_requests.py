"""Requests that cannot be serialised, in the memory of one of the crawlers that share a queue.

They are lost with their crawler, so the request that led to them stays in hand until they are
done; whoever takes that one over comes to them again. For that reason the filter that all crawlers
share is told of them only then.
"""

from __future__ import annotations

import heapq
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Set

    from scrapy import Request

__all__ = ["KeptRequests"]


class KeptRequests:
    """Those of one crawler: waiting, or under way."""

    def __init__(self) -> None:
        self._order = count()
        self._waiting: list[tuple[int, int, Request]] = []
        self._known: dict[Request, tuple[str, frozenset[str]]] = {}

    def __len__(self) -> int:
        """Return how many are waiting."""
        return len(self._waiting)

    def __contains__(self, request: object) -> bool:
        return request in self._known

    def knows(self, fingerprint: str) -> bool:
        """Say whether one of them has this fingerprint."""
        return any(fingerprint == known for known, _ in self._known.values())

    def add(
        self,
        request: Request,
        fingerprint: str,
        origin: Request | None,
        hand: Mapping[Request, str],
    ) -> None:
        """Keep a request, and have what led to it stay in hand: all that is, if that is not known.

        It is not for what was not yielded by a callback, such as another try.
        """
        pinned = frozenset(hand.values())
        if origin is not None and origin in hand:
            pinned = frozenset((hand[origin],))
        elif origin is not None and origin in self._known:
            pinned = self._known[origin][1]
        self._known[request] = fingerprint, pinned
        heapq.heappush(self._waiting, (-request.priority, next(self._order), request))

    def take(self) -> Request:
        """Return the first that is waiting."""
        return heapq.heappop(self._waiting)[-1]

    def pinned(self) -> frozenset[str]:
        """Return the tokens that have to stay in hand."""
        return frozenset().union(*(tokens for _, tokens in self._known.values()))

    def finish(self, not_done: Set[Request | None]) -> list[str]:
        """Let go of those that are done; return their fingerprints."""
        waiting = {request for *_, request in self._waiting}
        done = [self._known.pop(each) for each in self._known.keys() - waiting - not_done]
        return [fingerprint for fingerprint, _ in done if fingerprint]
