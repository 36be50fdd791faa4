"""Where the data sets are and how they are read, one page at a time.

Nothing of them is part of this package. The folder is named by ``--data`` or the environment
variable ``WEBSEGMENT_DATA``; otherwise it is ``../shared/data`` if that exists.
"""

from __future__ import annotations

import json
import lzma
import os
import tarfile
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from websegment_scrapy.exceptions import WebsegmentError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "CONTENT_SETS",
    "DATA_VARIABLE",
    "NEARDUP_SETS",
    "ContentPage",
    "DataError",
    "LabelledPage",
    "NeardupPage",
    "NodePage",
    "Pair",
    "content_pages",
    "data_directory",
    "labelled_pages",
    "neardup_pages",
    "neardup_pairs",
    "node_pages",
    "unpacked",
]

DATA_VARIABLE = "WEBSEGMENT_DATA"
DEFAULT_DATA = Path("../shared/data")
SEGMENTATION = "segmentation"

CONTENT_SETS = ("wcxb_dev", "dragnet", "l3s_gn1", "cleaneval")
NEARDUP_SETS = ("lyrics_dev", "lyrics_dev_plain", "based_cooking", "hugo_demo", "sicp")


class DataError(WebsegmentError):
    """A data set is missing or not in its format."""


@dataclass(frozen=True, slots=True)
class LabelledPage:
    """A page with blocks marked by hand.

    ``blocks`` maps the ``data-wsid`` of each marked element to its level (1 is the top) and type.
    """

    name: str
    path: Path
    url: str
    blocks: dict[str, tuple[int, str]]


@dataclass(frozen=True, slots=True)
class NeardupPage:
    """A page of a near-duplicate set."""

    id: str
    url: str
    html: str


@dataclass(frozen=True, slots=True)
class ContentPage(NeardupPage):
    """A page with its main text; ``page_type`` is empty where the set has none."""

    main_text: str
    page_type: str = ""


@dataclass(frozen=True, slots=True)
class NodePage(NeardupPage):
    """A page of which every text node is labelled; ``nodes`` are ``(label, text)`` in order."""

    nodes: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """The ids of two pages, and whether they are near-duplicates."""

    a: str
    b: str
    duplicate: bool


def data_directory(explicit: str | Path | None = None) -> Path:
    """Return the folder of the data sets.

    Raises
    ------
    DataError
        If there is none; the message says how to name one.
    """
    named = explicit or os.environ.get(DATA_VARIABLE)
    path = Path(named) if named else DEFAULT_DATA
    if path.is_dir():
        return path
    if named:
        source = "--data" if explicit else DATA_VARIABLE
        raise DataError(f"{source} names {str(path)!r}, which is no folder: give the data's folder")
    raise DataError(
        f"no evaluation data: set {DATA_VARIABLE} or --data to its folder "
        f"(the default {str(DEFAULT_DATA)!r} does not exist)"
    )


@contextmanager
def labelled_pages(data: Path) -> Iterator[list[LabelledPage]]:
    """Give the labelled pages in the order of their names.

    Parameters
    ----------
    data
        A folder with ``segmentation.tar.xz``, which is unpacked for the time of the ``with``
        block, or with the unpacked pages (as ``segmentation/NAME/`` or ``NAME/``).
    """
    archive = data / f"{SEGMENTATION}.tar.xz"
    for folder in (data / SEGMENTATION, data):
        if any(folder.glob("*/blocks.json")):
            yield _labelled_in(folder)
            return
    if not archive.is_file():
        raise DataError(
            f"no labelled pages: {str(data)!r} has neither {archive.name} nor folders with "
            "blocks.json"
        )
    with unpacked(archive) as folder:
        yield _labelled_in(folder / SEGMENTATION)


@contextmanager
def unpacked(archive: Path) -> Iterator[Path]:
    """Unpack a ``.tar.xz`` for the time of the ``with`` block."""
    with tempfile.TemporaryDirectory(prefix="websegment-") as temporary:
        try:
            with tarfile.open(archive, "r:xz") as tar:
                tar.extractall(temporary, filter="data")
        except (tarfile.TarError, lzma.LZMAError, EOFError) as error:
            raise DataError(f"{str(archive)!r} cannot be unpacked: {error}") from None
        yield Path(temporary)


def content_pages(data: Path, name: str) -> Iterator[ContentPage]:
    """Read the pages of ``content/NAME.jsonl.xz``; whether there is one is said at once."""
    return (
        ContentPage(
            id=page["id"],
            url=page["url"],
            html=page["html"],
            main_text=page["main_text"],
            page_type=page.get("page_type", ""),
        )
        for page in _json_lines(data / "content" / f"{name}.jsonl.xz")
    )


def node_pages(data: Path, name: str) -> Iterator[NodePage]:
    """Read the pages of ``content/NAME.jsonl.xz`` with the labels of their text nodes."""
    path = data / "content" / f"{name}.jsonl.xz"
    for page in _json_lines(path):
        try:
            nodes = tuple((str(label), str(text)) for label, text in page["nodes"])
        except (KeyError, ValueError, TypeError):
            raise DataError(f"{str(path)!r} has no labelled text nodes: {page['id']}") from None
        yield NodePage(id=page["id"], url=page["url"], html=page["html"], nodes=nodes)


def neardup_pages(data: Path, name: str) -> Iterator[NeardupPage]:
    """Read the pages of ``neardup/NAME.pages.jsonl.xz``; whether there is one is said at once."""
    return (
        NeardupPage(id=page["id"], url=page["url"], html=page["html"])
        for page in _json_lines(data / "neardup" / f"{name}.pages.jsonl.xz")
    )


def neardup_pairs(data: Path, name: str) -> Iterator[Pair]:
    """Read ``neardup/NAME.pairs.jsonl``."""
    for pair in _json_lines(data / "neardup" / f"{name}.pairs.jsonl"):
        yield Pair(a=pair["a"], b=pair["b"], duplicate=bool(pair["duplicate"]))


def _labelled_in(folder: Path) -> list[LabelledPage]:
    pages = []
    for description in sorted(folder.glob("*/blocks.json")):
        try:
            value = json.loads(description.read_text(encoding="utf-8"))
            blocks = {
                wsid: (int(block["level"]), str(block["type"]))
                for wsid, block in value["blocks"].items()
            }
            path, url = description.parent / value["page"], str(value["url"])
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DataError(
                f"{str(description)!r} does not describe a labelled page: {error!r}"
            ) from None
        pages.append(LabelledPage(description.parent.name, path, url, blocks))
    if not pages:
        raise DataError(f"no labelled pages in {str(folder)!r}: each is a folder with blocks.json")
    return pages


def _json_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Read JSON lines, compressed when the name says so, without holding the file in memory."""
    if not path.is_file():
        raise DataError(f"the data set {str(path)!r} does not exist: see {DATA_VARIABLE} or --data")
    return _read_lines(path)


def _read_lines(path: Path) -> Iterator[dict[str, Any]]:
    opened = lzma.open if path.suffix == ".xz" else open
    read = 0
    try:
        with opened(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                if line.strip():
                    yield json.loads(line)
                read += 1
    except (ValueError, lzma.LZMAError, EOFError) as error:
        raise DataError(f"{str(path)!r} cannot be read after line {read}: {error}") from None
