"""A queue of requests in Redis, of which each crawler holds some on lease.

Whatever a crawler does to the queue is one *turn*: it puts in what is new, says what it still holds
and what is done, renews its lease, and takes the next requests. A turn is one script, which Redis
runs as a whole or not at all, so that every moment of the queue, and of the log that Redis writes,
is a state without losses: what a page leads to is there before the page is done, and a request is
waiting, or in one crawler's hand, or done. What a crawler held whose lease ran out goes back to the
queue with anybody's next turn, and so does what its answer said when the answer was lost: a crawler
holds what it says it holds.

That is at least once: a crawler that is killed after its page was stored and before its next turn
leaves that page to be visited again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["LeasedQueue", "NewRequest", "Turn"]

_TURN = """
local waiting, filter, crawlers, data, serial, hands = unpack(KEYS)
local me, lease, want, clear = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
local time = redis.call('TIME')
local now = time[1] + time[2] / 1000000
local place = 5

local function list()
    local length, found = tonumber(ARGV[place]), {}
    for i = 1, length do found[i] = ARGV[place + i] end
    place = place + length + 1
    return found
end

local function back(hand, token, score)
    redis.call('ZREM', hand, token)
    redis.call('ZADD', waiting, score, token)
end

local new, done, held = list(), list(), {}
for _, token in ipairs(list()) do held[token] = true end

local filtered = 0
for i = 1, #new, 3 do
    local fingerprint, score, request = new[i], new[i + 1], new[i + 2]
    if fingerprint ~= '' and redis.call('SADD', filter, fingerprint) == 0 then
        filtered = filtered + 1
    elseif request ~= '' then
        local number = redis.call('INCR', serial)
        local token = string.format('%010d%06d-%012d', time[1], time[2], number)
        redis.call('HSET', data, token, request)
        redis.call('ZADD', waiting, score, token)
    end
end

local mine = hands .. me
for _, token in ipairs(done) do
    if redis.call('ZREM', mine, token) + redis.call('ZREM', waiting, token) > 0 then
        redis.call('HDEL', data, token)
    end
end
local hand = redis.call('ZRANGE', mine, 0, -1, 'WITHSCORES')
for i = 1, #hand, 2 do
    if not held[hand[i]] then back(mine, hand[i], hand[i + 1]) end
end

local recovered = 0
for _, crawler in ipairs(redis.call('ZRANGEBYSCORE', crawlers, '-inf', now)) do
    if crawler ~= me then
        local lost = redis.call('ZRANGE', hands .. crawler, 0, -1, 'WITHSCORES')
        for i = 1, #lost, 2 do
            back(hands .. crawler, lost[i], lost[i + 1])
            recovered = recovered + 1
        end
        redis.call('ZREM', crawlers, crawler)
    end
end

if lease > 0 then
    redis.call('ZADD', crawlers, now + lease, me)
else
    redis.call('ZREM', crawlers, me)
end

local taken = {}
if want > 0 then
    local popped = redis.call('ZPOPMIN', waiting, want)
    for i = 1, #popped, 2 do
        redis.call('ZADD', mine, popped[i + 1], popped[i])
        taken[#taken + 1] = popped[i]
        taken[#taken + 1] = redis.call('HGET', data, popped[i]) or ''
    end
end

local others, theirs = 0, 0
for _, crawler in ipairs(redis.call('ZRANGE', crawlers, 0, -1)) do
    if crawler ~= me then
        others = others + 1
        theirs = theirs + redis.call('ZCARD', hands .. crawler)
    end
end
local left = redis.call('ZCARD', waiting)
if clear == '1' and others == 0 and left == 0 and redis.call('ZCARD', mine) == 0 then
    redis.call('DEL', filter, serial, data)
end
return {taken, filtered, recovered, left, others, theirs}
"""
"""Redis 5 or newer. Tokens go up: of one priority the first in is the first out. A Redis that is
killed may forget its last second, and with it how far it had counted; a crawler that is done with
a forgotten request must not take away another one that got its number, hence the time. Times are
those of Redis, whatever the clocks of the crawlers say. The names of the hands are made here, which
a Redis *cluster* does not allow."""


@dataclass(frozen=True, slots=True)
class NewRequest:
    """A request to put into the queue.

    Attributes
    ----------
    fingerprint
        What the filter of duplicates knows it by; empty: it is not filtered.
    priority
        Higher ones come first.
    data
        The request; empty: only the filter is told.
    """

    fingerprint: str
    priority: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Turn:
    """What a turn brought.

    Attributes
    ----------
    taken
        Tokens and data of the requests that are now in this crawler's hand.
    filtered
        How many of the new requests were known.
    recovered
        Requests that were taken back from crawlers whose lease had run out.
    waiting
        Requests that wait in the queue.
    others
        Other crawlers with a lease.
    theirs
        Requests in their hands.
    """

    taken: list[tuple[str, bytes]]
    filtered: int
    recovered: int
    waiting: int
    others: int
    theirs: int


class LeasedQueue:
    """The queue as one crawler sees it.

    Parameters
    ----------
    server
        Connection to Redis.
    key
        Begins the names of all keys.
    filter_key
        The set of fingerprints.
    crawler
        Names this crawler among all.
    """

    def __init__(self, server: Any, key: str, filter_key: str, crawler: str) -> None:
        self._server = server
        self._script = server.register_script(_TURN)
        names = (":waiting", None, ":crawlers", ":data", ":serial", ":hand:")
        self._keys = [filter_key if name is None else key + name for name in names]
        self._crawler = crawler

    def turn(
        self,
        *,
        lease: float,
        new: Iterable[NewRequest] = (),
        done: Iterable[str] = (),
        held: Iterable[str] = (),
        want: int = 0,
        clear: bool = False,
    ) -> Turn:
        """Do everything at once.

        Parameters
        ----------
        lease
            Seconds for which the crawler holds what it holds; 0: it ends, and holds nothing.
        new
            Requests for the queue.
        done
            Tokens of requests that are done.
        held
            Tokens of those that the crawler goes on with. What it took earlier and is in neither
            list goes back to the queue.
        want
            How many requests to take.
        clear
            Forget which requests were seen, if nothing is waiting and nobody else at work.
        """
        fresh = [part for each in new for part in (each.fingerprint, -each.priority, each.data)]
        finished, kept = list(done), list(held)
        arguments = [
            *(self._crawler, lease, want, int(clear)),
            *(len(fresh), *fresh),
            *(len(finished), *finished),
            *(len(kept), *kept),
        ]
        taken, *counts = self._script(keys=self._keys, args=arguments)
        pairs = zip(taken[::2], taken[1::2], strict=True)
        return Turn([(token.decode(), data) for token, data in pairs], *counts)

    def forget(self) -> None:
        """Empty queue and filter; what others hold is lost to them."""
        hands = self._server.scan_iter(match=f"{self._keys[-1]}*")
        self._server.delete(*self._keys[:-1], *hands)
