"""The map of the house holds: what each folder may import, and that every module is on the map."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import websegment_scrapy

PACKAGE = Path(websegment_scrapy.__file__).parent
MAP = (PACKAGE.parent / "CONTRIBUTING.md").read_text()
FOREIGN = {"scrapy", "scrapy_playwright", "playwright", "sqlalchemy", "twisted"}

CORE = ("page", "template", "content", "segment", "text", "page_types", "dedup")
"""The way of a page."""

MAY_IMPORT: dict[str, set[str]] = {
    "exceptions": set(),
    "shielding": set(),
    "deadlines": set(),
    "trees": set(),
    "printable": set(),
    "items": set(),
    "keeper": set(),
    "config": {"exceptions", "keeper"},
    "model_files": {"exceptions", "trees"},
    "page": {"exceptions"},
    "template": {"model_files", "page"},
    "content": {"model_files", "trees", "page", "template"},
    "segment": {"exceptions", "model_files", "trees", "page", "template"},
    "text": {"exceptions", "page", "template", "content", "segment"},
    "page_types": {"model_files", "trees", "page", "content"},
    "dedup": {"page"},
    "archives": {"exceptions", "page"},
    "judging": {"model_files", *CORE},
    "findings": {"template", "dedup"},
    "analysis": {"config", "exceptions", *CORE, "judging", "findings"},
    "explanation": {"analysis", *CORE},
    "extraction": {"config", *CORE, "judging"},
    "frames": {"exceptions"},
    "worker": {"exceptions", "analysis", "frames"},
    "pool": {"exceptions", "shielding", "deadlines", "frames"},
    "tasks": {"exceptions", "page", "template", "dedup", "findings", "analysis", "extraction"},
    "store": {"exceptions", "template", "dedup"},
    "batch": {
        "exceptions", "config", "page", "template", "dedup", "archives", "pool",
        "tasks", "store",
    },
    "cluster": {"exceptions", "page", "dedup", "archives", "pool", "batch"},
    "crawl": {
        "exceptions", "shielding", "items", "keeper", "config", "page", "template", "segment",
        "dedup", "findings", "pool", "tasks", "store",
    },
    "addon": {"config", "crawl"},
    "measure": {"exceptions", "page", "archives", "crawl"},
    "learn": {"exceptions", "model_files", "trees", *CORE, "measure"},
    "evaluate": {
        "exceptions", "config", *CORE, "judging", "extraction", "pool", "store", "measure", "learn",
    },
    "bench": {
        "exceptions", "items", "config", *CORE, "analysis", "extraction", "store", "crawl",
        "measure",
    },
    "view": {
        "exceptions", "printable", "config", *CORE, "analysis", "explanation", "pool", "store",
    },
    "cli": {
        "exceptions", "printable", "config", "model_files", *CORE, "archives", "analysis",
        "explanation", "extraction", "pool", "store", "batch", "crawl", "measure", "learn",
        "evaluate", "bench", "view",
    },
}  # fmt: skip
"""Of every folder and module in the package what else of ours it may import: each only what stands
before it, so nothing goes round in circles."""

DOORS = {
    ("crawl/command.py", "cli"),  # scrapy websegment: Scrapy's door to the command line
}


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module == "websegment_scrapy":
            found |= {f"websegment_scrapy.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


def modules() -> dict[str, list[Path]]:
    """All modules of the package by the folder they stand in; those in none by their own name."""
    found: dict[str, list[Path]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        place = path.relative_to(PACKAGE)
        if place != Path("__init__.py"):
            found.setdefault(place.with_suffix("").parts[0], []).append(path)
    return found


def test_every_folder_and_module_has_its_place() -> None:
    assert set(modules()) == set(MAY_IMPORT)


def test_nobody_may_import_what_stands_after_it() -> None:
    order = list(MAY_IMPORT)
    for number, (place, allowed) in enumerate(MAY_IMPORT.items()):
        assert allowed <= set(order[:number]), place


@pytest.mark.parametrize("place", modules())
def test_everybody_imports_only_what_it_may(place: str) -> None:
    used = set()
    for path in modules()[place]:
        for name in imports(path):
            top, *rest = name.split(".")
            if top != "websegment_scrapy" or rest[0] == place:
                continue
            if (str(path.relative_to(PACKAGE)), rest[0]) not in DOORS:
                assert rest[0] in MAY_IMPORT[place], f"{path} imports {name}"
                used.add(rest[0])
    unused = MAY_IMPORT[place] - used - set(CORE)
    assert not unused, f"{place} imports none of {unused}: do not allow it"


@pytest.mark.parametrize(
    "place", [*CORE, "judging", "findings", "analysis", "extraction", "tasks", "keeper"]
)
def test_the_core_knows_neither_scrapy_nor_browsers_nor_databases(place: str) -> None:
    for path in modules()[place]:
        assert not {name.split(".")[0] for name in imports(path)} & FOREIGN, path


def test_the_keeper_needs_only_the_standard_library() -> None:
    for path in modules()["keeper"]:
        for name in imports(path):
            assert name.split(".")[0] in sys.stdlib_module_names | {"websegment_scrapy"}, path


def test_the_map_names_every_module() -> None:
    rows = [row.split("|") for row in MAP.splitlines() if row.startswith("| `")]
    for place, paths in modules().items():
        is_folder = (PACKAGE / place).is_dir()
        told = [row for row in rows if f"`{place}{'/' if is_folder else '.py'}`" in row[1]]
        assert len(told) == 1, f"{place} is not on the map in CONTRIBUTING.md"
        for path in paths if is_folder else ():
            name = path.relative_to(PACKAGE / place).parts[0].removesuffix(".py")
            if not name.startswith("__"):
                assert f"`{name}`" in told[0][2], f"the map does not name {place}/{name}"


def test_the_map_names_nothing_else() -> None:
    for row in MAP.splitlines():
        if not row.startswith("| `"):
            continue
        for name in re.findall(r"`(\w+)(?:/|\.py)`", row.split("|")[1]):
            assert name in MAY_IMPORT or name == "models", name


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
