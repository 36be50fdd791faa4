"""Kreuzer's marked pages (2013) to the folder of labelled pages that ``evaluate`` reads."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

from lxml import etree
from lxml import html as lxml_html

from websegment_scrapy.measure.datasets import DataError
from websegment_scrapy.measure.originals import (
    Converted,
    PageError,
    html_of,
    noted,
    reasons,
    refuse_existing,
    text_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["convert_segmentation"]

KREUZER_TOOL = "http://awesomeness/"
"""Where the tool by which blocks were marked loaded its scripts and styles from."""


def convert_segmentation(sources: Sequence[Path], output: Path) -> Converted:
    """Write ``segmentation/``, a folder for each page."""
    converted = Converted(output / "segmentation")
    refuse_existing(converted.path)
    for source in sources:
        urls = _kreuzer_urls(source)
        part = source.resolve().name.removeprefix("dataset-")
        for marked in sorted(source.rglob("*.blocks.html")):
            path = marked.relative_to(source)
            with noted(converted, str(path)):
                plain = str(path).removesuffix(".blocks.html") + ".html"
                if plain not in urls:
                    raise PageError(f"mapping.txt has no URL for {plain}")
                folder = converted.path / f"{part}__{path.parts[0]}"
                if folder.exists():
                    raise PageError(f"{path.parts[0]} has another marked page already")
                _write_labelled(source, path, urls[plain], folder)
                converted.pages += 1
    if not converted.pages:
        raise DataError(
            f"no marked page in {', '.join(map(str, sources))}: each is a file NAME.blocks.html "
            f"below the folder of its host; {reasons(converted)}"
        )
    return converted


def _kreuzer_urls(source: Path) -> dict[str, str]:
    """Read ``"URL" : "/opt/dataset-…/PATH",``, a line for each page; by the path.

    A line that begins with ``#`` takes its page out of the set.
    """
    path = source / "mapping.txt"
    if not path.is_file():
        raise DataError(f"{str(path)!r} is missing: it names the URLs of the marked pages")
    found: dict[str, str] = {}
    for line in text_of(path).splitlines():
        parts = line.split('"')
        if len(parts) > 3 and not parts[0].strip() and parts[3].startswith("/opt/"):
            found["/".join(parts[3].split("/")[3:])] = parts[1]
    return found


def _write_labelled(source: Path, path: Path, url: str, folder: Path) -> None:
    """Write one page with its resources and the blocks that were marked on it."""
    root: Any = lxml_html.document_fromstring(html_of(source / path))
    blocks: dict[str, dict[str, object]] = {}
    for number, element in enumerate(root.iter(etree.Element)):
        element.set("data-wsid", str(number))
        level = element.attrib.pop("data-block", "")
        kind = element.attrib.pop("data-block-type", "")
        if level in ("1", "2"):
            blocks[str(number)] = {"level": int(level), "type": kind}
    if not blocks:
        raise PageError("no element has data-block")
    etree.strip_elements(root, "script", with_tail=False)
    for link in root.xpath("//link[starts-with(@href, $tool)]", tool=KREUZER_TOOL):
        link.drop_tree()
    others = shutil.ignore_patterns("*.js", "*.orig", "*.html")
    shutil.copytree(source / path.parts[0], folder / path.parts[0], ignore=others)
    page = folder / path.parent / "page.html"
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(
        lxml_html.tostring(root, encoding="unicode", doctype=root.getroottree().docinfo.doctype),
        encoding="utf-8",
    )
    described = {"page": page.relative_to(folder).as_posix(), "url": url, "blocks": blocks}
    (folder / "blocks.json").write_text(json.dumps(described, indent=1), encoding="utf-8")
