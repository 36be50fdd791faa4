"""What is used of other packages beyond their documentation is still as it is used.

scrapy-playwright's handler is made for its own crawls; ours overrides and calls its private parts.
Of Scrapy, the engine's slot and a few neighbours are used; of Playwright, how its driver is found;
of scikit-learn, in training, the trees of a fitted model.
None of them owes us anything: a new version may change them in silence, so each part has its test,
and its message names the place in this package to look at.
"""

from __future__ import annotations

import ast
import inspect
import os
import re
import textwrap
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import fields
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lxml import etree
from scrapy.core.downloader import Downloader, Slot
from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler
from scrapy.core.engine import ExecutionEngine, _Slot
from scrapy.crawler import AsyncCrawlerRunner, Crawler, CrawlerRunner
from scrapy.downloadermiddlewares.offsite import OffsiteMiddleware
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.extensions.corestats import CoreStats
from scrapy.middleware import MiddlewareManager
from scrapy_playwright import _utils
from scrapy_playwright import handler as handler_module
from scrapy_playwright.handler import BrowserContextWrapper, ScrapyPlaywrightDownloadHandler
from scrapy_playwright.handler import Config as PlaywrightConfig
from scrapy_playwright.provider import PlaywrightBrowserProvider
from scrapy_redis.queue import Base as Requests
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits

import websegment_scrapy
from websegment_scrapy.crawl.browsing import BrowsingHandler
from websegment_scrapy.crawl.driver import NODE_VARIABLE, _bundled_node
from websegment_scrapy.crawl.handler import RenderHandler
from websegment_scrapy.crawl.provider import KeptBrowserProvider
from websegment_scrapy.crawl.renderer import Renderer

PACKAGE = Path(websegment_scrapy.__file__).parent
ROOT = PACKAGE.parent

TRIED = "0.0.48"
"""The newest scrapy-playwright with which all tests were run."""

METHODS = {
    "__init__": ("self crawler", "browsing.BrowsingHandler.__init__"),
    "download_request": ("self request", "handler.RenderHandler.download_request"),
    "close": ("self", "handler.RenderHandler.close"),
    "_launch": ("self", "browsing.BrowsingHandler._launch and _ensure_browser"),
    "_maybe_launch_browser": ("self", "browsing.BrowsingHandler._ensure_browser"),
    "_browser_disconnected_callback": (
        "self",
        "browsing.BrowsingHandler._browser_disconnected_callback",
    ),
    "_create_browser_context": (
        "self name context_kwargs spider",
        "browsing.BrowsingHandler._create_browser_context",
    ),
    "_create_page": ("self request spider", "browsing.BrowsingHandler._create_page"),
    "_get_total_page_count": ("self", "browsing.BrowsingHandler._open_page"),
    "_set_stats_max_concurrent_page_count": ("self count", "browsing.BrowsingHandler._open_page"),
    "_close": ("self", "browsing.BrowsingHandler._close"),
    "_download_request": ("self request spider", "renderer.Renderer._download_request"),
    "_apply_page_methods": ("self page request spider", "renderer.Renderer._load"),
    "_make_request_handler": (
        "self context_name method url headers body encoding spider initial_request_done",
        "renderer.Renderer._route",
    ),
}
"""Methods of scrapy-playwright's handler: the parameters, and who overrides or calls it."""

COROUTINES = set(METHODS) - {
    "__init__",
    "_get_total_page_count",
    "_set_stats_max_concurrent_page_count",
    "_make_request_handler",
}

CALLERS = {
    "_launch": "_maybe_launch_in_thread",
    "_browser_disconnected_callback": "_maybe_launch_browser",
    "_create_browser_context": "_launch",
    "_close": "close",
    "_download_request": "download_request",
}
"""Overridden methods, and the methods of scrapy-playwright that have to call them."""

ATTRIBUTES = {
    "_crawler": "renderer.Renderer._render_once",
    "abort_request": "renderer.Renderer._load",
    "browser": "browsing.BrowsingHandler._close_browser",
    "browser_provider": "browsing.BrowsingHandler.keeper",
    "browser_provider_cls": "browsing.BrowsingHandler.__init__",
    "config": "browsing.BrowsingHandler.__init__",
    "context_launch_lock": "browsing.BrowsingHandler._open_page",
    "context_wrappers": "browsing.BrowsingHandler._open_page",
    "process_request_headers": "renderer.Renderer.__init__",
    "stats": "browsing.BrowsingHandler._open_page",
}
"""Attributes of scrapy-playwright's handler, and where they are used."""

PROVIDER_METHODS = {
    "__init__": "self config",
    "start": "self",
    "launch_browser": "self",
    "launch_persistent_context": "self context_kwargs",
    "close": "self",
}
PROVIDER_ATTRIBUTES = {"browser_type", "config"}

FUNCTIONS = {
    "_attach_page_event_handlers": "page request spider context_name",
    "_maybe_execute_page_init_callback": "page request context_name spider",
    "_set_redirect_meta": "request response",
}
"""Of ``scrapy_playwright._utils``; all are called in renderer.Renderer._load by keyword."""

PRIVATE_IMPORTS = {("renderer.py", f"scrapy_playwright._utils.{name}") for name in FUNCTIONS}
PRIVATE_ATTRIBUTES = {
    ("_slot", "ending.py"),
    ("_slot", "scheduler.py"),
    ("_encode_request", "scheduler.py"),
    ("_decode_request", "scheduler.py"),
    ("_predictors", "boosting.py"),
    ("_baseline_prediction", "boosting.py"),
    ("_Element", "by_script.py"),
    ("_Element", "convert.py"),
    ("_Element", "parse.py"),
    ("_Element", "plain.py"),
    ("_Element", "walk.py"),
}
"""What is named with an underscore, and is neither ours nor a part of the handler."""
STANDARD = {"_exit", "_SubParsersAction"}
"""The standard library's; the first is documented, the second has no other name."""


def parameters(function: Callable[..., Any]) -> str:
    return " ".join(inspect.signature(function).parameters)


@cache
def tree(thing: Any) -> ast.AST:
    return ast.parse(textwrap.dedent(inspect.getsource(thing)))


def of_self(node: ast.AST) -> Iterator[ast.Attribute]:
    """Yield each ``self.name`` and ``super().name``."""
    for each in ast.walk(node):
        if isinstance(each, ast.Attribute):
            value = each.value
            called = value.func if isinstance(value, ast.Call) else value
            if isinstance(called, ast.Name) and called.id in ("self", "super"):
                yield each


def assigned(kind: type) -> set[str]:
    """Return the attributes that a class and those above it give their instances."""
    return {
        attribute.attr
        for each in kind.__mro__[:-1]
        for attribute in of_self(tree(each))
        if isinstance(attribute.ctx, ast.Store)
    }


def used(*kinds: type) -> set[str]:
    """Return what our classes use of themselves that is not their own."""
    own = {name for kind in kinds for name in vars(kind)}
    for kind in kinds:
        own |= {each.attr for each in of_self(tree(kind)) if isinstance(each.ctx, ast.Store)}
    names = {each.attr for kind in kinds for each in of_self(tree(kind))}
    return names - own


def overridden(kinds: tuple[type, ...], upstream: type) -> set[str]:
    ours = {name for kind in kinds for name, value in vars(kind).items() if callable(value)}
    ours |= {name for kind in kinds for name in vars(kind) if name == "from_crawler"}
    return {name for name in ours if name in dir(upstream) and name not in dir(object)}


def test_scrapy_playwright_is_one_that_was_tried() -> None:
    """Its patch releases change private parts, so each is let in when the tests passed with it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (bounds,) = [each for each in project["dependencies"] if each.startswith("scrapy-playwright")]
    *first, last = TRIED.split(".")
    following = ".".join([*first, str(int(last) + 1)])
    assert bounds.endswith(f",<{following}"), (
        f"{bounds} in pyproject.toml lets in versions after {TRIED}, the last one that was tried: "
        f"run `make test` with the new one, then change TRIED and the bound together"
    )
    assert version("scrapy-playwright") == TRIED


@pytest.mark.parametrize("name", METHODS)
def test_a_method_of_the_handler_takes_what_it_took(name: str) -> None:
    wanted, ours = METHODS[name]
    method = getattr(ScrapyPlaywrightDownloadHandler, name, None)
    assert method is not None, f"scrapy-playwright's handler has no {name} any more; see {ours}"
    assert parameters(method) == wanted, f"{name} takes other parameters now; see {ours}"
    coroutine = inspect.iscoroutinefunction(method)
    assert coroutine == (name in COROUTINES), f"{name}: awaited or not has changed; see {ours}"


@pytest.mark.parametrize("name", sorted(CALLERS))
def test_an_overridden_method_is_still_called(name: str) -> None:
    caller = CALLERS[name]
    source = tree(getattr(ScrapyPlaywrightDownloadHandler, caller))
    assert name in {each.attr for each in of_self(source)}, (
        f"scrapy-playwright's {caller} does not use {name} any more, so the override in "
        f"{METHODS[name][1]} does nothing"
    )


@pytest.mark.parametrize("name", sorted(ATTRIBUTES))
def test_the_handler_has_an_attribute(name: str) -> None:
    assert name in assigned(ScrapyPlaywrightDownloadHandler), (
        f"scrapy-playwright's handler has no attribute {name} any more; see {ATTRIBUTES[name]}"
    )


def test_the_handlers_configuration_has_what_is_read_and_changed() -> None:
    known = {field.name for field in fields(PlaywrightConfig)}
    for kind in (BrowsingHandler, Renderer, KeptBrowserProvider):
        read = set(re.findall(r"self\.config\.(\w+)", inspect.getsource(kind)))
        assert read <= known, f"scrapy-playwright's Config lacks {read - known}; see {kind}"


def test_a_browser_context_is_wrapped_as_it_was() -> None:
    names = {field.name for field in fields(BrowserContextWrapper)}
    assert "context" in names, "see wrapper.context in browsing.BrowsingHandler"


def test_the_handlers_constants_are_there() -> None:
    assert handler_module.DEFAULT_CONTEXT_NAME == "default", "see browsing: _context_of"
    assert handler_module.PERSISTENT_CONTEXT_PATH_KEY == "user_data_dir", (
        "see browsing: _create_browser_context; users name it in PLAYWRIGHT_CONTEXTS"
    )


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_beside_the_handler_takes_what_it_took(name: str) -> None:
    function = getattr(_utils, name, None)
    assert function is not None, (
        f"scrapy_playwright._utils has no {name}; see renderer.Renderer._load"
    )
    assert parameters(function) == FUNCTIONS[name], f"{name}: see renderer.Renderer._load"
    awaited = name != "_attach_page_event_handlers"
    assert inspect.iscoroutinefunction(function) == awaited, f"{name}: see renderer.Renderer._load"


@pytest.mark.parametrize("name", PROVIDER_METHODS)
def test_a_method_of_the_provider_takes_what_it_took(name: str) -> None:
    method = getattr(PlaywrightBrowserProvider, name)
    wanted = PROVIDER_METHODS[name]
    assert parameters(method) == wanted, f"see provider.KeptBrowserProvider.{name}"
    assert inspect.iscoroutinefunction(method) == (name != "__init__"), name


def test_the_provider_has_its_attributes() -> None:
    missing = PROVIDER_ATTRIBUTES - assigned(PlaywrightBrowserProvider)
    assert not missing, f"{missing}: see provider.KeptBrowserProvider"


def test_the_handler_makes_its_provider_from_its_configuration_alone() -> None:
    source = inspect.getsource(ScrapyPlaywrightDownloadHandler._launch)
    assert "self.browser_provider_cls(self.config)" in source, (
        "see browser_provider_cls in browsing.BrowsingHandler.__init__"
    )


def test_nothing_else_of_the_handler_and_the_provider_is_used() -> None:
    ours = (BrowsingHandler, Renderer)
    known = {*METHODS, *ATTRIBUTES}
    foreign = used(*ours) | overridden(ours, ScrapyPlaywrightDownloadHandler)
    assert foreign <= known, f"{foreign - known} have no test in {Path(__file__).name}"
    named = {each.attr for kind in (*ours, RenderHandler) for each in of_self(tree(kind))}
    unused = known - foreign - named
    assert not unused, f"{unused} are listed in {Path(__file__).name} and not used"
    provider = used(KeptBrowserProvider)
    provider |= overridden((KeptBrowserProvider,), PlaywrightBrowserProvider)
    listed = {*PROVIDER_METHODS, *PROVIDER_ATTRIBUTES}
    assert provider <= listed, f"{provider - listed} have no test in {Path(__file__).name}"


def foreign_imports(path: Path) -> Iterator[str]:
    """Yield the imported names of other packages that have a part with an underscore."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            parts = name.split(".")
            if parts[0] not in ("websegment_scrapy", "__future__") and any(
                part.startswith("_") for part in parts
            ):
                yield name


def foreign_attributes(path: Path) -> Iterator[str]:
    """Yield attributes with an underscore that the module itself does not define."""
    source = ast.parse(path.read_text())
    defined = {"_fields", "_make", "_replace", "_asdict"}  # of named tuples: documented
    for node in ast.walk(source):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            defined.add(node.name)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            defined.add(node.attr)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            defined.add(node.id)
    through_self = set(of_self(source))
    for node in ast.walk(source):
        if isinstance(node, ast.Attribute) and node not in through_self:
            private = node.attr.startswith("_") and not node.attr.endswith("__")
            if private and node.attr not in defined:
                yield node.attr


def test_no_other_private_part_of_any_package_is_used() -> None:
    paths = sorted(PACKAGE.rglob("*.py"))
    imports = {(path.name, name) for path in paths for name in foreign_imports(path)}
    attributes = {(name, path.name) for path in paths for name in foreign_attributes(path)}
    attributes = {each for each in attributes if each[0] not in STANDARD}
    assert imports == PRIVATE_IMPORTS
    assert attributes == PRIVATE_ATTRIBUTES


def test_scrapys_engine_has_its_slot_with_what_is_in_progress() -> None:
    look = "see crawl/ending.py: Ending._close_queue"
    assert "_slot" in assigned(ExecutionEngine), look
    assert {"inprogress", "scheduler"} <= assigned(_Slot), look
    assert "spider" in assigned(ExecutionEngine), "see crawl/ending.py: Ending._close_by_force"


def test_scrapys_engine_is_closed_and_fed_as_it_was() -> None:
    look = "see crawl/ending.py: Ending.fail and Ending._put_back"
    assert parameters(ExecutionEngine.close_spider_async) == "self reason", look
    assert inspect.iscoroutinefunction(ExecutionEngine.close_spider_async), look
    assert parameters(ExecutionEngine.crawl) == "self request", look
    assert not inspect.iscoroutinefunction(ExecutionEngine.crawl), look
    assert "crawling" in assigned(Crawler), "see crawl/ending.py: Ending.stopping"


@pytest.mark.parametrize("name", ["__init__", "download_request", "close"])
def test_scrapys_own_handler_takes_what_it_took(name: str) -> None:
    look = f"see handler.RenderHandler.{name}"
    method = getattr(HTTP11DownloadHandler, name)
    assert parameters(method) == METHODS[name][0], look
    assert inspect.iscoroutinefunction(method) == (name != "__init__"), look


def test_scrapys_downloader_keeps_what_waits_in_its_slots() -> None:
    look = "see crawl/ending.py: Ending._empty_slots"
    assert "slots" in assigned(Downloader), look
    assert "queue" in {*assigned(Slot), *dir(Slot)}, look
    source = inspect.getsource(Downloader)
    assert re.search(r"slot\.queue\.append\(\(request, \w+\)\)", source), look
    assert re.search(r"request, \w+ = slot\.queue\.popleft\(\)", source), look


def test_scrapy_redis_makes_bytes_of_requests_and_requests_of_bytes() -> None:
    look = "see crawl/scheduler.py: SharedScheduler"
    assert parameters(Requests._encode_request) == "self request", look
    assert parameters(Requests._decode_request) == "self encoded_request", look


def test_scrapys_middlewares_can_be_asked() -> None:
    look = "see crawl/rules.py"
    assert "middleware" in assigned(Downloader), look
    assert "middlewares" in assigned(MiddlewareManager), look
    assert parameters(OffsiteMiddleware.should_follow) == "self request spider", look
    asked = inspect.signature(RobotsTxtMiddleware.process_request).parameters
    assert list(asked)[:2] == ["self", "request"], look
    needed = [name for name, each in asked.items() if each.default is each.empty]
    assert needed == ["self", "request"], look
    assert inspect.iscoroutinefunction(RobotsTxtMiddleware.process_request), look


def test_a_crawl_without_a_spider_has_failed_for_scrapy() -> None:
    look = "see crawl/ending.py: Ending._stopped, which makes the exit status"
    for runner in (CrawlerRunner, AsyncCrawlerRunner):
        source = inspect.getsource(runner)
        assert re.search(r"bootstrap_failed \|= not getattr\(crawler, .spider., None\)", source), (
            f"{runner.__name__}: {look}"
        )
    assert "self" in parameters(CoreStats.spider_closed), "see crawl/ending.py: Ending.refuse"
    assert parameters(Crawler.get_extension) == "self cls", "see crawl/ending.py: Ending.refuse"


def test_playwrights_driver_is_started_by_the_program_that_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from playwright._impl._driver import compute_driver_executable

    look = "see crawl/driver.py: without it SIGINT ends the browser before the crawl"
    monkeypatch.delenv(NODE_VARIABLE, raising=False)
    node, script = compute_driver_executable()
    assert os.fspath(node) == _bundled_node(), look
    assert Path(script).is_file(), look
    monkeypatch.setenv(NODE_VARIABLE, "/somewhere/node")
    assert compute_driver_executable() == ("/somewhere/node", script), look


def test_scikit_learns_boosted_trees_can_be_read() -> None:
    look = "see learn/boosting.py, which takes the arrays out of a fitted model"
    columns = np.arange(40.0).reshape(-1, 1)
    model = HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=2)
    with threadpool_limits(limits=1):  # threads that wait for each other starve on a busy machine
        model.fit(columns, columns[:, 0] > 20)
    assert np.size(model._baseline_prediction) == 1, look
    assert [len(iteration) for iteration in model._predictors] == [1, 1], look
    nodes = model._predictors[0][0].nodes
    wanted = {"is_leaf", "value", "feature_idx", "num_threshold", "left", "right"}
    assert wanted <= set(nodes.dtype.names), look


def test_lxmls_elements_have_their_name() -> None:
    assert isinstance(etree.fromstring("<a/>"), etree._Element), "see page/walk.py and others"
