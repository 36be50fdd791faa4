"""URLs in canonical form: the short way gives what the long way gives."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from w3lib.url import canonicalize_url

from websegment_scrapy.store import record
from websegment_scrapy.store.record import canonical_url, host_of

LABELS = st.text("abz019-", min_size=1, max_size=63)
PATHS = st.text("abcXYZ019._~/-%?#=&; é:@", max_size=30)


@given(st.lists(LABELS, min_size=1, max_size=5), PATHS, st.sampled_from(["http", "https"]))
def test_urls_taken_as_canonical_are_canonical(labels: list[str], path: str, scheme: str) -> None:
    host = ".".join(labels)
    url = f"{scheme}://{host}/{path}"
    assert canonical_url(url) == canonicalize_url(url.strip())
    assert host_of(canonical_url(url)) == host


def test_most_urls_take_the_short_way() -> None:
    for url in ("https://www.example.com/", "http://example.com/a/B-1.html~"):
        assert record._PLAIN.fullmatch(url)
    for url in ("https://EXAMPLE.com/", "https://example.com", "https://example.com/?b=1&a=2"):
        assert not record._PLAIN.fullmatch(url)
