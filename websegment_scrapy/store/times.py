"""Points in time as the databases keep them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import DateTime, String, TypeDecorator

if TYPE_CHECKING:
    from sqlalchemy import Dialect
    from sqlalchemy.types import TypeEngine

__all__ = ["UtcDateTime"]


class UtcDateTime(TypeDecorator[datetime]):
    """Aware datetimes in UTC.

    PostgreSQL keeps them as ``TIMESTAMP WITH TIME ZONE``; SQLite, which has no such type, as text
    like ``2026-01-31 12:00:00.000000Z``, which sorts rightly, reads well and is understood by
    SQLite's own date functions.
    """

    impl = String
    cache_ok = True
    _FORMAT = "%Y-%m-%d %H:%M:%S.%fZ"

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Choose the column's type."""
        if dialect.name == "postgresql":
            return dialect.type_descriptor(DateTime(timezone=True))
        return dialect.type_descriptor(String(27))

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        """Convert to what the database keeps."""
        if value is None:
            return None
        value = value.astimezone(UTC)
        return value if dialect.name == "postgresql" else value.strftime(self._FORMAT)

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        """Convert from what the database keeps."""
        if value is None:
            return None
        if isinstance(value, datetime):
            return value.astimezone(UTC)
        return datetime.strptime(value, self._FORMAT).replace(tzinfo=UTC)
