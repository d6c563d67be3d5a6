"""Plain transactions: one set of items per person."""

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

import numpy as np

from decloak.data.frames import columns_of, is_frame, rows_of_columns
from decloak.data.rows import CodedRows, Numbers, lean_labels
from decloak.errors import DecloakError, shown

__all__ = ["Dataset", "rows_of"]


FEW = 10
"""Transactions that are printed whole."""


@dataclass(frozen=True)
class Dataset:
    """Original transactions: one set of items per person, in the order of the file.

    >>> Dataset((("milk", "bread"), ("milk",)), ("1", "2"), "example").items
    ('bread', 'milk')
    """

    transactions: Sequence[tuple[str, ...]]
    labels: Sequence[str]
    origin: str = "memory"
    warnings: tuple[str, ...] = field(default=(), compare=False)
    """What a reader of the file should know before trusting what comes of it."""

    def __repr__(self) -> str:
        """All of it where it is small: a notebook prints what a cell ends in, no place for people's records."""
        if len(self.transactions) <= FEW:
            return f"Dataset({self.transactions!r}, {self.labels!r}, {self.origin!r})"
        return f"<Dataset of {len(self.transactions):,} transactions, {len(self.items):,} items, from {self.origin!r}>"

    @cached_property
    def rows(self) -> CodedRows[str]:
        return CodedRows.of(self.transactions)

    @cached_property
    def items(self) -> tuple[str, ...]:
        """Every item once, in code point order."""
        return tuple(sorted(self.rows.used))

    @cached_property
    def digest(self) -> str:
        """The digest of what it holds, wherever and however that was written; no name has a zero character."""
        sha256 = hashlib.sha256()
        labels = iter(self.labels)
        ended = [f"{name}\0" for name in self.rows.names]
        for block in self.rows.blocks():
            # What stands between the labels and the ends of rows, and these in between.
            before = 2 * np.arange(len(block))
            parts = np.empty(len(block.codes) + 2 * len(block), object)
            parts[block.start[:-1] + before] = [f"{label}\0" for label in islice(labels, len(block))]
            parts[block.start[1:] + before + 1] = "\0"
            parts[np.arange(len(block.codes)) + 2 * block.row + 1] = np.array(ended, object)[block.codes]
            sha256.update("".join(parts.tolist()).encode())
        return sha256.hexdigest()

    @classmethod
    def of(cls, data: "Dataset | Iterable[Iterable[str]]") -> "Dataset":
        """A data set as it is, or made of transactions however they come, numbered from 1; a set's items are sorted.

        They may come as a frame of pandas or polars, or a table of Arrow: rows of (transaction, item), a column of
        lists, or columns of 0 and 1. An index that was set, or the column beside the lists, gives the labels.

        >>> Dataset.of([["milk", "bread", "milk"], {"tea", "milk"}]).transactions
        (('milk', 'bread'), ('milk', 'tea'))
        """
        if isinstance(data, Dataset):
            return data
        if is_frame(data):
            return cls._of_frame(data)
        rows = CodedRows.of(sorted(row) if isinstance(row, Set) else dict.fromkeys(row) for row in rows_of(data))
        return cls(rows, Numbers(len(rows)))

    @classmethod
    def _of_frame(cls, frame: object) -> "Dataset":
        named = list(rows_of_columns(columns_of(frame)))
        labels = [str(number) if label is None else label for number, (label, _) in enumerate(named, 1)]
        twice = next((label for label, count in Counter(labels).items() if count > 1), None)
        if twice is not None:
            raise DecloakError(f"two rows of the frame have the id {shown(twice)}", hint="ids must be unique")
        return cls(CodedRows.of(dict.fromkeys(items) for _, items in named), lean_labels(labels))


_SHAPE = "give each transaction as a list of strings"


def rows_of(transactions: Iterable[Iterable[str]]) -> list[Collection[str]]:
    """Transactions however they come, to be gone through again; what is no list of strings is refused."""
    if is_frame(transactions):
        return list(Dataset.of(transactions).transactions)
    if isinstance(transactions, str) or not isinstance(transactions, Iterable):
        hint = "give its .transactions" if hasattr(transactions, "transactions") else _SHAPE
        raise DecloakError(f"the data are {shown(transactions)}, not a list of transactions", hint=hint)
    rows = [_row(number, transaction) for number, transaction in enumerate(transactions, 1)]
    try:  # each item once: rows repeat them a thousand times
        valid = all(isinstance(item, str) for item in set[str]().union(*rows))
    except TypeError:  # an item that is a list
        valid = False
    if not valid:
        number, item = next((n, item) for n, row in enumerate(rows, 1) for item in row if not isinstance(item, str))
        raise DecloakError(f"an item of transaction {number} is {shown(item)}, not a string", hint=_SHAPE)
    return rows


def _row(number: int, transaction: Iterable[str]) -> Collection[str]:
    if isinstance(transaction, tuple | list | set | frozenset):
        return transaction
    if isinstance(transaction, str) or not isinstance(transaction, Iterable):
        raise DecloakError(f"transaction {number} is {shown(transaction)}, not a list of items", hint=_SHAPE)
    return tuple(transaction)
