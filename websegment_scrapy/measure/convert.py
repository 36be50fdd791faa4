"""Downloaded data sets to the folder that ``evaluate`` and ``train`` read (`datasets`).

The originals are public, but none of them may or need be part of this package. Each layout below is
the one that its publisher, or a public reader of it, describes:

``wcxb``
    Web Content Extraction Benchmark: ``dev/html/ID.html.gz`` and ``dev/ground-truth/ID.json``
    (schema 2.0). The set that the model of the main text is made from.
``dragnet``
    Dragnet data: ``HTML/NAME.html`` and ``Corrected/NAME.html.corrected.txt``; what stands below
    the line ``!@#$%^&*()  COMMENTS`` is not main text.
``cleaneval``
    CleanEval: ``finalrun-input/N.html`` and ``GoldStandard/N.txt``, or ``orig`` and ``clean``. The
    texts begin with a line ``URL: …`` and mark headings, paragraphs and list items.
``l3s_gn1``
    L3S-GN1: ``original/UUID.html``, ``annotated/UUID.html`` with ``span`` elements of the classes
    ``x-nc-sel0`` to ``x-nc-sel5`` around the text nodes, and ``url-mapping.txt``.
``segmentation``
    Kreuzer's pages (2013): ``HOST/…/NAME.blocks.html`` with ``data-block`` (1 or 2) and
    ``data-block-type`` on the marked elements, and ``mapping.txt``.
"""

from __future__ import annotations

import gzip
import json
import lzma
from typing import TYPE_CHECKING, Any

from lxml import etree
from lxml import html as lxml_html

from websegment_scrapy.measure.convert_segmentation import convert_segmentation
from websegment_scrapy.measure.datasets import DataError
from websegment_scrapy.measure.originals import (
    MISSING,
    Converted,
    PageError,
    files_of,
    html_of,
    noted,
    reasons,
    refuse_existing,
    text_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    _Converter = Callable[[Sequence[Path], Path], Converted]

__all__ = ["KINDS", "convert"]

COMMENTS = "!@#$%^&*()  COMMENTS"
"""Dragnet data, README: text below this line belongs to comments."""

CLEANEVAL_LAYOUTS = (("finalrun-input", "GoldStandard"), ("orig", "clean"))
CLEANEVAL_MARKS = ("<h>", "<p>", "<l>", "</h>", "</p>", "</l>")

L3S_LABELS = ("not_content", "headline", "fulltext", "supplemental", "related", "comments")
"""What the classes ``x-nc-sel0`` to ``x-nc-sel5`` mean."""
L3S_CLASS = "x-nc-sel"
L3S_MAIN_TEXT = ("headline", "fulltext", "supplemental")


def convert(kind: str, sources: Sequence[Path], output: Path) -> Converted:
    """Write the set ``kind`` to the data folder ``output``.

    Parameters
    ----------
    kind
        One of `KINDS`.
    sources
        Folders with the originals.
    output
        The data folder; ``content/NAME.jsonl.xz`` or ``segmentation/`` is made in it.

    Raises
    ------
    DataError
        If a source is not laid out as described above, or the set is there already.
    """
    for source in sources:
        if not source.is_dir():
            raise DataError(f"the source {str(source)!r} is no folder: unpack the originals first")
    return KINDS[kind](sources, output)


def _content(name: str, read: Callable[[Path, Converted], Iterator[dict[str, Any]]]) -> _Converter:
    """Return what writes ``content/NAME.jsonl.xz`` from the pages that ``read`` gives."""

    def write(sources: Sequence[Path], output: Path) -> Converted:
        converted = Converted(output / "content" / f"{name}.jsonl.xz")
        refuse_existing(converted.path)
        converted.path.parent.mkdir(parents=True, exist_ok=True)
        begun = converted.path.with_name(f"{converted.path.name}.part")
        try:
            with lzma.open(begun, "wt", encoding="utf-8") as lines:
                for source in sources:
                    for page in read(source, converted):
                        lines.write(json.dumps(page, ensure_ascii=False) + "\n")
                        converted.pages += 1
            if not converted.pages:
                raise DataError(f"no page of {name} could be read: {reasons(converted)}")
            begun.replace(converted.path)
        finally:
            begun.unlink(missing_ok=True)
        return converted

    return write


def _wcxb(source: Path, converted: Converted) -> Iterator[dict[str, Any]]:
    root = source / "dev" if (source / "dev").is_dir() else source
    for described in files_of(root / "ground-truth", ".json"):
        with noted(converted, described.stem):
            try:
                value = json.loads(described.read_text(encoding="utf-8"))
                main_text = str(value["ground_truth"]["main_content"])
                page_type = str(value["_internal"]["page_type"]["primary"])
                url = str(value["url"])
            except (ValueError, KeyError, TypeError) as error:
                raise PageError(f"{described.name} is not of schema 2.0: {error!r}") from None
            packed = root / "html" / f"{described.stem}.html.gz"
            if not packed.is_file():
                raise PageError(MISSING.format(packed))
            yield {
                "id": f"dev_{described.stem}",
                "url": url,
                "html": gzip.decompress(packed.read_bytes()).decode("utf-8", "replace"),
                "main_text": main_text,
                "page_type": page_type,
            }


def _dragnet(source: Path, converted: Converted) -> Iterator[dict[str, Any]]:
    for corrected in files_of(source / "Corrected", ".html.corrected.txt"):
        name = corrected.name.removesuffix(".html.corrected.txt")
        with noted(converted, name):
            yield {
                "id": name,
                "url": "",
                "html": html_of(source / "HTML" / f"{name}.html"),
                "main_text": text_of(corrected).partition(COMMENTS)[0].strip(),
            }


def _cleaneval(source: Path, converted: Converted) -> Iterator[dict[str, Any]]:
    there = [layout for layout in CLEANEVAL_LAYOUTS if (source / layout[1]).is_dir()]
    if not there:
        accepted = " or ".join(f"{pages}/ and {texts}/" for pages, texts in CLEANEVAL_LAYOUTS)
        raise DataError(f"{str(source)!r} has no texts of CleanEval: it takes {accepted}")
    pages, texts = there[0]
    for cleaned in files_of(source / texts, ".txt"):
        with noted(converted, cleaned.stem):
            url, text = _cleaned(text_of(cleaned))
            html = html_of(source / pages / f"{cleaned.stem}.html")
            yield {"id": cleaned.stem, "url": url, "html": html, "main_text": text}


def _cleaned(text: str) -> tuple[str, str]:
    """Return the URL of a CleanEval text and the text without its marks."""
    url = ""
    first, _, rest = text.lstrip("\ufeff \t\r\n").partition("\n")
    if first.startswith("URL:"):
        url, text = first.removeprefix("URL:").strip(), rest
    for mark in CLEANEVAL_MARKS:
        text = text.replace(mark, "").replace(mark.upper(), "")
    return url, "\n".join(line.strip() for line in text.splitlines() if line.strip())


def _l3s_gn1(source: Path, converted: Converted) -> Iterator[dict[str, Any]]:
    urls = _l3s_urls(source / "url-mapping.txt")
    for annotated in files_of(source / "annotated", ".html"):
        with noted(converted, annotated.stem):
            nodes = _l3s_nodes(html_of(annotated))
            yield {
                "id": annotated.stem,
                "url": urls.get(annotated.stem, ""),
                "html": html_of(source / "original" / annotated.name),
                "main_text": "\n".join(text for label, text in nodes if label in L3S_MAIN_TEXT),
                "nodes": nodes,
            }


def _l3s_urls(path: Path) -> dict[str, str]:
    """Read ``<urn:uuid:UUID> URL``, a line for each page."""
    if not path.is_file():
        raise DataError(f"{str(path)!r} is missing: it names the URLs of the pages of L3S-GN1")
    lines = [line.split() for line in text_of(path).splitlines()]
    return {
        line[0].strip("<>").removeprefix("urn:uuid:"): line[1] for line in lines if len(line) > 1
    }


def _l3s_nodes(html: str) -> list[tuple[str, str]]:
    """Return the label and the text of every text node of the body that has any."""
    body: Any = lxml_html.document_fromstring(html).find("body")
    if body is None:
        raise PageError("the annotated page has no body")
    nodes: list[tuple[str, str]] = []
    for text in body.xpath(".//text()[not(ancestor::script or ancestor::style)]"):
        said = " ".join(str(text).split())
        if said:
            around = text.getparent()
            if text.is_tail:  # of what follows an element, that one's parent is around
                around = around.getparent()
            nodes.append((_l3s_label(around), said))
    return nodes


def _l3s_label(element: etree._Element | None) -> str:
    """Return what the nearest mark around a text node says; without any it is no content."""
    while element is not None:
        for name in (element.get("class") or "").split():
            number = name.removeprefix(L3S_CLASS)
            if number != name and number.isdigit() and int(number) < len(L3S_LABELS):
                return L3S_LABELS[int(number)]
        element = element.getparent()
    return L3S_LABELS[0]


KINDS: dict[str, _Converter] = {
    "wcxb": _content("wcxb_dev", _wcxb),
    "dragnet": _content("dragnet", _dragnet),
    "cleaneval": _content("cleaneval", _cleaneval),
    "l3s_gn1": _content("l3s_gn1", _l3s_gn1),
    "segmentation": convert_segmentation,
}
"""What can be converted, and by what."""
