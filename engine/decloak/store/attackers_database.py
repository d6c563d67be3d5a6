"""The attacker's database: the relations of one release and of the attacker's own data, copied from the store.

The SQL of a rule runs over this database alone. The release and the attacker's data decide the content: itemsets have
numbers in the order of their names, and `store/numbering.py` numbers the nodes.

Graph algorithms over published relations add relations that rules read.
"""

import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import groupby, pairwise, repeat
from typing import NamedTuple

import numpy as np

from decloak.arrays import Floats, Ints
from decloak.data.rows import CodedRows
from decloak.lazy import sparse
from decloak.store import distance_tables
from decloak.store.inserting import insert_rows, quoted
from decloak.store.lists import damaged
from decloak.store.numbering import Numbering, Rows
from decloak.store.opening import unusable
from decloak.store.relations import RELATIONS, Derives, Scope

_TYPES = {"name": "text", "label": "text", "model": "text", "d": "real", "score": "real"}
"""The types of columns without whole numbers."""


class Earlier(NamedTuple):
    """A relation that an earlier attack derived, with numbers of the attacker's database."""

    derives: Derives
    rows: Rows
    types: Sequence[str] = ()
    """The types of the columns; empty for columns without types."""


class AttackersDatabase:
    """The attacker's database of one scope; a relation is read from the store when it is written."""

    def __init__(self, store: sqlite3.Connection, scope: Scope) -> None:
        self._store = store
        self._scope = scope
        self.numbering = self._nodes = Numbering(store, scope)

    def write(self, into: sqlite3.Connection, relations: Collection[str], earlier: Iterable[Earlier] = ()) -> None:
        """Write some relations, and the relations of earlier attacks, into an empty database."""
        # One transaction: otherwise SQLite would commit each statement by itself.
        into.execute("begin")
        with _damage_error(self._scope):
            # In this order, because `relations` is a set, whose order changes between processes.
            for name, relation in RELATIONS.items():
                if name in relations:
                    kinds = [_TYPES.get(column, "integer") for column in relation.columns]
                    _make(into, name, relation.columns, kinds, relation.key)
                    insert_rows(into, _table(name, relation.columns), self._rows[name]())
                    if relation.quick:
                        into.execute(f"create index {quoted(f'index of {name}')} on {_table(name, relation.quick)}")
            for (name, columns), rows, types in earlier:
                _make(into, name, columns, types or [""] * len(columns))
                insert_rows(into, _table(name, columns), rows)
                if len(columns) > 1:
                    into.execute(f"create index {quoted(f'index of {name}')} on {_table(name, columns[:4])}")
        into.execute("commit")

    @cached_property
    def _rows(self) -> dict[str, Callable[[], Rows]]:
        return {
            "distance": self._distance,
            "distance_row": self._distance_row,
            "distance_col": self._distance_col,
            "context": self._context,
            "related": self._related,
            "item": self._item,
            "txn": lambda: ((place + 1, place, label) for place, label in enumerate(self._nodes.transactions.labels)),
            "contains": lambda: self._elements(plain=True),
            "published_as": lambda: self._elements(plain=False),
            "shown": self._rows_of_labels,
            "component": self._component,
            "k_core": self._k_core,
            "matching": self._matching,
            "member_of": self._member_of,
            "auxiliary": self._auxiliary,
            "cluster": lambda: self._store.execute(
                "select number, size from cluster where release = ? order by number", (self._scope.release,)
            ),
            "subrecord_item": self._subrecord_item,
            "term": self._term,
            "stated": lambda: self._store.execute(
                "select json_extract(parameters, '$.k'), json_extract(parameters, '$.m') from release where id = ?",
                (self._scope.release,),
            ),
            "published_itemset": lambda: self._store.execute(
                "select number, json_array_length(items), support from published_itemset where release = ? order by 1",
                (self._scope.release,),
            ),
            "published_itemset_item": self._published_itemset_item,
            "knows": self._knows,
            "attacker": lambda: self._store.execute("select model from attacker where id = ?", (self._scope.attacker,)),
        }

    def _item(self) -> Rows:
        items, names = self._nodes.items, self._nodes.names
        # The order in the store tells which item came first, so the order here is by number.
        return sorted((items[number], names[number]) for number in self._nodes.in_release)

    def _elements(self, *, plain: bool) -> Rows:
        return _occurrences(self._nodes.transactions.rows, self._nodes.elements, 1, plain=plain)

    def _component(self) -> Rows:
        rows = self._nodes.transactions.rows
        return enumerate(component_of_rows(rows.start, rows.codes, len(rows.names)).tolist(), 1)

    def _k_core(self) -> Rows:
        rows, items = self._nodes.transactions.rows, self._nodes.items
        plain = np.array(rows.names, np.int64) > 0
        kept = plain[rows.codes] if len(rows.codes) else np.zeros(0, np.bool_)
        # Each row starts earlier by the generalised items that were left out before it.
        start = np.concatenate(([0], np.cumsum(kept)))[rows.start]
        core = core_numbers(start, rows.codes[kept], len(rows.names)).tolist()
        used = sorted(set(rows.codes[kept].tolist()))
        return sorted((items[rows.names[code]], core[code]) for code in used)

    def _matching(self) -> Rows:
        if self._scope.scoring is None:
            return
        for table, d in enumerate(distance_tables.read_distances(self._store, self._scope.scoring)):
            yield from ((table, *cell) for cell in least_matching(np.asarray(d, np.float64)))

    def _member_of(self) -> Rows:
        generalised, items = self._nodes.generalised, self._nodes.items
        return sorted((generalised[number], place, items[item]) for number, place, item in self._nodes.members)

    def _distance(self) -> Rows:
        if self._scope.scoring is None:
            return
        for table, d in enumerate(distance_tables.read_distances(self._store, self._scope.scoring)):
            for row, line in enumerate(d.tolist()):  # SQLite reads NaN as null: no score
                yield from zip(repeat(table), repeat(row), range(len(line)), line, strict=False)

    def _distance_row(self) -> Rows:
        return self._store.execute(
            # From 1: numbers of the store depend on the count of records before.
            "select t.number, r.row, r.txn - ? from distance_table t join distance_row r on r.distance_table = t.id "
            "where t.scoring = ? order by 1, 2",
            (self._nodes.extent.first - 1, self._scope.scoring),
        )

    def _distance_col(self) -> Rows:
        rows = self._store.execute(
            "select t.number, k.col, k.item from distance_table t join distance_col k on k.distance_table = t.id "
            "where t.scoring = ? order by 1, 2",
            (self._scope.scoring,),
        )
        return ((table, col, self._nodes.items[item]) for table, col, item in rows)

    def _context(self) -> Rows:
        if self._scope.scoring is None:
            return []
        rows = distance_tables.read_contexts(self._store, self._scope.scoring)
        return sorted((table, row, self._nodes.items[item]) for table, row, item in rows)

    def _related(self) -> Rows:
        if self._scope.relatedness is None:
            return []
        pairs = distance_tables.read_pairs(self._store, self._scope.relatedness)
        a, b = (map(self._nodes.items.__getitem__, side.tolist()) for side in (pairs.a, pairs.b))
        return zip(a, b, pairs.scores.tolist(), strict=True)

    def _rows_of_labels(self) -> Rows:
        labels = dict(
            self._store.execute("select id, label from generalised where release = ?", (self._scope.release,))
        )
        rows = self._nodes.transactions.rows
        texts = [self._nodes.names[number] if number > 0 else labels[-number] for number in rows.names]
        return (
            (txn, position, texts[code])
            for txn, row in enumerate(_rows_of_codes(rows), 1)
            for position, code in enumerate(row)
        )

    def _auxiliary(self) -> Rows:
        if self._scope.auxiliary is None:
            return
        labels = self._nodes.beside.labels
        elements = [self._nodes.items[number] for number in self._nodes.beside.rows.names]
        for line, position, item in _occurrences(self._nodes.beside.rows, elements, 0):
            yield line, labels[line], position, item

    def _subrecord_item(self) -> Rows:
        rows = self._store.execute(
            "select l.number, k.number, s.number, h.value from cluster l join chunk k on k.cluster = l.id "
            "join subrecord s on s.chunk = k.id, json_each(s.items) h "
            "where l.release = ? and k.kind = 'record'",
            (self._scope.release,),
        )
        return sorted((*place, self._nodes.items[item]) for *place, item in rows)

    def _term(self) -> Rows:
        rows = self._store.execute(
            "select l.number, h.value from cluster l join chunk k on k.cluster = l.id, json_each(k.items) h "
            "where l.release = ? and k.kind = 'term'",
            (self._scope.release,),
        )
        return sorted((cluster, self._nodes.items[item]) for cluster, item in rows)

    def _published_itemset_item(self) -> Rows:
        rows = self._store.execute(
            "select p.number, e.value from published_itemset p, json_each(p.items) e where p.release = ?",
            (self._scope.release,),
        )
        return sorted((itemset, self._nodes.items[item]) for itemset, item in rows)

    def _knows(self) -> Rows:
        items, names = self._nodes.items, self._nodes.names
        groups = groupby(sorted(self._nodes.known), key=lambda row: row[0])
        itemsets = sorted((sorted(names[item] for _, item in group), number) for number, group in groups)
        # Numbers in the store tell the order in which itemsets were drawn. Here names decide.
        place = {number: place for place, (_, number) in enumerate(itemsets, 1)}
        return sorted((place[number], items[item]) for number, item in self._nodes.known)


def _occurrences(
    rows: CodedRows[int], elements: Sequence[int], first: int, *, plain: bool = True
) -> Iterator[tuple[int, int, int]]:
    """Yield record, position and number of each item of `rows`, or of each generalised item unless `plain`.

    `elements` are the numbers by code, below zero for generalised items. `first` is the number of the first record.
    """
    numbers: Ints = np.array(elements, np.int64)
    for block in rows.blocks():
        held = numbers[block.codes]
        chosen = (held > 0) == plain
        record, position = block.row_of_code, np.arange(len(held)) - np.repeat(block.start[:-1], block.lengths)
        columns = (record[chosen] + first, position[chosen], np.abs(held[chosen]))
        yield from zip(*(column.tolist() for column in columns), strict=True)
        first += len(block)


def _rows_of_codes(rows: CodedRows[int]) -> Iterator[list[int]]:
    for block in rows.blocks():
        start = block.start.tolist()
        codes = block.codes.tolist()
        yield from (codes[begin:end] for begin, end in pairwise(start))


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
def _damage_error(scope: Scope) -> Iterator[None]:
    """Turn the error of a damaged store, or of a full disk, into a line with a remedy."""
    try:
        yield
    except (sqlite3.IntegrityError, KeyError, IndexError):
        raise damaged(f"data set {scope.dataset} has elements that are not there") from None
    except sqlite3.OperationalError as error:
        raise unusable(error) from None


def component_of_rows(start: Ints, codes: Ints, labels: int) -> Ints:
    """Return the connected component of each row, numbered from 1 by its first row.

    `codes[start[row]:start[row + 1]]` are the numbers, below `labels`, of the labels of a row. Rows with a common label
    are connected.

    >>> component_of_rows(np.array([0, 1, 2, 3]), np.array([0, 1, 0]), 2).tolist()
    [1, 2, 1]
    """
    rows = len(start) - 1
    from scipy.sparse.csgraph import connected_components  # most rules read no component

    # Labels are nodes after the rows, and have no edges of their own.
    ends = np.pad(start, (0, labels), mode="edge")
    edges = sparse.csr_array((np.ones(len(codes), np.int8), codes + rows, ends), shape=(rows + labels, rows + labels))
    _, component = connected_components(edges, directed=False)
    # scipy numbers components in an order of its own; here the first row decides.
    _, first, place = np.unique(component[:rows], return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[place] + 1, np.int64)


def core_numbers(start: Ints, codes: Ints, labels: int) -> Ints:
    """Return the core number of each label in the graph of labels that share a row.

    A label is in the k-core if it shares rows with k other labels of the k-core. The core number is the largest k.
    `start`, `codes` and `labels` are as in `component_of_rows`.

    >>> core_numbers(np.array([0, 3, 5]), np.array([0, 1, 2, 2, 3]), 4).tolist()
    [2, 2, 2, 1]
    """
    # Not one byte: the product counts the rows that labels share.
    held = sparse.csr_array((np.ones(len(codes), np.int32), codes, start), shape=(len(start) - 1, labels))
    pairs = (held.T @ held).tocoo()
    # Each label shares its rows with itself, which is no edge.
    apart = pairs.row != pairs.col
    shared = sparse.csr_array(
        (np.ones(int(apart.sum()), np.int64), (pairs.row[apart], pairs.col[apart])), shape=(labels, labels)
    )
    degree = np.asarray(shared.sum(axis=1), np.int64).ravel()
    core, left, k = np.zeros(labels, np.int64), np.ones(labels, np.bool_), 0
    while left.any():
        # Removing labels lowers the degree of others, but never their core number.
        k = max(k, int(degree[left].min()))
        gone = left & (degree <= k)
        core[gone], left = k, left & ~gone
        degree -= np.asarray(shared @ gone.astype(np.int64), np.int64)
    return core


def least_matching(d: Floats) -> list[tuple[int, int]]:
    """Return the rows and columns of a largest matching in the distance table `d`, one of least total distance.

    A cell without a score, which is NaN, matches nothing.

    >>> least_matching(np.array([[0.1, 0.2], [0.1, np.nan]]))
    [(0, 1), (1, 0)]
    """
    from scipy.optimize import linear_sum_assignment

    scored = np.isfinite(d)
    # More than any sum of distances, so that the matching is as large as it can be.
    missing = 1.0 + float(np.abs(d[scored]).max(initial=0.0)) * (2 * min(d.shape) + 1)
    rows, cols = linear_sum_assignment(np.where(scored, d, missing))
    return [(row, col) for row, col in zip(rows.tolist(), cols.tolist(), strict=True) if scored[row, col]]
