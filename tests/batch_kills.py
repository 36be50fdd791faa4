"""A batch that is killed at random moments and started again, until it comes to its end.

``python -m tests.batch_kills ARCHIVE… --moments 20``: exit status 1 unless every folder has the
bytes of a run that was left alone.
"""

from __future__ import annotations

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def snapshot(folder: Path) -> dict[str, bytes]:
    names = [*sorted(folder.rglob("*.parquet")), folder / "summary.json"]
    return {str(path.relative_to(folder)): path.read_bytes() for path in names}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.batch_kills", description=__doc__)
    parser.add_argument("archives", nargs="+")
    parser.add_argument("--moments", type=int, default=20, metavar="N")
    parser.add_argument("--shard-pages", type=int, default=10, metavar="N")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    with tempfile.TemporaryDirectory() as temporary:

        def start(folder: Path) -> subprocess.Popen[bytes]:
            command = [sys.executable, "-m", "websegment_scrapy.cli.main", "batch", "-q"]
            command += [*args.archives, "-o", str(folder), "--shard-pages", str(args.shard_pages)]
            return subprocess.Popen(command, stderr=subprocess.DEVNULL)

        whole = Path(temporary) / "whole"
        began = time.monotonic()
        assert start(whole).wait() == 0
        seconds = time.monotonic() - began
        print(f"left alone: {seconds:.1f} s", flush=True)
        expected = snapshot(whole)
        kills = folders = same = 0
        while kills < args.moments:
            folder = Path(temporary) / str(folders)
            folders += 1
            while True:
                process = start(folder)
                try:
                    process.wait(rng.uniform(0.3, seconds) if kills < args.moments else None)
                    break
                except subprocess.TimeoutExpired:
                    process.send_signal(signal.SIGKILL)
                    process.wait()
                    kills += 1
            same += process.returncode == 0 and snapshot(folder) == expected
            print(f"killed {kills} times in {folders} folders: {same} the same", flush=True)
        return 0 if same == folders else 1


if __name__ == "__main__":
    sys.exit(main())
