"""Plain transactions from a file in a format that is named; nothing about a file is guessed."""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from decloak.data.dataset import Dataset
from decloak.data.formats import basket, jsonl, spmf, tabular
from decloak.data.formats.delimited import check_separator
from decloak.data.formats.lines import FilePath, Line, place, read_lines
from decloak.data.formats.record import Options, Record, dataset_of
from decloak.errors import DecloakError, nearest, shown

__all__ = ["FORMATS", "Format", "find_format", "read"]


class Format(NamedTuple):
    """How to read and write one format, and which options mean something to it."""

    parse: Callable[[Iterable[Line], Options], Iterator[Record]]
    render: Callable[[Dataset, Options], Iterator[str]]
    options: frozenset[str]


FORMATS = {
    "basket": Format(basket.parse, basket.render, frozenset({"ids", "separator"})),
    "jsonl": Format(jsonl.parse, jsonl.render, frozenset({"ids"})),
    "long": Format(tabular.parse_long, tabular.render_long, frozenset({"separator", "transaction", "item"})),
    "onehot": Format(tabular.parse_onehot, tabular.render_onehot, frozenset({"ids", "separator"})),
    "spmf": Format(spmf.parse, spmf.render, frozenset()),
}


def find_format(name: str, options: Options) -> Format:
    """The format of this name; an error when there is none, or an option that is set means nothing to it."""
    known = f"known formats: {', '.join(FORMATS)}"
    if name == "published":
        raise DecloakError("published transactions are set-generalised, not plain ones", hint=known)
    if name not in FORMATS:
        near = nearest(name, FORMATS)
        raise DecloakError(f"unknown format {shown(name)}", hint=f"{near} {known}" if near else known)
    for option, value, unset in zip(Options._fields, options, Options(), strict=True):
        if value != unset and option not in FORMATS[name].options:
            raise DecloakError(f"the format {name} has no option {option}", hint="remove it")
    if options.separator is not None:
        check_separator(options.separator)
    if options.transaction == options.item:
        raise DecloakError(
            f"{shown(options.item)} cannot hold both the transaction and the item", hint="name two columns"
        )
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
    """Read transactions.

    `basket`: one transaction a line, names separated by commas (`separator`: another character); with `ids`
    the first name is the id. `long`: CSV whose columns `transaction` and `item` hold an id and one item.
    `onehot`: CSV with a column of 0 and 1 per item; with `ids` the first column is the id. `jsonl`: a JSON
    list of names a line, or {"id": ..., "items": [...]}. `spmf`: whole numbers separated by spaces. An empty
    transaction is an id alone, a row of 0, [] or -2.
    """
    options = Options(ids, separator, transaction, item)
    parse = find_format(format, options).parse
    dataset = dataset_of(parse(read_lines(path), options), place(path))
    if not dataset.transactions:
        raise DecloakError("no transactions in the file", place(path), f"expected the format {format}")
    return dataset
