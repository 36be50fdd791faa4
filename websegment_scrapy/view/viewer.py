"""The viewer: questions in, pages out. It reads a database and documents, and writes marks only."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, quote

from websegment_scrapy.config import MAIN_TEXTS
from websegment_scrapy.exceptions import AnalysisError, StoreError, WebsegmentError
from websegment_scrapy.page.capture import Captured
from websegment_scrapy.page.decode import decode
from websegment_scrapy.printable import shortened
from websegment_scrapy.segment.registry import engine_names
from websegment_scrapy.view.borders import SHOULD, border_choices, marked_place
from websegment_scrapy.view.html import asset, fill
from websegment_scrapy.view.looking import LookedAt, look_at
from websegment_scrapy.view.rooms import DatabaseRooms, number_of
from websegment_scrapy.view.server import Answer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from websegment_scrapy.pool import AnalysisPool
    from websegment_scrapy.store.database import Database
    from websegment_scrapy.view.marks import Marks
    from websegment_scrapy.view.server import Question
    from websegment_scrapy.view.texts import SiteRules

__all__ = ["Document", "Viewer"]

MOST_KEPT = 40
"""Analyses that are remembered: switching back and forth costs nothing."""

ASSETS = {
    "icon.svg": ("image/svg+xml", ("icon.svg",)),
    "style.css": ("text/css; charset=utf-8", ("style.css", "view.css")),
    "view.js": ("text/javascript; charset=utf-8", ("parts.js", "view.js")),
}


@dataclass(frozen=True, slots=True)
class Document:
    """A page to look at: where it is from, what was read, and its picture, if it was rendered."""

    source: str
    html: str | bytes | Captured
    url: str
    content_type: str | None = None
    picture: bytes | None = None


class Viewer:
    """Answers the questions of a `ViewServer`.

    Parameters
    ----------
    documents
        Pages to look at.
    pool
        Processes that analyse them.
    marks
        The file for what is said to be wrong.
    database
        The store to look at, if there is one.
    rules
        The crawls' settings about sites.
    engine, main_text
        How documents are judged at first.
    screenshots
        The crawls' folder of pictures (``WEBSEGMENT_KEEP_SCREENSHOTS``).
    """

    def __init__(
        self,
        documents: Sequence[Document],
        pool: AnalysisPool,
        marks: Marks,
        database: Database | None,
        rules: SiteRules,
        *,
        engine: str,
        main_text: str,
        screenshots: Path | None = None,
    ) -> None:
        self.documents = documents
        self.pool = pool
        self.marks = marks
        self.engine, self.main_text = engine, main_text
        self.rooms = None if database is None else DatabaseRooms(database, rules, screenshots)
        self._known: dict[tuple[int, str, str], dict[str, Any]] = {}
        self._lock = threading.Lock()

    def answer(self, question: Question) -> Answer:
        """Return the page for a question; what goes wrong is a page too."""
        name, _, rest = question.path.partition("/")
        common = {"root": "../" * question.path.count("/") or "./", "documents": self._documents()}
        try:
            given = {
                key: values[-1]
                for key, values in parse_qs(
                    question.query, keep_blank_values=True, max_num_fields=20
                ).items()
            }
            if question.posted is not None:
                return self._mark(rest, question.posted) if name == "mark" else _none(common)
            if name in ASSETS and not rest:
                kind, files = ASSETS[name]
                return Answer(asset(*files).encode(), kind)
            if name == "page":
                return self._page(number_of(rest), given, common)
            if name == "border":
                return self._borders(number_of(rest), given)
            if name == "picture":
                return self._picture(number_of(rest))
            if name == "":
                return _html("home.html", **common, **self._home(given))
            if name == "screenshot" and self.rooms is not None:
                return Answer(self.rooms.screenshot(number_of(rest)), "image/jpeg")
            if self.rooms is not None:
                template, values = self.rooms.enter(name, rest, given)
                return _html(template, **common, **values)
            return _none(common)
        except LookupError:
            return _none(common)
        except ValueError:
            return _sorry(common, "That is no address of the viewer.", 400)
        except AnalysisError as error:
            return _sorry(common, f"This page could not be analysed: {error}", 200)
        except StoreError as error:
            return _sorry(common, f"The database does not answer: {error}", 503)

    def _home(self, given: dict[str, str]) -> dict[str, Any]:
        if self.rooms is None:
            return dict.fromkeys(("summary", "found", "exact")) | {"wanted": "", "hosts": []}
        return self.rooms.home(given)

    def _documents(self) -> list[tuple[int, str]]:
        return [
            (number, shortened(document.source, 120))
            for number, document in enumerate(self.documents)
        ]

    def _document(self, number: int) -> Document:
        if not 0 <= number < len(self.documents):
            raise LookupError(number)
        return self.documents[number]

    def _page(self, number: int, given: dict[str, str], common: dict[str, Any]) -> Answer:
        document = self._document(number)
        engine, method = given.get("engine", self.engine), given.get("main_text", self.main_text)
        return _html(
            "page.html",
            **common,
            number=number,
            engines=engine_names(),
            methods=MAIN_TEXTS,
            has_picture=document.picture is not None,
            page=self._look(number, engine, method),
        )

    def _look(self, number: int, engine: str, method: str) -> dict[str, Any]:
        key = number, engine, method
        with self._lock:
            known = self._known.get(key)
        if known is not None:
            return known
        task = self._task(number, engine, method)
        found: dict[str, Any] = json.loads(self.pool.submit(look_at, task).result())
        with self._lock:
            while len(self._known) >= MOST_KEPT:
                self._known.pop(next(iter(self._known)))
            self._known[key] = found
        return found

    def _task(self, number: int, engine: str, method: str) -> LookedAt:
        document = self._document(number)
        if engine not in engine_names() or method not in MAIN_TEXTS:
            raise LookupError(engine, method)
        return LookedAt(
            html=document.html,
            url=document.url,
            content_type=document.content_type,
            engine=engine,
            main_text=method,
        )

    def _picture(self, number: int) -> Answer:
        picture = self._document(number).picture
        if picture is None:
            raise LookupError(number)
        return Answer(picture, "image/jpeg")

    def _borders(self, number: int, given: dict[str, str]) -> Answer:
        """Say where the border of a segment could be."""
        engine, method = given.get("engine", ""), given.get("main_text", "")
        segment = self._segment(number, engine, method, number_of(given.get("segment", "")))
        task = self._task(number, engine, method)
        found = self.pool.submit(border_choices, task, segment).result()
        return Answer(found.encode(), "application/json")

    def _segment(self, number: int, engine: str, method: str, segment: object) -> int:
        """Return the id of a segment that the page has."""
        known = {each["id"] for each in self._look(number, engine, method)["segments"]}
        if not isinstance(segment, int) or segment not in known:
            raise LookupError(segment)
        return segment

    def _mark(self, rest: str, posted: bytes) -> Answer:
        """Write down what a person says is wrong; only our own pages get here."""
        given = json.loads(posted)
        if not isinstance(given, dict):
            return Answer(b'{"error": "a mark is an object"}', "application/json", 400)
        number, engine, method = number_of(rest), str(given.get("engine")), str(given.get("method"))
        segment = self._segment(number, engine, method, given.get("segment"))
        should, place = given.get("should"), given.get("place")
        if should not in SHOULD or not isinstance(place, int):
            should, place = "", -1
        task = self._task(number, engine, method)
        told = json.loads(self.pool.submit(marked_place, task, segment, should, place).result())
        try:
            self.marks.add(
                self._look(number, engine, method),
                segment,
                str(given.get("kind")),
                told,
                str(given.get("note") or ""),
                _text_of(self._document(number)),
            )
        except (OSError, WebsegmentError) as error:
            return Answer(json.dumps({"error": str(error)}).encode(), "application/json", 400)
        written = {"written": shortened(self.marks.path, 300)}
        return Answer(json.dumps(written).encode(), "application/json")


def _text_of(document: Document) -> str:
    """Return a document as a text, without the layout that rendering wrote into it."""
    html = document.html
    if isinstance(html, Captured):
        return html.plain()
    if isinstance(html, bytes):
        return decode(html, content_type=document.content_type)
    return html


def _html(template: str, **values: Any) -> Answer:
    page = fill(template, quote=quote, **values)
    return Answer(page.encode("utf-8", "replace"))


def _none(common: dict[str, Any]) -> Answer:
    return _sorry(common, "There is nothing here.", 404)


def _sorry(common: dict[str, Any], said: str, status: int) -> Answer:
    page = fill("sorry.html", said=shortened(said, 500), **common)
    return Answer(page.encode("utf-8", "replace"), status=status)
