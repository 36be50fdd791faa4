"""The normal pages of the hostile bench: articles whose main texts are known exactly.

A page is made from its number: a site's menu and footer around paragraphs that no other page has.
Every tenth is built by a small script, so that it has a text only after rendering.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from html import escape

__all__ = ["Article", "article", "sentence"]

SCRIPTED_EVERY = 10
PARAGRAPHS = 6
SENTENCES = 4

_ADJECTIVES = (
    "old new quiet narrow careful late early broad wooden northern southern patient heavy light "
    "common curious small large distant local famous simple steady bright public private annual "
    "modest empty crowded"
).split()
_NOUNS = (
    "harbour council bridge market library orchard railway museum garden school theatre river "
    "valley village engineer teacher baker painter farmer doctor captain singer writer lawyer "
    "winter summer festival archive letter journey meadow forest island lighthouse workshop mill "
    "factory kitchen window ladder lantern notebook timetable exhibition concert committee budget "
    "neighbour traveller carpenter gardener historian"
).split()
_VERBS = (
    "described repaired followed measured opened painted crossed remembered visited answered "
    "collected examined planned restored discussed carried watched praised copied finished"
).split()
_LINKS = ("while", "because", "although", "before", "after", "until", "so that", "as soon as")
_TOPICS = ("Town", "Region", "Culture", "Business", "Weather", "Sport", "Letters", "Archive")


@dataclass(frozen=True, slots=True)
class Article:
    """A normal page: its place, its HTML, and what must be stored of it."""

    url: str
    title: str
    paragraphs: tuple[str, ...]
    html: str

    def is_in(self, text: str) -> bool:
        """Tell whether a text has every paragraph in it, whole."""
        joined = " ".join(text.split())
        return all(paragraph in joined for paragraph in self.paragraphs)


def article(number: int, origin: str) -> Article:
    """Make a page of a site."""
    chooser = random.Random(f"article {number}")
    title = f"The {chooser.choice(_ADJECTIVES)} {chooser.choice(_NOUNS)} of case {number}"
    paragraphs = tuple(
        " ".join(sentence(chooser) for _ in range(SENTENCES)) for _ in range(PARAGRAPHS)
    )
    text = "".join(f"<p>{escape(paragraph)}</p>" for paragraph in paragraphs)
    if number % SCRIPTED_EVERY == SCRIPTED_EVERY - 1:
        told = json.dumps(text).replace("</", "<\\/")
        text = (
            f"<div id='story'></div><script>document.getElementById('story').innerHTML = {told};"
            "</script>"
        )
    site = origin.rpartition("/")[2]
    menu = "".join(f"<li><a href='/{topic.lower()}.html'>{topic}</a></li>" for topic in _TOPICS)
    html = (
        f"<!doctype html><html lang='en'><head><title>{escape(title)}</title><style>body{{width:"
        "900px;margin:auto}nav li{display:inline;margin:8px}footer{color:#777}</style></head>"
        f"<body><header><a href='/'>The Courier of {site}</a><nav><ul>{menu}</ul></nav></header>"
        f"<main><article><h1>{escape(title)}</h1>{text}</article></main><footer><p>All rights "
        f"reserved by the Courier of {site}.</p><a href='/imprint.html'>Imprint</a> "
        "<a href='/privacy.html'>Privacy</a></footer></body></html>"
    )
    return Article(f"{origin}/news/{number}.html", title, paragraphs, html)


def sentence(chooser: random.Random) -> str:
    """Return a sentence of some twenty words."""

    def thing() -> str:
        return f"the {chooser.choice(_ADJECTIVES)} {chooser.choice(_NOUNS)}"

    first = f"{thing()} {chooser.choice(_VERBS)} {thing()} of {thing()}"
    return (
        f"{first.capitalize()} {chooser.choice(_LINKS)} {thing()} {chooser.choice(_VERBS)} "
        f"{chooser.randrange(2, 90)} times {thing()} near {thing()}."
    )
