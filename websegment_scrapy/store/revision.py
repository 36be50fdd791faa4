"""Pages are judged again when more is known about their site, and decided anew.

The first pages of a site are judged before it is known what the site repeats. What it takes to
judge a page again is kept (`KeptPage`) while its site has fewer than `templates.COUNT_ALL` counted
pages; after that the verdict hardly changes, and nothing is kept. So the store ends as if each site
had been known from its first page, whatever the order in which its pages came. It costs some
kilobytes for each of the first 200 pages of a site.

A revision reads what is kept of a site (`read_kept`), lets somebody judge it, and writes what is
judged otherwise (`revise`), some pages in each transaction: an interrupted one is simply done again
(`pending_sites`).

Documents of the same bytes get the same answer. Where several hosts have one, it is the longest of
the texts by their verdicts.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import bindparam, delete, exists, func, select, update
from sqlalchemy.orm import aliased

from websegment_scrapy.dedup.decision import DecisionKind
from websegment_scrapy.store.leaving import WITHOUT_TEXT, former_of, leave
from websegment_scrapy.store.models import KeptPage, Page, Site
from websegment_scrapy.store.placing import lock_pages, place
from websegment_scrapy.store.templates import COUNT_ALL, read_verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from sqlalchemy import Connection

    from websegment_scrapy.dedup.signature import Signature
    from websegment_scrapy.store.store import Store
    from websegment_scrapy.store.visit import Rules
    from websegment_scrapy.template.sitelevel import SiteVerdict

    Task = tuple[bytes, list[SiteVerdict | None], bytes | None]
    """A dossier, the verdicts that it is judged by, and the content hash that its page has."""
    Answer = tuple[str, Signature] | None
    """Its main text and signature, unless they stay as they are."""
    Judge = Callable[[list[Task]], Sequence[Answer]]

__all__ = [
    "Judged",
    "Kept",
    "KeptSite",
    "Revision",
    "finish",
    "kept_pages",
    "pending_sites",
    "read_kept",
    "revise",
    "revise_site",
    "site_state",
]

PER_TASK = 32
"""Pages that are judged again together."""

CHUNK = 8
"""Pages in one transaction: crawls that write meanwhile wait for one chunk at most."""

# Made once: for a small statement SQLAlchemy takes longer to write it than a database to run it.
_REVISED = select(Site.revised_pages).where(Site.host == bindparam("host"))
_OTHER = aliased(Page)
_KEPT = (
    select(
        Page.id,
        Page.url_key,
        KeptPage.dossier,
        Page.document_hash,
        Page.content_hash,
        select(func.min(_OTHER.host))
        .where(_OTHER.document_hash == Page.document_hash, _OTHER.host != bindparam("host"))
        .scalar_subquery(),
    )
    .join(KeptPage, KeptPage.page_id == Page.id)
    .where(KeptPage.host == bindparam("host"))
    .order_by(Page.id)
)
_PAGE = select(Page.id, Page.url, Page.document_hash, Page.content_hash, Page.decision).where(
    Page.id == bindparam("page")
)


class Kept(NamedTuple):
    """A page that can be judged again.

    ``others`` are the hosts of pages with the same bytes.
    """

    page_id: int
    url_key: bytes
    dossier: bytes
    document_hash: bytes | None
    content_hash: bytes | None
    others: tuple[str, ...] = ()


class KeptSite(NamedTuple):
    """What is kept of a site, and what is known of it and of others with the same documents."""

    host: str
    pages: int
    verdicts: dict[str, SiteVerdict | None]
    kept: list[Kept]

    def chunks(self) -> Iterator[list[Kept]]:
        """Yield the pages, some at a time."""
        for start in range(0, len(self.kept), PER_TASK):
            yield self.kept[start : start + PER_TASK]

    def judged(
        self, chunk: Sequence[Kept], answers: Sequence[Answer]
    ) -> tuple[list[Judged], dict[int, str]]:
        """Return the judgements on some pages for `revise`, and their texts by the pages' ids."""
        pairs = [(page, each) for page, each in zip(chunk, answers, strict=True) if each]
        return (
            [Judged(page, signature) for page, (_, signature) in pairs],
            {page.page_id: text for page, (text, _) in pairs},
        )

    def tasks(self, chunk: Sequence[Kept]) -> list[Task]:
        """Return what `judge_again` takes for some of the pages."""
        return [
            (
                page.dossier,
                [self.verdicts[host] for host in page.others or (self.host,)],
                page.content_hash,
            )
            for page in chunk
        ]


class Judged(NamedTuple):
    """A page's last judgement on its way into the database."""

    kept: Kept
    signature: Signature

    def content_hash(self, min_words: int) -> bytes | None:
        """Return the content's, if it has enough words to be one."""
        return self.signature.content_hash if self.signature.words >= min_words else None


@dataclass(frozen=True, slots=True)
class Revision:
    """What became of a page that was judged again.

    Parameters
    ----------
    url
        The page.
    former, decision
        What was decided about its text before, and now: ``new``, ``duplicate`` or ``empty``.
    words
        Words of its main text now.
    duplicate_of, similarity
        What it repeats now, if anything, and how similar that is.
    """

    url: str
    former: str
    decision: str
    words: int
    duplicate_of: str | None
    similarity: float | None


def site_state(
    store: Store, host: str, theta: float, min_pages: int
) -> tuple[SiteVerdict | None, bool]:
    """Return what a site repeats, and whether its pages are to be judged again now.

    They are when the site becomes known, when twice as many pages are counted, and when all are
    that count. The rest is done when the crawl ends.
    """
    with store.database.read() as connection:
        verdict = read_verdict(connection, host, theta=theta, min_pages=min_pages)
        if verdict is None:
            return None, False
        revised = connection.execute(_REVISED, {"host": host}).scalar() or 0
    return verdict, verdict.pages >= 2 * revised or revised < COUNT_ALL <= verdict.pages


def pending_sites(store: Store, min_pages: int) -> list[str]:
    """Return the hosts with pages that were judged when less was known of them."""
    kept = exists().where(KeptPage.host == Site.host)
    query = select(Site.host).where(
        Site.template_pages > Site.revised_pages, Site.template_pages >= min_pages, kept
    )
    with store.database.read() as connection:
        return list(connection.execute(query.order_by(Site.host)).scalars())


def kept_pages(store: Store, hosts: Sequence[str]) -> int:
    """Count the pages of some hosts that can be judged again."""
    query = select(KeptPage.host, func.count()).group_by(KeptPage.host)
    wanted = set(hosts)
    with store.database.read() as connection:
        return sum(number for host, number in connection.execute(query) if host in wanted)


def read_kept(store: Store, host: str, theta: float, min_pages: int) -> KeptSite:
    """Read what is kept of a site with the verdict on it."""
    with store.database.read() as connection:
        return _read_kept(connection, host, theta, min_pages)


def _read_kept(connection: Connection, host: str, theta: float, min_pages: int) -> KeptSite:
    kept = []
    for *columns, found in connection.execute(_KEPT, {"host": host}):
        page = Kept(*columns)
        kept.append(page if found is None else page._replace(others=_hosts(connection, page)))
    hosts = {host, *(each for page in kept for each in page.others)}
    verdicts = {
        each: read_verdict(connection, each, theta=theta, min_pages=min_pages) for each in hosts
    }
    pages = connection.execute(select(Site.template_pages).where(Site.host == host)).scalar()
    return KeptSite(host, pages or 0, verdicts, kept)


def _hosts(connection: Connection, page: Kept) -> tuple[str, ...]:
    """Return the hosts of pages with the same bytes as one, the page's own among them."""
    query = select(Page.host).distinct().where(Page.document_hash == page.document_hash)
    return tuple(connection.execute(query.order_by(Page.host).limit(CHUNK)).scalars())


def revise(store: Store, judged: Sequence[Judged]) -> list[tuple[Kept, Revision]]:
    """Write down what pages are judged to be now, and return those for which it is something else.

    Of a page that was seen with another document meanwhile nothing is written.
    """
    revisions: list[tuple[Kept, Revision]] = []
    least = store.rules.min_words
    other = [each for each in judged if each.content_hash(least) != each.kept.content_hash]
    for start in range(0, len(other), CHUNK):
        revisions += _revise(store, other[start : start + CHUNK])
    return revisions


def revise_site(
    store: Store, host: str, theta: float, min_pages: int, judge: Judge
) -> list[tuple[Revision, str]]:
    """Judge the pages of a site again, and return what became of them with their texts.

    Parameters
    ----------
    store
        An open store.
    host
        The site.
    theta, min_pages
        As for `Store.site_verdict`.
    judge
        `analysis.judge_again`, wherever it is to run.
    """
    site = read_kept(store, host, theta, min_pages)
    found = []
    for chunk in site.chunks():
        judged, texts = site.judged(chunk, judge(site.tasks(chunk)))
        found += [(each, texts[kept.page_id]) for kept, each in revise(store, judged)]
    finish(store, site)
    return found


def finish(store: Store, site: KeptSite) -> None:
    """Note that a site's pages were judged again; forget what was kept of a well-known one."""

    def attempt() -> None:
        with store.database.write() as connection:
            own = update(Site).where(Site.host == site.host)
            connection.execute(own.values(revised_pages=site.pages))
            if site.pages >= COUNT_ALL:
                connection.execute(delete(KeptPage).where(KeptPage.host == site.host))

    store.patiently(attempt)


def _revise(store: Store, chunk: Sequence[Judged]) -> list[tuple[Kept, Revision]]:
    """Write all that are still of the document that was judged, in one transaction."""
    rules = store.rules

    def attempt() -> list[tuple[Kept, Revision]]:
        with store.database.write() as connection:
            lock_pages(connection, rules, [(each.kept.url_key, each.signature) for each in chunk])
            now = datetime.now(UTC)
            found = [(each.kept, _revise_one(connection, rules, each, now)) for each in chunk]
            return [(kept, revision) for kept, revision in found if revision is not None]

    return store.with_room(attempt)


def _revise_one(
    connection: Connection, rules: Rules, judged: Judged, now: datetime
) -> Revision | None:
    """Let a page have another text; its times, but for `revised`, and its visits stay."""
    kept, signature = judged
    # Read one by one: each that is revised may change the clusters of the others.
    row = connection.execute(_PAGE, {"page": kept.page_id}).first()
    if row is None or row.document_hash != kept.document_hash or row.decision == "failed":
        return None
    content_hash = judged.content_hash(rules.min_words)
    if row.content_hash == content_hash:
        return None
    former = former_of(connection, row.id, rules)
    if former is not None:
        leave(connection, row.id, *former)
    values = {"revised": now, "words": signature.words}
    match, decision = None, DecisionKind.EMPTY
    if content_hash is None:
        values |= {**WITHOUT_TEXT, "decision": decision}
    else:
        match = place(connection, row.id, signature, rules)
        decision = DecisionKind.NEW if match is None else DecisionKind.DUPLICATE
    connection.execute(update(Page).where(Page.id == row.id).values(**values))
    return Revision(
        row.url,
        row.decision,
        str(decision),
        signature.words,
        None if match is None else match.url,
        None if match is None else match.similarity,
    )
