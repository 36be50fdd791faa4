"""Shows pages to people: one before and after, its segments, two copies side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from demo.differences import common_runs
from demo.tables import aligned, beside, cut, cut_words, short_url, wrapped

if TYPE_CHECKING:
    from collections.abc import Mapping

    from demo.feeds import FoundPage

__all__ = ["best_pair", "most_stripped", "show_page", "show_pair", "show_segments"]

TEXT_WORDS = 150
"""A page that is shown has a main text of as many."""
FIRST_LINES, LAST_LINES = 9, 5
"""Shown of a longer text."""
PASSAGE_WORDS, OTHER_WORDS = 22, 8
"""Shown of the beginning and of the end of the longest passage that is shared, of others."""


def most_stripped(pages: Mapping[str, FoundPage]) -> FoundPage | None:
    """Return the new page with a text of some length of which the smallest share is kept."""
    found = [page for page in pages.values() if page.decision == "new" and page.words >= TEXT_WORDS]
    return min(found, key=lambda page: page.words / page.page_words, default=None)


def show_page(page: FoundPage, names: Mapping[str, str]) -> str:
    """Put a page's whole text beside its main text."""
    whole = [line for part in page.segments for line in wrapped(" ".join(part["text"].split()))]
    return "\n".join(
        [
            f"One page before and after: {short_url(page.url, names)}",
            "",
            *beside(
                [f"THE WHOLE PAGE, {page.page_words} words"],
                [f"ITS MAIN TEXT, {page.words} words ({page.words / page.page_words:.0%})"],
            ),
            *beside(
                cut(whole, FIRST_LINES, LAST_LINES),
                cut(wrapped(page.main_text), FIRST_LINES, LAST_LINES),
            ),
        ]
    )


def show_segments(page: FoundPage) -> str:
    """List a page's segments with their roles."""
    parts = [part for part in page.segments if part["words"]]
    rows = [["role", "words", "segment"]]
    rows += [[part["role"], str(part["words"]), part["text"]] for part in parts]
    return f"Its {len(parts)} segments\n\n{aligned(rows, text=True)}"


def best_pair(pages: Mapping[str, FoundPage]) -> tuple[FoundPage, FoundPage] | None:
    """Return the original and the copy that differ in most places, then by most words."""

    def sameness(pair: tuple[FoundPage, FoundPage]) -> tuple[int, float]:
        return -len(_runs(*pair)), pair[1].similarity or 0.0

    pairs = [
        (pages[page.duplicate_of], page)
        for page in pages.values()
        if page.decision == "duplicate" and page.duplicate_of in pages
    ]
    return min(pairs, key=sameness, default=None)


def show_pair(original: FoundPage, copy: FoundPage, names: Mapping[str, str]) -> str:
    """Put two copies side by side: what they share beside ``=``, what differs beside ``≠``."""
    runs = _runs(original, copy)
    longest = max((len(ours) for same, ours, _ in runs if same), default=0)
    lines = []
    for same, ours, theirs in runs:
        shown = PASSAGE_WORDS if same and len(ours) == longest else OTHER_WORDS
        columns = (wrapped(cut_words(words, shown)) for words in (ours, theirs))
        lines += beside(*columns, "=" if same else "≠")
    return "\n".join(
        [
            f"Two copies: similarity {copy.similarity or 0:.2f}, "
            f"the longest passage that they share has {longest} words",
            "",
            *beside(
                [f"{short_url(original.url, names)}, {original.words} words"],
                [f"{short_url(copy.url, names)}, {copy.words} words"],
            ),
            *lines,
        ]
    )


def _runs(original: FoundPage, copy: FoundPage) -> list[tuple[bool, list[str], list[str]]]:
    return common_runs(original.main_text.split(), copy.main_text.split())
