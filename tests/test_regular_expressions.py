"""Every regular expression of the package takes linear time, whatever a page writes for it.

`CASES` names each of them with the texts that are worst for it: a beginning, what is repeated, an
end. A pattern that is not in it fails the last tests of this module.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import websegment_scrapy
from tests.timing import grows_linearly, takes_under
from websegment_scrapy.page import markup, words
from websegment_scrapy.page.capture import Captured

PACKAGE = Path(websegment_scrapy.__file__).parent
SIZES = (20_000, 200_000)
MOST_SECONDS = 1.0
"""For the larger of them; most take a hundredth of it."""

Text = tuple[str, str, str]


@dataclass(frozen=True)
class Case:
    """The texts that are worst, the method by which the package uses the pattern, its limit."""

    texts: tuple[Text, ...]
    how: str = "search"
    limit: int | None = None


def case(*texts: str | Text, how: str = "search", limit: int | None = None) -> Case:
    made = tuple(("", text, "") if isinstance(text, str) else text for text in texts)
    return Case(made, how, limit)


WORDS = ("a", "aA", "1", "a1 ", "_", "é", "東", "e\u0301", "\u0301", "Aa")
NUMBERS = ("1", "1.", ".", " ", ("1", " ", "x"), ("", "1", "x"), ("1.", "1", "x"))

CASES: dict[str, Case] = {
    "printable._CONTROL_IN_TEXT": case("\x1b", "a", how="sub"),
    "archives.http._STATUS": case(
        ("HTTP/1.1", " ", ""), ("HTTP/1.1 ", "2", ""), ("HTTP/1.1", "\t ", "20"), "HTTP/1",
        how="match",
    ),
    "archives.http._HEAD_END": case("\r", "\n", "\r\n\r", "\n\r", "\r\na"),
    "archives.http._CHUNK": case("a", "1", ("1", " ", ""), ("f", ";", "\r"), how="match"),
    "archives.searching._HEAD_END": case("\r", "\n", "\r\n\r", "\n\r", "\r\na"),
    "archives.searching._LENGTH": case(
        "\ncontent-length:", ("\ncontent-length:", " ", "x"), ("\ncontent-length:", "1", "x"),
        ("\ncontent-length: 1", " ", "x"), "\ncontent-length: 1 ",
    ),
    "cli.output._FORMULA": case("=", " ", how="match"),
    "cli.output._NUMBER": case(*NUMBERS, how="fullmatch"),
    "printable._OBEYED": case("\x1b", "\u202e", "a", how="sub"),
    "printable._OBEYED_IN_LINE": case("\x1b", "\u202e", "a", how="sub"),
    "crawl.gone._WILD": case("*", "a", "\\", how="sub"),
    "dedup.fingerprint._NAMED": case("nav", "footer ", "menu-", "navigatio", "footernav", "a"),
    "dedup.plain._ESCAPED": case("\\u", "\\u00", "\\u0041", "\\", how="sub"),
    "dedup.plain._ESCAPE": case("\\", "\\n", "\\a", how="sub"),
    "dedup.plain._TAG": case("<", "<a", ">", ("<", "a", ""), how="sub"),
    "dedup.passages._TOKEN": case("a", " ", "a ", ("a", " ", ""), how="findall"),
    "measure.metrics._WORD": case(*WORDS, how="findall"),
    "text.markdown._FENCE": case("`", "` ", "``", how="findall"),
    "text.markdown._MEANS_SOMETHING": case(
        *NUMBERS, "#", "-", "- ", "=", ("-", " ", "x"), ("***", " ", "x"), ("", "-", "x"),
        ("", "*", "x"), ("", "_", " x"), ("1", "#", "x"), how="match",
    ),
    "text.markdown._TAG": case("<", "<a", "< ", how="sub"),
    "text.title._SEPARATOR": case(
        " ", " | ", " |", "|", ("a", " ", "a"), "  -", " - ", " : ", "\u00bb ", "\t\n", how="split"
    ),
    "page.by_script._ASKS": case("java", "java ", "javascrip", how="search"),
    "page.by_script._DATA": case("text/htm", "x-tmp", "jso", how="search"),
    "page.line_numbers._NUMBERS": case("1", "1 ", " ", "1234567", "1 1a", how="fullmatch"),
    "page.by_script._WORD": case(*WORDS, how="findall"),
    "page.told._TYPE": case(
        '"@type"', ('"@type"', " ", "x"), ('"@type":', " ", "x"), '"@type":[', '"@type":["a",',
        ('"@type":"', "a", ""), ('"@type":[', "a", ""), how="findall",
    ),
    "page.told._TYPE_NAME": case(*WORDS, how="findall"),
    "page_types.terms._DIGIT": case("1", "a", how="sub"),
    "view.listed._VARYING": case(
        *NUMBERS, "http://", "https://a ", "0x", ("http://", "a", ""), "1,", how="sub"
    ),
    "keeper.addresses._NAME": case("a", ".", "a.", "-", ("a", "-", ""), how="fullmatch"),
    "page.walk._HIDING_STYLE": case(
        "display", "display ", "display:", ("display", " ", ""), ("display:", " ", "x"),
        "visibility: hid", ("visibility:", " ", "h"), "d",
    ),
    "page.markup._TAG": case("<", "< ", "</a", "a"),
    "page.garbled._STRETCH": case(
        "\xc3\xa9", "a\xc3\xa9", "\xc3", "\xe2\x80", "\xc3\xa9\xe9", ">", "> ", (">", " ", "x"),
        (">", "\xc2\xa0", "x"), how="finditer",
    ),
    "page.garbled._BLANK_TEXT": case(
        ">", "> ", ">\xa0", (">", " ", "x"), (">", "\xa0", "x"), (">", "\xa0 ", ">"), ">\xa0<",
        how="sub",
    ),
    "page.capture._COORDINATE": case("1", "-", "-1", "1 ", how="fullmatch"),
    "page.capture._MARK": case("a", "0", how="fullmatch"),
    "page.decode._TAG": case("<", "a", "< <"),
    "page.decode._XML_ROOT": case(
        "<!---->", "<!doctype >   ", "<?xml ?>", "<?xml >", "<?xml ?", " ", "<!--", "<!doctype [",
        "<!doctype []", "<!doctype [] ", "<", ("<", "a", ""), ("<", "a:", ""), ("<", "a.", ":"),
        ("<!--", "--", ""), ("<!--", "->", ""), ("<!doctype", " ", ""), ("<!doctype[", "]", ""),
        ("<!doctype[]", " ", "x"), ("<?xml", "?", ""), "<!----> ", how="match",
    ),
    "page.markup._ENDS_IN_VALUE": case(
        "=", "= ", '="', "='", "='a", '="a>', "='>", "='\"", ("=", " ", ""), ("='", "a", ""),
        ('="', "='", ""), ("", "='\"", ">"), how="finditer",
    ),
    "page.markup._ORDINARY": case(
        "<", "<a", "<a ", "<a b", "<a b=", "<a b='", '<a b="', "<a '\"", "<!--", "<!-- ", "<!---",
        "<!---->", "<script>", "<script", "<script></script", "<style><", "</", "<a/", "<a b = c",
        ("<a ", "b ", ""), ("<a ", "b=c ", ">"), ("<a ", "=", ""), ("<a ", "b='>'", ""),
        ("<a b", " ", ""), ("<a b=", " ", ""), ("<a b='", " ", ""), ("<a", "/", ""),
        ("<", "a", ""),
        ("<title>", "</titl", ""), ("<textarea ", "<a ", ""), ("<!--", "-", ""),
        ("<a ", "b=' ", ""),
        how="match",
    ),
    "page.markup._REST_OF_TAG": case(
        "a", "'", '"', "'\"", "='x' ", ("'", "a", ""), ("", "a", ">"), how="match"
    ),
    "page.markup._START": case("<", "<a", "<!", "<!-", ("<", "a", ""), "</", how="findall"),
    "page.markup._TOO_MANY": case(
        ("<a ", "b ", ""), ("<a ", "b='", ""), ("<a ", "= ", ""), ("<a ", "b=c/", ""),
        ("<a b", " ", ""), ("<a", "/", ""), ("<a ", "b = ", ""), how="match",
    ),
    "page.parse._NO_XML": case("\x01", "a", how="sub"),
    "page.parse._SURROGATES": case("\ud800", "a", how="sub"),
    "page.parse._TITLE": case("<title", "<titl", "<title "),
    "page.parse._TITLE_END": case("</titl", "</", "<"),
    "page.static_layout._INLINE_LENGTH[width]": case(
        "width", "width:", "width: ", "width:1", ("width", " ", ""), ("width:", "1", ""),
        ("width:1", " ", "x"), ("width:", ".", "x"), "width:1 ", "-width:1p",
    ),
    "page.static_layout._INLINE_LENGTH[height]": case(
        "height", "height:", ("height", " ", ""), ("height:", "1", ""), ("height:1", " ", "x")
    ),
    "page.static_layout._NUMBER": case(*NUMBERS, how="match"),
    "page.static_layout._WIDE": case("a", "東", how="findall"),
    "page.static_style._DECLARATION": case(
        "color", "color:", "color ", "color:;", ("color", " ", ""), ("color:", " ", ";"),
        "float: ",
        "background-", "font-size:1;", how="findall",
    ),
    "page.static_style._HEX": case("#", "a", "abc", "#abcde", "#abcdefg"),
    "page.static_style._LENGTH": case(*NUMBERS, how="match"),
    "page.told._LONG_NUMBER": case("&#", "&#1", ("&#", "1", ""), how="sub"),
    "page.told._SURROGATES": case("\ud800", "a", how="sub"),
    "page.told._TAG": case("<", "<a", "a", ("<", "a", ""), "<" + "a" * 499, how="sub"),
    "page.told._TEXT": case(
        '"text"', '"text":', '"text":"', '"text" ', ('"text"', " ", ""), ('"text":', " ", ""),
        ('"text":"', "a", ""), ('"text":"', "\\\\", ""), ('"text":"', "\\n", ""), '"text":"\\',
        ('"text":"', "\\\n", ""), '"text":"' + "a" * 39, '"text":"' + "a" * 41, '"', how="findall",
    ),
    "page.tree._PLAIN_NAME": case("a", "-", ("a", "-", "!"), how="match"),
    "page.words._ASCII_WORD": case(*WORDS, how="findall"),
    "page.words._SIMPLE_WORD": case(*WORDS, how="findall"),
    "page.words._UNUSUAL": case(*WORDS, how="search"),
    "store.record._PLAIN": case(
        ("http://", "a", ""), ("http://", "a.", ""), ("http://a.b/", "a", " "),
        ("http://", "-", "/"),
        "http://", ("http://a.b/", "/.", "?"), how="fullmatch",
    ),
    "content.features._TYPE": case(
        '"@type"', '"@type":', '"@type":"', '"@type":"a', ('"@type"', " ", ""),
        ('"@type":"', "a", ""), ('"@type":', " ", ""), how="findall",
    ),
    "content.place.COMMENTS_FOLLOW": case(
        " ", "-", "1", "1 ", "comments ", ("comments", " ", "x"), ("comments on ", "- ", "x"),
        ("", "- ", "x"), ("1", " ", "x"), ("comments ", "1", "x"), ("comments", "-", "x"),
        ("comments to", " -", "a"), ("комментари", "и", "-x"), ("комментари", "1", "-x"),
        how="fullmatch", limit=120,
    ),
    "content.text._WORD": case(*WORDS, how="findall"),
    "content.lexicon._NAME": case(*WORDS, "A", ("", "A", "a"), "Aaa", "AAa", how="findall"),
    "template.normalise._DATE": case(
        "1", "1 ", "1 a", "1 aaa ", "1 aaa. ", "aaa 1, ", "aaa., ", "a", "aaa", "1st ", "1 de ",
        "aa., 1 de aaa de ", "12 march 201", how="sub",
    ),
    "template.normalise._DIGIT": case("1", "a", how="findall"),
    "template.normalise._DIGITS": case("1", "a", "1a", how="sub"),
    "template.normalise._INDEX": case("/", "/index.", "/index.a", "index.", how="sub"),
    "template.normalise._LETTER": case("1", "_", "a"),
    "template.normalise._LINK_END": case("?", "a", how="split"),
    "template.normalise._LINK_START": case("/", "../", "./", ".", "..", ("../", ".", ""),
    how="sub"),
    "template.normalise._TOKEN": case(
        "a", "1", "a1", "a ", "a1 ", ("", "a", "1"), ("", "a", "-"), "_", ("", "a", " 1"), how="sub"
    ),
    "template.normalise._YEAR": case(" 2019", " 201", " ", "2", how="findall"),
}  # fmt: skip

MADE_WHEN_USED = {
    "cli/dedup.py": 1,  # the user's own --since
    "page/capture.py": 1,  # Captured.plain
    "page/markup.py": 2,  # ends of comments and of raw elements
    "page/words.py": 4,  # _patterns
}
"""How many patterns functions make in each module; those of pages are measured below."""


@pytest.mark.parametrize("name", CASES)
def test_a_pattern_takes_linear_time(name: str) -> None:
    pattern, worst = _patterns()[name], CASES[name]
    for start, unit, end in worst.texts:
        if worst.limit is not None:
            text = (start + unit * worst.limit)[: worst.limit - len(end)] + end
            assert takes_under(0.001, _use(pattern, worst.how, text)), (name, start, unit, end)
            continue
        _check(pattern, worst.how, (start, unit, end))


@pytest.mark.parametrize("number", range(4))
@pytest.mark.parametrize("unit", [*WORDS, "\u200b", "\u00ad", "\u200c", "a\u0301", "a\u200c", " "])
def test_the_patterns_of_words_take_linear_time(number: int, unit: str) -> None:
    _check(words._patterns()[number], "findall", ("", unit, ""))


@pytest.mark.parametrize("name", ["script", "style", "textarea", "title"])
@pytest.mark.parametrize("unit", ["</{}", "</{} ", "<{}>", " "])
def test_the_ends_of_raw_elements_are_found_in_linear_time(name: str, unit: str) -> None:
    def depth(size: int) -> Callable[[], object]:
        text = f"<{name}>" + unit.format(name) * (size // len(unit))
        return lambda: markup.limit_depth(text)

    assert grows_linearly(depth, SIZES, MOST_SECONDS)


@pytest.mark.parametrize(
    "unit", [' data-ws-ab-box="', ' data-ws-ab-box="1"', " data-ws-ab-box=", '"']
)
def test_a_capture_is_taken_out_in_linear_time(unit: str) -> None:
    def plain(size: int) -> Callable[[], object]:
        return Captured(unit * (size // len(unit)), "ab").plain

    assert grows_linearly(plain, SIZES, MOST_SECONDS)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [(r"<title\b[^>]*>", "<title "), (r"\s+x", " "), (r"<!--.*?-->", "<!-- ")],
)
def test_a_pattern_that_takes_the_square_is_noticed(pattern: str, text: str) -> None:
    with pytest.raises(AssertionError):
        _check(re.compile(pattern, re.DOTALL), "search", ("", text, ""), (2_000, 20_000))


def test_every_pattern_of_the_package_is_listed_with_its_worst_case() -> None:
    found = set(_patterns())
    assert found - set(CASES) == set(), "not in CASES"
    assert set(CASES) - found == set(), "no longer in the package"


def test_patterns_are_made_in_functions_only_where_it_is_known() -> None:
    made: dict[str, int] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        count = sum(
            1
            for function in ast.walk(ast.parse(path.read_text()))
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            for call in ast.walk(function)
            if isinstance(call, ast.Call)
            and isinstance(call.func, ast.Attribute)
            and isinstance(call.func.value, ast.Name)
            and call.func.value.id == "re"
            and call.func.attr not in ("escape", "error")
        )
        if count:
            made[path.relative_to(PACKAGE).as_posix()] = count
    assert made == MADE_WHEN_USED


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    return dict(_walk())


def _walk() -> Iterator[tuple[str, re.Pattern[str]]]:
    """Walk the package's modules and yield the patterns that each has at its top."""
    prefix = f"{websegment_scrapy.__name__}."
    for module in pkgutil.walk_packages(websegment_scrapy.__path__, prefix):
        if "migrations" in module.name:
            continue
        loaded = importlib.import_module(module.name)
        for name, value in vars(loaded).items():
            where = f"{module.name.removeprefix(prefix)}.{name}"
            if isinstance(value, re.Pattern):
                if not _is_imported(loaded.__file__ or "", name):
                    yield where, value
            elif isinstance(value, dict):
                yield from (
                    (f"{where}[{key}]", each)
                    for key, each in value.items()
                    if isinstance(each, re.Pattern)
                )
            elif isinstance(value, tuple | list):
                yield from (
                    (f"{where}[{number}]", each)
                    for number, each in enumerate(value)
                    if isinstance(each, re.Pattern)
                )


def _is_imported(path: str, name: str) -> bool:
    return any(
        alias.name == name
        for node in ast.walk(ast.parse(Path(path).read_text()))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    )


def _check(pattern: re.Pattern[str], how: str, text: Text, sizes: tuple[int, int] = SIZES) -> None:
    start, unit, end = text

    def use(size: int) -> Callable[[], object]:
        return _use(pattern, how, start + unit * (size // len(unit)) + end)

    assert grows_linearly(use, sizes, MOST_SECONDS), (pattern.pattern, how, text)


def _use(pattern: re.Pattern[Any], how: str, text: str | bytes) -> Callable[[], object]:
    if isinstance(pattern.pattern, bytes) and isinstance(text, str):
        text = text.encode()
    if how == "sub":
        return lambda: pattern.sub("", text)
    if how == "finditer":
        return lambda: sum(1 for _ in pattern.finditer(text))
    return lambda: getattr(pattern, how)(text)
