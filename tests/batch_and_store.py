"""Is a batch what a store would have made of the same pages?

``python -m tests.batch_and_store ARCHIVE… -o DIR`` runs a batch, then hands the pages to a store as
a crawl would, in a shuffled order: as they are judged alone, with what they add to their sites'
counts; pages of sites that became known are judged again, and clusters are settled. At the end both
are compared, page by page: outcome, words, representative, cluster.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from sqlalchemy import select

from websegment_scrapy.analysis import judge_again
from websegment_scrapy.batch.folder import Folder
from websegment_scrapy.batch.options import Limits, Options
from websegment_scrapy.batch.run import run_batch
from websegment_scrapy.dedup.signature import Signature
from websegment_scrapy.store import PageRecord, Store
from websegment_scrapy.store.models import Page
from websegment_scrapy.store.revision import pending_sites, revise_site
from websegment_scrapy.store.settling import settle, unsettled
from websegment_scrapy.template.hashes import PageParts

AT_ONCE = 16


def record_of(row: dict[str, Any], options: Options) -> PageRecord:
    """What a crawl would hand to the store of a page as it is judged alone."""
    parts = None
    if row["parts"] is not None:
        parts = PageParts(np.array(row["parts"], dtype=np.int64), tuple(row["samples"]))
    names = ("url", "title", "engine", "model", "page_hash", "fingerprint", "document_hash")
    names += ("steady_hash", "page_type", "page_type_probability", "dossier")
    return PageRecord(
        **{name: row[name] for name in names},
        signature=Signature.from_bytes(
            row["signature"], options.recipe, row["words"], row["content_hash"]
        ),
        parts=parts,
    )


def store_of(rows: list[dict[str, Any]], database: Path, options: Options) -> dict[str, Any]:
    """Have a store decide, judge again and settle; return each page's end."""
    started = datetime.now(UTC)
    with Store.open(
        f"sqlite:///{database}",
        recipe=options.recipe,
        similarity=options.similarity,
        min_words=options.min_words,
    ) as store:
        for start in range(0, len(rows), AT_ONCE):
            records = [record_of(row, options) for row in rows[start : start + AT_ONCE]]
            store.decide_many(records)
        for host in pending_sites(store, options.site_min_pages):
            limits = options.site_threshold, options.site_min_pages
            revise_site(store, host, *limits, lambda tasks: judge_again(tasks, options.signature))
        done: set[int] = set()
        for page_id in unsettled(store, started):
            if page_id not in done:
                settle(store, started, page_id, done)
        with store.database.read() as connection:
            query = select(Page.id, Page.url, Page.decision, Page.words, Page.cluster_id)
            found = connection.execute(query).all()
    urls = {row.id: row.url for row in found}
    return {
        row.url: (
            "page" if row.cluster_id else row.decision,
            row.words,
            urls.get(row.cluster_id),
        )
        for row in found
    }


def batch_of(folder: Folder) -> dict[str, Any]:
    """Each page's end by the batch."""
    found: dict[str, Any] = {}
    for path in folder.shards(folder.pages):
        columns = ["canonical_url", "outcome", "words"]
        for row in pq.read_table(path, columns=columns).to_pylist():
            if row["outcome"] in ("page", "empty") and row["canonical_url"] not in found:
                found[row["canonical_url"]] = row["outcome"], row["words"], None
    for row in pq.read_table(folder.clusters).to_pylist():
        found[row["url"]] = "page", row["words"], row["representative"]
    return found


def partition(pages: dict[str, Any]) -> dict[str, frozenset[str]]:
    """The cluster of each page, as the pages in it."""
    members: dict[str, set[str]] = {}
    for url, (_, _, representative) in pages.items():
        members.setdefault(representative or url, set()).add(url)
    return {url: frozenset(members[each[2] or url]) for url, each in pages.items()}


def kept(folder: Folder, summary: dict[str, Any]) -> None:
    """As `Folder.finish`, but what was analysed stays."""
    folder.write_json(folder.path / "summary.json", summary)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.batch_and_store", description=__doc__)
    parser.add_argument("archives", nargs="+", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only-batch", action="store_true")
    args = parser.parse_args()
    Folder.finish = kept  # type: ignore[method-assign]
    options = Options()
    began = time.monotonic()
    summary = run_batch(args.archives, args.output, options, Limits(workers=args.workers))
    print(f"batch: {time.monotonic() - began:.1f} s, {json.dumps(summary['total'])}", flush=True)
    print(json.dumps(summary["near_duplicates"]), flush=True)
    if args.only_batch:
        return 0
    folder = Folder(args.output)
    rows = [
        row
        for path in folder.shards(folder.analysed)
        for row in pq.read_table(path).to_pylist()
        if row["outcome"] in ("page", "empty")
    ]
    last = {row["canonical_url"]: row for row in rows}
    hosts = Counter(row["host"] for row in last.values())
    ours = batch_of(folder)
    urls = sorted(last)
    random.Random(args.seed).shuffle(urls)
    with tempfile.TemporaryDirectory() as temporary:
        began = time.monotonic()
        theirs = store_of([last[url] for url in urls], Path(temporary) / "s.db", options)
        print(f"store: {time.monotonic() - began:.1f} s", flush=True)
    same, clusters = Counter(), (partition(ours), partition(theirs))
    for url in urls:
        size = "large" if hosts[last[url]["host"]] >= 100 else "small"
        same[f"pages of {size} sites"] += 1
        same[f"{size}: outcome and words"] += ours[url][:2] == theirs[url][:2]
        same[f"{size}: representative"] += ours[url][2] == theirs[url][2]
        same[f"{size}: cluster"] += clusters[0][url] == clusters[1][url]
        if ours[url] != theirs[url] and args.workers:
            print(f"  {url}: {ours[url]} {theirs[url]}")
    for name, number in sorted(same.items()):
        print(f"{name}: {number}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
