"""Every view for those who cannot see it well, or at all: axe-core finds nothing serious."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.seen import article, browser, fill
from tests.texts import prose
from tests.viewing import viewing
from websegment_scrapy.cli.main import main
from websegment_scrapy.view.server import ViewServer
from websegment_scrapy.view.viewer import Document

pytestmark = pytest.mark.browser

AXE = "axe-core@4.14.0"
REPORT = ("#/", "#/page/2", "#/pair/2", "#/cluster/1", "#/site/a.example", "#/since/came",
          "#/why/0", "#/between/0/1", "#/page/99")  # fmt: skip
VIEWS = ("", "?q=copied", "url/2", "pair/2/1", "cluster/1", "site?host=c.example", "page/0", "none")


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the script, from the npm registry."""
    folder = tmp_path_factory.mktemp("axe")
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("there is no npm")
    got = subprocess.run(
        [npm, "pack", AXE], cwd=folder, capture_output=True, check=False, timeout=120
    )
    if got.returncode:
        pytest.skip("the npm registry cannot be reached")
    with tarfile.open(next(folder.glob("*.tgz"))) as archive:
        script = archive.extractfile("package/axe.min.js")
        assert script is not None
        return script.read().decode()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, ViewServer]]:
    folder = tmp_path_factory.mktemp("views")
    database = f"sqlite:///{folder}/store.db"
    fill(database)
    target = folder / "report.html"
    main(["report", "--database", database, "-o", str(target), "-q"])
    documents = [Document("page", article(f"{prose(1)}\n{prose(2)}"), "http://a.example/")]
    with viewing(folder / "marks", database, documents) as server:
        yield target, server


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as started:
        yield started


def findings(page: Page, axe: str) -> list[str]:
    # The pages' own policy lets nothing run but their scripts: axe goes round it.
    page.evaluate(axe)
    found: dict[str, Any] = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{each['id']}: {node['target']} {node['failureSummary']}"
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"][:3]
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1440])
def test_axe_finds_nothing_serious(
    chromium: Browser, made: tuple[Path, ViewServer], axe: str, scheme: str, width: int
) -> None:
    target, server = made
    context = chromium.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True
    )
    page = context.new_page()
    wrong = {}
    for address in [
        *(target.as_uri() + hash_ for hash_ in REPORT),
        *(server.url + v for v in VIEWS),
    ]:
        page.goto("about:blank")
        page.goto(address)
        if page.locator("#main button").count():
            page.locator("#main button").first.click()
        found = findings(page, axe)
        if found:
            wrong[address.rpartition("/")[2] or address] = found
    context.close()
    assert wrong == {}
