"""The three example sites and the pages they have.

The texts are stored once (``web/texts``), and ``web/sites.toml`` says which site publishes which
of them with which small changes, and what one of the sites has changed a week later.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "HOST",
    "SITES",
    "WEB",
    "Edition",
    "Page",
    "Site",
    "Text",
    "load_sites",
    "load_texts",
    "site_names",
]

WEB = Path(__file__).parent.parent / "web"
HOST = "127.0.0.1"
SITES = ("gazette", "journal", "current")
"""The sites in the order of their ports."""
PER_LIST = 8
"""Teasers on a list page."""


@dataclass(frozen=True, slots=True)
class Text:
    """A text as it is stored in ``web/texts``."""

    id: str
    title: str
    author: str
    date: date
    topic: str
    paragraphs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Edition:
    """One site's edition of a text: its own headline, corrections and note."""

    text: Text
    path: str
    headline: str
    paragraphs: tuple[str, ...]
    note: str
    comments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a site; ``kind`` is article, print, list, about or thin (almost no text)."""

    path: str
    kind: str
    title: str
    edition: Edition | None = None
    listed: tuple[Edition, ...] = ()
    template: str = ""


@dataclass(frozen=True, slots=True)
class Site:
    """A site and its pages by path (with the query, if there is one)."""

    key: str
    name: str
    about: str
    footer: str
    port: int
    editions: tuple[Edition, ...]
    printable: frozenset[str]
    pages: dict[str, Page]

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        return f"http://{HOST}:{self.port}"


def load_texts() -> dict[str, Text]:
    """Read ``web/texts/*.md``: lines ``name: value``, an empty line, then paragraphs."""
    texts = {}
    for file in sorted((WEB / "texts").glob("*.md")):
        head, _, body = file.read_text(encoding="utf-8").partition("\n\n")
        fields = dict(line.split(": ", 1) for line in head.splitlines())
        texts[file.stem] = Text(
            id=file.stem,
            title=fields["title"],
            author=fields["author"],
            date=date.fromisoformat(fields["date"]),
            topic=fields["topic"],
            paragraphs=tuple(" ".join(part.split()) for part in body.split("\n\n")),
        )
    return texts


def load_sites(first_port: int, *, later: bool = False) -> tuple[Site, ...]:
    """Put the three sites together.

    Parameters
    ----------
    first_port
        Port of the first site; the others live on the two ports after it.
    later
        As they are a week later, with what ``sites.toml`` has under ``later``.
    """
    texts = load_texts()
    described = tomllib.loads((WEB / "sites.toml").read_text(encoding="utf-8"))
    if later:
        described = {key: _a_week_later(site) for key, site in described.items()}
    return tuple(
        _site(key, described[key], texts, first_port + number) for number, key in enumerate(SITES)
    )


def site_names(sites: Iterable[Site]) -> dict[str, str]:
    """Return the short name of each site by its host and port."""
    return {f"{HOST}:{site.port}": site.key.capitalize() for site in sites}


def _a_week_later(described: dict[str, Any]) -> dict[str, Any]:
    """Return a site's description with its later changes: one text for another, corrections."""
    later = described.get("later", {})
    replaced = later.get("replaced", {})
    return {
        **described,
        "texts": [replaced.get(name, name) for name in described["texts"]],
        "corrections": [*described.get("corrections", ()), *later.get("corrections", ())],
        "footer": later.get("footer", described.get("footer", "")),
    }


_ARTICLE_PATH = {
    "gazette": "/news/{id}.html",
    "journal": "/{date:%Y/%m}/{id}/",
    "current": "/story/{id}",
}
_LIST_PATH = {"gazette": "/page/{}", "journal": "/page/{}/", "current": "/page/{}"}
_OTHER_PAGES = {
    "gazette": {
        "/about.html": ("about", "About the Gazette"),
        "/contact.html": ("thin", "Contact"),
        "/login.html": ("thin", "Log in"),
        "/search?q=submarine": ("thin", "Search"),
    },
    "journal": {
        "/about/": ("about", "About Slow Lane"),
        "/contact/": ("thin", "Contact"),
        "/login/": ("thin", "Sign in"),
        "/search/?q=volcano": ("thin", "Nothing found"),
    },
    "current": {
        "/about": ("about", "About Current"),
        "/contact": ("thin", "Contact"),
        "/search?q=glacier": ("thin", "Search"),
    },
}


def _site(key: str, described: dict[str, Any], texts: dict[str, Text], port: int) -> Site:
    editions = tuple(_edition(key, described, texts[name]) for name in described["texts"])
    printable = frozenset(described.get("print", ()))
    pages = [Page(e.path, "article", e.headline, edition=e) for e in editions]
    pages += [
        Page(f"/print/{e.text.id}.html", "print", e.headline, edition=e)
        for e in editions
        if e.text.id in printable
    ]
    for first in range(0, len(editions), PER_LIST):
        number = first // PER_LIST + 1
        pages.append(
            Page(
                "/" if number == 1 else _LIST_PATH[key].format(number),
                "list",
                described["name"] if number == 1 else f"Page {number}",
                listed=editions[first : first + PER_LIST],
            )
        )
    for path, (kind, title) in _OTHER_PAGES[key].items():
        template = path.split("?")[0].strip("/").removesuffix(".html")
        pages.append(Page(path, kind, title, template=template))
    return Site(
        key=key,
        name=described["name"],
        about=" ".join(described["about"].split()),
        footer=described.get("footer", ""),
        port=port,
        editions=editions,
        printable=printable,
        pages={page.path: page for page in pages},
    )


def _edition(key: str, described: dict[str, Any], text: Text) -> Edition:
    body = "\n\n".join(text.paragraphs)
    for correction in described.get("corrections", ()):
        if correction["text"] == text.id:
            if body.count(correction["old"]) != 1:
                raise ValueError(f"{text.id} must contain {correction['old']!r} exactly once")
            body = body.replace(correction["old"], correction["new"])
    return Edition(
        text=text,
        path=_ARTICLE_PATH[key].format(id=text.id, date=text.date),
        headline=described.get("headlines", {}).get(text.id, text.title),
        paragraphs=tuple(body.split("\n\n")),
        note=described.get("notes", {}).get(text.id, ""),
        comments=tuple(described.get("comments", {}).get(text.id, ())),
    )
