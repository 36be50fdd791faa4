"""``python -m tests.moved_posts``: real posts in many languages, set into pages of other designs.

Of each site of ``sites.tar.xz`` (``WEBSEGMENT_DATA`` or ``--data``) that calls the element of its
posts by a usual name, some posts are set into pages of sites of other theme families, in place of
what stood there, with their title. So it is known what the main text is, and which pages say the
same: word F1, precision and recall against the text of the post, near-duplicates found by the
papers' recipe, and the agreement of two pages of one post in windows of four words, beside the
extractors that are installed. Theme families are dealt into two halves, ``--half 0`` to look at and
``--half 1`` put aside. What a site adds within such an element counts as the post's, for all alike.
"""

from __future__ import annotations

import argparse
import random
import sys
import zlib
from collections import Counter, defaultdict
from copy import deepcopy
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from lxml import etree, html

from websegment_scrapy import extract
from websegment_scrapy.dedup.signature import RECIPES, signature_of, similarity
from websegment_scrapy.measure.datasets import data_directory
from websegment_scrapy.measure.report import text_table
from websegment_scrapy.measure.rivals import RIVALS, is_installed
from websegment_scrapy.measure.sites import crawled_sites
from websegment_scrapy.page.words import words

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from websegment_scrapy.measure.sites import CrawledSite

NAMES = (
    "post-content article-entry entry-content markdown-body article-content post-body c-rich-text "
    "mw-parser-output post__content article-body post_content td-content book-article "
    "article-style single-content blog-post-content page-content content-inner e-content entry "
    "post-entry blog-content postcontent post-text post-single article__content page__content prose"
).split()
"""What designs call the element of a post; the first of them that a page has just once."""

LEAST_CHILDREN, LEAST_WORDS, MOST_CHARACTERS = 3, 80, 60_000
"""Of a post."""

LEAST_POSTS = 4
"""Of a site that is used."""

MIN_WORDS = 15
"""Fewer are a duplicate of nothing (`WEBSEGMENT_MIN_WORDS`)."""

OTHERS = ("trafilatura", "resiliparse", "readability-lxml")


class MovedPost(NamedTuple):
    """A page made of a post and of another site's design."""

    post: str
    html: str
    text: str


@dataclass(frozen=True, slots=True)
class Site:
    """The documents of a site that hold posts."""

    name: str
    family: str
    documents: tuple[bytes, ...]


def moved_posts(
    sites: Sequence[CrawledSite], half: int, posts: int, designs: int, seed: int
) -> list[MovedPost]:
    """Set posts into other designs; the same pages for the same numbers."""
    rng = random.Random(seed)
    used = [
        found
        for site in sites
        if zlib.crc32(f"half {site.family}".encode()) % 2 == half
        for found in [_with_posts(site)]
        if len(found.documents) >= LEAST_POSTS
    ]
    pages = []
    for site in used:
        others = [other for other in used if other.family != site.family]
        for document in rng.sample(site.documents, min(posts, len(site.documents))):
            tree = _parse(document)
            holder = _holder(tree)
            assert holder is not None
            title = (tree.findtext(".//title") or "Post").split("|")[0].split(" - ")[0].strip()
            name = f"{site.name} {zlib.crc32(document)}"
            for other in rng.sample(others, designs):
                page = _moved(holder, title, rng.choice(other.documents), other.name)
                pages.append(MovedPost(name, page, _text(holder)))
    return pages


def _with_posts(site: CrawledSite) -> Site:
    documents = []
    for page in site.pages:
        document = page.path.read_bytes()
        holder = _holder(_parse(document))
        if holder is None or len(holder) < LEAST_CHILDREN:
            continue
        text = _text(holder)
        if len(words(text)) >= LEAST_WORDS and len(text) < MOST_CHARACTERS:
            documents.append(document)
    return Site(site.name, site.family, tuple(documents))


def _parse(document: bytes) -> html.HtmlElement:
    text = document.decode("utf-8", "replace") or "<p>"
    return html.document_fromstring(text.encode(), parser=html.HTMLParser(encoding="utf-8"))


def _holder(tree: html.HtmlElement) -> html.HtmlElement | None:
    for name in NAMES:
        found = tree.xpath(
            "//*[contains(concat(' ', normalize-space(@class), ' '), $name) or @id = $id]",
            name=f" {name} ",
            id=name,
        )
        if len(found) == 1:
            holder: html.HtmlElement = found[0]
            return holder
    return None


def _text(holder: html.HtmlElement) -> str:
    """Return what an element says to readers."""
    told = holder.xpath(".//text()[not(ancestor::script or ancestor::style)]")
    return "".join(map(str, told))


def _moved(holder: html.HtmlElement, title: str, document: bytes, site: str) -> str:
    """Put what a holder holds, and its title, in place of those of another page."""
    page = _parse(document)
    place = _holder(page)
    assert place is not None
    place[:] = []
    place.text = holder.text
    place.extend(deepcopy(child) for child in holder)
    named = page.find(".//title")
    if named is not None:
        named.text = f"{title} | {site.partition('__')[0]}"
    headings = page.xpath("//h1")
    if headings and place not in headings[-1].iterancestors():
        headings[-1][:] = []
        headings[-1].text = title
    return "<!DOCTYPE html>" + etree.tostring(page, encoding="unicode", method="html")


def figures(pages: Sequence[MovedPost], method: Callable[[str], str]) -> list[str]:
    """Measure one extractor."""
    found = [method(page.html) for page in pages]
    shares = np.array(
        [_shares(words(text), words(page.text)) for text, page in zip(found, pages, strict=True)]
    )
    signatures = [signature_of(text, RECIPES["shingles"]) for text in found]
    of_post: defaultdict[str, list[int]] = defaultdict(list)
    for number, page in enumerate(pages):
        of_post[page.post].append(number)
    pairs = [pair for numbers in of_post.values() for pair in combinations(numbers, 2)]
    same = [
        min(signatures[a].words, signatures[b].words) >= MIN_WORDS
        and similarity(signatures[a], signatures[b]) >= RECIPES["shingles"].default_similarity
        for a, b in pairs
    ]
    windows = [_windows(words(text)) for text in found]
    agreement = [_shares(windows[a], windows[b])[0] for a, b in pairs]
    return [
        *(f"{value:.4f}" for value in shares.mean(axis=0)),
        str(int((shares[:, 0] < 0.5).sum())),
        f"{100 * np.mean(same):.1f} %",
        f"{np.mean(agreement):.4f}",
    ]


def _windows(found: Sequence[str]) -> list[tuple[str, ...]]:
    return list(zip(*(found[offset:] for offset in range(4)), strict=False))


def _shares(found: Sequence[object], wanted: Sequence[object]) -> tuple[float, float, float]:
    """Return F1, precision and recall of two multisets."""
    common = (Counter(found) & Counter(wanted)).total()
    both = len(found) + len(wanted)
    f1 = 2 * common / both if both else 1.0
    return f1, common / max(1, len(found)), common / max(1, len(wanted))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.moved_posts", description=__doc__)
    parser.add_argument("--data", help="folder with sites.tar.xz (default: WEBSEGMENT_DATA)")
    parser.add_argument("--half", type=int, choices=(0, 1), default=0)
    parser.add_argument("--posts", type=int, default=5, help="of each site (default: 5)")
    parser.add_argument("--designs", type=int, default=4, help="for each post (default: 4)")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args(arguments)
    with crawled_sites(data_directory(args.data)) as sites:
        pages = moved_posts(sites, args.half, args.posts, args.designs, args.seed)
    methods: dict[str, Callable[[str], str]] = {"websegment": lambda html: extract(html).main_text}
    methods |= {name: RIVALS[name].load() for name in OTHERS if is_installed(RIVALS[name].module)}
    rows = [[name, *figures(pages, method)] for name, method in methods.items()]
    header = ["method", "word F1", "precision", "recall", "under 0.5", "duplicates", "agreement"]
    sys.stdout.write(f"{len(pages)} pages\n{text_table(header, rows)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
