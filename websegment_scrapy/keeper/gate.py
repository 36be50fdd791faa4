"""The gate: a SOCKS5 proxy (RFC 1928) on loopback, the browser's only way to the network.

Why it cannot be got round: Chromium sends every connection of every kind (pages, frames, images,
``fetch``, WebSockets, workers, prefetches, each hop of a redirect) to its proxy, as a tunnel to a
host's name and port; its own resolver is switched off, and so are the protocols that use no proxy
(WebRTC's UDP, QUIC). The gate resolves the name itself, checks the address and connects to that
same address: between check and connection there is no second look-up that could answer otherwise
(DNS rebinding). It reads nothing of what passes, so there is nothing in it to be confused.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import ipaddress
import socket
import ssl
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from websegment_scrapy.keeper.names import Names, look_up

if TYPE_CHECKING:
    from collections.abc import Callable

    from websegment_scrapy.keeper.addresses import PrivateHosts

__all__ = ["Door", "Gate", "Refused"]

CHUNK = 2**18
HANDSHAKE_SECONDS = 10.0
CONNECT_SECONDS = 20.0
MAX_TUNNELS = 1024
"""Tunnels open at once: a page that opens more waits for its own to close."""

_VERSION, _NO_AUTHENTICATION, _CONNECT = 5, 0, 1
_IPV4, _NAME, _IPV6 = 1, 3, 4
_DONE, _FAILED, _NOT_ALLOWED, _UNREACHABLE, _NOT_SUPPORTED = 0, 1, 2, 4, 7
_NOWHERE = bytes((_IPV4, 0, 0, 0, 0, 0, 0))


class Refused(Exception):
    """A host leads to a private address that nobody named."""


@dataclass(frozen=True, slots=True)
class Door:
    """A way through the gate.

    Parameters
    ----------
    private
        What may be reached although it is private.
    proxy
        The user's own HTTP proxy behind this door, ``http://user:password@host:port``.
    closed
        Whether nothing at all may be reached.
    """

    private: PrivateHosts
    proxy: str | None = None
    closed: bool = False


class Gate:
    """The tunnels of one browser, through one or more doors.

    Parameters
    ----------
    report
        Called with host and address of each tunnel that was refused.
    """

    def __init__(self, report: Callable[[str, str], None]) -> None:
        self._report = report
        self._tunnels = asyncio.Semaphore(MAX_TUNNELS)
        self._names = Names()
        self._ports: dict[Door, int] = {}
        self._servers: list[asyncio.Server] = []
        self._serving: set[asyncio.Task[None]] = set()

    async def listen(self, door: Door) -> int:
        """Open a door and return its port."""
        if door not in self._ports:

            def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                # kept here: asyncio itself would let a waiting task be collected
                task = asyncio.create_task(self._serve(reader, writer, door))
                self._serving.add(task)
                task.add_done_callback(self._serving.discard)

            server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=CHUNK)
            self._servers.append(server)
            self._ports[door] = server.sockets[0].getsockname()[1]
        return self._ports[door]

    async def addresses(self, door: Door, host: str) -> list[str]:
        """Return the addresses that a host has now, all of which may be reached.

        Raises
        ------
        Refused
            One of them may not: a name that leads to both is not trusted.
        OSError
            It has none.
        """
        if door.closed:
            raise Refused(host)
        return self._checked(door, host, await look_up(host))

    def _checked(self, door: Door, host: str, addresses: list[str]) -> list[str]:
        for address in addresses:
            if not door.private.allows(host, address):
                self._report(host, address)
                raise Refused(address)
        return addresses

    async def _serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, door: Door
    ) -> None:
        try:
            async with self._tunnels:
                await self._tunnel(reader, writer, door)
        except (OSError, EOFError, ValueError, TimeoutError):
            pass  # the browser went away, or speaks something else
        finally:
            writer.transport.abort()

    async def _tunnel(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, door: Door
    ) -> None:
        async with asyncio.timeout(HANDSHAKE_SECONDS):
            host, port = await _handshake(reader, writer)
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                if door.proxy is None:
                    far = await self._connect(door, host, port)
                else:
                    far = await self._connect_by(door, door.proxy, host, port)
        except Refused:
            await _answer(writer, _NOT_ALLOWED)
            return
        except socket.gaierror:
            await _answer(writer, _UNREACHABLE)
            return
        except (OSError, EOFError, ValueError, TimeoutError):
            await _answer(writer, _FAILED)
            return
        far_reader, far_writer = far
        try:
            await _answer(writer, _DONE)
            ways = (_pump(reader, far_writer), _pump(far_reader, writer))
            await asyncio.gather(*ways)
        finally:
            far_writer.transport.abort()

    async def _connect(
        self, door: Door, host: str, port: int
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect to the first address that answers."""
        if door.closed:
            raise Refused(host)
        error: OSError | None = None
        for address in self._checked(door, host, await self._names.addresses(host)):
            try:
                return await asyncio.open_connection(address, port, limit=CHUNK)
            except OSError as failure:
                error = failure
        raise error or OSError(f"{host} has no address")

    async def _connect_by(
        self, door: Door, proxy: str, host: str, port: int
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect through the user's proxy; it resolves what this machine cannot."""
        with contextlib.suppress(socket.gaierror):
            await self.addresses(door, host)
        parts = urlsplit(proxy)
        secure = parts.scheme == "https"
        reader, writer = await asyncio.open_connection(
            parts.hostname,
            parts.port or (443 if secure else 80),
            limit=CHUNK,
            ssl=ssl.create_default_context() if secure else None,
        )
        try:
            target = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
            lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}"]
            if parts.username:
                login = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
                encoded = base64.b64encode(login.encode()).decode()
                lines.append(f"Proxy-Authorization: Basic {encoded}")
            writer.write("\r\n".join([*lines, "", ""]).encode())
            answer = await reader.readuntil(b"\r\n\r\n")
        except BaseException:
            writer.transport.abort()
            raise
        if answer.split(b" ", 2)[1:2] != [b"200"]:
            writer.transport.abort()
            raise OSError(f"the proxy does not connect to {target}")
        return reader, writer

    def close(self) -> None:
        """Close all doors and all tunnels."""
        for server in self._servers:
            server.close()
        for task in self._serving:
            task.cancel()


async def _handshake(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> tuple[str, int]:
    """Read where the browser wants to go."""
    version, methods = await reader.readexactly(2)
    if version != _VERSION or _NO_AUTHENTICATION not in await reader.readexactly(methods):
        raise ValueError("not SOCKS5 without authentication")
    writer.write(bytes((_VERSION, _NO_AUTHENTICATION)))
    _, command, _, kind = await reader.readexactly(4)
    if kind == _NAME:
        (length,) = await reader.readexactly(1)
        host = (await reader.readexactly(length)).decode("ascii")
    elif kind == _IPV4:
        host = str(ipaddress.IPv4Address(await reader.readexactly(4)))
    elif kind == _IPV6:
        host = str(ipaddress.IPv6Address(await reader.readexactly(16)))
    else:
        raise ValueError(f"address type {kind}")
    (port,) = struct.unpack(">H", await reader.readexactly(2))
    if command != _CONNECT or "\0" in host or "\r" in host or "\n" in host:
        await _answer(writer, _NOT_SUPPORTED)
        raise ValueError(f"command {command}")
    return host.strip("[]"), port


async def _answer(writer: asyncio.StreamWriter, code: int) -> None:
    writer.write(bytes((_VERSION, code, 0)) + _NOWHERE)
    await writer.drain()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass on what comes until it ends, then say so; an error ends both ways."""
    while data := await reader.read(CHUNK):
        writer.write(data)
        await writer.drain()
    with contextlib.suppress(OSError):
        if writer.can_write_eof():
            writer.write_eof()
