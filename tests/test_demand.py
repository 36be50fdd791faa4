"""Which pages need the browser: the rule, without a crawl."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from websegment_scrapy.crawl.demand import OFTEN, are_mostly_needed, is_drawn, why_to_render
from websegment_scrapy.dedup.signature import RECIPES
from websegment_scrapy.page.by_script import REASONS
from websegment_scrapy.store import Store
from websegment_scrapy.store.rendering import (
    KnownRendering,
    RenderingRow,
    count_look,
    rendering_of,
    take_rendering,
)

RECIPE = next(iter(RECIPES.values()))
URL = "http://example.com/page"
NEVER_DRAWN = next(
    url for url in (f"{URL}{number}" for number in range(999)) if not is_drawn(url, OFTEN)
)
DRAWN = next(
    url for url in (f"{URL}{number}" for number in range(999)) if is_drawn(url, 50 * OFTEN)
)


def rows(**shares: tuple[float, float]) -> Mapping[str, RenderingRow]:
    """Return what is known: by sign (``none`` for none) the looks and the share that needed it."""
    return {
        (sign if sign != "none" else ""): RenderingRow(
            "h", sign, looks, looks * share, datetime.now(UTC)
        )
        for sign, (looks, share) in shares.items()
    }


@pytest.mark.parametrize(
    ("sign", "site", "everywhere", "rendered"),
    [
        ("", {}, {}, True),
        ("little", {}, {}, True),
        ("", {"none": (1, 0)}, {}, False),
        ("little", {"little": (1, 0)}, {}, True),
        ("little", {"little": (3, 0)}, {}, False),
        ("little", {"little": (5, 0.2)}, {}, True),
        ("", {"none": (5, 0.2)}, {}, True),
        ("", {"little": (5, 1)}, {}, True),
        ("empty", {"empty": (3, 0)}, {}, True),
        ("empty", {"empty": (4.5, 0)}, {}, False),
        ("", {}, {"none": (9, 0.0)}, False),
        ("", {}, {"none": (9, 0.2)}, True),
        ("little", {}, {"little": (9, 0.0)}, False),
        ("little", {}, {"little": (5, 0.0)}, True),
        ("empty", {}, {"empty": (20, 0.0)}, True),
        ("", {"none": (1, 1)}, {"none": (20, 0.0)}, True),
    ],
)
def test_sign_site_and_other_sites_decide(
    sign: str,
    site: dict[str, tuple[float, float]],
    everywhere: dict[str, tuple[float, float]],
    rendered: bool,
) -> None:
    known = KnownRendering(rows(**site), rows(**everywhere))
    why, _ = why_to_render(sign, known, NEVER_DRAWN)
    assert (why is not None) is rendered


def test_pages_wait_for_the_looks_that_decide() -> None:
    unknown, once = KnownRendering({}, {}), KnownRendering(rows(little=(1, 0)), {})
    assert [why_to_render("little", unknown, NEVER_DRAWN, number)[1] for number in (2, 3)] == [
        False,
        True,
    ]
    assert why_to_render("little", once, NEVER_DRAWN, 2)[1]
    assert not why_to_render("empty", unknown, NEVER_DRAWN, 9)[1]
    needed = KnownRendering(rows(little=(1, 1)), {})
    assert why_to_render("little", needed, NEVER_DRAWN, 9) == (REASONS["little"], False)


def test_enough_sites_are_looked_at_when_as_many_are_known_or_under_way() -> None:
    unknown = KnownRendering({}, {})
    assert why_to_render("", unknown, NEVER_DRAWN, 0, 7)[0] is not None
    assert why_to_render("", unknown, NEVER_DRAWN, 0, 8) == (None, True)
    assert why_to_render("", unknown, DRAWN, 0, 8)[0] is not None
    assert why_to_render("", KnownRendering({}, rows(none=(9, 0))), NEVER_DRAWN) == (None, False)
    some = KnownRendering({}, rows(none=(3, 0.4)))
    assert why_to_render("", some, NEVER_DRAWN, 0, 8)[0] is not None


def test_a_few_pages_are_always_looked_at_both_ways() -> None:
    known = KnownRendering(rows(none=(5, 0), little=(5, 0)), rows(none=(20, 0)))
    assert why_to_render("", known, DRAWN)[0] is not None
    assert why_to_render("little", known, DRAWN)[0] is not None
    drawn = sum(is_drawn(f"{URL}{number}", 50) for number in range(10_000))
    assert 150 < drawn < 250


def test_pages_with_a_sign_do_not_speak_for_the_others() -> None:
    assert not are_mostly_needed(rows(none=(1, 0), empty=(5, 1)))
    assert not are_mostly_needed(rows(empty=(3, 1)))
    assert are_mostly_needed(rows(empty=(4.5, 1)))
    assert are_mostly_needed(rows(none=(3, 1)))


def test_looks_are_counted_and_the_last_count_most(tmp_path: Path) -> None:
    with Store.open(f"sqlite:///{tmp_path / 'a.db'}", recipe=RECIPE) as store:
        for needed in (True, False, False):
            count_look(store, URL, "little", needed)
        count_look(store, "http://other.example/", "little", needed=True)
        site, everywhere = rendering_of(store, URL)
        assert site["little"].looks == pytest.approx(1 + 0.8 + 0.64)
        assert site["little"].needed == pytest.approx(0.64)
        assert everywhere["little"].looks == pytest.approx(1.95)
        with Store.open(f"sqlite:///{tmp_path / 'b.db'}", recipe=RECIPE) as target:
            count_look(target, "http://other.example/", "little", needed=False)
            take_rendering(store.database, target.database)
            take_rendering(store.database, target.database)
            assert rendering_of(target, URL).site["little"] == site["little"]
            assert rendering_of(target, "http://other.example/").site["little"].share == 0
