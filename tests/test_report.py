"""``websegment report``: what it tells of a database, how large it gets, what it refuses."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from tests.seen import HOSTILE, A, B, C, fill
from tests.test_store_support import (  # noqa: F401
    database_url,
    postgresql_server,
    postgresql_url,
    record,
    sqlite_url,
    words_of,
)
from tests.texts import prose
from websegment_scrapy.cli.main import main
from websegment_scrapy.dedup.signature import RECIPES
from websegment_scrapy.store import PageRecord, Store
from websegment_scrapy.store.queries import open_for_reading
from websegment_scrapy.view.difference import two_crawls
from websegment_scrapy.view.html import hash_source
from websegment_scrapy.view.listed import kind_of_reason
from websegment_scrapy.view.report import Limits, report


class Scripts(HTMLParser):
    """The texts of a file's scripts and styles, its policy, and what a browser would ask for."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: dict[str, str] = {}
        self.policy = ""
        self.addresses: list[str] = []
        self._inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in ("script", "style"):
            self._inside = given.get("type") or tag
        if given.get("http-equiv") == "Content-Security-Policy":
            self.policy = given["content"] or ""
        self.addresses += [
            value or "" for name, value in attrs if name in ("src", "href", "action", "data")
        ]

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.texts[self._inside] = self.texts.get(self._inside, "") + data

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""


def data_of(html: str) -> dict[str, Any]:
    parsed = Scripts()
    parsed.feed(html)
    found = json.loads(parsed.texts["application/json"])
    assert isinstance(found, dict)
    return found


def page_of(data: dict[str, Any], url: str) -> dict[str, Any]:
    (row,) = [row for row in data["pages"] if row[1] == url]
    return dict(zip(data["columns"], row, strict=True))


@pytest.fixture
def told(database_url: str) -> dict[str, Any]:  # noqa: F811
    fill(database_url)
    database = open_for_reading(database_url)
    try:
        return data_of(report(database))
    finally:
        database.close()


def test_sites_crawls_copies_and_failures_are_counted(told: dict[str, Any]) -> None:
    assert told["summary"]["pages"] == 5
    sites = {row[0]: row for row in told["sites"]}
    assert sites["c.example"][1:6] == [3, 2, 0, 0, 1]
    assert sites["b.example"][11] == sites["a.example"][12] == 1  # copies, copied
    assert [crawl["decisions"] for crawl in told["crawls"]] == [
        {"changed": 1, "new": 1},
        {"duplicate": 1, "failed": 1, "new": 2},
    ]
    matrix = told["matrix"]
    (cell,) = matrix["cells"]
    assert (matrix["hosts"][cell[0]], matrix["hosts"][cell[1]]) == ("b.example", "a.example")
    assert told["reasons"][0][:3] == ["failed", "timed out", 1]
    assert {way["way"]: way["pages"] for way in told["ways"]} == {"rendered": 1, "plain": 4}
    assert told["all_crawls"] == 2


def test_the_scores_of_texts_are_counted_and_the_lowest_come_first(database_url: str) -> None:  # noqa: F811
    scores = {0: 0.0, 1: 0.699, 2: 0.7, 3: 0.95, 4: 1.0, 5: None, 6: 0.3}
    with Store.open(database_url, recipe=RECIPES["minhash"]) as store:
        for number, score in scores.items():
            own = record(f"http://a.example/{number}", words_of(number), main_text_score=score)
            store.decide(own)
    database = open_for_reading(database_url)
    data = data_of(report(database, limits=Limits(doubtful=3)))
    database.close()
    assert data["scores"] == [1, 0, 0, 1, 0, 0, 1, 1, 0, 2]
    urls = {row[0]: row[1] for row in data["pages"]}
    assert [urls[page] for page in data["doubtful"]] == [
        f"http://a.example/{number}" for number in (0, 6, 1)
    ]
    assert page_of(data, "http://a.example/1")["score"] == 0.699
    ((_, *numbers),) = data["sites"]
    assert numbers[7] == data["ways"][0]["score"] == pytest.approx(3.649 / 6, abs=0.001)


def test_the_crawl_before_is_compared_on_the_same_sites_only(told: dict[str, Any]) -> None:
    changes = {kind: count for kind, count, _ in told["difference"]["changes"]}
    assert changes == {
        "came": 1, "gone": 0, "changed": 1, "failing": 0, "mended": 0, "unchanged": 0
    }  # fmt: skip
    (change,) = told["changes"]
    assert change[0] == page_of(told, C)["id"]
    assert 0.1 < change[3] < 0.9


def test_a_pair_has_its_texts_from_the_database_with_the_passage_marked(
    told: dict[str, Any],
) -> None:
    copy, original = page_of(told, B), page_of(told, A)
    assert told["copies"] == [[copy["id"], original["id"], copy["similarity"]]]
    first, second, _ = told["texts"][str(copy["id"])]
    shared = {number: text for text, number in zip(first[::2], first[1::2], strict=True)}
    assert prose(1, 200) in shared[0]
    assert any(
        number == -1 and prose(7, 30)[-40:] in text
        for text, number in zip(second[::2], second[1::2], strict=True)
    )


def test_feeds_bring_texts_and_what_changed(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path}/store.db"
    texts = {A: [words_of(1)], B: [words_of(1, start=5)], C: [words_of(2), words_of(2, start=30)]}
    with Store.open(database, recipe=RECIPES["minhash"]) as store:
        for crawl in (0, 1):
            for url, versions in texts.items():
                store.decide(record(url, versions[min(crawl, len(versions) - 1)], crawl=str(crawl)))
    feeds = []
    for crawl in (0, 1):
        items = [
            {"websegment": {"url": url, "main_text": versions[crawl], "words": 1, "page_words": 1}}
            for url, versions in texts.items()
            if len(versions) > crawl
        ]
        feeds.append(tmp_path / f"{crawl}.json")
        feeds[-1].write_text("[\n" + ",\n".join(map(json.dumps, items)) + "\n]")
    target = tmp_path / "report.html"
    options = [part for feed in feeds for part in ("--items", str(feed))]
    assert main(["report", "--database", database, *options, "-o", str(target), "-q"]) == 0
    data = data_of(target.read_text(encoding="utf-8"))
    assert str(page_of(data, B)["id"]) in data["texts"]
    before, after, _ = data["compared"][str(page_of(data, C)["id"])]
    assert (before[0].split()[0], before[1]) == (words_of(2).split()[0], -1)
    assert after[-1] == -1


def test_flat_fields_of_a_feed_are_read_too(tmp_path: Path) -> None:
    from websegment_scrapy.view.feeds import read_feed

    feed = tmp_path / "flat.jsonl"
    feed.write_text('{"url": "http://a.example/", "ws_main_text": "One.", "ws_words": 1}\n\n{}\n')
    (page,) = read_feed(str(feed), "ws")
    assert (page.main_text, page.words) == ("One.", 1)


@pytest.mark.parametrize("content", ["no JSON", "[[1, 2]]", '"text"', "[" * 100_000])
def test_a_feed_that_is_none_is_one_line(
    tmp_path: Path, content: str, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(f"sqlite:///{tmp_path}/store.db")
    (tmp_path / "feed").write_text(content)
    args = ["--database", str(tmp_path / "store.db"), "-o", str(tmp_path / "x.html")]
    assert main(["report", *args, "--items", str(tmp_path / "feed")]) == 2
    assert "line 1 is no item: give a feed" in capsys.readouterr().err
    assert main(["report", *args, "--items", str(tmp_path / "none")]) == 2
    assert "cannot be read" in capsys.readouterr().err


def test_an_empty_database_makes_a_report(tmp_path: Path) -> None:
    Store.open(f"sqlite:///{tmp_path}/store.db", recipe=RECIPES["minhash"]).close()
    target = tmp_path / "report.html"
    assert main(["report", "--database", str(tmp_path / "store.db"), "-o", str(target), "-q"]) == 0
    data = data_of(target.read_text(encoding="utf-8"))
    assert (data["summary"]["pages"], data["pages"], data["difference"]) == (0, [], None)


def test_a_file_that_cannot_be_written_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(f"sqlite:///{tmp_path}/store.db")
    target = str(tmp_path / "none" / "x.html")
    assert main(["report", "--database", str(tmp_path / "store.db"), "-o", target]) == 2
    assert "cannot be written" in capsys.readouterr().err


def hostile_database(url: str) -> None:
    """Fill a database with hostile strings in every field that a page or a user can fill."""
    with Store.open(url, recipe=RECIPES["minhash"]) as store:
        for number, text in enumerate(HOSTILE):
            host = re.sub(r"[/?#@\\:\s]", "", text)[:60]
            for copy in ("a", "b"):
                store.decide(
                    record(
                        f"http://{host}{copy}/{text}?{text}",
                        words_of(number) + " " + text,
                        title=text,
                        render_error=text,
                        engine=text,
                        model=text,
                        crawl=f"{text} {number}",
                        page_type=text[:1000],
                        page_type_probability=0.5,
                    )
                )
            store.decide(PageRecord(url=f"{text}#{number}", title=text, error=text, crawl=text))


def test_hostile_strings_are_data_and_the_file_stays_small(tmp_path: Path) -> None:
    hostile_database(f"sqlite:///{tmp_path}/store.db")
    feed = tmp_path / "feed.jsonl"
    with feed.open("w") as out:
        for number, text in enumerate(HOSTILE):
            host = re.sub(r"[/?#@\\:\s]", "", text)[:60]
            for copy in ("a", "b"):
                url = f"http://{host}{copy}/{text}?{text}"
                body = {"url": url, "main_text": f"{words_of(number)} {text}\n{text}"}
                out.write(json.dumps({"websegment": body}) + "\n")
    target = tmp_path / "report.html"
    args = ["--database", str(tmp_path / "store.db"), "--items", str(feed), "-o", str(target)]
    assert main(["report", *args, "-q"]) == 0
    html = target.read_text(encoding="utf-8")
    assert len(html) < 5_000_000
    parsed = Scripts()
    parsed.feed(html)
    assert set(parsed.texts) == {"style", "application/json", "script"}
    for kind in ("script", "style"):
        assert f"{kind}-src {hash_source(parsed.texts[kind])}" in parsed.policy
    assert "default-src 'none'" in parsed.policy
    assert all(address.startswith("#") for address in parsed.addresses)
    for sign in "\u202e\u2028\x00\x01":
        assert sign not in html
    assert len(data_of(html)["texts"]) >= 30


def test_a_report_has_room_for_some_pages_only(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/store.db"
    with Store.open(url, recipe=RECIPES["minhash"]) as store:
        for number in range(60):
            store.decide(record(f"http://a.example/{number}", words_of(number // 2)))
    database = open_for_reading(url)
    data = data_of(report(database, limits=Limits(page_bytes=3000, copies=20, sites=1)))
    database.close()
    assert 5 < len(data["pages"]) < 20
    ids = {row[0] for row in data["pages"]}
    assert all({page, original} <= ids for page, original, _ in data["copies"])
    assert all(set(members) <= ids for _, _, _, members in data["clusters"])


def test_reasons_that_differ_in_numbers_and_addresses_are_one() -> None:
    one, other = (
        kind_of_reason(f"https://{name}.example/{number}: no answer within {number}.5 s")
        for name, number in (("a", 3), ("b", 77))
    )
    assert one == other == "… no answer within … s"


def test_merges_are_no_crawls_and_the_same_spider_is_preferred(told: dict[str, Any]) -> None:
    from datetime import UTC, datetime

    from websegment_scrapy.view.numbers import CrawlNumbers

    def crawl(number: int, name: str) -> CrawlNumbers:
        moment = datetime(2026, 1, number, tzinfo=UTC)
        return CrawlNumbers(number, name, moment, moment)

    crawls = [crawl(1, "x 1"), crawl(2, "y 2"), crawl(3, "x 3"), crawl(4, "merge of z")]
    found = two_crawls(crawls)
    assert found is not None
    assert (found[0].id, found[1].id) == (3, 1)
    assert two_crawls(crawls[:1]) is None
