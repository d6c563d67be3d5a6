"""Code that all formats of plain records share: options, records, and their conversion to a data set."""

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from decloak.data.dataset import Dataset
from decloak.data.formats.lines import Line, check_name, location
from decloak.data.read_budget import charge
from decloak.data.repeats import REPEATS_REMEDY, RepeatedRecords
from decloak.data.rows import CodedRows, RowLabels
from decloak.errors import DecloakError, quote, suggest

ROW, NUMBER, TEXT = 40, 8, 250
"""Bytes of memory per record, per item in it, and per name or id next to its letters."""
PIECE = 1 << 20
"""Bytes that are charged together."""


class Options(NamedTuple):
    """Options of a format; see `decloak.data.formats.plain_files.read`."""

    ids: bool = False
    separator: str | None = None
    transaction: str = "tid"
    item: str = "item"
    within: str | None = None
    header: bool = False
    repeats: bool = False
    header_row: int = 1
    fill_down: bool = False
    columns: tuple[str, ...] = ()


class Record(NamedTuple):
    """One transaction as read: its line, its id if it has one, and its items."""

    line: Line
    label: str | None
    items: list[str]


class Format(NamedTuple):
    """A format of plain records: name, summary, reader, writer, and the options that it supports."""

    name: str
    summary: str
    """One line, as `decloak import --help` shows it."""
    parse: Callable[[Iterable[Line], Options], Iterator[Record]] | None = None
    """The reader of its lines; None for a binary format."""
    render: Callable[[Dataset, Options], Iterator[str]] | None = None
    """The writer of its lines; None if it is only read."""
    options: frozenset[str] = frozenset()
    keeps_ids: bool = False
    """True if it always writes ids."""
    load: Callable[[bytes, str, Options], Iterator[Record]] | None = None
    """The reader of the bytes of a file with its name, for a binary format."""
    rows: Callable[[bytes], CodedRows[str] | None] | None = None
    """The reader of the bytes of a simple file, without options; None for a file that `parse` must read."""

    def knows(self, option: str) -> bool:
        """Return True if the format supports `option`."""
        # Records may repeat in every format.
        return option in self.options or option == "repeats"


class Names(dict[str, str]):
    """A cache of checked names. All uses of a name share one string."""

    _taken = 0

    def __missing__(self, name: str) -> str:
        self._taken += TEXT + len(name)
        return self.setdefault(name, check_name(name))

    def new_bytes(self) -> int:
        """Return the bytes of memory of the names that were added since the last call."""
        taken, self._taken = self._taken, 0
        return taken


def no_items(label: str, name: str) -> DecloakError:
    """Return the error for the empty record `label`, which the format `name` cannot write."""
    return DecloakError(f"{name} cannot carry the record {quote(label)}, which has no items", hint="write jsonl")


def column_items(names: Sequence[str], values: Sequence[str], columns: Sequence[str]) -> list[str]:
    """Return an item for each of `columns` that has a value in a row, whose columns have these `names`.

    >>> column_items(["id", "sex", "age"], ["p1", "f", ""], ["sex", "age"])
    ['sex=f']
    """
    value_of = dict(zip(names, values, strict=False))
    return [f"{column}={value}" for column in columns if (value := value_of[column].strip())]


def find_column(head: Line, names: Sequence[str], name: str, option: str) -> int:
    """Return the place of the column `name` among `names`, which `head` lists; `option` tells where it was named."""
    if name not in names:
        hint = suggest(name, names) or f"name the columns with the options {option}"
        raise head.error(f"no column {quote(name)}; the header has {', '.join(map(quote, names[:6]))}", hint)
    return names.index(name)


def pop_id(names: list[str], ids: bool) -> str | None:
    """Remove and return the id, the first of `names`, if the format has `ids`; else return None."""
    return names.pop(0) if ids else None


def as_dataset(records: Iterable[Record], origin: str, *, repeats: bool = False) -> Dataset:
    """Return `records` as a data set of the file `origin`. Records are sets (a repeated item counts once), and ids
    are unique.

    With `repeats` equal ids are intended: the records are numbered instead.
    """
    labels = LineLabels(repeats=repeats)
    rows = CodedRows.of(_rows(records, labels))
    return Dataset(rows, labels.of_rows(rows), origin)


def _rows(records: Iterable[Record], labels: "LineLabels") -> Iterator[Iterable[str]]:
    names = Names()
    name, add, cost = names.__getitem__, labels.add, 0
    for line, label, items in records:
        cost += ROW + NUMBER * len(items) + (0 if label is None else TEXT + len(label))
        # Charging every record separately would take longer than reading it.
        if cost >= PIECE:
            charge(cost + names.new_bytes())
            cost = 0
        try:
            # A dict removes repeated items and keeps their order.
            row = dict.fromkeys(map(name, items))
        except DecloakError as error:
            raise line.error(error.message, error.hint) from None
        add(line, label)
        yield row
    charge(cost + names.new_bytes())


class LineLabels:
    """The labels of the records read so far: ids, or numbers from 1 if the file has none."""

    def __init__(self, *, repeats: bool = False) -> None:
        self._numbered = array("q")  # the lines of those without an id, as long as none has one
        self._lines: dict[str, int] = {}
        self._repeats = repeats
        # Collected instead of raised at once: the error counts them, and may compare their items.
        self._again: list[tuple[int, Line, str]] = []  # records whose id an earlier one has: number, line, id

    @property
    def labels(self) -> Sequence[str]:
        """The labels of all records. Raises an error if ids repeat, unless that is intended."""
        return self.of_rows(None)

    def of_rows(self, rows: CodedRows[str] | None) -> Sequence[str]:
        """Return the labels, as `labels` does. With `rows`, the error also counts the rows that repeat with their
        id.
        """
        if not self._again:
            return tuple(self._lines) if self._lines else RowLabels(len(self._numbered))
        count = len(self._lines) + len(self._again)
        if self._repeats:
            return RowLabels(count)
        _, line, name = self._again[0]
        message = f"the id {quote(name)} occurs in line {self._lines[name]} too"
        hint = f"ids must be unique: {len(self._again):,} of {count:,} records have the id of an earlier one"
        if rows is not None and (same := self._count_equal_rows(rows)):
            hint += f", {same:,} with the same items"
        hint += f"; remove the copies; {REPEATS_REMEDY}"
        raise RepeatedRecords(message, location(line.path, line.number), hint)

    def _count_equal_rows(self, rows: CodedRows[str]) -> int:
        """Return the number of records with the id of an earlier one and its items as well."""
        again = {number for number, _, _ in self._again}
        first = dict(zip(self._lines, (at for at in range(len(rows)) if at not in again), strict=True))
        return sum(set(rows[number]) == set(rows[first[name]]) for number, _, name in self._again)

    def add(self, line: Line, label: str | None) -> None:
        """Add the `label` of the next record, in `line`."""
        if label is None and not self._lines:
            self._numbered.append(line.number)
            return
        if not self._lines:
            self._lines = {str(number): at for number, at in enumerate(self._numbered, 1)}
        number = len(self._lines) + len(self._again)
        name = str(number + 1) if label is None else label
        try:
            check_name(name)
        except DecloakError as error:
            raise line.error(f"the id of the record: {error.message}", error.hint) from None
        if name in self._lines:
            # Without its text, which would stay in memory for every repeated id.
            self._again.append((number, line._replace(text=""), name))
        else:
            self._lines[name] = line.number


def check_labels(labels: Sequence[str], *, kept: bool) -> None:
    """Raise an error unless `labels` are unique names. If they are not `kept`, they must be the numbers that a reader
    gives.
    """
    for label in labels:
        check_name(label)
    if len(set(labels)) < len(labels):
        raise DecloakError("two records have the same label", hint="labels must be unique")
    if not kept and any(label != str(number) for number, label in enumerate(labels, 1)):
        raise DecloakError("the labels of the records would be lost", hint="write with ids, or as long")
