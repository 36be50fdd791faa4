"""Which captures are this crawl's own: what a page says of its layout is not believed.

A captured page passes Scrapy's HTTP cache on its way, and whoever answers a request could send a
document that looks like one. So each is signed (keyed BLAKE2b) over its address and its bytes; the
key never leaves the machine.
"""

from __future__ import annotations

import hmac
import os
import secrets
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar
from weakref import WeakKeyDictionary

from scrapy.utils.project import data_path

from websegment_scrapy.page.capture import Captured

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response

__all__ = ["CAPTURE_HEADER", "CaptureKey"]

CAPTURE_HEADER = "X-Websegment-Capture"
"""The mark and the signature of a capture; it travels with the response as far as the spider."""

KEY_BYTES = 32
KEY_FILE = "websegment.key"


class CaptureKey:
    """Signs captures and tells its own from others.

    Parameters
    ----------
    key
        The secret; captures that were signed with another one are not believed.
    """

    _of_crawler: ClassVar[WeakKeyDictionary[Crawler, CaptureKey]] = WeakKeyDictionary()

    def __init__(self, key: bytes) -> None:
        self._key = key

    @classmethod
    def of(cls, crawler: Crawler) -> CaptureKey:
        """Return a crawl's key: that of its HTTP cache, kept beside it, or else a new one."""
        if crawler not in cls._of_crawler:
            settings = crawler.settings
            key = secrets.token_bytes(KEY_BYTES)
            if settings.getbool("HTTPCACHE_ENABLED"):
                key = _kept_key(Path(data_path(settings["HTTPCACHE_DIR"], createdir=True)))
            cls._of_crawler[crawler] = cls(key)
        return cls._of_crawler[crawler]

    def sign(self, url: str, body: bytes, mark: str) -> str:
        """Return the header's value for a captured document."""
        return f"{mark} {self._signature(url, body, mark)}"

    def captured(self, response: Response) -> Captured | None:
        """Return the capture in a response, if it is our own."""
        value = (response.headers.get(CAPTURE_HEADER) or b"").decode("latin-1")
        mark, _, signature = value.partition(" ")
        expected = self._signature(response.url, response.body, mark) if signature else ""
        if not signature or not hmac.compare_digest(signature.encode(), expected.encode()):
            return None
        return Captured(response.body.decode(), mark)

    def _signature(self, url: str, body: bytes, mark: str) -> str:
        digest = blake2b(f"{mark}\n{url}\n".encode(), key=self._key, digest_size=16)
        digest.update(body)
        return digest.hexdigest()


def _kept_key(folder: Path) -> bytes:
    """Read the key, or make it; of two crawls that make it at once, one is first."""
    path = folder / KEY_FILE
    if not path.exists():
        made = folder / f"{KEY_FILE}.{os.getpid()}"
        descriptor = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(KEY_BYTES))
        try:
            os.link(made, path)
        except FileExistsError:
            pass
        finally:
            made.unlink()
    return path.read_bytes()
