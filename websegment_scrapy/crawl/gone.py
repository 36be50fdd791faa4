"""Origins that a site's pages need not ask for on and on: no connection to them comes about.

A browser that resolves names itself remembers which of them lead nowhere. Behind the gate it does
not: for each image of such a host it opens a tunnel, a few at a time, and is refused each time. So
when an origin was asked for in vain `ENOUGH` times, further requests to it are refused where they
begin, for `SECONDS`.

What is remembered is of one context, that is of one site, so that no site can keep another from
anything. Documents are not refused but fail by themselves, with the browser's reason.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from time import monotonic
from urllib.parse import urlsplit

__all__ = ["GoneOrigins"]

REFUSED = "ERR_SOCKS_CONNECTION_FAILED"
"""What the browser makes of all of the gate's refusals (Chromium 156: it has one word for them)."""

ENOUGH = 3
"""Failures until an origin is given up: a server that is alive may miss a connection."""

SECONDS = 60.0
"""For so long after its last failure. Name servers' own answers of this kind hold for minutes (RFC
2308, section 5), as do browsers' memories of them."""

MAX_ORIGINS = 100
"""Of one site: each has a pattern that all of its requests are compared with."""

_WILD = re.compile(r"[*?\\]")


@dataclass(slots=True)
class _Origin:
    failures: int = 0
    last: float = 0.0


class GoneOrigins:
    """The origins that a site's pages have asked for in vain."""

    def __init__(self) -> None:
        self._origins: dict[str, _Origin] = {}

    def note(self, url: str, failure: str | None) -> None:
        """Take note of a failed request."""
        if failure is None or REFUSED not in failure:
            return
        parts = urlsplit(url)
        name = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        now = monotonic()
        origin = self._origins.pop(name, None)
        if origin is None or now - origin.last > SECONDS:
            origin = _Origin()
        origin.failures, origin.last = origin.failures + 1, now
        if len(self._origins) >= MAX_ORIGINS:
            del self._origins[next(iter(self._origins))]  # the one that failed longest ago
        self._origins[name] = origin

    def patterns(self) -> list[dict[str, str]]:
        """Return patterns of all requests to these origins, for the `Fetch` domain."""
        since = monotonic() - SECONDS
        return [
            {"urlPattern": _WILD.sub(r"\\\g<0>", name) + "/*", "requestStage": "Request"}
            for name, origin in self._origins.items()
            if origin.failures >= ENOUGH and origin.last > since
        ]
