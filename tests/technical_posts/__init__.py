"""Technical posts in several designs: near-duplicates that differ in all but what they say."""

from __future__ import annotations

import random
from itertools import combinations
from typing import TYPE_CHECKING

from tests.technical_posts.designs import DESIGNS, shells_of
from tests.technical_posts.posts import post
from websegment_scrapy.measure.datasets import NeardupPage, Pair, unpacked

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["technical_posts"]

POSTS = 60
EACH = 3
"""Designs in which each post is shown."""


def technical_posts(data: Path) -> tuple[list[NeardupPage], list[Pair]]:
    """Return the pages; pairs that are duplicates, and as many of one site that are not."""
    if (data / "sites").is_dir():
        return _made(data / "sites")
    with unpacked(data / "sites.tar.xz") as folder:
        return _made(folder / "sites")


def _made(sites: Path) -> tuple[list[NeardupPage], list[Pair]]:
    shells = [shells_of(design, sites) for design in DESIGNS]
    rng = random.Random(15)
    pages: list[NeardupPage] = []
    pairs: list[Pair] = []
    of_design: list[list[str]] = [[] for _ in DESIGNS]
    for number in range(POSTS):
        content = post(number)
        own = []
        for place in sorted(rng.sample(range(len(DESIGNS)), EACH)):
            design = DESIGNS[place]
            name = f"{number}-{design.highlighter}"
            shell = shells[place][number % len(shells[place])]
            host = design.site.partition("__")[0].lower()
            pages.append(
                NeardupPage(name, f"http://{host}.example/{name}", shell.with_post(content))
            )
            of_design[place].append(name)
            own.append(name)
        pairs += [Pair(a, b, duplicate=True) for a, b in combinations(own, 2)]
    others = [pair for names in of_design for pair in combinations(names, 2)]
    apart = rng.sample(others, len(pairs))
    return pages, pairs + [Pair(a, b, duplicate=False) for a, b in apart]
