"""Everything users meet is documented, and what the documentation shows works."""

from __future__ import annotations

import argparse
import ast
import re
import sqlite3
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import inspect

from websegment_scrapy import analyze
from websegment_scrapy.cli.main import build_parser
from websegment_scrapy.config import PREFIX, Config, PageMeta
from websegment_scrapy.crawl.dedup_pipeline import DedupPipeline
from websegment_scrapy.crawl.results import RESULT_FIELDS
from websegment_scrapy.crawl.segment_pipeline import SegmentPipeline
from websegment_scrapy.dedup.signature import RECIPES, signature_of
from websegment_scrapy.page.build import build_tree
from websegment_scrapy.page.decode import FORMATS
from websegment_scrapy.segment.base import Segmenter
from websegment_scrapy.segment.registry import engine_names
from websegment_scrapy.store import PageRecord, Store
from websegment_scrapy.store.models import Page

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
RENDERING = (ROOT / "docs" / "rendering.md").read_text()
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
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


@pytest.mark.parametrize("field", fields(Config), ids=lambda field: field.name)
def test_every_setting_has_its_line_and_its_default(field) -> None:
    name = f"`{PREFIX}{field.name.upper()}`"
    (row,) = [row for row in table_rows(README) if row[0] == name]
    default = field.default
    if default is not None and field.name != "workers":
        written = f'"{default}"' if isinstance(default, str) else repr(default)
        assert row[1] == f"`{written}`"


def test_every_meta_key_has_its_line() -> None:
    documented = {row[0].strip("`") for row in table_rows(README)}
    assert {field.name for field in fields(PageMeta)} <= documented


def test_every_stat_has_its_line() -> None:
    stats = set(re.findall(r'f?"(websegment/[a-z_/]+)', SOURCES))
    assert len(stats) > 12
    for stat in stats:
        if stat.startswith("websegment/render/"):
            assert f"`{stat.removeprefix('websegment/render/').split('/')[0]}" in RENDERING, stat
        elif stat.endswith("/"):
            assert f"`{stat}KIND`" in README, stat
        else:
            assert f"`{stat}`" in README, stat


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
        assert f"`{command}" in README, command


def test_every_kind_of_other_format_has_its_name() -> None:
    (row,) = [row for row in table_rows(README) if row[0] == "`websegment/other_formats/KIND`"]
    for kind in FORMATS:
        assert f"`{kind}`" in row[1]


def test_every_public_name_is_sorted_and_there() -> None:
    import websegment_scrapy

    names = websegment_scrapy.__all__
    assert names == sorted(names)
    for name in names:
        assert getattr(websegment_scrapy, name).__doc__


def test_every_engine_has_its_line() -> None:
    for name in engine_names():
        assert f"`{name}`" in README


def test_every_column_of_pages_has_its_line() -> None:
    section = README[README.index("## The database") :]
    for column in inspect(Page).columns:
        assert f"`{column.name}`" in section, column.name


def test_the_result_field_shown_is_the_one_written() -> None:
    (shown,) = [block for block in blocks(README, "python") if '"main_text":' in block]
    keys = set(re.findall(r'^    "(\w+)":', shown, re.MULTILINE))
    described = f"{SegmentPipeline.__doc__}{DedupPipeline.__doc__}"
    for key in keys:
        assert f"``{key}``" in described, key
    assert keys == {*RESULT_FIELDS, "segments"}


def test_the_readme_queries_run(tmp_path: Path) -> None:
    database = tmp_path / "pages.db"
    text = (
        "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    )
    with Store.open(f"sqlite:///{database}", recipe=RECIPES["minhash"]) as store:
        for host in ("a.example", "b.example"):
            store.decide(
                PageRecord(
                    url=f"http://{host}/",
                    words=15,
                    signature=signature_of(text, RECIPES["minhash"]),
                    crawl="test",
                )
            )
    queries = blocks(README, "sql")
    assert len(queries) >= 3
    with sqlite3.connect(database) as connection:
        for query in queries:
            assert connection.execute(query).fetchall(), query
    connection.close()


def test_the_python_examples_are_python_and_the_analysis_runs() -> None:
    examples = [
        block
        for block in blocks(README, "python") + blocks(RENDERING, "python")
        if "…" not in block
    ]
    assert len(examples) >= 4
    for example in examples:
        ast.parse(example)
    (code,) = [block for block in blocks(README, "python") if "import analyze" in block]
    exec(compile(code.replace("print(", "shown = ("), "README.md", "exec"), {"analyze": analyze})


def test_the_components_named_in_the_readme_exist() -> None:
    from scrapy.utils.misc import load_object

    (code,) = [block for block in blocks(README, "python") if "ITEM_PIPELINES" in block]
    settings: dict[str, dict[str, object]] = {}
    exec(compile(code, "README.md", "exec"), settings)
    for name in ("DOWNLOADER_MIDDLEWARES", "SPIDER_MIDDLEWARES", "ITEM_PIPELINES"):
        for path in settings[name]:
            load_object(path)
    for path in settings["DOWNLOAD_HANDLERS"].values():
        load_object(path)


def test_the_example_engine_is_one() -> None:
    (code,) = blocks(CONTRIBUTING, "python")
    names: dict[str, type] = {}
    exec(compile(code, "CONTRIBUTING.md", "exec"), names)
    engine = names["Columns"]()
    assert isinstance(engine, Segmenter)
    tree = build_tree("<table><tr><td>a<td>b<tr><td>c<td>d</table>")
    labels = engine.segment(tree)
    assert np.array_equal(labels[[0, 1]], labels[[2, 3]])
    assert labels[0] != labels[1]


def test_links_between_the_documents_lead_somewhere() -> None:
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]:
        text = path.read_text()
        for target in re.findall(r"\]\((?!http)([^)]+)\)", text):
            file, _, anchor = target.partition("#")
            found = path.parent / file if file else path
            assert found.is_file(), f"{path.name}: {target}"
            headings = re.findall(r"^#+ (.+)$", found.read_text(), re.MULTILINE)
            slugs = {re.sub(r"[^\w -]", "", h).strip().lower().replace(" ", "-") for h in headings}
            assert not anchor or anchor in slugs, f"{path.name}: {target}"
