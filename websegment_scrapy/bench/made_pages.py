"""Web pages made from a seed, whose main texts are known: articles, documentation and threads.

Pages belong to sites with a design of their own each. Every tenth or so repeats the text of a page
of another site, with a sentence more: a near-duplicate that is to be found.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from websegment_scrapy.bench.hostile_articles import sentence

__all__ = ["MadePage", "made_pages", "page_of_nodes"]

SITES = 8
COPIED = 0.1
"""Share of the pages that repeat another one."""

FEWEST, MOST = 3, 40
"""Paragraphs of a page; most have few."""

SENTENCES = 4
_KINDS = ("article", "article", "documentation", "thread")
_TOPICS = ("News", "Guides", "Products", "Forum", "About", "Contact", "Help", "Jobs", "Archive")
_FOOTER = ("Imprint", "Privacy", "Terms of use", "Cookies", "Press", "Partners", "Newsletter")


@dataclass(frozen=True, slots=True)
class MadePage:
    """A page: its site, its path there, its HTML and main text, and which page it repeats."""

    site: str
    path: str
    html: str
    text: str
    copy_of: int | None = None


def made_pages(count: int, seed: int = 1) -> list[MadePage]:
    """Return so many pages; those of a smaller number are the first of a larger one."""
    made: list[MadePage] = []
    originals: list[tuple[int, str, tuple[str, ...], str]] = []
    for number in range(count):
        chooser = random.Random(f"page {seed} {number}")
        site = number % SITES
        others = [each for each in originals if each[0] % SITES != site]
        copy_of = None
        if others and chooser.random() < COPIED:
            copy_of, title, paragraphs, kind = chooser.choice(others)
            paragraphs = (*paragraphs, sentence(chooser))
        else:
            kind = chooser.choice(_KINDS)
            title = sentence(chooser).split(" of ")[0]
            length = min(MOST, FEWEST + int(chooser.expovariate(0.12)))
            paragraphs = tuple(_paragraph(chooser) for _ in range(length))
            originals.append((number, title, paragraphs, kind))
        text = "\n".join((title, *paragraphs))
        html = _page(site, title, _BODIES[kind](paragraphs), chooser)
        made.append(MadePage(f"site{site}", f"/{kind}/{number}.html", html, text, copy_of))
    return made


def page_of_nodes(nodes: int, seed: int = 1) -> str:
    """Return a page with about so many elements and texts, at least ten."""
    chooser = random.Random(f"nodes {seed} {nodes}")
    words = sentence(chooser)
    start = f"<html><head><title>{words[:40]}</title></head><body><h1>{words[:40]}</h1>"
    made, body = 6, []  # html, head, title, body, and the heading with its text
    while made + 2 <= nodes:
        if nodes < 60:
            body.append(f"<p>{sentence(chooser)}</p>")
            made += 2
            continue
        made += len(body) % 6 == 0  # a section begins
        if nodes - made < 40:
            body.append(f"<p>{sentence(chooser)}</p>")
            made += 2
            continue
        kind = chooser.randrange(4)
        if kind == 0:
            rows = [_item(chooser, number) for number in range(8)]
            body.append(f"<div><h3>{sentence(chooser)[:30]}</h3><ul>{''.join(rows)}</ul></div>")
            made += 4 + 3 * len(rows)
        elif kind == 1:
            cells = "".join(
                f"<tr><td>{chooser.randrange(900)}</td><td>{sentence(chooser)[:25]}</td></tr>"
                for _ in range(6)
            )
            body.append(f"<table>{cells}</table>")
            made += 1 + 5 * 6
        else:
            texts = "".join(f"<p>{_paragraph(chooser)}</p>" for _ in range(5))
            body.append(f"<div class=story><h2>{sentence(chooser)[:40]}</h2>{texts}</div>")
            made += 3 + 2 * 5
    sections = ["".join(body[at : at + 6]) for at in range(0, len(body), 6)]
    inner = "".join(f"<div>{section}</div>" for section in sections) if nodes >= 60 else sections
    return f"{start}{''.join(inner)}</body></html>"


def _paragraph(chooser: random.Random) -> str:
    return " ".join(sentence(chooser) for _ in range(SENTENCES))


def _item(chooser: random.Random, number: int) -> str:
    return f"<li><a href='/{chooser.randrange(10**6)}-{number}'>{sentence(chooser)[:30]}</a></li>"


def _article(paragraphs: tuple[str, ...]) -> str:
    return "".join(f"<p>{text}</p>" for text in paragraphs)


def _documentation(paragraphs: tuple[str, ...]) -> str:
    """Return the paragraphs in sections, every third of them as a list."""
    parts = []
    for number, text in enumerate(paragraphs):
        if number % 3 == 2:
            items = "".join(f"<li>{each}.</li>" for each in text.rstrip(".").split(". "))
            parts.append(f"<ul>{items}</ul>")
        else:
            parts.append(f"<section><p>{text}</p></section>")
    return "".join(parts)


def _thread(paragraphs: tuple[str, ...]) -> str:
    return "".join(f"<div class='post'><div class='body'>{text}</div></div>" for text in paragraphs)


_BODIES = {"article": _article, "documentation": _documentation, "thread": _thread}


def _page(site: int, title: str, body: str, chooser: random.Random) -> str:
    """Put a text into the design of its site."""
    menu = "".join(f"<li><a href='/{topic.lower()}/'>{topic}</a></li>" for topic in _TOPICS)
    foot = "".join(f"<a href='/{name.lower()}'>{name}</a> | " for name in _FOOTER)
    related = "".join(_item(chooser, number) for number in range(4 + site))
    name = f"The Courier of site {site}"
    side = f"<div class='side{site}'><h3>More of {name}</h3><ul>{related}</ul></div>"
    main = f"<div class='main{site}'><h1>{title}</h1>{body}</div>"
    middle = side + main if site % 2 else main + side
    return (
        f"<!doctype html><html lang='en'><head><meta charset='utf-8'><title>{title} | {name}"
        f"</title><style>body{{width:{900 + 20 * site}px;margin:auto}}.side{site}{{float:right;"
        f"width:260px}}nav li{{display:inline;margin:8px}}</style></head><body><div class='top'>"
        f"<a href='/'>{name}</a></div><nav><ul>{menu}</ul></nav>{middle}<div class='foot'>{foot}"
        f"<p>All rights reserved by {name}. We use cookies, <a href='/ok'>accept</a> them.</p>"
        "</div></body></html>"
    )
