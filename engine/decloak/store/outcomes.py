"""The results of eliminate attacks on distance tables, with the truth of the cells, and how exposure spread."""

import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decloak.arrays import Floats, Ints, Mask
from decloak.data.rows import CodedRows
from decloak.store.distance_tables import read_distances
from decloak.store.eliminations import read_eliminations
from decloak.store.inserting import item_names, quoted
from decloak.store.lists import damaged, read_lists
from decloak.store.records import dataset_of, extent, read_marked, read_places, read_records
from decloak.store.relations import ELIMINATION_COLUMNS, Derives
from decloak.store.releases import knows_originals


class TrueTable(NamedTuple):
    """A distance table, by its numbers in the store and in its scoring; arrays of its shape."""

    id: int
    number: int
    original: Mask  # truth: whether the record really has the member
    scored: Mask
    places: Ints  # of the records, a row each, among those of the release
    members: tuple[str, ...]  # a column each


class TableOutcome(NamedTuple):
    """The result of an attack on one distance table; arrays of its shape."""

    table: TrueTable
    order: Ints  # when the cell was eliminated, from 0; -1 where it was kept
    weight: Floats  # the weight of the cells kept


def scoring_of(connection: sqlite3.Connection, attack: int) -> int:
    """Return the number of the scoring of an attack."""
    (number,) = connection.execute("select scoring from attack where id = ?", (attack,)).fetchone()
    return int(number)


class _Truth(NamedTuple):
    """Which record of a release really had which item: numbers of both as one, ascending."""

    connection: sqlite3.Connection
    first: int
    origins: Ints
    held: Ints
    marked: Ints
    items: int

    @classmethod
    def of(cls, connection: sqlite3.Connection, release: int) -> "_Truth":
        dataset = dataset_of(connection, release)
        whole = extent(connection, dataset)
        # Above every number, so that a record and an item together make a number of their own.
        (items,) = connection.execute("select coalesce(max(id), 0) + 1 from item").fetchone()
        none = np.zeros(0, np.int64)
        origins: Ints = none
        held: Ints = none
        row = connection.execute("select original from truth_release where release = ?", (release,)).fetchone()
        if row is not None and (places := read_places(connection, dataset, *row)) is not None:
            origins, held = places, np.sort(_pairs(read_records(connection, *row).rows, items))
        marks = read_marked(connection, dataset)
        marked = np.sort(marks[:, 0] * items + marks[:, 1])
        return cls(connection, whole.first, origins, held, marked, items)

    def holds(self, txns: Ints, items: Ints) -> Mask:
        """Return whether the records, a row each, had the items, a column each."""
        places = txns - self.first
        original = _among(places[:, None] * self.items + items, self.marked)
        if len(self.origins):
            original |= _among(self.origins[places][:, None] * self.items + items, self.held)
        return original


def _pairs(rows: CodedRows[int], items: int) -> Ints:
    return rows.row_of_code * items + np.array(rows.names, np.int64)[rows.codes]


def _among(values: Ints, ascending: Ints) -> Mask:
    # A value beyond the last one finds the -1 at the end, which equals no value.
    among: Mask = np.append(ascending, -1)[np.searchsorted(ascending, values)] == values
    return among


def true_tables(connection: sqlite3.Connection, scoring: int) -> list[TrueTable]:
    """Read the distance tables of a scoring, which all attacks on it share."""
    tables = connection.execute(
        "select id, number, members from distance_table where scoring = ? order by number", (scoring,)
    ).fetchall()
    if not tables:
        return []  # to read all records would take longer than to anonymise them
    (release,) = connection.execute("select release from scoring where id = ?", (scoring,)).fetchone()
    truth = _Truth.of(connection, release)
    lengths, items = read_lists([members for _, _, members in tables], f"the members of scoring {scoring}")
    rows = connection.execute(
        "select r.txn from distance_table t join distance_row r on r.distance_table = t.id "
        "where t.scoring = ? order by t.number, r.row",
        (scoring,),
    ).fetchall()
    distances = read_distances(connection, scoring)
    names = item_names(connection)
    of_table = np.split(items, np.cumsum(lengths)[:-1])
    txns = np.split(np.array(rows, np.int64).reshape(-1), np.cumsum([len(d) for d in distances])[:-1])
    return [
        _table(truth, d, table, number, txn, item, names)
        for (table, number, _), d, txn, item in zip(tables, distances, txns, of_table, strict=False)
    ]


def _table(
    truth: _Truth, d: Floats, table: int, number: int, txns: Ints, items: Ints, names: Mapping[int, str]
) -> TrueTable:
    if d.shape != (len(txns), len(items)) or not set(items.tolist()).issubset(names):
        raise damaged(f"distance table {table} has other columns than members")
    scored = (d >= 0) & (d < np.inf)  # neither is true of NaN: no score
    members = tuple(names[item] for item in items.tolist())
    return TrueTable(table, number, truth.holds(txns, items), scored, txns - truth.first, members)


def outcomes(connection: sqlite3.Connection, attack: int, tables: Sequence[TrueTable]) -> Iterator[TableOutcome]:
    """Yield the result of an attack in each of `tables`; nothing if the attack eliminated nothing."""
    eliminations = read_eliminations(connection, attack)
    if eliminations is None:
        return
    eliminated, left = _by_table(eliminations.tables), _by_table(eliminations.kept_tables)
    for table in tables:
        order, weight = np.full(table.scored.shape, -1, np.int64), np.full(table.scored.shape, np.nan)
        places, others = eliminated.get(table.id, _NONE), left.get(table.id, _NONE)
        try:
            order[eliminations.rows[places], eliminations.cols[places]] = np.arange(len(places))
            weight[eliminations.kept_rows[others], eliminations.kept_cols[others]] = eliminations.kept_weights[others]
        except IndexError:
            raise damaged(f"attack {attack} is on other cells than those of its distance tables") from None
        yield TableOutcome(table, order, weight)


_NONE = np.zeros(0, np.intp)


def _by_table(tables: NDArray[np.generic]) -> dict[int, Ints]:
    """Return the places of each table in ascending order."""
    order = np.argsort(tables, kind="stable")
    first = np.flatnonzero(np.diff(tables[order].astype(np.int64), prepend=-1))
    return dict(zip(tables[order[first]].tolist(), np.split(order, first[1:]), strict=False))


def fact_outcomes(connection: sqlite3.Connection, attack: int, relation: str) -> Iterator[TableOutcome]:
    """Return the outcomes of a rule whose facts eliminate members: a table of all members per generalised item."""
    (release,) = connection.execute("select release from attack where id = ?", (attack,)).fetchone()
    truth = _Truth.of(connection, release)
    facts = connection.execute(
        f"select x.generalised, x.txn, x.item, f.round from fact f join {quoted(f'found_{relation}')} x "
        "on x.finding = f.id where f.attack = ? order by f.id",
        (attack,),
    )
    eliminated = _by_number(np.array(facts.fetchall(), np.int64).reshape(-1, 4))
    for number, (generalised, txns) in enumerate(_occurrences(connection, release)):
        numbers, names = _members(connection, generalised)
        members = np.array(numbers, np.int64)
        table = TrueTable(
            0, number, truth.holds(txns, members), np.ones((len(txns), len(members)), bool), txns - truth.first,
            names,
        )  # fmt: skip
        order = np.full(table.scored.shape, -1, np.int64)
        held = eliminated.get(generalised, _NO_FACTS)
        by_item = np.argsort(members)
        columns = by_item[np.searchsorted(members, held[:, 1], sorter=by_item)]
        # Rounds count from 1, the order from 0.
        order[np.searchsorted(txns, held[:, 0]), columns] = held[:, 2] - 1
        yield TableOutcome(table, order, np.full(order.shape, np.nan))


_NO_FACTS = np.zeros((0, 3), np.int64)


def _by_number(rows: Ints) -> dict[int, Ints]:
    """Group rows by the number in their first column."""
    return {number: rows[places, 1:] for number, places in _by_table(rows[:, 0]).items()}


def _occurrences(connection: sqlite3.Connection, release: int) -> Iterator[tuple[int, Ints]]:
    """Every generalised item of a release, and the records that show it, ascending."""
    dataset = dataset_of(connection, release)
    rows = read_records(connection, dataset).rows
    elements = np.array(rows.names, np.int64)[rows.codes]
    hidden = elements < 0
    places = np.column_stack((-elements[hidden], rows.row_of_code[hidden] + extent(connection, dataset).first))
    for generalised, txns in sorted(_by_number(places).items()):
        yield generalised, np.sort(txns[:, 0])


def _members(connection: sqlite3.Connection, generalised: int) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Return the numbers and the names of the members of a generalised item."""
    sql = "select i.id, i.name from member_of m join item i on i.id = m.item where m.generalised = ? order by position"
    numbers, names = zip(*connection.execute(sql, (generalised,)), strict=True)
    return numbers, names


class Exposure(NamedTuple):
    """The number of records by the number of members eliminated, and the items eliminated correctly most often."""

    records: dict[int, int]
    items: list[tuple[str, int]]


def exposure(connection: sqlite3.Connection, attack: int, derives: Derives, most: int) -> Exposure | None:
    """Return the spread of an attack, at most `most` items; None without eliminated members or without ground truth."""
    release, scoring, dataset = connection.execute(
        "select a.release, a.scoring, r.dataset from attack a join release r on r.id = a.release where a.id = ?",
        (attack,),
    ).fetchone()
    facts = ELIMINATION_COLUMNS.issubset(derives.columns)
    if not knows_originals(connection, release) or (scoring is None and not facts):
        return None
    if facts:
        eliminated = fact_outcomes(connection, attack, derives.name)
    else:
        eliminated = outcomes(connection, attack, true_tables(connection, scoring))
    records, items = Counter[int](), Counter[str]()
    for outcome in eliminated:
        right = (outcome.order >= 0) & ~outcome.table.original
        # A record has a row in the table of each generalised item that it shows.
        records.update(dict(zip(outcome.table.places.tolist(), right.sum(axis=1).tolist(), strict=True)))
        items.update(dict(zip(outcome.table.members, right.sum(axis=0).tolist(), strict=True)))
    hit = Counter(count for count in records.values() if count)
    if not hit:
        return None
    counts = {0: extent(connection, dataset).records - hit.total(), **dict(sorted(hit.items()))}
    ranked = sorted((-times, item) for item, times in items.items() if times)
    return Exposure(counts, [(item, -times) for times, item in ranked[:most]])
