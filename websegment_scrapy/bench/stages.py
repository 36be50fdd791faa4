"""What each stage of an analysis takes: the same calls as `analyze` makes, one after the other."""

from __future__ import annotations

from websegment_scrapy.analysis import analyze
from websegment_scrapy.bench.clock import STAGES, Times, timed
from websegment_scrapy.config import Config
from websegment_scrapy.content.page_templates import page_templates
from websegment_scrapy.dedup.signature import RECIPES, signature_of
from websegment_scrapy.page.build import build_tree
from websegment_scrapy.page.decode import decode
from websegment_scrapy.page.parse import parse_html
from websegment_scrapy.page.reading import Reader
from websegment_scrapy.page.static_layout import static_layout
from websegment_scrapy.page.walk import walk
from websegment_scrapy.page.words import words_by_node
from websegment_scrapy.segment.hierarchy import partition_page, with_groups
from websegment_scrapy.segment.informative import mark_informative
from websegment_scrapy.segment.registry import get_engine
from websegment_scrapy.segment.segments import describe_segments
from websegment_scrapy.text.main_text import kept_text

__all__ = ["time_stages"]

DEFAULT = Config()


def time_stages(html: str) -> Times:
    """Time each stage on one page, with the engine that is the default."""
    found: Times = {}
    body, engine = html.encode(), get_engine(DEFAULT.engine)
    with timed(found, "decode and parse"):
        root = parse_html(decode(body))
    with timed(found, "parse"):
        parse_html(html)
    nodes = walk(root, (), None)
    with timed(found, "layout"):
        static_layout(nodes)
    with timed(found, "built"):
        tree = build_tree(html)
    with timed(found, "segmentation"):
        labels, partition = partition_page(tree, engine)
        words, reader = words_by_node(tree), Reader(tree)
        segments = mark_informative(describe_segments(tree, labels, words, reader))
        with_groups(tree, segments, partition)
    with timed(found, "main text"):
        text = kept_text(tree, page_templates(tree, DEFAULT.main_text))
    with timed(found, "signature"):
        signature_of(text, RECIPES[DEFAULT.signature])
    with timed(found, "all stages and the rest"):
        analyze(body)
    found["tree"] = _less(found["built"], found["parse"], found["layout"])
    return {stage: found[stage] for stage in STAGES}


def _less(whole: tuple[float, float], *parts: tuple[float, float]) -> tuple[float, float]:
    """Return what is left of a time; a disturbed part may seem longer than the whole."""
    wall = whole[0] - sum(wall for wall, _ in parts)
    cpu = whole[1] - sum(cpu for _, cpu in parts)
    return max(0.0, wall), max(0.0, cpu)
