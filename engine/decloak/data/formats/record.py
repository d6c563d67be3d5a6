"""What the formats of plain transactions have in common: options, records, and how these make a data set."""

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from decloak.data.budget import charge
from decloak.data.dataset import Dataset
from decloak.data.formats.lines import Line, check_name, place
from decloak.data.repeats import MEANT, RepeatedRecords
from decloak.data.rows import CodedRows, Numbers
from decloak.errors import DecloakError, shown

__all__ = ["Format", "LineLabels", "Names", "Options", "Record", "as_dataset", "check_labels", "no_items", "take_label"]

ROW, NUMBER, TEXT = 40, 8, 250
"""Bytes of memory that a record takes, an item in it, and a name or an id beside its letters."""
PIECE = 1 << 20
"""Bytes that are charged at once."""


class Options(NamedTuple):
    """How a file is written beyond its format's name; see `decloak.data.formats.readers.read`."""

    ids: bool = False
    separator: str | None = None
    transaction: str = "tid"
    item: str = "item"
    within: str | None = None
    header: bool = False
    repeats: bool = False


class Record(NamedTuple):
    """One transaction as it was read: where, under which id if it has one, with which items."""

    line: Line
    label: str | None
    items: list[str]


class Format(NamedTuple):
    """How a format of plain transactions is called and described, read and written, and which options it knows."""

    name: str
    summary: str
    """One line, as `decloak import --help` shows it."""
    parse: Callable[[Iterable[Line], Options], Iterator[Record]] | None = None
    """How its lines are read; None where it is no text."""
    render: Callable[[Dataset, Options], Iterator[str]] | None = None
    """How its lines are written; None where it is only read."""
    options: frozenset[str] = frozenset()
    keeps_ids: bool = False
    """Whether it is written with ids even when nobody asks for them."""
    load: Callable[[bytes, str, Options], Iterator[Record]] | None = None
    """How the bytes of a file of this name are read, where it is no text."""

    def knows(self, option: str) -> bool:
        """Tell whether an option means something to the format."""
        return option in self.options or option == "repeats"


class Names(dict[str, str]):
    """Names checked once each; every use of a name then shares one string."""

    _taken = 0

    def __missing__(self, name: str) -> str:
        self._taken += TEXT + len(name)
        return self.setdefault(name, check_name(name))

    def taken(self) -> int:
        """Bytes of memory that new names have taken since this was asked last."""
        taken, self._taken = self._taken, 0
        return taken


def no_items(label: str, name: str) -> DecloakError:
    """What to raise of an empty transaction that a format has no way to write."""
    return DecloakError(f"{name} cannot carry the transaction {shown(label)}, which has no items", hint="write jsonl")


def take_label(names: list[str], ids: bool) -> str | None:
    """Remove the id, the first name of the line, when the format says that there is one."""
    return names.pop(0) if ids else None


def as_dataset(records: Iterable[Record], origin: str, *, repeats: bool = False) -> Dataset:
    """Make a data set: transactions are sets (an item repeated counts once), and ids differ.

    With `repeats` equal ids are meant: the records are numbered instead.
    """
    labels = LineLabels(repeats=repeats)
    rows = CodedRows.of(_rows(records, labels))
    return Dataset(rows, labels.of_rows(rows), origin)


def _rows(records: Iterable[Record], labels: "LineLabels") -> Iterator[Iterable[str]]:
    names = Names()
    name, add, cost = names.__getitem__, labels.add, 0
    for line, label, items in records:
        cost += ROW + NUMBER * len(items) + (0 if label is None else TEXT + len(label))
        if cost >= PIECE:
            charge(cost + names.taken())
            cost = 0
        try:
            row = dict.fromkeys(map(name, items))
        except DecloakError as error:
            raise line.wrong(error.message, error.hint) from None
        add(line, label)
        yield row
    charge(cost + names.taken())


class LineLabels:
    """The labels of the transactions so far: ids, or numbers from 1 where a file has none."""

    def __init__(self, *, repeats: bool = False) -> None:
        self._numbered = array("q")  # the lines of those without an id, as long as none has one
        self._lines: dict[str, int] = {}
        self._repeats = repeats
        self._again: list[tuple[int, Line, str]] = []  # transactions whose id an earlier one has: number, line, id

    @property
    def labels(self) -> Sequence[str]:
        """The labels of all transactions; an error where ids repeat, unless that is meant."""
        return self.of_rows(None)

    def of_rows(self, rows: CodedRows[str] | None) -> Sequence[str]:
        """The same of rows that are known: the error says how many of them repeat with their id."""
        if not self._again:
            return tuple(self._lines) if self._lines else Numbers(len(self._numbered))
        count = len(self._lines) + len(self._again)
        if self._repeats:
            return Numbers(count)
        _, line, name = self._again[0]
        message = f"the id {shown(name)} is that of line {self._lines[name]}"
        hint = f"ids must be unique: {len(self._again):,} of {count:,} records have the id of an earlier one"
        if rows is not None and (same := self._same(rows)):
            hint += f", {same:,} with the same items"
        hint += f"; remove the copies; {MEANT}, and numbers the records"
        raise RepeatedRecords(message, place(line.path, line.number), hint)

    def _same(self, rows: CodedRows[str]) -> int:
        """How many transactions with the id of an earlier one have its items as well."""
        again = {number for number, _, _ in self._again}
        first = dict(zip(self._lines, (at for at in range(len(rows)) if at not in again), strict=True))
        return sum(set(rows[number]) == set(rows[first[name]]) for number, _, name in self._again)

    def add(self, line: Line, label: str | None) -> None:
        """Take the label of the next transaction."""
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
            raise line.wrong(f"the id of the transaction: {error.message}", error.hint) from None
        if name in self._lines:
            self._again.append((number, line._replace(text=""), name))
        else:
            self._lines[name] = line.number


def check_labels(labels: Sequence[str], *, kept: bool) -> None:
    """Labels that are written must be names and differ; others must be the numbers that a reader gives."""
    for label in labels:
        check_name(label)
    if len(set(labels)) < len(labels):
        raise DecloakError("two transactions have the same label", hint="labels must be unique")
    if not kept and any(label != str(number) for number, label in enumerate(labels, 1)):
        raise DecloakError("the labels of the transactions would be lost", hint="write with ids, or as long")
