"""Reader and writer of plain transactions in a named format. Nothing about a file is guessed."""

import os
import pkgutil
from collections.abc import Iterator, Sequence
from importlib import import_module
from itertools import chain

from decloak.data.dataset import Dataset
from decloak.data.formats import plain
from decloak.data.formats.delimited import check_separator
from decloak.data.formats.lines import FilePath, ReadFile, check_name, location, stream_lines
from decloak.data.formats.record import Format, Options, Record, as_dataset, check_labels
from decloak.data.formats.unpacked import reading_file, unpacked_file
from decloak.data.formats.writing import write_lines
from decloak.errors import DecloakError, at_location, quote, suggest

__all__ = ["FORMATS", "find_format", "read", "write"]

SPREADSHEETS = {"csv", "tsv", "txt", "text"}
"""Extensions of files that may be in any of several formats."""
TABULAR = "long has one item per row, onehot one column per item, basket a list; run `decloak look FILE`;"


def _entries() -> list[Format]:
    """Return the entry of every module of the folder: text formats first, and first of these separated values, the most
    common.
    """
    modules = [import_module(f"{plain.__name__}.{module.name}") for module in pkgutil.iter_modules(plain.__path__)]
    entries: list[Format] = [module.FORMAT for module in modules]
    return sorted(entries, key=lambda entry: (entry.parse is None, "separator" not in entry.options, entry.name))


FORMATS = {entry.name: entry for entry in _entries()}
"""Every format of plain transactions by name: one module each in the folder `plain`."""


def find_format(name: str, options: Options) -> Format:
    """Return the format `name`; raise an error if there is none, or if it does not support one of `options`."""
    listed = sorted(FORMATS, key=lambda entry: (FORMATS[entry].parse is None, entry))
    formats = f"known formats: {', '.join(listed)}"
    # A published file read as baskets would turn brackets into names.
    if name == "published":
        raise DecloakError("published transactions are set-generalised, not plain ones", hint=formats)
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
        message = f"{quote(options.item)} cannot hold both the transaction and the item"
        raise DecloakError(message, hint="name two columns")
    return FORMATS[name]


def read(
    path: FilePath,
    format: str,  # noqa: A002 (the word users write)
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
    """Read transactions from the file at `path` in `format`, one of `FORMATS`, and return them. `decloak import --help`
    shows examples.

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
    chosen = find_format(format, options)
    with reading_file(path):
        dataset = as_dataset(_records(chosen, unpacked_file(path), options), location(path), repeats=repeats)
    if not dataset.transactions:
        raise DecloakError("no transactions in the file", location(path), f"expected the format {format}")
    return dataset


def _records(entry: Format, file: ReadFile, options: Options) -> Iterator[Record]:
    if entry.load is not None:
        return entry.load(file.content, os.fspath(file), options)
    assert entry.parse is not None
    lines = (line for line in stream_lines(file) if line.number >= options.header_row)
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
    """Write the transactions of `dataset` to `path` in `format`; raise an error for what the format cannot carry.

    `ids`, `separator`, `transaction`, `item` and `within` are the options of `read`. Onehot keeps no order of the items
    within a transaction.
    """
    options = Options(ids, separator, transaction, item, within)
    chosen = find_format(format, options)
    if chosen.render is None:
        raise DecloakError(f"{format} is read, not written", location(path), "write long or jsonl")
    with at_location(location(path)):
        _check_writable(dataset)
        check_labels(dataset.labels, kept=ids or chosen.keeps_ids)
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
