"""What a crawl starts with is left out of the search for garbage until the crawl ends.

Python looks through all objects again whenever their number has grown by a quarter. Modules,
settings and components are most of them at first, several hundred thousand, and none is garbage:
each time the event loop stands still for 50 to 100 ms. In the end they count again, so that a
process that runs many crawls keeps none of them.
"""

from __future__ import annotations

import gc
from weakref import WeakSet

__all__ = ["count_again", "leave_alone"]

_crawls: WeakSet[object] = WeakSet()
"""What called `leave_alone` and did not end yet."""


def leave_alone(crawl: object) -> None:
    """Leave out what is there when the first crawl of this process begins."""
    if not _crawls:
        gc.freeze()
    _crawls.add(crawl)


def count_again(crawl: object) -> None:
    """Let everything count again when the last crawl of this process ends."""
    if crawl in _crawls:
        _crawls.discard(crawl)
        if not _crawls:
            gc.unfreeze()
