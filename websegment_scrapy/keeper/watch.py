"""The watch over the browser: a page that takes more than its share is ended, or has to wait.

A page can fill memory in many ways (scripts' heaps, buffers, its own text); what they all show in
is the memory of its renderer process, so that is what is limited. The rest of the browser (its
main process, network, graphics) grows slowly; when it has grown too large it is reported, and the
crawl replaces the browser at a quiet moment, and if none comes in time it is ended.

A page that has kept a processor busy for `BUSY_SECONDS` gives way to all others from then on: it
has what nobody else needs, and as long as there is time for it that is no loss. Otherwise a few
pages that never stop computing would use up the time in which the others have to be rendered.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from websegment_scrapy.keeper.processes import Process, descendants, end, give_way

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Watch"]

INTERVAL_SECONDS = 0.2
"""Between two looks: a page that fills memory as fast as it can gains some 300 MB meanwhile."""

BROWSER_BYTES = 768 * 2**20
"""Private memory of the browser without its pages from which on it is replaced; it starts with
about a tenth of that."""

BROWSER_LIMIT = 2 * BROWSER_BYTES
"""Private memory of the browser without its pages at which it is ended at once: a page that floods
it (with messages, addresses, windows) lets it come to no quiet moment."""

OTHERS = 0.25
"""Beside one page that takes its whole share, the others that may be open may take this part of
theirs on average; beyond that the largest page is ended. An ordinary page takes about a tenth."""

BUSY_SECONDS = 2.0
"""Processor time that a page may take before it gives way; an ordinary page takes about half a
second to load, to be laid out and to be captured."""

_MIB = 2**20


class Watch:
    """Looks at the processes below the crawl again and again.

    Parameters
    ----------
    root
        The crawl's process.
    share
        Bytes that one page may take.
    pages
        Pages that may be open at once.
    report
        Called with ``"ended"`` or ``"grown"`` and a number of MiB.
    """

    def __init__(
        self, root: int, share: int, pages: int, report: Callable[[str, int], None]
    ) -> None:
        self._root = root
        self._share = share
        self._all = share * (1 + OTHERS * pages)
        self._report = report
        self.browser: list[Process] = []
        """The browser's processes when they were last seen."""
        self._waiting: set[tuple[int, int]] = set()

    async def run(self) -> None:
        """Look for ever."""
        while True:
            self.look()
            await asyncio.sleep(INTERVAL_SECONDS)

    def look(self) -> None:
        """Look once."""
        self.browser = [each for each in descendants(self._root) if each.kind != "other"]
        pages = [each for each in self.browser if each.kind == "renderer"]
        pages.sort(key=lambda each: each.private, reverse=True)
        total = sum(each.private for each in pages)
        rest = sum(each.private for each in self.browser if each.kind == "browser")
        # What the browser itself has taken beyond its measure, its pages cannot have.
        most = self._all - max(0, rest - BROWSER_BYTES)
        for page in pages:
            if page.private <= self._share and total <= most:
                break
            if end(page):
                self._report("ended", page.private // _MIB)
            total -= page.private
        self._let_wait(pages)
        if rest > BROWSER_LIMIT:
            self.end_browser()
        elif rest > BROWSER_BYTES:
            self._report("grown", rest // _MIB)

    def end_browser(self) -> None:
        """End the browser with all its pages; the crawl starts another one."""
        self.browser = [each for each in self.browser if not end(each)]

    def _let_wait(self, pages: list[Process]) -> None:
        """Let busy pages give way; a process is asked once, its later threads do as it does."""
        busy = {(page.pid, page.started): page for page in pages if page.seconds > BUSY_SECONDS}
        for key in busy.keys() - self._waiting:
            give_way(busy[key])
        self._waiting = set(busy)
