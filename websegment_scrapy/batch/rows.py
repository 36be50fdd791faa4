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
    from websegment_scrapy.batch.options import Options
    from websegment_scrapy.dedup.signature import Signature
    from websegment_scrapy.findings import Report

__all__ = [
    "ANALYSED",
    "OUTCOMES",
    "PAGES",
    "parquet",
    "row_of",
    "schema",
    "signed",
    "write_rows",
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

ANALYSED = {**PAGES, "parts": "integers", "samples": "strings"}
"""The same before it is known what sites repeat."""


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
    writer = parquet()
    import pyarrow as pa

    table = pa.Table.from_pylist(rows, schema=schema(columns, metadata))
    writer.write_table(table, path, compression="zstd", use_dictionary=["input", "host"])


def row_of(
    archive: str, record: Record, found: Report | OtherFormat | Exception | None, options: Options
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
    row |= {
        "title": clean(found.title),
        "page_type": found.page_type,
        "page_type_probability": found.page_type_probability,
        "engine": found.engine,
        "model": found.model,
        "page_words": found.page_words,
        "segments": clean(found.segments) if options.segments else None,
        "page_hash": found.page_hash,
        "document_hash": found.document_hash,
        "steady_hash": found.steady_hash,
        "fingerprint": found.fingerprint,
        "dossier": found.dossier,
        **signed(found.main_text, found.signature, options),
    }
    if found.parts is not None:
        row["parts"] = found.parts.hashes.tolist()
        row["samples"] = [clean(sample) for sample in found.parts.samples]
    return row


def signed(text: str, signature: Signature, options: Options) -> dict[str, Any]:
    """Return the columns that say what a page's text is."""
    is_page = signature.words >= options.min_words
    few = f"{signature.words} words, fewer than the {options.min_words} of min_words"
    return {
        "main_text": clean(text),
        "words": signature.words,
        "content_hash": signature.content_hash,
        "signature": signature.to_bytes(),
        "keys": signature.keys(),
        "outcome": "page" if is_page else "empty",
        "reason": None if is_page else "too few words",
        "detail": None if is_page else few,
    }
