"""Figures that the papers print, to stand beside the measured ones.

They were measured on the papers' own pages, so they show the order of size and no more. The
tables of the Block Fusion paper are not among them.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "DEDUP",
    "SEGMENTATION",
    "TEMPLATES",
    "PublishedDedup",
    "PublishedSegmentation",
    "PublishedTemplates",
]


@dataclass(frozen=True, slots=True)
class PublishedSegmentation:
    """Mean ARI and NMI of a method; shares of pages with an ARI under 0.3 and over 0.6."""

    method: str
    ari: float
    nmi: float
    source: str
    poor: str = ""
    good: str = ""


@dataclass(frozen=True, slots=True)
class PublishedDedup:
    """Percent of duplicate pairs found and of non-duplicate pairs kept apart."""

    method: str
    found: float
    kept: float
    source: str


@dataclass(frozen=True, slots=True)
class PublishedTemplates:
    """F-measures of words, anchor words and links in templates."""

    method: str
    text: float
    anchor_text: float
    links: float
    source: str


_GCUTS = "Chakrabarti, Kumar, Punera 2008"

SEGMENTATION = (
    PublishedSegmentation("GCuts", 0.60, 0.76, f"{_GCUTS}, figure 2", "5%", "50%"),
    PublishedSegmentation("CClus", 0.46, 0.64, f"{_GCUTS}, figure 2", "27%", "< 20%"),
    PublishedSegmentation("GCuts-NP", 0.53, 0.73, f"{_GCUTS}, figure 4(b)"),
    PublishedSegmentation("GCuts-NL", 0.52, 0.73, f"{_GCUTS}, table 1"),
    PublishedSegmentation("WPS-Margin", 0.749, 0.841, "WPS 2014, table 2"),
)

DEDUP = (
    PublishedDedup("full text", 30.9, 88.7, f"{_GCUTS}, table 2"),
    PublishedDedup("CClus", 34.3, 94.9, f"{_GCUTS}, table 2"),
    PublishedDedup("GCuts", 61.7, 99.9, f"{_GCUTS}, table 2"),
)

_PAGELEVEL = "Chakrabarti, Kumar, Punera 2007, table 1"

TEMPLATES = (
    PublishedTemplates("PageLevel Basic", 0.63, 0.71, 0.75, _PAGELEVEL),
    PublishedTemplates("PageLevel Smooth", 0.66, 0.73, 0.77, _PAGELEVEL),
)
