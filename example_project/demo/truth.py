"""What a crawl of the example sites ought to find, page by page.

Pages with the same ``text`` are copies of one another: the first one that a crawl meets is new,
the others are its duplicates. Pages without a text have no duplicate anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast

if TYPE_CHECKING:
    from collections.abc import Iterable

    from demo.web import Site

__all__ = ["Kind", "Truth", "truth"]

Kind = Literal["article", "print", "list", "about", "thin"]


@dataclass(frozen=True, slots=True)
class Truth:
    """The truth about one page.

    Parameters
    ----------
    kind
        Articles and their print versions carry a text; lists carry teasers; about pages have a
        short text of their own; thin pages (contact, log in, no results) have next to none and
        may be called ``new`` or ``empty``, never ``duplicate``.
    text
        Id of the text that the page carries.
    edited
        Whether this copy differs in some words, a sentence or a note from the stored text.
    built_by_script
        Whether the page is empty without JavaScript.
    """

    kind: Kind
    text: str | None
    edited: bool
    built_by_script: bool


def truth(sites: Iterable[Site]) -> dict[str, Truth]:
    """Return the truth about every page of the sites, by URL."""
    found = {}
    for site in sites:
        for path, page in site.pages.items():
            edition = page.edition
            found[site.origin + path] = Truth(
                kind=cast("Kind", page.kind),
                text=edition.text.id if edition else None,
                edited=edition is not None
                and (
                    edition.paragraphs != edition.text.paragraphs
                    or bool(edition.note and page.kind == "article")
                ),
                built_by_script=site.key == "current",
            )
    return found
