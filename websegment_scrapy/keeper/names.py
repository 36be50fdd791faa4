"""Names and their addresses: each is looked up once for all who wait for it.

A browser that resolves names itself shares look-ups and remembers what leads nowhere. Behind a
SOCKS proxy it does neither, and asks anew for every image of a host that is gone; where a resolver
loses an answer now and then, each such loss costs five seconds (``timeout`` in resolv.conf(5)), and
a page with a hundred of these images has several of them.

What is remembered can open nothing: an address is never remembered, so what is connected to was
looked up and checked for that connection or for others that wait at the same time; and only where
the name server says that there is no such name is that remembered, not where it does not answer. A
page cannot bring that about for a name that is not its own, and it lasts no longer than
`NOWHERE_SECONDS`.
"""

from __future__ import annotations

import asyncio
import socket
from dataclasses import dataclass
from time import monotonic

__all__ = ["Names"]

NOWHERE_SECONDS = 10.0
"""How long a name that does not exist is not looked up again: about as long as a page takes. Name
servers' own answers of this kind hold for minutes (RFC 2308, section 5)."""

MAX_REMEMBERED = 1000

_NO_SUCH_NAME = frozenset(
    getattr(socket, code) for code in ("EAI_NONAME", "EAI_NODATA") if hasattr(socket, code)
)


@dataclass(slots=True)
class _Lookup:
    task: asyncio.Task[list[str]]
    waiting: int = 0


class Names:
    """Looks up names for the tunnels of a gate."""

    def __init__(self) -> None:
        self._under_way: dict[str, _Lookup] = {}
        self._nowhere: dict[str, tuple[float, int | None]] = {}

    async def addresses(self, host: str) -> list[str]:
        """Return the addresses of a host, from a look-up that others may wait for too.

        Raises
        ------
        socket.gaierror
            It has none, or had none a moment ago.
        """
        until, code = self._nowhere.get(host, (0.0, None))
        if monotonic() < until:
            raise socket.gaierror(code, f"{host} does not exist")
        lookup = self._under_way.get(host)
        if lookup is None:
            lookup = self._under_way[host] = _Lookup(asyncio.create_task(look_up(host)))
        lookup.waiting += 1
        try:
            return await asyncio.shield(lookup.task)
        except socket.gaierror as error:
            if error.errno in _NO_SUCH_NAME:
                self._remember(host, error.errno)
            raise
        finally:
            lookup.waiting -= 1
            if lookup.task.done() or not lookup.waiting:  # nobody needs it any more
                lookup.task.cancel()
                if self._under_way.get(host) is lookup:
                    del self._under_way[host]

    def _remember(self, host: str, code: int | None) -> None:
        if host not in self._nowhere and len(self._nowhere) >= MAX_REMEMBERED:
            del self._nowhere[next(iter(self._nowhere))]  # the oldest
        self._nowhere.pop(host, None)
        self._nowhere[host] = monotonic() + NOWHERE_SECONDS, code


async def look_up(host: str) -> list[str]:
    """Ask the system's resolver for the addresses of a host, each of them once."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))
