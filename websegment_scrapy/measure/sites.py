"""Crawled sites: folders of saved pages that show what a site repeats.

Either ``sites.tar.xz`` of the data sets, whose ``manifest.jsonl`` names the theme family of each
site and the local files of its style sheets and images, or a folder of one's own with one
sub-folder of saved pages for each site.
"""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from websegment_scrapy.measure.datasets import DataError, unpacked

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["CrawledSite", "SitePage", "crawled_sites", "local_copy", "with_local_files"]

SITES = "sites"
MANIFEST = "manifest.jsonl"
PAGE_NAMES = (".html", ".htm", ".xhtml")
COPY = ".websegment-copy.html"


@dataclass(frozen=True, slots=True)
class SitePage:
    """One saved page; its name is the site's and its path within the site."""

    name: str
    path: Path


@dataclass(frozen=True, slots=True)
class CrawledSite:
    """A site with its saved pages, in the order of their paths.

    ``family`` is the same for sites of the same design; ``files`` maps addresses that its pages
    name to files beside them.
    """

    name: str
    family: str
    folder: Path
    pages: tuple[SitePage, ...]
    files: dict[str, str] = field(default_factory=dict)


@contextmanager
def crawled_sites(folder: Path) -> Iterator[list[CrawledSite]]:
    """Give the sites in a folder in the order of their names.

    Parameters
    ----------
    folder
        ``sites.tar.xz``, or a folder with it, which is unpacked for the time of the ``with`` block;
        a folder with the unpacked ``sites/``, or with one sub-folder of saved pages for each site.
    """
    archive = folder if folder.is_file() else folder / f"{SITES}.tar.xz"
    if (folder / SITES).is_dir():
        yield _sites_in(folder / SITES)
    elif archive.is_file():
        with unpacked(archive) as temporary:
            yield _sites_in(temporary / SITES)
    else:
        yield _sites_in(folder)


@contextmanager
def local_copy(site: CrawledSite, page: SitePage) -> Iterator[SitePage]:
    """Give a copy of a page, beside it, that loads the site's own files instead of the network's.

    Nothing changes for a site without ``files``.
    """
    if not site.files:
        yield page
        return
    copy = page.path.with_name(COPY)
    copy.write_bytes(with_local_files(site, page))
    try:
        yield SitePage(page.name, copy)
    finally:
        copy.unlink()


def with_local_files(site: CrawledSite, page: SitePage) -> bytes:
    """Return a page that names the site's own files instead of the network's."""
    html = page.path.read_bytes()
    up = os.path.relpath(site.folder, page.path.parent)
    for address, file in site.files.items():
        for quote in (b'"', b"'"):
            local = f"{up}/{file}".encode()
            html = html.replace(quote + address.encode() + quote, quote + local + quote)
    return html


def _sites_in(folder: Path) -> list[CrawledSite]:
    manifest = _manifest(folder / MANIFEST)
    sites = []
    for path in sorted(folder.iterdir()):
        if not path.is_dir():
            continue
        pages = tuple(
            SitePage(f"{path.name}/{file.relative_to(path).as_posix()}", file)
            for file in sorted(path.rglob("*"))
            if file.suffix.lower() in PAGE_NAMES and file.is_file() and file.name != COPY
        )
        if pages:
            entry = manifest.get(path.name, {})
            family = str(entry.get("theme_family") or path.name)
            sites.append(
                CrawledSite(path.name, family, path, pages, dict(entry.get("url_map") or {}))
            )
    if not sites:
        raise DataError(
            f"no sites in {str(folder)!r}: it needs {SITES}.tar.xz, or one folder of saved pages "
            f"({', '.join(PAGE_NAMES)}) for each site"
        )
    return sites


def _manifest(path: Path) -> dict[str, dict[str, Any]]:
    if not path.is_file():
        return {}
    try:
        entries = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line]
        return {str(entry["site"]): entry for entry in entries}
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"{str(path)!r} does not describe sites: {error!r}") from None
