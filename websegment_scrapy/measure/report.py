"""What evaluations show: plain text tables, and progress as the caller wants it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Progress", "listed", "silent", "text_table"]

Progress = Callable[[Iterable[Any], int, str], Iterable[Any]]
"""Passes values on and may show how many of a total have come, and of what."""


def silent(values: Iterable[Any], total: int, label: str) -> Iterable[Any]:  # noqa: ARG001
    """Show nothing."""
    return values


def listed(title: str, reasons: Mapping[str, str]) -> list[str]:
    """Return a list of names with their reasons as one paragraph, or none when there are none."""
    lines = [f"  {name}: {reason}" for name, reason in reasons.items()]
    return ["\n".join([title, *lines])] if lines else []


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Align the first column left and all others right; a row may be shorter than the header."""
    widths = [
        max([len(name), *(len(row[column]) for row in rows if column < len(row))])
        for column, name in enumerate(header)
    ]
    lines = []
    for row in [header, ["-" * width for width in widths], *rows]:
        cells = [
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=False))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
