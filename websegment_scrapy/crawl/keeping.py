"""The crawl's side of the `keeper`: the process between the browser and everything else."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from websegment_scrapy.exceptions import WebsegmentError
from websegment_scrapy.keeper.addresses import host_name
from websegment_scrapy.keeper.processes import start_time
from websegment_scrapy.shielding import shielded

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Keeper", "KeeperError", "refusal"]

START_SECONDS = 30.0
CLOSE_SECONDS = 10.0
MAX_REMEMBERED = 1000
RECENT_SECONDS = 3.0
"""A page that crashes was ended by the keeper if that told so within this time."""

_PREFIX = "websegment-"
_MAX_PATH = 24
"""Characters of the path of temporary files: the browser makes a socket some 80 characters below
it, and the path of a socket may have 107."""


class KeeperError(WebsegmentError):
    """The keeper's process does not answer; without it nothing is rendered."""


def refusal(host: str, address: str | None) -> str:
    """Say what was refused, and the remedy."""
    where = f"{host} ({address})" if address and address != host else host
    return (
        f"{where} is a private address; if it may be reached, name it in WEBSEGMENT_PRIVATE_HOSTS"
    )


class Keeper:
    """A running keeper; made by `Keeper.start`.

    Attributes
    ----------
    folder
        Where the browser's files are; it ends with the keeper.
    refused
        Hosts that were refused, with their addresses.
    grown
        Whether the browser has grown so much that it is to be replaced.
    """

    def __init__(self, process: asyncio.subprocess.Process, folder: Path) -> None:
        self.folder = folder
        self.refused: dict[str, str] = {}
        self.grown = False
        self.refusals = 0
        self._process = process
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._asked = 0
        self._ended = (0.0, "", 0)
        self._reading = asyncio.ensure_future(self._read())

    @classmethod
    async def start(cls, private_hosts: Iterable[str], memory: int, pages: int = 1) -> Keeper:
        """Start the process.

        Parameters
        ----------
        private_hosts
            What may be reached although it is private (``WEBSEGMENT_PRIVATE_HOSTS``).
        memory
            MiB that one page may take (``WEBSEGMENT_RENDER_MEMORY``).
        pages
            Pages that may be open at once.
        """
        folder = _new_folder()
        with shielded():
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "websegment_scrapy.keeper",
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                start_new_session=True,  # it outlives the terminal, to clear up
            )
        keeper = cls(process, folder)
        keeper._send(
            {
                "private_hosts": list(private_hosts),
                "memory": memory,
                "pages": pages,
                "crawl": os.getpid(),
                "folder": str(folder),
            }
        )
        return keeper

    @property
    def is_running(self) -> bool:
        """Whether it is still there."""
        return self._process.returncode is None and not self._reading.done()

    async def listen(
        self,
        proxy: str | None = None,
        *,
        private: Iterable[str] | None = None,
        closed: bool = False,
    ) -> int:
        """Return the port of a door to the network.

        Parameters
        ----------
        proxy
            The user's own proxy behind it.
        private
            What may be reached although it is private, if not what all doors have.
        closed
            Whether nothing at all may be reached.
        """
        door: dict[str, Any] = {"proxy": proxy, "closed": closed}
        if private is not None:
            door["private"] = list(private)
        return int((await self._ask({"listen": door}))["port"])

    async def is_allowed(self, url: str) -> bool:
        """Say whether the host of a URL may be reached."""
        parts = urlsplit(url)
        if parts.hostname is None:
            return False
        return bool((await self._ask({"check": parts.hostname}))["allowed"])

    def refused_address(self, url: str) -> str | None:
        """Return the private address at which a URL's host was refused, if it was."""
        return self.refused.get(host_name(urlsplit(url).hostname or ""))

    def ended_page(self) -> tuple[str, int] | None:
        """Return why a page was ended a moment ago, and its MiB.

        It was ``"ended"`` for what it took itself, or ``"crowded"`` out for what all took.
        """
        when, why, mib = self._ended
        return (why, mib) if why and monotonic() - when < RECENT_SECONDS else None

    async def end_browser(self) -> None:
        """End the browser with all its pages, whatever it is doing."""
        await self._ask({"end": "browser"})

    async def close(self) -> None:
        """End the process; it removes the browser's files."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._process.wait()
        except TimeoutError:
            self._process.kill()
            await self._process.wait()
        with contextlib.suppress(asyncio.CancelledError):
            self._reading.cancel()
            await self._reading
        shutil.rmtree(self.folder, ignore_errors=True)

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")

    async def _ask(self, question: dict[str, Any]) -> dict[str, Any]:
        if not self.is_running:
            raise KeeperError("the browser's keeper has ended")
        self._asked += 1
        number = self._asked
        self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            self._send({"id": number, **question})
            async with asyncio.timeout(START_SECONDS):
                answer = await self._waiting[number]
        except TimeoutError:
            raise KeeperError("the browser's keeper does not answer") from None
        finally:
            del self._waiting[number]
        if "error" in answer:
            raise KeeperError(f"the browser's keeper cannot do it: {answer['error']}")
        return answer

    async def _read(self) -> None:
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            told = json.loads(line)
            if "id" in told:
                waiting = self._waiting.get(told["id"])
                if waiting is not None and not waiting.done():
                    waiting.set_result(told)
            elif "refused" in told:
                self._note_refusal(*told["refused"])
            elif "grown" in told:
                self.grown = True
            else:
                why = "ended" if "ended" in told else "crowded"
                self._ended = (monotonic(), why, told[why])
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(KeeperError("the browser's keeper has ended"))

    def _note_refusal(self, host: str, address: str) -> None:
        self.refusals += 1
        if len(self.refused) >= MAX_REMEMBERED:
            self.refused.clear()
        self.refused[host_name(host)] = address


def _new_folder() -> Path:
    """Make a folder for the browser's files, and remove those of crawls that were killed."""
    home = Path(tempfile.gettempdir())
    if len(str(home)) > _MAX_PATH and os.access("/tmp", os.W_OK):
        home = Path("/tmp")
    own = start_time(os.getpid())
    for path in home.glob(f"{_PREFIX}*") if own is not None else ():
        with contextlib.suppress(ValueError, OSError):
            pid, started = map(int, path.name.removeprefix(_PREFIX).split("-")[:2])
            if path.stat().st_uid == os.getuid() and start_time(pid) != started:
                shutil.rmtree(path, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-{own or 0}-", dir=home))
