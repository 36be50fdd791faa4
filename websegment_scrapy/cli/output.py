"""What the commands write: rows as table, JSON lines or CSV; figures as tables or JSON."""

from __future__ import annotations

import contextlib
import csv
import json
import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = ["FORMATS", "Row", "open_output", "write_results", "write_rows"]

FORMATS = ("table", "jsonl", "csv")
CELL = 80
"""Characters of a value that the table shows."""

Row = dict[str, Any]


@contextlib.contextmanager
def open_output(path: str | None) -> Iterator[TextIO]:
    """Open a file for writing, or standard output."""
    if path is None or path == "-":
        yield sys.stdout
        return
    with Path(path).open("w", encoding="utf-8", errors="replace") as output:
        yield output


def write_results(path: str | None, tables: Sequence[str], value: Any) -> None:
    """Write a value as JSON to ``path``, and tables to standard output unless that is the path."""
    if path:
        with open_output(path) as output:
            json.dump(value, output, ensure_ascii=False, indent=1)
            output.write("\n")
    if path != "-":
        sys.stdout.write("\n\n".join(tables) + "\n")


def write_rows(
    rows: Iterable[Row], style: str, out: TextIO, columns: Sequence[str] | None = None
) -> None:
    """Write rows; `columns` names those of an answer that may have no row."""
    if style == "jsonl":
        out.writelines(json.dumps(row, ensure_ascii=False, default=_plain) + "\n" for row in rows)
        return
    rows = iter(rows)
    first = next(rows, None)
    names = list(columns or first or ())
    cells = ([_cell(row[name]) for name in names] for row in _chain(first, rows))
    if style == "csv":
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(names)
        writer.writerows(cells)
    else:
        _write_table(names, list(cells), out)


def _write_table(names: list[str], cells: list[list[str]], out: TextIO) -> None:
    lines = [names, *([_short(cell) for cell in line] for line in cells)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        padded = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        out.write("  ".join(padded).rstrip() + "\n")


def _chain(first: Row | None, rest: Iterable[Row]) -> Iterator[Row]:
    if first is not None:
        yield first
        yield from rest


def _plain(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"{value!r} has no JSON form")


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.isoformat()
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _short(cell: str) -> str:
    cell = " ".join(cell.split())
    return cell if len(cell) <= CELL else cell[: CELL - 1] + "…"
