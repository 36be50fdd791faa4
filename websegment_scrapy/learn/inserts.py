"""Inserts: HTML written anew from texts of other pages, which `grafts` sets into training pages."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from websegment_scrapy.content.text_blocks import text_blocks

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from websegment_scrapy.page.tree import PageTree

__all__ = ["InsertMaker", "Scraps"]

T = TypeVar("T")

REMARKS = 12
"""Most remarks that are taken from one page."""

_SPOKEN = frozenset("i i'm i've my me you your we".split())
_NAMES = (
    "Anna Ben Carla David Elena Frank Grace Hugo Irina James Karen Luis Maria Nick Olga Paul Rosa "
    "Sam Tina Victor".split()
)
_SURNAMES = "Adams Berg Costa Diaz Evans Fischer Garcia Hall Ivanov Jones King Lee Moore".split()
_MONTHS = (
    "January February March April May June July August September October November December"
).split()
_COMMENT_HEADINGS = (
    "Comments", "{n} Comments", "{n} Responses to “{title}”", "{n} comments so far", "Responses",
    "Reader comments", "Discussion", "{n} thoughts on “{title}”", "What people are saying", "",
)  # fmt: skip
_COMMENT_META = (
    "{name} says:", "{name} wrote:", "{name}", "Posted by {name} on {date}", "{date} at {hour}:{m}",
    "By {name} | {date}", "{name} {date}", "{n}. {name} said…", "from {name}, {n} weeks ago",
)  # fmt: skip
_TEASER_HEADINGS = (
    "Related posts", "Related articles", "You may also like", "More stories", "Recent posts",
    "Most popular", "Latest news", "From the archive", "Also on this site", "Top stories",
    "Recommended for you", "Don't miss", "In this section", "Featured", "Editor's picks", "",
)  # fmt: skip
_NOTE_HEADINGS = ("About the author", "About {name}", "{name}", "About this blog", "")
_MORE = ("Read more", "Continue reading", "More »", "Full story")
_FORM = (
    "<h3>Leave a comment</h3><form><p><input> Name (required)</p><p><input> Mail (will not be "
    "published)</p><p><textarea></textarea></p><p><button>Submit comment</button></p></form>",
    "<div>Post a comment</div><form><label>Name</label><input><label>Email</label><input>"
    "<label>Your comment</label><textarea></textarea><input></form>",
    "<p>Comments are closed.</p>",
    '<p>You must be <a href="/login">logged in</a> to post a comment.</p>',
    "",
)
_WIDGETS = ("teasers", "note", "links", "links", "months", "offer")
_OFFERS = (
    "Subscribe to our newsletter and get the best of our stories in your inbox every week.",
    "Enter your email address to follow this blog and receive notifications of new posts.",
    "Follow us on Twitter and like us on Facebook", "Subscribe by RSS or by email",
    "Want to advertise here? Contact us for our rates.", "Support this site with a donation",
    "The views expressed here are those of the author and do not represent his employer.",
)  # fmt: skip
_LINK_HEADINGS = ("Categories", "Blogroll", "Tags", "Links", "Topics", "Pages", "Sections", "")
_CALLED = {
    "comments": ("comments", "commentlist", "responses", "discussion", "c1", ""),
    "teasers": ("related", "sidebar", "widget", "more-stories", "box", "m2", ""),
    "note": ("author", "bio", "about", "box", "n3", ""),
    "sidebar": ("sidebar", "side", "right", "secondary", "column", "s4", ""),
}


@dataclass(frozen=True, slots=True)
class Scraps:
    """Texts of training pages of which inserts are made.

    Attributes
    ----------
    remarks
        Short texts in which somebody speaks for himself.
    openings
        How main texts begin.
    titles
        Titles of pages.
    """

    remarks: tuple[str, ...]
    openings: tuple[str, ...]
    titles: tuple[str, ...]

    @classmethod
    def of(
        cls,
        articles: Sequence[tuple[PageTree, NDArray[np.float64]]],
        others: Sequence[tuple[PageTree, NDArray[np.float64]]],
    ) -> Scraps:
        """Collect them from pages with the share of each block that is main text.

        Remarks are taken from pages that are no articles, forums among them, if there are such.
        """
        remarks: list[str] = []
        openings: list[str] = []
        titles: list[str] = []
        for number, (tree, shares) in enumerate((*articles, *others)):
            blocks = text_blocks(tree)
            texts = [
                " ".join(tree.text_of(node) for node in blocks.nodes[begin:end].tolist())
                for begin, end in zip(blocks.first[:-1], blocks.first[1:], strict=True)
            ]
            good = [text for text, share in zip(texts, shares.tolist(), strict=True) if share > 0.9]
            opening = next((text for text in good if len(text.split()) >= 20), None)
            if opening is not None:
                openings.append(opening)
            if number >= len(articles) or not others:
                remarks += [text for text in good if _is_remark(text)][:REMARKS]
            title = tree.head.title.partition(" | ")[0].partition(" - ")[0].strip()
            if 3 <= len(title.split()) <= 15:
                titles.append(title)
        return cls(tuple(remarks), tuple(openings), tuple(titles))

    def __bool__(self) -> bool:
        return bool(self.remarks and self.openings and self.titles)


class InsertMaker:
    """Writes inserts in HTML, arranged in many ways."""

    def __init__(self, scraps: Scraps, rng: np.random.Generator) -> None:
        self.scraps = scraps
        self.rng = rng

    def make(self, kind: str) -> str:
        """Write an insert of one kind."""
        made = {
            "comments": self._comments,
            "teasers": self._teasers,
            "note": self._note,
            "sidebar": self._sidebar,
        }[kind]()
        name = self._one(_CALLED[kind])
        tag = self._one(("div", "div", "div", "section", "aside"))
        return f'<{tag} class="{name}">{made}</{tag}>' if name else f"<{tag}>{made}</{tag}>"

    def _comments(self) -> str:
        count = 1 + int(self.rng.geometric(0.12))
        meta, first = self._one(_COMMENT_META), self.rng.random() < 0.75
        outer, inner = self._one((("ol", "li"), ("ul", "li"), ("div", "div"), ("dl", "dd")))
        written = self._one(("p", "p", "div", ""))
        items = []
        for _ in range(count):
            about = html.escape(self._filled(meta))
            texts = [self._one(self.scraps.remarks) for _ in range(1 + (self.rng.random() < 0.25))]
            told = "".join(_element(written, html.escape(text)) for text in texts)
            line = _element(self._one(("div", "p", "cite", "h4")), about)
            reply = '<a href="#r">Reply</a>' if self.rng.random() < 0.4 else ""
            items.append(_element(inner, line + told + reply if first else told + line + reply))
        heading = self._heading(_COMMENT_HEADINGS)
        return heading + _element(outer, "".join(items)) + self._one(_FORM)

    def _teasers(self) -> str:
        count = int(self.rng.integers(2, 13))
        outer, inner = self._one((("ul", "li"), ("ol", "li"), ("div", "div"), ("div", "p")))
        title = self._one(("h3", "h4", "strong", "", "h2", "div"))
        snippets, linked = self.rng.random() < 0.6, self.rng.random() < 0.3
        more = self._one(_MORE) if self.rng.random() < 0.4 else ""
        dated = self.rng.random() < 0.3
        items = []
        for _ in range(count):
            text = html.escape(self._one(self.scraps.titles))
            item = _element(title, f'<a href="/{self.rng.integers(10**6)}">{text}</a>')
            if dated:
                item += _element("div", html.escape(self._filled("{date}")))
            if snippets:
                words = self._one(self.scraps.openings).split()[: int(self.rng.integers(8, 45))]
                snippet = html.escape(" ".join(words)) + ("…" if self.rng.random() < 0.5 else "")
                item += _element("p", f'<a href="/x">{snippet}</a>' if linked else snippet)
            if more:
                item += f'<a href="/y">{more}</a>'
            items.append(_element(inner, item))
        return self._heading(_TEASER_HEADINGS) + _element(outer, "".join(items))

    def _note(self) -> str:
        words = self._one(self.scraps.openings).split()[: int(self.rng.integers(12, 80))]
        name = self._filled("{name}")
        text = html.escape(f"{name} {' '.join(words)}")
        link = '<a href="/author">More posts by this author</a>' if self.rng.random() < 0.4 else ""
        return self._heading(_NOTE_HEADINGS) + _element(self._one(("p", "div")), text) + link

    def _sidebar(self) -> str:
        made = {
            "teasers": self._teasers,
            "note": self._note,
            "links": self._links,
            "months": self._months,
            "offer": self._offer,
        }
        inner = self._one(("div", "div", "li", "section"))
        count = int(self.rng.integers(2, 8))
        widgets = [_element(inner, made[self._one(_WIDGETS)]()) for _ in range(count)]
        return _element("ul" if inner == "li" else "", "".join(widgets))

    def _offer(self) -> str:
        return _element("p", html.escape(self._one(_OFFERS)))

    def _links(self) -> str:
        count = int(self.rng.integers(4, 30))
        names = [
            " ".join(self._one(self.scraps.titles).split()[: int(self.rng.integers(1, 5))])
            for _ in range(count)
        ]
        return self._heading(_LINK_HEADINGS) + self._list(names)

    def _months(self) -> str:
        count = int(self.rng.integers(4, 36))
        names = [f"{self._one(_MONTHS)} {int(self.rng.integers(2004, 2024))}" for _ in range(count)]
        return self._heading(("Archives", "Archive", "By month")) + self._list(names)

    def _list(self, names: Sequence[str]) -> str:
        link = [f'<a href="/{number}">{html.escape(name)}</a>' for number, name in enumerate(names)]
        if self.rng.random() < 0.2:
            return _element("p", " | ".join(link))
        return _element("ul", "".join(_element("li", each) for each in link))

    def _heading(self, texts: Sequence[str]) -> str:
        text = self._filled(self._one(texts))
        tag = self._one(("h2", "h3", "h4", "div", "p", "strong"))
        return _element(tag, html.escape(text)) if text else ""

    def _filled(self, text: str) -> str:
        number = self.rng.integers
        return text.format(
            n=int(number(2, 60)),
            name=f"{self._one(_NAMES)} {self._one((*_SURNAMES, ''))}".strip(),
            date=f"{self._one(_MONTHS)} {int(number(1, 29))}, {int(number(2004, 2024))}",
            hour=int(number(1, 13)),
            m=f"{int(number(60)):02}",
            title=self._one(self.scraps.titles),
        )

    def _one(self, choices: Sequence[T]) -> T:
        return choices[int(self.rng.integers(len(choices)))]


def _element(tag: str, content: str) -> str:
    return f"<{tag}>{content}</{tag}>" if tag else content


def _is_remark(text: str) -> bool:
    words = text.lower().split()
    return 6 <= len(words) <= 120 and not _SPOKEN.isdisjoint(words)
