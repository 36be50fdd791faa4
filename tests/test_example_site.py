"""The web of the example project: complete, linked, and true to its ground truth."""

from __future__ import annotations

import io
import json
import re
import socket
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urljoin
from urllib.request import urlopen

import lxml.html
import pytest

EXAMPLE = Path(__file__).parent.parent / "example_project"
sys.path.insert(0, str(EXAMPLE))

from demo.differences import common_runs, edits  # noqa: E402
from demo.pages import respond  # noqa: E402
from demo.report import PageResult, format_report  # noqa: E402
from demo.server import WebServers  # noqa: E402
from demo.ticker import Ticker  # noqa: E402
from demo.truth import Truth, truth  # noqa: E402
from demo.web import Edition, Site, load_sites, load_texts  # noqa: E402

SHINGLE_WORDS = 6


def shingles(text: str) -> set[tuple[str, ...]]:
    words = re.findall(r"\w+", text.lower())
    return {
        tuple(words[first : first + SHINGLE_WORDS])
        for first in range(len(words) - SHINGLE_WORDS + 1)
    }


def jaccard(one: set[tuple[str, ...]], other: set[tuple[str, ...]]) -> float:
    return len(one & other) / len(one | other)


def body(edition: Edition) -> str:
    return " ".join([*edition.paragraphs, edition.note])


def three_free_ports() -> int:
    for first in range(18651, 28651, 3):
        try:
            for port in range(first, first + 3):
                with socket.create_server(("127.0.0.1", port)):
                    pass
        except OSError:
            continue
        return first
    raise AssertionError("no three free ports in a row")


@pytest.fixture(scope="module")
def sites() -> tuple[Site, ...]:
    return load_sites(8651)


@pytest.fixture(scope="module")
def facts(sites: tuple[Site, ...]) -> dict[str, Truth]:
    return truth(sites)


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[Site, ...]]:
    servers = WebServers(three_free_ports())
    servers.start()
    yield servers.sites
    servers.stop()


def get(url: str) -> str:
    with urlopen(url, timeout=10) as response:
        text: str = response.read().decode("utf-8")
    return text


def test_there_are_some_thirty_readable_texts() -> None:
    texts = load_texts()
    assert len(texts) == 30
    for text in texts.values():
        assert 120 <= sum(len(paragraph.split()) for paragraph in text.paragraphs) <= 350, text.id


def test_the_truth_has_every_kind_of_page(facts: dict[str, Truth]) -> None:
    kinds = Counter(fact.kind for fact in facts.values())
    assert kinds == {"article": 58, "print": 10, "list": 8, "about": 3, "thin": 8}
    copies = Counter(fact.text for fact in facts.values() if fact.text)
    assert len(copies) == 30
    assert {1, 2, 3} <= set(copies.values())
    assert sum(fact.edited for fact in facts.values()) >= 10


def test_the_text_that_the_truth_names_stands_on_the_page(
    sites: tuple[Site, ...], facts: dict[str, Truth]
) -> None:
    texts = load_texts()
    for site in sites[:2]:
        for path in site.pages:
            answer = respond(site, path)
            assert answer is not None
            page = shingles(lxml.html.fromstring(answer[1]).text_content())
            for text in texts.values():
                paragraphs = shingles(" ".join(text.paragraphs))
                share = len(paragraphs & page) / len(paragraphs)
                is_there = facts[site.origin + path].text == text.id
                assert share >= 0.85 if is_there else share < 0.2, (path, text.id)


def test_copies_of_a_text_are_similar_and_different_texts_are_not(sites: tuple[Site, ...]) -> None:
    editions = [
        (edition.text.id, shingles(body(edition))) for site in sites for edition in site.editions
    ]
    for (one, first), (other, second) in combinations(editions, 2):
        similarity = jaccard(first, second)
        assert similarity >= 0.8 if one == other else similarity < 0.2, (one, other)


def test_list_pages_are_no_copies_of_one_another(sites: tuple[Site, ...]) -> None:
    feed = json.loads(respond(sites[2], "/feed.json")[1])  # type: ignore[index]
    lists = [
        shingles(" ".join(teaser["teaser"] for teaser in page["teasers"]))
        for page in feed["pages"].values()
        if page["view"] == "list"
    ]
    for site in sites[:2]:
        for page in site.pages.values():
            if page.kind == "list":
                tree = lxml.html.fromstring(respond(site, page.path)[1])  # type: ignore[index]
                where = "//*[@class='centre']" if site.key == "gazette" else "//*[@class='items']"
                lists.append(shingles(tree.xpath(where)[0].text_content()))
    assert len(lists) == 8
    assert max(jaccard(one, other) for one, other in combinations(lists, 2)) < 0.35


def test_every_page_is_served_and_links_reach_all_of_them(served: tuple[Site, ...]) -> None:
    for site in served[:2]:
        reached, waiting = set(), ["/"]
        while waiting:
            path = waiting.pop()
            if path in reached:
                continue
            reached.add(path)
            tree = lxml.html.fromstring(get(site.origin + path))
            for link in tree.xpath("//a/@href"):
                target = urljoin(site.origin + path, link)
                if target.startswith(site.origin):
                    waiting.append(target.removeprefix(site.origin))
        assert reached == set(site.pages)


def test_the_feed_reaches_all_pages_of_the_site_built_by_script(served: tuple[Site, ...]) -> None:
    site = served[2]
    feed = json.loads(get(f"{site.origin}/feed.json"))
    reached, waiting = set(), ["/"]
    while waiting:
        path = waiting.pop()
        if path in reached:
            continue
        reached.add(path)
        page = feed["pages"][path]
        waiting += [href for href, _ in [*feed["menu"], *page.get("pager", [])]]
        waiting += page.get("related", [])
        waiting += [teaser["path"] for teaser in page.get("teasers", [])]
    assert reached == set(site.pages) == set(feed["pages"])
    for path in site.pages:
        shell = lxml.html.fromstring(get(site.origin + path))
        assert len(shell.find("body").text_content().split()) < 5


def test_a_week_later_one_text_is_replaced_one_edited_and_every_footer_new(
    sites: tuple[Site, ...],
) -> None:
    later = load_sites(8651, later=True)
    assert (later[0], later[2]) == (sites[0], sites[2])
    before, after = sites[1], later[1]
    assert set(before.pages) - set(after.pages) == {"/2024/07/soup/"}
    assert set(after.pages) - set(before.pages) == {"/2024/07/harbour-crane/"}
    edited = [
        path
        for path, page in after.pages.items()
        if page.edition and path in before.pages and page.edition != before.pages[path].edition
    ]
    assert edited == ["/2024/08/pocket-knife/"]
    for path in after.pages:
        answer = respond(after, path)
        assert answer is not None
        assert after.footer in answer[1]
        assert before.footer not in answer[1]


def test_the_same_request_gets_the_same_answer(served: tuple[Site, ...]) -> None:
    for site in served:
        for path in ("/", "/style.css", "/robots.txt", *list(site.pages)[:3]):
            assert get(site.origin + path) == get(site.origin + path)


def test_other_paths_are_not_found(served: tuple[Site, ...]) -> None:
    for site in served:
        for path in ("/nowhere", "/../scrapy.cfg", "/print/kettle.html"):
            with pytest.raises(HTTPError, match="404") as caught:
                get(site.origin + path)
            caught.value.close()


def test_a_running_demo_web_is_used_and_any_other_server_is_named(
    served: tuple[Site, ...],
) -> None:
    again = WebServers(served[0].port)
    again.start()
    again.stop()
    assert get(f"{served[0].origin}/")
    with pytest.raises(OSError, match=f"port {served[0].port} is taken .* DEMO_PORT"):
        WebServers(served[0].port, later=True).start()
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(OSError, match=f"port {port} is taken .* DEMO_PORT"):
            WebServers(port).start()


def test_the_project_lists_its_spider() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "scrapy", "list"],
        cwd=EXAMPLE,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "news\n", done.stderr


def page_result(path: str, decision: str, **values: object) -> PageResult:
    field = {
        "decision": decision,
        "words": 200,
        "segments": [
            {"role": "main", "words": 200, "text": "kept " * 200},
            {"role": "links", "words": 50, "text": "Front page\nEarlier " + "link " * 47},
        ],
        **values,
    }
    return PageResult.from_field(f"http://127.0.0.1:8651{path}", field)


def test_the_report_counts_decisions_duplicates_and_stripped_words() -> None:
    original = "http://127.0.0.1:8651/news/kettle.html"
    pages = [
        page_result("/news/kettle.html", "new"),
        page_result("/print/kettle.html", "duplicate", duplicate_of=original, similarity=0.97),
        page_result("/contact.html", "empty", words=0, segments=[]),
    ]
    report = format_report(pages, {"127.0.0.1:8651": "Gazette"}, "sqlite:///x.db", 12.3)
    assert report.startswith("3 pages on 1 site(s) in 12 seconds\n")
    assert re.search(r"^Gazette +3 +1 +1 +- +- +1 +- +500 +400 +20%$", report, re.MULTILINE)
    assert re.search(
        r"^  0\.97  Gazette /print/kettle\.html +Gazette /news/kettle\.html$", report, re.MULTILINE
    )
    assert re.search(r"^Gazette +50 +2  Front page Earlier link", report, re.MULTILINE)
    assert report.endswith("\n\nThe decisions are in sqlite:///x.db.")
    assert "\x1b" not in report


def test_the_report_fits_a_hundred_columns_and_says_when_nothing_is_new() -> None:
    long = f"/news/{'very-' * 30}long.html"
    copy = {"duplicate_of": f"http://127.0.0.1:8651{long}", "similarity": 1.0}
    first = format_report([page_result(long, "duplicate", **copy)] * 70, {}, "sqlite:///x.db", 1)
    second = format_report([page_result(long, "unchanged", **copy)] * 70, {}, "sqlite:///x.db", 1)
    assert max(map(len, first.splitlines())) <= 100
    assert "New duplicates: 70\n" in first
    assert "  and 62 more\n" in first
    assert "New duplicates: 0; known from before: 70\n" in second
    assert "Stripped most" in first
    assert "Stripped most" not in second


class Terminal(io.StringIO):
    """A terminal that keeps what was drawn, and tells when it was drawn some times."""

    def __init__(self) -> None:
        super().__init__()
        self.drawn = 0
        self.drawn_often = threading.Event()

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.drawn += 1
        if self.drawn == 5:
            self.drawn_often.set()
        return super().write(text)


def test_on_a_terminal_the_line_moves_by_itself_and_is_removed() -> None:
    terminal = Terminal()
    ticker = Ticker(terminal)
    ticker.saying = "3 of 87 pages"
    ticker.start()
    assert terminal.drawn_often.wait(60)
    ticker.stop()
    *drawn, last = terminal.getvalue().split("\r")
    assert last == "\x1b[K"
    assert len(set(drawn)) >= 4
    assert all(re.fullmatch(r"[-|/\\] +\d+ s  3 of 87 pages\x1b\[K", line) for line in drawn)


def test_a_line_that_never_began_ends_too() -> None:
    Ticker(io.StringIO()).stop()


def test_words_that_happen_to_be_the_same_do_not_break_a_difference() -> None:
    one = "the clerk has worked here since the steam heating and says so".split()
    other = "the clerk has worked here for ever in the attic and says so too".split()
    assert common_runs(one, other) == [
        (True, one[:5], other[:5]),
        (False, one[5:], other[5:]),
    ]


def test_edits_are_whole_sentences() -> None:
    before = "Title\nIt has a saw. It is in the drawer. It is old."
    after = "Title\nIt has a saw. My niece has it. It is old.\nA note"
    assert edits(before, after) == [
        ("-", "It is in the drawer."),
        ("+", "My niece has it."),
        ("+", "A note"),
    ]
