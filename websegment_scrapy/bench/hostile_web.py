"""What the hostile bench's web is made of: origins, canaries, requests, answers and kinds of pages.

Everything is on loopback. The addresses play roles: `SITE_ADDRESSES` are public sites that the
crawl may visit, `INTERNAL_ADDRESS` is a service inside somebody's network that it must not reach,
`THIRD_ADDRESS` is a stranger that pages may load from but that must not see a request's headers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

__all__ = [
    "FORGED_PLACE",
    "HOSTILE_WORD",
    "INTERNAL_ADDRESS",
    "INTERNAL_WORDS",
    "KEY_PREFIX",
    "SITE_ADDRESSES",
    "THIRD_ADDRESS",
    "Answer",
    "Ask",
    "HostilePage",
    "Kind",
    "Origins",
    "key_of",
    "scripted",
]

SITE_ADDRESSES = ("127.0.0.1", "127.0.0.1", *(f"127.0.0.{last}" for last in range(10, 20)))
"""One for each site; the first two differ by their port only."""

INTERNAL_ADDRESS = "127.0.0.2"
THIRD_ADDRESS = "127.0.0.3"

INTERNAL_WORDS = ("zwickelquarz", "mondkalbsenf", "trollblumenamt")
"""Words that only the internal service says."""

HOSTILE_WORD = "boesewicht"
"""With the page's kind and number: a word that only this hostile page says."""

FORGED_PLACE = 7777
"""Pixels: where no part of a page is; a segment there means that a forged layout was believed."""

KEY_PREFIX = "canarykey-"


def key_of(url: str) -> str:
    """Return the secret that the spider sends to an origin, another one for each."""
    return KEY_PREFIX + urlsplit(url).netloc.replace(":", "-").replace(".", "-")


@dataclass(frozen=True, slots=True)
class Origins:
    """Where everything is: origins without a slash at the end."""

    sites: tuple[str, ...]
    internal: str
    internal_v6: str | None
    """The same service at ``[::1]``, where ``localhost`` may lead; ``None`` without IPv6."""
    third: str
    dead: str
    """Nobody listens there."""
    udp: int
    """The internal service's UDP port."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A request to a hostile page: what follows the page's own path, and how it was asked."""

    path: str
    method: str
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server sends; a body in pieces has no announced length and may have no end."""

    body: str | bytes | AsyncIterator[bytes]
    status: int = 200
    content_type: str = "text/html; charset=utf-8"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HostilePage:
    """One hostile page: its kind, its number, where it lives and whom it can name."""

    kind: Kind
    number: int
    origin: str
    origins: Origins
    victim: str
    """The URL of a normal page of another site."""
    neighbour: str
    """The path of a normal page of the same site."""

    @property
    def prefix(self) -> str:
        """The URL below which everything is the page's own."""
        return f"{self.origin}/h/{self.kind.name}/{self.number}/"

    @property
    def word(self) -> str:
        """The word that only this page says."""
        return f"{HOSTILE_WORD}{self.kind.name.replace('-', '')}n{self.number}"

    @property
    def place(self) -> str:
        """What tells the servers which page a request came from."""
        return f"{self.kind.name}/{self.number}"

    def internal(self) -> str:
        """Return the internal service's URL."""
        return f"{self.origins.internal}/c/{self.place}"

    def fill(self, text: str) -> str:
        """Put addresses and words into a template: ``@internal@`` and the like."""
        values = {
            "internal": self.internal(),
            "internal_ws": self.internal().replace("http", "ws", 1),
            "internal_port": self.origins.internal.rpartition(":")[2],
            "internal_v6": f"{self.origins.internal_v6 or self.origins.dead}/c/{self.place}",
            "v6_port": (self.origins.internal_v6 or self.origins.dead).rpartition(":")[2],
            "udp": str(self.origins.udp),
            "third": f"{self.origins.third}/c/{self.place}",
            "dead": self.origins.dead,
            "victim": self.victim,
            "neighbour": self.neighbour,
            "own": self.prefix,
            "place": self.place,
            "word": self.word,
        }
        for name, value in values.items():
            text = text.replace(f"@{name}@", value)
        return text

    def html(self, body: str = "", *, head: str = "", attributes: str = "") -> str:
        """Return a page that looks like an article and has this in it besides."""
        text = " ".join(
            f"The {self.word} of the {place} said {number} times that it is a page like any other."
            for number, place in enumerate(("town", "river", "market", "old bridge", "harbour"))
        )
        return self.fill(
            f"<!doctype html><html{attributes}><head><title>Hostile {self.place}</title>{head}"
            f"</head><body><article><h1>About the {self.word}</h1><p>{text}</p></article>"
            f"{body}</body></html>"
        )


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of attack, and what its pages answer."""

    name: str
    answer: Callable[[HostilePage, Ask], Answer]
    render: Literal["always", "never"] = "always"
    costly: bool = False
    """Whether it takes memory, disk or time by the design of it."""
    site: int | None = None
    """The site on which its pages have to be, if that matters."""
    honest: bool = False
    """Whether its pages are only odd, so that their texts have to be stored like any other."""


def scripted(
    name: str,
    script: str = "",
    *,
    body: str = "",
    head: str = "",
    render: Literal["always", "never"] = "always",
    costly: bool = False,
    site: int | None = None,
) -> Kind:
    """Return a kind whose pages are articles with a script at their end."""
    tail = body + (f"<script>{script}</script>" if script else "")

    def answer(page: HostilePage, _ask: Ask) -> Answer:
        return Answer(page.html(tail, head=head))

    return Kind(name, answer, render, costly, site)
