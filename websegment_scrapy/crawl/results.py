"""What is put on an item: one field with everything, or a flat field for each value."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from itemadapter import ItemAdapter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy.statscollectors import StatsCollector

    from websegment_scrapy.config import Config

__all__ = ["RESULT_FIELDS", "ItemResults"]

logger = logging.getLogger(__name__)

RESULT_FIELDS = (
    "url",
    "decision",
    "duplicate_of",
    "representative",
    "similarity",
    "first_seen",
    "reason",
    "revised",
    "emptied",
    "title",
    "main_text",
    "main_text_score",
    "words",
    "page_words",
    "page_type",
    "page_type_probability",
    "engine",
    "rendered",
    "render_error",
    "render_reason",
)
"""The values that every result has, ``None`` where there is none; ``segments`` come on top."""

_NO_ROOM = (AttributeError, KeyError, TypeError, ValueError)
"""What the types of items raise for a field that they do not have or do not let be set."""


class ItemResults:
    """Writes results on items of any type, as far as it has room for them.

    Flat fields are named after the result field: ``websegment_url``, ``websegment_decision`` and
    so on, one for each of `RESULT_FIELDS`. All are always there, since a CSV file has the columns
    of its first item; ``segments``, which are no value of a table, are left out.
    """

    def __init__(self, config: Config, stats: StatsCollector) -> None:
        self._field = config.field
        self._flat = config.flatten
        self._stats = stats
        self._named: set[type] = set()

    def put(self, item: Any, values: Mapping[str, Any]) -> None:
        """Give an item its result; an item that has no room for it is counted."""
        missing = self._write(item, {**dict.fromkeys(RESULT_FIELDS), **values})
        if missing:
            self._stats.inc_value("websegment/items_without_field")
            self._name(type(item), missing)

    def add(self, item: Any, values: Mapping[str, Any]) -> None:
        """Add to the result of an item."""
        self._write(item, values)

    def put_nothing(self, item: Any) -> None:
        """Give an item that has no page the flat fields too, for the sake of the table."""
        if self._flat:
            self.put(item, {})

    def _write(self, item: Any, values: Mapping[str, Any]) -> list[str]:
        """Write what the item has room for, and return the fields that it lacks."""
        try:
            adapter = ItemAdapter(item)
            if not self._flat:
                present = adapter.get(self._field)
                adapter[self._field] = {**(present if isinstance(present, dict) else {}), **values}
                return []
        except _NO_ROOM:
            return [self._field]
        missing = []
        for name in RESULT_FIELDS:
            if name in values:
                field = f"{self._field}_{name}"
                try:
                    adapter[field] = values[name]
                except _NO_ROOM:
                    missing.append(field)
        return missing

    def _name(self, kind: type, missing: list[str]) -> None:
        """Say, once for each type of items, which fields it lacks."""
        if kind in self._named:
            return
        self._named.add(kind)
        what = "field" if len(missing) == 1 else "fields"
        logger.warning(
            "Items of type %s have no %s %s: the result is stored in the database but not put on "
            "the item. Add what you want to the item's class, or name another field with "
            "WEBSEGMENT_FIELD.",
            kind.__qualname__,
            what,
            ", ".join(map(repr, missing)),
        )
