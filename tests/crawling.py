"""Run a crawl in a process of its own and bring back what came of it.

``crawl(urls, settings)`` starts ``python -m tests.crawling SPEC`` and returns items and stats.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Crawl", "crawl", "start_crawl"]

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Crawl:
    """What a crawl left behind."""

    items: list[dict[str, Any]]
    stats: dict[str, Any]
    log: str
    status: int

    def result(self, suffix: str) -> dict[str, Any]:
        """The result field of the item whose URL ends so."""
        (found,) = [item["websegment"] for item in self.items if item["url"].endswith(suffix)]
        return found

    def decisions(self) -> dict[str, str]:
        return {item["url"]: item["websegment"].get("decision") for item in self.items}


def start_crawl(
    urls: Sequence[str],
    settings: dict[str, Any],
    folder: Path,
    *,
    spider: str = "tests.spiders.PageSpider",
    meta: dict[str, Any] | None = None,
    own_group: bool = False,
) -> subprocess.Popen[bytes]:
    """Start a crawl; its items go line by line to ``items.jsonl`` in ``folder``.

    Its pages are rendered unless the settings say otherwise. With ``own_group`` it leads a process
    group, as a command that was started in a terminal does.
    """
    spec = {
        "urls": list(urls),
        "settings": {"WEBSEGMENT_RENDER": "always", **settings},
        "spider": spider,
        "meta": meta or {},
        "folder": str(folder),
    }
    path = folder / "spec.json"
    path.write_text(json.dumps(spec))
    with (folder / "log.txt").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-W", "error", "-m", "tests.crawling", str(path)],
            cwd=ROOT,
            stdout=log,
            stderr=log,
            process_group=0 if own_group else None,
        )


def crawl(
    urls: Sequence[str],
    settings: dict[str, Any] | None = None,
    *,
    folder: Path | None = None,
    spider: str = "tests.spiders.PageSpider",
    meta: dict[str, Any] | None = None,
    timeout: float = 120,
) -> Crawl:
    """Crawl to the end. Without ``folder`` everything, the database too, is thrown away."""
    with tempfile.TemporaryDirectory() as temporary:
        home = folder or Path(temporary)
        (home / "items.jsonl").unlink(missing_ok=True)
        (home / "log.txt").unlink(missing_ok=True)
        defaults = {"WEBSEGMENT_DATABASE": f"sqlite:///{home / 'pages.db'}"}
        process = start_crawl(urls, defaults | (settings or {}), home, spider=spider, meta=meta)
        try:
            status = process.wait(timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise AssertionError(f"crawl hangs:\n{(home / 'log.txt').read_text()}") from None
        log = (home / "log.txt").read_text()
        stats_file = home / "stats.json"
        items_file = home / "items.jsonl"
        items = items_file.read_text().splitlines() if items_file.exists() else []
        return Crawl(
            items=[json.loads(line) for line in items],
            stats=json.loads(stats_file.read_text()) if stats_file.exists() else {},
            log=log,
            status=status,
        )


class WriteItems:
    """The last pipeline: every finished item becomes a line that survives a kill."""

    def __init__(self, folder: Path) -> None:
        self.file = (folder / "items.jsonl").open("a")

    @classmethod
    def from_crawler(cls, crawler: Any) -> WriteItems:
        return cls(Path(crawler.settings["TEST_FOLDER"]))

    async def process_item(self, item: Any) -> Any:
        from itemadapter import ItemAdapter

        self.file.write(json.dumps(ItemAdapter(item).asdict(), default=str) + "\n")
        self.file.flush()
        return item

    async def close_spider(self) -> None:
        self.file.close()


def main() -> None:
    from scrapy.crawler import AsyncCrawlerProcess
    from scrapy.utils.misc import load_object

    spec = json.loads(Path(sys.argv[1]).read_text())
    settings = {
        "ADDONS": {"websegment_scrapy.Addon": 500},
        "ITEM_PIPELINES": {WriteItems: 900},
        "TELNETCONSOLE_ENABLED": False,
        "LOG_LEVEL": "INFO",
        "TEST_FOLDER": spec["folder"],
        "WEBSEGMENT_PRIVATE_HOSTS": ["127.0.0.1"],
        **spec["settings"],
    }
    process = AsyncCrawlerProcess(settings)
    crawler = process.create_crawler(load_object(spec["spider"]))
    process.crawl(crawler, urls=spec["urls"], meta=spec["meta"])
    process.start()
    stats = crawler.stats.get_stats() if crawler.stats else {}
    (Path(spec["folder"]) / "stats.json").write_text(json.dumps(stats, default=str))
    sys.exit(process.bootstrap_failed)  # as Scrapy's commands do


if __name__ == "__main__":
    main()
