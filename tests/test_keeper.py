"""The process between browser and network: which addresses it lets through, and what it ends."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.crawling import crawl
from tests.site import Site
from tests.texts import prose
from websegment_scrapy.config import Config
from websegment_scrapy.crawl.keeping import Keeper
from websegment_scrapy.exceptions import ConfigError
from websegment_scrapy.keeper import names
from websegment_scrapy.keeper.addresses import PrivateHosts, is_private
from websegment_scrapy.keeper.gate import Door, Gate, Refused
from websegment_scrapy.keeper.processes import descendants
from websegment_scrapy.keeper.watch import BUSY_SECONDS, Watch

PRIVATE = [
    "127.0.0.1",
    "10.1.2.3",
    "172.31.255.255",
    "192.168.0.1",
    "169.254.169.254",
    "100.100.100.200",
    "0.0.0.0",
    "255.255.255.255",
    "224.0.0.1",
    "198.18.0.1",
    "::1",
    "::",
    "fe80::1",
    "fd00:ec2::254",
    "ff02::1",
    "::ffff:127.0.0.1",
    "::ffff:169.254.169.254",
    "::127.0.0.1",
    "64:ff9b::7f00:1",
    "2002:7f00:1::",
    "2001::1",
]
PUBLIC = ["1.1.1.1", "8.8.8.8", "172.32.0.1", "193.0.0.1", "2606:4700::1111", "64:ff9b::808:808"]


@pytest.mark.parametrize("address", PRIVATE)
def test_private_addresses_are_refused_in_every_form(address):
    assert is_private(ipaddress.ip_address(address))
    assert not PrivateHosts().allows("some.host", address)


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_not(address):
    assert PrivateHosts().allows("some.host", address)


@given(st.ip_addresses())
def test_what_python_calls_private_or_special_is_refused(address):
    special = address.is_loopback or address.is_link_local or address.is_multicast
    if special or address.is_unspecified:
        assert is_private(address)
    if isinstance(address, ipaddress.IPv4Address) and (address.is_private or address.is_reserved):
        assert is_private(address)
        assert is_private(ipaddress.IPv6Address(f"::ffff:{address}"))


def test_hosts_are_named_by_name_address_or_network():
    private = PrivateHosts(["Intranet.Example.", "127.0.0.1", "10.0.0.0/8", "fd00::/8"])
    assert private.allows("intranet.example", "192.168.1.1")
    assert not private.allows("www.intranet.example", "192.168.1.1")
    assert private.allows("x.example", "127.0.0.1")
    assert private.allows("x.example", "::ffff:127.0.0.1")
    assert not private.allows("x.example", "127.0.0.2")
    assert private.allows("x.example", "10.200.0.1")
    assert private.allows("x.example", "fd12::1")
    assert not private.allows("x.example", "fe80::1%eth0")


@pytest.mark.parametrize("entry", ["", "http://a.example/", "10.0.0.0/99", "a b", "-x-", "a\nb"])
def test_what_is_no_host_is_an_error_that_names_it(entry):
    with pytest.raises(ConfigError, match="WEBSEGMENT_PRIVATE_HOSTS has"):
        Config(private_hosts=(entry,))


def test_the_setting_is_a_list_or_text_with_commas():
    settings = {"WEBSEGMENT_PRIVATE_HOSTS": "localhost, 10.0.0.0/8"}
    assert Config.from_settings(settings).private_hosts == ("localhost", "10.0.0.0/8")
    with pytest.raises(ConfigError, match="it takes a list"):
        Config.from_settings({"WEBSEGMENT_PRIVATE_HOSTS": 7})


def socks(port: int, host: bytes, target: int, *, version: int = 5, command: int = 1) -> bytes:
    """Ask the gate for a tunnel and, when it is open, for a page; return what comes."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
        client.sendall(bytes((version, 1, 0)))
        if client.recv(2) != b"\5\0":
            return b"closed"
        address = bytes((3, len(host))) + host
        client.sendall(bytes((5, command, 0)) + address + struct.pack(">H", target))
        answer = client.recv(10)
        if answer[:2] != b"\5\0":
            return answer
        client.sendall(b"GET / HTTP/1.0\r\n\r\n")
        received = b""
        while data := client.recv(65536):
            received += data
        return received


@contextmanager
def gate(**door: object) -> Iterator[tuple[int, list[tuple[str, str]]]]:
    """Run a gate in a thread; yield a door's port and what was refused."""
    refused: list[tuple[str, str]] = []
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    opened = Gate(lambda host, address: refused.append((host, address)))
    given = {"private": PrivateHosts(), **door}
    port = asyncio.run_coroutine_threadsafe(opened.listen(Door(**given)), loop).result(10)
    try:
        yield port, refused
    finally:
        loop.call_soon_threadsafe(opened.close)

        async def settle() -> None:
            await asyncio.sleep(0.05)

        asyncio.run_coroutine_threadsafe(settle(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@pytest.mark.parametrize(
    "host", [b"127.0.0.1", b"localhost", b"127.1", b"0x7f.1", b"2130706433", b"::1", b"0.0.0.0"]
)
def test_the_gate_refuses_every_way_to_write_this_machine(host):
    with Site({"/": "<p>inside"}) as site, gate() as (port, refused):
        answer = socks(port, host, site.port)
        assert answer[:2] in (b"\5\2", b"\5\4"), "not allowed, or no such host"
        assert site.requests == []
        assert refused or answer[1] == 4


def test_the_gate_lets_through_what_is_named_and_closes_what_is_not_socks():
    with (
        Site({"/": "<p>inside"}) as site,
        gate(private=PrivateHosts(["127.0.0.1"])) as (port, _),
    ):
        assert b"<p>inside" in socks(port, b"127.0.0.1", site.port)
        assert socks(port, b"127.0.0.1", 1)[:2] == b"\5\1", "nobody listens there"
        assert socks(port, b"127.0.0.1", site.port, version=4) == b"closed"
        assert socks(port, b"127.0.0.1", site.port, command=2)[:2] == b"\5\7"
        assert socks(port, b"no-such-host.invalid", 80)[:2] == b"\5\4"
        with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
            client.sendall(b"GET http://127.0.0.1/ HTTP/1.1\r\n\r\n")
            assert client.recv(100) == b""


def test_a_closed_door_lets_nothing_through():
    with (
        Site({"/": "<p>x"}) as site,
        gate(private=PrivateHosts(["127.0.0.1"]), closed=True) as (port, _),
    ):
        assert socks(port, b"127.0.0.1", site.port)[:2] == b"\5\2"
        assert site.requests == []


def test_a_name_is_resolved_once_and_that_address_is_the_one_connected_to(monkeypatch):
    """DNS rebinding: a public address at the first look, this machine at the second."""
    answers = [[(2, 1, 6, "", ("192.0.66.1", 80))], [(2, 1, 6, "", ("127.0.0.1", 80))]]
    connected: list[str] = []

    async def rebinding(host: str, port: int) -> None:
        opened = Gate(lambda *_: None)
        loop = asyncio.get_running_loop()

        async def resolve(*_: object, **__: object) -> object:
            return answers.pop(0)

        async def connect(address: str, port: int, **_: object) -> object:
            connected.append(address)
            raise OSError

        monkeypatch.setattr(loop, "getaddrinfo", resolve)
        monkeypatch.setattr(asyncio, "open_connection", connect)
        with pytest.raises(OSError):  # noqa: PT011 - the connection is not made in this test
            await opened._connect(Door(PrivateHosts()), host, port)

    asyncio.run(rebinding("rebinding.example", 80))
    assert connected == ["192.0.66.1"]
    assert len(answers) == 1, "looked up once"


def connecting(monkeypatch, resolve, ask):
    """Run ``ask(connect)`` with a gate whose resolver is `resolve`; return the looked up names."""
    asked: list[str] = []

    async def run() -> None:
        gate = Gate(lambda *_: None)

        async def look(host: str, *_: object, **__: object) -> object:
            asked.append(host)
            return await resolve(host, len(asked))

        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", look)

        async def connect(host: str) -> BaseException:
            with pytest.raises((OSError, Refused)) as caught:
                await gate._connect(Door(PrivateHosts()), host, 80)
            return caught.value

        await ask(connect)

    asyncio.run(run())
    return asked


def test_a_page_with_many_images_of_a_host_that_is_gone_waits_for_one_look_up(monkeypatch):
    async def resolve(host: str, number: int) -> object:
        await asyncio.sleep(0.01)
        raise socket.gaierror(socket.EAI_NONAME, "no such name")

    async def ask(connect):
        await asyncio.gather(*(connect("gone.example") for _ in range(50)))
        await connect("gone.example")
        await connect("other.example")

    assert connecting(monkeypatch, resolve, ask) == ["gone.example", "other.example"]


def test_a_name_that_is_gone_is_soon_asked_for_again(monkeypatch):
    monkeypatch.setattr(names, "NOWHERE_SECONDS", 0.05)

    async def resolve(host: str, number: int) -> object:
        raise socket.gaierror(socket.EAI_NONAME, "no such name")

    async def ask(connect):
        await connect("gone.example")
        await asyncio.sleep(0.1)
        await connect("gone.example")

    assert len(connecting(monkeypatch, resolve, ask)) == 2


def test_a_resolver_that_did_not_answer_is_asked_again_at_once(monkeypatch):
    async def resolve(host: str, number: int) -> object:
        raise socket.gaierror(socket.EAI_AGAIN, "temporary failure")

    async def ask(connect):
        await connect("there.example")
        await connect("there.example")

    assert len(connecting(monkeypatch, resolve, ask)) == 2


def test_an_address_is_never_remembered(monkeypatch):
    async def resolve(host: str, number: int) -> object:
        return [(2, 1, 6, "", ("127.0.0.1", 0))]

    async def ask(connect):
        assert isinstance(await connect("rebinding.example"), Refused)
        assert isinstance(await connect("rebinding.example"), Refused)

    assert len(connecting(monkeypatch, resolve, ask)) == 2


def test_what_is_remembered_of_names_is_limited(monkeypatch):
    monkeypatch.setattr(names, "MAX_REMEMBERED", 3)

    async def resolve(host: str, number: int) -> object:
        raise socket.gaierror(socket.EAI_NONAME, "no such name")

    async def ask(connect):
        for number in (0, 1, 2, 3, 3, 0):
            await connect(f"{number}.example")

    asked = connecting(monkeypatch, resolve, ask)
    assert asked == ["0.example", "1.example", "2.example", "3.example", "0.example"]


def test_one_that_gives_up_waiting_leaves_the_look_up_to_the_others(monkeypatch):
    async def resolve(host: str, number: int) -> object:
        await asyncio.sleep(0.2)
        raise socket.gaierror(socket.EAI_NONAME, "no such name")

    async def ask(connect):
        first = asyncio.create_task(connect("slow.example"))
        second = asyncio.create_task(connect("slow.example"))
        await asyncio.sleep(0.05)
        first.cancel()
        assert isinstance(await second, socket.gaierror)
        alone = asyncio.create_task(connect("left.example"))
        await asyncio.sleep(0.05)
        alone.cancel()
        await asyncio.gather(alone, return_exceptions=True)
        await connect("left.example")

    asked = connecting(monkeypatch, resolve, ask)
    assert asked == ["slow.example", "left.example", "left.example"]


def test_the_users_own_proxy_is_behind_the_gate():
    """Scrapy's proxy holds in the browser, with its password, and gives it nothing private."""
    seen: list[bytes] = []

    def serve(server: socket.socket, target: int) -> None:
        while True:
            try:
                client, _ = server.accept()
            except OSError:
                return
            head = client.recv(4096)
            seen.append(head)
            far = socket.create_connection(("127.0.0.1", target))
            if head.startswith(b"CONNECT"):
                client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            else:
                far.sendall(head)
            for one, other in ((client, far), (far, client)):
                threading.Thread(target=pump, args=(one, other), daemon=True).start()

    def pump(one: socket.socket, other: socket.socket) -> None:
        try:
            while data := one.recv(65536):
                other.sendall(data)
        except OSError:
            pass
        finally:
            other.close()
            one.close()

    body = f"<html><head><title>t</title></head><body><p>{prose(3, 60)}</p></body></html>"
    with (
        Site({"/": body, "/robots.txt": ""}) as site,
        socket.create_server(("127.0.0.1", 0)) as server,
    ):
        threading.Thread(target=serve, args=(server, site.port), daemon=True).start()
        proxy = f"http://user:secret@127.0.0.1:{server.getsockname()[1]}"
        done = crawl(["http://behind-the-proxy.invalid/"], meta={"proxy": proxy})
        inside = crawl(["http://127.0.0.2/"], meta={"proxy": proxy})
        sent = site.requests[0][2]
    assert done.result("/")["rendered"], done.log
    assert seen[0].startswith(b"CONNECT behind-the-proxy.invalid:80 ")
    assert b"Proxy-Authorization: Basic dXNlcjpzZWNyZXQ=" in seen[0]
    assert "secret" not in str(sent)
    assert "Proxy-Authorization" not in sent
    assert inside.items == []
    assert not any(b"127.0.0.2" in head for head in seen)


def test_the_keeper_answers_tells_and_ends_with_its_crawl():
    async def use() -> tuple[bool, bool, bool, object]:
        keeper = await Keeper.start(["127.0.0.1"], 1024)
        allowed = await keeper.is_allowed("http://127.0.0.1/")
        refused = await keeper.is_allowed("http://127.0.0.2:8080/x")
        again = await keeper.listen() == await keeper.listen()
        folder, told = keeper.folder, keeper.refused_address("http://127.0.0.2/")
        await keeper.close()
        assert not folder.exists()
        return allowed, refused, again, told

    assert asyncio.run(use()) == (True, False, True, "127.0.0.2")


def test_a_page_that_never_stops_computing_gives_way_to_the_others():
    spin = "import sys\nwhile len(sys.argv) > 1: pass"
    wait = "import time\ntime.sleep(60)"
    busy, idle = (
        subprocess.Popen([sys.executable, "-c", code, "--type=renderer"]) for code in (spin, wait)
    )
    before = os.getpriority(os.PRIO_PROCESS, 0)
    try:
        watch = Watch(os.getpid(), 2**30, 2, lambda *_: None)
        watch.look()
        assert os.getpriority(os.PRIO_PROCESS, busy.pid) == before
        deadline = time.monotonic() + 60
        while os.getpriority(os.PRIO_PROCESS, busy.pid) == before:
            assert time.monotonic() < deadline
            time.sleep(0.1)
            watch.look()
        used = psutil.Process(busy.pid).cpu_times()
        assert used.user + used.system >= BUSY_SECONDS
        assert os.getpriority(os.PRIO_PROCESS, busy.pid) == 19
        assert os.getpriority(os.PRIO_PROCESS, idle.pid) == before
    finally:
        for process in (busy, idle):
            process.kill()
            process.wait()


def test_descendants_are_found_with_their_memory():
    code = "import time; x = bytearray(50_000_000); print('ready', flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as child:
        try:
            assert child.stdout is not None
            child.stdout.readline()
            (found,) = (each for each in descendants(os.getpid()) if each.pid == child.pid)
            assert found.kind == "other"
            assert found.own > 45_000_000
        finally:
            child.kill()
