"""The ``WEBSEGMENT_*`` settings, read once into a frozen, validated object."""

from __future__ import annotations

import difflib
import os
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, cast

from websegment_scrapy.exceptions import ConfigError
from websegment_scrapy.keeper.addresses import PrivateHosts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["MAIN_TEXTS", "META_KEY", "PREFIX", "Config", "PageMeta"]

PREFIX = "WEBSEGMENT_"
META_KEY = "websegment"
"""The one key of ``request.meta`` that this package reads and writes."""

RENDER_MODES = ("auto", "always", "never")
MAIN_TEXTS = ("learned", "pagelevel", "largest")
SIGNATURE_KINDS = ("minhash", "shingles")
RECORDED = ("items", "pages")
REVISITS = ("conditional", "hash", "schedule")
_TRUE = ("1", "true", "yes", "on")
_FALSE = ("0", "false", "no", "off", "none", "")


def _default_workers() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """All settings; the attribute ``render`` is the setting ``WEBSEGMENT_RENDER``, and so on.

    Parameters
    ----------
    enabled
        ``False`` switches every component off.
    render
        ``"auto"``: pages are rendered in Chromium where their plain HTML does not tell what they
        say; ``"always"``: all are; ``"never"``: they are analysed from their plain HTML with an
        estimated layout.
    render_timeout
        Seconds that one page may take in the browser, from request to snapshot.
    render_retries
        How often a page that failed in the browser is tried there again before its plain HTML
        is taken.
    render_settle
        Seconds without any change of the DOM after which a loaded page counts as finished
        (at most ten times as long is waited).
    render_memory
        MiB that one page may take in the browser; one that takes more is ended (Linux).
    private_hosts
        Host names, addresses or networks (CIDR) that rendered pages may reach although they are
        private; all other private, loopback and link-local addresses are refused.
    chromium
        Path of the browser's executable; by default Playwright's own, then a system Chromium.
    engine
        Name of the segmentation engine.
    main_text
        How the main text is found: ``"learned"`` (all text that our own model takes for content),
        ``"pagelevel"`` (the same by PageLevel Smooth) or ``"largest"`` (the papers' rule: the
        largest segment that is not half links).
    signature
        ``"minhash"`` (128 permutations) or ``"shingles"`` (the papers' 8 smallest hashes).
    similarity
        Similarity from which two pages are near-duplicates; by default what the signature's
        recipe says.
    min_words
        Main texts with fewer words are ``empty``: too little to compare.
    database
        SQLAlchemy URL of the dedup database.
    secret_keys
        A new database draws the keys of signatures by a secret of its own, so that no page can be
        written to crowd the keys of another.
    keep_texts
        Keep main texts in the database: of each page the last so many that differed; 0: none.
    keep_screenshots
        Folder for pictures of the rendered pages, as JPEG; by default none are taken.
    screenshots_size
        MiB that the pictures may take; the oldest go first.
    drop_duplicates
        Drop the items of near-duplicate pages (``NearDuplicate``).
    drop_unchanged
        Drop the items of pages that have not changed since the last visit (``Unchanged``).
    revisit
        What a visit to a known page may begin with instead of a full look: ``"conditional"`` (the
        server is asked whether it has changed), ``"hash"`` (its plain HTML is compared with that of
        the last look before anything is rendered), ``"schedule"`` (it is not visited before it is
        due by what was learned from its visits). Empty: every visit is a full look.
    changed_share
        Share of a page's text that must be another for the page to be ``changed``; one of which
        less is another is ``unchanged``.
    ignore_figures
        A page in which only figures and dates are others is ``unchanged``.
    site_templates
        Count what each site repeats, in the database, and leave it out of the main texts once
        the site is known.
    site_threshold
        Share of a site's pages on which a part must occur to be its template.
    site_min_pages
        Pages of a site that must be counted before anything is said about its template.
    main_text_only
        Put only the main text and the decision on the item, no segments; no engine is asked for
        them then, which halves the cost of a page.
    field
        The item field that receives the result.
    flatten
        Instead of that one field write flat ones, ``websegment_url``, ``websegment_decision`` and
        so on, for CSV and other tables; segments are left out.
    record
        ``"items"``: pages that yield items are analysed and stored; ``"pages"``: all HTML pages
        that reach a callback of the spider.
    workers
        Processes that analyse pages; by default as many as there are cores.
    page_timeout
        Seconds that the analysis of one page may take.
    page_memory
        MiB of memory that the analysis of one page may take.
    page_size
        MiB that a document may have; a larger one is neither downloaded to its end nor analysed.
    lease
        Of crawlers that share a queue (`SharedScheduler`): seconds after which what a crawler holds
        that says nothing goes to the others.
    """

    enabled: bool = True
    render: Literal["auto", "always", "never"] = "auto"
    render_timeout: float = 30.0
    render_retries: int = 1
    render_settle: float = 0.1
    render_memory: int = 1024
    private_hosts: tuple[str, ...] = ()
    chromium: str | None = None
    engine: str = "auto"
    main_text: Literal["learned", "pagelevel", "largest"] = "learned"
    signature: Literal["minhash", "shingles"] = "minhash"
    similarity: float | None = None
    min_words: int = 15
    database: str = "sqlite:///websegment.db"
    secret_keys: bool = False
    keep_texts: int = 0
    keep_screenshots: str | None = None
    screenshots_size: int = 1024
    drop_duplicates: bool = False
    drop_unchanged: bool = False
    revisit: tuple[str, ...] = ()
    changed_share: float = 0.0
    ignore_figures: bool = False
    site_templates: bool = True
    site_threshold: float = 0.10
    site_min_pages: int = 8
    main_text_only: bool = False
    field: str = "websegment"
    flatten: bool = False
    record: Literal["items", "pages"] = "items"
    workers: int = 0
    page_timeout: float = 30.0
    page_memory: int = 1024
    page_size: int = 8
    lease: float = 60.0

    def __post_init__(self) -> None:
        _one_of("render", self.render, RENDER_MODES)
        _one_of("main_text", self.main_text, MAIN_TEXTS)
        _one_of("signature", self.signature, SIGNATURE_KINDS)
        _one_of("record", self.record, RECORDED)
        for how in self.revisit:
            _one_of("revisit", how, REVISITS)
        _in_range("render_timeout", self.render_timeout, 0.1, 3600)
        _in_range("render_retries", self.render_retries, 0, 100)
        _in_range("render_settle", self.render_settle, 0, 60)
        _in_range("render_memory", self.render_memory, 128, 1_048_576)
        _in_range("page_size", self.page_size, 1, 1024)
        _in_range("min_words", self.min_words, 1, 1_000_000)
        _in_range("keep_texts", self.keep_texts, 0, 100)
        _in_range("screenshots_size", self.screenshots_size, 1, 1_048_576)
        _in_range("changed_share", self.changed_share, 0, 1)
        _in_range("site_threshold", self.site_threshold, 0.01, 1.0)
        _in_range("site_min_pages", self.site_min_pages, 3, 200)
        _in_range("workers", self.workers, 0, 1024)
        _in_range("page_timeout", self.page_timeout, 0.1, 3600)
        _in_range("page_memory", self.page_memory, 64, 1_048_576)
        _in_range("lease", self.lease, 1, 86_400)
        if self.similarity is not None:
            _in_range("similarity", self.similarity, 0.05, 1.0)
        try:
            PrivateHosts(self.private_hosts)
        except ValueError as error:
            raise ConfigError(
                f"{PREFIX}PRIVATE_HOSTS has {str(error)!r}: it takes host names, addresses and "
                "networks such as '10.0.0.0/8'"
            ) from None
        for name in ("engine", "database", "field"):
            if not getattr(self, name):
                raise ConfigError(f"{PREFIX}{name.upper()} is empty: give it a value or remove it")
        if self.workers == 0:
            object.__setattr__(self, "workers", _default_workers())

    @property
    def segments(self) -> bool:
        """Whether items have segments."""
        return not (self.main_text_only or self.flatten)

    @property
    def asked_engine(self) -> str:
        """The engine that segments pages; empty where nothing needs segments."""
        return self.engine if self.segments or self.main_text == "largest" else ""

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Config:
        """Read every ``WEBSEGMENT_*`` setting; an unknown name or a bad value is an error."""
        known = {PREFIX + field.name.upper(): field for field in fields(cls)}
        for name in settings:
            if isinstance(name, str) and name.startswith(PREFIX) and name not in known:
                raise ConfigError(f"there is no setting {name}: {_hint(name, known)}")
        given = {
            field.name: _convert(name, settings[name], str(field.type))
            for name, field in known.items()
            if name in settings
        }
        return cls(**given)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageMeta:
    """What ``request.meta["websegment"]`` may say about one request.

    Parameters
    ----------
    render
        ``"auto"``, ``"always"`` or ``"never"`` instead of the crawl's ``WEBSEGMENT_RENDER``.
    skip
        ``True``: the items of this response are passed on untouched and not stored.
    revisit
        ``False``: the page is visited and looked at in full, whatever ``WEBSEGMENT_REVISIT`` says.
    render_error
        Written by the render middleware: why the page came from its plain HTML after all.
    render_reason
        Written with ``"auto"``: why the page was rendered, or why not.
    """

    render: Literal["auto", "always", "never"] | None = None
    skip: bool = False
    revisit: bool = True
    render_error: str | None = None
    render_reason: str | None = None

    @classmethod
    def from_meta(cls, meta: Mapping[str, Any]) -> PageMeta:
        """Read the namespaced key of a request's meta."""
        value = meta.get(META_KEY)
        if value is None:
            return cls()
        if not isinstance(value, dict):
            raise ConfigError(
                f'meta["{META_KEY}"] is {value!r}: it takes a dict such as {{"render": "never"}}'
            )
        known = {field.name for field in fields(cls)}
        for name in value:
            if name not in known:
                raise ConfigError(
                    f'meta["{META_KEY}"] has no key {name!r}: known are {", ".join(sorted(known))}'
                )
        render = value.get("render")
        if render is not None and render not in RENDER_MODES:
            raise ConfigError(
                f'meta["{META_KEY}"]["render"] is {render!r}: accepted are {_listed(RENDER_MODES)}'
            )
        return cls(
            render=render,
            skip=bool(value.get("skip")),
            revisit=bool(value.get("revisit", True)),
            render_error=value.get("render_error"),
            render_reason=value.get("render_reason"),
        )


def _hint(name: str, known: Iterable[str]) -> str:
    """Return the known setting that a misspelt one resembles, or else all of them."""
    endings = [setting.removeprefix(PREFIX) for setting in known]
    near = difflib.get_close_matches(name.removeprefix(PREFIX), endings, n=1)
    if near:
        return f"did you mean {PREFIX}{near[0]}?"
    return "known: " + ", ".join(PREFIX + ending for ending in sorted(endings))


def _listed(values: tuple[str, ...]) -> str:
    *others, last = map(repr, values)
    return f"{', '.join(others)} and {last}"


def _one_of(name: str, value: str, accepted: tuple[str, ...]) -> None:
    if value not in accepted:
        raise ConfigError(f"{PREFIX}{name.upper()} is {value!r}: accepted are {_listed(accepted)}")


def _in_range(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise ConfigError(f"{PREFIX}{name.upper()} is {value!r}: accepted is {low:g} to {high:g}")


def _convert(name: str, value: object, type_name: str) -> Any:
    """Convert a setting (often text, from the command line's ``-s``) to its field's type."""
    if value is None and "None" in type_name:
        return None
    try:
        if type_name == "bool":
            return _to_bool(value)
        if type_name.startswith("int"):
            return int(cast("Any", value))
        if type_name.startswith("float"):
            return float(cast("Any", value))
    except (TypeError, ValueError):
        wanted = "True or False" if type_name == "bool" else f"a number ({type_name})"
        raise ConfigError(f"{name} is {value!r}: it takes {wanted}") from None
    if type_name.startswith("tuple"):
        return _to_list(name, value)
    if not isinstance(value, str | os.PathLike):
        raise ConfigError(f"{name} is {value!r}: it takes text")
    return os.fspath(value)


def _to_list(name: str, value: object) -> tuple[str, ...]:
    """Read a list, or text with commas as the command line gives it."""
    if isinstance(value, str):
        value = [part.strip() for part in value.split(",") if part.strip()]
    if not isinstance(value, list | tuple | set | frozenset) or not all(
        isinstance(each, str) for each in value
    ):
        raise ConfigError(f"{name} is {value!r}: it takes a list of texts")
    return tuple(value)


def _to_bool(value: object) -> bool:
    text = str(value).strip().lower()
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise ValueError(text)
