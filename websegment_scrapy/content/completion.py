"""What belongs to the main text because of where it stands: between its paragraphs.

Authors write paragraphs, headings, lists, tables, definitions, quotes and code one below the other,
as children of one element; what a site adds (share bars, related links, adverts) comes in elements
of its own around or between them. So what an author can have written and stands beside kept
paragraphs, between the first and the last of these, is kept, although it may look like a template
by itself: a table of figures, a list of links. So is the heading right above the first paragraph,
and what leads to it or follows the last one as long as nothing else comes between, unless it is
links. Each is judged as a whole, and left out only if it is as good as certain not to be main text;
code beside paragraphs always is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from websegment_scrapy.content.place import HALF, PROSE
from websegment_scrapy.page.subtrees import running_sums
from websegment_scrapy.page.tags import HEADINGS, TABLE_CELLS
from websegment_scrapy.page.tree import TEXT
from websegment_scrapy.template.hashes import TRANSPARENT

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from websegment_scrapy.content.features import BlockFeatures
    from websegment_scrapy.page.tree import PageTree

__all__ = ["completed"]

WRITTEN = HEADINGS | {"p", "ul", "ol", "dl", "table", "pre", "blockquote"}
"""Elements that authors write. Captions of figures are none: people who mark main texts leave most
of them out."""

BESIDE = WRITTEN | {"hr", "br", "img", "figure", "script", "style", TEXT} | TRANSPARENT
"""What may stand between them where the text goes on."""

ENDINGS = frozenset({"p", "ul", "ol", "dl", "table", "pre"})
"""Those that may end a text."""

LAYOUT = frozenset({"table", "form"})
"""What a table for the layout holds."""

FRAMED = frozenset({"table", "pre"})
"""Those that have elements of their highlighter, or one to scroll in, around them."""

FRAMES = 6
"""Such elements at most."""

SURE = 0.8
"""Mean probability of the paragraphs from which on they are sure; of less sure ones, as in a
language that the model hardly knows, what stands beside them need only have a share of theirs."""

UNLIKELY = 0.15
"""Mean probability of its words below which such an element is left out, if it has no code,"""

LIKELY = 0.3
"""the same before the first and after the last paragraph,"""

SOURCE = 0.5
"""and there for a paragraph of links: where something is from."""


def completed(
    page: BlockFeatures,
    kept: NDArray[np.bool_],
    before: NDArray[np.float64],
    probability: NDArray[np.float64],
) -> NDArray[np.bool_]:
    """Return the kept blocks with those that belong to them by their place.

    Parameters
    ----------
    page
        The blocks.
    kept
        Which of them are kept.
    before, probability
        That each is main text, and the same after the rules: what these ruled out stays out.
    """
    text = page.text
    tree, words, first = text.tree, text.words, text.blocks.begin
    is_paragraph = kept & (words >= PROSE) & page.unlinked
    low, high, level = _paragraphs(page, np.flatnonzero(is_paragraph), before)
    unit, child = _units(tree, high >= 0)
    if not len(unit):
        return kept
    holder = tree.parent[child]
    begin, end = np.searchsorted(first, unit), np.searchsorted(first, tree.end[unit])
    linked, likely, size, paragraphs = (
        run[end] - run[begin]
        for run in map(running_sums, (text.linked, words * before, words, is_paragraph * 1.0))
    )
    is_linked = linked > HALF * size
    has_paragraph = (paragraphs > 0) & ~is_linked
    np.minimum.at(low, holder[has_paragraph], begin[has_paragraph])
    np.maximum.at(high, holder[has_paragraph], end[has_paragraph] - 1)
    is_code = _number_inside(tree, unit, {"pre"}) > 0
    mean = np.where(is_code, 1.0, likely / np.maximum(size, 1.0) / level[holder])
    usable = (size > 0) & (mean >= UNLIKELY)
    usable &= ~tree.tagged({"table"})[unit] | _has_data(tree, unit) | is_code
    usable &= ~tree.tagged({"blockquote"})[unit] | ~is_linked
    source = tree.tagged({"p"})[unit] & (mean >= SOURCE)
    outside = usable & (mean >= LIKELY) & tree.tagged(ENDINGS)[unit] & (~is_linked | source)
    outside &= _goes_on(tree, child, low, high, first)
    following = outside & (begin > high[holder])
    np.maximum.at(high, holder[following], begin[following])
    between = usable & (low[holder] < begin) & (end <= high[holder])
    leading = outside & ~is_linked & (end <= low[holder])
    np.minimum.at(low, holder[leading], begin[leading])
    between |= usable & ~is_linked & (low[holder] < begin) & (end <= high[holder])
    headline = usable & tree.tagged(HEADINGS)[unit] & ~is_linked & (end <= low[holder])
    # Of several headings the last one above the paragraphs.
    headline[:-1] &= ~(headline[1:] & (holder[1:] == holder[:-1]))
    chosen = between | following | leading | headline
    inside = np.zeros(len(words) + 1, dtype=np.int64)
    np.add.at(inside, begin[chosen], 1)
    np.add.at(inside, end[chosen], -1)
    ruled_out = (probability == 0.0) & (before > 0.0)
    added: NDArray[np.bool_] = (np.cumsum(inside[:-1]) > 0) & (words > 0) & ~ruled_out
    return kept | added


def _paragraphs(
    page: BlockFeatures, body: NDArray[np.int64], probability: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return for each node the first and the last paragraph that it directly holds.

    And how sure these are, as a share of `SURE`. A paragraph in an element of its own is held by
    what is around that; the last is -1 for what holds none.
    """
    tree, first, home = page.text.tree, page.text.blocks.begin, page.place.home[body]
    several = np.searchsorted(first, tree.end[home]) - np.searchsorted(first, home) > 1
    holder = np.where(several, home, tree.parent[home])
    low, high = np.full(len(tree), len(first)), np.full(len(tree), -1)
    known = holder >= 0
    holder, body = holder[known], body[known]
    np.minimum.at(low, holder, body)
    np.maximum.at(high, holder, body)
    words = page.text.words[body]
    likely = np.bincount(holder, words * probability[body], len(tree))
    mean = likely / np.maximum(np.bincount(holder, words, len(tree)), 1.0)
    return low, high, np.clip(mean / SURE, 1e-9, 1.0)


def _units(tree: PageTree, holds: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return what an author can have written in elements that hold paragraphs.

    Beside each of them the child of that element in which it is, most often itself.
    """
    held = holds[tree.parent]
    unit = np.flatnonzero(tree.tagged(WRITTEN) & held)
    child, framed = unit, np.flatnonzero(tree.tagged(FRAMED) & ~held)
    around = framed.astype(np.int64)
    for _ in range(FRAMES):
        around = tree.parent[around].astype(np.int64)
        framed, around = framed[around >= 0], around[around >= 0]
        found = held[around]
        unit, child = np.append(unit, framed[found]), np.append(child, around[found])
        framed, around = framed[~found], around[~found]
    order = np.lexsort((unit, tree.parent[child]))
    return unit[order].astype(np.int64), child[order].astype(np.int64)


def _goes_on(
    tree: PageTree,
    child: NDArray[np.int64],
    low: NDArray[np.int64],
    high: NDArray[np.int64],
    first: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Say between which children and the paragraphs nothing stands that no author writes."""
    other = ~tree.tagged(BESIDE)
    other[child] = False
    node = np.flatnonzero(other & (high >= 0)[tree.parent])
    holder = tree.parent[node]
    earlier, later = np.full(len(tree), -1), np.full(len(tree), len(tree))
    is_before = tree.end[node] <= first[low[holder]]
    np.maximum.at(earlier, holder[is_before], node[is_before])
    is_behind = node > first[high[holder]]
    np.minimum.at(later, holder[is_behind], node[is_behind])
    around = tree.parent[child]
    return np.asarray((child > earlier[around]) & (child < later[around]))


def _number_inside(
    tree: PageTree, unit: NDArray[np.int64], names: Collection[str]
) -> NDArray[np.float64]:
    """Count the elements of these names in each unit, itself included."""
    run = running_sums(tree.tagged(names).astype(np.float64))
    return np.asarray(run[tree.end[unit]] - run[unit])


def _has_data(tree: PageTree, unit: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Say which tables have rows and columns and are not there for the layout."""
    rows, cells = (_number_inside(tree, unit, names) for names in ({"tr"}, TABLE_CELLS))
    layout = _number_inside(tree, unit, LAYOUT) - tree.tagged(LAYOUT)[unit]
    return np.asarray((rows > 1) & (cells >= 2 * rows) & (layout == 0))
