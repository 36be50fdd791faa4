"""Small pages with their main texts, for trying out what learns main texts."""

from __future__ import annotations

import random

from websegment_scrapy.content.model import ContentModel
from websegment_scrapy.learn.boosting import Boosting
from websegment_scrapy.learn.content import content_examples, train_content
from websegment_scrapy.measure.datasets import ContentPage

WORDS = (
    "river stone garden window letter morning winter paper bridge market story music light "
    "kitchen island captain forest engine silver harbour mountain question answer journey"
).split()
SMALL = Boosting(iterations=15, leaves=16, learning_rate=0.3, samples_per_leaf=10)
MENU = "home news sports shop about contact login help archive imprint privacy terms".split()


def content_page(seed: int) -> ContentPage:
    """Return an article between a menu, a list of links and a footer."""
    rng = random.Random(seed)

    def sentence() -> str:
        return " ".join(rng.choices(WORDS, k=rng.randint(8, 16))).capitalize() + "."

    title = " ".join(rng.choices(WORDS, k=4)).capitalize()
    paragraphs = [" ".join(sentence() for _ in range(3)) for _ in range(rng.randint(3, 6))]
    menu = "".join(f"<li><a href='/{word}'>{word}</a></li>" for word in rng.sample(MENU, 6))
    others = "".join(
        f"<li><a href='/{number}'>{' '.join(rng.choices(WORDS, k=5))}</a></li>"
        for number in range(5)
    )
    body = "".join(f"<p>{paragraph}</p>" for paragraph in paragraphs)
    html = (
        f"<html><head><title>{title}</title></head><body><nav class=menu><ul>{menu}</ul></nav>"
        f"<div class=content><h1>{title}</h1>{body}</div>"
        f"<div class=sidebar><h3>More to read</h3><ul>{others}</ul></div>"
        f"<footer>All rights reserved by the owners of this site</footer></body></html>"
    )
    return ContentPage(
        id=str(seed),
        html=html,
        main_text="\n".join([title, *paragraphs]),
        page_type="article",
        url=f"http://host{seed % 12}.example/{seed}",
    )


def small_model(pages: int = 40) -> ContentModel:
    """Train a model on some of them."""
    examples = content_examples([content_page(seed) for seed in range(pages)])
    return train_content([example for example in examples if example is not None], boosting=SMALL)
