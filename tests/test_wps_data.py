"""The closure and the paper's linear program on the graphs of real pages (needs the data sets)."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import pytest

from tests.test_wps import by_linear_programming
from websegment_scrapy.measure.datasets import DATA_VARIABLE, labelled_pages
from websegment_scrapy.page.build import build_tree
from websegment_scrapy.page.decode import decode
from websegment_scrapy.segment.boundary_features import boundary_features
from websegment_scrapy.segment.closure import maximum_closure
from websegment_scrapy.segment.features import page_features
from websegment_scrapy.segment.wps_graph import build_wps_graph
from websegment_scrapy.segment.wps_model import shipped_wps_model

DATA = Path(os.environ.get(DATA_VARIABLE, "../shared/data"))
PAGES = 50


@pytest.mark.skipif(
    not (DATA / "segmentation.tar.xz").is_file(),
    reason=f"no labelled pages: set {DATA_VARIABLE} to the folder of segmentation.tar.xz",
)
def test_fifty_real_graphs_have_the_closure_of_the_linear_program() -> None:
    weights = shipped_wps_model("static").weights["wps-margin"]
    cut_ms, program_ms, sizes = [], [], []
    with labelled_pages(DATA) as pages:
        trees = [build_tree(decode(page.path.read_bytes())) for page in pages]
    for tree in trees:
        features = page_features(tree)
        graph = build_wps_graph(features.skeleton, features.boxes)
        if not graph.boundaries or len(sizes) == PAGES:
            continue
        gain = weights.scores(boundary_features(graph, features))
        start = time.perf_counter()
        found = maximum_closure(gain, graph.edges)
        cut_ms.append(1000 * (time.perf_counter() - start))
        start = time.perf_counter()
        relaxed = by_linear_programming(gain, graph.edges)
        program_ms.append(1000 * (time.perf_counter() - start))
        sizes.append(graph.boundaries)
        assert relaxed == pytest.approx(relaxed.round(), abs=1e-6)
        assert float(gain[found].sum()) == pytest.approx(float(gain @ relaxed), rel=1e-9)
    assert len(sizes) == PAGES
    cut, program = float(np.median(cut_ms)), float(np.median(program_ms))
    print(f"{PAGES} graphs, {int(np.median(sizes))} boundaries in the median, {max(sizes)} at most")
    print(f"minimum cut {cut:.2f} ms, linear program {program:.2f} ms in the median")
    assert cut < program
