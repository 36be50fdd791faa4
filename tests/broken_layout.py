"""Pages whose layout is as it should not be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from websegment_scrapy.page.build import build_tree
from websegment_scrapy.page.tree import PageTree

PAGE = """<html><body>
<div id=head><img src=logo.png width=90 height=40><a href=/>Home</a> <a href=/b>About us</a></div>
<ul><li><a href=/1>First entry</a></li><li><a href=/2>Second entry</a></li><li>Third</li></ul>
<div><div><h2>A heading, with words</h2><p>Some text that is longer than the rest. It has two
sentences, and <b>bold</b> words.</p><p>More of it! 42 times.</p></div>
<table><tr><td>1</td><td>two</td></tr><tr><td>3</td><td>four</td></tr></table></div>
<form><input name=q> <select><option>x</option></select> Search</form>
<div><span>Copyright 2008</span></div></body></html>"""


def damaged() -> dict[str, PageTree]:
    """The same page with many kinds of damage, by their names."""
    tree = build_tree(PAGE)
    box = tree.box

    def boxes(change: np.ndarray) -> PageTree:
        return replace(tree, box=change.astype(np.float32))

    halves = box.copy()
    halves[::2] = 0
    broken = box.copy()
    broken[::3] = np.nan
    broken[1::3, 2] = np.inf
    overlapping = np.tile(np.array([10.0, 10, 50, 20]), (len(box), 1))
    return {
        "none": tree,
        "nothing": build_tree(""),
        "one leaf": build_tree("<p>alone</p>"),
        "two leaves": build_tree("<p>not<b>alone</b></p>"),
        "equal leaves": build_tree("<ul>" + "<li>same</li>" * 50 + "</ul>"),
        "zero areas": boxes(box * np.array([1, 1, 0, 0])),
        "negative coordinates": boxes(box - np.array([5000, 7000, 0, 0])),
        "negative sizes": boxes(-box),
        "overlapping": boxes(overlapping),
        "off screen": boxes(box + np.array([1e7, -1e7, 0, 0])),
        "no numbers": boxes(broken),
        "half without layout": boxes(halves),
        "half without leaves": replace(tree, leaves=tree.leaves[::2]),
        "lone surrogates": build_tree("<p>a\ud800b</p><p>c</p>"),
    }
