"""Which pages need the browser, for ``WEBSEGMENT_RENDER = "auto"``: by their HTML and their site.

A page is rendered if its plain HTML gives a sign that its text is made by scripts, unless enough
pages of its site with that sign were found to have all of it in the HTML; and without a sign if
such pages of its site were found to need it. A site that is not known is looked at both ways with
its first pages, unless those of the last sites did not need it; and any site now and then: which
pages, their URLs decide, not the order of the crawl.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from websegment_scrapy.page.by_script import REASONS
from websegment_scrapy.store.record import canonical_url, url_key

if TYPE_CHECKING:
    from collections.abc import Mapping

    from websegment_scrapy.store.rendering import KnownRendering, RenderingRow

__all__ = ["OFTEN", "SELDOM", "SITE", "are_mostly_needed", "is_drawn", "why_to_render"]

NEEDED = 0.1
"""Share of a site's pages with a sign that needed the browser, from which all such are rendered.
One page that needed it is a fifth of what is remembered; four that did not outweigh it."""

MOST = 0.8
"""The same share, of all pages of a site, from which they are rendered without a plain look."""

LOOKS, ENOUGH = 3, 2.4
"""Looks that speak for a site, and their weight (`store.rendering.DECAY`),"""

ENOUGH_EMPTY = 4.0
"""and of eight where pages would have no text at all."""

SITES = 8.0
"""Weight of first looks at sites that speak for others: of ten."""

OFTEN, SELDOM = 10, 50
"""One page in so many is looked at both ways, while little is known of its site and later."""

FIRST = "one of the first looks at its site"
AGAIN = "a look at its site now and then"
SITE = "rendering changes the text of its site's pages"


def why_to_render(
    sign: str, known: KnownRendering, url: str, under_way: int = 0, elsewhere: int = 0
) -> tuple[str | None, bool]:
    """Return why a page with scripts is to be rendered, if it is; and whether to wait for others.

    A page that would have no text does not wait.

    Parameters
    ----------
    sign
        What its plain HTML looks like (`page.by_script`).
    known
        What is known of its site, and of others.
    url
        Its URL, which decides whether it is one of those that are looked at both ways.
    under_way
        Pages of its site with that sign that are being looked at both ways,
    elsewhere
        and other sites that have such pages.
    """
    row = known.site.get(sign)
    if row is not None and row.share >= NEEDED:
        return (REASONS[sign] if sign else SITE), False
    if row is None or (sign and row.looks < (ENOUGH_EMPTY if sign == "empty" else ENOUGH)):
        if sign == "empty":
            return REASONS[sign], False
        others = known.everywhere.get(sign)
        told, share = (others.looks, others.share) if others else (0.0, 0.0)
        if told + elsewhere >= SITES and share < NEEDED:
            return (FIRST if is_drawn(url, OFTEN) else None), told < SITES
        seen = 0 if row is None else round(row.looks)  # 1 and 1.8 are one and two
        return (REASONS[sign] if sign else FIRST), under_way >= (LOOKS - seen if sign else 1)
    every = SELDOM if row.looks >= ENOUGH else OFTEN
    return (AGAIN if is_drawn(url, every) else None), False


def are_mostly_needed(site: Mapping[str, RenderingRow]) -> bool:
    """Say whether nearly all pages of a site need the browser, by enough looks.

    Pages with a sign are looked at more often than others, so they do not speak for those.
    """
    others = site.get("")
    if others is not None and others.share < MOST:
        return False
    looks = sum(row.looks for row in site.values())
    needed = sum(row.needed for row in site.values())
    return looks >= (ENOUGH_EMPTY if others is None else ENOUGH) and needed >= MOST * looks


def is_drawn(url: str, every: int) -> bool:
    """Say whether a page is the one of so many that is looked at both ways."""
    return int.from_bytes(url_key(canonical_url(url))[:4], "big") % every == 0
