"""Plain transactions from a file in a format that is named; nothing about a file is guessed."""

import os
import pkgutil
from collections.abc import Iterator
from importlib import import_module

from decloak.data.dataset import Dataset
from decloak.data.formats import plain
from decloak.data.formats.delimited import check_separator
from decloak.data.formats.lines import FilePath, ReadFile, place, stream_lines
from decloak.data.formats.record import Format, Options, Record, as_dataset
from decloak.data.formats.unpacked import reading_file, unpacked_file
from decloak.errors import DecloakError, nearest, shown

__all__ = ["FORMATS", "find_format", "read"]

SPREADSHEETS = {"csv", "tsv", "txt", "text"}
"""What files are called that may hold any of several formats."""
TABULAR = "long has an item in each row, onehot a column for each item, basket a list; `decloak look FILE` tells;"


def _entries() -> list[Format]:
    """The entry of every module of the folder, text first, and of that separated values, which most people have."""
    modules = [import_module(f"{plain.__name__}.{module.name}") for module in pkgutil.iter_modules(plain.__path__)]
    entries: list[Format] = [module.FORMAT for module in modules]
    return sorted(entries, key=lambda entry: (entry.parse is None, "separator" not in entry.options, entry.name))


FORMATS = {entry.name: entry for entry in _entries()}
"""Every format of plain transactions by its name: a module in the folder `plain` each, and nothing else."""


def find_format(name: str, options: Options) -> Format:
    """The format of this name; an error when there is none, or an option that is set means nothing to it."""
    listed = sorted(FORMATS, key=lambda entry: (FORMATS[entry].parse is None, entry))
    formats = f"known formats: {', '.join(listed)}"
    if name == "published":
        raise DecloakError("published transactions are set-generalised, not plain ones", hint=formats)
    if name not in FORMATS:
        near = TABULAR if name.lower() in SPREADSHEETS else nearest(name, FORMATS)
        raise DecloakError(f"unknown format {shown(name)}", hint=f"{near} {formats}" if near else formats)
    for option, value, unset in zip(Options._fields, options, Options(), strict=True):
        if value != unset and not FORMATS[name].knows(option):
            raise DecloakError(f"the format {name} has no option {option}", hint="remove it")
    for mark in (options.separator, options.within):
        if mark is not None:
            check_separator(mark)
    separated = "separator" in FORMATS[name].options
    if separated and options.within is not None and options.within == (options.separator or ","):
        raise DecloakError(f"{shown(options.within)} is the separator already", hint="leave out 'within'")
    if options.transaction == options.item:
        message = f"{shown(options.item)} cannot hold both the transaction and the item"
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
) -> Dataset:
    """Read transactions from a file in one of `FORMATS`; `decloak import --help` shows what each looks like.

    A file packed by gzip or xz is unpacked, whatever it is called.

    `ids`: the first name of a line, or the first column, is the id. `separator`: the character between names, when it
    is not a comma. `transaction` and `item`: the columns that hold an id and one item, where every item has a row.
    `within`: the character between names inside one value, as in `p1<TAB>milk|bread`. `header`: the first line names
    columns and is no transaction; formats that always have such a line do without the option. `repeats`: records
    and ids that repeat are meant; where ids repeat the records are numbered.
    An option that means nothing to the format is an error. The module of each format says how an empty transaction
    is written.
    """
    options = Options(ids, separator, transaction, item, within, header, repeats)
    chosen = find_format(format, options)
    with reading_file(path):
        dataset = as_dataset(_records(chosen, unpacked_file(path), options), place(path), repeats=repeats)
    if not dataset.transactions:
        raise DecloakError("no transactions in the file", place(path), f"expected the format {format}")
    return dataset


def _records(entry: Format, file: ReadFile, options: Options) -> Iterator[Record]:
    if entry.load is not None:
        return entry.load(file.content, os.fspath(file), options)
    assert entry.parse is not None
    return entry.parse(stream_lines(file), options)
