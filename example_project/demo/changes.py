"""Shows what a second crawl found: what changed, what did not, what is gone."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from demo.differences import edits
from demo.tables import WIDTH, host, one_line, short_url

if TYPE_CHECKING:
    from collections.abc import Mapping

    from demo.feeds import FoundPage

__all__ = ["show_changes"]

MARGIN = " " * 11


def show_changes(
    before: Mapping[str, FoundPage], after: Mapping[str, FoundPage], names: Mapping[str, str]
) -> str:
    """Compare two crawls; only the sites that the second one visited count.

    Parameters
    ----------
    before, after
        The pages of the two crawls, by URL.
    names
        Name of each site by host and port.
    """
    counts = Counter(page.decision for page in after.values())
    lines = [f"{len(after)} pages: " + ", ".join(f"{n} {kind}" for kind, n in counts.most_common())]
    lines.append("")
    lines += _unchanged(before, after)
    for page in after.values():
        where = short_url(page.url, names)
        if page.decision == "changed" and page.url in before:
            lines += [f"changed    {where}", *_edits(before[page.url].main_text, page.main_text)]
        elif page.decision == "duplicate":
            of = short_url(page.duplicate_of or "", names)
            lines += [f"duplicate  {where}", f"{MARGIN}of {of}, which the first crawl met"]
        elif page.decision in ("new", "failed"):
            lines.append(f"{page.decision:<9}  {where}")
    visited = {host(url) for url in after}
    lines += [
        f"gone       {short_url(url, names)}\n{MARGIN}still in the database; no link leads to it"
        for url in before
        if host(url) in visited and url not in after
    ]
    return "\n".join(lines)


def _unchanged(before: Mapping[str, FoundPage], after: Mapping[str, FoundPage]) -> list[str]:
    """Count the unchanged pages, and show what is another text around their main text."""
    pages = [page for page in after.values() if page.decision == "unchanged" and page.url in before]
    touched = [page for page in pages if page.other_text != before[page.url].other_text]
    if not touched:
        return [f"unchanged  {len(pages)} pages"]
    example = min(
        (_edits(before[page.url].other_text, page.other_text) for page in touched), key=len
    )
    said = (
        f"unchanged  {len(pages)} pages; around the main text, {len(touched)} of them did change:"
    )
    return [said, *example]


def _edits(before: str, after: str) -> list[str]:
    return [
        MARGIN + one_line(f"{sign} {text}", WIDTH - len(MARGIN))
        for sign, text in edits(before, after)
    ]
