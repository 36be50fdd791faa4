"""Which addresses a page may reach: public ones, and the private ones that the user names.

A page that a stranger wrote runs on a machine inside somebody's network. Without this it could
read the router's pages, the cloud's metadata service (169.254.169.254) or a database's console.
"""

from __future__ import annotations

import ipaddress
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["PrivateHosts", "host_name", "is_private"]

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

# IANA's registries of special-purpose addresses (RFC 6890 and its updates): all that is not
# globally reachable, written out because `is_global` differs between versions of Python.
_PRIVATE: tuple[Network, ...] = tuple(
    ipaddress.ip_network(text)
    for text in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
        "2001::/23",
        "2001:db8::/32",
        "3fff::/20",
    )
)
_GLOBAL = ipaddress.ip_network("2000::/3")  # all of IPv6 that IANA has given out for the public
_NAT64 = ipaddress.ip_network("64:ff9b::/96")  # RFC 6052: the last 32 bits are an IPv4 address

_NAME = re.compile(r"[a-z0-9_](?:[a-z0-9_.-]{0,251}[a-z0-9_])?")


def is_private(address: Address) -> bool:
    """Say whether an address, or one that is written inside of it, is not the public network's."""
    inner = _embedded(address)
    if inner is not None:
        return is_private(inner)
    if address.version == 6 and address not in _GLOBAL:
        return True
    return any(address in network for network in _PRIVATE if network.version == address.version)


def _embedded(address: Address) -> ipaddress.IPv4Address | None:
    """Return the IPv4 address that an IPv6 address leads to (mapped, 6to4, NAT64)."""
    if isinstance(address, ipaddress.IPv4Address):
        return None
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour


def host_name(host: str) -> str:
    """Return a host's name as it is compared: small letters, ASCII, no brackets, no last dot."""
    host = host.strip().strip("[]").rstrip(".").lower()
    if not host.isascii():
        try:
            host = host.encode("idna").decode("ascii")
        except UnicodeError:
            return ""
    return host


class PrivateHosts:
    """The private hosts that may be reached all the same.

    Parameters
    ----------
    entries
        Host names, addresses, or networks in CIDR form. A name stands for whatever it resolves
        to, but not for its subdomains.

    Raises
    ------
    ValueError
        An entry is none of these; the message is that entry.
    """

    def __init__(self, entries: Iterable[str] = ()) -> None:
        names: set[str] = set()
        networks: list[Network] = []
        for entry in entries:
            try:
                networks.append(ipaddress.ip_network(entry.strip().strip("[]"), strict=False))
            except ValueError:
                name = host_name(entry)
                if not _NAME.fullmatch(name):
                    raise ValueError(entry) from None
                names.add(name)
        self.names = frozenset(names)
        self.networks = tuple(networks)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PrivateHosts):
            return NotImplemented
        return (self.names, self.networks) == (other.names, other.networks)

    def __hash__(self) -> int:
        return hash((self.names, self.networks))

    def allows(self, host: str, address: str) -> bool:
        """Say whether `host`, which resolved to `address`, may be connected to at that address."""
        try:
            found = ipaddress.ip_address(address.partition("%")[0])
        except ValueError:
            return False
        if not is_private(found) or host_name(host) in self.names:
            return True
        candidates = [each for each in (found, _embedded(found)) if each is not None]
        return any(
            each in network
            for each in candidates
            for network in self.networks
            if network.version == each.version
        )
