"""How many pages may be open at once: what the machine says decides."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from websegment_scrapy.crawl import places
from websegment_scrapy.crawl.places import Places

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "LOOK_SECONDS", 0.01)


class Machine:
    """The two files that Linux has about a machine, of which every look at one finds more time."""

    def __init__(self, folder: Path) -> None:
        self.stat, self.memory = folder / "stat", folder / "meminfo"
        self.idle = self.busy = 0
        self.says(free_mib=8192)
        self.passes(1, 1)

    def says(self, *, free_mib: int) -> None:
        self.memory.write_text(f"MemTotal: 16777216 kB\nMemAvailable: {free_mib * 1024} kB\n")

    def passes(self, idle: int, busy: int) -> None:
        self.idle, self.busy = self.idle + idle, self.busy + busy
        self.stat.write_text(f"cpu  {self.busy} 0 0 {self.idle} 0 0 0 0 0 0\ncpu0 0 0 0 0\n")

    def places(self, least: int, most: int) -> Places:
        return Places(least, most, stat=self.stat, memory=self.memory)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


async def taken(places: Places, machine: Machine, wanted: int, idle: int, busy: int) -> int:
    """Return how many of so many pages are opened while time passes like this."""
    tasks = [asyncio.ensure_future(places.take()) for _ in range(wanted)]
    for _ in range(40):
        machine.passes(idle, busy)
        await asyncio.sleep(0.01)
    done = sum(task.done() for task in tasks)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return done


def test_there_are_more_while_processors_are_idle(machine: Machine) -> None:
    async def run() -> None:
        assert await taken(machine.places(2, 5), machine, 10, idle=60, busy=40) == 5

    asyncio.run(run())


@pytest.mark.parametrize(("idle", "busy"), [(20, 80), (0, 100)])
def test_a_busy_machine_has_few(machine: Machine, idle: int, busy: int) -> None:
    async def run() -> None:
        assert await taken(machine.places(2, 5), machine, 10, idle, busy) == 2

    asyncio.run(run())


def test_there_are_no_more_when_memory_is_short(machine: Machine) -> None:
    machine.says(free_mib=900)

    async def run() -> None:
        assert await taken(machine.places(2, 5), machine, 10, idle=100, busy=0) == 2

    asyncio.run(run())


@pytest.mark.parametrize("say", [lambda file: file.unlink(), lambda file: file.write_text("cpu x")])
def test_their_number_stays_where_nothing_is_known_of_the_machine(
    machine: Machine, say: Callable[[Path], object]
) -> None:
    async def run() -> None:
        given = machine.places(2, 5)
        tasks = [asyncio.ensure_future(given.take()) for _ in range(4)]
        for _ in range(20):
            say(machine.stat)
            machine.stat.touch()
            await asyncio.sleep(0.01)
        assert sum(task.done() for task in tasks) == 2
        given.give_back(2)
        await asyncio.gather(*tasks)
        assert given.free == 0

    asyncio.run(run())


def test_a_machine_that_becomes_busy_gets_back_to_few(machine: Machine) -> None:
    async def run() -> None:
        given = machine.places(2, 6)
        open_pages = await taken(given, machine, 6, idle=100, busy=0)
        assert open_pages == given.number == 6
        waiting = [asyncio.ensure_future(given.take()) for _ in range(20)]
        for _ in range(14):
            for _ in range(4):
                machine.passes(0, 100)
                await asyncio.sleep(0.01)
            given.give_back()
        await asyncio.sleep(0.01)
        assert given.number == 2
        held = given.number - given.free
        assert held <= 2 + 1, "those that are open stay open until they end"
        for task in waiting:
            task.cancel()

    asyncio.run(run())


def test_who_wants_all_gets_them_and_meanwhile_there_are_no_more(machine: Machine) -> None:
    async def run() -> None:
        given = machine.places(3, 9)
        await given.take()
        getting = asyncio.ensure_future(given.take_all(5.0))
        for _ in range(10):
            machine.passes(100, 0)
            await asyncio.sleep(0.01)
        assert not getting.done()
        given.give_back()
        assert await getting == given.number == 3
        assert given.free == 0
        given.give_back(3)
        assert await given.take_all(0.01) == 3

    asyncio.run(run())


def test_who_wants_all_gets_what_comes_free_in_time(machine: Machine) -> None:
    async def run() -> None:
        given = machine.places(3, 3)
        await given.take()
        assert await given.take_all(0.05) == 2
        given.give_back(3)
        assert given.free == 3

    asyncio.run(run())
