"""Whether a revisit found the same page: edits are seen, other ways of seeing it are not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.test_capture import render
from tests.texts import page, prose
from websegment_scrapy import analyze
from websegment_scrapy.crawl.snapshot import Snapshotter
from websegment_scrapy.dedup.fingerprint import (
    MAX_BLOCKS,
    VERSION,
    Fingerprint,
    fingerprint_of,
    same_page,
)
from websegment_scrapy.page.build import build_tree
from websegment_scrapy.page.words import words

BODY = [prose(number, 60) for number in range(6)]


def of_texts(texts: list[str], is_main: list[bool]) -> Fingerprint:
    """Make the fingerprint of a page from the texts of its blocks."""
    return Fingerprint.of([words(text) for text in texts], is_main)


def stored(texts: str, main: str) -> bytes:
    """Make the fingerprint of a page whose blocks are words; ``main`` names those of main text."""
    blocks = texts.split()
    return of_texts(blocks, [block in main.split() for block in blocks]).to_bytes()


def test_text_that_only_one_visit_took_for_main_text_is_no_change() -> None:
    old = stored("menu title body note", main="title body")
    assert same_page(old, stored("menu title body note", main="body note"))
    assert same_page(old, stored("other title body note footer", main="title body"))
    assert same_page(old, stored("menu title body", main="title body"))


@pytest.mark.parametrize(
    ("texts", "main"),
    [
        ("menu title", "title"),
        ("menu title other note", "title other"),
        ("menu title body new note", "title body new"),
        ("menu body title note", "body title"),
        ("menu title note", ""),
    ],
    ids=["deleted", "replaced", "added", "moved", "deleted and judged otherwise"],
)
def test_text_that_leaves_enters_or_moves_in_the_main_text_is_a_change(texts, main) -> None:
    old, new = stored("menu title body note", main="title body"), stored(texts, main)
    assert not same_page(old, new)
    assert not same_page(new, old)


def test_which_of_several_equal_texts_is_main_text_does_not_matter() -> None:
    texts = ["new", "lamp", "new", "chair"]
    one = of_texts(texts, [True, True, False, True]).to_bytes()
    assert same_page(one, of_texts(texts, [False, True, True, True]).to_bytes())
    assert not same_page(one, of_texts(["new", "chair", "new", "lamp"], [True] * 4).to_bytes())


def test_case_spaces_and_punctuation_are_no_change() -> None:
    one = of_texts(["It's  nine", "|"], [True, False])
    assert one == of_texts(["IT’S nine!"], [True])


def test_pages_without_main_text_are_the_same_whatever_else_they_say() -> None:
    assert same_page(stored("menu", ""), stored("footer", ""))
    assert not same_page(stored("menu", ""), stored("footer text", "text"))


NUMBERS = st.integers(0, 2**24 - 1)


@given(st.lists(NUMBERS, unique=True, max_size=60), st.integers(0, 60), st.integers(0, 60))
def test_what_was_stored_is_read_again(numbers, first, second) -> None:
    first, second = sorted((first, second))
    made = Fingerprint(
        tuple(numbers[:first]), frozenset(numbers[first:second]), frozenset(numbers[second:])
    )
    data = made.to_bytes()
    assert Fingerprint.from_bytes(data) == made
    assert len(data) == 7 + 3 * len(numbers)
    assert same_page(data, data)


def test_what_is_missing_broken_or_of_another_version_is_never_the_same_page() -> None:
    good = stored("title body", "body")
    broken = (None, b"", good[:1], good[:-1], good[:7], bytes([VERSION + 1]) + good[1:])
    for data in broken:
        assert not same_page(data, good)
        assert not same_page(good, data)
        assert not same_page(data, data)


def test_a_page_of_very_many_blocks_counts_by_its_main_text_alone() -> None:
    def of(text: str, menu: str) -> bytes:
        texts = [f"{menu} {number}" for number in range(MAX_BLOCKS)] + [text]
        return of_texts(texts, [False] * MAX_BLOCKS + [True]).to_bytes()

    assert len(of("body", "menu")) == 10
    assert same_page(of("body", "menu"), of("body", "other"))
    assert not same_page(of("body", "menu"), of("text", "menu"))


def fingerprint(paragraphs: list[str], links: str = "", **options: str) -> bytes:
    body = "</p><p>".join(paragraphs)
    return analyze(page(body, "A story", links=links), **options).fingerprint


@pytest.mark.parametrize("method", ["learned", "pagelevel", "largest"])
def test_an_edited_paragraph_is_found_and_another_menu_is_not(method) -> None:
    old = fingerprint(BODY, main_text=method)
    menu = "".join(f"<li><a href=/{n}>Another thing {n}</a>" for n in range(9))
    assert same_page(old, fingerprint(BODY, f"<ul>{menu}</ul>", main_text=method))
    assert not same_page(old, fingerprint([*BODY[:2], prose(99, 60), *BODY[3:]], main_text=method))
    assert not same_page(old, fingerprint(BODY[:2] + BODY[3:], main_text=method))


def test_a_page_whose_text_is_only_told_to_machines_changes_with_that_text() -> None:
    def told(text: str) -> bytes:
        return analyze(
            '<script type="application/ld+json">{"@context": "https://schema.org", '
            f'"@type": "NewsArticle", "articleBody": "{text}"}}</script><nav><a href=/>Home</a>'
        ).fingerprint

    assert same_page(told(BODY[0]), told(BODY[0]))
    assert not same_page(told(BODY[0]), told(BODY[1]))


def test_a_footer_that_is_taken_for_main_text_is_edited_without_a_change_of_the_page() -> None:
    def of(body: str, footer: str, main: str) -> bytes:
        tree = build_tree(
            f"<main><p>{body}</p><footer>by {body}</footer></main><footer>{footer}</footer>"
        )
        nodes = [node for node in range(len(tree)) if tree.text_of(node) in main.split(",")]
        return fingerprint_of(tree, np.array(nodes)).to_bytes()

    assert same_page(of("text", "here", "text,here"), of("text", "there", "text,there"))
    assert not same_page(of("text", "here", "text,here"), of("other", "here", "other,here"))
    assert not same_page(of("text", "", "by text"), of("other", "", "by other"))
    long = prose(1, 40)
    assert not same_page(of("text", long, long), of("text", long + " more", long + " more")), (
        "no end"
    )


@pytest.mark.parametrize(
    ("open_tag", "link", "same"),
    [
        ('<div class="portlet" id="p-navigation">', "href=/x", True),
        ('<div class="site_footer">', "", True),
        ('<div class="menu">', "", False),
        ('<article class="menu">', "href=/x", False),
        ('<div class="unavoidable submenus">', "href=/x", False),
    ],
    ids=["navigation", "footer", "a restaurant's menu", "an article", "other words"],
)
def test_what_is_called_navigation_or_footer_belongs_to_the_frame(open_tag, link, same) -> None:
    def of(entry: str) -> bytes:
        closing = open_tag[: open_tag.index(" ")].replace("<", "</") + ">"
        tree = build_tree(f"<p>{BODY[0]}</p>{open_tag}<a {link}>{entry}</a>{closing}")
        return fingerprint_of(tree, tree.texts).to_bytes()

    assert same_page(of("soup of the day"), of("fish of the day")) is same


@pytest.mark.browser
def test_a_page_is_the_same_plainly_and_rendered_until_it_is_edited(tmp_path) -> None:
    """Tag soup, comments, hidden parts and what only browsers without scripts show."""
    spam = prose(50, 90)
    menu = "".join(f"<li><a href=/{n}>Entry {n}</a>" for n in range(9))
    html = (
        "<!doctype html><html><head><title>A story</title><style>.off {display: none}</style>"
        f"<body><ul>{menu}</ul><article><h1>A story</h1><p>{BODY[0]}<p>Half<!-- x --> of "
        f"<wbr>it<div><p>{BODY[1]}</div></p><table><tr><td>{BODY[2]}<td>{BODY[3]}</table>"
        f"<noscript><p>Please allow scripts.</p></noscript></article><div class=off>{spam}</div>"
        "<template><p>Not yet.</p></template><footer>All rights reserved</footer>"
    )
    edited = html.replace(BODY[2], BODY[4])
    with Snapshotter(settle=0, timeout=60) as snapshotter:
        rendered = [render(snapshotter, tmp_path, text) for text in (html, edited)]
    plain = [analyze(text) for text in (html, edited)]
    seen = [analyze(captured) for captured in rendered]
    assert spam in plain[0].main_text
    assert spam not in seen[0].main_text
    for old, new in ((plain[0], seen[0]), (seen[0], plain[0]), (plain[1], seen[1])):
        assert same_page(old.fingerprint, new.fingerprint)
    for old, new in ((plain[0], seen[1]), (seen[0], plain[1]), (seen[0], seen[1])):
        assert not same_page(old.fingerprint, new.fingerprint)
