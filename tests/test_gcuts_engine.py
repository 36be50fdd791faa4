"""The engines on whole pages, good and bad."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import numpy as np
import pytest

from tests.broken_layout import PAGE, damaged
from tests.labelled import labelled_examples
from websegment_scrapy.analysis import analyze
from websegment_scrapy.cli.main import main
from websegment_scrapy.evaluate.speed import long_page
from websegment_scrapy.measure.metrics import adjusted_rand_index
from websegment_scrapy.page.build import build_tree
from websegment_scrapy.segment.graph_cuts import GraphCuts
from websegment_scrapy.segment.registry import LEARNED, get_engine

ENGINES = sorted(LEARNED)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("damage", sorted(damaged()))
def test_any_layout_gives_a_partition(engine: str, damage: str) -> None:
    tree = damaged()[damage]
    labels = get_engine(engine).segment(tree)
    assert labels.shape == tree.leaves.shape
    assert labels.dtype == np.int32


@pytest.mark.parametrize("engine", ["gcuts", "gcuts-np", "cclus"])
def test_a_thousand_equal_leaves_are_one_list(engine: str) -> None:
    html = "<ul>" + "<li><a href=/>same</a></li>" * 1000 + "</ul><p>Some text</p><p>More</p>"
    labels = get_engine(engine).segment(build_tree(html))
    assert len(np.unique(labels[:1000])) <= 3


def test_twenty_thousand_leaves_take_seconds_and_make_sense() -> None:
    tree = build_tree(long_page(20_000))
    start = time.process_time()
    labels = get_engine("gcuts").segment(tree)
    assert time.process_time() - start < 30
    assert 2 <= len(np.unique(labels)) < len(tree.leaves) / 2


def test_deep_nesting_is_bounded() -> None:
    html = "<div>x<p>y</p>" * 900 + "</div>" * 900
    tree = build_tree(html)
    start = time.process_time()
    labels = get_engine("gcuts").segment(tree)
    assert time.process_time() - start < 30
    assert len(labels) == len(tree.leaves)


def test_plain_pages_are_segmented_as_a_reader_would() -> None:
    examples = labelled_examples(6)
    found = [
        adjusted_rand_index(
            example.gold[example.counted], GraphCuts().segment(example.tree)[example.counted]
        )
        for example in examples
    ]
    assert np.mean(found) > 0.6


def test_the_engine_is_the_same_in_every_process() -> None:
    code = (
        "import hashlib;from tests.broken_layout import PAGE;"
        "from websegment_scrapy.page.build import build_tree;"
        "from websegment_scrapy.segment.registry import LEARNED,get_engine;"
        "t=build_tree(PAGE*3);"
        "print([get_engine(e).segment(t).tolist() for e in sorted(LEARNED)])"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(outputs) == 1


def test_segments_of_the_page_are_reported_with_xpaths_and_boxes() -> None:
    page = analyze(PAGE, engine="gcuts")
    assert page.engine == "gcuts"
    for segment in page.segments:
        assert segment.xpaths
        assert segment.box[2] > 0
        assert segment.box[3] > 0


def test_explain_tells_the_energy_and_its_parts(tmp_path, capsys) -> None:
    path = tmp_path / "page.html"
    path.write_text(PAGE)
    arguments = ["segment", str(path), "--engine", "gcuts", "--explain", "--workers", "1"]
    assert main(arguments) == 0
    page = json.loads(capsys.readouterr().out)
    found = page["explain"]
    parts = ("leaves", "neighbours", "visible_nodes", "invisible_nodes")
    assert found["energy"] == pytest.approx(sum(found[part] for part in parts))
    assert sorted(found["labels"]) == sorted(str(segment["id"]) for segment in page["segments"])
    assert main(["segment", str(path), "--engine", "justrules", "--explain", "--workers", "1"]) == 0
    assert json.loads(capsys.readouterr().out)["explain"] is None
