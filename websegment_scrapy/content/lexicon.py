"""Words that tell main text from the rest: of short and long blocks, of names of elements.

Nobody lists them by hand: training counts on how many pages a word of a short block ("reply"), of a
long one ("cookies"), or of an element's ``class`` or ``id`` ("sidebar", "entry") stands in the main
text, and keeps the log odds. Words of few sites are left out, so that no site is learned by heart.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["SHORT_BLOCK", "Lexicon", "name_words"]

SHORT_BLOCK = 12
"""Words up to which a block is short."""

CACHED_NAME, CACHED_NAMES = 200, 4096
"""Characters of an element's names up to which their words are remembered, and how many are: the
pages of a site have the same ones."""

_NAME = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


@dataclass(frozen=True, slots=True, eq=False)
class Lexicon:
    """Log odds of standing in the main text, above what is usual: 0 for words not listed."""

    short: Mapping[str, float]
    long: Mapping[str, float]
    names: Mapping[str, float]


def name_words(text: str) -> Sequence[str]:
    """Split the names of an element: ``"PostBody entry-text2"`` has post, body, entry, text."""
    return _remembered(text) if len(text) <= CACHED_NAME else _split(text)


def _split(text: str) -> tuple[str, ...]:
    return tuple([word.lower() for word in _NAME.findall(text)])


_remembered = lru_cache(CACHED_NAMES)(_split)
