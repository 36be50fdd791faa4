"""Our own main text: learning it, judging by it, and bad input."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import HistGradientBoostingClassifier

from tests.content_pages import content_page, small_model
from websegment_scrapy import analyze
from websegment_scrapy.cli.main import main
from websegment_scrapy.content import choice
from websegment_scrapy.content.choice import (
    LEAST_GAIN,
    choose,
    look_again,
    without_comments,
    without_repetitions,
)
from websegment_scrapy.content.container import without_surroundings
from websegment_scrapy.content.evidence import EVIDENCE, OWN
from websegment_scrapy.content.features import BlockFeatures, block_features
from websegment_scrapy.content.lexicon import Lexicon
from websegment_scrapy.content.model import ContentModel, shipped_content_model
from websegment_scrapy.content.page_templates import page_templates
from websegment_scrapy.content.smoothing import RESOLUTION
from websegment_scrapy.evaluate.extraction import evaluate_extraction
from websegment_scrapy.extraction import extract
from websegment_scrapy.learn.boosting import Boosting, fit_trees, read_trees
from websegment_scrapy.learn.content import content_examples, fold_of
from websegment_scrapy.learn.lexicon import MIN_HOSTS, WordCounts, make_lexicon
from websegment_scrapy.measure.metrics import word_f1
from websegment_scrapy.model_files import ModelError
from websegment_scrapy.page.build import build_tree

FILES = ("content-any.json", "content-any.npz")
PROBABILITIES = st.floats(0, 1).map(lambda value: round(value, 3))


def features(html: str) -> BlockFeatures:
    found = block_features(build_tree(html), Lexicon({}, {}, {}))
    assert found is not None
    return found


@cache
def model() -> ContentModel:
    return small_model()


def test_trees_of_sixteen_leaves_are_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(16)
    matrix = rng.normal(size=(3000, 6)).round(1)
    target = matrix[:, 0] * matrix[:, 1] + np.abs(matrix[:, 2]) + matrix[:, 3] ** 2
    fitted = HistGradientBoostingClassifier(max_leaf_nodes=16, max_iter=20, random_state=0)
    trees = read_trees(fitted.fit(matrix, target > 1), leaves=16)
    assert trees.value.shape == (20, 16)
    assert trees.log_odds(matrix) == pytest.approx(fitted.decision_function(matrix))


def test_trees_of_another_size_are_refused() -> None:
    matrix, target = np.arange(100.0).reshape(-1, 1), np.arange(100) > 40
    with pytest.raises(ValueError, match="8 or 16 leaves, not 31"):
        fit_trees(matrix, target, seed=0, boosting=Boosting(iterations=1, leaves=31))


@given(st.lists(st.tuples(PROBABILITIES, st.integers(0, 40)), min_size=1, max_size=8))
def test_the_choice_has_the_highest_expected_f1_of_all_limits(
    blocks: list[tuple[float, int]],
) -> None:
    probability = np.array([chance for chance, _ in blocks])
    texts = "".join(f"<p>. {'w ' * count}</p>" for _, count in blocks)
    page = features(f"{texts}<input>")
    words = page.text.words
    assert words.tolist() == [count for _, count in blocks]

    def gain(kept: np.ndarray) -> float:
        total = words[kept].sum() + probability @ words
        return float(2 * (probability * words)[kept].sum() / total) if total else 0.0

    best = max(gain(probability >= limit) for limit in [*probability.tolist(), 2.0])
    kept, limit = choose(page, probability), choice._gain(words, probability) / 2
    if best < LEAST_GAIN - 1e-9:
        assert kept.sum() <= 1  # at most the one that is most of the page
    elif best > LEAST_GAIN + 1e-9:
        assert limit == pytest.approx(best / 2)
        assert gain((probability > limit) & (words > 0)) == pytest.approx(best)
        assert kept.tolist() == ((probability > limit + 1 / RESOLUTION) & (words > 0)).tolist()
    assert not kept[words == 0].any()


def test_a_page_that_can_have_no_template_is_kept_as_it_is() -> None:
    page = features("<p>Hello world</p><p>again</p>")
    kept = choose(page, np.array([0.1, 0.1]))
    assert kept.all()
    linked = features("<p>Hello world</p><p><a href=/>again and again</a></p>")
    kept = choose(linked, np.array([0.1, 0.1]))
    assert not kept.any()
    most = features("<p>Hello to all of the world</p><p><a href=/>again</a></p>")
    kept = choose(most, np.array([0.1, 0.1]))
    assert kept.tolist() == [True, False]


def test_of_equal_blocks_the_first_is_kept_unless_a_later_one_is_likelier() -> None:
    small, large = ("one  two three", "a b", "x y z"), ("One two three", "a b", "X y z")
    page = features(
        "".join(
            "<div>" + "".join(f"<p>{text}</p>" for text in of) + "</div>" for of in (small, large)
        )
    )
    found = without_repetitions(page, np.array([0.9, 0.7, 0.5, 0.8, 0.7, 0.9]))
    assert found.tolist() == [0.9, 0.7, 0, 0, 0.7, 0.9]


def test_an_author_may_repeat_himself_within_one_element() -> None:
    said = "<p>Stir for a minute and let it rest.</p>"
    code = "<pre>make all install</pre>"
    page = features(f"<div>{said}{code}<p>Once more.</p>{said}{code}</div><div>{said}{code}</div>")
    found = without_repetitions(page, np.array([0.9, 0.2, 0.9, 0.9, 0.2, 0.9, 0.2]))
    assert found.tolist() == [0.9, 0.2, 0.9, 0.9, 0.2, 0.0, 0.0]
    unlikely = without_repetitions(page, np.array([0.3, 0.2, 0.9, 0.3, 0.2, 0.3, 0.2]))
    assert unlikely[3] == 0.0


def test_beside_running_text_links_must_be_likelier() -> None:
    text, links = f"<p>{'word ' * 50}</p>", "<p><a href=/x>more to read</a></p>"
    page, probability = features(text + links), np.array([0.9, 0.6])
    kept = choose(page, probability)
    assert choice._gain(page.text.words, probability) / 2 < 0.6
    assert kept.tolist() == [True, False]
    kept = choose(features(text + links), np.array([0.9, 0.8]))
    assert kept.tolist() == [True, True]
    kept = choose(features(links + links), np.array([0.6, 0.6]))
    assert kept.tolist() == [True, True]


BODY = f"<p>{'word ' * 50}</p><p>so said he</p><p>{'word ' * 30}</p>"


@pytest.mark.parametrize(
    ("beside", "left"),
    [(0.6, 0.0), (0.75, 0.0), (0.85, 0.85)],
    ids=["a teaser", "a likely teaser", "as good as sure itself"],
)
def test_what_stands_around_sure_running_text_is_none_of_it(beside: float, left: float) -> None:
    teaser = "<aside><div><p>Another story to read</p></div></aside>"
    lead = "<header><p>What the story is about</p></header>"
    page = features(f"{teaser}<div><article>{lead}<div>{BODY}</div></article></div>{teaser}")
    found = without_surroundings(page, np.array([beside, 0.6, 0.95, 0.2, 0.9, beside]))
    assert found.tolist() == [left, 0.6, 0.95, 0.2, 0.9, left]


@pytest.mark.parametrize(
    ("html", "probability"),
    [
        (f"<div><main>{BODY}</main></div><ul><li>One thing</li></ul>", [0.7, 0.2, 0.6, 0.5]),
        (f"<div>{BODY}</div><div>{BODY}</div>", [0.95, 0.2, 0.9, 0.9, 0.2, 0.85]),
        ("<div><main><p>A few words</p></main></div><ul><li>One thing</li></ul>", [0.95, 0.5]),
    ],
    ids=["no text is sure", "sure text in two places", "no running text"],
)
def test_without_one_place_of_sure_text_nothing_is_around_it(
    html: str, probability: list[float]
) -> None:
    assert without_surroundings(features(html), np.array(probability)).tolist() == probability


@pytest.mark.parametrize(("words", "left"), [(300, 0.0), (30, 0.9)])
def test_comments_below_an_article_are_none_of_it(words: int, left: float) -> None:
    html = f"<p>{'word ' * words}</p><div class=comments><p>I think so too.</p></div>"
    assert without_comments(features(html), np.array([0.9, 0.9])).tolist() == [0.9, left]


@pytest.mark.parametrize(
    "line",
    ["13 Comments", "Comments (4)", "One Comment", "2 Responses to “A title”", "Kommentare:"],
)
def test_a_line_above_comments_says_what_they_are(line: str) -> None:
    html = (
        f"<div><p>{'word ' * 60}</p></div><div><h5>{line}</h5><p>I think so too.</p></div>"
        "<p>Something else</p>"
    )
    assert features(html).column("in_comments").tolist() == [0, 0, 1, 0]


@pytest.mark.parametrize(
    "html",
    [
        "<h5>13 Comments</h5><p>I think so too.</p>",
        f"<p>{'word ' * 60}</p><h5>Comment</h5><p>I think so too.</p>",
        f"<p>{'word ' * 60}</p><p><a href=/c>13 comments</a></p><p>Another story</p>",
        f"<p>{'word ' * 60}</p><p>Comments are free, but facts are sacred</p><p>Another</p>",
    ],
    ids=["nothing before it", "a label", "a link", "a sentence"],
)
def test_other_lines_announce_no_comments(html: str) -> None:
    assert not features(html).column("in_comments").any()


def test_the_heading_that_is_the_title_is_kept_with_the_text() -> None:
    title = "A bridge over the river"
    body = f"<p>{'word ' * 60}</p>"
    html = f"<head><title>{title} | News</title></head><h1>Our news</h1><h1>{title}</h1>{body}"
    kept = choose(features(html + "<a href=/x>link</a>"), np.array([0.1, 0.1, 0.9, 0.0]))
    assert kept.tolist() == [False, True, True, False]


def test_letters_of_scripts_without_spaces_count_as_words() -> None:
    html = "<p>新しい橋が川に架かりました<p>two words<p>橋 one"
    assert features(html).text.words.tolist() == [7, 2, 2]


def test_few_words_of_a_form_are_no_main_text() -> None:
    form = "<form><div>Your name</div><div>Your password</div><input><p>All these words</p></form>"
    kept = choose(features(form), np.full(3, 0.4))
    assert not kept.any()


def test_what_a_known_site_does_not_repeat_gets_a_second_look() -> None:
    repeated = np.array([True, False, False, False])
    words, probability = np.array([200.0, 60.0, 60.0, 60.0]), np.array([0.4, 0.45, 0.4, 0.01])
    assert look_again(words, probability, repeated).tolist() == [False, True, True, False]


def test_a_page_of_few_words_of_its_own_gets_no_second_look() -> None:
    words, probability = np.array([200.0, 90.0]), np.array([0.4, 0.45])
    assert not look_again(words, probability, np.array([True, False])).any()
    assert not look_again(words, probability * 0.1, np.array([False, False])).any()
    assert not look_again(np.zeros(0), np.zeros(0), np.zeros(0, dtype=bool)).any()


def test_words_of_few_sites_are_no_part_of_the_lexicon() -> None:
    counts = [
        WordCounts(f"host {number % MIN_HOSTS}", {"often": 1.0, "seldom": 0.0}, {}, {})
        for number in range(20)
    ]
    counts += [WordCounts("host 0", {"private": 1.0}, {}, {}) for _ in range(20)]
    lexicon = make_lexicon(counts)
    assert set(lexicon.short) == {"often", "seldom"}
    assert lexicon.short["often"] > 0 > lexicon.short["seldom"]
    assert not lexicon.long
    assert not lexicon.names


def test_hosts_are_dealt_the_same_way_everywhere() -> None:
    assert [fold_of(host, 5) for host in ("a.example", "b.example", "ä")] == [2, 4, 0]


def test_training_twice_gives_the_same_bytes_here_and_in_another_process(tmp_path: Path) -> None:
    model().save(tmp_path / "one")
    small_model().save(tmp_path / "two")
    code = (
        "from pathlib import Path; from tests.content_pages import small_model; "
        f"small_model().save(Path({str(tmp_path / 'three')!r}))"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "77"}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
    for file in FILES:
        first = (tmp_path / "one" / file).read_bytes()
        assert first == (tmp_path / "two" / file).read_bytes()
        assert first == (tmp_path / "three" / file).read_bytes()


def test_a_model_judges_unseen_pages_and_the_same_after_a_file(tmp_path: Path) -> None:
    model().save(tmp_path)
    read = ContentModel.load(tmp_path)
    pages = [content_page(seed) for seed in range(1000, 1010)]
    for page in pages:
        text = extract(page.html, model=read).main_text
        assert word_f1(page.main_text, text) > 0.9
        assert text == extract(page.html, model=model()).main_text
    result = evaluate_extraction("own", pages, model_of=lambda page: read)
    (ours,) = [
        score for score in result.scores if (score.method, score.page_type) == ("websegment", "all")
    ]
    assert ours.f1 > 0.9
    assert "zero-shot" in result.table()


def test_a_model_of_another_version_is_refused(tmp_path: Path) -> None:
    model().save(tmp_path)
    path = tmp_path / FILES[0]
    description = json.loads(path.read_text("utf-8"))
    for entry in ("version", "features_version"):
        path.write_text(json.dumps({**description, entry: 99}), "utf-8")
        with pytest.raises(ModelError, match=f"another {entry}.*websegment train content"):
            ContentModel.load(tmp_path)
    path.write_text(json.dumps({**description, "features": description["features"][::-1]}), "utf-8")
    with pytest.raises(ModelError, match=r"other columns.*websegment train content"):
        extract("<p>text", model=ContentModel.load(tmp_path))
    path.write_text(json.dumps({**description, "features": None}), "utf-8")
    with pytest.raises(ModelError, match="websegment train content"):
        ContentModel.load(tmp_path)
    with pytest.raises(ModelError, match="cannot be read"):
        ContentModel.load(tmp_path / "absent")


def test_pages_without_text_are_not_learned_from() -> None:
    page = content_page(1)
    empty = type(page)(id="x", html="<p></p>", main_text="", page_type="", url="")
    assert [example is None for example in content_examples([empty, page])] == [True, False]


LINKS = "".join(f"<li><a href='/{number}'>Page number {number}</a>" for number in range(300))
BAD = {
    "nothing": "",
    "no text": "<html><body><img src=x><script>var x = {}</script></body></html>",
    "one word": "word",
    "one sign": "<p>.</p>",
    "only links": f"<ul>{LINKS}</ul>",
    "right to left": "<html dir=rtl><p>" + "مرحبا بالعالم، هذا نص طويل. " * 30,
    "Japanese": "<p>" + "これは日本語の文章です。とても長い文章です。" * 30,
    "deep nesting": "<div>text " * 3000,
    "lone surrogates": "<p>" + "before \ud800 after \udfff end. " * 30,
    "beyond the basic plane": "<p>" + "\U0001f600 \U00020000 word. " * 40,
    "control characters": "<p>" + "a\x00b\x0b\x1f c. " * 40,
    "only hidden text": "<div hidden><p>" + "There is text that nobody sees. " * 20 + "</div>",
    "the same paragraph again and again": "<p>All the same words here." * 300,
    "a frameset": "<frameset><frame src=a><noframes>Get a browser</noframes></frameset>",
    "a table row outside of a table": "<tr><td>cell<td>cell</tr>" * 20,
}


@pytest.mark.parametrize("own", [True, False], ids=["small model", "shipped model"])
@pytest.mark.parametrize("name", BAD)
def test_bad_input_gives_a_text(name: str, own: bool) -> None:
    judge = model() if own else shipped_content_model()
    for markdown in (False, True):
        assert isinstance(extract(BAD[name], markdown=markdown, model=judge).main_text, str)
    found = page_templates(build_tree(BAD[name]), model=judge)
    assert ((found.templateness >= 0) & (found.templateness <= 1)).all()


@pytest.mark.parametrize("name", ["nothing", "no text", "one sign"])
def test_what_has_no_words_has_no_main_text(name: str) -> None:
    assert extract(BAD[name], model=model()).words == 0


def test_twenty_thousand_blocks_take_bounded_time() -> None:
    blocks = [
        f"<div class=c{n % 7}><p>Text number {n} is here, and so on.</p></div>"
        for n in range(20_000)
    ]
    html = "".join(blocks)
    judge = model()
    started = time.perf_counter()
    found = extract(html, model=judge)
    assert time.perf_counter() - started < 20
    assert found.words in (0, 160_000)


@pytest.mark.parametrize("markdown", [False, True])
def test_what_a_page_tells_machines_stands_for_text_that_it_does_not_show(markdown: bool) -> None:
    body = "The whole article is told to machines, and a script would show it to people later."
    told = json.dumps({"@context": "https://schema.org", "articleBody": body})
    html = f"<script type='application/ld+json'>{told}</script><div id=app></div>"
    assert extract(html, markdown=markdown).main_text == body


@pytest.mark.parametrize("method", ["learned", "pagelevel", "largest"])
def test_markdown_has_the_words_of_the_text(method: str) -> None:
    for seed in range(5):
        html = content_page(seed).html
        text = extract(html, main_text=method).main_text
        marked = extract(html, main_text=method, markdown=True).main_text
        assert re.findall(r"\w+", marked) == re.findall(r"\w+", text)


@pytest.mark.parametrize("method", ["learned", "pagelevel", "largest"])
def test_extracting_gives_the_main_text_of_the_analysis(method: str) -> None:
    for html in [content_page(5).html, *BAD.values()]:
        page = analyze(html, url="http://a.example/", main_text=method)
        found = extract(html, url="http://a.example/", main_text=method)
        assert (found.main_text, found.title) == (page.main_text, page.title)
        assert found.words == page.words


def test_explain_names_the_evidence_and_the_rule(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = "<p>It was said in the town again.</p>"
    path = tmp_path / "page.html"
    path.write_text(
        f"<nav><a href=/>Home</a></nav><article>{said}</article><div>{said}<p>Today.</div>"
    )
    assert main(["segment", str(path), "--explain", "--workers", "1"]) == 0
    leaves = json.loads(capsys.readouterr().out)["leaves"]
    assert [leaf["rule"] for leaf in leaves] == [None, None, "repetition", None]
    assert leaves[2]["templateness"] == 1.0
    for leaf in leaves:
        assert leaf["evidence"].keys() <= {*EVIDENCE, OWN}
        assert any(leaf["evidence"].values())
