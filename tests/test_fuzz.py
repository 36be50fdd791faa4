"""A few hundred cases of the fuzz; ``python -m tests.fuzz`` runs as many as one likes."""

from __future__ import annotations

import pytest

from tests.fuzz.__main__ import main
from tests.fuzz.cases import page_case, run_page
from tests.fuzz.functions import FUNCTIONS, run_function
from tests.fuzz.pages import own_pages

SEED = 11


@pytest.mark.parametrize("start", range(0, 144, 24))
def test_mutated_pages_raise_only_our_own_errors(start: int) -> None:
    pages = [page for page in own_pages() if len(page) < 8000]
    found = {n: run_page(page_case(SEED, n, pages)) for n in range(start, start + 24)}
    assert {number: what for number, what in found.items() if what} == {}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_random_inputs_raise_only_our_own_errors(name: str) -> None:
    found = {number: run_function(name, SEED, number) for number in range(200)}
    assert {number: what for number, what in found.items() if what} == {}


def test_a_case_is_the_same_each_time() -> None:
    assert page_case(SEED, 7, own_pages()) == page_case(SEED, 7, own_pages())


def test_the_command_says_what_it_did(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--pages", "3", "--functions", "5", "--seed", "2"]) == 0
    said = capsys.readouterr().out
    assert "3 pages, slowest" in said
    assert "decode: 5 inputs" in said
    assert said.endswith("0 findings\n")
    with pytest.raises(SystemExit):
        main([])
