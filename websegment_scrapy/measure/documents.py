"""The HTML of saved pages, as it is or rendered, with snapshots kept for the next time."""

from __future__ import annotations

import contextlib
import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Protocol

from websegment_scrapy.exceptions import AnalysisError
from websegment_scrapy.page.capture import Captured

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Documents", "SavedPage"]


class SavedPage(Protocol):
    """A page in a file; its name is that of its snapshot."""

    @property
    def name(self) -> str:
        """What the page is called."""
        ...

    @property
    def path(self) -> Path:
        """Where its HTML is."""
        ...


class Documents:
    """Reads saved pages; with ``close`` the browser ends, if one was started.

    Parameters
    ----------
    render
        Whether pages are rendered.
    snapshots
        Folder in which rendered pages are kept, and from which they are taken when they are there.
    """

    def __init__(self, *, render: bool, snapshots: Path | None) -> None:
        self._render = render
        self._snapshots = snapshots
        self._stack = contextlib.ExitStack()
        self._snapshotter: Any = None

    def close(self) -> None:
        """End the browser."""
        self._stack.close()

    def read(self, page: SavedPage) -> bytes | Captured:
        """Return the page's HTML; with its layout when pages are rendered."""
        if not self._render:
            try:
                return page.path.read_bytes()
            except OSError as error:
                raise AnalysisError(f"cannot be read: {error.strerror}") from None
        kept = self._snapshots / f"{page.name}.json" if self._snapshots else None
        if kept and kept.is_file():
            with contextlib.suppress(ValueError, TypeError):
                return Captured(**json.loads(kept.read_bytes()))
        captured = self._rendered(page.path)
        if kept:
            kept.parent.mkdir(parents=True, exist_ok=True)
            partial = kept.with_suffix(".part")
            partial.write_text(json.dumps(asdict(captured)), encoding="utf-8")
            partial.replace(kept)
        return captured

    def _rendered(self, path: Path) -> Captured:
        if self._snapshotter is None:
            from websegment_scrapy.crawl.snapshot import Snapshotter

            self._snapshotter = self._stack.enter_context(Snapshotter())
        captured: Captured = self._snapshotter.render(path)
        return captured
