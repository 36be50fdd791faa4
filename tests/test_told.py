"""The texts that pages tell machines."""

from __future__ import annotations

import json
import time

import pytest

from websegment_scrapy.page.told import BODY, MAX_CHARACTERS, told_texts

LONG = "A text that is long enough to be told, with more than forty characters."


def script(**entries: str) -> str:
    return json.dumps({"@context": "https://schema.org", "@type": "Article", **entries})


def test_the_texts_of_the_known_keys_are_found_in_order() -> None:
    found = told_texts([script(headline="Not this one", description=LONG, articleBody=LONG + " 2")])
    assert found == [LONG, LONG + " 2"]
    assert told_texts([script(description=LONG, articleBody=LONG + " 2")], [BODY]) == [LONG + " 2"]


def test_short_texts_and_other_scripts_are_passed_over() -> None:
    assert told_texts([script(description="short"), f'{{"description": "{LONG}"}}', ""]) == []


@pytest.mark.parametrize("nested", [True, False])
def test_escapes_and_tags_are_undone(nested: bool) -> None:
    text = (
        'He said "yes" \\ no, née Ångström: <p>one</p><br>two &amp; three \U0001f600\nfour ' + LONG
    )
    value = script(articleBody=text)
    if nested:
        value = f'{{"@graph": [{value}]}}'
    (found,) = told_texts([value])
    assert found == (f'He said "yes" \\ no, née Ångström: one two & three \U0001f600 four {LONG}')


@pytest.mark.parametrize(
    "broken",
    [
        script(articleBody=LONG)[:-1],
        script(articleBody=LONG).replace("}", ",,}"),
        f'"schema.org" "articleBody" : "{LONG}" and then nothing',
        f"<!-- {script(articleBody=LONG)} //-->",
        f'{{"@context": "https://schema.org", "articleBody":\n\t"{LONG}\n\n"}}',
    ],
)
def test_broken_scripts_are_searched_all_the_same(broken: str) -> None:
    assert told_texts([broken]) == [LONG]


def test_a_bad_escape_loses_only_its_backslash() -> None:
    assert told_texts([f'schema.org "text": "{LONG} \\x and \\u12"']) == [f"{LONG} x and u12"]


def test_half_a_pair_of_surrogates_does_no_harm() -> None:
    (found,) = told_texts([f'schema.org "text": "{LONG} \\ud83d end"'])
    assert found.endswith("end")


def test_a_text_that_never_ends_takes_bounded_time() -> None:
    started = time.perf_counter()
    assert told_texts(['schema.org "text": "' + "\\n<" * MAX_CHARACTERS]) == []
    assert told_texts(["schema.org " + '"text": "' * (MAX_CHARACTERS // 9)]) is not None
    assert time.perf_counter() - started < 5


def test_references_of_any_length_and_half_characters_are_no_error() -> None:
    digits = "&#" + "1" * 5000 + ";"
    assert told_texts([script(text=f"{LONG} {digits}")]) == [f"{LONG} \ufffd"]
    half = script(text=LONG).replace("A text", "\\ud83d text")
    (told,) = told_texts([half])
    assert told.encode().startswith("\ufffd text".encode())
