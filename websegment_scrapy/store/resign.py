"""A database changes its recipe of signatures: in place, page by page, while crawls go on.

The database keeps no texts, so a page gets its new signature when its text is met again: by a crawl
that visits it, or in a file of texts given to `resign`. When only the similarity or the bands
change, the values stay and `resign` needs no texts.

Until then the page keeps its signature, cluster and decision of the former recipe. Pages of
different recipes are never compared and are never in one cluster; so at any moment the pages of
each recipe are clustered as if there were no others, and at the end all are as in a database that
had the new recipe from its beginning. Each transaction takes a few pages over completely, so an
interrupted run is simply started again. A crawl that opened the database before the change goes on
with the former recipe.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import func, insert, select, update

from websegment_scrapy.dedup.signature import Recipe, signature_of
from websegment_scrapy.exceptions import StoreError
from websegment_scrapy.store.database import Database, TooManyLocks
from websegment_scrapy.store.leaving import former_of, leave
from websegment_scrapy.store.locks import lock_schema
from websegment_scrapy.store.models import Page, StoreInfo, StoreRecipe
from websegment_scrapy.store.placing import lock_pages, place
from websegment_scrapy.store.queries import database_of
from websegment_scrapy.store.record import canonical_url, url_key
from websegment_scrapy.store.schema import count_former, migrate, read_info, read_recipe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from sqlalchemy import Connection

    from websegment_scrapy.dedup.signature import Signature
    from websegment_scrapy.store.store import Store
    from websegment_scrapy.store.visit import Rules

__all__ = ["Resigned", "adopt", "former_pages", "resign"]

CHUNK = 8
"""Pages in one transaction: crawls that write meanwhile wait for one chunk at most."""


@dataclass(frozen=True, slots=True)
class Resigned:
    """What a run of `resign` did.

    Parameters
    ----------
    pages
        Pages that got a new signature.
    unknown
        Texts whose URL is not in the database, or that have too few words there.
    other_text
        Texts with other words than the page had at its last visit; it keeps its signature.
    left
        Pages whose signature is still of a former recipe.
    """

    pages: int
    unknown: int
    other_text: int
    left: int


class _New(NamedTuple):
    """A page's new signature on its way."""

    key: bytes
    signature: Signature
    checked: bool
    """Whether it comes from the stored signature, not from a text that may be another one."""


def adopt(database: Database, recipe: Recipe, similarity: float) -> int:
    """Make a recipe and a similarity those of the database; return how many pages have others.

    It is one short transaction. Afterwards crawls open the database with the new recipe only.
    """
    if not 0 < similarity <= 1:
        raise StoreError(f"similarity is {similarity!r}: accepted is above 0, up to 1")
    migrate(database)
    with database.write() as connection:
        lock_schema(connection)
        info = read_info(database, connection)
        if (info.recipe, info.similarity) != (recipe, similarity):
            wanted = (recipe.to_json(), similarity)
            known = connection.execute(
                select(StoreRecipe.id).where(
                    StoreRecipe.recipe == wanted[0], StoreRecipe.similarity == wanted[1]
                )
            ).scalar()
            if known is None:
                known = 1 + connection.execute(select(func.max(StoreRecipe.id))).scalar_one()
                values = (known, *wanted, datetime.now(UTC))
                names = ("id", "recipe", "similarity", "adopted")
                connection.execute(insert(StoreRecipe), dict(zip(names, values, strict=True)))
            now = {"recipe": wanted[0], "similarity": repr(similarity), "recipe_id": str(known)}
            for key, value in now.items():
                connection.execute(
                    update(StoreInfo).where(StoreInfo.key == key).values(value=value)
                )
    return former_pages(database)


def former_pages(source: Store | Database) -> int:
    """Count the pages whose signature is of a former recipe."""
    database = database_of(source)
    with database.read() as connection:
        return count_former(connection, read_info(database, connection).recipe_id)


def resign(
    store: Store,
    texts: Iterable[tuple[str, str]] = (),
    progress: Callable[[int], None] = lambda _: None,
) -> Resigned:
    """Give pages of a former recipe a signature of the store's own.

    Parameters
    ----------
    store
        A store opened with the new recipe.
    texts
        URLs and main texts, as crawls have exported them. A page whose text was another one at its
        last visit is left for the next crawl. (After a change of the normaliser that cannot be
        told; the given text counts.)
    progress
        Called with the number of pages done so far.
    """
    rules = store.rules
    pages = unknown = other = 0
    for chunk in _chunks(_kept_values(store)):
        pages += _take_over(store, chunk).pages
        progress(pages)

    def signed() -> Iterator[_New]:
        nonlocal unknown
        for url, text in texts:
            signature = signature_of(text, rules.recipe)
            if signature.words < rules.min_words:
                unknown += 1
            else:
                yield _New(url_key(canonical_url(url)), signature, checked=False)

    for chunk in _chunks(signed()):
        done = _take_over(store, chunk)
        pages, unknown, other = pages + done.pages, unknown + done.unknown, other + done.other_text
        progress(pages)
    return Resigned(pages, unknown, other, former_pages(store))


def _chunks(items: Iterator[_New]) -> Iterator[list[_New]]:
    while chunk := list(islice(items, CHUNK)):
        yield chunk


def _kept_values(store: Store) -> Iterator[_New]:
    """Yield the pages whose former signature has the same values as the new one would have."""
    rules, database = store.rules, store.database
    with database.read() as connection:
        former = [
            number
            for number in connection.execute(select(StoreRecipe.id)).scalars().all()
            if number != rules.recipe_id
            and _values_of(read_recipe(connection, number)[0]) == _values_of(rules.recipe)
        ]
    after = 0
    while former:
        query = (
            select(Page.id, Page.url_key, Page.words, Page.content_hash, Page.signature)
            .where(Page.id > after, Page.signature.is_not(None), Page.recipe_id.in_(former))
            .order_by(Page.id)
            .limit(CHUNK)
        )
        with database.read() as connection:
            rows = connection.execute(query).all()
        if not rows:
            return
        for row in rows:
            yield _New(row.url_key, rules.signature(row), checked=True)
        after = rows[-1].id


def _values_of(recipe: Recipe) -> dict[str, object]:
    """Return what a signature's values depend on; bands and rows only make the keys."""
    return {name: value for name, value in asdict(recipe).items() if name not in ("bands", "rows")}


def _take_over(store: Store, chunk: Sequence[_New]) -> Resigned:
    """Re-sign some pages in one transaction, or in smaller ones if there is no room for locks."""

    def attempt() -> Resigned:
        with store.database.write() as connection:
            return _take_over_in(connection, store.rules, chunk)

    try:
        return store.with_room(attempt)
    except TooManyLocks:
        if len(chunk) == 1:
            raise
    middle = len(chunk) // 2
    a, b = (_take_over(store, part) for part in (chunk[:middle], chunk[middle:]))
    return Resigned(a.pages + b.pages, a.unknown + b.unknown, a.other_text + b.other_text, 0)


def _take_over_in(connection: Connection, rules: Rules, chunk: Sequence[_New]) -> Resigned:
    """Re-sign the pages that are of a former recipe and have the same words."""
    known = lock_pages(connection, rules, [(new.key, new.signature) for new in chunk])
    pages = unknown = other = 0
    for new in chunk:
        page_id = known.get(new.key)
        found = None if page_id is None else former_of(connection, page_id, rules)
        if page_id is None or found is None:
            unknown += 1
            continue
        former, its = found
        if its.recipe_id == rules.recipe_id:
            continue
        comparable = new.checked or its.recipe.normaliser == new.signature.recipe.normaliser
        if comparable and former.content_hash != new.signature.content_hash:
            other += 1
            continue
        leave(connection, page_id, former, its)
        place(connection, page_id, new.signature, rules)
        pages += 1
    return Resigned(pages, unknown, other, 0)
