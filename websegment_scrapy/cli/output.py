r"""What the commands write: rows as table, JSON lines or CSV; figures as tables or JSON.

Titles, addresses and texts come from strangers' pages. What a terminal would obey (escape
sequences, marks that turn the direction of a line) is shown as ``\x1b`` and so on; JSON has
escapes of its own for it. What a spreadsheet would run as a formula begins with an apostrophe in
CSV, which makes it a text.
"""

from __future__ import annotations

import contextlib
import csv
import json
import re
import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from websegment_scrapy.printable import as_json_text, printable, printable_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = [
    "FORMATS",
    "Row",
    "open_output",
    "printable",
    "printable_text",
    "to_json",
    "write_results",
    "write_rows",
]

FORMATS = ("table", "jsonl", "csv")
CELL = 80
"""Characters of a value that the table shows."""

_FORMULA = re.compile("[=+@\uff1d\uff0b\uff20\uff0d\t\r\n-]")
"""How a cell begins that a spreadsheet takes for a formula (OWASP, "CSV Injection")."""

_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]*)?", re.ASCII)

Row = dict[str, Any]


@contextlib.contextmanager
def open_output(path: str | None) -> Iterator[TextIO]:
    """Open a file for writing, or standard output."""
    if path is None or path == "-":
        yield sys.stdout
        return
    with Path(path).open("w", encoding="utf-8", errors="replace") as output:
        yield output


def to_json(value: object, *, indent: int | None = None) -> str:
    """Return a value as JSON in which nothing stands that a terminal would obey."""
    found = json.dumps(value, ensure_ascii=False, indent=indent, default=_plain)
    return as_json_text(found)


def write_results(path: str | None, tables: Sequence[str], value: Any) -> None:
    """Write a value as JSON to ``path``, and tables to standard output unless that is the path."""
    if path:
        with open_output(path) as output:
            output.write(to_json(value, indent=1) + "\n")
    if path != "-":
        sys.stdout.write("\n\n".join(tables) + "\n")


def write_rows(
    rows: Iterable[Row],
    style: str,
    out: TextIO,
    columns: Sequence[str] | None = None,
    *,
    raw_csv: bool = False,
) -> None:
    """Write rows.

    Parameters
    ----------
    rows, style, out
        What, in which of `FORMATS`, and where to.
    columns
        Names those of an answer that may have no row.
    raw_csv
        Whether cells of CSV stay as they are, formulas and control characters too.
    """
    if style == "jsonl":
        out.writelines(to_json(row) + "\n" for row in rows)
        return
    rows = iter(rows)
    first = next(rows, None)
    names = list(columns or first or ())
    make = _safe_cell if style == "csv" and not raw_csv else _cell
    cells = ([make(row[name]) for name in names] for row in _chain(first, rows))
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
    if isinstance(value, dict):
        return ", ".join(f"{name} {number}" for name, number in value.items())
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _safe_cell(value: object) -> str:
    """Return a cell of CSV that a spreadsheet and a terminal take for a text."""
    cell = _cell(value)
    if not isinstance(value, str | dict):
        return cell
    is_formula = _FORMULA.match(cell) and not _NUMBER.fullmatch(cell)
    return ("'" if is_formula else "") + printable_text(cell, terminal=True)


def _short(cell: str) -> str:
    cell = printable(" ".join(cell.split()))
    return cell if len(cell) <= CELL else cell[: CELL - 1] + "…"
