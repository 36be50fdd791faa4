"""What a crawl hands to the store about a page, and how its text is made fit for a database."""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING
from urllib.parse import urldefrag, urlsplit

from w3lib.url import canonicalize_url

if TYPE_CHECKING:
    from websegment_scrapy.dedup.signature import Signature
    from websegment_scrapy.template.hashes import PageParts

__all__ = [
    "Look",
    "PageRecord",
    "canonical_url",
    "clean",
    "host_of",
    "lock_of",
    "picture_name",
    "url_key",
]

MAX_TEXT = 2000
"""Characters kept of a title or an error message."""

_PLAIN = re.compile(
    r"https?://([a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){1,9})/[A-Za-z0-9._~/-]*", re.ASCII
)
"""URLs that are canonical already, as most are: to find that out otherwise takes as long as a
statement of the database."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What a full look at a page brought besides its text, so that the next may be a shorter one.

    Parameters
    ----------
    etag, last_modified
        The validators of the response, as the server sent them.
    plain_hash
        Hash of its plain HTML without noise (`dedup.plain`); ``None`` when that does not tell what
        the page says.
    told_fully
        Whether that tells (nearly) all of the main text.
    links_by_script
        Whether the page has links that its plain HTML has not.
    leads_on
        Whether its callback yielded requests, or it is not known that it did not.
    """

    etag: str | None = None
    last_modified: str | None = None
    plain_hash: bytes | None = None
    told_fully: bool = True
    links_by_script: bool = False
    leads_on: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRecord:
    """One visit to a page.

    Parameters
    ----------
    url
        The page's URL; it is stored in canonical form, without its fragment.
    title
        The page's title.
    words
        Number of words of the main text; the signature's own number counts when there is one.
    signature
        Signature of the main text; ``None`` when there is no text or the page failed.
    engine
        Name of the segmentation engine.
    model
        The model that found the main text, if one did.
    rendered
        Whether the page came from a browser.
    render_error
        Why it did not, although it should have.
    render_reason
        Why it did or did not, where that was decided page by page.
    http_status
        Status of the response.
    error
        Why the page failed; a record with an error is stored as ``failed``.
    crawl
        Name of the crawl, kept with the visit.
    parts
        What the page adds to its site's counts; ``None``: nothing.
    page_hash
        16 bytes that are equal for main texts with the same words when the site's verdict is left
        aside. A revisit with the same ones is ``unchanged``, even if its main text is another
        because more is known about the site by now.
    fingerprint
        What the page says, block by block (`dedup.fingerprint`): a revisit of the same page is
        ``unchanged``, however its blocks were judged and whether it was rendered or not.
    document_hash
        16 bytes that are equal for documents of the same bytes: they get the same answer.
    dossier
        What it takes to judge the page again when more is known of its site.
    main_text
        The main text itself, for a store that keeps texts.
    page_type, page_type_probability
        Its functional type by the page alone, and how probable that is; ``None``: not known.
    main_text_score
        The word F1 to expect of its main text by the page alone; ``None``: not known.
    steady_hash
        16 bytes that are equal for main texts with the same words but for figures and dates, the
        site's verdict left aside.
    look
        What the next visit may begin with; ``None``: that is to be a full look.
    unchanged
        How it is known that the page has not changed, for one that was not looked at: it is
        ``unchanged``, and nothing else of the record counts. Where the database has no text of the
        page any more, it is ``failed`` for that.
    """

    url: str
    title: str = ""
    words: int = 0
    signature: Signature | None = None
    engine: str = ""
    model: str = ""
    rendered: bool = False
    render_error: str | None = None
    render_reason: str | None = None
    http_status: int | None = None
    error: str | None = None
    crawl: str = ""
    parts: PageParts | None = None
    page_hash: bytes | None = None
    fingerprint: bytes | None = None
    document_hash: bytes | None = None
    dossier: bytes | None = None
    main_text: str | None = None
    page_type: str | None = None
    page_type_probability: float | None = None
    main_text_score: float | None = None
    steady_hash: bytes | None = None
    look: Look | None = None
    unchanged: str | None = None


def clean(text: str) -> str:
    """Replace what databases refuse (NUL, lone surrogates) by U+FFFD."""
    text = text.replace("\x00", "\ufffd")
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def shorten(text: str) -> str:
    """Clean a title or message and cut it to `MAX_TEXT` characters."""
    text = clean(text)
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "…"


def canonical_url(url: str) -> str:
    """Return the form of a URL under which its page is stored, whatever the URL looks like."""
    if _PLAIN.fullmatch(url) and "/." not in url:  # which may be a step to another folder
        return url
    url = clean(url).strip()
    try:
        return clean(canonicalize_url(url))
    except ValueError:  # such as an unclosed bracket of an IPv6 address
        return urldefrag_text(url)


DEFAULT_PORTS = {"http": 80, "https": 443}


def urldefrag_text(url: str) -> str:
    """Cut off the fragment of a URL that cannot be parsed."""
    try:
        return urldefrag(url).url
    except ValueError:
        return url.partition("#")[0]


def url_key(url: str) -> bytes:
    """Return the 16 bytes by which a canonical URL is looked up."""
    return blake2b(url.encode(), digest_size=16).digest()


def picture_name(url: str) -> str:
    """Return the name of the file that has the picture of a URL's page."""
    return f"{url_key(canonical_url(url)).hex()}.jpg"


def lock_of(key: bytes) -> int:
    """Return the number by which a key, of a URL or of a document, is locked (`locks`)."""
    return int.from_bytes(key[:8], "little", signed=True)


def host_of(url: str) -> str:
    """Return the host of a URL, with its port unless that is the scheme's own; or nothing."""
    plain = _PLAIN.fullmatch(url)
    if plain is not None:
        return plain[1]
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return ""
    return host if port in (None, DEFAULT_PORTS.get(parts.scheme)) else f"{host}:{port}"
