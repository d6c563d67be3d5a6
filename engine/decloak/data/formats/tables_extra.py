"""The extra `tables`: imports on demand, and Arrow tables as columns of Python lists.

Columns are charged to the read budget before they are allocated. A file of a few hundred bytes may claim thousands of
millions of equal values, or a word of 30 MB in each row. Each different value is created once, and all rows share it.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

from decloak.data.formats.lines import LONGEST_LINE, Line, location
from decloak.data.formats.record import TEXT, Options, Record
from decloak.data.frames import Columns, check_columns, rows_of_columns
from decloak.data.read_budget import ARROW_POOL, SYSTEM_POOL, charge
from decloak.errors import DecloakError, at_location, quote
from decloak.extras import install


def import_extra(module: str, what: str) -> ModuleType:
    """Import `module` of the extra and return it. The error for a missing one names `what` needs it and the remedy."""
    # Arrow's own pool reserves a gigabyte at import, which the limit on memory would count.
    os.environ.setdefault(ARROW_POOL, SYSTEM_POOL)
    try:
        return import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise DecloakError(f"reading {what} needs {package}", hint=install("tables")) from None


def records_of_columns(columns: Columns, path: str, options: Options) -> Iterator[Record]:
    """Yield the records of the table `columns`; errors name `path` and the row. `options` are the options of the
    format.
    """
    with at_location(location(path)):
        for number, (label, items) in enumerate(rows_of_columns(columns, options.transaction, options.item), 1):
            yield Record(Line(path, number, ""), label, items)


CELL = 16
"""Bytes of memory per cell: a reference, and its number during the conversion."""
LIST = 80
"""Bytes of memory per list, next to its cells."""


class _UnsupportedValue:
    """A value of a type that cannot be a name, such as a mapping. One object represents all of its column."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def __str__(self) -> str:
        return self.kind


def records_of_table(read: Callable[[], object], what: str, path: str, options: Options) -> Iterator[Record]:
    """Return the records of the table that `read` returns from the file `path`, which should be `what`: Arrow or
    Parquet. `options` are the options of the format.
    """
    arrow = import_extra("pyarrow", what)
    try:
        columns = _columns(read())
    except arrow.lib.ArrowMemoryError:
        raise MemoryError from None
    except DecloakError as error:
        raise DecloakError(error.message, error.place or location(path), error.hint) from None
    except (arrow.lib.ArrowException, OSError, ValueError) as error:
        raise DecloakError(f"not {what}: {quote(error)}", location(path), "write the file again") from None
    return records_of_columns(columns, path, options)


def _columns(table: Any) -> Columns:
    names = list(table.column_names)
    check_columns(names)
    return Columns({name: _values(table.column(at)) for at, name in enumerate(names)})


def _values(column: Any) -> Sequence[Any]:
    """Return the values of a column, None where one is missing."""
    types = import_extra("pyarrow.types", "Arrow")
    kind = column.type
    if types.is_run_end_encoded(kind):
        return _runs(column)
    if _is_list(types, kind):
        return _lists(column)
    if types.is_null(kind):
        charge(CELL * len(column))
        return [None] * len(column)
    if types.is_nested(kind) or types.is_binary(kind) or types.is_large_binary(kind):
        charge(CELL * len(column))
        return [_UnsupportedValue(str(kind))] * len(column)
    return _scalars(column)


def _runs(column: Any) -> list[Any]:
    """Return the values of a column that stores each value once per run of rows."""
    charge(CELL * len(column))
    values: list[Any] = []
    for chunk in column.chunks:
        if chunk.offset:
            raise DecloakError("runs of which a part is cut off", hint="write the file again")
        ends = np.minimum(chunk.run_ends.to_numpy(), len(chunk))
        # Filled afterwards, because numpy makes a table of lists of equal lengths.
        each = np.empty(len(ends), object)
        each[:] = _values(chunk.values)
        values += np.repeat(each, np.diff(ends, prepend=0)).tolist()
    return values


def _is_list(types: object, kind: object) -> bool:
    tests = ("is_list", "is_large_list", "is_fixed_size_list", "is_list_view", "is_large_list_view")
    return any(getattr(types, test)(kind) for test in tests if hasattr(types, test))


def _compute() -> Any:
    return import_extra("pyarrow.compute", "Arrow")


def _scalars(column: Any) -> list[Any]:
    """Return texts, numbers and dates. Each different value is created once."""
    charge(CELL * len(column))
    values: list[Any] = []
    for chunk in column.chunks if hasattr(column, "chunks") else [column]:
        encoded = chunk if hasattr(chunk, "dictionary") else _compute().dictionary_encode(_plain(chunk))
        different = _different(encoded.dictionary)
        # A missing value has the number after the last, where None is.
        codes = encoded.indices.fill_null(len(different)).to_numpy(zero_copy_only=False)
        names = np.empty(len(different) + 1, object)
        names[: len(different)] = different
        values += names[codes].tolist()
    return values


def _plain(array: Any) -> Any:
    """Return the array in a type that Arrow can count: it cannot count views of texts."""
    arrow = import_extra("pyarrow", "Arrow")
    views = {getattr(arrow, name)(): arrow.large_string() for name in ("string_view",) if hasattr(arrow, name)}
    if array.type not in views:
        return array
    charge(int(_compute().sum(_compute().binary_length(array)).as_py() or 0))
    return array.cast(views[array.type])


def _different(dictionary: Any) -> list[Any]:
    types = import_extra("pyarrow.types", "Arrow")
    charge(TEXT * len(dictionary))
    if types.is_string(dictionary.type) or types.is_large_string(dictionary.type):
        lengths = _compute().binary_length(dictionary)
        longest = _compute().max(lengths).as_py() or 0
        # A character has at most four bytes.
        if longest > 4 * LONGEST_LINE:
            raise DecloakError(f"a name of {longest:,} bytes", hint=f"at most {LONGEST_LINE:,} characters")
        charge(2 * int(_compute().sum(lengths).as_py() or 0))
    elif types.is_nested(dictionary.type) or types.is_dictionary(dictionary.type):
        raise DecloakError(f"a column of {quote(dictionary.type)}", hint="write its names as text")
    return list(dictionary.to_pylist())


def _lists(column: Any) -> list[Any]:
    """Return a list of names for each row; None where it is missing."""
    lengths = _compute().list_value_length(column)
    charge(LIST * len(column) + CELL * int(_compute().sum(lengths).as_py() or 0))
    rows: list[Any] = []
    for chunk in column.chunks if hasattr(column, "chunks") else [column]:
        counts = _compute().list_value_length(chunk).fill_null(0).to_numpy(zero_copy_only=False)
        inner = _values(_compute().list_flatten(chunk))
        ends = np.cumsum(counts).tolist()
        there = chunk.is_valid().to_numpy(zero_copy_only=False).tolist()
        rows += [
            inner[end - count : end] if valid else None
            for end, count, valid in zip(ends, counts.tolist(), there, strict=True)
        ]
    return rows
