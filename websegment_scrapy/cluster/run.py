"""A batch by datatrove's executors: the steps one after the other, each in many tasks.

What a step has done is known by datatrove's logs in the folder of the batch, so a run that was
killed is started again with the same command, as `websegment batch` is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from websegment_scrapy.archives.reading import archives_in
from websegment_scrapy.batch.folder import BatchError, Folder
from websegment_scrapy.cluster.blocks import (
    ArchiveReader,
    PageAnalysis,
    PageJudgement,
    ShardWriter,
    SiteCounts,
)
from websegment_scrapy.cluster.minhash import (
    PageReader,
    StoreSignatures,
    VerifiedClusters,
    bucket_block,
    minhash_config,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from websegment_scrapy.batch.options import Limits, Options

__all__ = ["EXECUTORS", "run_on"]

EXECUTORS = ("local", "slurm", "ray")

Step = tuple[str, list[Any], int]
"""Name, blocks and tasks of a step."""


def run_on(
    executor: str,
    inputs: Sequence[Path],
    output: Path,
    options: Options,
    limits: Limits,
    tasks: int,
    **arguments: Any,
) -> None:
    """Run a batch by one of datatrove's executors.

    Parameters
    ----------
    executor
        ``"local"``: processes of this machine; ``"slurm"``: jobs that wait for each other, this
        function returns when they are submitted; ``"ray"``: the cluster that Ray is connected to.
    inputs, output
        Archives and the folder of the batch, where all machines see them.
    options, limits
        As for `batch.run.run_batch`; the signature has to be ``minhash``.
    tasks
        In how many parts archives, shards and signatures are dealt.
    arguments
        Others of the executor: ``time`` and ``partition`` of Slurm, for example.
    """
    if options.signature != "minhash":
        raise BatchError(f"signature is {options.signature!r}: datatrove's blocks take minhash")
    if executor not in EXECUTORS:
        raise BatchError(f"executor is {executor!r}: accepted are {', '.join(EXECUTORS)}")
    archives = [archive for path in inputs for archive in archives_in(path.resolve())]
    folder = Folder(output)
    with folder.locked():
        folder.settle_on(options, archives)
        if folder.is_done:
            return
        named = [(str(each.path), each.member) for each in archives]
        steps = _steps(folder, named, options, limits, tasks)
        _EXECUTORS[executor](steps, output / "logs", limits, arguments)


def _steps(
    folder: Folder,
    archives: list[tuple[str, str | None]],
    options: Options,
    limits: Limits,
    tasks: int,
) -> list[Step]:
    """Return what is to be done, in its order."""
    path = str(folder.path.resolve())
    signatures, pairs = f"{path}/minhash/signatures", f"{path}/minhash/pairs"
    analyse = [
        ArchiveReader(archives),
        PageAnalysis(options, limits),
        ShardWriter(path, len(archives), options),
    ]
    count: list[Step] = [("sites", [SiteCounts(path, limits)], 1)] if options.site_templates else []
    return [
        ("analysis", analyse, min(tasks, max(len(archives), 1))),
        *count,
        ("judgement", [PageJudgement(path, options, limits)], tasks),
        ("signatures", [PageReader(path), StoreSignatures(signatures)], tasks),
        ("buckets", [bucket_block(signatures, pairs)], minhash_config().num_buckets),
        ("clusters", [VerifiedClusters(path, pairs, tasks, options, limits)], 1),
    ]


def _local(steps: list[Step], logs: Path, limits: Limits, arguments: dict[str, Any]) -> None:
    from datatrove.executor import LocalPipelineExecutor

    for name, blocks, tasks in steps:
        LocalPipelineExecutor(
            blocks,
            tasks=tasks,
            workers=min(tasks, limits.workers),
            logging_dir=str(logs / name),
            **arguments,
        ).run()


def _ray(steps: list[Step], logs: Path, limits: Limits, arguments: dict[str, Any]) -> None:
    from datatrove.executor import RayPipelineExecutor

    for name, blocks, tasks in steps:
        executor = RayPipelineExecutor(
            blocks,
            tasks=tasks,
            workers=min(tasks, limits.workers),
            logging_dir=str(logs / name),
            **arguments,
        )
        executor.run()
        left = [rank for rank in range(tasks) if not executor.is_rank_completed(rank)]
        if left:  # Ray's executor tells of tasks that failed in its logs only
            raise BatchError(f"{len(left)} tasks of {name} failed: see {logs / name}/logs")


def _slurm(steps: list[Step], logs: Path, limits: Limits, arguments: dict[str, Any]) -> None:
    from datatrove.executor import SlurmPipelineExecutor

    before = None
    for name, blocks, tasks in steps:
        before = SlurmPipelineExecutor(
            blocks,
            tasks=tasks,
            workers=limits.workers,
            job_name=f"websegment-{name}",
            logging_dir=str(logs / name),
            depends=before,
            **arguments,
        )
    assert before is not None
    before.run()


_EXECUTORS: dict[str, Callable[[list[Step], Path, Limits, dict[str, Any]], None]] = {
    "local": _local,
    "ray": _ray,
    "slurm": _slurm,
}
