"""The map of the house holds: what each folder may import."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import websegment_scrapy

PACKAGE = Path(websegment_scrapy.__file__).parent
ORDER = ["page", "template", "segment", "extract", "dedup"]
FOREIGN = {"scrapy", "scrapy_playwright", "playwright", "sqlalchemy", "twisted"}


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


@pytest.mark.parametrize("folder", ORDER)
def test_the_core_imports_only_what_stands_before_it(folder: str) -> None:
    allowed = {"config", "exceptions", "model_files", "trees", *ORDER[: ORDER.index(folder) + 1]}
    for path in (PACKAGE / folder).rglob("*.py"):
        for name in imports(path):
            top, *rest = name.split(".")
            assert top not in FOREIGN, f"{path.name} imports {name}"
            if top == "websegment_scrapy":
                assert rest[0] in allowed, f"{folder}/{path.name} imports {name}"


def test_nothing_imports_the_reactor() -> None:
    for path in PACKAGE.rglob("*.py"):
        assert not any(name.startswith("twisted.internet") for name in imports(path)), path


def test_analyze_needs_neither_scrapy_nor_a_browser_nor_a_database() -> None:
    script = (
        "import sys, websegment_scrapy\n"
        "page = websegment_scrapy.analyze('<h1>Title</h1><p>Some text of a page.')\n"
        "assert 'Some text of a page.' in page.main_text\n"
        f"loaded = {FOREIGN!r} & set(sys.modules)\n"
        "assert not loaded, loaded\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_every_module_begins_with_its_idea() -> None:
    for path in PACKAGE.rglob("*.py"):
        docstring = ast.get_docstring(ast.parse(path.read_text()))
        assert docstring, path
