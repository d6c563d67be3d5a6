"""Format `arrow`: Arrow files, streams, and Feather; the same tables as `parquet`."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from decloak.data.formats.record import Format, Options, Record
from decloak.data.formats.tables_extra import import_extra, records_of_table


def _load(content: bytes, path: str, options: Options) -> Iterator[Record]:
    """Read an Arrow or Feather file."""
    return records_of_table(partial(_table, content), "Arrow", path, options)


def _table(content: bytes) -> Any:
    source = import_extra("pyarrow", "Arrow").BufferReader(content)
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
