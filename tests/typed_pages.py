"""Small pages of three types, for trying out what learns types."""

from __future__ import annotations

import random

from websegment_scrapy.measure.datasets import ContentPage

WORDS = (
    "river stone garden window letter morning winter paper bridge market story music light "
    "kitchen island captain forest engine silver harbour mountain question answer journey"
).split()
TYPES = ("article", "forum", "product")


def typed_page(seed: int) -> ContentPage:
    """Return a page of one of the types; its words are the same ones, its functional terms not."""
    rng = random.Random(seed)
    page_type = TYPES[seed % 3]

    def sentence() -> str:
        return " ".join(rng.choices(WORDS, k=rng.randint(8, 16))).capitalize() + "."

    title = " ".join(rng.choices(WORDS, k=4)).capitalize()
    texts = [" ".join(sentence() for _ in range(3)) for _ in range(4)]
    body = {
        "article": "<p class=byline>Written by a reporter</p>"
        + "".join(f"<p>{t}</p>" for t in texts),
        "forum": "".join(
            f"<div class=post><b>member {n}</b><p>{t}</p><a href='/r{n}'>reply</a></div>"
            for n, t in enumerate(texts)
        ),
        "product": f"<p class=price>Price 9 €</p><p>{texts[0]}</p><button>Add to basket</button>"
        f"<p>{texts[1]}</p><p>Delivery in two days.</p>",
    }[page_type]
    html = (
        f"<html><head><title>{title}</title></head><body>"
        f"<nav><a href='/'>home</a> <a href='/about'>about</a></nav>"
        f"<main><h1>{title}</h1>{body}</main>"
        f"<footer>All rights reserved by the owners of this site</footer></body></html>"
    )
    return ContentPage(
        id=str(seed),
        html=html,
        main_text="\n".join([title, *texts]),
        page_type=page_type,
        url=f"http://host{seed % 20}.example/{seed}",
    )
