"""Every error a user can meet; each message names the thing, the value and the remedy."""

from __future__ import annotations

__all__ = [
    "AnalysisError",
    "BrowserNotFound",
    "ConfigError",
    "NotHtml",
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
    """The body is something else than HTML, whatever its content type says."""


class UnknownEngine(ConfigError):
    """No segmentation engine of that name is registered."""


class BrowserNotFound(WebsegmentError):
    """No Chromium could be found on this machine."""


class StoreError(WebsegmentError):
    """The dedup database cannot be opened, read or written."""


class StoreMismatch(StoreError):
    """The database was made by another version or with other signature parameters."""
