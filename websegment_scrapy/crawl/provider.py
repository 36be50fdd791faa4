"""Starts what rendering needs, in order: the keeper, Playwright's driver, the browser."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from scrapy_playwright.provider import PlaywrightBrowserProvider

from websegment_scrapy.crawl.browser import behind_gate, gently, launch
from websegment_scrapy.crawl.driver import OWN_SIGNALS, driver_in
from websegment_scrapy.crawl.keeping import Keeper

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, ProxySettings
    from scrapy_playwright.handler import Config as PlaywrightConfig

    from websegment_scrapy.config import Config

__all__ = ["KeptBrowserProvider"]

logger = logging.getLogger(__name__)


class KeptBrowserProvider(PlaywrightBrowserProvider):  # type: ignore[misc]
    """scrapy-playwright's provider with a browser that reaches the network only through the gate.

    Parameters
    ----------
    config
        scrapy-playwright's configuration.
    own
        This package's.
    pages
        Pages that may be open at once.
    """

    def __init__(self, config: PlaywrightConfig, own: Config, pages: int) -> None:
        super().__init__(config)
        self._own = own
        self._pages = pages
        self.keeper: Keeper | None = None

    async def start(self) -> None:
        """Start the keeper and Playwright's driver."""
        await self.start_keeper()
        assert self.keeper is not None
        with driver_in(self.keeper.folder):
            await super().start()

    async def start_keeper(self) -> None:
        """Start the keeper, again if it has ended; without it the browser reaches nothing."""
        if self.keeper is None or not self.keeper.is_running:
            self.keeper = await Keeper.start(
                self._own.private_hosts, self._own.render_memory, self._pages
            )

    async def launch_browser(self) -> Browser:
        """Start the browser; the user's own proxy, if there is one, is behind the gate."""
        assert self.browser_type is not None
        options = await self._gated(self.config.launch_options)
        logger.info("Launching browser %s", self.browser_type.name)
        return await launch(self.browser_type, options)

    async def launch_persistent_context(self, context_kwargs: dict[str, Any]) -> BrowserContext:
        """Start a browser with a profile of the user's, which is behind the gate too."""
        context: BrowserContext = await super().launch_persistent_context(
            await self._gated({**self.config.launch_options, **context_kwargs})
        )
        return context

    async def proxy(self, upstream: str | None) -> ProxySettings:
        """Return the ``proxy`` option of a context whose connections go through `upstream`."""
        assert self.keeper is not None
        return behind_gate(await self.keeper.listen(upstream))

    async def _gated(self, options: dict[str, Any]) -> dict[str, Any]:
        """Return options of a browser that is behind the gate and gives way to the crawl."""
        assert self.keeper is not None
        changes: dict[str, Any] = {"proxy": await self.proxy(upstream_of(options.get("proxy")))}
        if "executable_path" in options:
            changes["executable_path"] = gently(options["executable_path"], self.keeper.folder)
        return {**options, **OWN_SIGNALS, **changes}

    async def close(self) -> None:
        """End the driver, then the keeper, which removes the browser's files."""
        try:
            await super().close()
        finally:
            if self.keeper is not None:
                await self.keeper.close()


def upstream_of(option: dict[str, str] | None) -> str | None:
    """Return the address of a proxy that the user gave as Playwright's option."""
    if not option:
        return None
    scheme, separator, rest = option["server"].partition("://")
    if not separator:
        scheme, rest = "http", option["server"]
    if option.get("username"):
        rest = f"{option['username']}:{option.get('password', '')}@{rest}"
    return f"{scheme}://{rest}"
