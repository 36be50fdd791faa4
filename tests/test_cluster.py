"""The steps of a batch by datatrove's executors: the same bytes."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_archives import SKIPPED
from tests.test_batch import collection, run, snapshot, write
from websegment_scrapy.batch.folder import Folder


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("archives")
    pages = collection(45)
    return [
        write(folder / "1.warc.gz", pages[:25]),
        write(folder / "2.warc.gz", pages[25:], *SKIPPED.values()),
    ]


@pytest.fixture(scope="module")
def batch(archives: list[Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("batch") / "out"
    assert run(*archives, "-o", folder, "--shard-pages", 10) == 0
    return snapshot(folder)


def on_cluster(
    archives: list[Path], folder: Path, *arguments: str
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "websegment_scrapy.cluster", *map(str, archives)]
    return subprocess.run(
        [*command, "-o", str(folder), "--shard-pages", "10", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "RAY_USAGE_STATS_ENABLED": "0"},
    )


@pytest.mark.slow
@pytest.mark.parametrize("executor", ["local", "ray"])
def test_a_cluster_has_the_same_bytes_as_a_batch(
    archives: list[Path], batch: dict[str, bytes], tmp_path: Path, executor: str
) -> None:
    if executor == "ray" and importlib.util.find_spec("ray") is None:
        pytest.skip("Ray is not installed")
    ran = on_cluster(archives, tmp_path / "out", "--executor", executor, "--tasks", "3")
    assert ran.returncode == 0, ran.stderr
    assert snapshot(tmp_path / "out") == batch


@pytest.mark.slow
def test_what_another_run_has_done_is_not_done_again(
    archives: list[Path], batch: dict[str, bytes], tmp_path: Path
) -> None:
    """A task of the judgement fails; once it can be done, the same command does the rest."""
    blocked = tmp_path / "out" / "pages" / "00000-000001.parquet"
    (blocked / "full").mkdir(parents=True)
    ran = on_cluster(archives, tmp_path / "out", "--tasks", "2", "--workers", "1")
    assert ran.returncode != 0
    done = Folder(tmp_path / "out")
    times = {path: path.stat().st_mtime_ns for path in done.shards(done.analysed)}
    assert len(times) == 6
    assert not done.is_done
    (blocked / "full").rmdir()
    blocked.rmdir()
    ran = on_cluster(archives, tmp_path / "out", "--tasks", "2", "--workers", "1")
    assert ran.returncode == 0, ran.stderr
    assert snapshot(tmp_path / "out") == batch


def test_without_datatrove_a_sentence_says_what_to_install(
    archives: list[Path], tmp_path: Path
) -> None:
    script = (
        "import sys; sys.modules['datatrove'] = None\n"
        "from websegment_scrapy.cluster.__main__ import main\n"
        f"sys.exit(main([{str(archives[0])!r}, '-o', {str(tmp_path / 'out')!r}]))"
    )
    command = [sys.executable, "-c", script]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert 'pip install "websegment-scrapy[cluster]"' in ran.stderr


def test_another_kind_of_signature_is_refused(tmp_path: Path) -> None:
    script = (
        "from pathlib import Path\n"
        "from websegment_scrapy.batch.options import Limits, Options\n"
        "from websegment_scrapy.cluster.run import run_on\n"
        "run_on('local', [], Path('out'), Options(signature='shingles'), Limits(), 1)\n"
    )
    command = [sys.executable, "-c", script]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert "signature is 'shingles': datatrove's blocks take minhash" in ran.stderr
