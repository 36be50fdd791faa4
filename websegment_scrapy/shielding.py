"""Child processes that leave SIGINT and SIGTERM to the process that started them.

A terminal sends SIGINT to the whole process group, and systemd SIGTERM to every process of a
service. A worker that dies of it takes the page with it that it was at. How a run ends is for its
main process to say: when its end of the pipe closes, the others end as well.
"""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["shielded"]

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def shielded() -> Iterator[None]:
    """Have processes that this thread starts meanwhile never receive `SIGNALS`.

    They inherit that the signals are blocked, so it holds from their first instruction on; to
    ignore them they would have to get as far as that. (Node.js and Chromium undo it.)
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows, which has no groups of this kind
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
