"""Evaluation on a small data set written here, in the formats of the real ones."""

from __future__ import annotations

import io
import json
import lzma
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from websegment_scrapy.cli.main import main
from websegment_scrapy.evaluate import methods
from websegment_scrapy.evaluate.dedup import SignTask, evaluate_dedup, rates, sign_page
from websegment_scrapy.evaluate.segmentation import evaluate_segmentation, gold_segments
from websegment_scrapy.measure.datasets import (
    DATA_VARIABLE,
    DataError,
    Pair,
    content_pages,
    data_directory,
    labelled_pages,
    neardup_pages,
    neardup_pairs,
)
from websegment_scrapy.measure.report import text_table
from websegment_scrapy.measure.rivals import Rival
from websegment_scrapy.page.build import build_tree
from websegment_scrapy.pool import AnalysisPool

LABELLED = {
    "one": (
        "<html data-wsid=0><body data-wsid=1><div data-wsid=2><h1 data-wsid=3>Head</h1></div>"
        "<ul data-wsid=4><li data-wsid=5>a</li><li data-wsid=6>b</li></ul>"
        "<div data-wsid=7><p data-wsid=8>text</p></div><p data-wsid=9>outside</p></body></html>",
        {"2": (1, "Header"), "4": (1, "Menu"), "7": (1, "Content")},
    ),
    "two": (
        "<html data-wsid=0><body data-wsid=1><div data-wsid=2>top <b data-wsid=3>bold</b>"
        "<table data-wsid=4><tr data-wsid=5><td data-wsid=6>cell</td><td data-wsid=7>cell</td>"
        "</tr></table></div></body></html>",
        {"2": (1, "Content"), "4": (2, "Table")},
    ),
    "nothing": ("<html data-wsid=0><body data-wsid=1>text</body></html>", {"9": (1, "Menu")}),
}

POEM = " ".join(f"verse{number} about the sea" for number in range(40))
OTHER = " ".join(f"line{number} of a mountain" for number in range(40))
SHELL = "<html><body><ul><li><a href=/>home of site {0}</a></ul><div><p>{1}</p></div></body></html>"


def compressed(path: Path, lines: list[dict[str, object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with lzma.open(path, "wt", encoding="utf-8") as output:
        output.writelines(json.dumps(line) + "\n" for line in lines)


def add_file(tar: tarfile.TarFile, name: str, text: str) -> None:
    data = text.encode()
    member = tarfile.TarInfo(name)
    member.size = len(data)
    tar.addfile(member, io.BytesIO(data))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    with tarfile.open(folder / "segmentation.tar.xz", "w:xz") as tar:
        for name, (html, blocks) in LABELLED.items():
            description = {
                "page": f"{name}.example/page.html",
                "url": f"http://{name}.example/",
                "blocks": {
                    wsid: {"level": level, "type": kind} for wsid, (level, kind) in blocks.items()
                },
            }
            add_file(tar, f"segmentation/{name}/blocks.json", json.dumps(description))
            add_file(tar, f"segmentation/{name}/{name}.example/page.html", html)
    compressed(
        folder / "content/small.jsonl.xz",
        [{"id": "1", "url": "http://a/", "html": "<p>é</p>", "main_text": "é", "page_type": "x"}],
    )
    pages = [("a1", "A", POEM), ("b1", "B", POEM), ("a2", "A", OTHER), ("unused", "C", "")]
    compressed(
        folder / "neardup/lyrics_dev.pages.jsonl.xz",
        [
            {"id": name, "url": f"http://{site}/", "html": SHELL.format(site, text)}
            for name, site, text in pages
        ],
    )
    pairs = [("a1", "b1", True), ("a1", "a2", False), ("a2", "b1", False)]
    (folder / "neardup/lyrics_dev.pairs.jsonl").write_text(
        "".join(json.dumps({"a": a, "b": b, "duplicate": same}) + "\n" for a, b, same in pairs)
    )
    return folder


@pytest.fixture(scope="module")
def pool() -> Iterator[AnalysisPool]:
    with AnalysisPool(1, timeout=60, memory=1024) as processes:
        yield processes


def test_labelled_pages_are_read_from_the_archive_and_gone_afterwards(data: Path) -> None:
    with labelled_pages(data) as pages:
        assert [page.name for page in pages] == ["nothing", "one", "two"]
        page = pages[1]
        assert page.url == "http://one.example/"
        assert page.blocks["4"] == (1, "Menu")
        assert page.path.read_text() == LABELLED["one"][0]
    assert not page.path.exists()


def test_labelled_pages_are_read_from_an_unpacked_folder(data: Path, tmp_path: Path) -> None:
    with tarfile.open(data / "segmentation.tar.xz") as tar:
        tar.extractall(tmp_path, filter="data")
    for folder in (tmp_path, tmp_path / "segmentation"):
        with labelled_pages(folder) as pages:
            assert len(pages) == 3
        assert pages[0].path.exists()


def test_an_archive_that_writes_outside_its_folder_is_refused(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "segmentation.tar.xz", "w:xz") as tar:
        add_file(tar, "../escaped.html", "x")
    with pytest.raises(DataError, match="cannot be unpacked"), labelled_pages(tmp_path):
        pass
    assert not (tmp_path.parent / "escaped.html").exists()


def test_a_broken_archive_or_description_is_named(tmp_path: Path) -> None:
    (tmp_path / "segmentation.tar.xz").write_bytes(b"no archive")
    with pytest.raises(DataError, match="cannot be unpacked"), labelled_pages(tmp_path):
        pass
    (tmp_path / "page").mkdir()
    (tmp_path / "page/blocks.json").write_text("{}")
    with pytest.raises(DataError, match=r"blocks\.json"), labelled_pages(tmp_path):
        pass


def test_json_lines_are_read_one_by_one(data: Path) -> None:
    (page,) = content_pages(data, "small")
    assert (page.id, page.html, page.main_text, page.page_type) == ("1", "<p>é</p>", "é", "x")
    assert [page.id for page in neardup_pages(data, "lyrics_dev")] == ["a1", "b1", "a2", "unused"]
    assert next(neardup_pairs(data, "lyrics_dev")) == Pair("a1", "b1", duplicate=True)


def test_missing_and_cut_off_files_are_named(data: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none\.pages\.jsonl\.xz"):
        list(neardup_pages(data, "none"))
    (tmp_path / "content").mkdir()
    whole = (data / "content/small.jsonl.xz").read_bytes()
    (tmp_path / "content/small.jsonl.xz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match="cannot be read after line 0"):
        list(content_pages(tmp_path, "small"))


def test_the_data_folder_is_named_by_option_then_environment_then_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.delenv(DATA_VARIABLE, raising=False)
    with pytest.raises(DataError, match=f"set {DATA_VARIABLE} or --data"):
        data_directory()
    (tmp_path / "shared/data").mkdir(parents=True)
    assert data_directory() == Path("../shared/data")
    monkeypatch.setenv(DATA_VARIABLE, "missing")
    with pytest.raises(DataError, match=f"{DATA_VARIABLE} names 'missing'"):
        data_directory()
    assert data_directory(work) == work
    with pytest.raises(DataError, match="--data names"):
        data_directory("missing")


def test_gold_segment_is_the_nearest_labelled_ancestor() -> None:
    html, blocks = LABELLED["two"]
    tree = build_tree(html, attributes=("data-wsid",))
    gold = gold_segments(tree, frozenset(blocks)).tolist()
    assert [tree.text_of(leaf) for leaf in tree.leaves] == ["top", "bold", "cell", "cell"]
    assert gold == [0, 0, 1, 1]
    html, blocks = LABELLED["one"]
    tree = build_tree(html, attributes=("data-wsid",))
    assert gold_segments(tree, frozenset(blocks)).tolist() == [0, 1, 1, 2, -1]


def test_segmentation_measures_pages_and_names_those_it_cannot(
    data: Path, pool: AnalysisPool
) -> None:
    with labelled_pages(data) as pages:
        result = evaluate_segmentation(pages, ["justrules", "taggap"], pool, render=False)
    assert set(result.pages) == {"one", "two"}
    assert result.not_measured == {"nothing": "no text leaf lies in a labelled block"}
    first, second = result.engines
    # justrules cuts page "one" at h1 and ul and page "two" at the table: as they are labelled.
    assert first.ari.mean == first.nmi.mean == 1.0
    assert (first.poor, first.good, first.milliseconds > 0) == (0.0, 1.0, True)
    # taggap makes every leaf a segment: no pair is together, which is as good as chance.
    assert second.ari.mean == 0.0
    assert second.difference.mean == -1.0
    assert result.pages["one"].leaves == 4
    table = result.table()
    assert "nothing: no text leaf" in table
    assert table.splitlines()[2].startswith("engine")


def test_all_leaves_count_images_too(tmp_path: Path, pool: AnalysisPool) -> None:
    folder = tmp_path / "page"
    folder.mkdir()
    (folder / "page.html").write_text(
        "<body><div data-wsid=1>a<img width=9 height=9></div><h1 data-wsid=2>b</h1></body>"
    )
    blocks = {str(number): {"level": 1, "type": "Content"} for number in (1, 2)}
    (folder / "blocks.json").write_text(
        json.dumps({"page": "page.html", "url": "http://a/", "blocks": blocks})
    )
    with labelled_pages(tmp_path) as pages:
        counts = [
            evaluate_segmentation(pages, ["justrules"], pool, render=False, leaves=kind)
            .pages["page"]
            .leaves
            for kind in ("text", "all")
        ]
    assert counts == [2, 3]


def test_no_measurable_page_is_an_error(data: Path, pool: AnalysisPool) -> None:
    with (
        labelled_pages(data) as pages,
        pytest.raises(DataError, match="none of 1 labelled pages"),
    ):
        evaluate_segmentation(pages[:1], ["justrules"], pool, render=False)


@pytest.mark.browser
def test_rendered_pages_are_kept_and_used_again(
    data: Path, pool: AnalysisPool, tmp_path: Path
) -> None:
    with labelled_pages(data) as pages:
        chosen = pages[1:2]
        first = evaluate_segmentation(
            chosen, ["justrules"], pool, render=True, snapshots=tmp_path / "kept"
        )
        kept = tmp_path / "kept/one.json"
        written = kept.stat().st_mtime_ns
        second = evaluate_segmentation(
            chosen, ["justrules"], pool, render=True, snapshots=tmp_path / "kept"
        )
    assert first.rendered
    assert first.pages["one"].ari == second.pages["one"].ari == {"justrules": 1.0}
    assert kept.stat().st_mtime_ns == written
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["one.json"]


def test_a_kept_page_without_readable_layout_is_named(
    data: Path, pool: AnalysisPool, tmp_path: Path
) -> None:
    html = '<html data-ws-00-page="{&quot;v&quot;:99}">' + LABELLED["one"][0].partition(">")[2]
    (tmp_path / "one.json").write_text(json.dumps({"html": html, "mark": "00"}))
    with labelled_pages(data) as pages, pytest.raises(DataError, match="no readable layout"):
        evaluate_segmentation(pages[1:2], ["justrules"], pool, render=True, snapshots=tmp_path)


def test_dedup_finds_the_poem_on_two_sites_by_its_main_text(data: Path, pool: AnalysisPool) -> None:
    pairs = list(neardup_pairs(data, "lyrics_dev"))
    for kind in ("shingles", "minhash"):
        result = evaluate_dedup(
            "lyrics_dev", neardup_pages(data, "lyrics_dev"), pairs, ["justrules"], pool,
            signature=kind,
        )  # fmt: skip
        assert (result.pages, result.duplicates, result.non_duplicates) == (3, 1, 2)
        rows = {row.method: row for row in result.rows}
        assert rows["justrules"].decided == rates(pairs, [True, False, False])
        assert (rows["justrules"].mean is None) == (kind == "minhash")
        assert rows["justrules"].words == 160
        assert "full text" in result.table()
        assert {"sitelevel", "learned + sitelevel"} < set(rows)
    assert "Chakrabarti" in result.published_table()


def test_sitelevel_takes_away_what_a_site_of_the_set_repeats() -> None:
    from tests.texts import page, prose
    from websegment_scrapy.template.sitelevel import SiteCounter

    counter = SiteCounter()
    note = "Our newsletter comes out on the first Monday of each month and is free for all readers."
    pages = [page(f"{prose(number)}</p><p>{note}", f"Title {number}") for number in range(9)]
    for html in pages:
        counter.add(build_tree(html))
    site = counter.verdict()
    alone = methods.text_method(methods.SITELEVEL, site)(pages[0])
    assert prose(0) in alone
    assert note not in alone
    assert note in methods.text_method(methods.SITELEVEL, None)(pages[0])
    both = methods.text_method(f"justrules{methods.WITH_SITE}", site)(pages[0])
    assert prose(0) in both
    assert note not in both
    assert note in methods.text_method("justrules", site)(pages[0])


def test_extractors_that_are_not_installed_have_a_row_that_says_so(
    data: Path, pool: AnalysisPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    absent = Rival("no_such_extractor", "no_such_extractor", lambda: methods.full_text)
    monkeypatch.setitem(methods.RIVALS, "no_such_extractor", absent)
    pairs = list(neardup_pairs(data, "lyrics_dev"))
    result = evaluate_dedup(
        "lyrics_dev", neardup_pages(data, "lyrics_dev"), pairs, ["justrules"], pool
    )
    assert "no_such_extractor" in result.not_installed
    assert "not installed" in result.table()


def test_a_failing_method_is_named_and_the_others_are_measured() -> None:
    outcome = sign_page(SignTask("<p>text</p>", ("full text", "no such engine"), "shingles"))
    assert set(outcome.texts) == {"full text"}
    assert "no such engine" in outcome.failed["no such engine"]


def test_the_hash_functions_differ_and_keep_equal_texts_equal() -> None:
    page = SignTask(SHELL.format("A", POEM), ("full text",), "shingles")
    one, other = (sign_page(page).texts["full text"] for _ in range(2))
    assert np.array_equal(one.smallest, other.smallest)
    assert one.smallest.shape == (25, 8)
    assert len({tuple(row) for row in one.smallest.tolist()}) == 25


def test_pairs_of_unknown_pages_are_an_error(data: Path, pool: AnalysisPool) -> None:
    with pytest.raises(DataError, match="'ghost'"):
        evaluate_dedup(
            "lyrics_dev",
            neardup_pages(data, "lyrics_dev"),
            [Pair("a1", "ghost", duplicate=True)],
            ["justrules"],
            pool,
        )


def test_rates_are_percentages_of_each_kind_of_pair() -> None:
    pairs = [Pair("a", "b", duplicate=number < 4) for number in range(6)]
    found = rates(pairs, [True, True, True, False, True, False])
    assert (found.found, found.kept) == (75.0, 50.0)


def test_a_kind_without_pairs_has_no_rate(data: Path, pool: AnalysisPool) -> None:
    pairs = [Pair("a1", "b1", duplicate=True)]
    result = evaluate_dedup(
        "lyrics_dev", neardup_pages(data, "lyrics_dev"), pairs, ["justrules"], pool
    )
    assert "100.0 / –" in result.table()


def test_table_aligns_names_left_and_numbers_right() -> None:
    assert text_table(("name", "n"), [("a", "10"), ("long one", "5"), ("short",)]) == (
        "name       n\n--------  --\na         10\nlong one   5\nshort"
    )


def test_command_writes_table_and_json(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "result.json"
    status = main([
        "evaluate", "segmentation", "--no-render", "--engine", "justrules", "--engine", "taggap",
        "--data", str(data), "--workers", "1", "--json", str(target),
    ])  # fmt: skip
    assert status == 1  # one of the three pages cannot be measured
    assert "justrules" in capsys.readouterr().out
    result = json.loads(target.read_text())
    assert [engine["engine"] for engine in result["engines"]] == ["justrules", "taggap"]
    assert list(result["not_measured"]) == ["nothing"]


def test_command_measures_near_duplicates_and_writes_json_to_standard_output(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = main([
        "evaluate", "dedup", "--engine", "justrules", "--data", str(data), "--workers", "1",
        "--limit", "2", "--json", "-",
    ])  # fmt: skip
    (result,) = json.loads(capsys.readouterr().out)
    assert (status, result["name"], result["non_duplicates"]) == (0, "lyrics_dev", 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["segmentation", "--no-render"], "no labelled pages"),
        (["dedup", "no_such_set"], "no_such_set.pairs.jsonl' does not exist"),
        (["dedup", "--engine", "magic"], "there is no engine 'magic'"),
        (["dedup", "--limit", "0"], "--limit is 0"),
        (["dedup", "--workers", "-1"], "WORKERS"),
        (["dedup", "--data", "/no/such/folder"], "--data names '/no/such/folder'"),
    ],
)
def test_wrong_use_is_one_line_and_exit_status_2(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "neardup").mkdir()
    for name in ("lyrics_dev.pairs.jsonl", "lyrics_dev.pages.jsonl.xz"):
        (tmp_path / "neardup" / name).write_text("")
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path))
    assert main(["evaluate", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_the_real_labelled_pages_are_measured_or_their_absence_is_explained(
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = Path(os.environ.get(DATA_VARIABLE, "../shared/data"))
    arguments = ["evaluate", "segmentation", "--no-render", "--limit", "5", "--engine", "justrules"]
    status = main(arguments)
    output = capsys.readouterr()
    if (folder / "segmentation.tar.xz").is_file():
        assert status == 0
        assert "5 labelled pages" in output.out
    else:
        assert status == 2
        assert "no evaluation data" in output.err or "no labelled pages" in output.err
