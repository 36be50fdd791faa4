"""Pictures of rendered pages, if they were asked for: files in a folder of limited size."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import TYPE_CHECKING

from playwright.async_api import Error as PlaywrightError

from websegment_scrapy.crawl.browser import CONTEXT_OPTIONS
from websegment_scrapy.store.record import picture_name

if TYPE_CHECKING:
    from playwright.async_api import FloatRect, Page

__all__ = ["Pictures", "picture_of"]

logger = logging.getLogger(__name__)

MOST_PIXELS = 16_000.0
"""Height of a picture: Chromium draws no more than 16,384 pixels at once."""

QUALITY = 70
PICTURE_SECONDS = 15.0
"""Five were not enough for 16,000 pixels on two cores with a load of ten."""

NAME = 32
"""Characters of a picture's name: other files in the folder are left alone."""

LEFT = 0.9
"""Share of the folder's size that is left when it was full, so that not every page clears up."""


async def picture_of(page: Page) -> bytes | None:
    """Return a page's picture as JPEG, cut where browsers cannot draw any further; or nothing."""
    try:
        async with asyncio.timeout(PICTURE_SECONDS):
            height = await page.evaluate("() => document.documentElement.scrollHeight")
            clip: FloatRect = {
                "x": 0,
                "y": 0,
                "width": CONTEXT_OPTIONS["viewport"]["width"],
                "height": min(max(float(height), 1.0), MOST_PIXELS),
            }
            return await page.screenshot(
                full_page=True, clip=clip, type="jpeg", quality=QUALITY, animations="disabled"
            )
    except (PlaywrightError, TimeoutError, ValueError, TypeError):  # what a page says is no number
        return None


class Pictures:
    """A folder of pictures, one for each URL; when it is full the oldest go.

    Parameters
    ----------
    folder
        Where they are; it is made if it is missing.
    size
        MiB that they may take together.
    """

    def __init__(self, folder: str, size: int) -> None:
        self.folder = Path(folder)
        self._limit = size * 2**20
        self._taken: int | None = None
        self._lost = False

    async def take(self, page: Page, url: str) -> None:
        """Take the picture of a page; what goes wrong costs the picture and not the page."""
        picture = None if self._lost else await picture_of(page)
        if picture is None:
            return
        try:
            await asyncio.to_thread(self._write, picture_name(url), picture)
        except OSError as error:
            self._lost = True
            logger.warning(
                "No more pictures are kept: %s cannot be written (%s)", self.folder, error.strerror
            )

    def _write(self, name: str, picture: bytes) -> None:
        if self._taken is None:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._taken = sum(path.stat().st_size for path in self._files())
        path = self.folder / name
        before = path.stat().st_size if path.exists() else 0
        path.write_bytes(picture)
        self._taken += len(picture) - before
        if self._taken > self._limit:
            self._clear_up()

    def _clear_up(self) -> None:
        """Remove the oldest pictures."""
        found = [(path.stat().st_mtime_ns, path.stat().st_size, path) for path in self._files()]
        self._taken = sum(size for _, size, _ in found)
        for _, size, path in sorted(found)[:-1]:
            if self._taken <= LEFT * self._limit:
                return
            path.unlink(missing_ok=True)
            self._taken -= size

    def _files(self) -> list[Path]:
        return [path for path in self.folder.glob("*.jpg") if len(path.stem) == NAME]
