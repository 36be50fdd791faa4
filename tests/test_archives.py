"""Archives as input: every record comes out, as a page or with the reason why it is none."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import zipfile
import zlib
from pathlib import Path

import brotli
import pytest

from tests.warcs import members, record, response
from websegment_scrapy.archives import http
from websegment_scrapy.archives.reading import Archive, Counts, archives_in, read_records
from websegment_scrapy.cli.main import main
from websegment_scrapy.exceptions import AnalysisError

WORDS = " ".join(f"word{number}" for number in range(60))
PAGE = f"<html><title>A page</title><body><article><h1>Bridge</h1><p>{WORDS}.</p></article>"
A, B, C = (record(f"http://a.test/{name}", response(PAGE)) for name in "abc")


def read(path: Path, data: bytes, name: str = "x.warc") -> tuple[list, Counts]:
    file = path / name
    file.write_bytes(data)
    found = [each for archive in archives_in(file) for each in read_records(archive)]
    counts = Counts()
    for each in found:
        counts.add(each)
    assert counts.records == counts.pages + counts.skipped.total() + counts.failed.total()
    assert [each.number for each in found] == list(range(len(found)))
    return found, counts


def outcomes(path: Path, data: bytes, name: str = "x.warc") -> list[str]:
    found, _ = read(path, data, name)
    return [each.skipped or each.error or each.url.rpartition("/")[2] for each in found]


@pytest.mark.parametrize("data", [A + B + C, members(A, B, C), gzip.compress(A + B + C)])
def test_every_page_comes_out_however_the_archive_is_packed(tmp_path: Path, data: bytes) -> None:
    found, counts = read(tmp_path, data)
    assert counts.pages == 3
    assert {each.body for each in found} == {PAGE.encode()}
    assert found[0].content_type == "text/html; charset=utf-8"
    assert found[0].date == "2024-01-02T03:04:05Z"


@pytest.mark.parametrize("data", [A + B + C, members(A, B, C), gzip.compress(A + B + C)])
def test_reading_goes_on_from_any_record(tmp_path: Path, data: bytes) -> None:
    found, _ = read(tmp_path, data)
    for each in found:
        rest = read_records(Archive(tmp_path / "x.warc"), (each.number, each.offset))
        assert list(rest) == found[each.number :]


def test_a_wacz_file_has_its_archives_read(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.wacz", "w") as whole:
        whole.writestr("archive/2.warc.gz", members(C))
        whole.writestr("archive/1.warc.gz", members(A, B))
        whole.writestr("datapackage.json", "{}")
    archives = archives_in(tmp_path / "x.wacz")
    urls = [each.url[-1] for archive in archives for each in read_records(archive)]
    assert urls == ["a", "b", "c"]
    second = list(read_records(archives[0]))[1]
    assert list(read_records(archives[0], (1, second.offset))) == [second]


@pytest.mark.parametrize("data", [b"no zip", b""])
def test_a_wacz_file_that_is_none_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x.wacz").write_bytes(data)
    with pytest.raises(AnalysisError, match=r"x\.wacz is no WACZ file"):
        archives_in(tmp_path / "x.wacz")


TWICE = gzip.compress(PAGE.encode())
CHUNKED = b"%x\r\n%s\r\n0\r\n\r\n"
BODIES = {
    "chunks": (CHUNKED % (len(PAGE), PAGE.encode()), "Transfer-Encoding: chunked"),
    "no chunks as declared": (PAGE.encode(), "Transfer-Encoding: chunked"),
    "gzip": (TWICE, "Content-Encoding: gzip"),
    "no gzip as declared": (PAGE.encode(), "Content-Encoding: gzip"),
    "zlib": (zlib.compress(PAGE.encode()), "Content-Encoding: deflate"),
    "bare deflate": (zlib.compress(PAGE.encode())[2:-4], "Content-Encoding: deflate"),
    "brotli": (brotli.compress(PAGE.encode()), "Content-Encoding: br"),
    "chunks of gzip": (
        CHUNKED % (len(TWICE), TWICE),
        "Content-Encoding: gzip\r\nTransfer-Encoding: chunked",
    ),
}


@pytest.mark.parametrize("name", BODIES)
def test_codings_of_a_body_are_taken_off(tmp_path: Path, name: str) -> None:
    body, field = BODIES[name]
    block = response(body, "Content-Type: text/html", field)
    found, _ = read(tmp_path, record("http://a.test/a", block) + B)
    assert [each.body for each in found] == [PAGE.encode()] * 2


def test_a_response_of_lines_without_carriage_returns_is_read(tmp_path: Path) -> None:
    block = b"HTTP/1.0 200\nContent-Type: text/html\n\n" + PAGE.encode()
    found, _ = read(tmp_path, record("http://a.test/a", block))
    assert (found[0].body, found[0].content_type) == (PAGE.encode(), "text/html")


def test_a_record_without_content_types_is_read(tmp_path: Path) -> None:
    block = response(PAGE, "Server: x")
    found, counts = read(tmp_path, record("http://a.test/a", block, content_type=None) + B)
    assert counts.pages == 2
    assert found[0].content_type is None


def test_a_resource_is_a_page_by_itself(tmp_path: Path) -> None:
    data = record("http://a.test/a", PAGE.encode(), kind="resource", content_type="text/html")
    found, _ = read(tmp_path, data)
    assert (found[0].body, found[0].content_type) == (PAGE.encode(), "text/html")


SKIPPED = {
    "warcinfo": record("", b"software: x", kind="warcinfo", content_type="application/warc-fields"),
    "request": record("http://a.test/", b"GET / HTTP/1.1\r\n\r\n", kind="request"),
    "metadata": record("http://a.test/", b"x: y", kind="metadata"),
    "revisit": record("http://a.test/", response(b""), kind="revisit"),
    "conversion": record("http://a.test/", b"text", kind="conversion"),
    "unknown type": record("http://a.test/", b"text", kind="banana"),
    "not fetched by HTTP": record("dns:a.test", b"x", content_type="text/dns"),
    "status 404": record("http://a.test/", response(PAGE, status="404 Not Found")),
    "status 301": record("http://a.test/", response(b"", "Location: /b", status="301 Moved")),
    "empty body": record("http://a.test/", response(b" \n")),
    "image": record("http://a.test/", response(b"\x89PNG\r\n\x1a\n" + bytes(50))),
    "json": record("http://a.test/", response('{"a": 1}', "Content-Type: application/json")),
    "text": record("http://a.test/", response("User-agent: *", "Content-Type: text/plain")),
    "feed": record("http://a.test/", response("<rss><channel/></rss>", "Content-Type: text/xml")),
}


def test_what_is_no_page_is_counted_by_reason(tmp_path: Path) -> None:
    assert outcomes(tmp_path, A + b"".join(SKIPPED.values()) + B) == ["a", *SKIPPED, "b"]


def lying(length: int | str) -> bytes:
    return record("http://a.test/a", response(PAGE), length=length)


SIZE = len(response(PAGE))
BOMB = gzip.compress(bytes(http.MAX_BYTES + 1), 1)
CHUNKS = ("Transfer-Encoding: chunked",)
DAMAGED = {
    "cut off in its last record": ((A + B)[:-100], ["a", "cut off"]),
    "cut off in its last member": (members(A, B)[:-60], ["a", "cut off"]),
    "a member cut off": (members(A) + members(B)[:-60] + members(C), ["a", "damaged record", "c"]),
    "a member that begins with nonsense": (
        members(A) + members(B)[:20] + b"\xff" * 40 + members(B)[60:] + members(C),
        ["a", "damaged record", "c"],
    ),
    "too long": (lying(SIZE + 50) + B + C, ["wrong length", "b", "c"]),
    "too short": (lying(SIZE - 50) + B + C, ["wrong length", "b", "c"]),
    "too long, in members": (members(lying(SIZE + 50), B, C), ["wrong length", "b", "c"]),
    "too short, in members": (members(lying(SIZE - 50), B, C), ["wrong length", "b", "c"]),
    "no number": (lying("banana") + B, ["wrong length", "b"]),
    "longer than the file": (lying(10**7) + B + C, ["cut off", "b", "c"]),
    "as long as a disk": (members(lying(10**12), B, C), ["too large", "b", "c"]),
    "nonsense between records": (A + b"nonsense\r\n\r\n" + B, ["a", "damaged record", "b"]),
    "nonsense before all": (b"nonsense\r\n\r\n" + A, ["damaged record", "a"]),
    "no archive at all": (PAGE.encode(), ["damaged record"]),
    "one member of which a record lies": (
        gzip.compress(lying(SIZE - 50) + B + C),
        ["wrong length", "damaged record"],
    ),
    "no HTTP": (record("http://a.test/a", b"nonsense") + B, ["malformed HTTP head", "b"]),
    "no status": (
        record("http://a.test/a", b"HTTP/1.1 banana\r\n\r\n" + PAGE.encode()) + B,
        ["malformed HTTP head", "b"],
    ),
    "no URL": (record("", response(PAGE)) + B, ["no URL", "b"]),
    "half of a compressed body": (
        record("http://a.test/a", response(TWICE[:-20], "Content-Encoding: gzip")) + B,
        ["undecodable body", "b"],
    ),
    "an unknown coding": (
        record("http://a.test/a", response(PAGE, "Content-Encoding: zebra")) + B,
        ["undecodable body", "b"],
    ),
    "chunks that break off": (
        record("http://a.test/a", response(b"3\r\nabc\r\nff\r\nab", *CHUNKS)) + B,
        ["undecodable body", "b"],
    ),
    "a bomb": (
        record("http://a.test/a", response(BOMB, "Content-Encoding: gzip")) + B,
        ["too large", "b"],
    ),
    "nothing": (b"", []),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_record_has_its_reason_and_the_others_are_read(tmp_path: Path, name: str) -> None:
    data, expected = DAMAGED[name]
    assert outcomes(tmp_path, data) == expected


def test_a_record_of_a_gigabyte_is_passed_over(tmp_path: Path) -> None:
    """In a process whose memory has no room for it."""
    with (tmp_path / "x.warc.gz").open("wb") as output:
        output.write(members(A))
        with gzip.open(output, "wb", compresslevel=1) as member:
            head = response(b"")
            whole = record("http://a.test/giant", head, length=len(head) + 2**30)
            member.write(whole[:-4])
            for _ in range(2**10):
                member.write(bytes(2**20))
            member.write(b"\r\n\r\n")
        output.write(members(B))
    script = (
        "import re\n"
        "from pathlib import Path\n"
        "from websegment_scrapy.archives.reading import Archive, read_records\n"
        f"found = list(read_records(Archive(Path({str(tmp_path / 'x.warc.gz')!r}))))\n"
        "print([each.error or each.url[-1] for each in found], found[1].reason)\n"
        "print(re.search(r'VmHWM:\\s*(\\d+)', Path('/proc/self/status').read_text())[1])\n"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    said, peak = ran.stdout.splitlines()
    assert said == "['a', 'too large', 'b'] it has 1024 MiB, and 64 are read at the most"
    assert int(peak) < 300 * 1024


CYRILLIC = "<html><body><article><p>" + "Старый мост закрыт для проезда. " * 12 + "</p></article>"


def test_the_charset_of_the_http_header_counts(tmp_path: Path, capsys) -> None:
    block = response(CYRILLIC.encode("cp1251"), "Content-Type: text/html; charset=windows-1251")
    (tmp_path / "x.warc.gz").write_bytes(members(record("http://a.test/a", block)))
    assert main(["extract", str(tmp_path / "x.warc.gz")]) == 0
    said = capsys.readouterr()
    assert "Старый мост закрыт" in said.out
    assert "1 records: 1 pages" in said.err


def test_commands_tell_what_an_archive_had_and_which_records_failed(tmp_path: Path, capsys) -> None:
    """JSON with a tag in it is seen to be no page when it is looked at: counted all the same."""
    odd = record("http://a.test/j", response(json.dumps({"a": "<p>x</p>"})))
    path = tmp_path / "x.warc"
    path.write_bytes(A + SKIPPED["revisit"] + odd + DAMAGED["no HTTP"][0])
    assert main(["segment", str(path)]) == 1
    said = capsys.readouterr()
    pages = [json.loads(line) for line in said.out.splitlines()]
    assert [page["url"] for page in pages] == ["http://a.test/a", "http://a.test/b"]
    assert "record 3 http://a.test/a: its HTTP head begins with b'nonsense'" in said.err
    counts = "5 records: 2 pages, 2 skipped (json 1, revisit 1), 1 failed (malformed HTTP head 1)"
    assert f"{path}: {counts}" in said.err


def test_rendering_an_archive_and_a_missing_one_are_refused(tmp_path: Path, capsys) -> None:
    (tmp_path / "x.warc").write_bytes(A)
    assert main(["segment", "--render", str(tmp_path / "x.warc")]) == 2
    assert "is an archive, which cannot be rendered: leave out --render" in capsys.readouterr().err
    assert main(["segment", str(tmp_path / "none.warc.gz")]) == 1
    assert "none.warc.gz: no such file" in capsys.readouterr().err


def test_without_fastwarc_a_sentence_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "x.warc").write_bytes(A)
    script = (
        "import sys; sys.modules['fastwarc'] = None; sys.modules['fastwarc.warc'] = None\n"
        "from websegment_scrapy.cli.main import main\n"
        f"sys.exit(main(['extract', {str(tmp_path / 'x.warc')!r}]))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 2
    assert 'pip install "websegment-scrapy[archives]"' in ran.stderr


def test_templates_are_learned_from_an_archive_as_from_its_pages(tmp_path: Path, capsys) -> None:
    from tests.test_train_templates import site_pages

    records = []
    for number in range(10):
        folder = tmp_path / "sites" / f"s{number}.test"
        folder.mkdir(parents=True)
        for place, html in enumerate(site_pages(number)):
            (folder / f"{place}.html").write_text(html)
            records.append(record(f"http://s{number}.test/{place}", response(html)))
    (tmp_path / "x.warc.gz").write_bytes(members(*records, SKIPPED["revisit"]))
    train = ["train", "templates", "--layout", "static", "-q", "--sites"]
    assert main([*train, str(tmp_path / "x.warc.gz"), "-o", str(tmp_path / "a")]) == 0
    assert "81 records: 80 pages, 1 skipped (revisit 1)" in capsys.readouterr().err
    assert main([*train, str(tmp_path / "sites"), "-o", str(tmp_path / "b")]) == 0
    names = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert names == sorted(path.name for path in (tmp_path / "b").iterdir())
