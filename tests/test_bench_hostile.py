"""``websegment bench hostile``: that it finds what is wrong, and a short form of the soak."""

from __future__ import annotations

import gzip
import json
import os
import re
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from websegment_scrapy import analyze
from websegment_scrapy.bench.hostile_articles import Article, article
from websegment_scrapy.bench.hostile_findings import find
from websegment_scrapy.bench.hostile_kinds import KINDS, chosen_kinds, hostile_pages
from websegment_scrapy.bench.hostile_run import CrawlRun
from websegment_scrapy.bench.hostile_servers import Servers
from websegment_scrapy.bench.hostile_watch import MARK, Watch
from websegment_scrapy.bench.hostile_web import (
    FORGED_PLACE,
    INTERNAL_WORDS,
    Ask,
    HostilePage,
    key_of,
)
from websegment_scrapy.cli.main import main
from websegment_scrapy.dedup.signature import RECIPES, signature_of
from websegment_scrapy.exceptions import ConfigError
from websegment_scrapy.store import PageRecord, Store

SITE = "http://127.0.0.10:4000"


@pytest.fixture
def servers():
    with Servers() as running:
        yield running


def get(url: str, headers: dict[str, str] | None = None) -> str:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(urllib.request.Request(url, headers=headers or {}), timeout=10) as response:
        return response.read().decode("utf-8", "replace")


def item(url: str, text: str, *, asked: str | None = None, **result: Any) -> dict[str, Any]:
    told = {"main_text": text, "title": "", "decision": "new", **result}
    return {"url": url, "asked": asked or url, "websegment": told, "body": ""}


def crawled(folder: Path, articles: list[Article], *others: dict[str, Any]) -> CrawlRun:
    """What a crawl leaves that stored these pages rightly."""
    folder.mkdir(exist_ok=True)
    run = CrawlRun(folder)
    with Store.open(f"sqlite:///{run.database}", recipe=RECIPES["minhash"]) as store:
        for page in articles:
            text = " ".join(page.paragraphs)
            run.items.append(item(page.url, text))
            signature = signature_of(text, RECIPES["minhash"])
            store.decide(PageRecord(url=page.url, title=page.title, signature=signature))
    run.items += others
    return run


def hostile(servers: Servers, kind: str, articles: list[Article]) -> HostilePage:
    (page,) = hostile_pages([KINDS[kind]], 1, servers.origins, articles)
    servers.serve(articles, [page])
    return page


@pytest.mark.parametrize("number", range(30))
def test_a_normal_page_is_extracted_exactly(number: int) -> None:
    page = article(number, SITE)
    if number % 10 != 9:  # those are built by a script
        assert page.is_in(analyze(page.html, url=page.url).main_text)


def test_kinds_are_chosen_by_the_beginning_of_their_names() -> None:
    assert {kind.name for kind in chosen_kinds(["voice", "cpu-loop"])} == {
        "cpu-loop",
        *(name for name in KINDS if name.startswith("voice-")),
    }
    assert 80 <= len(chosen_kinds([])) == len(KINDS) <= 100
    with pytest.raises(ConfigError, match="no kind 'sssrf'"):
        chosen_kinds(["sssrf"])


def test_no_page_names_an_address_that_is_not_loopback(servers: Servers) -> None:
    articles = [article(number, site) for number, site in enumerate(servers.origins.sites)]
    for page in hostile_pages(list(KINDS.values()), len(KINDS), servers.origins, articles):
        if page.kind.name.startswith("gzip"):
            continue
        answer = page.kind.answer(page, Ask("", "GET", {}))
        text = answer.body if isinstance(answer.body, str) else ""
        for url in re.findall(r"(?:https?|wss?)://([^/'\"\s)<;]+)", f"{text} {answer.headers}"):
            host = urlsplit(f"http://{url}").hostname or ""
            assert host.startswith(("127.", "0177.", "0x7f", "::")) or host in {
                "localhost",
                "2130706434",
            }, (page.kind.name, url)


def test_the_internal_service_counts_whoever_reaches_it(servers: Servers) -> None:
    page = hostile(servers, "ssrf-location", [article(0, servers.origins.sites[0])])
    assert page.internal() in get(page.prefix)
    answer = get(page.internal())
    assert all(word in answer for word in INTERNAL_WORDS)
    assert (servers.reached["ssrf-location"], servers.connections) == (1, 1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for data in (b"\x00\x01\x00\x00\x21\x12\xa4\x42", b"anything else"):
            sender.sendto(data, ("127.0.0.2", servers.origins.udp))
    get(page.prefix)
    assert (servers.reached["webrtc"], servers.reached["webtransport"]) == (1, 1)


def test_a_secret_at_another_origin_is_noted(servers: Servers) -> None:
    site, other = servers.origins.sites[:2]
    for url in (f"{site}/robots.txt", f"{other}/robots.txt", f"{servers.origins.third}/c/a/0"):
        get(url, {"X-Api-Key": key_of(site)})
    assert servers.leaks.total() == 2


def test_an_undisturbed_crawl_has_no_findings(servers: Servers, tmp_path: Path) -> None:
    articles = [article(number, servers.origins.sites[number]) for number in range(3)]
    page = hostile(servers, "cpu-loop", articles)
    run = crawled(tmp_path, articles, item(page.prefix, f"said {page.word}"))
    found = find(run, articles, [page])
    assert (found.wrong, found.misplaced, found.forged, found.canaries) == ([], [], [], [])
    assert (found.silent, found.lost) == ([], [])


def test_hostile_text_under_another_url_is_found(servers: Servers, tmp_path: Path) -> None:
    articles = [article(number, servers.origins.sites[number]) for number in range(3)]
    page = hostile(servers, "voice-pushstate", articles)
    victim = page.origin + page.neighbour
    run = crawled(tmp_path, articles, item(victim, f"said {page.word}", asked=page.prefix))
    found = find(run, articles, [page])
    assert [victim in text for text in found.wrong] == [True]
    assert [page.place in text for text in found.misplaced] == [True]


def test_a_page_of_the_browsers_own_is_found(servers: Servers, tmp_path: Path) -> None:
    articles = [article(0, servers.origins.sites[0])]
    page = hostile(servers, "own-blob", articles)
    run = crawled(tmp_path, articles, item("blob:a", f"said {page.word}", asked=page.prefix))
    assert find(run, articles, [page]).misplaced


def test_a_lost_and_a_changed_page_are_found(servers: Servers, tmp_path: Path) -> None:
    articles = [article(number, servers.origins.sites[number]) for number in range(3)]
    run = crawled(tmp_path, articles)
    lost, changed, _ = run.items
    run.items.remove(lost)
    changed["websegment"]["main_text"] = changed["websegment"]["main_text"][9:]
    found = find(run, articles, [])
    assert [text.split(": ", 1)[1][:7] for text in found.wrong] == ["no item", "an item"]


def test_a_forged_layout_and_a_silent_page_are_found(servers: Servers, tmp_path: Path) -> None:
    articles = [article(0, servers.origins.sites[0])]
    page = hostile(servers, "forged-plain", articles)
    silent = find(crawled(tmp_path / "a", articles), articles, [page])
    assert silent.silent == [page.place]
    forged = {"rendered": False, "boxes": [[0, FORGED_PLACE, 10, 10]]}
    for number, result in enumerate(({"rendered": True}, forged)):
        run = crawled(tmp_path / str(number), articles, item(page.prefix, page.word, **result))
        assert len(find(run, articles, [page]).forged) == 1


def test_an_odd_page_without_its_text_is_found(servers: Servers, tmp_path: Path) -> None:
    page = hostile(servers, "charset-hex", [])
    run = crawled(tmp_path, [], item(page.prefix, "", decision="failed"))
    assert len(find(run, [], [page]).lost) == 1


def test_internal_words_are_found_in_packed_files(tmp_path: Path) -> None:
    run = crawled(tmp_path, [])
    (tmp_path / "cache").mkdir()
    text = b"a" * 3_000_000 + INTERNAL_WORDS[0].encode()
    (tmp_path / "cache" / "response_body").write_bytes(gzip.compress(text))
    assert find(run, [], []).canaries == ["file cache/response_body"]


def test_a_process_that_outlives_its_parent_is_found_and_ended(tmp_path: Path) -> None:
    script = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'input()'])"
    reader, writer = os.pipe()  # the child reads from it, and so ends with this test at last
    environment = {**os.environ, MARK: str(tmp_path)}
    process = subprocess.Popen([sys.executable, "-c", script], stdin=reader, env=environment)
    watch = Watch(process.pid, str(tmp_path), tmp_path)
    process.wait()
    assert len(watch.wait(0.5)) == 1
    watch.end()
    assert watch.wait(5) == []
    os.close(reader)
    os.close(writer)


FIGURES = ("time", "event loop's lag", "crawler's memory")
"""Conditions that a run of twenty pages on a busy machine says nothing about."""


@pytest.mark.browser
def test_a_small_soak_finds_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    kinds = (
        "ssrf-location ssrf-302 ssrf-websocket secret-frame voice-pushstate forged-observer "
        "regex-comments own-blank text-zero-area"
    )
    # time enough for a page beside other tests: which pages are right is asked, not how fast
    arguments = "bench hostile --normal 12 --hostile 10 --timeout 60 --format jsonl"
    main([*arguments.split(), "--kinds", *kinds.split()])
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(rows) > 20
    wrong = [row for row in rows if not row["passed"] and not row["check"].startswith(FIGURES)]
    assert wrong == []
