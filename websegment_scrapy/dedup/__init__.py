"""Near-duplicates: text to words, words to shingles, shingles to a signature; comparison."""

from __future__ import annotations

from websegment_scrapy.dedup.decision import Decision, DecisionKind
from websegment_scrapy.dedup.signature import RECIPES, Recipe, Signature, signature_of, similarity

__all__ = [
    "RECIPES",
    "Decision",
    "DecisionKind",
    "Recipe",
    "Signature",
    "signature_of",
    "similarity",
]
