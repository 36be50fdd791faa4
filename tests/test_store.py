"""Decisions: each rule, on a real SQLite file and on a real PostgreSQL."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.test_store_support import MINHASH, query, record, stored_clusters, words_of
from websegment_scrapy.dedup.decision import Decision, DecisionKind
from websegment_scrapy.dedup.signature import RECIPES, signature_of, similarity
from websegment_scrapy.exceptions import StoreError, StoreMismatch
from websegment_scrapy.store import PageRecord, Store
from websegment_scrapy.store.database import StoreUnavailable
from websegment_scrapy.store.integrity import integrity

pytest_plugins = ["tests.test_store_support"]

A, B, C, D = (f"http://example.com/{name}" for name in "abcd")


@pytest.fixture(autouse=True)
def sound(store: Store) -> Any:
    yield
    assert integrity(store) == []


def decide(store: Store, url: str, content: str, **more: Any) -> Decision:
    return store.decide(record(url, content, **more))


def test_the_first_page_is_new(store: Store) -> None:
    before = datetime.now(UTC) - timedelta(seconds=5)
    decision = decide(store, A, words_of(1), title="Title", engine="justrules", crawl="c1")
    assert decision.kind is DecisionKind.NEW
    assert (decision.url, decision.duplicate_of, decision.similarity) == (A, None, None)
    assert (decision.representative, decision.reason) == (A, None)
    assert before < decision.first_seen < datetime.now(UTC) + timedelta(seconds=5)
    assert query(store, "SELECT url, host, title, words, decision, engine FROM pages") == [
        (A, "example.com", "Title", 120, "new", "justrules")
    ]
    assert query(store, "SELECT crawl, decision FROM url_history") == [("c1", "new")]


def test_a_page_with_the_same_words_is_a_duplicate(store: Store) -> None:
    decide(store, A, words_of(1))
    decision = decide(store, B, words_of(1).upper().replace(" ", ", "))
    assert (decision.kind, decision.duplicate_of, decision.similarity) == ("duplicate", A, 1.0)
    assert decision.representative == A


def test_a_similar_page_is_a_duplicate_of_the_most_similar_one(store: Store) -> None:
    decide(store, A, words_of(1))
    decide(store, B, words_of(1, start=10))
    decision = decide(store, C, words_of(1, start=12))
    assert (decision.kind, decision.duplicate_of, decision.representative) == ("duplicate", B, A)
    expected = similarity(
        signature_of(words_of(1, start=12), MINHASH), signature_of(words_of(1, start=10), MINHASH)
    )
    assert decision.similarity == expected
    assert query(store, "SELECT url, duplicate_of, representative FROM duplicates") == [
        (B, A, A),
        (C, B, A),
    ]


def test_among_equally_similar_pages_the_first_is_named(store: Store) -> None:
    for url in (A, B, C):
        decide(store, url, words_of(1))
    assert decide(store, D, words_of(1)).duplicate_of == A


def test_another_text_is_new(store: Store) -> None:
    decide(store, A, words_of(1))
    assert decide(store, B, words_of(2)).kind is DecisionKind.NEW
    assert len(stored_clusters(store)) == 2


def test_a_page_between_two_clusters_joins_the_nearer_and_does_not_merge_them(
    store: Store,
) -> None:
    decide(store, A, words_of(1, start=0))
    assert decide(store, B, words_of(1, start=32)).kind is DecisionKind.NEW
    decision = decide(store, C, words_of(1, start=18), crawl="link")
    assert (decision.kind, decision.duplicate_of, decision.representative) == ("duplicate", B, B)
    assert stored_clusters(store) == {frozenset((A,)), frozenset((B, C))}
    assert decide(store, A, words_of(1, start=0)).representative == A


def test_a_page_that_is_similar_to_a_member_only_is_a_text_of_its_own(store: Store) -> None:
    decide(store, A, words_of(1, start=0))
    assert decide(store, B, words_of(1, start=14)).duplicate_of == A
    decision = decide(store, C, words_of(1, start=28))
    assert (decision.kind, decision.duplicate_of, decision.representative) == ("new", None, C)
    assert query(store, "SELECT url FROM pages WHERE id = cluster_id ORDER BY id") == [(A,), (C,)]


def test_a_page_seen_again_with_the_same_words_is_unchanged(store: Store) -> None:
    first = decide(store, A, words_of(1), title="old")
    again = decide(store, A + "#fragment", words_of(1), title="new")
    assert (again.kind, again.page_id, again.first_seen) == (
        "unchanged",
        first.page_id,
        first.first_seen,
    )
    assert again.representative == A
    (row,) = query(store, "SELECT title, first_seen < last_seen, last_changed FROM pages")
    assert row[:2] == ("new", True)
    assert len(query(store, "SELECT id FROM visits")) == 2


def test_an_unchanged_duplicate_still_says_of_what(store: Store) -> None:
    decide(store, A, words_of(1))
    decide(store, B, words_of(1))
    decision = decide(store, B, words_of(1))
    assert (decision.kind, decision.duplicate_of, decision.similarity, decision.representative) == (
        "unchanged",
        A,
        1.0,
        A,
    )


def test_a_page_seen_again_with_other_words_is_changed(store: Store) -> None:
    old, new = words_of(1), words_of(1, start=30)
    decide(store, A, old)
    decision = decide(store, A, new)
    assert (decision.kind, decision.duplicate_of, decision.representative) == ("changed", None, A)
    assert decision.similarity == similarity(signature_of(old, MINHASH), signature_of(new, MINHASH))
    assert decide(store, B, old).kind is DecisionKind.NEW
    assert decide(store, C, new).duplicate_of == A


def test_a_page_may_change_into_a_duplicate_and_back(store: Store) -> None:
    decide(store, A, words_of(1))
    decide(store, B, words_of(2))
    changed = decide(store, B, words_of(1))
    assert (changed.kind, changed.duplicate_of, changed.representative) == ("changed", A, A)
    assert decide(store, B, words_of(1)).duplicate_of == A
    changed = decide(store, B, words_of(2))
    assert (changed.kind, changed.duplicate_of, changed.representative) == ("changed", None, B)
    assert stored_clusters(store) == {frozenset((A,)), frozenset((B,))}


def test_when_the_representative_changes_nothing_points_at_its_former_content(
    store: Store,
) -> None:
    for url in (A, B, C):
        decide(store, url, words_of(1))
    decide(store, A, words_of(2))
    assert stored_clusters(store) == {frozenset((A,)), frozenset((B, C))}
    assert query(store, "SELECT url, duplicate_of, representative FROM duplicates") == [(C, B, B)]
    decision = decide(store, B, words_of(1))
    assert (decision.kind, decision.duplicate_of, decision.representative) == ("unchanged", None, B)
    assert decide(store, D, words_of(1)).duplicate_of == B


def test_when_the_representative_changes_the_members_stand_by_their_own_likeness(
    store: Store,
) -> None:
    decide(store, C, words_of(1, start=16))
    decide(store, A, words_of(1, start=0))
    decide(store, B, words_of(1, start=32))
    assert stored_clusters(store) == {frozenset((A, B, C))}
    decide(store, C, words_of(9))
    assert stored_clusters(store) == {frozenset((A,)), frozenset((B,)), frozenset((C,))}
    assert query(store, "SELECT url FROM duplicates") == []


def test_a_changed_page_that_stays_similar_stays_in_its_cluster(store: Store) -> None:
    decide(store, A, words_of(1))
    decide(store, B, words_of(1))
    decision = decide(store, A, words_of(1, start=5))
    assert (decision.kind, decision.duplicate_of, decision.representative) == ("changed", B, B)
    assert stored_clusters(store) == {frozenset((A, B))}
    # B, which pointed at A's former content, stands on its own; A repeats it.
    assert query(store, "SELECT url, duplicate_of FROM duplicates") == [(A, B)]


@pytest.mark.parametrize("count", [0, 1, 14])
def test_a_page_with_too_few_words_is_empty_and_never_a_duplicate(store: Store, count: int) -> None:
    for url in (A, B):
        decision = decide(store, url, words_of(1, count))
        assert (decision.kind, decision.duplicate_of) == ("empty", None)
        assert decision.reason == f"{count} words, fewer than the 15 of min_words"
    assert query(store, "SELECT count(*) FROM page_keys") == [(0,)]


def test_a_page_with_just_enough_words_is_compared(store: Store) -> None:
    decide(store, A, words_of(1, 15))
    assert decide(store, B, words_of(1, 15)).kind is DecisionKind.DUPLICATE


def test_a_record_without_a_signature_is_empty(store: Store) -> None:
    assert store.decide(PageRecord(url=A)).kind is DecisionKind.EMPTY


def test_words_without_a_signature_are_an_error(store: Store) -> None:
    with pytest.raises(StoreError, match="100 words but no signature"):
        store.decide(PageRecord(url=A, words=100))


def test_a_failed_page_is_stored_with_its_reason(store: Store) -> None:
    decision = store.decide(PageRecord(url=A, error="timed out", http_status=504))
    assert (decision.kind, decision.reason, decision.representative) == (
        "failed",
        "timed out",
        None,
    )
    assert query(store, "SELECT decision, error, http_status FROM pages") == [
        ("failed", "timed out", 504)
    ]


def test_a_page_that_failed_before_is_decided_afresh(store: Store) -> None:
    store.decide(PageRecord(url=A, error="timed out"))
    store.decide(PageRecord(url=B, words=3))
    assert decide(store, A, words_of(1)).kind is DecisionKind.NEW
    decision = decide(store, B, words_of(1))
    assert (decision.kind, decision.duplicate_of) == ("duplicate", A)
    assert query(store, "SELECT error FROM pages") == [(None,), (None,)]


def test_the_page_whose_text_came_first_represents_a_cluster(store: Store) -> None:
    store.decide(PageRecord(url=A, error="timed out"))
    decide(store, B, words_of(1))
    decision = decide(store, A, words_of(1))
    assert (decision.kind, decision.duplicate_of, decision.representative) == ("duplicate", B, B)
    assert decide(store, B, words_of(1)).representative == B


@pytest.mark.parametrize(
    "bad", [PageRecord(url=A, error="timed out"), PageRecord(url=A, words=2)], ids=["error", "few"]
)
def test_a_good_page_that_fails_later_keeps_its_content(store: Store, bad: PageRecord) -> None:
    first = decide(store, A, words_of(1), title="good")
    decision = store.decide(bad)
    assert decision.kind in ("failed", "empty")
    assert (decision.first_seen, decision.duplicate_of) == (first.first_seen, None)
    assert query(store, "SELECT title, words, decision, error FROM pages") == [
        ("good", 120, "new", bad.error)
    ]
    assert decide(store, B, words_of(1)).duplicate_of == A
    assert decide(store, A, words_of(1)).kind is DecisionKind.UNCHANGED


def test_urls_are_stored_in_canonical_form(store: Store) -> None:
    decide(store, "HTTP://Example.com/x?b=2&a=1#top", words_of(1))
    assert decide(store, "http://example.com/x?a=1&b=2", words_of(1)).kind == "unchanged"
    assert query(store, "SELECT url FROM pages") == [("http://example.com/x?a=1&b=2",)]


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/" + "x" * 10_000,
        "http://example.com/?q=" + "é" * 3_000,
        "http://[broken/",
        "http://example.com/\x00\ud800",
        "file:///tmp/page.html",
        "",
    ],
    ids=["long", "long-unicode", "broken", "nul", "file", "nothing"],
)
def test_any_url_can_be_stored_and_found_again(store: Store, url: str) -> None:
    first = decide(store, url, words_of(1))
    assert first.kind is DecisionKind.NEW
    assert decide(store, url, words_of(1)).kind is DecisionKind.UNCHANGED
    found = query(store, "SELECT id FROM pages WHERE url = :url", url=first.url)
    assert found == [(first.page_id,)]


def test_long_urls_that_differ_at_the_end_are_different_pages(store: Store) -> None:
    urls = ["http://example.com/" + "x" * 10_000 + end for end in "12"]
    assert [decide(store, url, words_of(n)).kind for n, url in enumerate(urls)] == ["new", "new"]


def test_nuls_and_lone_surrogates_do_not_reach_the_database(store: Store) -> None:
    bad = "a\x00b\ud800c\udc00"
    decide(store, A, words_of(1), title=bad, render_error=bad, engine=bad, crawl=bad)
    store.decide(PageRecord(url=B, error=bad))
    expected = "a\ufffdb\ufffdc\ufffd"
    assert query(store, "SELECT title, render_error, engine FROM pages WHERE id = 1") == [
        (expected, expected, expected)
    ]
    assert query(store, "SELECT error FROM pages WHERE id = 2") == [(expected,)]


def test_very_long_titles_and_errors_are_cut(store: Store) -> None:
    decide(store, A, words_of(1), title="t" * 100_000)
    decision = store.decide(PageRecord(url=B, error="e" * 100_000))
    assert decision.reason is not None
    assert len(decision.reason) == 2000
    assert query(store, "SELECT length(title) FROM pages WHERE id = 1") == [(2000,)]


def test_a_signature_of_another_recipe_is_refused(store: Store) -> None:
    with pytest.raises(StoreMismatch, match=r'"kind":"shingles".*"kind":"minhash"'):
        store.decide(record(A, words_of(1), RECIPES["shingles"]))


def test_a_store_may_be_used_from_many_threads(store: Store) -> None:
    kinds: list[str] = []

    def work(number: int) -> None:
        for page in range(10):
            url = f"http://example.com/{number}/{page}"
            kinds.append(decide(store, url, words_of(page)).kind)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(kinds) == ["duplicate"] * 30 + ["new"] * 10


def test_the_same_url_is_looked_up_through_an_index(store: Store) -> None:
    explain = "EXPLAIN " if store.database.is_postgresql else "EXPLAIN QUERY PLAN "
    with store.database.write() as connection:
        if store.database.is_postgresql:
            connection.exec_driver_sql("SET LOCAL enable_seqscan = off")
        plan = str(
            connection.exec_driver_sql(explain + "SELECT * FROM pages WHERE url = 'x'").all()
        )
    assert "pages_url" in plan


def test_a_batch_whose_commit_was_cut_off_is_not_stored_twice(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, cut_off = store.database.write, [True]

    @contextmanager
    def stored_but_not_heard_of() -> Iterator[Any]:
        with write() as connection:
            yield connection
        if cut_off.pop() if cut_off else False:
            raise StoreUnavailable("the connection is lost")

    records = [record(f"http://x/{number}", words_of(number)) for number in range(3)]
    store.decide(record("http://x/first", words_of(9)))
    monkeypatch.setattr(store.database, "write", stored_but_not_heard_of)
    decisions = store.decide_many(records)
    assert cut_off == []
    assert [decision.kind for decision in decisions] == [DecisionKind.NEW] * 3
    assert query(store, "SELECT count(*) FROM visits") == [(4,)]
