"""Ways from a page to the text that is compared: full text, main texts, other extractors.

``learned`` and ``pagelevel text`` are the main texts that are not template; the name of an engine
stands for the papers' rule, its largest segment. SiteLevel, alone or with one of these, needs to
know what the page's site repeats; where too few of the site's pages are known for a verdict, it
takes nothing away.

Other extractors are measured as their own documentation calls them for main texts; they are no
dependencies, a method that is not installed is said to be so.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from websegment_scrapy.extraction import extract
from websegment_scrapy.measure.rivals import RIVALS as OTHERS
from websegment_scrapy.page.build import build_tree
from websegment_scrapy.page.reading import Reader
from websegment_scrapy.template.repeated import template_nodes

if TYPE_CHECKING:
    from collections.abc import Callable

    from websegment_scrapy.template.sitelevel import SiteVerdict

__all__ = [
    "FULL_TEXT",
    "LEARNED",
    "RIVALS",
    "SITELEVEL",
    "TEMPLATES",
    "WITH_SITE",
    "text_method",
]

FULL_TEXT = "full text"
SITELEVEL = "sitelevel"
WITH_SITE = " + sitelevel"
"""What the name of a method ends with that is told the site's verdict."""

LEARNED = "learned"
TEMPLATES = {LEARNED: "learned", "pagelevel text": "pagelevel"}
"""Methods that take what is not template, and the setting ``WEBSEGMENT_MAIN_TEXT`` of each."""


def full_text(html: str) -> str:
    """Return the text of all text leaves of the page, in order."""
    tree = build_tree(html)
    return Reader(tree).text(tree.leaves)


def sitelevel_text(html: str, site: SiteVerdict | None) -> str:
    """Return the text of all text leaves that are not in the site's template, in order."""
    tree = build_tree(html)
    return Reader(tree).text(tree.leaves[~template_nodes(tree, site)[tree.leaves]])


def our_text(html: str, **options: Any) -> str:
    """Return our own main text, with the options of `extract`."""
    return extract(html, **options).main_text


RIVALS = {name: OTHERS[name] for name in ("trafilatura", "resiliparse")}
"""Those of all other extractors that are measured."""


def text_method(name: str, site: SiteVerdict | None = None) -> Callable[[str], str]:
    """Return the function of a method.

    ``"full text"``, ``"sitelevel"``, a rival, ``"learned"``, ``"pagelevel text"``, the name of an
    engine, or one of the last three with ``" + sitelevel"``; ``site`` is what the page's site
    repeats.
    """
    if name == FULL_TEXT:
        return full_text
    if name == SITELEVEL:
        return partial(sitelevel_text, site=site)
    if name in RIVALS:
        return RIVALS[name].load()
    told = site if name.endswith(WITH_SITE) else None
    name = name.removesuffix(WITH_SITE)
    if name in TEMPLATES:
        return partial(our_text, main_text=TEMPLATES[name], site=told)
    return partial(our_text, engine=name, main_text="largest", site=told)
