"""``python -m websegment_scrapy.cluster``: a batch on this machine, on Slurm or on Ray.

An example to copy where more is wanted: other blocks of datatrove between ours, other executors.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from websegment_scrapy.batch.options import Limits, Options
from websegment_scrapy.exceptions import WebsegmentError

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Run the batch; 2 if it cannot be done as it was asked for."""
    parser = argparse.ArgumentParser(
        prog="python -m websegment_scrapy.cluster", description=__doc__
    )
    parser.add_argument("inputs", metavar="INPUT", nargs="+", type=Path)
    parser.add_argument("-o", "--output", metavar="DIR", required=True, type=Path)
    parser.add_argument("--executor", choices=("local", "slurm", "ray"), default="local")
    parser.add_argument("--tasks", type=int, default=2, metavar="N", help="parts of the work")
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="of them at a time")
    parser.add_argument("--shard-pages", type=int, default=1000, metavar="N")
    parser.add_argument("--time", default="24:00:00", help="Slurm: limit of a task's time")
    parser.add_argument("--partition", default="cpu", help="Slurm: the partition")
    args = parser.parse_args(arguments)
    try:
        from websegment_scrapy.cluster.run import run_on

        run_on(
            args.executor,
            args.inputs,
            args.output,
            Options(shard_pages=args.shard_pages),
            Limits(workers=args.workers),
            args.tasks,
            **(
                {"time": args.time, "partition": args.partition} if args.executor == "slurm" else {}
            ),
        )
    except WebsegmentError as error:
        print(f"websegment: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
