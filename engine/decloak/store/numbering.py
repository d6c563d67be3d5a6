"""The numbers of nodes in the attacker's database, and the numbers of the same nodes in the store.

Records and generalised items have numbers in the order of their appearance in the release. The name of an item
decides its number. The numbers in the store depend on the original data: on the count of records, and on hidden items.
"""

import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from decloak.errors import DecloakError, quote
from decloak.store import distance_tables
from decloak.store.inserting import numbers_by_name
from decloak.store.lists import damaged, read_lists
from decloak.store.records import Extent, StoredRecords, extent, read_records
from decloak.store.relations import NODES, Row, Scope, SqlValue

Rows = Iterable[Sequence[SqlValue]]


class Numbering:
    """The nodes of one scope with two numbers: in the attacker's database and in the store."""

    def __init__(self, store: sqlite3.Connection, scope: Scope) -> None:
        self._store = store
        self._scope = scope

    def stored(self, kind: str, value: Any) -> int | None:
        """Translate the number of a node in this database to the number in the store, or return None."""
        # SQLite may give a whole number as a float, for example after a division.
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if not isinstance(value, int):
            return None
        if kind == "txn":
            return value + self.extent.first - 1 if 0 < value <= self.extent.records else None
        return self._stored[kind].get(value)

    def facts(self, nodes: Mapping[str, str], columns: Sequence[str], rows: Rows) -> Iterator[Row]:
        """Translate the numbers of nodes in facts to numbers in the store; refuse unknown numbers.

        `nodes` maps the columns that hold nodes to the kinds of the nodes.
        """
        kinds = [nodes.get(column) for column in columns]
        for row in rows:
            yield tuple(
                value if kind is None or not _is_whole(value) else self._fact(kind, column, value)
                for kind, column, value in zip(kinds, columns, row, strict=True)
            )

    def _fact(self, kind: str, column: str, value: Any) -> int:
        number = self.stored(kind, value)
        if number is None:
            message = f"the column {column} has {quote(str(value))}, the number of no {_CALLED[kind]}"
            raise DecloakError(message, hint=f"select the column {kind} of a relation, or give the column another name")
        return number

    def derived(self, nodes: Mapping[str, str], columns: Sequence[str], rows: Rows) -> Iterator[Row]:
        """Translate the numbers of nodes in stored facts to numbers in this database."""
        kinds = [nodes.get(column) for column in columns]
        for row in rows:
            yield tuple(
                self._published(kind, value) if kind is not None and isinstance(value, int) else value
                for kind, value in zip(kinds, row, strict=True)
            )

    def _published(self, kind: str, number: int) -> int | None:
        if kind == "txn":
            known = 0 <= number - self.extent.first < self.extent.records
            return number - self.extent.first + 1 if known else None
        return (self.items if kind == "item" else self.generalised).get(number)

    @cached_property
    def extent(self) -> Extent:
        return extent(self._store, self._scope.dataset)

    @cached_property
    def transactions(self) -> StoredRecords:
        return read_records(self._store, self._scope.dataset)

    @cached_property
    def beside(self) -> StoredRecords:
        assert self._scope.auxiliary is not None
        return read_records(self._store, self._scope.auxiliary)

    @cached_property
    def generalised(self) -> dict[int, int]:
        """The numbers of generalised items by those in the store, in the order of first appearance."""
        rows = self.transactions.rows
        _, first = np.unique(rows.codes, return_index=True)
        codes = rows.codes[np.sort(first)].tolist()
        numbers = dict.fromkeys(-rows.names[code] for code in codes if rows.names[code] < 0)
        return {number: place for place, number in enumerate(numbers, 1)}

    @cached_property
    def members(self) -> list[tuple[int, int, int]]:
        """The generalised item, position and item of every member, all by number in the store."""
        rows = self._store.execute(
            "select m.generalised, m.position, m.item from generalised g join member_of m on m.generalised = g.id "
            "where g.release = ?",
            (self._scope.release,),
        )
        # A generalised item that no record shows has no number here.
        return [row for row in rows if row[0] in self.generalised]

    @cached_property
    def in_release(self) -> set[int]:
        """The items that the release shows, by number in the store."""
        chunks = self._store.execute(
            "select k.items from cluster l join chunk k on k.cluster = l.id where l.release = ?1 "
            "union all select k.items from joint j join chunk k on k.joint = j.id where j.release = ?1 "
            "union all select items from published_itemset where release = ?1",
            (self._scope.release,),
        )
        _, shown_items = read_lists((text for (text,) in chunks), "the items of chunks or itemsets")
        plain = {number for number in self.transactions.rows.names if number > 0}
        return plain.union((item for *_, item in self.members), shown_items.tolist())

    @cached_property
    def names(self) -> dict[int, str]:
        """The names of all items of this database, by number in the store."""
        scope, numbers = self._scope, set(self.in_release)
        if scope.auxiliary is not None:
            numbers.update(self.beside.rows.names)
        if scope.relatedness is not None:
            numbers.update(distance_tables.read_scored_items(self._store, scope.relatedness))
        if scope.scoring is not None:
            numbers.update(distance_tables.read_items(self._store, scope.scoring))
        if scope.attacker is not None:
            numbers.update(item for _, item in self.known)
        names = {number: name for number, name in self._store.execute("select id, name from item") if number in numbers}
        if len(names) < len(numbers):
            raise damaged("a list has an item that is not there")
        return names

    @cached_property
    def items(self) -> dict[int, int]:
        """The numbers of items by those in the store: an item has the number that its name makes."""
        number_of = {name: number for number, name in self.names.items()}
        # Sorted: of names that make the same number, the order of the store must not decide.
        return {number_of[name]: number for name, number in numbers_by_name(sorted(number_of), set())}

    @cached_property
    def _stored(self) -> dict[str, dict[int, int]]:
        """Return the numbers in the store by the numbers in this database, for each kind."""
        numbers = {"item": self.items, "generalised": self.generalised}
        return {kind: {here: there for there, here in of.items()} for kind, of in numbers.items()}

    @cached_property
    def elements(self) -> list[int]:
        """Return the items of the transactions, with numbers of this database; generalised items are below zero."""
        names = self.transactions.rows.names
        return [self.items[number] if number > 0 else -self.generalised[-number] for number in names]

    @cached_property
    def known(self) -> list[tuple[int, int]]:
        """The itemsets that the attacker knows: itemset and item, by number in the store."""
        return self._store.execute(
            "select w.knowledge, w.item from knowledge k join knows w on w.knowledge = k.id where k.attacker = ?",
            (self._scope.attacker,),
        ).fetchall()


_CALLED = {"item": "item", "txn": "transaction", "generalised": "generalised item"}
assert _CALLED.keys() == NODES.keys()


_NUMERAL = re.compile(r"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?\s*", re.IGNORECASE)


def _is_whole(value: Any) -> bool:
    """Return whether SQLite takes a value for a whole number where it compares it with one."""
    if isinstance(value, str):
        return _NUMERAL.fullmatch(value) is not None and _is_whole(float(value))
    return isinstance(value, int) or (isinstance(value, float) and value.is_integer())
