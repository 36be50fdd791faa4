"""Functional types of pages: their terms, learning them, judging by them, and bad input."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.svm import LinearSVC

from tests.texts import page, prose
from tests.typed_pages import TYPES, typed_page
from websegment_scrapy import analyze
from websegment_scrapy.cli.main import main
from websegment_scrapy.content.page_templates import page_templates
from websegment_scrapy.evaluate import page_types as evaluation
from websegment_scrapy.exceptions import WebsegmentError
from websegment_scrapy.learn.boosting import Boosting
from websegment_scrapy.learn.page_types import (
    TermTable,
    information_gain,
    train_types,
    type_examples,
)
from websegment_scrapy.model_files import ModelError
from websegment_scrapy.page.build import build_tree
from websegment_scrapy.page.words import words_by_node
from websegment_scrapy.page_types.model import PageTypeModel, shipped_type_model
from websegment_scrapy.page_types.terms import GROUPS, POSITIONS, PageTerms, page_terms

FILES = ("types-any.json", "types-any.npz")


def terms_of(html: str, inside: list[bool], url: str = "") -> PageTerms:
    tree = build_tree(html)
    return page_terms(tree, words_by_node(tree), np.array(inside, dtype=bool), url)


@cache
def table() -> TermTable:
    return TermTable(type_examples([typed_page(seed) for seed in range(120)]))


@cache
def model() -> PageTypeModel:
    return train_types(table())


def test_a_term_counts_in_its_position() -> None:
    found = terms_of(
        "<title>My page</title><nav><a href=/>forum</a></nav><h2>Ad</h2>"
        "<h1>Reply here</h1><p>First post post.<p>advert<p>Second <a href=/r>reply</a>"
        "<footer>forum rules</footer>",
        [False, False, True, True, False, True, True, False],
    )
    assert {position: dict(found[position]) for position in POSITIONS[:6] if found[position]} == {
        "inside text": {"first": 1, "post": 2, "second": 1},
        "inside link": {"reply": 1},
        "inside heading": {"reply": 1, "here": 1},
        "outside text": {"advert": 1, "forum": 1, "rules": 1},
        "outside link": {"forum": 1},
        "outside heading": {"ad": 1},
    }
    assert found["title"] == Counter(["my", "page"])


def test_without_an_informative_part_all_text_stands_outside() -> None:
    found = terms_of("<h1>One</h1><p>two", [False, False])
    assert (found["outside heading"], found["outside text"]) == (Counter(["one"]), Counter(["two"]))
    assert sum(map(len, (found[position] for position in POSITIONS[:3]))) == 0
    assert (found["tag inside"], found["name inside"]) == (Counter(), Counter())


def test_elements_and_their_names_count_by_place() -> None:
    found = terms_of(
        "<div class='postList post'><p class=post>a<p class=post>b</div><i id=end-note>c</i>",
        [True, True, False],
    )
    assert found["name inside"] == Counter({"post": 1})  # between the two texts
    assert found["name outside"] == Counter({"post": 2, "list": 1, "end": 1, "note": 1})
    assert found["tag inside"]["p"] == 1
    assert found["tag outside"]["i"] == 1


def test_an_address_has_terms_and_digits_are_all_alike() -> None:
    found = terms_of("", [], "https://forum.example.org/t/topic-12/3?page=2")
    assert found["host"] == Counter(["forum", "example", "org"])
    assert found["path"] == Counter(["t", "topic", "00", "0", "page", "/3"])
    for address in ("", "no address", "http://[", "http://a.example/" + "x/" * 99):
        terms_of("<p>a", [True], address)


def test_what_a_page_tells_machines_is_a_term() -> None:
    script = '{"@context": "https://schema.org", "@type": "Product", "x": {"@type": ["A", "B"]}}'
    found = terms_of(
        f"<meta property=og:type content=product.item>"
        f"<script type=application/ld+json>{script}</script>a",
        [True],
    )
    assert found["told"] == Counter(["product", "a", "b", "og product", "og item"])


@given(st.lists(st.tuples(st.integers(0, 2), st.booleans()), min_size=1, max_size=12))
def test_information_gain_is_that_of_its_definition(pages: list[tuple[int, bool]]) -> None:
    def entropy(types: list[int]) -> float:
        shares = [count / len(types) for count in Counter(types).values()]
        return -sum(share * math.log2(share) for share in shares)

    types = [own for own, _ in pages]
    split = [[own for own, there in pages if there is wanted] for wanted in (True, False)]
    rest = sum(len(part) / len(pages) * entropy(part) for part in split if part)
    present = csr_array(np.array([[float(there)] for _, there in pages]))
    (found,) = information_gain(present, np.array(types), 3)
    assert found == pytest.approx(entropy(types) - rest, abs=1e-9)


def test_types_are_learned_and_told_apart_on_other_hosts() -> None:
    examples = type_examples([typed_page(seed) for seed in range(1000, 1060)])
    found = [model().classify(example.terms) for example in examples]
    assert [each.name for each in found] == [example.page_type for example in examples]
    assert all(0.5 < each.probability <= 1 for each in found)
    assert model().types == TYPES


def test_the_margins_are_those_of_scikit_learn() -> None:
    """TF-ISF of the chosen terms, each page of length 1, as one matrix and one SVM."""
    learned, pages = model(), table().examples
    matrix = np.zeros((len(pages), len(learned.rarity)))
    for row, example in enumerate(pages):
        for position, known in learned.columns.items():
            for term, column in known.items():
                number = example.terms[position][term]
                if number:
                    matrix[row, column] = (1 + math.log(number)) * learned.rarity[column]
    there = (matrix > 0).sum(axis=0)
    rare = learned.rarity > 0
    assert learned.rarity[rare] == pytest.approx(np.log(len(pages) / there[rare]))
    group = np.array([GROUPS[name] for name, known in learned.columns.items() for _ in known])
    for own in range(3):
        part = matrix[:, group == own]
        matrix[:, group == own] = part / np.maximum(np.linalg.norm(part, axis=1)[:, None], 1e-12)
    matrix /= np.maximum(np.linalg.norm(matrix, axis=1)[:, None], 1e-12)
    svm = LinearSVC(class_weight="balanced", random_state=2014, tol=1e-6, max_iter=100_000)
    svm.fit(matrix, table().target)
    ours = np.array([learned.margins(example.terms) for example in pages])
    assert ours == pytest.approx(svm.decision_function(matrix), abs=0.02)


def test_probabilities_sum_up_to_one_and_a_page_of_no_known_term_has_a_type() -> None:
    probability = model().probabilities(model().margins({}))
    assert probability.sum() == pytest.approx(1)
    assert model().classify({}).name in TYPES


def test_pages_of_one_type_or_few_hosts_teach_nothing() -> None:
    articles = [typed_page(seed) for seed in range(0, 30, 3)]
    for pages in (articles, [typed_page(0), typed_page(1)]):
        with pytest.raises(WebsegmentError, match="at least 2 values of page_type and 5 hosts"):
            train_types(TermTable(type_examples(pages)))


def test_the_same_pages_give_the_same_files_and_files_the_same_model(tmp_path: Path) -> None:
    first = model().save(tmp_path / "a")
    again = train_types(TermTable(type_examples([typed_page(seed) for seed in range(120)])))
    for one, other in zip(first, again.save(tmp_path / "b"), strict=True):
        assert one.read_bytes() == other.read_bytes()
    assert tuple(path.name for path in first) == FILES
    read = PageTypeModel.load(tmp_path / "a")
    terms = table().examples[0].terms
    assert read.margins(terms) == pytest.approx(model().margins(terms), abs=1e-4)


def test_files_of_another_version_are_refused(tmp_path: Path) -> None:
    text, _ = model().save(tmp_path)
    text.write_text(json.dumps(json.loads(text.read_text()) | {"terms_version": 0}))
    with pytest.raises(ModelError, match=r"another terms_version.*websegment train types"):
        PageTypeModel.load(tmp_path)


def test_an_analysis_has_a_type_and_its_probability() -> None:
    found = analyze(page(prose(1), "A title"), url="http://example.org/news/a-title.html")
    assert found.page_type in shipped_type_model().types
    assert found.page_type_probability is not None
    assert 0 < found.page_type_probability <= 1
    told = found.to_dict()
    assert told["page_type"] == found.page_type == found.report().page_type
    assert told["page_type_probability"] == found.page_type_probability


@pytest.mark.parametrize("html", ["", "<p> </p>", "<nav><a href=/>Home</a></nav>"])
def test_a_page_without_main_text_has_no_type(html: str) -> None:
    found = analyze(html)
    assert not found.main_text
    assert (found.page_type, found.page_type_probability) == (None, None)


@pytest.mark.parametrize("main_text", ["pagelevel", "largest"])
def test_pages_have_a_type_however_their_main_text_is_found(main_text: str) -> None:
    assert analyze(page(prose(1), "A title"), main_text=main_text).page_type is not None


def test_what_is_known_of_the_site_does_not_change_the_type() -> None:
    html = page(prose(1), "A title")
    tree = build_tree(html)
    alone = page_templates(tree)
    assert alone.kept.any()
    first, again = analyze(html), analyze(html, parts=True)
    assert first.page_type_probability == again.page_type_probability


def test_the_type_is_the_same_in_every_process() -> None:
    script = (
        "from websegment_scrapy import analyze\nfrom tests.texts import page, prose\n"
        "found = analyze(page(prose(1), 'A title'), url='http://a.example/x')\n"
        "print(found.page_type, found.page_type_probability)"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1


def test_the_evaluation_has_a_row_for_each_kind_of_terms(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from websegment_scrapy.learn import content

    small = Boosting(iterations=5, leaves=16, learning_rate=0.3, samples_per_leaf=10)
    monkeypatch.setattr(
        evaluation, "train_content", lambda pages, **_: content.train_content(pages, boosting=small)
    )
    pages = [typed_page(seed) for seed in range(90)]
    result = evaluation.evaluate_types(pages, folds=3)
    assert [score.terms for score in result.variants] == list(evaluation.VARIANTS)
    assert result.pages == 90 == sum(map(sum, result.confusion))
    assert [score.page_type for score in result.types] == list(TYPES)
    assert [score.pages for score in result.types] == [30, 30, 30]
    assert result.variants[-1].f1 > 0.8
    assert sum(pages for pages, _, _ in result.bands) == 90
    for word in ("macro-F1", "taken for", "full text", "forum"):
        assert word in result.table()
    aside = evaluation.evaluate_types(pages, aside=True, known_texts=True)
    assert "knows them" in aside.how
    assert 0 < aside.pages < 90
    assert aside.learned == 90 - aside.pages
    assert json.dumps(aside.to_dict())


def test_too_few_folds_are_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "types", "--folds", "1"]) == 2
    assert "--folds is 1: it takes at least 2" in capsys.readouterr().err
