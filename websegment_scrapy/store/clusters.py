"""Clusters of near-duplicates in the database, and which of them a page belongs to.

A cluster is a representative and pages that are all similar to it, at least as similar as the
database was made for. Its number, ``cluster_id``, is the id of its representative, the page whose
text came first. A page that is similar to no representative founds a cluster, also when it is
similar to another member of one: pages that change step by step never join two texts that are not
similar. So

- every page is similar to its representative, and a page is ``new`` exactly when it is one: the
  representatives are every text once, and none is lost;
- no two representatives that have a key in common are similar: no text is there twice.

Both hold whatever the order of arrival, the changes, and the number of writers. Which pages are the
representatives goes by that order, except where all pages that are connected by similarity are
similar to each other: those are one cluster in every order.

Nothing here takes longer because a cluster is large: clusters are never merged, and pages leave
them in bounded steps (`leaving`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import and_, or_

from websegment_scrapy.dedup.signature import similarities
from websegment_scrapy.store.models import Page

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from sqlalchemy import ColumnElement

    from websegment_scrapy.dedup.signature import Signature
    from websegment_scrapy.store.statements import Candidate

__all__ = ["MAX_PAGES_PER_KEY", "Match", "best_match", "in_cluster"]

MAX_PAGES_PER_KEY = 500
"""Of each key the earliest pages, up to this many, are compared with a new page.

It keeps a decision's cost bounded in a site of ten thousand "page not found" pages. Pages with
exactly the same words are found without this limit.
"""

MAX_IDS_PER_KEY = 10_000
"""Where a key has more pages than that and no match was found among them, so many of its pages are
looked at by their keys alone,"""

MAX_VERIFIED = 5_000
"""and those that have most keys in common, up to so many, are compared."""


def in_cluster(cluster: Any) -> ColumnElement[bool]:
    """Return the condition for the pages of a cluster.

    The representative is found by its id, the others in an index that leaves out representatives.
    """
    return or_(and_(Page.cluster_id == cluster, Page.cluster_id != Page.id), Page.id == cluster)


@dataclass(frozen=True, slots=True)
class Match:
    """The most similar page, and its cluster."""

    page_id: int
    url: str
    similarity: float
    cluster: int


def best_match(
    signature: Signature,
    pages: Sequence[Candidate],
    threshold: float,
    read: Callable[[Candidate], Signature],
    fetch: Callable[[Collection[int]], Collection[Candidate]],
) -> Match | None:
    """Choose the page that a content repeats, among pages in ascending order of id.

    It is the most similar one, and of equals the first, of those whose representative is similar
    to the content as well.

    Parameters
    ----------
    signature
        Of the content.
    pages
        Those that may be similar.
    threshold
        From which similarity on they are.
    read
        Returns a page's signature.
    fetch
        Returns pages by their ids: representatives that are not among `pages`.
    """
    if not pages:
        return None
    found = similarities(signature, [read(page) for page in pages])
    hits = np.flatnonzero(found >= threshold).tolist()
    if not hits:
        return None
    near = {page.id: value for page, value in zip(pages, found.tolist(), strict=True)}
    missing = {pages[hit].cluster_id for hit in hits} - near.keys()
    if missing:
        others = list(fetch(missing))
        values = similarities(signature, [read(page) for page in others])
        near |= {page.id: value for page, value in zip(others, values.tolist(), strict=True)}
    for hit in sorted(hits, key=lambda hit: (-found[hit], hit)):
        page = pages[hit]
        if near.get(page.cluster_id, 0.0) >= threshold:
            return Match(page.id, page.url, float(found[hit]), page.cluster_id)
    return None
