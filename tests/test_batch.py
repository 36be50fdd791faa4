"""A batch: whole archives to Parquet, killed or not, and the clusters that a store would have."""

from __future__ import annotations

import fcntl
import json
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from tests.test_archives import DAMAGED, SKIPPED
from tests.test_store_support import postgresql_server, postgresql_url  # noqa: F401
from tests.warcs import members, record, response
from websegment_scrapy import analyze
from websegment_scrapy.cli.main import main
from websegment_scrapy.dedup.signature import RECIPES
from websegment_scrapy.store import Store

WORDS = "harbour ferry morning coal quay master lantern rope kettle bread winter market".split()
MENU = "".join(f"<li><a href=/{word}>{word.title()} of the town</a></li>" for word in WORDS)


def text(seed: object, length: int = 120) -> list[str]:
    rng = random.Random(str(seed))
    return [f"{rng.choice(WORDS)}{rng.randrange(50)}" for _ in range(length)]


def html(words: list[str], site: str = "a") -> str:
    """A page of a site: its menu and a line of its own are on all of its pages."""
    paragraphs = "".join(f"<p>{' '.join(words[at : at + 30])}.</p>" for at in range(0, 999, 30))
    slogan = f"<p>{' '.join(text(site, 25))} every reader of {site} sees this.</p>"
    return (
        f"<html><title>Of {words[0]}</title><body><ul>{MENU}</ul><article><h1>{words[1]}</h1>"
        f"{paragraphs.replace('<p>.</p>', '')}{slogan}</article></body></html>"
    )


def edited(words: list[str], seed: int, share: float) -> list[str]:
    rng = random.Random(seed)
    return [rng.choice(WORDS) if rng.random() < share else word for word in words]


def collection(pages: int = 60) -> list[tuple[str, str]]:
    """Pages of three sites: originals, copies, near copies, and chains of steps."""
    found = []
    for number in range(pages):
        own = text(number // 3)
        site = "abc"[number % 3]
        words = edited(own, number, (0.0, 0.01, 0.03)[number % 3])
        found.append((f"http://{site}.test/{'x' * (number % 7)}{number}", html(words, site)))
    return found


def write(path: Path, pages: list[tuple[str, str]], *others: bytes) -> Path:
    records = [record(url, response(body)) for url, body in pages]
    path.write_bytes(members(*records, *others))
    return path


def run(*arguments: object) -> int:
    return main(["batch", *map(str, arguments), "-q", "--workers", "2"])


def rows(folder: Path, name: str = "pages") -> list[dict]:
    return [
        row
        for path in sorted((folder / name).glob("*.parquet"))
        for row in pq.read_table(path).to_pylist()
    ]


def snapshot(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*.parquet"))
    } | {"summary": (folder / "summary.json").read_bytes()}


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("archive") / "x.warc.gz", collection())


@pytest.fixture(scope="module")
def done(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("done") / "out"
    assert run(archive, "-o", folder, "--shard-pages", 10) == 0
    return folder


def test_every_page_has_a_row_with_its_text(done: Path) -> None:
    found = rows(done)
    assert [row["url"] for row in found] == [url for url, _ in collection()]
    for row in found[:5]:
        assert (row["outcome"], row["host"]) == ("page", row["url"].split("/")[2])
        assert row["words"] > 100
        assert row["title"].startswith("Of ")
        assert len(row["signature"]) == 512
        assert len(row["keys"]) == 16
        assert row["page_type"]
    assert len(list((done / "pages").glob("*.parquet"))) == 6
    assert not (done / "analysed").exists()


def test_what_a_site_repeats_is_counted_before_anything_is_judged(done: Path) -> None:
    """Alone, a page has its site's line in its text; known by its site, it has not."""
    url, body = collection()[0]
    assert "every reader of a sees this" in analyze(body, url=url).main_text
    for row in rows(done):
        assert "every reader of" not in row["main_text"], row["url"]


def test_the_order_of_the_inputs_decides_nothing(done: Path, tmp_path: Path) -> None:
    pages = collection()
    random.Random(5).shuffle(pages)
    one, two = write(tmp_path / "1.warc.gz", pages[:23]), write(tmp_path / "2.warc.gz", pages[23:])
    assert run(two, one, "-o", tmp_path / "out", "--shard-pages", 7) == 0
    names = ("url", "main_text", "outcome", "signature")
    assert {tuple(row[name] for name in names) for row in rows(tmp_path / "out")} == {
        tuple(row[name] for name in names) for row in rows(done)
    }
    clusters = [
        pq.read_table(folder / "clusters.parquet").drop(["input", "record"]).to_pylist()
        for folder in (done, tmp_path / "out")
    ]
    assert clusters[0] == clusters[1]


def test_counts_in_and_out_agree_by_reason(tmp_path: Path) -> None:
    """Of every kind of record one, sound and damaged, and a page of few words."""
    pages = collection(9)
    few = record("http://a.test/few", response("<html><body><p>Few words.</p></body></html>"))
    odd = record("http://a.test/json", response(json.dumps({"a": "<p>x</p>"})))
    damaged = DAMAGED["no HTTP"][0] + DAMAGED["half of a compressed body"][0]
    first = write(tmp_path / "x.warc.gz", pages, *SKIPPED.values(), few, odd)
    second = tmp_path / "y.warc"
    second.write_bytes(damaged)
    assert run(first, second, "-o", tmp_path / "out") == 0
    found = Counter((row["outcome"], row["reason"]) for row in rows(tmp_path / "out"))
    expected = Counter({("skipped", reason): 1 for reason in SKIPPED})
    expected[("skipped", "json")] += 1
    expected |= {("failed", "malformed HTTP head"): 1, ("failed", "undecodable body"): 1}
    expected |= {("empty", "too few words"): 1, ("page", None): 11}
    assert found == expected
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["total"]["records"] == found.total()
    assert summary["inputs"][str(second)]["failed"] == {
        "malformed HTTP head": 1,
        "undecodable body": 1,
    }


def test_a_page_that_takes_too_much_fails_and_the_others_do_not(tmp_path: Path) -> None:
    large = f"<html><body>{'<p>A word. ' * 2_000_000}</body></html>"
    pages = [collection(3)[0], ("http://a.test/large", large), *collection(3)[1:]]
    archive = write(tmp_path / "x.warc.gz", pages)
    arguments = ("-o", tmp_path / "out", "--page-memory", "64")
    assert run(archive, *arguments) == 0
    found = {row["url"]: row for row in rows(tmp_path / "out")}
    failed = found["http://a.test/large"]
    assert (failed["outcome"], failed["reason"]) == ("failed", "analysis")
    assert "64 MiB of memory are too few" in failed["detail"]
    assert Counter(row["outcome"] for row in found.values())["page"] == 3


def clusters_of(folder: Path) -> dict[str, tuple]:
    return {
        row["url"]: (row["decision"], row["representative"], row["duplicate_of"], row["similarity"])
        for row in pq.read_table(folder / "clusters.parquet").to_pylist()
    }


@pytest.mark.parametrize("signature", ["minhash", "shingles"])
def test_a_store_that_takes_the_batch_has_its_clusters(
    archive: Path, tmp_path: Path, signature: str, capsys
) -> None:
    out, database = tmp_path / "out", f"sqlite:///{tmp_path}/s.db"
    assert run(archive, "-o", out, "--signature", signature) == 0
    assert main(["dedup", "merge", str(out), "--database", database, "-q"]) == 0
    assert "60 pages and the counts of 3 sites" in capsys.readouterr().err
    assert main(["dedup", "check", "--database", database, "-q"]) == 0
    assert main(["dedup", "export", "--database", database, "-o", str(tmp_path / "e")]) == 0
    stored = [json.loads(line) for line in (tmp_path / "e").read_text().splitlines()]
    ours = clusters_of(out)
    assert len(stored) == len(ours) == 60
    kinds = Counter()
    for page in stored:
        decision, representative, target, similarity = ours[page["url"]]
        kinds[decision] += 1
        assert page["decision"] == decision
        assert page["duplicate_of"] == target, page["url"]
        assert page["similarity"] == similarity
        assert page["representative"] == representative
    assert min(kinds.values()) > 5
    assert main(["dedup", "merge", str(out), "--database", database, "-q"]) == 0
    assert "0 pages and the counts of 0 sites" in capsys.readouterr().err


def test_postgresql_takes_a_batch_as_well(
    done: Path,
    tmp_path: Path,
    postgresql_url: str,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    for brought in ("60 pages and the counts of 3 sites", "0 pages and the counts of 0 sites"):
        assert main(["dedup", "merge", str(done), "--database", postgresql_url, "-q"]) == 0
        assert brought in capsys.readouterr().err
    database = ["--database", postgresql_url]
    assert main(["dedup", "check", *database, "-q"]) == 0
    assert main(["dedup", "export", *database, "-o", str(tmp_path / "e")]) == 0
    stored = [json.loads(line) for line in (tmp_path / "e").read_text().splitlines()]
    ours = {url: found[:2] for url, found in clusters_of(done).items()}
    assert {page["url"]: (page["decision"], page["representative"]) for page in stored} == ours
    assert {page["first_seen"][:10] for page in stored} == {"2024-01-02"}


def test_a_crawl_goes_on_from_a_merged_batch(done: Path, tmp_path: Path) -> None:
    """What the batch counted of a site is known, and a copy of its page is found."""
    database = f"sqlite:///{tmp_path}/s.db"
    assert main(["dedup", "merge", str(done), "--database", database, "-q"]) == 0
    with Store.open(database, recipe=RECIPES["minhash"]) as store:
        verdict = store.site_verdict("a.test")
        assert verdict is not None
        assert verdict.pages == 20
        page = analyze(html(text(0), "d"), url="http://d.test/copy")
        from websegment_scrapy.store import PageRecord

        decision = store.decide(PageRecord(url=page.url, signature=page.signature))
        assert decision.kind == "duplicate"


def test_what_is_not_done_cannot_be_merged(tmp_path: Path, archive: Path, capsys) -> None:
    assert run(archive, "-o", tmp_path / "out") == 0
    (tmp_path / "out" / "summary.json").unlink()
    database = f"sqlite:///{tmp_path}/s.db"
    assert main(["dedup", "merge", str(tmp_path / "out"), "--database", database]) == 2
    assert "is not done: go on with websegment batch first" in capsys.readouterr().err


def test_of_several_captures_the_last_one_that_has_a_text_counts(tmp_path: Path) -> None:
    old, new = html(text("old")), html(text("new"))
    url = "http://a.test/page"
    empty = "<html><body><p>Gone.</p></body></html>"
    path = tmp_path / "x.warc.gz"
    path.write_bytes(
        members(
            record(url, response(new), date="2024-05-01T00:00:00Z"),
            record(url, response(old), date="2023-05-01T00:00:00Z"),
            record(url, response(empty), date="2024-06-01T00:00:00Z"),
            record(f"{url}/copy", response(new)),
        )
    )
    assert run(path, "-o", tmp_path / "out") == 0
    assert [row["outcome"] for row in rows(tmp_path / "out")] == ["page", "page", "empty", "page"]
    found = pq.read_table(tmp_path / "out" / "clusters.parquet").to_pylist()
    assert [(row["url"], row["record"]) for row in found] == [(url, 0), (f"{url}/copy", 3)]
    assert found[1]["duplicate_of"] == url


def command(archive: Path, folder: Path) -> list[str]:
    found = [sys.executable, "-m", "websegment_scrapy.cli.main", "batch", str(archive), "-q"]
    return [*found, "-o", str(folder), "--shard-pages", "10", "--workers", "1"]


@pytest.mark.slow
def test_a_killed_batch_goes_on_and_has_the_same_bytes(
    archive: Path, done: Path, tmp_path: Path
) -> None:
    """Killed at moments that a seed draws, until a run comes to its end."""
    rng = random.Random(7)
    began = time.monotonic()
    subprocess.run(command(archive, tmp_path / "whole"), check=True)
    whole = time.monotonic() - began
    kills = 0
    for _ in range(4):
        started = subprocess.Popen(command(archive, tmp_path / "out"))
        try:
            started.wait(rng.uniform(0.1, 0.9) * whole)
        except subprocess.TimeoutExpired:
            started.send_signal(signal.SIGKILL)
            kills += 1
        started.wait()
    assert kills
    subprocess.run(command(archive, tmp_path / "out"), check=True)
    assert snapshot(tmp_path / "out") == snapshot(done)
    assert not list((tmp_path / "out").rglob("*.part"))


def test_a_batch_that_is_done_is_not_done_again(archive: Path, done: Path) -> None:
    before = snapshot(done)
    times = {path: path.stat().st_mtime_ns for path in done.rglob("*.parquet")}
    assert run(archive, "-o", done, "--shard-pages", 10) == 0
    assert snapshot(done) == before
    assert times == {path: path.stat().st_mtime_ns for path in done.rglob("*.parquet")}


def test_two_runs_into_one_folder_are_refused(archive: Path, tmp_path: Path, capsys) -> None:
    (tmp_path / "out").mkdir()
    with (tmp_path / "out" / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert run(archive, "-o", tmp_path / "out") == 2
    assert "another run works in" in capsys.readouterr().err
    assert run(archive, "-o", tmp_path / "out") == 0


def test_another_batch_in_the_same_folder_is_refused(
    archive: Path, done: Path, tmp_path: Path, capsys
) -> None:
    assert run(archive, "-o", done, "--shard-pages", 11) == 2
    said = capsys.readouterr().err
    assert "holds a batch of other options (shard_pages is 10 there and 11 here)" in said
    other = write(tmp_path / "y.warc.gz", collection(3))
    assert run(other, "-o", done, "--shard-pages", 10) == 2
    assert "holds a batch of other inputs" in capsys.readouterr().err


def test_a_shard_that_always_fails_is_told_and_the_others_go_on(
    archive: Path, done: Path, tmp_path: Path, capsys
) -> None:
    """A folder stands where a shard should; once it is gone, the batch comes to its end."""
    blocked = tmp_path / "out" / "analysed" / "00000-000002.parquet"
    (blocked / "full").mkdir(parents=True)
    for _ in range(2):
        assert run(archive, "-o", tmp_path / "out", "--shard-pages", 10) == 1
        said = capsys.readouterr().err
        assert "analysed/00000-000002.parquet: it cannot be written" in said
        assert len(rows(tmp_path / "out")) == 50
    (blocked / "full").rmdir()
    blocked.rmdir()
    assert run(archive, "-o", tmp_path / "out", "--shard-pages", 10) == 0
    assert snapshot(tmp_path / "out") == snapshot(done)


def test_an_archive_that_cannot_be_read_is_told_and_the_others_are(
    archive: Path, tmp_path: Path, capsys
) -> None:
    (tmp_path / "x.wacz").write_bytes(b"nonsense")
    inputs = (tmp_path / "x.wacz", tmp_path / "none.warc", archive)
    assert run(*inputs, "-o", tmp_path / "out") == 1
    said = capsys.readouterr().err
    assert "x.wacz is no WACZ file" in said
    assert "none.warc cannot be read" in said
    assert len(rows(tmp_path / "out")) == 60


@pytest.mark.parametrize("module", ["pyarrow", "duckdb"])
def test_a_missing_package_is_named_with_the_remedy(
    archive: Path, tmp_path: Path, module: str
) -> None:
    script = (
        f"import sys; sys.modules[{module!r}] = None\n"
        "from websegment_scrapy.cli.main import main\n"
        f"sys.exit(main(['batch', {str(archive)!r}, '-o', {str(tmp_path / 'out')!r}]))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 2
    assert 'pip install "websegment-scrapy[batch]"' in ran.stderr


def test_wrong_use_is_named(tmp_path: Path, capsys) -> None:
    assert main(["batch", "page.html", "-o", str(tmp_path / "out")]) == 2
    assert "page.html is no archive" in capsys.readouterr().err


def test_the_documented_queries_run(done: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.test_documentation import DOCUMENTS, blocks

    (shown,) = blocks(DOCUMENTS["docs/guides/archives.md"], "duckdb")
    queries = [query for query in shown.split(";") if query.strip()]
    assert len(queries) == 5
    monkeypatch.chdir(done)
    for query in queries:
        assert duckdb.sql(query).fetchall(), query
