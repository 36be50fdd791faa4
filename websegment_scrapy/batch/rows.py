"""A row of a batch for every record of its archives: what is written of it, and in which types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from websegment_scrapy.batch.folder import BatchError
from websegment_scrapy.page.decode import OtherFormat
from websegment_scrapy.store.record import canonical_url, clean, host_of, url_key

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

    from websegment_scrapy.archives.reading import Record
    from websegment_scrapy.batch.looking import Looked, Signed
    from websegment_scrapy.batch.options import Options

__all__ = [
    "ANALYSED",
    "OUTCOMES",
    "PAGES",
    "parquet",
    "row_of",
    "schema",
    "signed",
    "write_rows",
    "write_table",
]

OUTCOMES = ("page", "empty", "failed", "skipped")
"""What a record is: a page with a text to compare, one with fewer words than that, one that cannot
be read or analysed, no page."""

PAGES = {
    "input": "string",
    "record": "int64",
    "offset": "int64",
    "url": "string",
    "canonical_url": "string",
    "host": "string",
    "date": "string",
    "status": "int16",
    "outcome": "string",
    "reason": "string",
    "detail": "string",
    "title": "string",
    "page_type": "string",
    "page_type_probability": "float64",
    "engine": "string",
    "model": "string",
    "words": "int64",
    "page_words": "int64",
    "main_text": "string",
    "segments": "string",
    "content_hash": "binary",
    "page_hash": "binary",
    "document_hash": "binary",
    "steady_hash": "binary",
    "fingerprint": "binary",
    "url_key": "binary",
    "signature": "binary",
    "keys": "integers",
    "dossier": "binary",
}
"""The columns of the results and their types."""

ANALYSED = {**PAGES, "parts": "integers", "samples": "string"}
"""The same before it is known what sites repeat; the samples of the parts are lines of one text."""


def parquet() -> Any:
    """Return pyarrow's module for Parquet, or say what is missing."""
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise BatchError(
            f"a batch writes Parquet with pyarrow, which is missing ({error}): "
            'pip install "websegment-scrapy[batch]"'
        ) from None
    return pyarrow.parquet


def schema(columns: dict[str, str], metadata: dict[str, str] | None = None) -> pa.Schema:
    """Return columns as pyarrow knows them."""
    parquet()
    import pyarrow as pa

    kinds = {
        "string": pa.string(),
        "binary": pa.binary(),
        "int16": pa.int16(),
        "int64": pa.int64(),
        "float64": pa.float64(),
        "integers": pa.list_(pa.int64()),
        "strings": pa.list_(pa.string()),
    }
    return pa.schema([(name, kinds[kind]) for name, kind in columns.items()], metadata=metadata)


def write_rows(
    path: Path, rows: list[dict[str, Any]], columns: dict[str, str], metadata: dict[str, str]
) -> None:
    """Write rows as one Parquet file: the same rows give the same bytes."""
    import pyarrow as pa

    write_table(path, pa.Table.from_pylist(rows, schema=schema(columns)), metadata)


def write_table(path: Path, table: pa.Table, metadata: dict[str, str]) -> None:
    """Write a table as one Parquet file: the same rows give the same bytes."""
    parquet().write_table(
        table.replace_schema_metadata(metadata),
        path,
        compression="zstd",
        use_dictionary=["input", "host"],
    )


def row_of(
    archive: str, record: Record, found: Looked | OtherFormat | Exception | None, options: Options
) -> dict[str, Any]:
    """Return the row of a record, with what the analysis found if it was analysed."""
    url = clean(record.url)
    canonical = canonical_url(url)
    row: dict[str, Any] = dict.fromkeys(ANALYSED)
    row |= {
        "input": archive,
        "record": record.number,
        "offset": record.offset,
        "url": url,
        "canonical_url": canonical,
        "host": host_of(canonical),
        "date": clean(record.date),
        "status": record.status,
        "url_key": url_key(canonical),
        "words": 0,
        "page_words": 0,
    }
    if record.skipped is not None or isinstance(found, OtherFormat):
        reason = found.kind if isinstance(found, OtherFormat) else record.skipped
        return row | {"outcome": "skipped", "reason": reason}
    if record.error is not None:
        detail = clean(record.reason)
        return row | {"outcome": "failed", "reason": record.error, "detail": detail}
    if found is None or isinstance(found, Exception):
        return row | {"outcome": "failed", "reason": "analysis", "detail": clean(str(found))}
    row |= found.columns | signed(found.signed, options)
    for name in ("title", "segments", "samples"):
        if row[name] is not None:
            row[name] = clean(row[name])
    return row


def signed(found: Signed, options: Options) -> dict[str, Any]:
    """Return the columns that say what a page's text is."""
    is_page = found.words >= options.min_words
    few = f"{found.words} words, fewer than the {options.min_words} of min_words"
    return {
        "main_text": clean(found.main_text),
        "words": found.words,
        "content_hash": found.content_hash,
        "signature": found.signature,
        "keys": found.keys,
        "outcome": "page" if is_page else "empty",
        "reason": None if is_page else "too few words",
        "detail": None if is_page else few,
    }
