"""Where two texts agree and where they differ: by words for copies, by sentences for edits."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["common_runs", "edits"]

SHORT_RUN = 4
"""Fewer words that happen to be the same inside a difference belong to it."""

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")


def common_runs(
    first: Sequence[str], second: Sequence[str]
) -> list[tuple[bool, list[str], list[str]]]:
    """Cut two texts into runs of words: is it the same in both, the first's, the second's."""
    runs: list[tuple[bool, list[str], list[str]]] = []
    for kind, start, end, other_start, other_end in _matched(first, second):
        same = kind == "equal" and end - start >= SHORT_RUN
        if not runs or same or runs[-1][0]:
            runs.append((same, [], []))
        runs[-1][1].extend(first[start:end])
        runs[-1][2].extend(second[other_start:other_end])
    return runs


def edits(before: str, after: str) -> list[tuple[str, str]]:
    """Return the sentences that were taken out (``-``) and put in (``+``)."""
    first, second = (_SENTENCE_END.split(text) for text in (before, after))
    return [
        (sign, " ".join(sentences))
        for kind, start, end, other_start, other_end in _matched(first, second)
        if kind != "equal"
        for sign, sentences in (("-", first[start:end]), ("+", second[other_start:other_end]))
        if any(sentences)
    ]


def _matched(first: Sequence[str], second: Sequence[str]) -> list[tuple[str, int, int, int, int]]:
    return SequenceMatcher(None, first, second, autojunk=False).get_opcodes()
