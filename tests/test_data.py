"""``websegment data``: downloaded originals become what ``evaluate`` and ``train`` read."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.texts import page, prose
from websegment_scrapy.cli import data
from websegment_scrapy.cli.main import main
from websegment_scrapy.measure.convert import KINDS
from websegment_scrapy.measure.datasets import content_pages, labelled_pages, node_pages

UUID = "01ccc7c5-a1d1-46e1-a5f7-43310df16575"


def write(path: Path, text: str, encoding: str = "utf-8") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode(encoding))


def test_the_command_offers_what_can_be_converted() -> None:
    assert set(data.KINDS) == set(KINDS)


def test_dragnet_leaves_comments_out_and_names_pages_that_are_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, made = tmp_path / "dragnet", tmp_path / "data"
    write(source / "HTML" / "7.html", page(prose(1), "Café"), "cp1252")
    write(
        source / "Corrected" / "7.html.corrected.txt",
        f"Café\r\n\r\n{prose(1)}\r\n!@#$%^&*()  COMMENTS\r\nFirst!",
        "cp1252",
    )
    write(source / "Corrected" / "8.html.corrected.txt", "A text without its page.")
    assert main(["data", "dragnet", str(source), "-o", str(made)]) == 1
    shown = capsys.readouterr()
    assert shown.out == f"{made / 'content' / 'dragnet.jsonl.xz'}: 1 pages\n"
    assert shown.err == f"8: there is no {source / 'HTML' / '8.html'}\n"
    (found,) = content_pages(made, "dragnet")
    assert found.id == "7"
    assert found.main_text == f"Café\r\n\r\n{prose(1)}"
    assert prose(1) in found.html


@pytest.mark.parametrize(
    ("pages", "texts"), [("finalrun-input", "GoldStandard"), ("orig", "clean")]
)
def test_cleaneval_loses_its_marks_and_keeps_its_url(
    tmp_path: Path, pages: str, texts: str
) -> None:
    source, made = tmp_path / "cleaneval", tmp_path / "data"
    url = "http://example.org/a?b=1"
    write(source / pages / "1.html", f'<text id="{url}">{page(prose(2), "Title")}</text>')
    write(source / texts / "1.txt", f"URL: {url}\n\n<h>Title\n<p>{prose(2)}\n<l> one\n<l> two\n")
    assert main(["data", "cleaneval", str(source), "-o", str(made)]) == 0
    (found,) = content_pages(made, "cleaneval")
    assert (found.id, found.url) == ("1", url)
    assert found.main_text == f"Title\n{prose(2)}\none\ntwo"


def test_l3s_gn1_gives_each_text_node_its_label(tmp_path: Path) -> None:
    source, made = tmp_path / "L3S-GN1-20100130203947-00001", tmp_path / "data"
    url = "http://news.example/story"
    write(source / "url-mapping.txt", f"<urn:uuid:{UUID}>\t{url}\n")
    write(source / "original" / f"{UUID}.html", "<title>T</title><h1>Head</h1><p>Text <b>bold</b>.")
    write(
        source / "annotated" / f"{UUID}.html",
        "<html><head><title>T</title></head><body><script>var no = 1</script>"
        "<div><span class='x-nc-sel0'>Menu</span></div>"
        "<h1><span class='x-nc-sel1'>Head</span></h1>"
        "<p><span class='x-nc-sel2'>Text <b>bold</b>.</span> loose </p>"
        "<p><span class='x-nc-sel3 other'>By Ann</span></p>"
        "<ul><li><span class='x-nc-sel4'>More</span></li></ul>"
        "<p><span class='x-nc-sel5'>First!</span></p></body></html>",
    )
    assert main(["data", "l3s_gn1", str(source), "-o", str(made)]) == 0
    (found,) = node_pages(made, "l3s_gn1")
    assert found.url == url
    assert found.nodes == (
        ("not_content", "Menu"),
        ("headline", "Head"),
        ("fulltext", "Text"),
        ("fulltext", "bold"),
        ("fulltext", "."),
        ("not_content", "loose"),
        ("supplemental", "By Ann"),
        ("related", "More"),
        ("comments", "First!"),
    )
    (text,) = (each.main_text for each in content_pages(made, "l3s_gn1"))
    assert text == "Head\nText\nbold\n.\nBy Ann"


def test_wcxb_is_measured_by_a_real_command(tmp_path: Path) -> None:
    source, made = tmp_path / "benchmark", tmp_path / "data"
    described = {
        "schema_version": "2.0",
        "url": "https://example.org/article",
        "file_id": "0001",
        "_internal": {"page_type": {"primary": "article"}},
        "ground_truth": {"title": "Title", "main_content": f"Title\n\n{prose(3)}"},
    }
    write(source / "dev" / "ground-truth" / "0001.json", json.dumps(described))
    write(source / "dev" / "ground-truth" / "0002.json", json.dumps({"schema_version": "1.0"}))
    packed = source / "dev" / "html" / "0001.html.gz"
    packed.parent.mkdir()
    packed.write_bytes(gzip.compress(page(prose(3), "Title").encode()))

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "websegment_scrapy.cli.main", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    done = run("data", "wcxb", str(source), "-o", str(made))
    assert done.returncode == 1
    assert done.stderr == "0002: 0002.json is not of schema 2.0: KeyError('ground_truth')\n"
    (found,) = content_pages(made, "wcxb_dev")
    assert (found.id, found.page_type) == ("dev_0001", "article")
    again = run("data", "wcxb", str(source), "-o", str(made))
    assert again.returncode == 2
    assert "is there already: remove it, or give another folder" in again.stderr
    (made / "content" / "wcxb_dev.jsonl.xz").rename(made / "content" / "dragnet.jsonl.xz")
    measured = run("evaluate", "extraction", "dragnet", "--data", str(made))
    assert measured.returncode == 0, measured.stderr
    assert "dragnet (zero-shot" in measured.stdout


def test_marked_pages_become_labelled_pages(tmp_path: Path) -> None:
    source, made = tmp_path / "dataset-random", tmp_path / "data"
    below = source / "a.example" / "a.example"
    write(
        source / "mapping.txt",
        '"http://a.example/" : "/opt/dataset-random/a.example/a.example/index.html",\n'
        '# "http://b.example/" : "/opt/dataset-random/b.example/b.example/index.html",\n',
    )
    write(below / "style.css", "p { color: red }")
    write(below / "index.html", "<p>plain")
    write(
        below / "index.blocks.html",
        "<!DOCTYPE html><html><head><link rel='stylesheet' href='style.css'>"
        "<link rel='stylesheet' href='http://awesomeness/builder/ui.css'></head><body>"
        "<script>document.write('x')</script><div data-block='1' data-block-type='Content'>"
        "<p>One text</p><h2 data-block='2' data-block-type='Title'>Another</h2></div>",
    )
    write(
        source / "b.example" / "b.example" / "index.blocks.html",
        "<p data-block='1'>taken out of the mapping",
    )
    assert main(["data", "segmentation", str(source), "-o", str(made)]) == 1
    with labelled_pages(made) as found:
        (labelled,) = found
        assert labelled.name == "random__a.example"
        assert labelled.url == "http://a.example/"
        assert sorted(labelled.blocks.values()) == [(1, "Content"), (2, "Title")]
        html = labelled.path.read_text()
        assert "script" not in html
        assert "awesomeness" not in html
        assert (labelled.path.parent / "style.css").is_file()
        for wsid in labelled.blocks:
            assert f'data-wsid="{wsid}"' in html
    assert (
        main(["evaluate", "segmentation", "--no-render", "--engine=justrules", f"--data={made}"])
        == 0
    )


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("wcxb", "has no files *.json: name the folder of the originals"),
        ("dragnet", "has no files *.html.corrected.txt: name the folder"),
        ("cleaneval", "it takes finalrun-input/ and GoldStandard/ or orig/ and clean/"),
        ("l3s_gn1", "url-mapping.txt' is missing: it names the URLs"),
        ("segmentation", "mapping.txt' is missing: it names the URLs of the marked pages"),
    ],
)
def test_a_folder_of_something_else_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, said: str
) -> None:
    made = tmp_path / "data"
    assert main(["data", kind, str(tmp_path), "-o", str(made)]) == 2
    assert said in capsys.readouterr().err
    assert not list(made.rglob("*.*"))
    assert main(["data", kind, str(tmp_path / "none"), "-o", str(made)]) == 2
    assert "is no folder: unpack the originals first" in capsys.readouterr().err
