"""How much of a page is main text: which of the likely blocks are kept.

What is wanted is a high F1 of the words kept. With independent blocks the expected F1 is highest
when those are kept whose probability is above half of the F1 that can be reached (Lewis: Evaluating
and optimizing autonomous text classification systems, SIGIR 1995), so the limit is another one on
every page: near 0.5 on an article, lower where nothing is certain. What is no farther above it than
a step of the smoothing is not above it. Where even the best choice promises less than `LEAST_GAIN`,
or `SURE_GAIN` for a few words of links and forms, nothing is kept: the page is all template. A page
without links and form fields has none, and is kept as it is; and a block that is most of a page,
and not links, is what the page is for. The heading above the main text that says what the page's
title says belongs to it (`TITLE` of its words, `TITLE_PART` of the title's).

What no reader can get to see, as a browser knows, is not main text, however likely it looks; it is
left out first, so that nothing that can be read loses against it.

Two things mean another thing on a page of running text than on a list or a forum. Where
`RUNNING_TEXT` of what would be kept is running text, a block of links must be likelier than `LINKS`
to be kept: it is "related", not the list that the page is for. And where there is an article of
`ARTICLE` words, what the page calls comments is not its content.

A page that keeps nothing by this, but has text of its own that its known site does not repeat, gets
a second look (`look_again`): what it was taken for, the site would have repeated.

Pages often hold the same text twice, for small and for large screens; of equal blocks of at least
`REPEATED_WORDS` words the first is kept, unless a later one is clearly the likelier. Within one
element an author repeats himself: there code stays, and what is likelier than `WRITTEN`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from websegment_scrapy.content.container import running_text
from websegment_scrapy.content.place import CONTROLS, PROSE
from websegment_scrapy.content.smoothing import RESOLUTION

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from websegment_scrapy.content.features import BlockFeatures

__all__ = [
    "choose",
    "headings_of_title",
    "look_again",
    "without_comments",
    "without_hidden",
    "without_repetitions",
]

LEAST_GAIN = 0.35
SURE_GAIN = 0.6
FEW_WORDS = 30
LINKS = 0.75
RUNNING_TEXT = 0.45
"""Share of the expected main text from which a page is one of running text."""

ARTICLE = 50
REPEATED_WORDS = 3
WRITTEN = 0.5
TITLE, TITLE_PART = 0.8, 0.5
CLEARLY = 0.2
UNREPEATED = 2.0
OWN_WORDS = 100
"""Each chosen among a few values. The gains, `LINKS` and the repetitions: on held-out hosts of the
training pages. `RUNNING_TEXT`, `ARTICLE` and `TITLE`: after looking at pages of dragnet too; on
held-out training hosts they change little, and `TITLE` costs 0.001. `UNREPEATED` and `OWN_WORDS`:
on the near-duplicate sets lyrics_dev and sicp, so their figures there are not those of unseen
pages. The step above the limit: by the pages of ``tests/gate``."""


def choose(page: BlockFeatures, probability: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which blocks are kept."""
    words = page.text.words
    gain = _gain(words, probability)
    if gain < SURE_GAIN and not _may_have_template(page):
        return page.text.shown & (words > 0)
    limit = gain / 2 if gain >= LEAST_GAIN else 1.0
    kept = (probability > limit + 1.0 / RESOLUTION) & (words > 0)
    served = np.where(page.column("in_form") > 0, words, page.text.linked)
    few = words[kept].sum() < FEW_WORDS and served[kept].sum() >= words[kept].sum() / 2
    if gain < LEAST_GAIN or (gain < SURE_GAIN and few):
        return _most_of_the_page(page)
    text = running_text(page, probability)
    expected = float((probability * words)[kept].sum())
    if (probability * text).sum() > RUNNING_TEXT * expected:
        kept &= page.unlinked | (probability > LINKS)
    return kept | _headline(page, kept)


def look_again(
    words: NDArray[np.float64], probability: NDArray[np.float64], repeated: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return which blocks are kept of a page that looked like all template, once its site is known.

    What the site repeats is template, so the odds of what it does not repeat are `UNREPEATED` times
    what the page alone would say. A page needs `OWN_WORDS` words that its site does not repeat.

    Parameters
    ----------
    words, probability
        Of each block: its words, and that it is main text by the page alone.
    repeated
        Whether the site repeats all of it.
    """
    if words[~repeated].sum() < OWN_WORDS:
        return np.zeros(len(words), dtype=bool)
    odds = UNREPEATED * probability
    again = np.where(repeated, 0.0, odds / (odds + 1.0 - probability))
    gain = _gain(words, again)
    kept = (again > gain / 2 + 1.0 / RESOLUTION) & (words > 0)
    sure = gain >= SURE_GAIN or words[kept].sum() >= FEW_WORDS
    return kept & (gain >= LEAST_GAIN and sure)


def _gain(words: NDArray[np.float64], probability: NDArray[np.float64]) -> float:
    """Return the highest F1 that is expected of any number of the likeliest blocks."""
    order = np.argsort(-probability, kind="stable")
    mass = np.cumsum((probability * words)[order])
    total = np.cumsum(words[order]) + mass[-1:]
    return float(np.max(2 * mass / np.maximum(total, 1e-9), initial=0.0))


def without_hidden(page: BlockFeatures, probability: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probabilities with 0 for what no reader can get to see (`page.readable`)."""
    return np.where(page.text.tree.readable[page.text.blocks.begin], probability, 0.0)


def without_comments(page: BlockFeatures, probability: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probabilities with 0 for comments below an article."""
    comments = page.column("in_comments") > 0
    text = running_text(page, probability)
    return np.where(comments & (text[~comments].sum() >= ARTICLE), 0.0, probability)


def _most_of_the_page(page: BlockFeatures) -> NDArray[np.bool_]:
    """Return the block that has half of all visible characters and is no link, if there is one."""
    size = np.array([len(text) for text in page.text.texts], dtype=np.float64) * page.text.shown
    own = size * page.unlinked * (page.text.words > 0)
    return np.asarray((own == own.max(initial=1.0)) & (own > size.sum() / 2))


def _headline(page: BlockFeatures, kept: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the last heading above the kept running text that is the page's title, if any."""
    found = np.zeros(len(page), dtype=bool)
    body = np.flatnonzero(kept & (page.text.words >= PROSE))
    if len(body):
        title = headings_of_title(page) & page.unlinked & page.text.shown
        found[np.flatnonzero(title[: body[0]])[-1:]] = True
    return found


def headings_of_title(page: BlockFeatures) -> NDArray[np.bool_]:
    """Return which headings say what the page's title says."""
    found: NDArray[np.bool_] = (
        (page.column("in_heading") > 0)
        & (page.column("title_share") >= TITLE)
        & (page.column("of_title") >= TITLE_PART)
    )
    return found


def _may_have_template(page: BlockFeatures) -> bool:
    """Say whether a page has links or form fields: nothing else can be template."""
    tree = page.text.tree
    return bool(page.text.linked.any()) or not CONTROLS.isdisjoint(tree.tags)


def without_repetitions(
    page: BlockFeatures, probability: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the probabilities with 0 for blocks that say what another block says."""
    found, texts = probability.copy(), page.text.texts
    known: dict[str, int] = {}
    holder = page.text.tree.parent[page.place.home]
    likely = (probability > WRITTEN) | (page.column("in_pre") > 0)
    for block in np.flatnonzero(page.text.words >= REPEATED_WORDS).tolist():
        text = " ".join(texts[block].lower().split())
        other = known.setdefault(text, block)
        if other == block or (likely[block] and likely[other] and holder[block] == holder[other]):
            continue
        if found[block] > found[other] + CLEARLY:
            found[other] = 0.0
            known[text] = block
        else:
            found[block] = 0.0
    return found
