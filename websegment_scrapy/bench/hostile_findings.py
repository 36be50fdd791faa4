"""Looks through what a crawl of the hostile bench left: items, database, cache, logs."""

from __future__ import annotations

import sqlite3
import zlib
from collections import defaultdict
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from websegment_scrapy.bench.hostile_web import FORGED_PLACE, HOSTILE_WORD, INTERNAL_WORDS
from websegment_scrapy.dedup.signature import RECIPES, signature_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from websegment_scrapy.bench.hostile_articles import Article
    from websegment_scrapy.bench.hostile_run import CrawlRun
    from websegment_scrapy.bench.hostile_web import HostilePage

__all__ = ["Findings", "find"]

UNPACKED_BYTES = 2**26
"""Of a compressed file, what is looked through."""

_PIECE = 2**20


@dataclass(slots=True)
class Findings:
    """What is wrong with what a crawl left; everything is empty where nothing is."""

    wrong: list[str] = field(default_factory=list)
    """Normal pages without their text under their URL, and what there is instead."""
    misplaced: list[str] = field(default_factory=list)
    """Hostile text under another page's URL, and pages at addresses that are no site's."""
    forged: list[str] = field(default_factory=list)
    """Pages whose own layout was believed."""
    canaries: list[str] = field(default_factory=list)
    """Where the internal service's words were found."""
    silent: list[str] = field(default_factory=list)
    """Hostile pages without an item, a row or a reason."""
    lost: list[str] = field(default_factory=list)
    """Pages that are only odd and whose texts were not stored."""
    outcomes: dict[str, str] = field(default_factory=dict)
    """What came of each hostile page, by its place."""


def find(run: CrawlRun, articles: Sequence[Article], pages: Sequence[HostilePage]) -> Findings:
    """Look through everything."""
    found = Findings()
    rows = _rows(run.database)
    items: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for item in run.items:
        items[str(item["url"])].append(item)
    for article in articles:
        problem = _problem(article, items[article.url], rows.get(article.url))
        if problem:
            found.wrong.append(f"{article.url}: {problem}")
    _find_misplaced(found, run, rows, articles, pages)
    _find_outcomes(found, run, rows, pages)
    found.canaries += _canaries(run)
    return found


def _problem(
    article: Article, items: list[dict[str, Any]], row: dict[str, Any] | None
) -> str | None:
    """Return what is wrong with a normal page, if anything."""
    if not any(item["asked"] == article.url for item in items):
        return "no item"
    texts = [str(item["websegment"].get("main_text", "")) for item in items]
    if not all(map(article.is_in, texts)):
        text, item = next(
            (text, item) for text, item in zip(texts, items, strict=True) if not article.is_in(text)
        )
        return f"an item has another text ({item['websegment'].get('render_error')}): {text[:40]!r}"
    if row is None:
        return "no row in the database"
    if row["title"] != article.title:
        return f"the database has the title {row['title'][:80]!r}"
    hashes = {signature_of(text, RECIPES["minhash"]).content_hash for text in texts}
    if row["content_hash"] not in hashes:
        return "the database has another text"
    return None


def _find_misplaced(
    found: Findings,
    run: CrawlRun,
    rows: dict[str, dict[str, Any]],
    articles: Sequence[Article],
    pages: Sequence[HostilePage],
) -> None:
    own = {article.url for article in articles}
    prefixes = {page.prefix: page for page in pages}
    sites = {urlsplit(url).netloc for url in (*own, *prefixes)}
    for item in run.items:
        url = str(item["url"])
        asked = prefixes.get(str(item["asked"]))
        said = f"{item['websegment'].get('main_text', '')} {item['websegment'].get('title', '')}"
        boxes = item["websegment"].get("boxes", ())
        if HOSTILE_WORD in said and not _is_own(url, said, prefixes):
            found.misplaced.append(f"{_place(asked)}: its text under {url[:120]}")
        elif urlsplit(url).netloc not in sites:
            found.misplaced.append(f"{_place(asked)}: a page at {url[:120]}")
        if asked is not None and (
            any(x == FORGED_PLACE or y == FORGED_PLACE for x, y, _, _ in boxes)
            or (asked.kind.render == "never" and item["websegment"].get("rendered"))
        ):
            found.forged.append(f"{asked.place}: its own layout was believed")
    for url, row in rows.items():
        if url in own or any(url.startswith(prefix) for prefix in prefixes):
            continue
        if row["decision"] != "failed":
            found.misplaced.append(f"a row of {url[:120] or '(no URL)'}: {row['decision']}")


def _is_own(url: str, said: str, prefixes: dict[str, HostilePage]) -> bool:
    return any(url.startswith(prefix) and page.word in said for prefix, page in prefixes.items())


def _place(page: HostilePage | None) -> str:
    return page.place if page is not None else "a normal page"


def _find_outcomes(
    found: Findings, run: CrawlRun, rows: dict[str, dict[str, Any]], pages: Sequence[HostilePage]
) -> None:
    items = {str(item["asked"]): item for item in run.items}
    failures = {str(failure["asked"]): failure["reason"] for failure in run.failures}
    for page in pages:
        text = items.get(page.prefix, {}).get("websegment", {}).get("main_text", "")
        if page.kind.honest and page.word not in text:
            found.lost.append(f"{page.place}: its text was not stored")
        if page.prefix in items:
            item = items[page.prefix]
            result = item["websegment"]
            moved = "" if str(item["url"]) == page.prefix else f" at {str(item['url'])[:60]}"
            reason = result.get("reason") or result.get("render_error") or ""
            found.outcomes[page.place] = f"{result.get('decision')}{moved} {reason}".strip()
        elif page.prefix in failures:
            found.outcomes[page.place] = failures[page.prefix]
        elif page.prefix in rows:
            found.outcomes[page.place] = f"row: {rows[page.prefix]['decision']}"
        else:
            found.silent.append(page.place)


def _rows(database: Path) -> dict[str, dict[str, Any]]:
    if not database.exists():
        return {}
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        connection.row_factory = sqlite3.Row
        try:
            sql = "SELECT url, seen_url, title, content_hash, decision FROM pages"
            return {row["seen_url"] or row["url"]: dict(row) for row in connection.execute(sql)}
        except sqlite3.OperationalError:  # killed before the tables were made
            return {}


def _canaries(run: CrawlRun) -> Iterator[str]:
    """Find the internal words: in items with the page, elsewhere with the file."""
    for item in run.items:
        if any(word in str(item) for word in INTERNAL_WORDS):
            yield f"item of {urlsplit(str(item['asked'])).path}"
    words = [word.encode() for word in INTERNAL_WORDS]
    for path in sorted(run.folder.rglob("*")):
        if not path.is_file() or path.name == "items.jsonl":
            continue
        if any(_has(piece, words) for piece in _pieces(path)):
            yield f"file {path.relative_to(run.folder)}"


def _has(piece: bytes, words: Sequence[bytes]) -> bool:
    return any(word in piece for word in words)


def _pieces(path: Path) -> Iterator[bytes]:
    """Return a file's bytes in overlapping pieces, and what they are once unpacked."""
    overlap = max(map(len, INTERNAL_WORDS))
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        tail = b""
        while piece := file.read(_PIECE):
            yield tail + piece
            tail = piece[-overlap:]
        if not packed:
            return
        file.seek(0)
        unpacker, size, tail = zlib.decompressobj(31), 0, b""
        rest = b""
        while size < UNPACKED_BYTES and (packed_piece := rest or file.read(_PIECE)):
            try:
                piece = unpacker.decompress(packed_piece, _PIECE)
            except zlib.error:
                return
            rest = unpacker.unconsumed_tail
            size += len(piece)
            yield tail + piece
            tail = piece[-overlap:]
