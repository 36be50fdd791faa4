"""Archives to read: WARC records of any kind, sound and damaged; the data sets as archives.

``python -m tests.warcs -o DIR`` writes all pages of the data sets (``WEBSEGMENT_DATA`` or
``--data``), one archive for each set, and says how many each has. The pages of sites have made-up
addresses, ``http://SITE.test/PATH``; others have their own.
"""

from __future__ import annotations

import argparse
import gzip
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from websegment_scrapy.measure.datasets import (
    CONTENT_SETS,
    NEARDUP_SETS,
    content_pages,
    data_directory,
    labelled_pages,
    neardup_pages,
)
from websegment_scrapy.measure.sites import crawled_sites

DATE = "2024-01-02T03:04:05Z"


def response(body: bytes | str, *fields: str, status: str = "200 OK") -> bytes:
    """An HTTP response; without fields it is HTML in UTF-8."""
    data = body.encode() if isinstance(body, str) else body
    head = "".join(
        f"{field}\r\n" for field in fields or ("Content-Type: text/html; charset=utf-8",)
    )
    return f"HTTP/1.1 {status}\r\n{head}\r\n".encode() + data


def record(
    url: str,
    block: bytes,
    *,
    kind: str = "response",
    content_type: str | None = "application/http; msgtype=response",
    length: int | str | None = None,
    date: str = DATE,
) -> bytes:
    """A record of an archive; its length may be a lie."""
    fields = {
        "WARC-Type": kind,
        "WARC-Record-ID": "<urn:uuid:00000000-0000-0000-0000-000000000000>",
        "WARC-Date": date,
        "WARC-Target-URI": url,
        "Content-Type": content_type,
        "Content-Length": str(len(block) if length is None else length),
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items() if value)
    return f"WARC/1.0\r\n{head}\r\n".encode() + block + b"\r\n\r\n"


def members(*records: bytes) -> bytes:
    """Records as they stand in a ``.warc.gz``: each in a gzip member of its own."""
    return b"".join(gzip.compress(each, 1, mtime=0) for each in records)


def write_pages(path: Path, pages: Iterable[tuple[str, bytes, str]]) -> int:
    """Write pages (URL, bytes, content type) as an archive; return how many."""
    count = 0
    with path.open("wb") as output:
        for url, body, content_type in pages:
            output.write(members(record(url, response(body, f"Content-Type: {content_type}"))))
            count += 1
    return count


def set_pages(data: Path, name: str) -> Iterator[tuple[str, bytes, str]]:
    """The pages of a data set as a server would have sent them."""
    if name == "segmentation":
        with labelled_pages(data) as labelled:
            for page in labelled:
                yield page.url, page.path.read_bytes(), "text/html"
    elif name == "sites":
        with crawled_sites(data) as sites:
            for site in sites:
                for saved in site.pages:
                    place = saved.name.partition("/")[2].replace(" ", "%20")
                    yield f"http://{site.name}.test/{place}", saved.path.read_bytes(), "text/html"
    else:
        pages = content_pages if name in CONTENT_SETS else neardup_pages
        for each in pages(data, name):
            body = each.html.encode("utf-8", "surrogatepass")
            url = each.url or f"http://{name}.test/{each.id}"
            yield url, body, "text/html; charset=utf-8"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.warcs", description=__doc__)
    parser.add_argument("--data", metavar="DIR")
    parser.add_argument("-o", "--output", metavar="DIR", required=True, type=Path)
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    total = 0
    for name in ("sites", "segmentation", *CONTENT_SETS, *NEARDUP_SETS):
        pages = set_pages(data_directory(args.data), name)
        count = write_pages(args.output / f"{name}.warc.gz", pages)
        total += count
        print(f"{name}: {count} pages", flush=True)
    print(f"{total} pages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
