"""Format `parquet`: a table of rows (transaction, item), of a list each row, or of a column of 0 and 1 per item."""

from collections.abc import Iterator
from typing import Any

from decloak.data.formats.lines import place
from decloak.data.formats.record import Format, Options, Record
from decloak.data.formats.tables_extra import check_cells, needed, records_of_columns
from decloak.data.frames import columns_of
from decloak.errors import DecloakError, shown

__all__ = ["FORMAT"]


def _load(content: bytes, path: str, options: Options) -> Iterator[Record]:
    """Read a Parquet file."""
    arrow, parquet = (needed(name, "Parquet") for name in ("pyarrow", "pyarrow.parquet"))
    try:
        file = parquet.ParquetFile(arrow.BufferReader(content))
        check_cells(file.metadata.num_rows, file.metadata.num_columns, path)
        table: Any = file.read()
    except (arrow.lib.ArrowException, OSError, ValueError) as error:
        raise DecloakError(f"not Parquet: {shown(error)}", place(path), "write the file again") from None
    return records_of_columns(columns_of(table), path, options)


FORMAT = Format(
    "parquet",
    "a table as long, a column of lists, or 0 and 1 (extra 'tables')",
    options=frozenset({"transaction", "item"}),
    load=_load,
)
