"""What it costs to look at many pages: the report, and every view of the viewer.

``python -m tests.view_costs`` fills an SQLite and a PostgreSQL of its own with 100,000 pages, two
crawls, and two texts of every fiftieth page. It writes the report and asks the viewer for its
views, both as processes: seconds, memory, the file's size, how long Chromium takes to open it, and
the milliseconds of the answers. The SQLite file is dropped from the system's memory before the
viewer starts, so that its first search reads from disk; what the system has of a PostgreSQL's
files stays there.
"""

from __future__ import annotations

import argparse
import http.client
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import case, func, insert, literal, select, update

from tests.seen import browser
from tests.texts import prose
from websegment_scrapy.bench.fill import fill
from websegment_scrapy.bench.server import postgresql
from websegment_scrapy.bench.synthetic import SyntheticPages
from websegment_scrapy.store.database import Database
from websegment_scrapy.store.kept_texts import packed, write_texts
from websegment_scrapy.store.lifecycle import vacuum
from websegment_scrapy.store.models import Page, Visit
from websegment_scrapy.store.queries import open_for_reading
from websegment_scrapy.store.schema import crawl_id

PAGES, AGAIN, CHANGED, SCORES, ROUNDS = 100_000, 2, 50, 997, 9
"""Pages; every second was visited again, every fiftieth had another text then; so many different
scores of texts; how often each view is asked for."""

COMMAND = (sys.executable, "-m", "websegment_scrapy.cli.main")
MEASURED = """
import sys
from websegment_scrapy.cli.main import main
assert main(sys.argv[1:]) == 0
print(*(line for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""
"""Runs a command and says what memory it took; what a process is told of its children's is at least
what it has itself."""


def visit_again(url: str) -> None:
    """Add a second crawl, with some texts that are kept, and a score to every page."""
    now, is_changed = datetime.now(UTC), Page.id % CHANGED == 0
    with closing(Database.open(url, create=True)) as database, database.write() as connection:
        first = connection.execute(select(func.min(Page.first_seen))).scalar_one()
        visit = {
            Visit.page_id: Page.id,
            Visit.seen_at: literal(now, Visit.seen_at.type),
            Visit.crawl_id: literal(crawl_id(connection, "second crawl")),
            Visit.decision: case((is_changed, "changed"), else_="unchanged"),
            Visit.similarity: case((is_changed, 0.5)),
        }
        chosen = select(*visit.values()).where(Page.id % AGAIN == 0)
        connection.execute(insert(Visit).from_select(list(visit), chosen))
        again = update(Page).where(Page.id % AGAIN == 0).values(last_seen=now)
        connection.execute(again)
        connection.execute(update(Page).values(main_text_score=(Page.id % SCORES) / float(SCORES)))
        ids = list(connection.execute(select(Page.id).where(is_changed)).scalars())
        for seen, other in ((first, 0), (now, 1)):
            texts = {page: prose(page) + " " + prose(page + other, 100) for page in ids}
            write_texts(
                connection,
                [
                    {"page_id": page, "seen_at": seen, "text": packed(texts[page])}
                    for page in ids
                ],
            )  # fmt: skip


def report(url: str, target: Path) -> None:
    """Write the report, and open it."""
    began = time.perf_counter()
    command = [sys.executable, "-c", MEASURED, "report", "--database", url, "-o", str(target), "-q"]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    seconds, memory = time.perf_counter() - began, int(told.split()[-2])
    with browser() as chromium:
        page = chromium.new_page()
        opening = time.perf_counter()
        page.goto(target.as_uri())
        page.locator("tbody tr").first.wait_for()
        opening = time.perf_counter() - opening
        rows = "[...document.querySelectorAll('tbody')].map(body => body.rows.length)"
        most = page.evaluate(f"Math.max(...{rows})")
    print(
        f"report: {seconds:.1f} s, {memory / 1024:.0f} MiB, "
        f"file {target.stat().st_size / 1e6:.2f} MB, "
        f"opened in {opening:.2f} s, at most {most} rows of a table",
        flush=True,
    )


@contextmanager
def viewer(url: str, folder: Path) -> Iterator[tuple[int, str]]:
    """Start the viewer; give its port and the beginning of its paths."""
    command = [*COMMAND, "view", "--database", url]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder)
    with process:
        try:
            assert process.stdout is not None
            found = re.search(r"http://127\.0\.0\.1:(\d+)(/\S+/)", process.stdout.readline())
            assert found
            yield int(found[1]), found[2]
        finally:
            process.terminate()


def ask(port: int, path: str) -> float:
    """Return how many milliseconds an answer takes."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    began = time.perf_counter()
    connection.request("GET", path)
    answer = connection.getresponse()
    answer.read()
    passed = time.perf_counter() - began
    connection.close()
    assert answer.status == 200, path
    return 1000 * passed


def views(url: str) -> dict[str, str]:
    """Return the paths of the views, each where it is largest."""
    size = func.count()
    with closing(open_for_reading(url)) as database, database.read() as connection:
        largest = select(Page.cluster_id).group_by(Page.cluster_id).order_by(size.desc()).limit(1)
        cluster = connection.execute(largest).scalar_one()
        busiest = select(Page.host).group_by(Page.host).order_by(size.desc()).limit(1)
        host = connection.execute(busiest).scalar_one()
        copies = select(Page.id, Page.duplicate_of_id).where(Page.duplicate_of_id.is_not(None))
        copy, original = connection.execute(copies.limit(1)).one()
    return {
        "latest pages": "",
        "search, nothing found": "?q=nowhere-at-all",
        "search, many found": "?q=number+976",
        "page": f"url/{CHANGED}",
        "pair": f"pair/{copy}/{original}",
        "cluster": f"cluster/{cluster}",
        "site": f"site?host={host}",
        "site, in the middle": f"site?host={host}&below={PAGES // 2}",
    }


def forget_file(url: str) -> None:
    """Drop an SQLite file from the system's memory."""
    if url.startswith("sqlite"):
        file = os.open(url.removeprefix("sqlite:///"), os.O_RDONLY)
        os.fsync(file)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(file)


def measure(url: str, folder: Path) -> None:
    """Fill a database and look at it."""
    print(url.partition(":")[0])
    fill(url, SyntheticPages(), PAGES, lambda _: None)
    visit_again(url)
    if url.startswith("postgresql"):  # as the server does by itself, a minute later
        with closing(Database.open(url, create=True)) as database:
            vacuum(database)
    report(url, folder / "report.html")
    paths = views(url)
    forget_file(url)
    with viewer(url, folder) as (port, root):
        print(f"first search: {ask(port, f'{root}?q=nowhere-at-all'):.0f} ms")
        for name, path in paths.items():
            took = [ask(port, root + path) for _ in range(ROUNDS)]
            print(f"{name}: median {statistics.median(took):.0f} ms, most {max(took):.0f}")


def main() -> None:
    """Measure on SQLite, then on PostgreSQL."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--stores", nargs="+", default=["sqlite", "postgresql"])
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if "sqlite" in given.stores:
            measure(f"sqlite:///{folder}/store.db", folder)
        if "postgresql" in given.stores:
            with postgresql() as server:
                measure(server.get_uri(), folder)


if __name__ == "__main__":
    main()
