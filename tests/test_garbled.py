from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.timing import grows_linearly
from websegment_scrapy.page.garbled import is_undeclared, ungarbled


def as_western(text: str) -> str:
    """Read UTF-8 as browsers read windows-1252, and serialise it."""
    read = (bytes([byte]).decode("cp1252", "ignore") or chr(byte) for byte in text.encode())
    return "".join(read).replace("\xa0", "&nbsp;")


@given(st.text(st.characters(exclude_categories=("Cs",), exclude_characters="&<>")))
def test_what_a_browser_garbled_is_turned_back(text: str) -> None:
    html = f"<p>.{text}</p>"
    assert ungarbled(as_western(html)) == html


@pytest.mark.parametrize("text", ["naïve", "€ 5", "“so”", "Ã", "É com", "2 × 3 ÷ 4", "東京", "â€"])
def test_what_a_script_wrote_stays(text: str) -> None:
    assert ungarbled(f"<p>{as_western('Привет')}</p><p>{text}</p>") == f"<p>Привет</p><p>{text}</p>"


@pytest.mark.parametrize("blank", ["\xa0", " \u200b", "\ufeff\xa0 "])
def test_a_text_that_the_layout_counts_does_not_become_blank(blank: str) -> None:
    """The browser measured it as a text; without one the places of the next would be its own."""
    html = as_western(f"<td>{blank}</td><td>é</td><td>{blank}</td>")
    assert ungarbled(html) == "<td>\u2060</td><td>é</td><td>\u2060</td>"
    assert ungarbled(f"<td>&nbsp;</td>{as_western('é')}") == "<td>\xa0</td>é"


def test_only_a_content_type_that_names_it_declares_an_encoding() -> None:
    assert is_undeclared([])
    assert is_undeclared([("Content-Type", "text/html"), ("X-Charset", "charset=utf-8")])
    assert not is_undeclared([("content-type", "text/html; charset=ISO-8859-1")])


@pytest.mark.parametrize(
    "unit", ["aÃ©", "aÃ©é", "Ð¿é", "<b>Â&nbsp;</b>", "Â\xa0", "<p> ", "Ã", "â\x80"]
)
def test_it_takes_linear_time(unit: str) -> None:
    def of(size: int) -> Callable[[], object]:
        html = "é" + unit * (size // len(unit))
        return lambda: ungarbled(html)

    assert grows_linearly(of, (20_000, 200_000), 1.0)
