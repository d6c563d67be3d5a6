"""Format `basket`: one transaction a line, names separated by commas or another separator, optionally an id first.

An empty transaction is an id alone. With the option `within` every value is a list of its own, as in
`p1<TAB>milk|bread|white wine` with a tab as the separator and `within: "|"`. An empty value is an empty list. Below a
header, each row has one item per column that is not empty.
"""

from collections.abc import Iterable, Iterator
from itertools import chain, islice

from decloak.data.dataset import Dataset
from decloak.data.formats.delimited import cells, join, split
from decloak.data.formats.lines import Line
from decloak.data.formats.record import Format, Options, Record, no_items, pop_id
from decloak.errors import quote

__all__ = ["FORMAT"]


def _parse(lines: Iterable[Line], options: Options) -> Iterator[Record]:
    separator = options.separator or ","
    for line in islice(lines, int(options.header), None):
        text = line.text
        if not text or text.isspace():
            hint = "remove it; an empty transaction is an id alone, or [] in the format jsonl"
            raise line.error("an empty line", hint)
        if "(" in text and options.within is None:  # brackets there are part of a list
            _refuse_brackets(line, separator)
        names = split(line, separator)
        if options.header and any(names):  # a column that a row has nothing in
            names = [name for at, name in enumerate(names) if name or (options.ids and at == 0)]
        label = pop_id(names, options.ids)
        if options.within is not None:
            lists = (split(line._replace(text=value), options.within) for value in names if value)
            names = list(chain.from_iterable(lists))
        yield Record(line, label, names)


def _refuse_brackets(line: Line, separator: str) -> None:
    """Raise an error for a published file: read as baskets, its brackets would become parts of names unnoticed."""
    for cell in cells(line, separator):
        if cell.text.startswith("(") and not cell.quoted:
            raise line.error(
                f"an opening bracket before {quote(cell.text[1:])}",
                "set-generalised transactions have the format published; put a name that begins so in quotes",
                cell.column,
            )


def _render(dataset: Dataset, options: Options) -> Iterator[str]:
    for label, items in zip(dataset.labels, dataset.transactions, strict=True):
        if not (items or options.ids):
            raise no_items(label, "basket without ids")
        values = items if options.within is None or not items else (join(items, options.within),)
        yield join((label, *values) if options.ids else values, options.separator or ",")


FORMAT = Format(
    "basket",
    "one transaction a line: milk, bread",
    _parse,
    _render,
    frozenset({"ids", "separator", "within", "header"}),
)
