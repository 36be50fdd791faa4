"""Pages that are hard to cut, laid out by a real browser, for the engines that have a hierarchy."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest

from tests.texts import prose
from websegment_scrapy.analysis import analyze
from websegment_scrapy.crawl.snapshot import Snapshotter
from websegment_scrapy.page.build import build_tree
from websegment_scrapy.page.capture import Captured
from websegment_scrapy.segment.features import page_features
from websegment_scrapy.segment.wps_graph import MAX_BOUNDARIES, build_wps_graph

TEXTS = [prose(number, 40) for number in range(6)]
PARAGRAPHS = "".join(f"<p>{text}</p>" for text in TEXTS)
AT = "position:absolute;width:500px"

PAGES = {
    "no boundary": f"<body>{TEXTS[0]}</body>",
    "10,000 px wide": f"<div style=width:10000px;columns:6>{PARAGRAPHS}</div><p>Imprint",
    "200,000 px tall": f"<div style=padding-top:200000px>{PARAGRAPHS}</div><p>Imprint",
    "overlapping layers": "".join(
        f"<div style='{AT};left:{40 * number}px;top:{30 * number}px'><p>{text}</p></div>"
        for number, text in enumerate(TEXTS)
    ),
    "negative and no size": f"<div style=margin:-900px>{PARAGRAPHS}</div>"
    f"<div style=height:0;width:0><b>{TEXTS[0]}</b></div>"
    f"<div style='height:0;overflow:hidden'>{TEXTS[1]}</div><p>Imprint",
    "a list of 5,000 entries": "<h1>Entries</h1><ul>"
    + "".join(f"<li><a href=/{number}>Entry {number}</a></li>" for number in range(5000))
    + "</ul><p>Imprint",
    "frames": f"<iframe srcdoc='<p>Inside'></iframe>{PARAGRAPHS}<iframe width=0 height=0></iframe>",
}
SECONDS = 20.0
"""For the whole analysis of any of them, on a busy machine; the list takes about one."""


@pytest.fixture(scope="module")
def captured(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Captured]:
    folder = tmp_path_factory.mktemp("hard")
    found = {}
    with Snapshotter(settle=0.05, timeout=60) as snapshotter:
        for name, html in PAGES.items():
            path = folder / "page.html"
            path.write_text(f"<!doctype html><html>{html}</html>", encoding="utf-8")
            found[name] = snapshotter.render(path)
    return found


@pytest.mark.parametrize("engine", ["auto", "wps-margin", "wps-slack"])
@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("rendered", [True, False], ids=["rendered", "not rendered"])
def test_hard_pages_are_parted_whole_and_in_time(
    captured: dict[str, Captured], engine: str, name: str, *, rendered: bool
) -> None:
    start = time.process_time()
    page = analyze(captured[name] if rendered else PAGES[name], engine=engine)
    assert time.process_time() - start < SECONDS
    assert page.rendered == rendered
    leaves = sorted(leaf for segment in page.segments for leaf in segment.leaves.tolist())
    assert leaves == list(range(len(page.tree.leaves)))
    for group in page.groups[1:]:
        assert group.parent is not None
        assert group.parent < group.id
    assert {segment.parent for segment in page.segments} <= {None, *range(len(page.groups))}


def test_layers_lie_upon_each_other_and_each_stays_whole(captured: dict[str, Captured]) -> None:
    tree = build_tree(captured["overlapping layers"])
    boxes = [tuple(map(float, tree.box[leaf])) for leaf in tree.leaves.tolist()]
    for (_, top, _, height), (_, below, _, _) in pairwise(boxes):
        assert top < below < top + height  # no line of the page parts them
    for engine in ("auto", "wps-margin", "wps-slack"):
        page = analyze(captured["overlapping layers"], engine=engine)
        assert {group.cut for group in page.groups} <= {"layers"}


def test_the_list_has_a_bounded_graph(captured: dict[str, Captured]) -> None:
    features = page_features(build_tree(captured["a list of 5,000 entries"]))
    assert features.skeleton.leaves == 5002
    assert build_wps_graph(features.skeleton, features.boxes).boundaries <= MAX_BOUNDARIES
