"""Format `parquet`: a table of rows (record, item), of a list each row, or of a column of 0 and 1 per item."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from decloak.data.formats.record import NUMBER, Format, Options, Record
from decloak.data.formats.tables_extra import import_extra, records_of_table
from decloak.data.read_budget import charge


def _load(content: bytes, path: str, options: Options) -> Iterator[Record]:
    """Read a Parquet file."""
    return records_of_table(partial(_table, content), "Parquet", path, options)


def _table(content: bytes) -> Any:
    """Return the table, with repeated texts stored once: decoded, a page of a kilobyte may be gigabytes."""
    arrow, parquet = (import_extra(name, "Parquet") for name in ("pyarrow", "pyarrow.parquet"))
    metadata = parquet.ParquetFile(arrow.BufferReader(content)).metadata
    columns = [metadata.schema.column(at) for at in range(metadata.num_columns)]
    parts = [metadata.row_group(at) for at in range(metadata.num_row_groups)]
    texts = [
        column.path
        for at, column in enumerate(columns)
        if column.physical_type == "BYTE_ARRAY"
        and not any("DELTA" in encoding for part in parts for encoding in part.column(at).encodings)  # Arrow cannot
    ]
    # A hostile file may state negative sizes, which would give budget back.
    charge(sum(max(0, part.total_byte_size) for part in parts))
    charge(NUMBER * max(0, metadata.num_rows) * len(columns))
    file = parquet.ParquetFile(arrow.BufferReader(content), read_dictionary=texts)
    # Arrow cannot read lists of texts of several row groups at once.
    groups = [file.read_row_group(at, use_threads=False) for at in range(len(parts))]
    return arrow.concat_tables(groups) if groups else file.read(use_threads=False)


FORMAT = Format(
    "parquet",
    "a table as long, a column of lists, or 0 and 1 (extra 'tables')",
    options=frozenset({"transaction", "item"}),
    load=_load,
)
