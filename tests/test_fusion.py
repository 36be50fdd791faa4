"""Block Fusion: density and fusion by hand, and against a literal transcription of algorithm 1."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from websegment_scrapy.page.build import build_tree
from websegment_scrapy.segment.atomic_blocks import (
    ANCHOR,
    FORCE_GAP,
    NO_GAP,
    OTHER_GAP,
    Block,
    atomic_blocks,
    spread_to_leaves,
    text_leaves,
    wrap,
)
from websegment_scrapy.segment.fusion import BlockFusion, JustRules, block_fusion, slope_delta
from websegment_scrapy.segment.registry import engine_names, get_engine

BUILT_IN = ("bf-plain", "bf-rulebased", "bf-smoothed", "justrules", "taggap", "wordwrap")

LONG = " ".join(["lorem ipsum dolor sit amet consetetur"] * 20)
SHORT = "menu"


def block(*lines: int, gap: int = OTHER_GAP, first: int = 0) -> Block:
    """Make a block with that many tokens on its lines."""
    return Block(first, first, sum(lines), len(lines), lines[-1] if lines else 0, gap)


def texts_by_segment(html: str, engine: str) -> list[list[str]]:
    """Return the texts of the text leaves, grouped by segment in order of their first leaf."""
    tree = build_tree(html)
    labels = get_engine(engine).segment(tree).tolist()
    groups: dict[int, list[str]] = {}
    for leaf, label in zip(tree.leaves.tolist(), labels, strict=True):
        groups.setdefault(label, []).append(tree.text_of(leaf) or f"<{tree.tag_name(leaf)}>")
    return list(groups.values())


def test_wrap_fills_lines_up_to_the_width() -> None:
    assert wrap(["aaaa", "bbbb", "cc"], width=9) == (3, 2, 1)
    assert wrap(["aaaa", "bbbbb"], width=9) == (2, 2, 1)
    assert wrap(["aaaa", "bbbb"], width=9) == (2, 1, 2)


def test_wrap_puts_a_word_longer_than_the_width_on_a_line_of_its_own() -> None:
    assert wrap(["a", "b" * 100, "c"], width=80) == (3, 3, 1)


def test_wrap_of_nothing_has_no_line() -> None:
    assert wrap([]) == (0, 0, 0)


@given(st.lists(st.integers(1, 100), max_size=60), st.integers(1, 90))
def test_wrap_agrees_with_greedy_joining(lengths: list[int], width: int) -> None:
    lines: list[list[str]] = []
    for token in ("x" * length for length in lengths):
        if lines and len(" ".join([*lines[-1], token])) <= width:
            lines[-1].append(token)
        else:
            lines.append([token])
    expected = len(lengths), len(lines), len(lines[-1]) if lines else 0
    assert wrap(("x" * length for length in lengths), width) == expected


def test_density_leaves_the_last_line_out() -> None:
    assert block(12, 14, 3).density == 13.0
    assert block(12, 1).density == 12.0


def test_density_of_one_line_is_its_tokens() -> None:
    assert block(5).density == 5.0
    assert block().density == 0.0


def test_fusing_joins_lines_without_wrapping_again() -> None:
    left = block(12, 4)
    left.fuse(block(3))
    assert (left.tokens, left.lines, left.last_line) == (19, 3, 3)
    assert left.density == 8.0


def test_slope_delta_is_relative_to_the_higher_density() -> None:
    assert slope_delta(block(10), block(4), rules=False) == pytest.approx(0.6)
    assert slope_delta(block(4), block(10), rules=False) == pytest.approx(0.6)
    assert slope_delta(block(7), block(7), rules=False) == 0.0
    assert slope_delta(block(), block(), rules=False) == 0.0
    assert slope_delta(block(), block(3), rules=False) == 1.0


def test_tags_decide_before_density_only_with_rules() -> None:
    forced, avoided = block(10, gap=FORCE_GAP | NO_GAP), block(1, gap=NO_GAP | ANCHOR)
    assert slope_delta(block(10), forced, rules=True) == float("inf")
    assert slope_delta(block(10), avoided, rules=True) == 0.0
    assert slope_delta(block(10), forced, rules=False) == 0.0
    assert slope_delta(block(10), avoided, rules=False) == pytest.approx(0.9)


@dataclass
class Literal:
    """A block of the transcription: the tokens of each of its lines, and what lies before it."""

    lines: list[int]
    gap: int
    members: list[int] = field(default_factory=list)

    @property
    def rho(self) -> float:
        if len(self.lines) > 1:
            return sum(self.lines[:-1]) / (len(self.lines) - 1)
        return float(sum(self.lines))

    def union(self, other: Literal) -> Literal:
        return Literal(self.lines + other.lines, self.gap, self.members + other.members)


def algorithm_1(
    start: list[Literal], threshold: float, *, smoothed: bool, rules: bool
) -> list[list[int]]:
    """Transcribe algorithm 1 line by line, with Δρ̃ of section 4 when there are rules."""

    def delta(x: Literal, y: Literal) -> float:
        if rules and y.gap & FORCE_GAP:
            return float("inf")
        if rules and not y.gap & (FORCE_GAP | OTHER_GAP):
            return 0.0
        high = max(x.rho, y.rho)
        return abs(x.rho - y.rho) / high if high else 0.0

    blocks = list(start)
    while True:
        loop = False
        i = 1
        while i < len(blocks):
            before, this = blocks[i - 1], blocks[i]
            after = blocks[i + 1] if i + 1 < len(blocks) else None
            if (
                smoothed
                and after is not None
                and not (rules and (this.gap | after.gap) & FORCE_GAP)
                and before.rho == after.rho
                and this.rho < before.rho
            ):
                blocks[i - 1 : i + 2] = [before.union(this).union(after)]
                loop = True
            elif delta(before, this) <= threshold:
                blocks[i - 1 : i + 1] = [before.union(this)]
                loop = True
            else:
                i += 1
        if not loop:
            return [each.members for each in blocks]


raw_blocks = st.lists(
    st.tuples(
        st.lists(st.integers(1, 16), min_size=1, max_size=4),
        st.sampled_from([ANCHOR, NO_GAP, FORCE_GAP, OTHER_GAP, NO_GAP | OTHER_GAP]),
    ),
    max_size=25,
)


@settings(max_examples=400)
@given(raw_blocks, st.sampled_from([0.0, 0.2, 0.38, 0.6, 1.0]), st.booleans(), st.booleans())
def test_fusion_agrees_with_algorithm_1(
    raw: list[tuple[list[int], int]], threshold: float, smoothed: bool, rules: bool
) -> None:
    blocks = [block(*lines, gap=gap, first=number) for number, (lines, gap) in enumerate(raw)]
    start = [Literal(lines, gap, [number]) for number, (lines, gap) in enumerate(raw)]
    expected = algorithm_1(start, threshold, smoothed=smoothed, rules=rules)
    fused = block_fusion(blocks, threshold=threshold, smoothed=smoothed, rules=rules)
    assert [list(range(each.first, each.last + 1)) for each in fused] == expected


@given(raw_blocks)
def test_rules_without_a_threshold_are_justrules(raw: list[tuple[list[int], int]]) -> None:
    blocks = [block(*lines, gap=gap, first=number) for number, (lines, gap) in enumerate(raw)]
    fused = block_fusion(copy.deepcopy(blocks), threshold=1.0, smoothed=False, rules=True)
    expected = [0] if blocks else []
    expected += [each.first for each in blocks[1:] if each.gap & FORCE_GAP]
    assert [each.first for each in fused] == expected


def test_smoothing_comes_before_plain_fusion() -> None:
    # Densities 5, 4, 5. Plain fusion would join the first two to lines of 5, 20 and 4 tokens,
    # a density of 12.5 that the third is no match for.
    def blocks() -> list[Block]:
        return [block(5, 20), block(4, first=1), block(5, first=2)]

    assert len(block_fusion(blocks(), threshold=0.38, smoothed=True, rules=False)) == 1
    assert len(block_fusion(blocks(), threshold=0.38, smoothed=False, rules=False)) == 2


def test_atomic_blocks_are_cut_at_every_tag_but_anchors() -> None:
    tree = build_tree("<p>one <a href=x>two</a> three <b>four</b><br>five</p><p>six</p>")
    found = [
        " ".join(tree.text_of(leaf) for leaf in text_leaves(tree)[each.first : each.last + 1])
        for each in atomic_blocks(tree)
    ]
    assert found == ["one two three", "four", "five", "six"]


def test_tags_of_invisible_elements_between_texts_count() -> None:
    tree = build_tree("<div>one<script>x</script>two<img width=0 height=0>three</div>")
    gaps = [each.gap for each in atomic_blocks(tree)]
    assert gaps[1] & FORCE_GAP
    assert gaps[2] & FORCE_GAP


@pytest.mark.parametrize("tag", "h1 h2 h3 h4 h5 h6 ul ol dl table address".split())
def test_rules_cut_before_and_after_tags_that_force_a_gap(tag: str) -> None:
    inner = {
        "ul": "<li>b</li>", "ol": "<li>b</li>", "dl": "<dt>b</dt>",
        "table": "<tr><td>b</td></tr>",
    }.get(tag, "b")  # fmt: skip
    html = f"<div>a</div><{tag}>{inner}</{tag}><div>c</div>"
    for engine in ("bf-rulebased", "justrules"):
        assert texts_by_segment(html, engine) == [["a"], ["b"], ["c"]]


@pytest.mark.parametrize("tag", ["hr", "img", "script"])
def test_rules_cut_at_empty_tags_that_force_a_gap(tag: str) -> None:
    html = f"<div>a<{tag}></{tag}>b</div>" if tag == "script" else f"<div>a<{tag}>b</div>"
    for engine in ("bf-rulebased", "justrules"):
        groups = [group for group in texts_by_segment(html, engine) if group != ["<img>"]]
        assert groups == [["a"], ["b"]]


@pytest.mark.parametrize("tag", "a b em font i s span strong sub sup u tt".split())
def test_rules_never_cut_at_tags_that_avoid_a_gap(tag: str) -> None:
    html = f"<div>{LONG} <{tag}>x</{tag}> {LONG}</div>"
    assert len(texts_by_segment(html, "bf-rulebased")) == 1
    assert len(texts_by_segment(html, "justrules")) == 1
    assert len(texts_by_segment(html, "bf-plain")) == (1 if tag == "a" else 3)


def test_rules_never_cut_at_a_line_break() -> None:
    assert len(texts_by_segment(f"<div>{LONG}<br>x<br>{LONG}</div>", "bf-rulebased")) == 1


def test_rulebased_cuts_by_density_at_other_tags_where_justrules_does_not() -> None:
    html = f"<div>{SHORT}</div><div>{LONG}</div><div>{LONG}</div>"
    assert texts_by_segment(html, "bf-rulebased") == [[SHORT], [LONG, LONG]]
    assert texts_by_segment(html, "justrules") == [[SHORT, LONG, LONG]]


def test_plain_fusion_ignores_the_meaning_of_tags() -> None:
    html = f"<div>{SHORT}</div><h1>{SHORT}</h1><hr><div>{LONG}</div>"
    assert texts_by_segment(html, "bf-plain") == [[SHORT, SHORT], [LONG]]


def test_smoothed_fills_a_dent_between_equal_neighbours() -> None:
    html = f"<div>{LONG}</div><span>x</span><div>{LONG}</div>"
    assert len(texts_by_segment(html, "bf-smoothed")) == 1
    assert len(texts_by_segment(html, "bf-plain")) == 3


def test_taggap_makes_every_text_between_tags_a_segment() -> None:
    html = "<p>one <a href=x>two</a> <b>three</b></p><p>four</p>"
    assert texts_by_segment(html, "taggap") == [["one", "two"], ["three"], ["four"]]


def test_wordwrap_labels_a_leaf_by_the_line_on_which_it_starts() -> None:
    html = f"<p>{'a' * 40}</p><p>{'b' * 39}</p><p>{'c' * 10}</p><p>{'d ' * 40}</p><p>e</p>"
    labels = get_engine("wordwrap").segment(build_tree(html)).tolist()
    assert labels == [0, 0, 1, 1, 2]


def test_images_belong_to_the_segment_around_them_or_are_their_own() -> None:
    tree = build_tree(
        "<p>a<img width=9 height=9>b</p><img width=9 height=9><img width=9 height=9><p>c</p>"
        "<img width=9 height=9>"
    )
    labels = spread_to_leaves(tree, np.array([0, 0, 1], dtype=np.int32)).tolist()
    assert labels == [0, 0, 0, 2, 2, 1, 3]


@pytest.mark.parametrize("engine", BUILT_IN)
@pytest.mark.parametrize(
    "html",
    [
        "",
        "<p></p>",
        "<img width=10 height=10>",
        "<p>— … !</p><p>***</p>",
        f"<h1>{SHORT}</h1><p>{LONG}</p><img width=10 height=10><p>{LONG}</p>",
    ],
)
def test_every_leaf_has_one_label(engine: str, html: str) -> None:
    tree = build_tree(html)
    labels = get_engine(engine).segment(tree)
    assert labels.shape == tree.leaves.shape
    assert np.issubdtype(labels.dtype, np.integer)
    assert (labels >= 0).all()


markup = st.recursive(
    st.one_of(
        st.text(alphabet="abc é.\n", min_size=1, max_size=40),
        st.sampled_from(["<hr>", "<br>", "<img width=5 height=5>", "<!-- c -->"]),
    ),
    lambda inner: st.tuples(
        st.sampled_from("div p span b h2 ul li table td a section".split()),
        st.lists(inner, max_size=4),
    ).map(lambda pair: f"<{pair[0]}>{''.join(pair[1])}</{pair[0]}>"),
    max_leaves=25,
)


@given(markup)
def test_the_same_page_gives_the_same_labels_and_segments_are_consecutive(html: str) -> None:
    first, second = build_tree(html), build_tree(html)
    for name in BUILT_IN:
        labels = get_engine(name).segment(first)
        assert np.array_equal(labels, get_engine(name).segment(first))
        assert np.array_equal(labels, get_engine(name).segment(second))
        # Block Fusion works on a sequence: a segment never comes back after another one.
        changes = int((np.diff(labels) != 0).sum()) if len(labels) else 0
        assert len(set(labels.tolist())) == (changes + 1 if len(labels) else 0)


def test_engines_have_the_papers_parameters() -> None:
    assert set(BUILT_IN) <= set(engine_names())
    assert BlockFusion.plain().threshold == BlockFusion.smoothed().threshold == 0.38
    assert BlockFusion.rulebased().threshold == 0.6
    assert BlockFusion.rulebased().is_smoothed
    assert JustRules().name == "justrules"
