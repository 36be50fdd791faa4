"""Texts that are kept: with the decision, bounded, forgotten, merged, checked, compared."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.crawling import crawl
from tests.test_store_support import MINHASH, query, record, words_of
from tests.texts import prose
from websegment_scrapy.cli.main import main
from websegment_scrapy.dedup.passages import edits
from websegment_scrapy.store import Store
from websegment_scrapy.store.integrity import integrity
from websegment_scrapy.store.kept_texts import MAX_BYTES, packed, texts_of, unpacked
from websegment_scrapy.store.lifecycle import forget
from websegment_scrapy.store.merging import copy
from websegment_scrapy.view.lookups import page_by_url

pytest_plugins = ["tests.test_store_support"]

URL, OTHER = "http://example.com/a", "http://example.com/b"


@pytest.fixture
def store(database_url: str):  # type: ignore[no-untyped-def]
    with Store.open(database_url, recipe=MINHASH, keep_texts=2) as opened:
        yield opened


def visit(store: Store, text: str, url: str = URL) -> str:
    return str(store.decide(record(url, text, main_text=text)).kind)


def kept(store: Store, url: str = URL) -> list[str]:
    with store.database.read() as connection:
        page = page_by_url(connection, url)
        assert page is not None
        return [version.text for version in texts_of(connection, [page]).get(page, [])]


def test_the_last_texts_that_differ_are_kept_with_their_visits(store: Store) -> None:
    texts = [words_of(1, start=40 * number) for number in range(4)]
    for text in texts:
        assert visit(store, text) in ("new", "changed")
        assert visit(store, text) == "unchanged"
    assert kept(store) == texts[-2:]
    times = query(store, "SELECT seen_at FROM kept_texts ORDER BY seen_at")
    changed = query(store, "SELECT seen_at FROM visits WHERE decision = 'changed' ORDER BY id")
    assert times == changed[-2:]
    assert integrity(store) == []


def test_several_in_one_batch_and_none_of_pages_without_a_text(store: Store) -> None:
    from websegment_scrapy.store import PageRecord

    store.decide_many(
        [
            record(URL, words_of(1), main_text=words_of(1)),
            record(OTHER, words_of(1), main_text=words_of(1)),
            record(URL, words_of(2), main_text=words_of(2)),
            PageRecord(url="http://example.com/c", words=1, main_text="Few."),
            PageRecord(url="http://example.com/d", error="timed out", main_text="Any."),
        ]
    )
    assert kept(store) == [words_of(1), words_of(2)]
    assert kept(store, OTHER) == [words_of(1)]
    assert query(store, "SELECT count(*) FROM kept_texts") == [(3,)]


def test_without_the_setting_nothing_is_kept_and_later_what_is_there_is(database_url: str) -> None:
    with Store.open(database_url, recipe=MINHASH) as store:
        visit(store, words_of(1))
        assert kept(store) == []
    with Store.open(database_url, recipe=MINHASH, keep_texts=3) as store:
        assert visit(store, words_of(1)) == "unchanged"
        assert visit(store, words_of(1)) == "unchanged"
        assert kept(store) == [words_of(1)]


def test_texts_go_with_their_page(store: Store) -> None:
    visit(store, words_of(1))
    visit(store, words_of(2), OTHER)
    assert forget(store.database, datetime.now(UTC) + timedelta(days=1)) == 2
    assert query(store, "SELECT count(*) FROM kept_texts") == [(0,)]
    assert integrity(store) == []


def test_texts_come_along_when_a_database_is_copied(store: Store, tmp_path: Path) -> None:
    for number in (1, 2):
        visit(store, words_of(number))
        visit(store, words_of(number), OTHER)
    with Store.open(f"sqlite:///{tmp_path}/copy.db", recipe=MINHASH) as target:
        copy(store.database, target)
        assert kept(target) == kept(store) == [words_of(1), words_of(2)]
        assert integrity(target) == []


def test_damage_is_found(store: Store) -> None:
    visit(store, words_of(1))
    from sqlalchemy import text

    with store.database.write() as connection:
        connection.execute(text("UPDATE kept_texts SET text = :bad"), {"bad": b"\x00bad"})
    assert integrity(store) == ["pages whose kept text cannot be read: 1"]
    assert kept(store) == []


def test_long_and_strange_texts() -> None:
    import random

    choose = random.Random(1)
    assert packed("".join(chr(choose.randrange(0x4E00, 0x9FFF)) for _ in range(MAX_BYTES))) is None
    strange = packed("a\x00b\ud800c")
    assert strange is not None
    assert unpacked(strange) == "a\ufffdb\ufffdc"
    assert unpacked(packed("a" * 10**6)[:-1]) is None  # type: ignore[index]


def test_a_crawl_keeps_texts_if_asked(tmp_path: Path) -> None:
    from tests.site import Site
    from tests.texts import page

    database = f"sqlite:///{tmp_path}/store.db"
    settings = {"WEBSEGMENT_RENDER": "never", "WEBSEGMENT_DATABASE": database}
    with Site({"/": page(prose(1))}) as site:
        found = crawl([site.url("/")], settings | {"WEBSEGMENT_KEEP_TEXTS": 1})
    with Store.open(database, recipe=MINHASH) as store:
        assert kept(store, found.items[0]["url"]) == [found.items[0]["websegment"]["main_text"]]


def test_what_changed_is_printed(
    store: Store, database_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = f"{prose(1, 120)} The bridge is closed. {prose(2, 60)}"
    after = before.replace("is closed", "was opened on Monday") + " And an end."
    visit(store, before)
    arguments = ["dedup", "diff", URL, "--database", database_url]
    assert main(arguments) == 1
    assert "1 texts of" in capsys.readouterr().err
    visit(store, after)
    assert main(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("--- 2")
    assert lines[1].startswith("+++ 2")
    assert lines[2:] == ["- is closed.", "+ was opened on Monday.", "+ And an end."]
    assert main([*arguments, "--format", "jsonl"]) == 0
    assert '{"what": "-", "text": "is closed."}' in capsys.readouterr().out
    assert main([*arguments, "--back", "2"]) == 1
    assert "KEEP_TEXTS = 3" in capsys.readouterr().err
    assert main(["dedup", "diff", OTHER, "--database", database_url]) == 1
    assert "no crawl has stored it" in capsys.readouterr().err


def test_what_moved_is_no_edit() -> None:
    one, other = prose(1, 40), prose(2, 40)
    assert edits(f"{one}\n{other}", f"{other}\n{one}") == []
    assert edits("", "One two three.") == [("+", "One two three.")]
