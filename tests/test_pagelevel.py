"""PageLevel: scores of all nodes, rolled-up small nodes, monotone smoothing, the engine."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from websegment_scrapy.model_files import ModelError
from websegment_scrapy.page.build import build_tree
from websegment_scrapy.segment.registry import get_engine
from websegment_scrapy.template.pagelevel import (
    MIN_AREA_PX,
    PENALTY,
    PageLevelModel,
    scored_nodes,
    shipped_pagelevel_model,
    smooth_nodes,
    templateness,
)
from websegment_scrapy.template.pagelevel_features import FEATURES, measure_rows, own_links

SENTENCE = (
    "The ferry left the harbour at six in the morning, and nobody on the quay, not even the old "
    "harbour master, could say who had paid for the coal. "
)
MENU = "".join(f"<li class=item><a href=/{name}>{name} pages</a></li>" for name in "abcdefghij")
PAGE = f"""<html><head><title>The ferry that left the harbour</title></head><body>
<div class=head><ul>{MENU}</ul></div>
<div class=text><h1>The ferry that left the harbour</h1>
{"".join(f"<p>{SENTENCE * 4}</p>" for _ in range(6))}</div>
<div class=foot><a href=/imprint>Imprint</a> <a href=/privacy>Privacy</a>
<a href=https://other.example/>Made by others</a> All rights reserved.</div></body></html>"""


def nodes_with(tree, tag: str) -> np.ndarray:
    return np.flatnonzero(np.array([tree.tag_name(node) == tag for node in range(len(tree))]))


def test_navigation_is_more_of_a_template_than_the_article() -> None:
    tree = build_tree(PAGE)
    for scores in (templateness(tree).basic, templateness(tree).smooth):
        assert scores[nodes_with(tree, "li")].min() > scores[nodes_with(tree, "p")].max() + 0.2


def test_every_node_has_a_score_and_no_child_has_less_than_its_parent() -> None:
    tree = build_tree(PAGE)
    found = templateness(tree)
    for scores in (found.basic, found.smooth):
        assert len(scores) == len(tree)
        assert ((scores >= 0) & (scores <= 1)).all()
    assert (found.smooth[1:] >= found.smooth[tree.parent[1:]]).all()
    assert (found.smooth[found.sections] == found.smooth).all()


def test_small_nodes_count_with_the_node_around_them() -> None:
    tree = build_tree(PAGE)
    parts = measure_rows(tree)
    scored = scored_nodes(tree, parts)
    shown = parts.skeleton.row_of_node >= 0
    assert scored.weight.sum() == shown.sum()
    assert (scored.area[1:] >= MIN_AREA_PX).all()
    (link, *_) = nodes_with(tree, "a")
    text = link + 1
    assert parts.area[parts.skeleton.row_of_node[text]] < MIN_AREA_PX
    assert scored.owner[text] == scored.owner[link]
    assert scored.weight[scored.owner[text]] > 1
    scores = templateness(tree)
    assert scores.smooth[text] == scores.smooth[scored.nodes[scored.owner[text]]]


def test_the_penalty_of_a_section_is_a_share_of_the_page_by_the_node() -> None:
    tree = build_tree(PAGE)
    scored = scored_nodes(tree, measure_rows(tree))
    scores = np.linspace(0, 1, len(scored.nodes))
    values, sections = smooth_nodes(scored, scores, penalty=0.0)
    assert len(np.unique(sections)) > 3
    _, sections = smooth_nodes(scored, scores, penalty=PENALTY * 1e6)
    assert len(np.unique(sections)) == 1
    assert (values[1:] >= values[scored.parent[1:]]).all()


def test_names_of_classes_and_elements_do_not_matter() -> None:
    other = PAGE.replace("class=head", "class=x1").replace("class=text", "id=zz")
    assert np.array_equal(
        templateness(build_tree(PAGE)).smooth, templateness(build_tree(other)).smooth
    )


@pytest.mark.parametrize(
    "html",
    [
        "",
        "<html></html>",
        "<p>one",
        "<img src=a.png width=99999999 height=99999999>",
        "<title>only</title>",
        "<table><td>" * 50 + "x",
        "<div dir=rtl>" + "שלום עולם " * 50 + "</div>",
        "<a href='http://[bad'>x</a><a href=mailto:a@b>y</a>",
    ],
)
def test_odd_pages_have_finite_scores(html: str) -> None:
    tree = build_tree(html)
    if len(tree.leaves):
        assert np.isfinite(measure_rows(tree).matrix).all()
    found = templateness(tree, "not an address")
    assert np.isfinite(found.smooth).all()
    assert len(get_engine("pagelevel").segment(tree)) == len(tree.leaves)


def test_links_within_the_site_are_told_from_others() -> None:
    html = "".join(
        f"<a href='{link}'>x</a>"
        for link in (
            "/a", "b.html", "https://www.site.example/c", "http://news.site.example/",
            "https://other.example/", "mailto:me@site.example", "//site.example/d",
        )
    )  # fmt: skip
    tree = build_tree(html)
    inside = [True, True, True, True, False, False, True]
    assert own_links(tree, "https://site.example/page").tolist() == inside


def test_without_an_address_the_host_that_most_links_name_is_the_site() -> None:
    absolute = build_tree(
        "<a href=http://s.example/a>x</a>" * 3 + "<a href=http://t.example/>y</a>"
    )
    assert own_links(absolute).tolist() == [True] * 3 + [False]
    relative = build_tree("<a href=/a>x</a>" * 3 + "<a href=http://t.example/>y</a>" * 2)
    assert own_links(relative).tolist() == [True] * 3 + [False] * 2


def test_the_features_measure_what_they_say() -> None:
    tree = build_tree(PAGE)
    parts = measure_rows(tree, "https://site.example/")
    column = {name: parts.matrix[:, number] for number, name in enumerate(FEATURES)}
    row = parts.skeleton.row_of_node
    menu, heading = row[nodes_with(tree, "ul")[0]], row[nodes_with(tree, "h1")[0]]
    paragraph, foot = row[nodes_with(tree, "p")[0]], row[nodes_with(tree, "div")[2]]
    assert column["anchor_share"][menu] == 1.0
    assert column["anchor_share"][paragraph] == 0.0
    assert column["links_per_word"][menu] == 0.5
    assert column["intra_share"][menu] == 1.0
    assert column["intra_share"][foot] == pytest.approx(2 / 3)
    assert column["title_found"][heading] == 1.0
    assert column["title_share"][heading] > column["title_share"][paragraph]
    assert column["visible_share"][paragraph] > 0.9 > column["visible_share"][menu]
    assert column["bottom_margin"][foot] == 0.0
    assert column["top_margin"][menu] < column["top_margin"][paragraph]


@pytest.mark.parametrize("layout", ["rendered", "static"])
def test_a_model_is_the_same_after_saving_and_loading(layout, tmp_path: Path) -> None:
    model = shipped_pagelevel_model(layout)
    first = [path.read_bytes() for path in model.save(tmp_path / "a")]
    again = PageLevelModel.load(tmp_path / "a", layout)
    assert [path.read_bytes() for path in again.save(tmp_path / "b")] == first
    tree = build_tree(PAGE)
    scores = [templateness(tree, model=one).basic for one in (model, again)]
    assert np.array_equal(*scores)


def test_a_page_is_scored_by_the_model_of_its_layout() -> None:
    tree = build_tree(PAGE)
    rendered = replace(tree, layout="rendered")
    own = templateness(rendered, model=shipped_pagelevel_model("rendered")).basic
    assert np.array_equal(templateness(rendered).basic, own)
    assert not np.array_equal(templateness(tree).basic, own)


def test_a_model_with_other_features_is_refused(tmp_path: Path) -> None:
    text, _ = shipped_pagelevel_model("static").save(tmp_path)
    description = json.loads(text.read_text())
    description["features"][0] = "shoe_size"
    text.write_text(json.dumps(description))
    with pytest.raises(ModelError, match=r"another features.*train templates"):
        PageLevelModel.load(tmp_path, "static")


def test_no_model_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="websegment train templates"):
        PageLevelModel.load(tmp_path, "rendered")


def test_the_engine_divides_the_page_at_sections() -> None:
    tree = build_tree(PAGE)
    labels = get_engine("pagelevel").segment(tree)
    assert np.array_equal(labels, templateness(tree).sections[tree.leaves])
    in_text = np.isin(tree.parent[tree.leaves], nodes_with(tree, "p"))
    in_menu = np.isin(tree.parent[tree.parent[tree.leaves]], nodes_with(tree, "li"))
    assert len(np.unique(labels[in_menu])) == 1
    assert not set(labels[in_menu]) & set(labels[in_text])
