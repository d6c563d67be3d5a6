"""Original records: one set of items per person."""

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

import numpy as np

from decloak.data.frames import frame_columns, is_frame, rows_of_columns
from decloak.data.representation import LongRows, Represented, Summary, counted, joined
from decloak.data.rows import CodedRows, RowLabels, compact_labels
from decloak.errors import DecloakError, quote


@dataclass(frozen=True, repr=False)
class Dataset(Represented):
    """Original records: one set of items per person, in the order of the file.

    >>> Dataset((("milk", "bread"), ("milk",)), ("1", "2"), "example").items
    ('bread', 'milk')
    """

    transactions: Sequence[tuple[str, ...]]
    labels: Sequence[str]
    origin: str = "memory"
    warnings: tuple[str, ...] = field(default=(), compare=False)
    """Warnings of the reader: reasons not to trust results from these data."""

    def summary(self) -> Summary:
        """Return the data in short."""
        size = len(self.transactions)
        line = f"Dataset of {counted(size, 'record')}, {counted(len(self.items), 'item')}, from {self.origin!r}"
        rows = ((label, joined(row)) for label, row in zip(self.labels, self.transactions, strict=True))
        return Summary(line, size, ("transaction", "items"), rows)

    def long_rows(self) -> LongRows:
        """Return a row for each item of each record."""
        pairs = zip(self.labels, self.transactions, strict=True)
        return LongRows(("transaction", "item"), ((label, item) for label, items in pairs for item in items))

    @cached_property
    def rows(self) -> CodedRows[str]:
        """The records as arrays."""
        return CodedRows.of(self.transactions)

    @cached_property
    def items(self) -> tuple[str, ...]:
        """Every item once, in code point order."""
        return tuple(sorted(self.rows.used_names))

    @cached_property
    def digest(self) -> str:
        """The digest of labels and items, independent of the file format. Names contain no zero character."""
        sha256 = hashlib.sha256()
        labels = iter(self.labels)
        # Names contain no zero character, so that no two data sets give the same text.
        ended = [f"{name}\0" for name in self.rows.names]
        for block in self.rows.blocks():
            # Each row before adds two parts to the text: its label and its end.
            before = 2 * np.arange(len(block))
            parts = np.empty(len(block.codes) + 2 * len(block), object)
            parts[block.start[:-1] + before] = [f"{label}\0" for label in islice(labels, len(block))]
            parts[block.start[1:] + before + 1] = "\0"
            parts[np.arange(len(block.codes)) + 2 * block.row_of_code + 1] = np.array(ended, object)[block.codes]
            sha256.update("".join(parts.tolist()).encode())
        return sha256.hexdigest()

    @classmethod
    def of(cls, data: "Dataset | Iterable[Iterable[str]]") -> "Dataset":
        """Return `data` as a data set. Records are numbered from 1; the items of a set are sorted.

        `data` may be a frame of pandas or polars, or a table of Arrow: rows of (record, item), a column of lists,
        or columns of 0 and 1. An explicit index, or the column next to the lists, gives the labels.

        >>> Dataset.of([["milk", "bread", "milk"], {"tea", "milk"}]).transactions
        (('milk', 'bread'), ('milk', 'tea'))
        """
        # A Dataset is immutable, so that no copy is needed.
        if isinstance(data, Dataset):
            return data
        if is_frame(data):
            return cls.of_labelled(rows_of_columns(frame_columns(data)))
        rows = CodedRows.of(sorted(row) if isinstance(row, Set) else dict.fromkeys(row) for row in rows_of(data))
        return cls(rows, RowLabels(len(rows)))

    @classmethod
    def of_labelled(cls, labelled: Iterable[tuple[str | None, list[str]]], *, repeats: bool = False) -> "Dataset":
        """Return the `labelled` rows of a frame as a data set. A label may be None; equal labels need `repeats`."""
        named = list(labelled)
        labels = [str(number) if label is None else label for number, (label, _) in enumerate(named, 1)]
        rows = CodedRows.of(dict.fromkeys(items) for _, items in named)
        # Ids that repeat would merge two people.
        twice = next((label for label, count in Counter(labels).items() if count > 1), None)
        if twice is None:
            return cls(rows, compact_labels(labels))
        if repeats:
            return cls(rows, RowLabels(len(rows)))
        raise DecloakError(f"two rows of the frame have the id {quote(twice)}", hint="ids must be unique")


_SHAPE = "give each record as a list of strings"


def rows_of(transactions: Iterable[Iterable[str]]) -> list[Collection[str]]:
    """Return `transactions`, in whatever form, as a list of collections of strings; raise an error for anything
    else.
    """
    if is_frame(transactions):
        return list(Dataset.of(transactions).transactions)
    if isinstance(transactions, str) or not isinstance(transactions, Iterable):
        hint = "give its .transactions" if hasattr(transactions, "transactions") else _SHAPE
        raise DecloakError(f"the data are {quote(transactions)}, not a list of records", hint=hint)
    rows = [_row(number, transaction) for number, transaction in enumerate(transactions, 1)]
    try:
        # The set has each item once: checking every occurrence would take a thousand times as long.
        valid = all(isinstance(item, str) for item in set[str]().union(*rows))
    except TypeError:  # an item that is a list
        valid = False
    if not valid:
        number, item = next((n, item) for n, row in enumerate(rows, 1) for item in row if not isinstance(item, str))
        raise DecloakError(f"an item of record {number} is {quote(item)}, not a string", hint=_SHAPE)
    return rows


def _row(number: int, transaction: Iterable[str]) -> Collection[str]:
    if isinstance(transaction, tuple | list | set | frozenset):
        return transaction
    if isinstance(transaction, str) or not isinstance(transaction, Iterable):
        raise DecloakError(f"record {number} is {quote(transaction)}, not a list of items", hint=_SHAPE)
    return tuple(transaction)
