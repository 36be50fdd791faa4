"""Texts and pages for tests: prose that is different for every number, and pages around it."""

from __future__ import annotations

import random

__all__ = ["page", "prose"]

_SUBJECTS = "the river,a baker,our teacher,the old clock,my neighbour,a fox,the harbour".split(",")
_VERBS = "carries,forgets,repairs,watches,follows,answers,measures,paints,remembers".split(",")
_OBJECTS = (
    "a letter,the market,seven lanterns,the winter road,a broken chair,many songs,"
    "the last train,cold bread,an empty room,two maps,the morning bell"
).split(",")
_PLACES = "in the valley,behind the mill,at noon,near the bridge,without a word,every spring".split(
    ","
)


def prose(number: int, words: int = 200) -> str:
    """Text of about so many words; the same number gives the same text."""
    choose = random.Random(number)
    sentences = []
    count = 0
    while count < words:
        sentence = (
            f"{choose.choice(_SUBJECTS)} {choose.choice(_VERBS)} {choose.choice(_OBJECTS)} "
            f"{choose.choice(_PLACES)} {choose.randrange(10_000)}"
        )
        sentences.append(sentence.capitalize() + ".")
        count += len(sentence.split())
    return " ".join(sentences)


def page(text: str, title: str = "A page", *, links: str = "") -> str:
    """Put a page with navigation and footer around a text."""
    menu = "".join(f'<li><a href="/{name}">{name}</a></li>' for name in ("home", "news", "about"))
    return (
        f"<!doctype html><html><head><title>{title} | Site</title></head><body>"
        f"<ul>{menu}</ul><h1>{title}</h1><p>{text}</p>{links}"
        "<hr><div>All rights reserved. <a href='/imprint'>Imprint</a></div></body></html>"
    )
