"""``python -m tests.technical_posts``: near-duplicates found and kept apart among technical posts.

60 posts with code, lists, tables and definitions, each in three of six real designs with six
highlighters, measured as ``websegment evaluate dedup`` does. Needs ``sites.tar.xz`` of the data
sets (``WEBSEGMENT_DATA`` or ``--data``).
"""

from __future__ import annotations

import argparse
import sys

from tests.technical_posts import technical_posts
from websegment_scrapy.config import Config
from websegment_scrapy.evaluate.dedup import evaluate_dedup
from websegment_scrapy.measure.datasets import data_directory
from websegment_scrapy.pool import AnalysisPool


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.technical_posts", description=__doc__)
    parser.add_argument("--data", help="folder with sites.tar.xz (default: WEBSEGMENT_DATA)")
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args(arguments)
    pages, pairs = technical_posts(data_directory(args.data))
    config = Config()
    with AnalysisPool(args.workers, timeout=config.page_timeout, memory=config.page_memory) as pool:
        result = evaluate_dedup("technical posts", pages, pairs, (), pool)
    sys.stdout.write(result.table() + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
