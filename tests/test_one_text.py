"""One text of a page: not the next articles, not the same text for another screen."""

from __future__ import annotations

import numpy as np
import pytest

from tests.test_content import features
from websegment_scrapy.content.following import without_following
from websegment_scrapy.content.twice import without_copy
from websegment_scrapy.extraction import extract

WORDS = (
    "river stone garden window letter morning winter paper bridge market story music light "
    "kitchen island captain forest engine silver harbour mountain question answer journey"
).split()


def sentences(seed: int, number: int = 12) -> list[str]:
    rng = np.random.default_rng(seed)
    return [f"The {' '.join(rng.choice(WORDS, 11))} was seen." for _ in range(number)]


def text_of(page: str, kept: str = "all") -> list[str]:
    found = features(page)
    every = found.text.words > 0
    left = {"copy": lambda: without_copy(found.text, every)}.get(
        kept, lambda: without_following(found, every)
    )()
    return [text for text, is_left in zip(found.text.texts, left, strict=True) if is_left]


def article(title: str, seed: int) -> str:
    body = "".join(f"<p>{text}</p>" for text in sentences(seed, 6))
    return f"<article><h1>{title}</h1>{body}</article>"


HEAD = "<head><title>A bridge over the river | The Gazette</title></head>"


def test_the_next_articles_are_not_the_pages_own() -> None:
    own, following = article("A bridge over the river", 1), article("Snow in the hills", 2)
    assert text_of(HEAD + own + following) == ["A bridge over the river", *sentences(1, 6)]
    assert text_of(HEAD + following + own) == ["A bridge over the river", *sentences(1, 6)]


def test_teasers_of_other_articles_are_not_the_pages_own_however_short() -> None:
    own = article("A bridge over the river", 1)
    teaser = (
        "<article><h2><a href=/snow>Snow in the hills</a></h2><p>It fell all night.</p></article>"
    )
    note = "<article><h2>Snow in the hills</h2><p>It fell all night.</p></article>"
    assert text_of(HEAD + own + teaser) == ["A bridge over the river", *sentences(1, 6)]
    assert text_of(HEAD + own + note)[-1] == "It fell all night."


@pytest.mark.parametrize(
    "page",
    [
        "<head><title>The Gazette</title></head>" + article("A bridge", 1) + article("Snow", 2),
        HEAD + article("A bridge over the river", 1) + article("A bridge over the river", 2),
        HEAD + "<article><h1>A bridge over the river</h1></article>" + article("Snow", 2),
        HEAD + article("A bridge over the river", 1).replace("</article>", article("Snow", 2)),
        HEAD + article("A bridge over the river", 1) + "<article><p>I think so too.</p></article>",
    ],
    ids=["a list", "two of that title", "a heading alone", "one in the other", "comments"],
)
def test_a_list_of_articles_stays_a_list(page: str) -> None:
    assert text_of(page) == features(page).text.texts


def test_a_text_for_two_screens_is_there_once_however_it_is_cut() -> None:
    lines = sentences(3)
    small = "<br><br>".join(lines)
    large = "".join(f"<p>{line}</p>" for line in [*lines[:6], "By our reporter.", *lines[6:]])
    page = f"<div class=small>{small}</div><div class=large>{large}</div>"
    assert text_of(page, "copy") == [features(page).text.texts[0], "By our reporter."]


@pytest.mark.parametrize("share", [0.2, 0.5])
def test_what_an_author_says_again_stays(share: float) -> None:
    lines = sentences(4)
    again = [line for line in lines[: int(share * len(lines))] for line in (line, "Or so we said.")]
    page = "".join(f"<p>{' '.join(lines[at : at + 2])}</p>" for at in range(0, 12, 2))
    page += "".join(f"<p>{line}</p>" for line in again + sentences(5))
    assert text_of(page, "copy") == features(page).text.texts


def test_a_noscript_copy_is_not_read_twice() -> None:
    lines = sentences(6)
    shown = "".join(f"<p>{line}</p>" for line in lines)
    page = f"<main><h1>News</h1>{shown}<noscript><div>{' '.join(lines)}</div></noscript></main>"
    found = extract(f"<nav><a href=/>Home</a></nav>{page}").main_text
    assert [found.count(line) for line in lines] == [1] * len(lines)
