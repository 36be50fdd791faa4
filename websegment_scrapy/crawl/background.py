"""Work that is finished even when nobody waits for it any more."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

__all__ = ["Background"]

_R = TypeVar("_R")


class Background:
    """Keeps what goes on behind a page whose time is over, until it is done."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Future[Any]] = set()

    async def finish(
        self, work: Coroutine[Any, Any, _R], orphan: Callable[[_R], Awaitable[object]] | None = None
    ) -> _R:
        """Await `work`, but let it finish when the page's time is over meanwhile.

        A half-started browser or a half-opened page would be nobody's; what `work` returns
        after the time is handed to `orphan`.
        """
        task = asyncio.ensure_future(work)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            self.keep(_adopt(task, orphan))
            raise

    def keep(self, work: Awaitable[object]) -> asyncio.Future[Any]:
        """Let `work` go on; a task that nobody holds could be collected before it ends."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


async def _adopt(
    task: asyncio.Future[_R], orphan: Callable[[_R], Awaitable[object]] | None
) -> None:
    with suppress(Exception):
        result = await task
        if orphan is not None:
            await orphan(result)
