"""A user's own project: one line in ``settings.py``, a crawl, and the answers."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.site import Site
from tests.texts import page, prose

ROOT = Path(__file__).resolve().parent.parent
NOT_IN_THE_SDIST = {".gitignore", "pyproject.toml"}  # hatchling adds both by itself
DATA_FILES = {".css", ".html", ".js", ".json", ".npz", ".svg", ".typed"}
SPIDER = """
import scrapy

class ShopSpider(scrapy.Spider):
    name = "shop"

    def __init__(self, start_url, **kwargs):
        super().__init__(**kwargs)
        self.start_urls = [start_url]

    def parse(self, response):
        yield {"link": response.url}
        yield from response.follow_all(css="a.next")
"""


def run(*command: str, folder: Path, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=os.environ | environment,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def make_project(folder: Path, *lines: str) -> Path:
    run("scrapy", "startproject", "shop", folder=folder)
    project = folder / "shop"
    with (project / "shop" / "settings.py").open("a") as settings:
        settings.write("\nADDONS = {'websegment_scrapy.Addon': 500}\n")
        settings.write("DOWNLOAD_DELAY = 0\n")
        settings.write("WEBSEGMENT_PRIVATE_HOSTS = ['127.0.0.1']\n")  # where the test's site is
        settings.writelines(f"{line}\n" for line in lines)
    (project / "shop" / "spiders" / "shop.py").write_text(SPIDER)
    return project


def crawl_site(project: Path, **environment: str) -> str:
    """Crawl three pages, the third a copy of the first, and return the URL of the site."""
    routes = {
        "/1": page(prose(1), "First", links='<ul><li><a class="next" href="/2">next</a></ul>'),
        "/2": page(prose(2), "Second", links='<ul><li><a class="next" href="/3">next</a></ul>'),
        "/3": page(prose(1), "Third"),
    }
    with Site(routes) as site:
        run(
            *("scrapy", "crawl", "shop", "-a", f"start_url={site.url('/1')}"),
            folder=project,
            **environment,
        )
        return site.url("")


def assert_decisions(project: Path, site: str, *, rendered: int) -> None:
    """Ask for the decisions in the three ways that users have."""
    with sqlite3.connect(project / "websegment.db") as database:
        rows = database.execute("SELECT url, decision FROM pages WHERE rendered = ?", (rendered,))
        decisions = dict(rows.fetchall())
    database.close()
    assert decisions.pop(f"{site}/2") == "new"
    # pages are analysed side by side: either of the two equal ones may be the first to be decided
    assert set(decisions) == {f"{site}/1", f"{site}/3"}
    assert sorted(decisions.values()) == ["duplicate", "new"]
    story = run("websegment_scrapy.cli.main", "dedup", "url", f"{site}/3", folder=project)
    assert f"{site}/1" in story
    assert "duplicate" in run("scrapy", "websegment", "dedup", "summary", folder=project)


@pytest.mark.browser
@pytest.mark.parametrize(("lines", "rendered"), [([], 0), (["WEBSEGMENT_RENDER = 'always'"], 1)])
def test_one_line_in_a_new_project_is_enough(
    tmp_path: Path, lines: list[str], rendered: int
) -> None:
    project = make_project(tmp_path, *lines)
    site = crawl_site(project)
    assert_decisions(project, site, rendered=rendered)  # pages without scripts need no browser


def path_without_browsers(folder: Path) -> str:
    """Return a PATH with the system's programs but for browsers."""
    programs = folder / "programs"
    programs.mkdir()
    for name in ("sh", "env", "uname"):
        if found := shutil.which(name):
            (programs / name).symlink_to(found)
    return str(programs)


def test_the_same_works_without_any_browser(tmp_path: Path) -> None:
    project = make_project(tmp_path, "WEBSEGMENT_RENDER = 'never'")
    site = crawl_site(
        project,
        PATH=path_without_browsers(tmp_path),
        WEBSEGMENT_CHROMIUM="",
        PLAYWRIGHT_BROWSERS_PATH=str(tmp_path / "none"),
    )
    assert_decisions(project, site, rendered=0)


def test_rendering_without_a_browser_goes_on_from_plain_html(tmp_path: Path) -> None:
    project = make_project(tmp_path, "LOG_FILE = 'log.txt'")
    site = crawl_site(
        project,
        PATH=path_without_browsers(tmp_path),
        WEBSEGMENT_CHROMIUM="",
        PLAYWRIGHT_BROWSERS_PATH=str(tmp_path / "none"),
    )
    assert_decisions(project, site, rendered=0)
    log = (project / "log.txt").read_text()
    assert log.count("no Chromium was found") == 1
    with sqlite3.connect(project / "websegment.db") as database:
        reasons = database.execute("SELECT DISTINCT render_error FROM pages").fetchall()
    database.close()
    assert reasons == [("no browser",)]


def test_scrapy_parse_shows_what_the_pipelines_add(tmp_path: Path) -> None:
    project = make_project(tmp_path, "WEBSEGMENT_RENDER = 'never'", "WEBSEGMENT_WORKERS = 1")
    with Site({"/1": page(prose(1), "First")}) as site:
        shown = run(
            *("scrapy", "parse", "--spider=shop", "-a", f"start_url={site.url('/1')}"),
            *("--pipelines", "--nocolour", site.url("/1")),
            folder=project,
        )
    assert "'decision': 'new'" in shown
    assert " ".join(prose(1).split()[:4]) in shown
    with sqlite3.connect(project / "websegment.db") as database:
        assert database.execute("SELECT url, decision FROM pages").fetchall() == [
            (site.url("/1"), "new")
        ]
    database.close()


def test_the_sdist_has_everything_of_the_repository() -> None:
    """Somebody who has only the sdist can run its tests and build its documentation."""
    if not (ROOT / ".git").exists():
        pytest.skip("this is not a git checkout")
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\0")
    tops = {name.split("/")[0] for name in listed if name} - NOT_IN_THE_SDIST
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    include = project["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    assert {each.lstrip("/") for each in include} == tops
    assert all(each.startswith("/") for each in include), "each only at the top"


def test_the_wheel_has_the_package_with_its_data_files_alone() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["tool"]["hatch"]["build"]["targets"]["wheel"] == {
        "packages": ["websegment_scrapy"]
    }
    package = ROOT / "websegment_scrapy"
    files = {
        path.relative_to(package)
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    kinds = {path.suffix or f".{path.name.rpartition('.')[2]}" for path in files}
    assert kinds == {".py", *DATA_FILES}
    names = {path.as_posix() for path in files}
    assert {"py.typed", "page/capture.js"} <= names
    assert any(path.parts[:2] == ("store", "migrations") for path in files)
    for method in ("content-any", "templates-rendered", "segmentation-static"):
        assert {f"models/{method}.json", f"models/{method}.npz"} <= names
