"""A viewer that runs, for tests: its server in a thread, its analyses in a process."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from websegment_scrapy.pool import AnalysisPool
from websegment_scrapy.store.queries import open_for_reading
from websegment_scrapy.view.marks import Marks
from websegment_scrapy.view.server import ViewServer
from websegment_scrapy.view.texts import SiteRules
from websegment_scrapy.view.viewer import Document, Viewer

__all__ = ["viewing"]


@contextmanager
def viewing(
    marks: Path,
    database: str | None = None,
    documents: Sequence[Document] = (),
    screenshots: Path | None = None,
) -> Iterator[ViewServer]:
    """Serve a database and documents."""
    with ExitStack() as stack:
        opened = None
        if database is not None:
            opened = stack.enter_context(closing(open_for_reading(database, mapped=True)))
        pool = stack.enter_context(AnalysisPool(1, timeout=60, memory=1024))
        viewer = Viewer(
            documents, pool, Marks(marks), opened, SiteRules(), engine="justrules",
            main_text="learned", screenshots=screenshots,
        )  # fmt: skip
        server = stack.enter_context(ViewServer(viewer.answer))
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
