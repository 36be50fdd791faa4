"""What an author wrote between the paragraphs of a text is part of it."""

from __future__ import annotations

import numpy as np
import pytest

from tests.test_content import features
from websegment_scrapy.content.completion import completed

PARAGRAPH = f"<p>{'word ' * 30}</p>"
TABLE = "<table><tr><th>Name<th>Size<tr><td>one<td>7<tr><td>two<td>9</table>"
CODE = "<pre>x = 1</pre>"
FRAMED_CODE = "<figure class=highlight><table><tr><td class=code><pre>x = 1</pre></table></figure>"
LINKS = "<ul><li><a href=/a>One book</a><li><a href=/b>Another book</a></ul>"


def kept_with(html: str, mean: float, sure: float = 0.9) -> list[bool]:
    """Keep the paragraphs alone, all else being as likely as ``mean``; return what else is kept."""
    page = features(html)
    paragraphs = page.text.words == 30
    probability = np.where(paragraphs, sure, mean)
    found = completed(page, paragraphs, probability, probability)
    assert found[paragraphs].all()
    others: list[bool] = found[~paragraphs].tolist()
    return others


@pytest.mark.parametrize(
    "written",
    [
        TABLE,
        LINKS,
        "<h2>A heading</h2>",
        "<dl><dt>Term<dd>What it means</dl>",
        f"<div class=scroll><div>{TABLE}</div></div>",
    ],
    ids=["table", "reading list", "heading", "definitions", "framed table"],
)
def test_what_stands_between_paragraphs_is_kept(written: str) -> None:
    html = f"<div>{PARAGRAPH}{written}{PARAGRAPH}</div>"
    assert all(kept_with(html, 0.2))
    assert not any(kept_with(html, 0.1))


@pytest.mark.parametrize("code", [CODE, FRAMED_CODE], ids=["code", "framed code"])
def test_code_beside_paragraphs_is_kept_however_unlikely_it_looks(code: str) -> None:
    assert all(kept_with(f"<div>{PARAGRAPH}{code}{PARAGRAPH}</div>", 0.01))
    assert all(kept_with(f"<div>{PARAGRAPH}{code}</div>", 0.01))
    assert all(kept_with(f"<div>{code}{PARAGRAPH}</div>", 0.01))
    assert not any(kept_with(f"<div>{PARAGRAPH}<div>Share this</div>{code}</div>", 0.01))


def test_beside_paragraphs_that_are_unsure_less_is_asked() -> None:
    html = f"<div>{PARAGRAPH}<ul><li>One<li>Two</ul>{PARAGRAPH}</div>"
    assert not any(kept_with(html, 0.08, sure=0.9))
    assert all(kept_with(html, 0.08, sure=0.4))


@pytest.mark.parametrize(
    "added",
    [
        f"<div>{LINKS}</div>",
        "<aside><h2>More to read</h2></aside>",
        "<table><tr><td>All that stands in one cell is there for the layout</table>",
        "<blockquote><a href=/x>A post shared by somebody</a></blockquote>",
        "<figure><figcaption>Who took the picture</figcaption></figure>",
    ],
    ids=["a list in an element", "a box", "a table for the layout", "a linked quote", "a caption"],
)
def test_what_a_site_adds_between_them_is_judged_by_itself(added: str) -> None:
    assert not any(kept_with(f"<div>{PARAGRAPH}{added}{PARAGRAPH}</div>", 0.45))


def test_a_heading_belongs_to_what_is_kept_below_it() -> None:
    html = (
        f"<div><h3>Our blog</h3><h1>Title</h1>{PARAGRAPH}<h2>Sizes</h2>{TABLE}<h2>More</h2></div>"
    )
    assert kept_with(html, 0.35) == [False, True, *[True] * 7, False]


def test_after_the_last_paragraph_links_and_what_comes_behind_a_box_are_judged_alone() -> None:
    assert not any(kept_with(f"<div>{PARAGRAPH}{LINKS}</div>", 0.45))
    box = "<div>Share this</div>"
    assert not any(kept_with(f"<div>{PARAGRAPH}{box}<ul><li>One<li>Two</ul></div>", 0.45))
    assert all(kept_with(f"<div>{PARAGRAPH}<hr><ul><li>One<li>Two</ul></div>", 0.45))


def test_what_leads_to_the_first_paragraph_is_kept_as_long_as_nothing_comes_between() -> None:
    short = "<p>In short:</p><ul><li>One<li>Two</ul>"
    assert all(kept_with(f"<div>{short}{PARAGRAPH}</div>", 0.45))
    assert not any(kept_with(f"<div>{short}{PARAGRAPH}</div>", 0.25))
    assert not any(kept_with(f"<div>{short}<div>Share this</div>{PARAGRAPH}</div>", 0.45))
    assert not any(kept_with(f"<div>{LINKS}{PARAGRAPH}</div>", 0.45))


def test_a_list_with_a_paragraph_is_one_of_the_paragraphs() -> None:
    listed = f"<ol><li>{PARAGRAPH}<li>Short</ol>"
    html = f"<div>{listed}<h2>A heading</h2>{TABLE}{PARAGRAPH}</div>"
    assert all(kept_with(html, 0.2)[1:])


def test_a_paragraph_that_is_a_link_may_say_where_something_is_from() -> None:
    source = f"<div>{PARAGRAPH}<p><a href=/x>https://example.com/x</a></p></div>"
    assert all(kept_with(source, 0.55))
    assert not any(kept_with(source, 0.45))


def test_what_a_rule_has_taken_away_stays_away() -> None:
    page = features(f"<div>{PARAGRAPH}<ul><li>One<li>Two</ul>{PARAGRAPH}</div>")
    before = np.array([0.9, 0.6, 0.6, 0.9])
    found = completed(page, before > 0.8, before, np.array([0.9, 0.0, 0.6, 0.9]))
    assert found.tolist() == [True, False, True, True]


def test_without_paragraphs_nothing_is_added() -> None:
    page = features(f"<div>{LINKS}{TABLE}</div>")
    kept = np.zeros(len(page), dtype=bool)
    assert not completed(page, kept, np.full(len(page), 0.4), np.full(len(page), 0.4)).any()
