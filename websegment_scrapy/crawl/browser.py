"""The browser: where a Chromium is, and how it is started."""

from __future__ import annotations

import json
import logging
import os
import shlex
import shutil
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from websegment_scrapy.exceptions import BrowserNotFound, NoSuchBrowser

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.async_api import Browser, BrowserType, ProxySettings

__all__ = [
    "CONTEXT_OPTIONS",
    "BrowserChoice",
    "behind_gate",
    "find_chromium",
    "gently",
    "launch",
    "launch_options",
]

logger = logging.getLogger(__name__)

ENVIRONMENT_VARIABLE = "WEBSEGMENT_CHROMIUM"
REMEDY = (
    "install one with `playwright install chromium` or the system's `chromium-headless-shell` or "
    "`chromium` package, or name "
    f"its executable in the setting or environment variable {ENVIRONMENT_VARIABLE}"
)

CONTEXT_OPTIONS: dict[str, Any] = {
    "viewport": {"width": 1280, "height": 1024},
    "ignore_https_errors": True,  # Scrapy does not verify certificates by default either
    "service_workers": "block",  # they would go on working after the page
    "accept_downloads": False,  # they would go on after the page, until the disk is full
    "permissions": [],  # and none is granted: no notifications, no place, no devices
}

_SYSTEM_NAMES = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome-stable",
    "google-chrome",
    "chrome",
)
_SYSTEM_PATHS = (
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
# The headless shell comes before the full browser, here and above: that one has a window with
# tools and renderers of its own for each page, which is nearly half of what a page costs.
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
    # Everything goes through the gate: the browser itself resolves no name, and sends no UDP.
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
)
NICENESS = 10
"""As that of the worker processes (``worker``)."""

SESSION_NICENESS = 5
"""A third of the weight of another session: less, and whatever else runs on the machine would keep
pages from being rendered in time."""

_SESSION_GIVES_WAY = f"""\
if [ -w /proc/self/autogroup ]; then
    read -r own _ _ _ _ session _ < /proc/self/stat
    [ "$own" != "$session" ] || echo {SESSION_NICENESS} > /proc/self/autogroup
fi
"""
"""Only the session that the browser leads: any other one is somebody else's."""

_NO_SANDBOX = ("sandbox", "namespace")
"""Words of Chromium's message where the system does not let it have its sandbox."""

NO_SANDBOX_REASON = (
    "Chromium runs without its sandbox (%s): a page that breaks out of it has this user's rights. "
    "Run the crawl as another user than root, where user namespaces are allowed, or in a container "
    "(see SECURITY.md)"
)


@dataclass(frozen=True, slots=True)
class BrowserChoice:
    """A Chromium's executable and who named it."""

    executable: str
    origin: Literal["explicit", "playwright", "system"]


def find_chromium(explicit: str | None = None) -> BrowserChoice:
    """Find a Chromium without starting anything.

    The order: `explicit` (the setting ``WEBSEGMENT_CHROMIUM``) or else the environment variable
    of the same name; the browser that belongs to the installed Playwright; a Chromium or Chrome
    of the system. A headless shell comes before a full browser of the same place.

    Raises
    ------
    BrowserNotFound
        There is none; ``NoSuchBrowser`` if the one that was named does not exist.
    """
    named = explicit or os.environ.get(ENVIRONMENT_VARIABLE)
    if named:
        found = shutil.which(named)
        if found is None:
            raise NoSuchBrowser(f"{ENVIRONMENT_VARIABLE} is {named!r}, not a program: {REMEDY}")
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

    Traffic of the browser's own is off. Its sandbox is on, but for root, whom Chromium refuses it.
    """
    return {
        "executable_path": choice.executable,
        "args": list(_ARGUMENTS),
        "chromium_sandbox": not _is_root(),
    }


def gently(executable: str, folder: Path) -> str:
    """Return a program in `folder` that starts the browser so that it gives way to the crawl.

    Its pages take all the processor time they can get; the crawl's event loop, which serves them
    all, must not wait for them. Linux gives each session its share of the time and looks at
    niceness within it only (sched(7), autogroups): the browser's session, which the driver makes
    for it, gets its own niceness. Root's browser loses root's capabilities: it would use them to
    put itself first, and a page that has taken it over for worse. Where programs cannot be
    started from the folder, it is the browser itself.
    """
    program = folder / "chromium"
    if not program.exists():
        command = [] if shutil.which("nice") is None else ["nice", "-n", str(NICENESS)]
        if _is_root() and shutil.which("setpriv") is not None:
            command += ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"]
        text = shlex.join([*command, executable])
        program.write_text(f'#!/bin/sh\n{_SESSION_GIVES_WAY}exec {text} "$@"\n', encoding="utf-8")
        program.chmod(0o700)
    return str(program) if os.access(program, os.X_OK) else executable


def behind_gate(port: int) -> ProxySettings:
    """Return Playwright's ``proxy`` option for a door of the gate; loopback is no exception."""
    return {"server": f"socks5://127.0.0.1:{port}", "bypass": "<-loopback>"}


async def launch(browser_type: BrowserType, options: dict[str, Any]) -> Browser:
    """Start a browser, without its sandbox only where the system does not allow it."""
    from playwright.async_api import Error as PlaywrightError  # a crawl may only look for a browser

    if not options.get("chromium_sandbox"):
        if _is_root():
            logger.warning(NO_SANDBOX_REASON, "as root it refuses to use it")
        return await browser_type.launch(**options)
    try:
        return await browser_type.launch(**options)
    except PlaywrightError as error:
        if not any(word in error.message.lower() for word in _NO_SANDBOX):
            raise
        browser = await browser_type.launch(**{**options, "chromium_sandbox": False})
        logger.warning(NO_SANDBOX_REASON, "the system does not allow it")
        return browser


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


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
