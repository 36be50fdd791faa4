"""Everything users meet is documented, and what the documentation shows works."""

from __future__ import annotations

import argparse
import ast
import os
import re
import shlex
import sqlite3
import subprocess
import sys
from dataclasses import fields
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from tests.texts import page, prose
from websegment_scrapy import analyze
from websegment_scrapy.cli.main import build_parser
from websegment_scrapy.config import PREFIX, Config, PageMeta
from websegment_scrapy.content.text_blocks import text_blocks
from websegment_scrapy.crawl.dedup_pipeline import DedupPipeline
from websegment_scrapy.crawl.results import RESULT_FIELDS
from websegment_scrapy.crawl.segment_pipeline import SegmentPipeline
from websegment_scrapy.dedup.decision import DecisionKind
from websegment_scrapy.dedup.signature import RECIPES, signature_of
from websegment_scrapy.page.build import build_tree
from websegment_scrapy.page.decode import FORMATS
from websegment_scrapy.page.skeleton import build_skeleton
from websegment_scrapy.segment.atomic_blocks import atomic_blocks
from websegment_scrapy.segment.base import Segmenter
from websegment_scrapy.segment.registry import engine_names
from websegment_scrapy.store import PageRecord, Store
from websegment_scrapy.template.hashes import hash_nodes

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
TOP = ["README.md", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md", "example_project/README.md"]
DOCUMENTS = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
    for path in [*(ROOT / name for name in TOP), *sorted(DOCS.rglob("*.md"))]
}
REFERENCE = {
    name.removeprefix("docs/reference/").removesuffix(".md"): text
    for name, text in DOCUMENTS.items()
    if name.startswith("docs/reference/")
}
SOURCES = "\n".join(
    path.read_text() for path in sorted((ROOT / "websegment_scrapy" / "crawl").glob("*.py"))
)


def table_rows(text: str) -> list[list[str]]:
    return [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in text.splitlines()
        if line.startswith("|")
    ]


def blocks(text: str, language: str) -> list[str]:
    """Return the blocks of a language, without the indentation of those in lists."""
    return [
        re.sub(rf"(?m)^{indent}", "", block)
        for indent, block in re.findall(rf"(?ms)^( *)```{language}\n(.*?)^\1```", text)
    ]


def prose_of(text: str) -> str:
    """Return a document without its code."""
    return re.sub(r"`[^`\n]*`", "", re.sub(r"(?ms)^ *```.*?^ *```", "", text))


@pytest.mark.parametrize("field", fields(Config), ids=lambda field: field.name)
def test_every_setting_has_its_line_and_its_default(field) -> None:
    name = f"`{PREFIX}{field.name.upper()}`"
    (row,) = [row for row in table_rows(REFERENCE["settings"]) if row[0] == name]
    default = field.default
    if default is not None and field.name != "workers":
        written = f'"{default}"' if isinstance(default, str) else repr(default)
        assert row[1] == f"`{written}`"


def test_every_setting_that_is_named_exists() -> None:
    known = {f"{PREFIX}{field.name.upper()}" for field in fields(Config)} | {"WEBSEGMENT_DATA"}
    for name, text in DOCUMENTS.items():
        for setting in re.findall(r"\bWEBSEGMENT_[A-Z_]+\b", text):
            assert setting in known, f"{name}: {setting}"


@pytest.mark.parametrize("first", ["setting", "stat", "command", "engine", "column"])
def test_each_name_has_one_place(first: str) -> None:
    """No table outside of the reference lists settings, stats, commands or columns again."""
    for name, text in DOCUMENTS.items():
        if not name.startswith(("docs/reference/", "docs/results", "docs/methods/block-fusion")):
            assert not re.search(rf"(?m)^\| {first} \| (default|meaning|what it)", text), name


def test_every_meta_key_has_its_line() -> None:
    documented = {row[0].strip("`") for row in table_rows(REFERENCE["requests"])}
    assert {field.name for field in fields(PageMeta)} <= documented


def test_every_stat_has_its_line() -> None:
    stats = set(re.findall(r'f?"(websegment/[a-z_/]+)', SOURCES))
    assert len(stats) > 12
    for stat in stats:
        if stat.startswith("websegment/render/"):
            assert f"`{stat.rstrip('/')}" in REFERENCE["stats"], stat
        elif stat.endswith("/"):
            assert f"`{stat}KIND`" in REFERENCE["stats"], stat
        else:
            assert f"`{stat}`" in REFERENCE["stats"], stat


def test_every_command_has_its_line() -> None:
    def names(parser, prefix):
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                for name, sub in action.choices.items():
                    deeper = list(names(sub, f"{prefix} {name}"))
                    yield from deeper or [f"{prefix} {name}"]

    commands = list(names(build_parser(), "websegment"))
    assert len(commands) >= 10
    for command in commands:
        assert f"`{command}" in REFERENCE["commands"], command


def shown_commands() -> list[tuple[str, str]]:
    return [
        (name, line.partition("#")[0].strip())
        for name, text in DOCUMENTS.items()
        for block in blocks(text, "sh")
        for line in block.splitlines()
        if line.startswith("websegment ")
    ]


@pytest.mark.parametrize(("document", "command"), shown_commands())
def test_every_command_that_is_shown_is_one(document: str, command: str) -> None:
    arguments = shlex.split(command)[1:]
    assert callable(build_parser().parse_args(arguments).run), document


def test_every_kind_of_other_format_has_its_name() -> None:
    rows = table_rows(REFERENCE["stats"])
    (row,) = [row for row in rows if row[0] == "`websegment/other_formats/KIND`"]
    for kind in FORMATS:
        assert f"`{kind}`" in row[1]


def test_every_decision_has_its_line() -> None:
    documented = {row[0] for row in table_rows(DOCUMENTS["docs/methods/signatures.md"])}
    assert {f"`{kind}`" for kind in DecisionKind} <= documented


def test_every_public_name_is_sorted_and_has_its_line() -> None:
    import websegment_scrapy

    names = websegment_scrapy.__all__
    assert names == sorted(names)
    documented = {row[0].strip("`") for row in table_rows(REFERENCE["python"])}
    for name in names:
        assert getattr(websegment_scrapy, name).__doc__
        assert name in documented, name


def test_every_engine_has_its_line() -> None:
    documented = " ".join(row[0] for row in table_rows(REFERENCE["engines"]))
    for name in engine_names():
        assert f"`{name}`" in documented


def test_every_result_field_has_its_line_and_the_ones_shown_are_written() -> None:
    documented = {row[0].strip("`") for row in table_rows(REFERENCE["items"])}
    assert {*RESULT_FIELDS, "segments"} <= documented
    (segment,) = analyze("<p>One text.").to_dict()["segments"]
    assert set(segment) <= {
        row[0].strip("`") for row in table_rows(REFERENCE["items"].partition("## Segments")[2])
    }
    (shown,) = [block for block in blocks(REFERENCE["items"], "python") if '"main_text":' in block]
    keys = set(re.findall(r'^    "(\w+)":', shown, re.MULTILINE))
    described = f"{SegmentPipeline.__doc__}{DedupPipeline.__doc__}"
    for key in keys:
        assert f"``{key}``" in described, key
    assert keys == {*RESULT_FIELDS, "segments"}
    (short,) = [b for b in blocks(DOCUMENTS["README.md"], "python") if '"main_text":' in b]
    assert set(re.findall(r'^    "(\w+)":', short, re.MULTILINE)) <= keys


def filled_database(folder: Path) -> Path:
    """Make a database with a page, its copy and one that changed."""
    database = folder / "websegment.db"
    with Store.open(f"sqlite:///{database}", recipe=RECIPES["minhash"]) as store:
        for host, number in (("a", 1), ("b", 1), ("c", 2), ("c", 3)):
            store.decide(
                PageRecord(
                    url=f"http://{host}.example/",
                    words=len(prose(number).split()),
                    signature=signature_of(prose(number), RECIPES["minhash"]),
                    main_text_score=0.3 * number,
                    crawl="test",
                )
            )
        store.decide(PageRecord(url="http://d.example/", error="timed out", crawl="test"))
    return database


def test_the_queries_run(tmp_path: Path) -> None:
    queries = [query for text in DOCUMENTS.values() for query in blocks(text, "sql")]
    assert len(queries) >= 10
    with sqlite3.connect(filled_database(tmp_path)) as connection:
        for query in queries:
            assert connection.execute(query).fetchall(), query
    connection.close()


EXAMPLES = [
    pytest.param(code, id=f"{name}-{number}")
    for name, text in DOCUMENTS.items()
    for number, code in enumerate(blocks(text, "python"))
]


@pytest.mark.parametrize("code", EXAMPLES)
def test_the_python_examples_run_or_at_least_import(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    imports = "\n".join(
        line
        for line in code.splitlines()
        if re.match(r"(from|import) (websegment_scrapy|\w)", line)
    )
    exec(compile(imports, "imports", "exec"), {})
    if "…" in code:
        return  # shows a part of something
    ast.parse(code)
    if "yield" in code and "class " not in code:
        return  # lines of a callback
    filled_database(tmp_path)
    monkeypatch.chdir(tmp_path)
    site = [page(prose(number), f"Page {number}") for number in range(9)]
    names = {
        "html": site[0],
        "url": "https://example.org/",
        "pages": site,
        "print": lambda *_: None,
    }
    exec(compile(code, "example", "exec"), names)


def test_the_example_of_the_analysis_finds_its_text() -> None:
    (code,) = [b for b in blocks(DOCUMENTS["README.md"], "python") if "import analyze" in b]
    names: dict[str, object] = {"print": lambda *_: None}
    exec(compile(code, "README.md", "exec"), names)
    assert names["page"].main_text == analyze(code.split('"')[1]).main_text != ""


def test_the_components_named_exist() -> None:
    from scrapy.utils.misc import load_object

    (code,) = [b for b in blocks(REFERENCE["settings"], "python") if "ITEM_PIPELINES" in b]
    settings: dict[str, dict[str, object]] = {}
    exec(compile(code, "settings.md", "exec"), settings)
    for name in ("DOWNLOADER_MIDDLEWARES", "SPIDER_MIDDLEWARES", "ITEM_PIPELINES"):
        for path in settings[name]:
            load_object(path)
    for path in settings["DOWNLOAD_HANDLERS"].values():
        load_object(path)


def test_the_example_engine_is_one() -> None:
    (code,) = blocks(DOCUMENTS["CONTRIBUTING.md"], "python")
    names: dict[str, type] = {}
    exec(compile(code, "CONTRIBUTING.md", "exec"), names)
    engine = names["Columns"]()
    assert isinstance(engine, Segmenter)
    tree = build_tree("<table><tr><td>a<td>b<tr><td>c<td>d</table>")
    labels = engine.segment(tree)
    assert np.array_equal(labels[[0, 1]], labels[[2, 3]])
    assert labels[0] != labels[1]


def test_the_page_in_the_glossary_has_the_units_that_are_told() -> None:
    (html,) = blocks(DOCUMENTS["CONTRIBUTING.md"], "html")
    page = analyze(html)
    tree = page.tree
    found = {
        "text node": len(tree.texts),
        "leaf": len(tree.leaves),
        "text block": len(text_blocks(tree)),
        "atomic block": len(atomic_blocks(tree)),
        "row": len(build_skeleton(tree).low),
        "segment": len(page.segments),
        "part": int(hash_nodes(tree).part.sum()),
    }
    told = {row[0]: row[2] for row in table_rows(DOCUMENTS["CONTRIBUTING.md"]) if row[0] in found}
    assert told == {unit: str(count) for unit, count in found.items()}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_between_the_documents_lead_somewhere(document: str) -> None:
    path = ROOT / document
    for target in re.findall(r"\]\((?!http)([^)]+)\)", prose_of(DOCUMENTS[document])):
        file, _, anchor = target.partition("#")
        found = (path.parent / file).resolve() if file else path
        assert found.is_file(), target
        if anchor:
            headings = re.findall(r"^#+ (.+)$", found.read_text(), re.MULTILINE)
            slugs = {re.sub(r"[^\w -]", "", h).strip().lower().replace(" ", "-") for h in headings}
            assert anchor in slugs, target


def test_the_readme_is_short_and_its_pictures_small() -> None:
    readme = DOCUMENTS["README.md"].splitlines()
    assert len(readme) < 150
    pictures = [number for number, line in enumerate(readme) if line.startswith("![")]
    assert pictures[0] < 20  # within the first screen, and it is what the viewer shows
    assert "docs/pictures/view.png" in readme[pictures[0]]
    for name in ("segments", "view", "report"):
        assert (DOCS / "pictures" / f"{name}.png").stat().st_size < 200_000


class Requests(HTMLParser):
    """What a browser asks for when it shows a page: everything but where links lead."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("src", "srcset", "poster") or (name == "href" and tag == "link"):
                self.addresses.append(value or "")


def test_the_site_is_built_without_warnings_and_asks_no_other_host(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
    )
    assert done.returncode == 0, done.stderr
    pages = sorted(tmp_path.rglob("*.html"))
    assert len(pages) > 25
    for built in pages:
        found = Requests()
        found.feed(built.read_text(encoding="utf-8"))
        assert len(found.addresses) > 3
        for address in found.addresses:
            assert not re.match(r"(https?:)?//", address), f"{built.name}: {address}"
    for style in tmp_path.rglob("*.css"):
        assert not re.search(r"(url\(|@import )[\"']?(https?:)?//", style.read_text()), style.name
    assert (tmp_path / "security" / "index.html").is_file()
    assert not list(tmp_path.rglob("*.py"))
