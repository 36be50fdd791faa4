"""The browser: where a Chromium is, how it is started, how a loaded page is captured."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal
from weakref import WeakKeyDictionary

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import TimeoutError as PlaywrightTimeout

from websegment_scrapy.exceptions import BrowserNotFound
from websegment_scrapy.page.capture import SCRIPT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.async_api import Page, Request

__all__ = [
    "CONTEXT_OPTIONS",
    "UNNEEDED_RESOURCES",
    "BrowserChoice",
    "capture_page",
    "find_chromium",
    "launch_options",
    "watch_requests",
]

ENVIRONMENT_VARIABLE = "WEBSEGMENT_CHROMIUM"
REMEDY = (
    "install one with `playwright install chromium` or the system's `chromium` package, or name "
    f"its executable in the setting or environment variable {ENVIRONMENT_VARIABLE}"
)

CONTEXT_OPTIONS: dict[str, Any] = {
    "viewport": {"width": 1280, "height": 1024},
    "ignore_https_errors": True,  # Scrapy does not verify certificates by default either
    "service_workers": "block",  # they would answer from beyond the interception of requests
}
UNNEEDED_RESOURCES = frozenset({"eventsource", "font", "manifest", "media", "texttrack"})
"""Resource types that are not loaded; images are, since their size may be undeclared."""

_SYSTEM_NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")
_SYSTEM_PATHS = (
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
# In the order of preference: the headless shell starts faster than the full browser.
_PLAYWRIGHT_BROWSERS = ("chromium_headless_shell", "chromium")
_PLAYWRIGHT_EXECUTABLES = frozenset(
    {
        "headless_shell",
        "headless_shell.exe",
        "chrome-headless-shell",
        "chrome-headless-shell.exe",
        "chrome",
        "chrome.exe",
        "Chromium",
        "Google Chrome for Testing",
    }
)
_ARGUMENTS = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-dev-shm-usage",
    "--disable-domain-reliability",
    "--disable-quic",
    "--disable-sync",
    "--no-default-browser-check",
    "--no-first-run",
    "--no-pings",
)
DATA_RESOURCES = frozenset({"fetch", "xhr"})
DATA_SECONDS = 3.0
"""How long a loaded page's requests for data are waited for; some poll for ever."""

DATA_POLL_SECONDS = 0.02
_DATA_REQUESTS: WeakKeyDictionary[Page, set[Any]] = WeakKeyDictionary()
_CAPTURE_ATTEMPTS = 3  # a page that redirects itself by script destroys the first attempts


@dataclass(frozen=True, slots=True)
class BrowserChoice:
    """A Chromium's executable and who named it."""

    executable: str
    origin: Literal["explicit", "playwright", "system"]


def find_chromium(explicit: str | None = None) -> BrowserChoice:
    """Find a Chromium without starting anything.

    The order: `explicit` (the setting ``WEBSEGMENT_CHROMIUM``) or else the environment variable
    of the same name; the browser that belongs to the installed Playwright; a Chromium or Chrome
    of the system.

    Raises
    ------
    BrowserNotFound
        There is none, or the one that was named does not exist.
    """
    named = explicit or os.environ.get(ENVIRONMENT_VARIABLE)
    if named:
        found = shutil.which(named)
        if found is None:
            raise BrowserNotFound(f"{ENVIRONMENT_VARIABLE} is {named!r}, not a program: {REMEDY}")
        return BrowserChoice(found, "explicit")
    for path in _playwright_executables():
        return BrowserChoice(str(path), "playwright")
    for name in (*_SYSTEM_NAMES, *_SYSTEM_PATHS):
        found = shutil.which(name)
        if found is not None:
            return BrowserChoice(found, "system")
    raise BrowserNotFound(f"no Chromium was found: {REMEDY}")


def launch_options(choice: BrowserChoice) -> dict[str, Any]:
    """Return the keyword arguments for Playwright's ``chromium.launch``.

    Traffic of the browser's own is off. As root Chromium runs only without its sandbox.
    """
    arguments = list(_ARGUMENTS)
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        arguments.append("--no-sandbox")
    return {"executable_path": choice.executable, "args": arguments}


def watch_requests(page: Page) -> None:
    """Count a new page's requests for data, so that `capture_page` can wait for them."""
    under_way: set[Any] = set()
    _DATA_REQUESTS[page] = under_way

    def started(request: Request) -> None:
        if request.resource_type in DATA_RESOURCES:
            under_way.add(request)

    def ended(request: Request) -> None:  # Playwright takes functions, not set.discard itself
        under_way.discard(request)

    page.on("request", started)
    page.on("requestfinished", ended)
    page.on("requestfailed", ended)


async def capture_page(page: Page, settle_ms: float, load_ms: float) -> None:
    """Write the layout of a page that has its DOM into it.

    The ``load`` event is waited for, but not for ever: what is still loading after `load_ms`
    (an image that never ends, say) is stopped, and the page is taken as it stands. A page that
    is built from data it fetches counts as finished when no such request is under way and its
    DOM is quiet; `settle_ms` of 0 waits for neither.
    """
    for attempt in range(1, _CAPTURE_ATTEMPTS + 1):
        try:
            try:
                await page.wait_for_load_state("load", timeout=load_ms)
            except PlaywrightTimeout:
                await page.evaluate("() => window.stop()")
            await _capture_settled(page, settle_ms)
        except PlaywrightError as error:
            navigated = "context was destroyed" in error.message or "navigat" in error.message
            if attempt == _CAPTURE_ATTEMPTS or not navigated:
                raise
        else:
            return


async def _capture_settled(page: Page, settle_ms: float) -> None:
    """Capture when the data is there; data that arrives meanwhile means once more."""
    under_way = _DATA_REQUESTS.get(page, set()) if settle_ms else set()
    deadline = monotonic() + DATA_SECONDS
    while True:
        while under_way and monotonic() < deadline:
            await asyncio.sleep(DATA_POLL_SECONDS)
        await page.evaluate(SCRIPT, {"settle": settle_ms})
        if not under_way or monotonic() >= deadline:
            return


def _playwright_executables() -> Iterator[Path]:
    """Find the installed browsers of exactly the revision this Playwright wants.

    Playwright's registry is a folder per browser and revision with a marker file in it; asking
    its driver would say the same, half a second later.
    """
    spec = find_spec("playwright")
    if spec is None or spec.origin is None:
        return
    package = Path(spec.origin).parent / "driver" / "package"
    try:
        described = json.loads((package / "browsers.json").read_text(encoding="utf-8"))
        revisions = {
            browser["name"]: {browser["revision"], *browser.get("revisionOverrides", {}).values()}
            for browser in described["browsers"]
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return
    registry = _playwright_registry(package)
    for name in _PLAYWRIGHT_BROWSERS:
        # the description writes chromium-headless-shell, the folder chromium_headless_shell
        for revision in sorted(revisions.get(name.replace("_", "-"), ())):
            folder = registry / f"{name}-{revision}"
            if (folder / "INSTALLATION_COMPLETE").is_file():
                yield from sorted(
                    path
                    for path in folder.glob("**/*")
                    if path.name in _PLAYWRIGHT_EXECUTABLES
                    and path.is_file()
                    and os.access(path, os.X_OK)
                )


def _playwright_registry(package: Path) -> Path:
    named = os.environ.get("PLAYWRIGHT_BROWSERS_PATH")
    if named == "0":
        return package / ".local-browsers"
    if named:
        return Path(named)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "ms-playwright"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData/Local")) / "ms-playwright"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ms-playwright"
