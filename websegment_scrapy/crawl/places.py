"""How many pages may be open at once: as many as there are places, and these follow the load.

A page that is loaded computes at times and waits for the network at others. Few at once leave the
processors idle on slow sites, many at once slow each other down until they run out of time. So
there are few places to begin with; while all are taken and processors are idle there is another
one, and while none is idle there is one less, down to the few. What is idle, Linux says for the
whole machine; elsewhere their number stays.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

__all__ = ["Places"]

LOOK_SECONDS = 0.5
"""Between two looks: the kernel counts idle time in hundredths of a second of each processor."""

IDLE, BUSY = 0.25, 0.05
"""Share of idle processor time above which there is another place, and below which one less.
An open page takes up to one processor: between the two, another one would be too many."""

FREE_MIB = 1024
"""Memory that must be free for another place; a page takes about a tenth of that."""


class Places:
    """Places for open pages, which are taken in the order in which they were asked for.

    Parameters
    ----------
    least, most
        Limits of their number.
    stat, memory
        Linux's files about the machine.
    """

    def __init__(
        self,
        least: int,
        most: int,
        *,
        stat: Path = Path("/proc/stat"),
        memory: Path = Path("/proc/meminfo"),
    ) -> None:
        self._least = min(least, most)
        self.most = most
        self._files = stat, memory
        self.number = self._least
        self._taken = 0
        self._free = asyncio.Semaphore(self._least)
        self._waiting = 0
        self._next_look: asyncio.TimerHandle | None = None
        self._last: tuple[int, int] | None = None
        self._one_less = False
        self._held = False
        self._alone = asyncio.Lock()

    @property
    def free(self) -> int:
        """How many nobody has."""
        return self.number - self._taken

    async def take(self) -> None:
        """Wait for a place."""
        self._waiting += 1
        self._look_later()
        try:
            await self._free.acquire()
        finally:
            self._waiting -= 1
        self._taken += 1

    async def take_all(self, seconds: float) -> int:
        """Wait for all places, in vain for those that do not come free in `seconds`.

        Returns how many were taken, at least one.
        """
        taken = 0
        try:
            async with self._alone:  # two that wait for each other's places would wait for ever
                self._held = True  # there are no more and no fewer meanwhile
                await self.take()
                taken = 1
                with suppress(TimeoutError):
                    async with asyncio.timeout(seconds):
                        while taken < self.number:
                            await self.take()
                            taken += 1
        except BaseException:
            self.give_back(taken)
            raise
        finally:
            self._held = False
        return taken

    def give_back(self, places: int = 1) -> None:
        """Give places back."""
        for _ in range(places):
            self._taken -= 1
            if self._one_less and not self._held and self.number > self._least:
                self._one_less = False
                self.number -= 1
            else:
                self._free.release()

    def _look_later(self) -> None:
        if self._next_look is None and self.most > self._least:
            loop = asyncio.get_running_loop()
            self._next_look = loop.call_later(LOOK_SECONDS, self._look)

    def _look(self) -> None:
        """Have one place more or less, as long as anybody waits."""
        self._next_look = None
        now = _times(self._files[0])
        before, self._last = self._last, now
        if not self._waiting:
            self._last = None  # what was idle in between says nothing
            return
        self._look_later()
        if now is None or before is None or now[1] <= before[1]:
            return
        idle = (now[0] - before[0]) / (now[1] - before[1])
        self._one_less = idle < BUSY
        if (
            idle > IDLE
            and not self._held
            and self._taken >= self.number
            and self.number < self.most
            and _free_mib(self._files[1]) > FREE_MIB
        ):
            self.number += 1
            self._free.release()


def _times(stat: Path) -> tuple[int, int] | None:
    """Return the processors' idle time and all their time, or ``None`` where nothing says so."""
    try:
        with stat.open(encoding="ascii") as lines:
            times = [int(each) for each in lines.readline().split()[1:9]]
    except (OSError, ValueError):
        return None
    return (times[3], sum(times)) if len(times) == 8 else None


def _free_mib(memory: Path) -> float:
    try:
        with memory.open(encoding="ascii") as lines:
            kib = next((line.split()[1] for line in lines if line.startswith("MemAvailable:")), "0")
    except OSError:
        return 0.0
    return int(kib) / 1024
