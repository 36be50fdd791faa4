"""What HTML elements are, by name: the sets that parsing, layout and extraction share."""

from __future__ import annotations

__all__ = [
    "BLOCK",
    "HEADINGS",
    "NOT_RENDERED",
    "OPAQUE_TEXT",
    "REPLACED",
    "TABLE_CELLS",
    "TABLE_PARTS",
    "UNKNOWN_VOID",
    "VOID",
]

HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})

TABLE_CELLS = frozenset({"td", "th"})

TABLE_PARTS = frozenset({"thead", "tbody", "tfoot", "tr"}) | TABLE_CELLS

BLOCK = (
    frozenset(
        "html body address article aside blockquote center dd details dialog dir div dl "
        "dt fieldset figcaption figure footer form frameset header hgroup hr legend li "
        "main menu nav noframes ol p pre search section summary table caption ul".split()
    )
    | HEADINGS
    | TABLE_PARTS
)
"""Elements that the HTML standard's style sheet displays as blocks, table parts or list items."""

REPLACED = frozenset(
    "audio canvas embed frame iframe img input meter object progress select svg "
    "textarea video".split()
)
"""Leaves that are not text; what is inside them is not part of the page."""

NOT_RENDERED = frozenset(
    "area base basefont col colgroup datalist head link meta noembed noframes "
    "noscript optgroup option param rp script source style template title track".split()
)
"""Elements that a browser with scripts gives no box."""

OPAQUE_TEXT = frozenset({"script", "style", "title"})
"""Elements whose character data is not text of the page at all."""

VOID = frozenset(
    "area base basefont bgsound br col embed frame hr img input keygen link meta "
    "param source track wbr".split()
)
"""Elements without an end tag."""

UNKNOWN_VOID = ("bgsound", "embed", "keygen", "source", "track", "wbr")
"""Elements without an end tag that libxml2 does not know as such."""
