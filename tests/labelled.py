"""Small labelled pages written here, for training without any data set."""

from __future__ import annotations

import numpy as np

from websegment_scrapy.learn.examples import Example, make_example
from websegment_scrapy.page.build import build_tree


def labelled_examples(count: int) -> list[Example]:
    """Pages with a menu, some articles, a table and a footer, of random sizes."""
    return [_example(number) for number in range(count)]


def _example(seed: int) -> Example:
    tree = build_tree(labelled_html(seed), attributes=("data-wsid",))
    labelled = np.full(len(tree), -1, dtype=np.int32)
    for node, block in tree.attributes["data-wsid"].items():
        labelled[node] = int(block)
    return make_example(f"page {seed}", tree, labelled)


def labelled_html(seed: int) -> str:
    """One of the pages; elements with a ``data-wsid`` are its blocks."""
    rng = np.random.default_rng(seed)
    parts = [_menu(rng, 1)]
    parts += [_article(rng, 2 + number) for number in range(int(rng.integers(2, 5)))]
    parts += [_menu(rng, 8), f"<div data-wsid=9><small>Copyright {seed}</small> <i>Us</i></div>"]
    return f"<body><div>{''.join(parts)}</div></body>"


def _menu(rng: np.random.Generator, block: int) -> str:
    entries = "".join(f"<li><a href=/{n}>Entry {n}</a></li>" for n in range(rng.integers(3, 12)))
    return f"<ul data-wsid={block}>{entries}</ul>"


def _article(rng: np.random.Generator, block: int) -> str:
    texts = "".join(
        f"<p>{'some words of text ' * int(rng.integers(2, 20))}, <b>bold</b>.</p>"
        for _ in range(rng.integers(1, 6))
    )
    return f"<div data-wsid={block}><h2>Heading {block}</h2>{texts}</div>"
