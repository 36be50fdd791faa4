"""All kinds of hostile pages by name, and the pages of a run made from them in turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from websegment_scrapy.bench.hostile_load import LOADING
from websegment_scrapy.bench.hostile_reach import REACHING
from websegment_scrapy.bench.hostile_voice import SPEAKING
from websegment_scrapy.bench.hostile_web import HostilePage
from websegment_scrapy.exceptions import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from websegment_scrapy.bench.hostile_articles import Article
    from websegment_scrapy.bench.hostile_web import Kind, Origins

__all__ = ["KINDS", "chosen_kinds", "hostile_pages"]

KINDS: dict[str, Kind] = {kind.name: kind for kind in (*REACHING, *SPEAKING, *LOADING)}

STRIDE = 5
"""Sites between two hostile pages that follow each other."""


def chosen_kinds(names: Sequence[str]) -> tuple[Kind, ...]:
    """Return kinds by name or by the beginning of it (``ssrf``); all of them without names."""
    found = []
    for name in names:
        kinds = [kind for kind in KINDS.values() if f"{kind.name}-".startswith(f"{name}-")]
        if not kinds:
            raise ConfigError(f"there is no kind {name!r}: known are {', '.join(KINDS)}")
        found += kinds
    return tuple(dict.fromkeys(found)) if names else tuple(KINDS.values())


def hostile_pages(
    kinds: Sequence[Kind], number: int, origins: Origins, articles: Sequence[Article]
) -> list[HostilePage]:
    """Make so many pages, of each kind in turn; victims are normal pages."""
    pages = []
    for place in range(number):
        kind = kinds[place % len(kinds)]
        site = place * STRIDE % len(origins.sites) if kind.site is None else kind.site
        origin = origins.sites[site]
        host = origin.rpartition(":")[0]
        here = [article.url for article in articles if article.url.startswith(f"{origin}/")]
        there = [article.url for article in articles if not article.url.startswith(f"{origin}/")]
        # A page of the same host at another port, where there is one: another site, yet the
        # browser shows both in one process.
        near = [url for url in there if url.startswith(f"{host}:")] or there
        victim = near[place % len(near)] if near else f"{origins.sites[1]}/news/0.html"
        neighbour = here[place % len(here)] if here else f"{origin}/news/0.html"
        pages.append(
            HostilePage(
                kind=kind,
                number=place // len(kinds),
                origin=origin,
                origins=origins,
                victim=victim,
                neighbour=neighbour.removeprefix(origin),
            )
        )
    return pages
