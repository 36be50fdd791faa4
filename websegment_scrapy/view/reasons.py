"""What the names of evidence and rules mean, for people who look at a page."""

from __future__ import annotations

__all__ = ["EVIDENCE", "RULES"]

EVIDENCE = {
    "words": "which words it uses",
    "own text": "its length, sentences, figures and letters",
    "links": "how much of it is links",
    "names": "class names and ids of the elements around it",
    "elements": "which elements it stands in",
    "ancestors": "all that stands in the elements around it",
    "same path": "the other texts in elements like its own",
    "blocks around": "the texts before and after it",
    "headings": "the headings, and how far away they are",
    "title and description": "what the page's title and description say",
    "place": "where on the page it stands",
    "page": "the page as a whole",
}
"""Each kind of `content.evidence`."""

RULES = {
    "hidden": "no reader gets to see it",
    "repetition": "the page has the same text elsewhere",
    "comments": "comments below an article",
    "surroundings": "it stands outside of the element around the main text",
}
"""Each of `content.model.RULES`."""
