"""The dedup database: decide and store in one transaction, and queries about what is stored.

Its names are imported when they are first used: ``store.record``, which says how URLs are stored,
needs no SQLAlchemy, and worker processes go without it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from websegment_scrapy.store.database import Database
    from websegment_scrapy.store.record import PageRecord
    from websegment_scrapy.store.store import Store

__all__ = ["Database", "PageRecord", "Store"]

_HOMES = {"Database": "database", "PageRecord": "record", "Store": "store"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
