"""What the store keeps for revisits: how long it holds, when pages are due, what is a change."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.test_store_support import MINHASH, query, record, words_of
from websegment_scrapy.dedup.decision import Decision
from websegment_scrapy.dedup.plain import PlainHtml, share_told
from websegment_scrapy.dedup.steady import steady_hash_of
from websegment_scrapy.page.words import words
from websegment_scrapy.store import PageRecord, Store
from websegment_scrapy.store.integrity import integrity
from websegment_scrapy.store.lifecycle import forget
from websegment_scrapy.store.record import Look
from websegment_scrapy.store.revisits import KnownPage, known
from websegment_scrapy.store.schedule import FIRST, LONGEST, SHORTEST, due_pages, next_interval

pytest_plugins = ["tests.test_store_support"]

URL, OTHER = "http://example.com/a", "http://example.com/b"
HASH = b"h" * 16
LOOK = Look(etag='"1"', last_modified="yesterday", plain_hash=HASH, leads_on=False)


def visit(store: Store, text: str, url: str = URL, **more: Any) -> Decision:
    return store.decide(record(url, text, steady_hash=steady_hash_of(words(text)), **more))


def unlooked(url: str = URL) -> PageRecord:
    return PageRecord(url=url, unchanged="its plain HTML is the same")


def found(store: Store, url: str = URL) -> KnownPage:
    row = known(store, url)
    assert row is not None
    return row


def test_what_a_look_brought_holds_as_long_as_its_visit_is_the_last(store: Store) -> None:
    assert known(store, URL) is None
    visit(store, words_of(1), look=LOOK)
    row = found(store)
    assert (row.etag, row.last_modified, row.plain_hash) == ('"1"', "yesterday", HASH)
    assert (row.leads_on, row.links_by_script, row.scripted) == (False, False, False)
    visit(store, words_of(1))  # by a crawl that does not come back
    assert known(store, URL) is None
    visit(store, words_of(1), look=LOOK)
    assert known(store, URL) is not None
    store.decide(PageRecord(url=URL, error="timed out"))
    assert known(store, URL) is None
    assert integrity(store) == []


def test_a_page_that_was_not_looked_at_stays_as_it_is(store: Store) -> None:
    visit(store, words_of(1), title="Title", look=LOOK)
    visit(store, words_of(1), OTHER, look=LOOK)
    before = query(store, "SELECT title, words, content_hash, last_changed FROM pages ORDER BY id")
    row = found(store)
    decisions = store.decide_many([unlooked(), record(URL + "c", words_of(3)), unlooked(OTHER)])
    assert [str(decision.kind) for decision in decisions] == ["unchanged", "new", "unchanged"]
    assert decisions[2].duplicate_of == URL
    after = query(store, "SELECT title, words, content_hash, last_changed FROM pages ORDER BY id")
    assert after[:2] == before
    assert found(store).look_by == row.look_by
    assert found(store).plain_hash == HASH
    reasons = "SELECT reason FROM visits WHERE decision = 'unchanged'"
    assert query(store, reasons) == [("its plain HTML is the same",)] * 2
    assert integrity(store) == []


def test_one_that_was_forgotten_meanwhile_failed(store: Store) -> None:
    visit(store, words_of(1), look=LOOK)
    assert forget(store.database, datetime.now(UTC) + timedelta(days=1)) == 1
    assert query(store, "SELECT count(*) FROM revisits") == [(0,)]
    gone = store.decide(unlooked())
    assert (gone.kind, known(store, URL)) == ("failed", None)
    assert "nothing is stored of it any more" in str(gone.reason)


def test_a_page_that_a_script_changed_while_its_html_stayed_is_known_for_it(store: Store) -> None:
    visit(store, words_of(1), look=LOOK)
    visit(store, words_of(2), look=LOOK)
    assert found(store).scripted
    visit(store, words_of(2), look=LOOK)
    assert found(store).scripted
    visit(store, words_of(1), OTHER, look=LOOK)
    visit(store, words_of(2), OTHER, look=Look(plain_hash=b"i" * 16))
    assert not found(store, OTHER).scripted


def test_a_damaged_or_endless_validator_is_not_kept(store: Store) -> None:
    visit(store, words_of(1), look=Look(etag="x" * 501, last_modified="a\0b"))
    assert (found(store).etag, found(store).last_modified) == (None, None)


def test_intervals_grow_while_nothing_changes_and_shrink_when_something_does() -> None:
    assert next_interval(None, None, changed=False) == FIRST
    interval, stood, visits = FIRST, timedelta(), 0
    while interval < LONGEST:
        stood += interval
        interval = next_interval(interval, stood, changed=False)
        visits += 1
    assert visits <= 10
    assert next_interval(interval, stood * 10, changed=False) == LONGEST
    assert next_interval(FIRST, stood, changed=True) == FIRST / 4
    for _ in range(5):
        interval = next_interval(interval, None, changed=True)
    assert interval == SHORTEST


def test_what_is_due_is_listed_the_longest_due_first(store: Store) -> None:
    for url in (URL, OTHER):
        visit(store, words_of(1), url, look=LOOK)
    visit(store, words_of(2), "http://example.com/never", look=None)
    now = datetime.now(UTC)
    assert list(due_pages(store, now)) == []
    due = list(due_pages(store, now + FIRST))
    assert [row.url for row in due] == [URL, OTHER]
    assert due[0].interval_hours == 20
    store.decide(unlooked())
    visit(store, words_of(3), OTHER, look=LOOK)
    assert [row.url for row in due_pages(store, now + FIRST / 3)] == [OTHER]


@pytest.fixture
def lenient(database_url: str):  # type: ignore[no-untyped-def]
    rules = {"changed_share": 0.2, "ignore_figures": True}
    with Store.open(database_url, recipe=MINHASH, **rules) as opened:
        yield opened


def test_a_change_is_one_from_a_share_of_the_text_on_also_little_by_little(lenient: Store) -> None:
    text = words_of(1, 200).split()
    visit(lenient, " ".join(text))
    kinds = []
    for changed in range(1, 12):
        text[10 * changed] = f"other{'x' * changed}"
        kinds.append(str(visit(lenient, " ".join(text)).kind))
    assert kinds[0] == kinds[1] == "unchanged"
    assert "changed" in kinds  # in the end it is another text
    reasons = query(lenient, "SELECT reason FROM visits WHERE decision = 'unchanged' ORDER BY id")
    assert "of the text is another, less than 0.2" in reasons[0][0]
    assert integrity(lenient) == []


PLAIN = "The museum on the hill shows boats and lanterns of many harbours to all who come, "


def test_figures_and_dates_are_no_change_if_so_asked(lenient: Store, store: Store) -> None:
    one = f"{PLAIN} Monday, 2 March 2026: 1,200 visitors and 14 boats"
    two = f"{PLAIN} Friday, 10 April 2026: 98 visitors and 5 boats"
    assert visit(lenient, one).kind == "new"
    assert visit(lenient, two).kind == "unchanged"
    assert visit(lenient, two).kind == "unchanged"
    reason = query(lenient, "SELECT DISTINCT reason FROM visits WHERE decision = 'unchanged'")
    assert reason == [("only figures and dates are others",)]
    assert visit(lenient, two.replace("boats", "horses")).kind == "changed"


def test_without_the_settings_a_figure_is_a_change(store: Store) -> None:
    assert visit(store, f"{PLAIN} 14 boats").kind == "new"
    assert visit(store, f"{PLAIN} 15 boats").kind == "changed"


def test_an_empty_page_says_whether_it_had_a_text(store: Store) -> None:
    visit(store, words_of(1))
    for url, emptied in ((URL, True), (OTHER, False)):
        decision = store.decide(PageRecord(url=url, words=1))
        assert (decision.kind, decision.emptied) == ("empty", emptied)
        assert ("had a text before" in str(decision.reason)) is emptied
    assert visit(store, words_of(1)).kind == "unchanged"


def html_of(text: str, noise: str = "", script: str = "") -> PlainHtml:
    return PlainHtml.read(
        f"<html {noise}><!-- {noise} --><body><p class='{noise}'>{text}</p><a href='/?{noise}'>Go"
        f"</a><style>{noise}</style><script>{script}{noise}</script></body></html>"
    )


def test_plain_html_is_known_by_its_words_whatever_the_request_adds() -> None:
    first, second = (html_of(PLAIN, noise) for noise in ("token1", "token2"))
    assert first.hashes()[0] == second.hashes()[0]
    assert first.hash_that_tells(PLAIN) == (first.hashes()[0], 1.0)
    assert html_of(PLAIN + "12").hashes()[0] != html_of(PLAIN + "13").hashes()[0]
    ids = ("0a1b2c3d4e5f60718293", "ff1b2c3d4e5f60718293")
    assert len({html_of(PLAIN + each).hashes()[0] for each in ids}) == 1


def test_text_that_waits_in_a_script_is_told_by_it() -> None:
    built = html_of("Loading", script='{"body": "<p>' + PLAIN.replace(" ", "\\u0020") + '</p>"}')
    assert built.hash_that_tells(PLAIN) == (built.hashes()[1], 1.0)
    assert html_of("Loading").hash_that_tells(PLAIN)[0] is None
    assert share_told("", ["any"]) is None
    assert share_told("one two three four", ["one", "two", "three"]) == 0.5
