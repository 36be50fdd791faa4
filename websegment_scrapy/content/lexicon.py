"""Words that tell main text from the rest: of short and long blocks, of names of elements.

Nobody lists them by hand: training counts on how many pages a word of a short block ("reply"), of a
long one ("cookies"), or of an element's ``class`` or ``id`` ("sidebar", "entry") stands in the main
text, and keeps the log odds. Words of few sites are left out, so that no site is learned by heart.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["SHORT_BLOCK", "Lexicon", "name_words"]

SHORT_BLOCK = 12
"""Words up to which a block is short."""

_NAME = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


@dataclass(frozen=True, slots=True, eq=False)
class Lexicon:
    """Log odds of standing in the main text, above what is usual: 0 for words not listed."""

    short: Mapping[str, float]
    long: Mapping[str, float]
    names: Mapping[str, float]


def name_words(text: str) -> list[str]:
    """Split the names of an element: ``"PostBody entry-text2"`` has post, body, entry, text."""
    return [word.lower() for word in _NAME.findall(text)]
