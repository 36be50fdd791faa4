"""The watch over the browser: a page that takes more than its share is ended, or has to wait.

A page can fill memory in many ways (scripts' heaps, buffers, its own text, pictures of what it
draws); what they all show in is the memory of its renderer process, with what that shares, so that
is what is limited. The rest of the browser (its main process, network, graphics) grows slowly; when
it has grown too large it is reported, and the crawl replaces the browser at a quiet moment, and if
none comes in time it is ended. All of the browser together has a limit too: beyond it the largest
page is ended, and whether that took too much itself, `Watch` tells.

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

CLOSE, CLOSE_SECONDS = 0.5, 0.05
"""Part of what one page may take from which on there is less time between two looks."""

BROWSER_BYTES = 768 * 2**20
"""Private memory of the browser without its pages from which on it is replaced; it starts with
about a tenth of that."""

BROWSER_LIMIT = 2 * BROWSER_BYTES
"""Private memory of the browser without its pages at which it is ended at once: a page that floods
it (with messages, addresses, windows) lets it come to no quiet moment."""

OTHERS, REST = 0.125, 0.5
"""Beside one page that takes its whole share, each page that may be open may take this part of a
share on average, an ordinary one takes about a tenth; and the browser itself that part of one. With
two processors and the shares of the settings that is 2.5 GB: what comes between two looks stays
within three."""

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
        Called with ``"ended"`` (a page took more than its share), ``"crowded"`` (all of the browser
        took too much, and this was its largest page) or ``"grown"``, and a number of MiB.
    """

    def __init__(
        self, root: int, share: int, pages: int, report: Callable[[str, int], None]
    ) -> None:
        self._root = root
        self._share = share
        self._all = share * (1 + OTHERS * pages + REST)
        self._report = report
        self._seconds = INTERVAL_SECONDS
        self.browser: list[Process] = []
        """The browser's processes when they were last seen."""
        self._waiting: set[tuple[int, int]] = set()

    async def run(self) -> None:
        """Look for ever."""
        while True:
            self.look()
            await asyncio.sleep(self._seconds)

    def look(self) -> None:
        """Look once."""
        self.browser = [each for each in descendants(self._root) if each.kind != "other"]
        pages = [each for each in self.browser if each.kind == "renderer"]
        pages.sort(key=_taken, reverse=True)
        rest = sum(each.own for each in self.browser if each.kind == "browser")
        total = rest + sum(map(_taken, pages))
        self._seconds = INTERVAL_SECONDS
        for page in pages:
            taken = _taken(page)
            if taken > CLOSE * self._share:
                self._seconds = CLOSE_SECONDS
            if taken <= self._share and total <= self._all:
                break
            if end(page):
                self._report("ended" if taken > self._share else "crowded", taken // _MIB)
            total -= taken
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


def _taken(page: Process) -> int:
    """Return the bytes of memory that are a page's doing."""
    return page.own + page.shared
