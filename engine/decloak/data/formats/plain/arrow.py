"""Format `arrow`: Arrow files, streams, and Feather; the same tables as `parquet`."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from decloak.data.formats.lines import location
from decloak.data.formats.record import Format, Options, Record
from decloak.data.formats.tables_extra import import_extra, read_columns, records_of_columns
from decloak.errors import DecloakError, quote

__all__ = ["FORMAT"]


def _load(content: bytes, path: str, options: Options) -> Iterator[Record]:
    """Read an Arrow or Feather file."""
    arrow = import_extra("pyarrow", "Arrow")
    try:
        columns = read_columns(partial(_table, content, arrow), path)
    except (arrow.lib.ArrowException, OSError, ValueError) as error:
        raise DecloakError(f"not Arrow: {quote(error)}", location(path), "write the file again") from None
    return records_of_columns(columns, path, options)


def _table(content: bytes, arrow: Any) -> Any:
    source = arrow.BufferReader(content)
    if content.startswith(b"FEA1"):
        return import_extra("pyarrow.feather", "Feather").read_table(source)
    ipc = import_extra("pyarrow.ipc", "Arrow")
    with ipc.open_file(source) if content.startswith(b"ARROW1") else ipc.open_stream(source) as reader:
        return reader.read_all()


FORMAT = Format(
    "arrow",
    "Arrow or Feather, as parquet (extra 'tables')",
    options=frozenset({"transaction", "item"}),
    load=_load,
)
