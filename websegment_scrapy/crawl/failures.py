"""Why a page was not rendered, as exceptions that name no browser: it may never be needed."""

from __future__ import annotations

from websegment_scrapy.exceptions import WebsegmentError

__all__ = [
    "ElsewhereError",
    "NotAllowedError",
    "RenderBusyError",
    "RenderCrowdedError",
    "RenderHeldUpError",
    "RenderMemoryError",
    "RenderTimeoutError",
]


class RenderTimeoutError(WebsegmentError, TimeoutError):
    """A page was not rendered within ``WEBSEGMENT_RENDER_TIMEOUT``."""


class RenderBusyError(RenderTimeoutError):
    """The same, and the page is still busy: it would use up another try as well."""


class RenderHeldUpError(RenderTimeoutError):
    """The same, and the browser itself did not answer meanwhile: a page held up all others."""


class RenderMemoryError(WebsegmentError, MemoryError):
    """A page took more than ``WEBSEGMENT_RENDER_MEMORY`` in the browser."""


class RenderCrowdedError(WebsegmentError, MemoryError):
    """A page was ended because all open pages together took too much, and it took most of that."""


class NotAllowedError(WebsegmentError):
    """A page ended where ``allowed_domains`` or robots.txt do not let the crawl go."""


class ElsewhereError(WebsegmentError):
    """The browser shows something that no server sent: an error, an empty page, a local file."""
