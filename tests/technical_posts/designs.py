"""How posts look: six real sites into whose pages they are set, and the highlighters of code.

The sites are pages of ``sites.tar.xz`` of the data sets, which is not part of this project: of each
the element that holds a post is named here, its contents are taken out and a post set in.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from lxml import etree, html

from tests.technical_posts.posts import Code, Definitions, Heading, Items, Links, Table, Text
from websegment_scrapy.measure.datasets import DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tests.technical_posts.posts import Part, Post

__all__ = ["DESIGNS", "HIGHLIGHTERS", "Design", "Shell", "shells_of"]

LEAST_PARTS = 3
"""Children of the element that holds a post, on a page that is taken for one."""


@dataclass(frozen=True, slots=True)
class Design:
    """A site, its highlighter, and what it adds to what authors write.

    Attributes
    ----------
    site
        The folder of its pages.
    holder, headline
        XPaths of the elements that hold a post, and its title.
    highlighter
        One of `HIGHLIGHTERS`.
    anchor
        What stands as a link in each heading.
    copy
        What a button beside code says.
    """

    site: str
    holder: str
    headline: str
    highlighter: str
    anchor: str = ""
    copy: str = ""


DESIGNS = (
    Design("8vasu__8vasu.github.io", "//div[@class='post-content']", "//h1", "chroma", "#"),
    Design(
        "4g3nt47__4g3nt47.github.io", "//div[@class='post-content']", "//h1", "rouge", copy="Copy"
    ),
    Design(
        "Forest-L__Forest-L.github.io", "//div[contains(@class,'c-rich-text')]", "//h1", "prism"
    ),
    Design("0cch__0CCh.github.io", "//div[@class='article-entry']", "//h1[2]|//h1", "hexo"),
    Design("AswinBlue__Blog", "//div[@class='post-content']", "//h1", "pygments", "¶", "copy"),
    Design("Cahcn__indigo", "//div[@id='post-content']", "//h1", "github"),
)
"""Six sites of six families, blogs of programmers; each with another highlighter."""


def _pygments(lines: Sequence[str], language: str) -> str:
    numbers = "\n".join(f'<span class="normal">{n}</span>' for n in _numbers(lines))
    return (
        f'<div class="highlight"><table class="highlighttable"><tr><td class="linenos"><div '
        f'class="linenodiv"><pre>{numbers}</pre></div></td><td class="code"><div><pre><span></span>'
        f"{_coloured(lines)}\n</pre></div></td></tr></table></div>"
    )


def _rouge(lines: Sequence[str], language: str) -> str:
    numbers = "\n".join(map(str, _numbers(lines)))
    return (
        f'<div class="language-{language} highlighter-rouge"><div class="highlight"><code><table '
        f'class="rouge-table"><tbody><tr><td class="rouge-gutter gl"><pre class="lineno">{numbers}'
        f'\n</pre></td><td class="rouge-code"><pre>{_coloured(lines)}\n</pre></td></tr></tbody>'
        "</table></code></div></div>"
    )


def _hexo(lines: Sequence[str], language: str) -> str:
    numbers = "".join(f'<span class="line">{n}</span><br>' for n in _numbers(lines))
    code = "".join(f'<span class="line">{_coloured([line])}</span><br>' for line in lines)
    return (
        f'<figure class="highlight {language}"><table><tr><td class="gutter"><pre>{numbers}</pre>'
        f'</td><td class="code"><pre>{code}</pre></td></tr></table></figure>'
    )


def _chroma(lines: Sequence[str], language: str) -> str:
    numbers = "".join(f'<span class="lnt">{n:2d}\n</span>' for n in _numbers(lines))
    return (
        '<div class="highlight"><div class="chroma"><table class="lntable"><tr><td class="lntd">\n'
        f'<pre tabindex="0" class="chroma"><code>{numbers}</code></pre></td>\n<td class="lntd">\n'
        f'<pre tabindex="0" class="chroma"><code class="language-{language}" '
        f'data-lang="{language}">{_coloured(lines)}\n</code></pre></td></tr></table></div></div>'
    )


def _prism(lines: Sequence[str], language: str) -> str:
    rows = "<span></span>" * len(lines)
    return (
        f'<pre class="line-numbers language-{language}"><code class="language-{language}">'
        f'{_coloured(lines)}<span aria-hidden="true" class="line-numbers-rows">{rows}</span></code>'
        "</pre>"
    )


def _github(lines: Sequence[str], language: str) -> str:
    rows = "".join(
        f'<tr><td id="L{n}" class="blob-num js-line-number" data-line-number="{n}"></td><td '
        f'id="LC{n}" class="blob-code blob-code-inner js-file-line">{_coloured([line])}\n</td></tr>'
        for n, line in zip(_numbers(lines), lines, strict=True)
    )
    return (
        '<div class="gist"><div class="gist-file"><div class="blob-wrapper data type-'
        f'{language}"><table class="highlight tab-size js-file-line-container">{rows}</table></div>'
        "</div></div>"
    )


def _inline(lines: Sequence[str], language: str) -> str:
    code = "\n".join(
        f'<span class="linenos">{n:2d} </span>{_coloured([line])}'
        for n, line in zip(_numbers(lines), lines, strict=True)
    )
    return f'<div class="highlight"><pre><span></span>{code}\n</pre></div>'


HIGHLIGHTERS: dict[str, Callable[[Sequence[str], str], str]] = {
    "pygments": _pygments,
    "pygments inline": _inline,
    "rouge": _rouge,
    "hexo": _hexo,
    "chroma": _chroma,
    "prism": _prism,
    "github": _github,
}
"""How lines of code are written by the highlighters that set numbers beside them."""


class Shell:
    """A page of a site, with room for a post."""

    def __init__(self, design: Design, source: bytes) -> None:
        self.design = design
        self.source = source

    def with_post(self, post: Post) -> str:
        """Return the page with a post in it."""
        root = _parse(self.source)
        holder = root.xpath(self.design.holder)[0]
        for child in list(holder):
            holder.remove(child)
        holder.text = None
        body = "".join(_written(part, self.design) for part in post.parts)
        for child in html.fragments_fromstring(body):
            holder.append(child)
        for headline in root.xpath(self.design.headline)[-1:]:
            _retitle(headline, post.title)
        for title in root.iter("title"):
            title.text = f"{post.title} | {self.design.site.partition('__')[0]}"
        for meta in root.iter("meta"):
            said = (meta.get("name") or meta.get("property") or "").lower()
            if said.endswith(("title", "description")):
                meta.set("content", post.title)
        return f"<!DOCTYPE html>{html.tostring(root, encoding='unicode')}"


def shells_of(design: Design, sites: Path) -> list[Shell]:
    """Return the pages of a site that have one element that holds a post."""
    found = []
    for path in sorted((sites / design.site).rglob("*.html")):
        source = path.read_bytes()
        try:
            root = _parse(source)
        except etree.ParserError:
            continue
        holders = root.xpath(design.holder)
        if len(holders) == 1 and len(holders[0]) >= LEAST_PARTS and root.xpath(design.headline):
            found.append(Shell(design, source))
    if not found:
        raise DataError(f"no page of {design.site!r} has room for a post: is this sites.tar.xz?")
    return found


def _parse(source: bytes) -> html.HtmlElement:
    return html.document_fromstring(source, parser=html.HTMLParser(encoding="utf-8"))


def _retitle(headline: html.HtmlElement, title: str) -> None:
    for child in list(headline):
        headline.remove(child)
    headline.text = title


def _written(part: Part, design: Design) -> str:
    """Write a part of a post as the design does."""
    match part:
        case Heading(text, level):
            name = re.sub(r"\W+", "-", text.lower())
            link = f' <a class="anchor" href="#{name}">{design.anchor}</a>' if design.anchor else ""
            return f'<h{level} id="{name}">{escape(text)}{link}</h{level}>'
        case Text(text, is_quote):
            return f"<blockquote><p>{text}</p></blockquote>" if is_quote else f"<p>{text}</p>"
        case Items(texts, is_ordered):
            tag = "ol" if is_ordered else "ul"
            return f"<{tag}>{''.join(f'<li>{text}</li>' for text in texts)}</{tag}>"
        case Definitions(pairs):
            return f"<dl>{''.join(f'<dt>{a}</dt><dd>{b}</dd>' for a, b in pairs)}</dl>"
        case Links(links):
            items = (f'<li><a href="{url}">{name}</a> {said}</li>' for name, url, said in links)
            return f"<ul>{''.join(items)}</ul>"
        case Table(rows):
            return _table(rows)
        case Code(language, lines):
            button = f"<button>{design.copy}</button>" if design.copy else ""
            return button + HIGHLIGHTERS[design.highlighter](lines, language)


def _table(rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{cell}</th>" for cell in rows[0])
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows[1:])
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _numbers(lines: Sequence[str]) -> range:
    return range(1, len(lines) + 1)


def _coloured(lines: Sequence[str]) -> str:
    """Write code with its names and numbers in elements of their own."""
    return re.sub(
        r"(?<![&\w#])([A-Za-z_]+|\d+)(?![\w;])",
        r'<span class="n">\1</span>',
        escape("\n".join(lines), quote=False),
    )
