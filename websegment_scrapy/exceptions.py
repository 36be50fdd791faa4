"""Every error a user can meet; each message names the thing, the value and the remedy."""

from __future__ import annotations

__all__ = [
    "AnalysisError",
    "BrowserNotFound",
    "ConfigError",
    "NoSuchBrowser",
    "NotHtml",
    "QueueError",
    "StoreError",
    "StoreMismatch",
    "UnknownEngine",
    "WebsegmentError",
]


class WebsegmentError(Exception):
    """Base of all errors raised by this package."""


class ConfigError(WebsegmentError, ValueError):
    """A ``WEBSEGMENT_*`` setting or meta key has a bad name or value."""


class AnalysisError(WebsegmentError):
    """A page could not be analysed; its message becomes the reason on record."""


class NotHtml(AnalysisError):
    """The body is something else than HTML, whatever its content type says.

    ``kind`` is one of the few kinds of formats that are counted (``page.decode.FORMATS``).
    """

    def __init__(self, message: str, kind: str = "binary") -> None:
        super().__init__(message)
        self.kind = kind


class UnknownEngine(ConfigError):
    """No segmentation engine of that name is registered."""


class BrowserNotFound(WebsegmentError):
    """No Chromium could be found on this machine."""


class NoSuchBrowser(BrowserNotFound, ConfigError):
    """The Chromium that was named does not exist; no other is taken in its place."""


class QueueError(WebsegmentError):
    """The queue that crawlers share cannot be reached, or not be used as it is."""


class StoreError(WebsegmentError):
    """The dedup database cannot be opened, read or written."""


class StoreMismatch(StoreError):
    """The database was made by another version or with other signature parameters."""
