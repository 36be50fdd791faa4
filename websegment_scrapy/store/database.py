"""A connection to the dedup database: SQLite or PostgreSQL, transactions, errors with a remedy."""

from __future__ import annotations

import random
import sqlite3
import time
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import URL, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError, SQLAlchemyError

from websegment_scrapy.exceptions import StoreError
from websegment_scrapy.store.checkpoint import Checkpointer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection, Engine

__all__ = ["Database", "StoreUnavailable", "TooManyLocks"]

BUSY_TIMEOUT = 30.0
"""Seconds to wait for another process that writes to the same SQLite file."""

TURN = (0.0005, 0.003)
"""Seconds between two tries to become the writer of an SQLite file."""

CACHE_KIB = 65_536
"""Memory for pages of the SQLite file, in KiB: the upper levels of all indexes of a large store."""

MAPPED = 2**30
"""Bytes of an SQLite file that are mapped into memory where whole tables are searched. At 10⁵ pages
the first search took 2.6 seconds from disk without it, 0.23 with it; later ones 0.28 and 0.08."""

LARGE_LOG = 100_000
"""Pages in SQLite's write-ahead log after which SQLite itself copies them to the file, should
`Checkpointer` not keep up."""

UNAVAILABLE = ("08", "57P", "53", "40001", "40P01")
"""Classes and codes of PostgreSQL's errors after which the same transaction may succeed:
connection, shutdown, resources (disk, memory, connections), serialisation, deadlock."""

OUT_OF_MEMORY = "53200"
"""PostgreSQL's code for too many locks at once, among others."""

_READ = "websegment_read"


class StoreUnavailable(StoreError):
    """The database cannot be reached or written at the moment: try again later."""


class TooManyLocks(StoreUnavailable):
    """PostgreSQL has no room for this many locks: use smaller batches."""


class Database:
    """An open database; made by `Database.open`."""

    def __init__(self, engine: Engine, name: str, checkpointer: Checkpointer | None = None) -> None:
        self.engine = engine
        self.checkpointer = checkpointer
        self.name = name
        """How messages call the database: without its password."""

    @classmethod
    def open(
        cls, url: str, *, create: bool = False, synchronous: str = "FULL", mapped: bool = False
    ) -> Database:
        """Connect to a database.

        Parameters
        ----------
        url
            SQLAlchemy URL, or the path of an SQLite file.
        create
            Make the SQLite file when it is missing; otherwise that is an error.
        synchronous
            SQLite's ``PRAGMA synchronous``. ``FULL``: a committed decision survives a power
            failure; ``NORMAL``: only a crash of the program.
        mapped
            Whether an SQLite file is mapped into memory (`MAPPED`): for searches of whole tables.
        """
        parsed = _parse(url)
        name = _display(parsed)
        checkpointer = None
        try:
            if parsed.get_backend_name() == "sqlite":
                engine = _sqlite(parsed, name, create, synchronous)
                if mapped:
                    event.listen(engine, "connect", _map_file)
                if create:
                    checkpointer = Checkpointer(_file(parsed))
            else:
                engine = create_engine(parsed, pool_size=2, hide_parameters=True)
        except ImportError as error:
            raise StoreError(
                f"{name}: the driver is missing ({error}): "
                'pip install "websegment-scrapy[postgresql]"'
            ) from None
        return cls(engine, name, checkpointer)

    @property
    def is_postgresql(self) -> bool:
        """Whether this is PostgreSQL, where several writers work at the same time."""
        return self.engine.dialect.name == "postgresql"

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Open one transaction that may write; an exception undoes it.

        On SQLite it is ``BEGIN IMMEDIATE``: one writer at a time, from its first statement on.
        """
        with self._errors(), self.engine.connect() as connection:
            with connection.begin():
                yield connection
            if self.checkpointer is not None:
                self.checkpointer.after_commit(connection)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Open one transaction that sees one state of the database and blocks no writer."""
        with self._errors(), self.engine.connect() as connection:
            isolation = {"isolation_level": "REPEATABLE READ"} if self.is_postgresql else {}
            connection = connection.execution_options(**{_READ: True}, **isolation)
            with connection.begin():
                yield connection

    @contextmanager
    def connect(self) -> Iterator[Connection]:
        """Open a connection for what needs more than one transaction, or none."""
        with self._errors(), self.engine.connect() as connection:
            yield connection

    def check_writable(self) -> None:
        """Write what is there already; a `StoreError` says why nothing can be written."""
        with self.write() as connection:
            connection.exec_driver_sql("UPDATE store_info SET value = value WHERE key = 'recipe'")

    def close(self) -> None:
        """Close all connections."""
        if self.checkpointer is not None:
            self.checkpointer.close()
        self.engine.dispose()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            reason = " ".join(str(error.orig).split())
            remedy = _remedy(reason, self.is_postgresql)
            raise _kind(error)(f"{self.name}: {reason}: {remedy}") from error
        except _driver_errors() as error:
            reason = " ".join(str(error).split())
            remedy = _remedy(reason, self.is_postgresql)
            raise _kind_of_driver(error)(f"{self.name}: {reason}: {remedy}") from error
        except SQLAlchemyError as error:
            raise StoreError(f"{self.name}: {error}") from error


def _parse(url: str) -> URL:
    if "://" not in url:
        return URL.create("sqlite", database=url)
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        scheme, _, rest = url.partition("://")
        shown = f"{scheme}://***@{rest.rpartition('@')[2]}" if "@" in rest else url
        raise StoreError(
            f"{shown!r} is no database URL: write sqlite:///FILE or "
            "postgresql://USER:PASSWORD@HOST/DATABASE"
        ) from None
    if parsed.drivername in ("postgresql", "postgres"):
        return parsed.set(drivername="postgresql+psycopg")
    if parsed.drivername in ("sqlite", "sqlite+pysqlite", "postgresql+psycopg"):
        return parsed
    raise StoreError(
        f"{_display(parsed)}: {parsed.drivername!r} is not supported: write sqlite:///FILE or "
        "postgresql://USER:PASSWORD@HOST/DATABASE"
    )


def _display(url: URL) -> str:
    """Write a URL without password and options, which may hold one too."""
    return url.set(password=None, query={}).render_as_string()


def _remedy(reason: str, postgresql: bool) -> str:
    """Say what to do about an error of the driver."""
    known = {
        "locked": "another process holds the database: let it finish, or end it, and try again",
        "unable to open": "check that the directory exists and may be written to",
        "readonly": "check that the file and its directory may be written to",
        "attempt to write": "check that the file and its directory may be written to",
        "not a database": "this file is something else: give another file",
        "malformed": "the file is damaged: restore it from a backup, or start with a new file",
        "full": "make room on the disk and try again",
        "password": "check user and password in the database URL",
        "does not exist": "create it first (createdb), or correct the database URL",
    }
    for part, remedy in known.items():
        if part in reason:
            return remedy
    if postgresql:
        return "check that the server runs and that the database URL is right"
    return "run websegment dedup check on the file"


def _kind(error: DBAPIError) -> type[StoreError]:
    """Tell errors that may pass from those that stay."""
    if not isinstance(error, OperationalError):
        return StoreUnavailable if error.connection_invalidated else StoreError
    return StoreUnavailable if error.connection_invalidated else _kind_of_driver(error.orig)


def _kind_of_driver(error: BaseException | None) -> type[StoreError]:
    """Tell by the message of SQLite, or by the code of PostgreSQL; a broken connection has none."""
    if isinstance(error, sqlite3.Error):
        reason = str(error)
        passing = "locked" in reason or "full" in reason or "busy" in reason
        return StoreUnavailable if passing else StoreError
    code = getattr(error, "sqlstate", None)
    if code == OUT_OF_MEMORY:
        return TooManyLocks
    return StoreUnavailable if code is None or code.startswith(UNAVAILABLE) else StoreError


@cache
def _driver_errors() -> tuple[type[Exception], ...]:
    """Return the drivers' errors: `statements` uses the drivers themselves."""
    try:
        import psycopg
    except ImportError:
        return (sqlite3.Error,)
    return (sqlite3.Error, psycopg.Error)


def _file(url: URL) -> Path:
    """Return the file of an SQLite database."""
    return Path(str(url.database).removeprefix("file:").partition("?")[0])


def _map_file(connection: sqlite3.Connection, _: object) -> None:
    connection.execute(f"PRAGMA mmap_size={MAPPED}")


def _sqlite(url: URL, name: str, create: bool, synchronous: str) -> Engine:
    path = url.database
    if not path or path == ":memory:" or "mode=memory" in f"{path}{url.query}":
        raise StoreError(
            f"{name}: a database in memory forgets everything: give a file, sqlite:///FILE"
        )
    file = _file(url)
    if file.is_dir():
        raise StoreError(f"{name}: {str(file)!r} is a directory: give a file, sqlite:///FILE")
    if not create and not file.exists():
        raise StoreError(f"{name}: there is no such file: run a crawl first, or name another file")
    if not file.absolute().parent.is_dir():
        raise StoreError(
            f"{name}: the directory {str(file.parent)!r} does not exist: create it first"
        )
    # The store decides itself when a transaction begins, hence isolation_level None.
    engine = create_engine(
        url,
        connect_args={"timeout": BUSY_TIMEOUT, "check_same_thread": False, "isolation_level": None},
        pool_size=2,
        hide_parameters=True,
    )

    @event.listens_for(engine, "connect")
    def configure(connection: Any, _record: object) -> None:
        connection.execute("PRAGMA foreign_keys=ON")
        if create:
            _use_wal(connection)
            connection.execute(f"PRAGMA synchronous={synchronous}")
            connection.execute(f"PRAGMA cache_size=-{CACHE_KIB}")
            connection.execute(f"PRAGMA wal_autocheckpoint={LARGE_LOG}")
        else:
            connection.execute("PRAGMA query_only=ON")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        if connection.get_execution_options().get(_READ):
            connection.exec_driver_sql("BEGIN")
        else:
            _begin_to_write(connection)

    return engine


def _begin_to_write(connection: Connection) -> None:
    """Wait for the turn of this process among those that write to the file.

    SQLite's own patience sleeps longer and longer, up to a tenth of a second, while a busy writer
    starts its next transaction within a millisecond of the last: with eight writers some waited for
    many seconds. Whoever asks at short and random intervals gets his turn soon.
    """
    driver: Any = connection.connection.driver_connection
    give_up = time.monotonic() + BUSY_TIMEOUT
    driver.execute("PRAGMA busy_timeout=0")
    try:
        while True:
            try:
                driver.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > give_up:
                    raise
                time.sleep(random.uniform(*TURN))
            else:
                return
    finally:
        driver.execute(f"PRAGMA busy_timeout={int(BUSY_TIMEOUT * 1000)}")


def _use_wal(connection: Any) -> None:
    """Switch to the write-ahead log, where readers and a writer do not block each other.

    While several processes do this to a new file at the same moment, SQLite answers "locked" at
    once, without its usual patience.
    """
    give_up = time.monotonic() + BUSY_TIMEOUT
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL").fetchone()
        except Exception as error:
            if "locked" not in str(error) or time.monotonic() > give_up:
                raise
            time.sleep(0.02)
        else:
            return
