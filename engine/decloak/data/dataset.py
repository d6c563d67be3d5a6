"""Plain transactions: one set of items per person."""

import hashlib
from collections.abc import Collection, Iterable, Set
from dataclasses import dataclass
from functools import cached_property

from decloak.errors import DecloakError, shown

__all__ = ["Dataset", "rows_of"]


@dataclass(frozen=True)
class Dataset:
    """Original transactions: one set of items per person, in the order of the file.

    >>> Dataset((("milk", "bread"), ("milk",)), ("1", "2"), "example").items
    ('bread', 'milk')
    """

    transactions: tuple[tuple[str, ...], ...]
    labels: tuple[str, ...]
    origin: str = "memory"

    @cached_property
    def items(self) -> tuple[str, ...]:
        """Every item once, in code point order."""
        return tuple(sorted({item for transaction in self.transactions for item in transaction}))

    @cached_property
    def digest(self) -> str:
        """The digest of what it holds, wherever and however that was written; no name has a zero character."""
        sha256 = hashlib.sha256()
        for label, items in zip(self.labels, self.transactions, strict=True):
            sha256.update("\0".join((label, *items, "\0")).encode())
        return sha256.hexdigest()

    @classmethod
    def of(cls, data: "Dataset | Iterable[Iterable[str]]") -> "Dataset":
        """A data set as it is, or made of transactions however they come, numbered from 1; a set's items are sorted.

        >>> Dataset.of([["milk", "bread", "milk"], {"tea", "milk"}]).transactions
        (('milk', 'bread'), ('milk', 'tea'))
        """
        if isinstance(data, Dataset):
            return data
        rows = tuple(tuple(sorted(row) if isinstance(row, Set) else dict.fromkeys(row)) for row in rows_of(data))
        return cls(rows, tuple(str(number) for number in range(1, len(rows) + 1)))


_SHAPE = "give each transaction as a list of strings"


def rows_of(transactions: Iterable[Iterable[str]]) -> list[Collection[str]]:
    """Transactions however they come, to be gone through again; what is no list of strings is refused."""
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
