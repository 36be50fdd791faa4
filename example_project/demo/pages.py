"""Makes the pages of the example sites from their templates (``web/<site>``)."""

from __future__ import annotations

import json
from html import escape
from string import Template
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from demo.web import WEB

if TYPE_CHECKING:
    from datetime import date

    from demo.web import Edition, Page, Site

__all__ = ["respond"]

_THIN_TEXT = {
    "/contact": "Write to us at hello (at) current.example.",
    "/search?q=glacier": "0 results for “glacier”",
}


def respond(site: Site, path: str) -> tuple[str, str] | None:
    """Return content type and body of what the site has at ``path``, or None."""
    if path == "/robots.txt":
        return "text/plain", "User-agent: *\nAllow: /\n"
    if path in ("/style.css", "/app.js") and (WEB / site.key / path[1:]).is_file():
        kind = "text/css" if path.endswith(".css") else "text/javascript"
        return kind, (WEB / site.key / path[1:]).read_text(encoding="utf-8")
    if site.key == "current":
        if path == "/feed.json":
            return "application/json", json.dumps(_feed(site), ensure_ascii=False)
        return ("text/html", _template(site, "shell")) if path in site.pages else None
    page = site.pages.get(path)
    return ("text/html", _html(site, page)) if page else None


def _related(site: Site, edition: Edition) -> list[Edition]:
    """Three other articles, spread over the site so that each article has its own three."""
    position = site.editions.index(edition)
    return [site.editions[(position + step) % len(site.editions)] for step in (3, 7, 10)]


def _day(day: date) -> str:
    return f"{day.day} {day:%B %Y}"


def _teaser(site: Site, edition: Edition) -> str:
    """Make a teaser: the first words of the text, fewer or more as the site likes."""
    length = {"gazette": 16, "journal": 30, "current": 20}[site.key]
    return " ".join(edition.paragraphs[0].split()[:length]).rstrip(",.;:") + " …"


def _pager(site: Site, page: Page) -> list[tuple[str, str]]:
    lists = [other.path for other in site.pages.values() if other.kind == "list"]
    return [(path, str(n)) for n, path in enumerate(lists, start=1) if path != page.path]


def _template(site: Site, name: str, **values: str) -> str:
    text = (WEB / site.key / f"{name}.html").read_text(encoding="utf-8").strip()
    return Template(text).substitute(values) if values else text


def _html(site: Site, page: Page) -> str:
    """Make the page of a site that is built on the server."""
    if page.kind == "print":
        return _article(site, page, "print")
    if page.kind == "article":
        body = _article(site, page, "article")
    elif page.kind == "list":
        links = (f'<a href="{path}">{number}</a>' for path, number in _pager(site, page))
        body = _template(
            site,
            "list",
            heading="This week" if page.path == "/" else page.title,
            teasers="\n".join(
                _template(site, "teaser", teaser=escape(_teaser(site, e)), **_fields(e))
                for e in page.listed
            ),
            pager="Pages: " + " ".join(links),
        )
    else:
        body = _template(site, page.template, about=escape(site.about))
    most_read = "\n".join(
        f'<li><a href="{e.path}">{escape(e.headline)}</a></li>' for e in site.editions[1:20:4]
    )
    return _template(
        site,
        "layout",
        title=escape(page.title),
        body=body,
        most_read=most_read,
        footer=escape(site.footer),
    )


def _article(site: Site, page: Page, template: str) -> str:
    edition = page.edition
    assert edition is not None
    fields = _fields(edition)
    return _template(
        site,
        template,
        paragraphs="\n".join(f"<p>{escape(text)}</p>" for text in edition.paragraphs),
        note=f'<p class="note"><em>{escape(edition.note)}</em></p>' if edition.note else "",
        related="\n".join(
            _template(site, "related", **_fields(e)) for e in _related(site, edition)
        ),
        comments="\n".join(
            _template(site, "comment", who=escape(who), what=escape(what))
            for who, _, what in (comment.partition(": ") for comment in edition.comments)
        ),
        print_link=_template(site, "print_link", **fields)
        if edition.text.id in site.printable
        else "",
        **fields,
    )


def _fields(edition: Edition) -> dict[str, str]:
    return {
        "id": edition.text.id,
        "path": edition.path,
        "headline": escape(edition.headline),
        "headline_url": quote(edition.headline),
        "author": escape(edition.text.author),
        "date": _day(edition.text.date),
        "topic": edition.text.topic,
    }


def _feed(site: Site) -> dict[str, Any]:
    """Build the JSON from which the third site's script makes every page."""
    menu = [("/", "Latest"), ("/page/2", "Earlier"), ("/about", "About"), ("/contact", "Contact")]
    pages: dict[str, dict[str, Any]] = {}
    for path, page in site.pages.items():
        entry: dict[str, Any] = {"title": page.title}
        if edition := page.edition:
            entry |= {
                "view": "story",
                "author": edition.text.author,
                "date": _day(edition.text.date),
                "paragraphs": edition.paragraphs,
                "note": edition.note,
                "related": [other.path for other in _related(site, edition)],
            }
        elif page.kind == "list":
            teasers = [{"path": e.path, "teaser": _teaser(site, e)} for e in page.listed]
            entry |= {"view": "list", "teasers": teasers, "pager": _pager(site, page)}
        else:
            text = site.about if page.kind == "about" else _THIN_TEXT[path]
            entry |= {"view": "plain", "paragraphs": [text]}
        pages[path] = entry
    return {"name": site.name, "menu": [*menu, ("/search?q=glacier", "Search")], "pages": pages}
