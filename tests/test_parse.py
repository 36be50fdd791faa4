"""Markup that would make a page vanish."""

from __future__ import annotations

import pytest

from websegment_scrapy.page.build import build_tree


def texts(html: str) -> list[str]:
    tree = build_tree(html)
    return [tree.text_of(leaf) for leaf in tree.leaves.tolist()]


@pytest.mark.parametrize("start", ["<title>Never ended", "<TITLE lang=en>Never ended"])
def test_a_title_that_never_ends_does_not_swallow_the_page(start: str) -> None:
    html = f"<html><head>{start}<link rel=x></head><body><p>All of the text</p></body></html>"
    assert texts(html) == ["All of the text"]
    assert build_tree(html).head.title == "Never ended"


def test_a_title_that_ends_is_left_alone() -> None:
    html = "<title>a < b</title><svg><title>icon</title></svg><p>text</p>"
    assert "text" in texts(html)
    assert build_tree(html).head.title == "a < b"


def test_a_title_and_nothing_else_is_an_empty_page() -> None:
    assert texts("<title>Only this") == []
