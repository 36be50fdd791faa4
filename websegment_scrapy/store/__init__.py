"""The dedup database: decide and store in one transaction, and queries about what is stored."""

from __future__ import annotations

from websegment_scrapy.store.database import Database
from websegment_scrapy.store.record import PageRecord
from websegment_scrapy.store.store import Store

__all__ = ["Database", "PageRecord", "Store"]
