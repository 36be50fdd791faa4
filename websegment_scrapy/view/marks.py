"""What a person says is wrong on a page, as JSON lines: how labelled pages begin.

A line has the page's URL and document, the engine and the method that judged it, what should have
been (``content`` or ``template`` for a block, ``border`` for a segment that is cut wrongly), the
segment's XPaths and text, and when it was said. A wrong border has its place (`borders`): whether
it should be ``cut`` or joined, ``between`` which two XPaths, and what lies on both ``sides``.
`measure.marks` reads the lines, for ``websegment train`` and ``websegment evaluate marks``.
"""

from __future__ import annotations

import json
import os
import threading
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from websegment_scrapy.exceptions import WebsegmentError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["KINDS", "Marks"]

KINDS = ("content", "template", "border")
"""What a block should have been, or that its border is wrong."""

NOTE = 2000
"""Characters of a person's remark that are kept."""


class Marks:
    """The file that marks are written to, a line each; it is only ever added to."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()

    def add(
        self,
        page: Mapping[str, Any],
        segment: int,
        kind: str,
        told: Mapping[str, Any],
        note: str = "",
        html: str = "",
    ) -> None:
        """Write down that a segment of a page is wrong.

        Parameters
        ----------
        page
            The page as `looking.look_at` told of it.
        segment
            The segment's id.
        kind
            One of `KINDS`.
        told
            The segment's XPaths and its border, as `borders.marked_place` gave them.
        note
            What the person says besides.
        html
            The document: with it the file is an INPUT of the other commands too.
        """
        if kind not in KINDS:
            raise WebsegmentError(f"{kind!r} is no mark: accepted are {', '.join(KINDS)}")
        if kind == "border" and told["border"] is None:
            raise WebsegmentError(
                "the border has no place: say where to cut the segment, or which segment beside it "
                "it belongs together with"
            )
        (found,) = [each for each in page["segments"] if each["id"] == segment]
        line = {
            "url": page["url"],
            "title": page["title"],
            "engine": page["engine"],
            "main_text": page["method"],
            "rendered": page["rendered"],
            "kind": kind,
            "segment": segment,
            "role": found["role"],
            "templateness": found["templateness"],
            "xpaths": told["xpaths"],
            "border": told["border"],
            "box": found["box"],
            "text": found["text"],
            "note": note[:NOTE],
            "html": html,
            "marked_at": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        data = (json.dumps(line, ensure_ascii=True) + "\n").encode()
        with self._lock, self.path.open("ab") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
