"""Reading the originals of data sets: files as they were published, pages that cannot be read."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lxml import etree

from websegment_scrapy.exceptions import NotHtml
from websegment_scrapy.measure.datasets import DataError
from websegment_scrapy.page.decode import decode

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = [
    "MISSING",
    "Converted",
    "PageError",
    "files_of",
    "html_of",
    "noted",
    "reasons",
    "refuse_existing",
    "text_of",
]

MISSING = "there is no {}"


@dataclass(slots=True)
class Converted:
    """What became of a set.

    Attributes
    ----------
    path
        The file or folder that was written.
    pages
        How many pages are in it.
    errors
        The pages that are not, and why.
    """

    path: Path
    pages: int = 0
    errors: dict[str, str] = field(default_factory=dict)


class PageError(Exception):
    """One page cannot be converted; the message says why."""


@contextmanager
def noted(converted: Converted, name: str) -> Iterator[None]:
    """Note a page that cannot be converted, and go on with the others."""
    try:
        yield
    except (PageError, NotHtml, etree.LxmlError, OSError, EOFError) as error:
        converted.errors[name] = str(error)


def files_of(folder: Path, ending: str) -> list[Path]:
    """Return the files of a folder by the end of their names."""
    found = sorted(path for path in folder.glob("*") if path.name.endswith(ending))
    if not found:
        raise DataError(f"{str(folder)!r} has no files *{ending}: name the folder of the originals")
    return found


def html_of(path: Path) -> str:
    """Return a page as text."""
    if not path.is_file():
        raise PageError(MISSING.format(path))
    return decode(path.read_bytes())


def text_of(path: Path) -> str:
    """Return a text, in UTF-8 or else in the encoding that was usual before."""
    data = path.read_bytes()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def refuse_existing(path: Path) -> None:
    """Overwrite nothing."""
    if path.exists():
        raise DataError(f"{str(path)!r} is there already: remove it, or give another folder")


def reasons(converted: Converted) -> str:
    """Say why pages could not be read, by the first of them."""
    if not converted.errors:
        return "there is none"
    name, reason = next(iter(converted.errors.items()))
    return f"{name}: {reason}, and {len(converted.errors) - 1} more"
