"""Plain transactions from a file in a format that is named; nothing about a file is guessed."""

import pkgutil
from importlib import import_module

from decloak.data.dataset import Dataset
from decloak.data.formats import plain
from decloak.data.formats.delimited import check_separator
from decloak.data.formats.lines import FilePath, place, read_lines
from decloak.data.formats.record import Format, Options, dataset_of
from decloak.errors import DecloakError, nearest, shown

__all__ = ["FORMATS", "find_format", "read"]


def _entries() -> list[Format]:
    """The entry of every module of the folder, those of separated values first, which most people have."""
    modules = [import_module(f"{plain.__name__}.{module.name}") for module in pkgutil.iter_modules(plain.__path__)]
    entries: list[Format] = [module.FORMAT for module in modules]
    return sorted(entries, key=lambda entry: ("separator" not in entry.options, entry.name))


FORMATS = {entry.name: entry for entry in _entries()}
"""Every format of plain transactions by its name: a module in the folder `plain` each, and nothing else."""


def find_format(name: str, options: Options) -> Format:
    """The format of this name; an error when there is none, or an option that is set means nothing to it."""
    formats = f"known formats: {', '.join(sorted(FORMATS))}"
    if name == "published":
        raise DecloakError("published transactions are set-generalised, not plain ones", hint=formats)
    if name not in FORMATS:
        near = nearest(name, FORMATS)
        raise DecloakError(f"unknown format {shown(name)}", hint=f"{near} {formats}" if near else formats)
    for option, value, unset in zip(Options._fields, options, Options(), strict=True):
        if value != unset and option not in FORMATS[name].options:
            raise DecloakError(f"the format {name} has no option {option}", hint="remove it")
    if options.separator is not None:
        check_separator(options.separator)
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
) -> Dataset:
    """Read transactions from a file in one of `FORMATS`; `decloak import --help` shows what each looks like.

    `ids`: the first name of a line, or the first column, is the id. `separator`: the character between names, when it
    is not a comma. `transaction` and `item`: the columns that hold an id and one item, where every item has a row.
    An option that means nothing to the format is an error. The module of each format says how an empty transaction
    is written.
    """
    options = Options(ids, separator, transaction, item)
    parse = find_format(format, options).parse
    dataset = dataset_of(parse(read_lines(path), options), place(path))
    if not dataset.transactions:
        raise DecloakError("no transactions in the file", place(path), f"expected the format {format}")
    return dataset
