"""What users see of WPS: the hierarchy of segments and the informative one."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.broken_layout import PAGE, damaged
from tests.labelled import labelled_html
from websegment_scrapy.analysis import analyze
from websegment_scrapy.cli.main import main
from websegment_scrapy.evaluate.informative import (
    InformativeScores,
    InformativeShares,
    informative_gold,
    informative_shares,
    informative_table,
    score_informative,
)
from websegment_scrapy.page.build import build_tree
from websegment_scrapy.segment.hierarchy import partition_page, with_groups
from websegment_scrapy.segment.informative import informative_segment
from websegment_scrapy.segment.segments import Segment, describe_segments
from websegment_scrapy.segment.wps import StructuredPrediction


def segment(number: int, words: int, linked: int = 0, top: int = 0) -> Segment:
    return Segment(
        id=number,
        role="other",
        templateness=None,
        xpaths=(),
        box=(0, top, 100, 100),
        words=words,
        linked_words=linked,
        links=0,
        text="",
        leaves=np.zeros(0, dtype=np.int32),
    )


def test_the_informative_segment_is_the_largest_text_of_the_first_screen() -> None:
    found = informative_segment((segment(0, 90, 60), segment(1, 80), segment(2, 30)))
    assert found is not None
    assert found.id == 1
    below = informative_segment((segment(0, 80, top=1200), segment(1, 50)))
    assert below is not None
    assert below.id == 1


def test_an_index_page_has_no_informative_segment() -> None:
    assert informative_segment(tuple(segment(number, 30) for number in range(9))) is None
    assert informative_segment((segment(0, 9),)) is None
    assert informative_segment((segment(0, 90, 80),)) is None
    assert informative_segment(()) is None


@pytest.mark.parametrize("engine", ["wps-margin", "justrules", "gcuts"])
def test_at_most_one_segment_is_informative(engine: str) -> None:
    for number in range(4):
        page = analyze(labelled_html(number), engine=engine)
        assert sum(each.informative for each in page.segments) <= 1


def test_an_article_among_menus_is_the_informative_segment() -> None:
    text = "".join(f"<p>{'Some words of a long text. ' * 12}</p>" for _ in range(5))
    menu = "".join(f"<li><a href=/{n}>Entry {n}</a></li>" for n in range(12))
    page = analyze(f"<ul>{menu}</ul><div><h1>Title</h1>{text}</div>", engine="wps-slack")
    (found,) = [each for each in page.segments if each.informative]
    assert "long text" in found.text
    assert "Entry" not in found.text


def test_groups_form_a_tree_around_the_segments() -> None:
    page = analyze("".join(labelled_html(number) for number in range(3)), engine="wps-margin")
    assert page.groups[0].parent is None
    for group in page.groups[1:]:
        assert group.parent is not None
        assert group.parent < group.id
        around = page.groups[group.parent].box
        assert around[0] <= group.box[0]
        assert around[1] <= group.box[1]
        assert group.box[0] + group.box[2] <= around[0] + around[2] + 1
    parents = [each.parent for each in page.segments]
    assert set(parents) <= {group.id for group in page.groups}
    assert len(page.segments) > 2


def test_engines_without_a_hierarchy_have_no_groups() -> None:
    page = analyze(PAGE, engine="justrules")
    assert page.groups == ()
    assert {each.parent for each in page.segments} == {None}


@pytest.mark.parametrize("damage", sorted({*damaged()} - {"no numbers"}))  # no tree has these
def test_any_layout_has_groups_or_one_segment(damage: str) -> None:
    tree = damaged()[damage]
    labels, partition = partition_page(tree, StructuredPrediction())
    segments, groups = with_groups(tree, describe_segments(tree, labels), partition)
    assert [each.id for each in segments] == list(range(len(segments)))
    if len(segments) > 1:
        assert groups
        assert all(each.parent is not None for each in segments)
    else:
        assert groups == ()


def test_the_json_tells_the_hierarchy(tmp_path, capsys) -> None:
    path = tmp_path / "page.html"
    path.write_text(labelled_html(1))
    assert main(["segment", str(path), "--engine", "wps-margin", "--workers", "1"]) == 0
    page = json.loads(capsys.readouterr().out)
    assert page["groups"][0]["parent"] is None
    assert set(page["groups"][0]) == {"id", "parent", "cut", "box"}
    numbers = {group["id"] for group in page["groups"]}
    assert all(each["parent"] in numbers for each in page["segments"])
    assert sum(each["informative"] for each in page["segments"]) <= 1


def test_the_evaluation_counts_informative_segments() -> None:
    tree = build_tree(
        "<div>" + "<p>Some words of a long text.</p>" * 9 + "</div><ul><li>One<li>Two</ul>"
    )
    gold = np.array([0] * 9 + [1] * 2, dtype=np.int32)
    counted = np.ones(11, dtype=bool)
    content = informative_gold(tree, gold, counted, {0: "Article", 1: "Menu"})
    assert score_informative(tree, gold, content) == InformativeScores(True, True, True, True)
    larger = np.zeros(11, dtype=np.int32)
    assert score_informative(tree, larger, content) == InformativeScores(False, True, True, True)
    parted = np.arange(11, dtype=np.int32)
    missed = score_informative(tree, parted, content)
    assert missed == InformativeScores()
    index = informative_gold(tree, gold, counted, {0: "LinkList", 1: "Menu"})
    nothing = score_informative(tree, parted, index)
    assert nothing.none is True
    shares = informative_shares([score_informative(tree, gold, content), missed, nothing])
    assert shares == InformativeShares(2, 0.5, 0.5, 0.5, 0.5, 1.0)
    assert "0.500" in informative_table({"wps-slack": shares, "gcuts": None})[1]
    assert informative_table({"gcuts": None}) == []
    assert informative_shares([nothing]) is None
