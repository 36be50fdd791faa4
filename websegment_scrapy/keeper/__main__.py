"""The keeper's process: ``python -m websegment_scrapy.keeper``, started by ``crawl.keeping``.

It speaks JSON lines. The first line it reads says what to keep: ``private_hosts``, ``memory`` (MiB
for a page), ``pages`` (open at once), ``crawl`` (the crawl's process), ``folder`` (the browser's
files). Then questions, answered with their ``id``: ``{"id": 1, "listen": {}}`` → ``port`` (a door;
with ``proxy``, other ``private`` hosts, or ``closed``); ``{"id": 2, "check": HOST}`` →
``allowed``; ``{"id": 3, "end": "browser"}`` → when it is ended. It tells on its own: ``refused``
(host, address), ``ended``, ``crowded`` and ``grown`` (MiB). When its input ends, the crawl is gone;
nothing else ends it (`shielding`).
"""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
import sys
from pathlib import Path
from time import monotonic
from typing import Any

from websegment_scrapy.keeper.addresses import PrivateHosts
from websegment_scrapy.keeper.gate import Door, Gate, Refused
from websegment_scrapy.keeper.processes import end, start_time
from websegment_scrapy.keeper.watch import Watch

GRACE_SECONDS = 3.0
"""The browser closes by itself when the crawl is gone; what does not is ended."""

REPEAT_SECONDS = 10.0
"""After which a refusal of the same address is told again."""

MAX_REMEMBERED = 1000


class _Keeper:
    def __init__(self, order: dict[str, Any]) -> None:
        self._folder: str = order["folder"]
        self._told: dict[str, float] = {}
        self._private = PrivateHosts(order["private_hosts"])
        self._gate = Gate(self._refused)
        self._watch = Watch(order["crawl"], order["memory"] * 2**20, order["pages"], self._measured)

    async def run(self, questions: asyncio.StreamReader) -> None:
        watching = asyncio.create_task(self._watch.run())
        asking: set[asyncio.Task[None]] = set()
        while line := await questions.readline():
            task = asyncio.create_task(self._reply(json.loads(line)))
            asking.add(task)
            task.add_done_callback(asking.discard)
        watching.cancel()
        self._gate.close()
        await self._clear_up()

    async def _reply(self, question: dict[str, Any]) -> None:
        answer: dict[str, Any] = {"id": question["id"]}
        try:
            if "listen" in question:
                answer["port"] = await self._gate.listen(self._door(**question["listen"]))
            elif "end" in question:
                self._watch.look()
                self._watch.end_browser()
            else:
                answer["allowed"] = await self._is_allowed(question["check"])
        except Exception as error:  # whoever asks must not wait for ever
            answer["error"] = f"{type(error).__name__}: {error}"
        _tell(answer)

    def _door(
        self, proxy: str | None = None, private: list[str] | None = None, closed: bool = False
    ) -> Door:
        return Door(self._private if private is None else PrivateHosts(private), proxy, closed)

    async def _is_allowed(self, host: str) -> bool:
        try:
            await self._gate.addresses(self._door(), host)
        except Refused:
            return False
        except (socket.gaierror, UnicodeError):
            return True  # it leads nowhere
        return True

    def _refused(self, host: str, address: str) -> None:
        now = monotonic()
        if self._told.get(host, -REPEAT_SECONDS) + REPEAT_SECONDS > now:
            return
        if len(self._told) >= MAX_REMEMBERED:
            self._told.clear()
        self._told[host] = now
        _tell({"refused": [host, address]})

    @staticmethod
    def _measured(what: str, mib: int) -> None:
        _tell({what: mib})

    async def _clear_up(self) -> None:
        """End what is left of the browser and remove its files."""
        deadline = monotonic() + GRACE_SECONDS
        left = self._watch.browser
        while left and monotonic() < deadline:
            await asyncio.sleep(0.05)
            left = [each for each in left if start_time(each.pid) == each.started]
        for process in left:
            end(process)
        deadline = monotonic() + GRACE_SECONDS
        while Path(self._folder).exists() and monotonic() < deadline:
            shutil.rmtree(self._folder, ignore_errors=True)  # the driver clears up there as well
            await asyncio.sleep(0.05)


def _tell(what: dict[str, Any]) -> None:
    try:
        sys.stdout.write(json.dumps(what) + "\n")
        sys.stdout.flush()
    except (OSError, ValueError):
        sys.stdout = open("/dev/null", "w", encoding="ascii")  # noqa: PTH123, SIM115 - gone


async def _main() -> None:
    loop = asyncio.get_running_loop()
    questions = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(questions), sys.stdin)
    order = await questions.readline()
    if order:
        await _Keeper(json.loads(order)).run(questions)


if __name__ == "__main__":
    asyncio.run(_main())
