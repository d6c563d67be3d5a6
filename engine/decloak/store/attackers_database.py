"""The attacker's database: what one release publishes and what its attacker has beside it, as relations in a database.

The SQL of a rule runs over this database alone. Its content is a function of what is published and of what the attacker
has: transactions and generalised items are numbered in the order in which the release shows them, itemsets in the order
of their names, and items by their names. `stored` and `published` translate numbers to those of the store and back.
"""

import re
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import groupby, pairwise, repeat
from typing import Any, NamedTuple

import numpy as np

from decloak.arrays import Ints
from decloak.data.rows import CodedRows
from decloak.errors import DecloakError, shown
from decloak.store import distance_tables, pair_scores
from decloak.store.arrays import damaged
from decloak.store.inserting import insert_rows, numbers_by_name
from decloak.store.opening import unusable
from decloak.store.relations import NODES, RELATIONS, Derives, Scope
from decloak.store.sandbox import quoted
from decloak.store.transactions import BLOCK, StoredTransactions, element_rows, extent, read_transactions

__all__ = ["AttackersDatabase", "Earlier", "Rows"]

Rows = Iterable[Sequence[Any]]

_TYPES = {"name": "text", "label": "text", "model": "text", "d": "real", "score": "real"}
"""The types of columns that hold no whole numbers."""


class Earlier(NamedTuple):
    """A relation that an earlier attack derived, with numbers of the attacker's database."""

    derives: Derives
    rows: Rows
    types: Sequence[str] = ()
    """The types of its columns, none where they have no types."""


class AttackersDatabase:
    """The attacker's database of one scope; a relation is read from the store when it is written."""

    def __init__(self, store: sqlite3.Connection, scope: Scope) -> None:
        self._store = store
        self._scope = scope

    def write(self, into: sqlite3.Connection, relations: Collection[str], earlier: Iterable[Earlier] = ()) -> None:
        """Make some relations in an empty database, and those of earlier attacks."""
        into.execute("begin")
        with _told(self._scope):
            for name, relation in RELATIONS.items():
                if name in relations:
                    _make(into, name, relation.columns, _types(relation.columns), relation.key)
                    insert_rows(into, _table(name, relation.columns), self._rows[name]())
                    if relation.quick:
                        into.execute(f"create index {quoted(f'index of {name}')} on {_table(name, relation.quick)}")
            for (name, columns), rows, types in earlier:
                _make(into, name, columns, types or [""] * len(columns))
                insert_rows(into, _table(name, columns), rows)
                if len(columns) > 1:
                    into.execute(f"create index {quoted(f'index of {name}')} on {_table(name, columns[:4])}")
        into.execute("commit")

    def stored(self, kind: str, value: Any) -> int | None:
        """Translate the number of a node in this database to that in the store; None where there is no such node."""
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if not isinstance(value, int):
            return None
        if kind == "txn":
            return value + self._extent.first - 1 if 0 < value <= self._extent.transactions else None
        return self._stored[kind].get(value)

    def facts(self, nodes: Mapping[str, str], columns: Sequence[str], rows: Rows) -> Iterator[tuple[Any, ...]]:
        """Translate the numbers of nodes in facts to those in the store; refuse numbers that no node has.

        `nodes` says which columns hold nodes, and of which kind.
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
            message = f"the column {column} has {shown(str(value))}, the number of no {_CALLED[kind]}"
            raise DecloakError(message, hint=f"select the column {kind} of a relation, or give the column another name")
        return number

    def derived(self, nodes: Mapping[str, str], columns: Sequence[str], rows: Rows) -> Iterator[tuple[Any, ...]]:
        """Translate the numbers of nodes in facts that the store has to those in this database."""
        kinds = [nodes.get(column) for column in columns]
        for row in rows:
            yield tuple(
                self._published(kind, value) if kind is not None and isinstance(value, int) else value
                for kind, value in zip(kinds, row, strict=True)
            )

    def _published(self, kind: str, number: int) -> int | None:
        if kind == "txn":
            known = 0 <= number - self._extent.first < self._extent.transactions
            return number - self._extent.first + 1 if known else None
        return (self._items if kind == "item" else self._generalised).get(number)

    @cached_property
    def _extent(self) -> Any:
        return extent(self._store, self._scope.dataset)

    @cached_property
    def _transactions(self) -> StoredTransactions:
        return read_transactions(self._store, self._scope.dataset)

    @cached_property
    def _beside(self) -> StoredTransactions:
        assert self._scope.auxiliary is not None
        return read_transactions(self._store, self._scope.auxiliary)

    @cached_property
    def _generalised(self) -> dict[int, int]:
        """The numbers of generalised items by those in the store, in the order of first appearance."""
        rows = self._transactions.rows
        _, first = np.unique(rows.codes, return_index=True)
        codes = rows.codes[np.sort(first)].tolist()
        numbers = dict.fromkeys(-rows.names[code] for code in codes if rows.names[code] < 0)
        return {number: place for place, number in enumerate(numbers, 1)}

    @cached_property
    def _members(self) -> list[tuple[int, int, int]]:
        """The generalised item, position and item of every member, all by number in the store."""
        rows = self._store.execute(
            "select m.generalised, m.position, m.item from generalised g join member_of m on m.generalised = g.id "
            "where g.release = ?",
            (self._scope.release,),
        )
        return [row for row in rows if row[0] in self._generalised]

    @cached_property
    def _in_release(self) -> set[int]:
        """The items that the release shows, by number in the store."""
        chunks = self._store.execute(
            "select h.item from cluster l join chunk k on k.cluster = l.id join shows h on h.chunk = k.id "
            "where l.release = ?1 union select h.item from joint j join chunk k on k.joint = j.id "
            "join shows h on h.chunk = k.id where j.release = ?1",
            (self._scope.release,),
        )
        plain = {number for number in self._transactions.rows.names if number > 0}
        return plain.union((item for *_, item in self._members), (item for (item,) in chunks))

    @cached_property
    def _names(self) -> dict[int, str]:
        """The names of all items of this database, by number in the store."""
        scope, numbers = self._scope, set(self._in_release)
        if scope.auxiliary is not None:
            numbers.update(self._beside.rows.names)
        if scope.relatedness is not None:
            numbers.update(pair_scores.read_items(self._store, scope.relatedness))
        if scope.scoring is not None:
            numbers.update(distance_tables.read_items(self._store, scope.scoring))
        if scope.attacker is not None:
            numbers.update(item for _, item in self._known)
        names = {number: name for number, name in self._store.execute("select id, name from item") if number in numbers}
        if len(names) < len(numbers):
            raise damaged(scope.dataset, "elements")
        return names

    @cached_property
    def _items(self) -> dict[int, int]:
        """The numbers of items by those in the store: an item has the number that its name makes."""
        number_of = {name: number for number, name in self._names.items()}
        return {number_of[name]: number for name, number in numbers_by_name(sorted(number_of), set())}

    @cached_property
    def _stored(self) -> dict[str, dict[int, int]]:
        """The numbers in the store by those of this database, for each kind."""
        numbers = {"item": self._items, "generalised": self._generalised}
        return {kind: {here: there for there, here in of.items()} for kind, of in numbers.items()}

    @cached_property
    def _elements(self) -> list[int]:
        """What the transactions show, with numbers of this database; generalised items below zero."""
        names = self._transactions.rows.names
        return [self._items[number] if number > 0 else -self._generalised[-number] for number in names]

    @cached_property
    def _known(self) -> list[tuple[int, int]]:
        """The itemsets that the attacker knows: itemset and item, by number in the store."""
        return self._store.execute(
            "select w.knowledge, w.item from knowledge k join knows w on w.knowledge = k.id where k.attacker = ?",
            (self._scope.attacker,),
        ).fetchall()

    @cached_property
    def _rows(self) -> dict[str, Callable[[], Rows]]:
        return {
            "distance": self._distance,
            "distance_row": self._distance_row,
            "distance_col": self._distance_col,
            "context": self._context,
            "related": self._related,
            "item": lambda: sorted((self._items[number], self._names[number]) for number in self._in_release),
            "txn": lambda: ((place + 1, place, label) for place, label in enumerate(self._transactions.labels)),
            "contains": lambda: _of_table("contains", self._transactions.rows, self._elements, 1),
            "published_as": lambda: _of_table("published_as", self._transactions.rows, self._elements, 1),
            "shown": self._shown,
            "member_of": lambda: sorted((self._generalised[g], at, self._items[item]) for g, at, item in self._members),
            "auxiliary": self._auxiliary,
            "cluster": lambda: self._store.execute(
                "select number, size from cluster where release = ? order by number", (self._scope.release,)
            ),
            "subrecord_item": self._subrecord_item,
            "term": self._term,
            "knows": self._knows,
            "attacker": lambda: self._store.execute("select model from attacker where id = ?", (self._scope.attacker,)),
        }

    def _distance(self) -> Rows:
        if self._scope.scoring is None:
            return
        for table, d in enumerate(distance_tables.read_distances(self._store, self._scope.scoring)):
            for row, line in enumerate(d.tolist()):  # SQLite reads NaN as null: no score
                yield from zip(repeat(table), repeat(row), range(len(line)), line, strict=False)

    def _distance_row(self) -> Rows:
        return self._store.execute(
            "select t.number, r.row, r.txn - ? from distance_table t join distance_row r on r.distance_table = t.id "
            "where t.scoring = ? order by 1, 2",
            (self._extent.first - 1, self._scope.scoring),
        )

    def _distance_col(self) -> Rows:
        rows = self._store.execute(
            "select t.number, k.col, k.item from distance_table t join distance_col k on k.distance_table = t.id "
            "where t.scoring = ? order by 1, 2",
            (self._scope.scoring,),
        )
        return ((table, col, self._items[item]) for table, col, item in rows)

    def _context(self) -> Rows:
        if self._scope.scoring is None:
            return []
        heights = [len(d) for d in distance_tables.read_distances(self._store, self._scope.scoring)]
        places = [(table, row) for table, height in enumerate(heights) for row in range(height)]
        rows = distance_tables.read_contexts(self._store, self._scope.scoring, places)
        return sorted((table, row, self._items[item]) for table, row, item in rows)

    def _related(self) -> Rows:
        if self._scope.relatedness is None:
            return []
        pairs = pair_scores.read_pairs(self._store, self._scope.relatedness)
        a, b = (map(self._items.__getitem__, side.tolist()) for side in (pairs.a, pairs.b))
        return zip(a, b, pairs.scores.tolist(), strict=True)

    def _shown(self) -> Rows:
        labels = dict(
            self._store.execute("select id, label from generalised where release = ?", (self._scope.release,))
        )
        rows = self._transactions.rows
        texts = [self._names[number] if number > 0 else labels[-number] for number in rows.names]
        return (
            (txn, position, texts[code])
            for txn, row in enumerate(_rows_of_codes(rows), 1)
            for position, code in enumerate(row)
        )

    def _auxiliary(self) -> Rows:
        if self._scope.auxiliary is None:
            return
        labels = self._beside.labels
        elements = [self._items[number] for number in self._beside.rows.names]
        for line, position, item in _of_table("contains", self._beside.rows, elements, 0):
            yield line, labels[line], position, item

    def _subrecord_item(self) -> Rows:
        rows = self._store.execute(
            "select l.number, k.number, s.number, h.item from cluster l join chunk k on k.cluster = l.id "
            "join subrecord s on s.chunk = k.id join has_item h on h.subrecord = s.id "
            "where l.release = ? and k.kind = 'record'",
            (self._scope.release,),
        )
        return sorted((*place, self._items[item]) for *place, item in rows)

    def _term(self) -> Rows:
        rows = self._store.execute(
            "select l.number, h.item from cluster l join chunk k on k.cluster = l.id join shows h on h.chunk = k.id "
            "where l.release = ? and k.kind = 'term'",
            (self._scope.release,),
        )
        return sorted((cluster, self._items[item]) for cluster, item in rows)

    def _knows(self) -> Rows:
        itemsets = [[item for _, item in group] for _, group in groupby(sorted(self._known), key=lambda row: row[0])]
        itemsets.sort(key=lambda items: sorted(self._names[item] for item in items))
        return ((number, self._items[item]) for number, items in enumerate(itemsets, 1) for item in items)


_CALLED = {"item": "item", "txn": "transaction", "generalised": "generalised item"}
assert _CALLED.keys() == NODES.keys()


_NUMERAL = re.compile(r"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?\s*", re.IGNORECASE)


def _is_whole(value: Any) -> bool:
    """Return whether SQLite takes a value for a whole number where it compares it with one."""
    if isinstance(value, str):
        return _NUMERAL.fullmatch(value) is not None and _is_whole(float(value))
    return isinstance(value, int) or (isinstance(value, float) and value.is_integer())


def _of_table(table: str, rows: CodedRows[int], elements: Sequence[int], first: int) -> Rows:
    numbers: Ints = np.array(elements, np.int64)
    for begin in range(0, len(rows), BLOCK):
        for into, shown_rows in element_rows(rows, numbers, first, slice(begin, begin + BLOCK)):
            if into.startswith(f"{table} "):
                yield from shown_rows


def _rows_of_codes(rows: CodedRows[int]) -> Iterator[list[int]]:
    for block in rows.blocks():
        start = block.start.tolist()
        codes = block.codes.tolist()
        yield from (codes[begin:end] for begin, end in pairwise(start))


def _types(columns: Sequence[str]) -> list[str]:
    return [_TYPES.get(column, "integer") for column in columns]


def _make(
    into: sqlite3.Connection, name: str, columns: Sequence[str], types: Sequence[str], key: Sequence[str] = ()
) -> None:
    listed = [f"{quoted(column)} {type_}" for column, type_ in zip(columns, types, strict=True)]
    if key:
        listed.append(f"primary key ({', '.join(map(quoted, key))})")
    into.execute(f"create table {quoted(name)} ({', '.join(listed)}){' without rowid' if key else ''}")


def _table(name: str, columns: Sequence[str]) -> str:
    return f"{quoted(name)} ({', '.join(map(quoted, columns))})"


@contextmanager
def _told(scope: Scope) -> Iterator[None]:
    """Say of a store that is damaged, or of a disk that is full, what the user can do."""
    try:
        yield
    except (sqlite3.IntegrityError, KeyError, IndexError):
        raise damaged(scope.dataset, "elements") from None
    except sqlite3.OperationalError as error:
        raise unusable(error) from None
