"""What a batch is told, once; it is written down with the results, and others are refused."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from websegment_scrapy.config import Config
from websegment_scrapy.dedup.signature import RECIPES, Recipe

__all__ = ["Limits", "Options"]

_DEFAULT = Config()


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the results depend on.

    Attributes
    ----------
    engine, main_text, signature, similarity, min_words
        As the settings of the same names; a `similarity` of ``None`` is the recipe's own.
    segments
        Whether the segments of each page are written.
    site_templates, site_threshold, site_min_pages
        Whether what sites repeat is left out, and from when on it is known.
    shard_pages
        Pages in one shard: what is lost when the batch is killed.
    """

    engine: str = _DEFAULT.engine
    main_text: str = _DEFAULT.main_text
    signature: str = _DEFAULT.signature
    similarity: float | None = None
    min_words: int = _DEFAULT.min_words
    segments: bool = False
    site_templates: bool = _DEFAULT.site_templates
    site_threshold: float = _DEFAULT.site_threshold
    site_min_pages: int = _DEFAULT.site_min_pages
    shard_pages: int = 1000

    @property
    def recipe(self) -> Recipe:
        """How signatures are made."""
        return RECIPES[self.signature]

    @property
    def threshold(self) -> float:
        """From which similarity on two pages are near-duplicates."""
        return self.recipe.default_similarity if self.similarity is None else self.similarity

    def to_dict(self) -> dict[str, Any]:
        """Return what is written down."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What the work may take; the results do not depend on it, but for pages that exceed it."""

    workers: int = _DEFAULT.workers
    page_timeout: float = _DEFAULT.page_timeout
    page_memory: int = _DEFAULT.page_memory
    memory: int = 2048
    """MiB for sorting and counting, beyond which it goes through the disk."""
