from __future__ import annotations

import gc

import pytest

from websegment_scrapy.crawl.garbage import count_again, leave_alone


class Crawl:
    pass


@pytest.fixture(autouse=True)
def unfrozen():
    yield
    gc.unfreeze()


def is_looked_through(thing: object) -> bool:
    return any(each is thing for each in gc.get_objects())


def test_what_is_there_counts_again_when_the_last_crawl_ends() -> None:
    first, second, there = Crawl(), Crawl(), [Crawl()]
    leave_alone(first)
    later = [Crawl()]
    leave_alone(second)
    assert not is_looked_through(there)
    assert is_looked_through(later)
    count_again(first)
    count_again(first)
    assert not is_looked_through(there)
    count_again(second)
    assert is_looked_through(there)


def test_a_crawl_that_did_not_begin_ends_nothing() -> None:
    there = [Crawl()]
    gc.freeze()
    count_again(Crawl())
    assert not is_looked_through(there)
