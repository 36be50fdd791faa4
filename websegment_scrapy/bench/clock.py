"""What a block of code takes, in wall and CPU time, and the names of the stages that are timed."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["STAGES", "Times", "timed"]

Times = dict[str, tuple[float, float]]
"""Wall and CPU milliseconds by what took them."""

STAGES = (
    "decode and parse",
    "tree",
    "layout",
    "segmentation",
    "main text",
    "signature",
    "all stages and the rest",
)
"""The last is `analyze`: the types of pages, titles and fingerprints are in there too."""


@contextmanager
def timed(times: Times, name: str) -> Iterator[None]:
    """Note what a block takes."""
    wall, cpu = time.perf_counter(), time.process_time()
    yield
    times[name] = (1000 * (time.perf_counter() - wall), 1000 * (time.process_time() - cpu))
