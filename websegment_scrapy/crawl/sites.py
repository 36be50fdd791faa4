"""What the store knows about the sites of a crawl, remembered and read again now and then."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from typing import TYPE_CHECKING

from websegment_scrapy.exceptions import StoreError
from websegment_scrapy.store.record import canonical_url, host_of
from websegment_scrapy.store.revision import site_state

if TYPE_CHECKING:
    from collections.abc import Callable

    from websegment_scrapy.config import Config
    from websegment_scrapy.crawl.writer import StoreWriter
    from websegment_scrapy.template.sitelevel import SiteVerdict

__all__ = ["SiteVerdicts"]

logger = logging.getLogger(__name__)

MAX_SITES = 2000
"""Hosts whose verdicts are remembered, the last used: some tens of kilobytes each."""

GROWTH = 4
"""A verdict is read again when the crawl met a quarter more of its pages,"""

LONGEST = 50
"""but after this many pages at the latest."""


class _Site:
    """A host's verdict, and how many pages may use it before it is read again."""

    def __init__(self) -> None:
        self.verdict: SiteVerdict | None = None
        self.left = 0
        self.reading: asyncio.Task[None] | None = None


class SiteVerdicts:
    """The verdicts that pages are analysed with.

    A verdict is read from the store when the crawl meets a host, and again after a quarter of the
    pages that it rests on (while there is none, of the pages that it takes), at most `LONGEST`.
    What other crawlers counted comes with it. Pages that ask while it is read wait for it. When it
    cannot be read, the last one stays.

    ``became_known`` is called with a host when so much more is known of it that its earlier pages
    are to be judged again.
    """

    def __init__(
        self, writer: StoreWriter, config: Config, became_known: Callable[[str], None]
    ) -> None:
        self._writer = writer
        self._theta = config.site_threshold
        self._min_pages = config.site_min_pages
        self._became_known = became_known
        self._sites: OrderedDict[str, _Site] = OrderedDict()

    async def verdict(self, url: str) -> SiteVerdict | None:
        """Return what the site of a URL repeats, if enough is known."""
        host = host_of(canonical_url(url))
        site = self._sites.get(host)
        if site is None:
            site = self._sites[host] = _Site()
            if len(self._sites) > MAX_SITES:
                self._sites.popitem(last=False)
        self._sites.move_to_end(host)
        if site.left <= 0 and site.reading is None:
            site.reading = asyncio.create_task(self._read(host, site))
        if site.reading is not None:
            await asyncio.shield(site.reading)
        site.left -= 1
        return site.verdict

    async def _read(self, host: str, site: _Site) -> None:
        try:
            site.verdict, due = await self._writer.ask(
                site_state, host, self._theta, self._min_pages
            )
            if due:
                self._became_known(host)
        except StoreError as error:
            logger.warning("What %s repeats cannot be read: %s", host, error)
        finally:
            pages = self._min_pages if site.verdict is None else site.verdict.pages
            site.left = min(max(pages // GROWTH, 1), LONGEST)
            site.reading = None
