"""Reader and writer of plain records in a named format. Nothing about a file is guessed."""

import os
import pkgutil
from collections.abc import Iterator, Sequence
from importlib import import_module
from itertools import chain
from typing import Any

from decloak.data.dataset import Dataset
from decloak.data.formats import plain
from decloak.data.formats.delimited import check_separator
from decloak.data.formats.lines import FilePath, ReadFile, check_name, location, stream_lines
from decloak.data.formats.record import Format, Options, Record, as_dataset, check_labels
from decloak.data.formats.unpacked import reading_file, unpacked_file
from decloak.data.formats.writing import write_lines
from decloak.data.frames import SHAPES, frame_columns, is_frame, rows_in_format, rows_of_columns
from decloak.data.rows import RowLabels
from decloak.errors import DecloakError, at_location, quote, suggest
from decloak.plugins import with_plugins

SPREADSHEETS = {"csv", "tsv", "txt", "text"}
"""Extensions of files that may be in any of several formats."""
TABULAR = "long has one item per row, onehot one column per item, basket a list; run `decloak look FILE`;"


def _entries() -> list[Format]:
    """Return the entry of every module of the folder and of plugins: text formats first, and first of these separated
    values, the most common.
    """
    modules = [import_module(f"{plain.__name__}.{module.name}") for module in pkgutil.iter_modules(plain.__path__)]
    entries = with_plugins("formats", Format, (module.FORMAT for module in modules), lambda entry: [entry.name])
    return sorted(entries, key=lambda entry: (entry.parse is None, "separator" not in entry.options, entry.name))


FORMATS = {entry.name: entry for entry in _entries()}
"""Every format of plain records by name: one module each in the folder `plain`."""


def find_format(name: str, options: Options) -> Format:
    """Return the format `name`; raise an error if there is none, or if it does not support one of `options`."""
    listed = sorted(FORMATS, key=lambda entry: (FORMATS[entry].parse is None, entry))
    formats = f"known formats: {', '.join(listed)}"
    # A published file read as baskets would turn brackets into names.
    if name == "published":
        raise DecloakError("published records are set-generalised, not plain ones", hint=formats)
    if name not in FORMATS:
        near = TABULAR if name.lower() in SPREADSHEETS else suggest(name, FORMATS)
        raise DecloakError(f"unknown format {quote(name)}", hint=f"{near} {formats}" if near else formats)
    for option, value, unset in zip(Options._fields, options, Options(), strict=True):
        if value != unset and not FORMATS[name].knows(option):
            raise DecloakError(f"the format {name} has no option {option}", hint="remove it")
    for mark in (options.separator, options.within):
        if mark is not None:
            check_separator(mark)
    separated = "separator" in FORMATS[name].options
    if separated and options.within is not None and options.within == (options.separator or ","):
        raise DecloakError(f"{quote(options.within)} is the separator already", hint="leave out 'within'")
    if options.transaction == options.item:
        message = f"{quote(options.item)} cannot hold both the record and the item"
        raise DecloakError(message, hint="name two columns")
    return FORMATS[name]


def read(
    path: FilePath | Any,
    format: str | None = None,  # noqa: A002 (the word users write)
    *,
    ids: bool = False,
    separator: str | None = None,
    transaction: str = "tid",
    item: str = "item",
    within: str | None = None,
    header: bool = False,
    repeats: bool = False,
    header_row: int = 1,
    fill_down: bool = False,
    columns: Sequence[str] = (),
) -> Dataset:
    """Read records from the file at `path` in `format`, one of `FORMATS`, and return them. `decloak import --help`
    shows examples.

    `path` may also be a frame of pandas or polars, or a table of Arrow. A frame has the format `long`, `onehot` or
    `basket`; without a format its content decides. Further columns are left out.

    The function unpacks gzip and xz files. An option that the format does not have is an error.

    - `ids`: the first name of a line, or the first column, is the id.
    - `separator`: the character between names. The default is a comma.
    - `transaction`, `item`: the columns of the id and of the item, for formats with one item per row.
    - `within`: the character between names inside one value, as in `p1<TAB>milk|bread`.
    - `header`: the first line contains column names.
    - `header_row`: the number of the line with the column names, or of the first record; lines above are left out.
    - `fill_down`: a row without an id belongs to the id above (formats with one item per row).
    - `columns`: further columns of a table; their values become items such as `sex=f`.
    - `repeats`: accept repeated records and ids. Repeated ids are replaced by numbers.

    The module of each format describes an empty record.
    """
    further = (header_row, fill_down, tuple(columns))
    options = Options(ids, separator, transaction, item, within, header, repeats, *further)
    if is_frame(path):
        return _read_frame(path, format, options)
    if format is None:
        hint = "name the format; `decloak look FILE` or decloak.look(path) shows it"
        raise DecloakError("no format", location(path), hint)
    chosen = find_format(format, options)
    with reading_file(path):
        file = unpacked_file(path)
        # A fast reader gives up on what only the other can read, or name as a fault.
        rows = None if chosen.rows is None else chosen.rows(file.content)
        if rows is not None:
            return Dataset(rows, RowLabels(len(rows)), location(path))
        dataset = as_dataset(_records(chosen, file, options), location(path), repeats=repeats)
    if not dataset.transactions:
        raise DecloakError("no transactions in the file", location(path), f"expected the format {format}")
    return dataset


def _read_frame(frame: object, name: str | None, options: Options) -> Dataset:
    """Return the records of a frame in the format `name`; None if its content decides."""
    if name is not None and name not in SHAPES:
        raise DecloakError(f"a frame is not read as {quote(name)}", hint=f"use {', '.join(SHAPES)}")
    known = SHAPES.get(name or "", {"transaction", "item"}) | {"repeats"}
    for option, value, unset in zip(Options._fields, options, Options(), strict=True):
        if value != unset and option not in known:
            what = "a frame" if name is None else f"a frame in the format {name}"
            raise DecloakError(f"{what} has no option {option}", hint="remove it")
    columns = frame_columns(frame)
    if name is None:
        rows = rows_of_columns(columns, options.transaction, options.item)
    else:
        rows = rows_in_format(
            columns, name, transaction=options.transaction, item=options.item, ids=options.ids, within=options.within
        )
    dataset = Dataset.of_labelled(rows, repeats=options.repeats)
    if not dataset.transactions:
        raise DecloakError("no transactions in the frame", hint="give one with rows")
    return dataset


def _records(entry: Format, file: ReadFile, options: Options) -> Iterator[Record]:
    if entry.load is not None:
        return entry.load(file.content, os.fspath(file), options)
    assert entry.parse is not None
    lines = (line for line in stream_lines(file) if line.number >= options.header_row)
    # Parsers expect a first line, and there may be none from `header_row` on.
    first = next(lines, None)
    if first is None:
        raise DecloakError(f"there is no line {options.header_row}", os.fspath(file), "correct header_row")
    return entry.parse(chain([first], lines), options)


def write(
    dataset: Dataset,
    path: FilePath,
    format: str,  # noqa: A002 (the word users write)
    *,
    ids: bool = False,
    separator: str | None = None,
    transaction: str = "tid",
    item: str = "item",
    within: str | None = None,
) -> None:
    """Write the records of `dataset` to `path` in `format`; raise an error for what the format cannot carry.

    `ids`, `separator`, `transaction`, `item` and `within` are the options of `read`. Onehot keeps no order of the items
    within a record.
    """
    options = Options(ids, separator, transaction, item, within)
    chosen = find_format(format, options)
    if chosen.render is None:
        raise DecloakError(f"{format} is read, not written", location(path), "write long or jsonl")
    with at_location(location(path)):
        _check_writable(dataset)
        check_labels(dataset.labels, kept=ids or chosen.keeps_ids)
        # All lines first, so that a record that the format cannot carry leaves no file.
        lines = list(chosen.render(dataset, options))
    write_lines(lines, path)


def _check_writable(dataset: object) -> None:
    if not isinstance(dataset, Dataset):
        writes = hasattr(dataset, "write")
        hint = "it writes itself: release.write(path)" if writes else "make one by decloak.Dataset.of(transactions)"
        raise DecloakError(f"a {type(dataset).__name__} is not a Dataset", hint=hint)
    if not dataset.transactions:
        raise DecloakError("no transactions to write")
    for item in dataset.items:
        check_name(item)
