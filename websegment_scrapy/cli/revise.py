"""``websegment dedup revise``: pages whose site became known are judged again without a crawl."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from websegment_scrapy.analysis import judge_again
from websegment_scrapy.cli.arguments import add_site_rules
from websegment_scrapy.cli.progress import counting
from websegment_scrapy.config import Config
from websegment_scrapy.pool import AnalysisPool
from websegment_scrapy.store import queries
from websegment_scrapy.store.revision import kept_pages, pending_sites, revise_site
from websegment_scrapy.store.store import Store

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from websegment_scrapy.store.revision import Answer, Task

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``revise``."""
    parser.description = (
        "Judge the pages again that were judged when less was known about their sites, and decide "
        "them anew. A crawl does this at its end; one that was killed leaves it to the next one, "
        "or to this command."
    )
    add_site_rules(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Judge all pages again that wait for it; return the exit status."""
    default = Config()
    info = queries.info_of(args.database)
    store = Store.open(args.database, recipe=info.recipe, similarity=info.similarity)
    pool = AnalysisPool(1, timeout=default.page_timeout, memory=default.page_memory)
    with store, pool:
        hosts = pending_sites(store, args.min_pages)
        done = 0

        def judge(tasks: list[Task]) -> Sequence[Answer]:
            nonlocal done
            answers = pool.submit(judge_again, tasks, info.recipe.kind).result()
            done += len(tasks)
            progress(done)
            return answers

        with counting("pages judged again", kept_pages(store, hosts)) as progress:
            revised = sum(
                len(revise_site(store, host, args.threshold, args.min_pages, judge))
                for host in hosts
            )
    said = f"{len(hosts)} sites judged again, {revised} pages are something else now"
    print(f"{store.database.name}: {said}", file=sys.stderr)
    return 0
