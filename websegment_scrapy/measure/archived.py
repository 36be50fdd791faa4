"""The pages of an archive as saved pages, one folder for each site: what `sites` reads."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from websegment_scrapy.archives.reading import Counts, archives_in, read_records
from websegment_scrapy.exceptions import NotHtml
from websegment_scrapy.page.decode import decode

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["saved_pages"]


@contextmanager
def saved_pages(path: Path) -> Iterator[tuple[Path, Counts]]:
    """Unpack the pages of an archive for the time of the ``with`` block; give folder and counts.

    They are written as UTF-8 with its mark: what the HTTP header said of their encoding is lost
    with the header. Of several captures of a URL the last one stays.
    """
    counts = Counts()
    with tempfile.TemporaryDirectory(prefix="websegment-") as temporary:
        for archive in archives_in(path):
            for record in read_records(archive):
                counts.add(record)
                if not record.is_page:
                    continue
                try:
                    text = decode(record.body, content_type=record.content_type)
                except NotHtml as error:
                    counts.turn(error.kind)
                    continue
                folder = Path(temporary) / _name(record.url)
                folder.mkdir(exist_ok=True)
                name = blake2b(record.url.encode(errors="replace"), digest_size=16).hexdigest()
                data = text.encode("utf-8-sig", errors="replace")
                (folder / f"{name}.html").write_bytes(data)
        yield Path(temporary), counts


def _name(url: str) -> str:
    """Return the name of a site's folder: its host, as far as that can be one."""
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        host = ""
    safe = "".join(each if each.isalnum() or each in ".-" else "_" for each in host)
    return safe.strip(".")[:200] or "_"
