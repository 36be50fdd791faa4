"""The same page gets the same decision, whenever it was seen: sites known late, in any order."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.test_store_support import (
    MINHASH,
    assert_every_text_once,
    query,
    record,
    stored_clusters,
    words_of,
)
from tests.texts import page, prose
from websegment_scrapy.analysis import analyze, judge_again
from websegment_scrapy.dedup.fingerprint import Fingerprint
from websegment_scrapy.dedup.signature import signature_of
from websegment_scrapy.exceptions import AnalysisError
from websegment_scrapy.page.words import words
from websegment_scrapy.store import PageRecord, Store
from websegment_scrapy.store.integrity import integrity
from websegment_scrapy.store.lifecycle import forget
from websegment_scrapy.store.merging import merge
from websegment_scrapy.store.revision import pending_sites, revise_site, site_state
from websegment_scrapy.store.settling import settle, unsettled
from websegment_scrapy.store.templates import COUNT_ALL
from websegment_scrapy.template.sitelevel import SiteCounter
from websegment_scrapy.text.dossier import MAX_BYTES, Dossier

pytest_plugins = ["tests.test_store_support"]

HOST = "site.example"
THETA, MIN_PAGES = 0.1, 5
JUDGE = partial(judge_again, signature="minhash")
NOTE = (
    "Our newsletter comes out on the first Monday of each month and is free of charge for all "
    "readers of this site, wherever they live and whatever they read."
)
GATE = sorted((Path(__file__).parent / "gate").glob("*.html"))


def html_of(number: int, text: str = "") -> str:
    """Return a page whose main text, judged alone, holds the site's note."""
    return page(f"{text or prose(number)}<br>{NOTE}", f"Number {number}")


def visit(store: Store, url: str, html: str) -> Any:
    """See a page as a crawl does: judged by what is known of its site, and decided."""
    host = url.split("/")[2]
    verdict, due = site_state(store, host, THETA, MIN_PAGES)
    if due:
        revise_site(store, host, THETA, MIN_PAGES, JUDGE)
    found = analyze(html, url=url, site=verdict, parts=True)
    decision = store.decide(
        PageRecord(
            url=url,
            words=found.words,
            signature=found.signature,
            engine=found.engine,
            parts=found.parts,
            page_hash=found.page_hash,
            document_hash=found.document_hash,
            dossier=found.dossier,
        )
    )
    return decision, found.main_text


def end(store: Store, started: datetime | None = None) -> list[Any]:
    """Do what a crawl does at its end."""
    hosts = pending_sites(store, MIN_PAGES)
    found = [each for host in hosts for each in revise_site(store, host, THETA, MIN_PAGES, JUDGE)]
    done: set[int] = set()
    started = started or datetime(2026, 1, 1, tzinfo=UTC)
    for page_id in unsettled(store, started):
        if page_id not in done:
            settle(store, started, page_id, done)
    return found


def state(store: Store) -> tuple[dict[str, Any], set[frozenset[str]]]:
    """Return what is known of each page, and the clusters."""
    rows = query(
        store,
        "SELECT page.url, page.words, page.content_hash, page.decision, page.similarity, first.url "
        "FROM pages AS page LEFT JOIN pages AS first ON first.id = page.cluster_id",
    )
    return {url: tuple(rest) for url, *rest in rows}, stored_clusters(store)


@pytest.mark.parametrize("path", GATE, ids=[path.stem for path in GATE])
@pytest.mark.parametrize("main_text", ["learned", "largest"])
def test_what_is_kept_of_a_page_gives_the_same_text_as_the_page(path: Path, main_text: str) -> None:
    html = path.read_text("utf-8")
    counter = SiteCounter()
    first = analyze(html, main_text=main_text, parts=True)
    assert first.parts is not None
    whole, *parts = first.parts.hashes.tolist()
    chooser = random.Random(path.stem)
    for number in range(10):
        own = chooser.sample(parts, len(parts) // 2)
        counter.add_parts([whole + 4 * number + 4, *own])
    verdict = counter.verdict()
    known = analyze(html, main_text=main_text, site=verdict, parts=True)
    assert first.dossier is not None
    kept = Dossier.from_bytes(first.dossier)
    assert kept.text(None) == first.main_text
    assert kept.text(verdict) == known.main_text
    assert known.dossier == first.dossier


def test_a_dossier_of_something_else_is_refused() -> None:
    found = analyze(html_of(1), parts=True).dossier
    assert found is not None
    for wrong in (b"", b"\x00" + found[1:], found[:40], found[:-9], b"\x01" * 200):
        with pytest.raises(AnalysisError, match="cannot be read"):
            Dossier.from_bytes(wrong)
    assert judge_again([(b"", [None], None), (found, [None], None)], "minhash")[0] is None


def test_a_page_that_stays_as_it_is_is_not_signed_again() -> None:
    found = analyze(html_of(1), parts=True)
    assert found.dossier is not None
    own = found.signature.content_hash
    assert judge_again([(found.dossier, [None], own)], "minhash") == [None]
    for other in (None, b"another text"):
        (answer,) = judge_again([(found.dossier, [None], other)], "minhash")
        assert answer == (found.main_text, found.signature)


def test_of_a_huge_page_nothing_is_kept() -> None:
    numbers = random.Random(1)
    text = "".join(f"<p>{numbers.randrange(10**12)} {prose(n, 20)}</p>" for n in range(9000))
    assert analyze(page(text), parts=True).dossier is None
    small = analyze(html_of(1), parts=True).dossier
    assert small is not None
    assert len(small) < 4000 < MAX_BYTES


def test_the_first_pages_of_a_site_are_judged_again_when_it_becomes_known(store: Store) -> None:
    texts = [visit(store, f"http://{HOST}/{number}", html_of(number))[1] for number in range(8)]
    assert NOTE in texts[0]
    assert NOTE not in texts[-1]
    end(store)
    known, _ = site_state(store, HOST, THETA, MIN_PAGES)
    for number in range(8):
        wanted = analyze(html_of(number), site=known).signature
        url = f"http://{HOST}/{number}"
        assert query(store, "SELECT words, content_hash FROM pages WHERE url = :url", url=url) == [
            (wanted.words, wanted.content_hash)
        ]
    assert query(store, "SELECT count(revised) FROM pages")[0][0] >= 4
    assert query(store, "SELECT count(*) FROM visits") == [(8,)]
    assert not integrity(store)
    assert not end(store)


def test_whoever_listens_learns_what_became_of_a_page(store: Store) -> None:
    pages = [html_of(number) for number in range(5)]
    for number, html in enumerate(pages):
        visit(store, f"http://{HOST}/{number}", html)
    revised = end(store)
    assert len(revised) == 5
    revision, text = revised[0]
    assert (revision.url, revision.former, revision.decision) == (f"http://{HOST}/0", "new", "new")
    assert NOTE not in text
    assert len(text.split()) >= revision.words - 5


def test_a_page_that_says_only_what_its_site_repeats_becomes_empty(store: Store) -> None:
    visit(store, f"http://{HOST}/note", page(NOTE, "Our newsletter"))
    assert query(store, "SELECT decision FROM pages") == [("new",)]
    for number in range(12):
        visit(store, f"http://{HOST}/{number}", html_of(number))
    end(store)
    decisions = dict(query(store, "SELECT url, decision FROM pages"))
    assert decisions.pop(f"http://{HOST}/note") == "empty"
    assert set(decisions.values()) == {"new"}
    assert not integrity(store)


@pytest.mark.parametrize("seed", range(2))
def test_the_order_of_the_pages_does_not_matter(store: Store, tmp_path: Path, seed: int) -> None:
    pages = {f"http://{HOST}/{number}": html_of(number) for number in range(12)}
    pages |= {f"http://{HOST}/copy/{number}": html_of(number) for number in range(2)}
    near = {f"http://{HOST}/near/{n}": html_of(n, f"{prose(n)} And more.") for n in range(4, 6)}
    pages |= near
    first = Store.open(f"sqlite:///{tmp_path}/other.db", recipe=MINHASH)
    for url, html in pages.items():
        visit(first, url, html)
    end(first)
    shuffled = list(pages.items())
    random.Random(seed).shuffle(shuffled)
    for url, html in shuffled:
        visit(store, url, html)
    end(store)
    assert state(store) == state(first)
    assert not integrity(store)
    before = state(store)
    for url, html in pages.items():
        decision, _ = visit(store, url, html)
        assert (decision.kind, decision.url) == ("unchanged", url)
    assert state(store) == before
    first.close()


def test_a_page_that_does_not_count_is_judged_by_all_that_is_known_too(store: Store) -> None:
    for number in range(8):
        visit(store, f"http://{HOST}/{number}", html_of(number))
    end(store)
    # A copy, judged by a crawl that still has nothing but the page.
    found = analyze(html_of(3), parts=True)
    late = f"http://{HOST}/late"
    values = {"page_hash": found.page_hash, "dossier": found.dossier, "parts": found.parts}
    store.decide(PageRecord(url=late, words=found.words, signature=found.signature, **values))
    assert pending_sites(store, MIN_PAGES) == [HOST]
    end(store)
    known = dict(query(store, "SELECT url, words FROM pages"))
    assert known[late] == known[f"http://{HOST}/3"]
    assert not pending_sites(store, MIN_PAGES)


def test_an_unchanged_page_tells_once_that_it_was_judged_again(store: Store) -> None:
    for number in range(8):
        visit(store, f"http://{HOST}/{number}", html_of(number))
    end(store)
    decision, text = visit(store, f"http://{HOST}/0", html_of(0))
    assert (decision.kind, decision.revised) == ("unchanged", True)
    assert NOTE not in text
    decision, _ = visit(store, f"http://{HOST}/0", html_of(0))
    assert (decision.kind, decision.revised) == ("unchanged", False)


def test_the_same_bytes_get_the_same_answer(store: Store) -> None:
    same = html_of(0)
    urls = [f"http://{HOST}/{number}" for number in range(12)]
    for number, url in enumerate(urls):
        visit(store, url, html_of(number))
    for alias in ("http://mirror.example/", f"http://{HOST}/index.html", "http://third.example/"):
        decision, _ = visit(store, alias, same)
        assert (decision.kind, decision.similarity) == ("duplicate", 1.0)
    end(store)
    assert len(stored_clusters(store)) == 12
    assert len(next(group for group in stored_clusters(store) if urls[0] in group)) == 4
    assert not integrity(store)


def test_the_same_bytes_are_compared_by_the_words_that_are_asked_for_now(sqlite_url: str) -> None:
    few = record("http://one.example/", words_of(1, 12), document_hash=b"d" * 16)
    with Store.open(sqlite_url, recipe=MINHASH, min_words=15) as store:
        assert store.decide(few).kind == "empty"
    with Store.open(sqlite_url, recipe=MINHASH, min_words=5) as store:
        assert store.decide(replace(few, url="http://two.example/")).kind == "new"
        assert not integrity(store)


def test_the_same_bytes_on_two_known_sites_are_one_text_in_any_order(
    store: Store, tmp_path: Path
) -> None:
    hosts = ("one.example", "two.example")
    pages = [(f"http://{host}/same", html_of(0)) for host in hosts]
    pages += [(f"http://{hosts[0]}/{number}", html_of(number)) for number in range(1, 9)]
    pages += [(f"http://{hosts[1]}/{n}", page(prose(n), f"Number {n}")) for n in range(20, 29)]
    other = Store.open(f"sqlite:///{tmp_path}/other.db", recipe=MINHASH)
    for target, ordered in ((store, pages), (other, pages[::-1])):
        for url, html in ordered:
            visit(target, url, html)
        end(target)
        end(target)
        group = frozenset(url for url, _ in pages[:2])
        assert group in stored_clusters(target)
        assert not integrity(target)
    assert state(store) == state(other)
    other.close()


def test_what_is_kept_of_a_well_known_site_is_forgotten(store: Store) -> None:
    import websegment_scrapy.store.revision as revision
    import websegment_scrapy.store.templates as templates

    with pytest.MonkeyPatch.context() as patch:
        for module in (revision, templates):
            patch.setattr(module, "COUNT_ALL", 8)
        for number in range(12):
            visit(store, f"http://{HOST}/{number}", html_of(number))
        end(store)
    assert COUNT_ALL > 8
    assert query(store, "SELECT count(*) FROM kept_pages") == [(0,)]
    words = {row[0] for row in query(store, "SELECT words FROM pages WHERE words > 230")}
    assert not words


def test_forgotten_and_merged_pages_take_what_is_kept_with_them(
    store: Store, tmp_path: Path
) -> None:
    for number in range(6):
        visit(store, f"http://{HOST}/{number}", html_of(number))
    with Store.open(f"sqlite:///{tmp_path}/target.db", recipe=MINHASH) as target:
        merge(store.database, target)
        assert query(target, "SELECT count(*) FROM kept_pages") == [(6,)]
        assert pending_sites(target, MIN_PAGES) == [HOST]
        end(target)
        end(store)
        assert state(target) == state(store)
        assert not integrity(target)
    forget(store.database, datetime.now(UTC))
    assert query(store, "SELECT count(*) FROM kept_pages") == [(0,)]


def seen(number: int, text: str, *, rendered: bool, blocks: str = "") -> PageRecord:
    """Return a visit to a page of which a browser shows another text than its HTML has."""
    signature = signature_of(text, MINHASH)
    main = [f"block {number}", *(blocks or text).split(". ")]
    return PageRecord(
        url=f"http://{HOST}/{number}",
        words=signature.words,
        signature=signature,
        rendered=rendered,
        fingerprint=Fingerprint.of([words(text) for text in main], [True] * len(main)).to_bytes(),
        page_hash=signature.content_hash,
    )


def test_a_page_is_the_same_rendered_and_plain(store: Store) -> None:
    whole, shown = prose(1, 120), prose(1, 80)
    assert store.decide(seen(1, shown, rendered=True, blocks=whole)).kind == "new"
    before = query(store, "SELECT words, rendered FROM pages")
    for again in (
        seen(1, whole, rendered=False),
        seen(1, whole, rendered=False),
        seen(1, shown, rendered=True, blocks=whole),
    ):
        decision = store.decide(again)
        assert (decision.kind, decision.revised) == ("unchanged", False)
    assert query(store, "SELECT words, rendered FROM pages") == before
    edited = whole.replace(whole.split(". ")[2], "This sentence is another one")
    assert store.decide(seen(1, edited, rendered=False)).kind == "changed"
    assert not integrity(store)


@pytest.mark.parametrize("seed", range(3))
def test_which_pages_represent_a_chain_does_not_go_by_their_order(store: Store, seed: int) -> None:
    # Each is similar to the next ones only: in any order other pages could represent the rest.
    pages = {
        f"http://{HOST}/{letter * 3}": words_of(1, 120, 10 * place)
        for place, letter in enumerate("hbgcfade")
    }
    order = list(pages.items())
    random.Random(seed).shuffle(order)
    for url, content in order:
        store.decide(record(url, content))
    end(store)
    assert_every_text_once(store, pages)
    assert not integrity(store)
    represented = dict(
        query(
            store,
            "SELECT page.url, first.url FROM pages AS page "
            "JOIN pages AS first ON first.id = page.cluster_id",
        )
    )
    assert represented[f"http://{HOST}/aaa"] == f"http://{HOST}/aaa"
    with Store.open(f"sqlite:///{tempfile.mkdtemp()}/other.db", recipe=MINHASH) as other:
        for url, content in pages.items():
            other.decide(record(url, content))
        end(other)
        assert state(other) == state(store)


def test_what_was_known_before_a_crawl_goes_on_to_represent_its_text(store: Store) -> None:
    store.decide(record("http://long.example/known", words_of(1)))
    started = datetime.now(UTC)
    store.decide(record("http://a.example/", words_of(1)))
    end(store, started)
    assert query(store, "SELECT url FROM pages WHERE decision = 'new'") == [
        ("http://long.example/known",)
    ]
    end(store)
    assert query(store, "SELECT url FROM pages WHERE decision = 'new'") == [("http://a.example/",)]
    assert query(store, "SELECT count(revised) FROM pages") == [(2,)]
    assert not integrity(store)


def test_a_page_that_changed_meanwhile_is_left_alone(store: Store) -> None:
    from websegment_scrapy.store.revision import Judged, read_kept, revise

    for number in range(6):
        visit(store, f"http://{HOST}/{number}", html_of(number))
    site = read_kept(store, HOST, THETA, MIN_PAGES)
    judged, _ = site.judged(site.kept, JUDGE(site.tasks(site.kept)))
    assert visit(store, f"http://{HOST}/0", html_of(77))[0].kind == "changed"
    kept: Sequence[Judged] = judged[:1]
    assert revise(store, kept) == []


def test_numbers_of_an_outline_are_those_of_its_page() -> None:
    from websegment_scrapy.page.build import build_tree
    from websegment_scrapy.template.repeated import outline_of, template_nodes, template_outline

    tree = build_tree(GATE[0].read_text("utf-8"))
    outline = outline_of(tree)
    small, chosen = outline.with_text()
    counter = SiteCounter()
    for number in range(6):
        counter.add_parts([number * 4, *np.unique(outline.part[outline.part != 0])[::2].tolist()])
    verdict = counter.verdict()
    assert verdict is not None
    whole = template_nodes(tree, verdict)
    assert whole[chosen].tolist() == template_outline(small, verdict).tolist()
    assert whole.any()
