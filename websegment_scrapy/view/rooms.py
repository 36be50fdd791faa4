"""What the viewer shows of a database: pages, pairs, clusters, sites, and what is searched for."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from websegment_scrapy.dedup.passages import EDIT_WIDTH
from websegment_scrapy.exceptions import StoreError
from websegment_scrapy.printable import printable_text
from websegment_scrapy.store.kept_texts import texts_of
from websegment_scrapy.store.queries import summary
from websegment_scrapy.store.record import clean, picture_name
from websegment_scrapy.store.schema import read_info
from websegment_scrapy.store.templates import template_parts
from websegment_scrapy.view import lookups
from websegment_scrapy.view.numbers import DECISIONS
from websegment_scrapy.view.texts import SiteRules, kept_texts, marked_pair

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import Connection

    from websegment_scrapy.store.answers import Summary
    from websegment_scrapy.store.database import Database

__all__ = ["DatabaseRooms", "number_of"]

FRESH_SECONDS = 5.0
"""The numbers of the whole database are counted again after so long."""

LONGEST_SEARCH = 200
LONGEST_NUMBER = 19
NOWHERE = "\ufffd\ufffd\ufffd"
ONE_TEXT = 200_000
PARTS = 25
"""Parts of a site's template that are shown, of equally frequent ones the longest."""


class DatabaseRooms:
    """The pages of the viewer that show a database: a template and its values for each."""

    def __init__(
        self, database: Database, rules: SiteRules, screenshots: Path | None = None
    ) -> None:
        self.database = database
        self.screenshots = screenshots
        self.rules = rules
        self._summary: tuple[float, Summary] | None = None

    def enter(self, name: str, rest: str, given: dict[str, str]) -> tuple[str, dict[str, Any]]:
        """Return the template and the values of a room; `LookupError` if there is none."""
        if name == "site" and not rest:
            return "site.html", self._site(clean(given["host"]), _below(given))
        numbers = [number_of(part) for part in rest.split("/")]
        if name == "url" and len(numbers) == 1:
            return "url.html", self._url(*numbers)
        if name == "pair" and len(numbers) == 2:
            return "pair.html", self._pair(*numbers)
        if name == "change" and len(numbers) == 1:
            return "change.html", self._change(*numbers)
        if name == "cluster" and len(numbers) == 1:
            return "cluster.html", self._cluster(numbers[0], _below(given) or 0)
        raise LookupError(name)

    def home(self, given: dict[str, str]) -> dict[str, Any]:
        """Return the first page: numbers, what is searched for, the latest pages."""
        wanted = clean(given.get("q", "").strip()[:LONGEST_SEARCH])
        told = self._numbers()
        with self.database.read() as connection:
            exact = lookups.page_by_url(connection, wanted) if wanted else None
            return {
                "summary": told,
                "wanted": wanted,
                "exact": exact,
                "found": lookups.found_pages(connection, wanted, _below(given)),
                "hosts": lookups.hosts_like(connection, wanted),
            }

    def warm_up(self) -> None:
        """Search once for what is nowhere: afterwards the pages are in the system's memory."""
        with suppress(StoreError):
            self.home({"q": NOWHERE})

    def _numbers(self) -> Summary:
        now = time.monotonic()
        if self._summary is None or now - self._summary[0] > FRESH_SECONDS:
            self._summary = now, summary(self.database)
        return self._summary[1]

    def _url(self, page: int) -> dict[str, Any]:
        with self.database.read() as connection:
            row = lookups.page_by_id(connection, page)
            if row is None:
                raise LookupError(page)
            return {
                "row": row,
                "visits": lookups.visits_of(connection, page),
                "copies": lookups.copies_of(connection, page),
                "has_screenshot": self._file(row.url) is not None,
                "versions": len(texts_of(connection, [page]).get(page, ())),
                "text": _shown(self._texts(connection, page).get(page, "")),
            }

    def screenshot(self, page: int) -> bytes:
        """Return the picture that a crawl has kept of a page."""
        with self.database.read() as connection:
            row = lookups.page_by_id(connection, page)
        file = None if row is None else self._file(row.url)
        if file is None:
            raise LookupError(page)
        return file.read_bytes()

    def _file(self, url: str) -> Path | None:
        if self.screenshots is None:
            return None
        file = self.screenshots / picture_name(url)
        return file if file.is_file() else None

    def _pair(self, first: int, second: int) -> dict[str, Any]:
        with self.database.read() as connection:
            rows = [lookups.page_by_id(connection, page) for page in (first, second)]
            if None in rows:
                raise LookupError(first)
            info = read_info(self.database, connection)
            texts = self._texts(connection, first, second)
        one, other = rows
        assert one is not None
        assert other is not None
        direct = second if one.duplicate_of_id == second else None
        if direct is None and other.duplicate_of_id == first:
            one, other, direct = other, one, first
        data = None
        if first in texts and second in texts:
            shown = [_shown(texts[row.id]) for row in (other, one)]
            data = marked_pair(shown[0], shown[1], info.recipe.width)
        return {
            "copy": one,
            "original": other,
            "direct": direct is not None,
            "same_cluster": one.cluster_id is not None and one.cluster_id == other.cluster_id,
            "threshold": info.similarity,
            "data": data,
        }

    def _change(self, page: int) -> dict[str, Any]:
        """Compare the last two texts that are kept of a page."""
        with self.database.read() as connection:
            row = lookups.page_by_id(connection, page)
            versions = texts_of(connection, [page]).get(page, [])
        if row is None:
            raise LookupError(page)
        data = None
        if len(versions) > 1:
            before, after = (_shown(version.text) for version in versions[-2:])
            data = marked_pair(before, after, EDIT_WIDTH)
        return {"row": row, "versions": versions[-2:], "data": data}

    def _cluster(self, cluster: int, above: int) -> dict[str, Any]:
        with self.database.read() as connection:
            first = lookups.page_by_id(connection, cluster)
            if first is None:
                raise LookupError(cluster)
            size, pages = lookups.cluster_pages(connection, cluster, above)
        return {"first": first, "size": size, "found": pages}

    def _site(self, host: str, below: int | None) -> dict[str, Any]:
        with self.database.read() as connection:
            story = lookups.site_story(connection, host, below)
            counted, parts = template_parts(
                connection, host, theta=self.rules.theta, min_pages=self.rules.min_pages
            )
        if not story.decisions:
            raise LookupError(host)
        parts.sort(key=lambda part: (-part.pages, -len(part.sample)))
        return {
            "host": host,
            "story": story,
            "counted": counted,
            "parts": parts[:PARTS],
            "all_parts": len(parts),
            "min_pages": self.rules.min_pages,
            "kinds": DECISIONS,
        }

    def _texts(self, connection: Connection, *pages: int) -> dict[int, str]:
        # Crawls may go on: what is known of sites is read anew each time.
        rules = SiteRules(self.rules.theta, self.rules.min_pages)
        found = dict(kept_texts(connection, pages, rules))
        for page, versions in texts_of(connection, pages).items():
            found[page] = versions[-1].text
        return found


def _below(given: dict[str, str]) -> int | None:
    return number_of(given["below"]) if "below" in given else None


def number_of(text: str) -> int:
    """Read a number of an address, of a size that a database can hold; else `LookupError`."""
    if not (text.isascii() and text.isdigit() and len(text) < LONGEST_NUMBER):
        raise LookupError(text)
    return int(text)


def _shown(text: str) -> str:
    return printable_text(text[:ONE_TEXT], terminal=True)
