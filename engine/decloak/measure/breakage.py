"""How many records, and how many protected itemsets, an attack on a disassociated release lays open.

Transaction breakage counts records that got at least one item which they really have. By *row* only the record of the
row itself counts. By *class* the count is a maximum matching of the rows with the records of the same anchor. k^m
breakage counts itemsets. An itemset of 2..m items is protected if fewer than k records have it, and some record has it
across chunks of its cluster. Items of one record chunk are published together, and shared chunks are ignored. It is
exposed by row when such a record was given it, by class when the row of an identical anchor was.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from decloak.arrays import Ints, Mask
from decloak.counting.itemsets import among, cost_runs, distinct, places_in
from decloak.errors import DecloakError
from decloak.figures import metrics_of
from decloak.lazy import sparse
from decloak.measure.family import CHUNKS, POOLED, AttackResult, Family, MetricResult, MetricValue
from decloak.measure.kernels.true_rows import AssignedUnits, TrueRows
from decloak.releases.stored import UNKNOWN, StoredDisassociation

PIECE = 1 << 20
"""Approximate pairs of items of records that are processed together; all pairs of one first item stay together."""


class TransactionBreakage(NamedTuple):
    """Numbers of records with a recovered item, by row and by class, and the number of all records."""

    row: int
    by_class: int
    records: int


class KmBreakage(NamedTuple):
    """Numbers of exposed protected itemsets, by row and by class, and of all; an itemset of several records counts
    once.
    """

    row: int
    by_class: int
    protected: int


def transaction_breakage_of(rows: TrueRows, given: AssignedUnits) -> TransactionBreakage:
    """Count the records behind `rows` that got an item they have, in what an attack has `given`."""
    from scipy.sparse.csgraph import maximum_bipartite_matching

    added = given.added
    right = added[among(added, rows.held)]
    by_row = len(distinct(right // rows.items))
    # Rows are matched only with records of their own class: within a class rows are indistinguishable, across classes
    # not.
    held_in_class, column = np.unique(rows.in_class(rows.held), return_inverse=True)
    place, there = places_in(held_in_class, rows.in_class(added))
    got = _incidence(added[there] // rows.items, place[there], rows, len(held_in_class))
    held = _incidence(rows.held // rows.items, column, rows, len(held_in_class))
    # An edge joins a row that got an item and a record of its class that has it.
    edges = got @ held.T
    matched = int((maximum_bipartite_matching(edges) >= 0).sum()) if edges.nnz else 0
    return TransactionBreakage(by_row, matched, rows.rows)


def _incidence(row: Ints, column: Ints, rows: TrueRows, columns: int) -> "sparse.csr_array":
    return sparse.csr_array((np.ones(len(row), np.int32), (row, column)), shape=(rows.rows, columns))


def km_breakage_of(rows: TrueRows, given: AssignedUnits, *, k: int, m: int, piece: int = PIECE) -> KmBreakage:
    """Count the protected itemsets of at most `m` items in `rows`, and the itemsets that the attack re-associates.

    `given` is what the attack assigned. An itemset is protected if fewer than `k` records have it. `piece` bounds the
    memory. Return the breakage.
    """
    if k < 1 or m < 1:
        raise DecloakError(f"k is {k} and m is {m}", hint="both are at least 1")
    added = given.added
    right = added[among(added, rows.held)]
    # By class, what some record behind the anchor has is right; what none has can expose nothing.
    held_in_class = distinct(rows.in_class(rows.held))
    likely = added[among(rows.in_class(added), held_in_class)]
    held = _Sets(rows, rows.held)
    by_row, by_class = (_Sets(rows, rows.with_anchors(entries)) for entries in (right, likely))
    totals = np.zeros(3, np.int64)
    for first in _firsts(held, piece):
        totals += _exposed(held, by_row, by_class, first, k, m)
    return KmBreakage(*totals.tolist())


class _Sets:
    """Items of rows: the row, the item, its chunk and the end of the row, for every entry."""

    def __init__(self, rows: TrueRows, entries: Ints) -> None:
        self.row, self.item = np.divmod(entries, rows.items)
        self.chunk = rows.chunk_of(entries)
        self.of_class = rows.of_row
        self.items = rows.items
        self.end = np.searchsorted(self.row, self.row, side="right")

    def singles(self, first: slice) -> "_Itemsets":
        """Return every item with a code within a range, in each of its rows."""
        (entry,) = ((self.item >= first.start) & (self.item < first.stop)).nonzero()
        return _Itemsets(entry, self.item[entry], self.chunk[entry] >= 0)

    def grown(self, itemsets: "_Itemsets") -> "_Itemsets":
        """Return the itemsets extended by every later item of the row, with a name made of their name and that item."""
        tails = self.end[itemsets.last] - itemsets.last - 1
        before = np.repeat(np.arange(len(tails)), tails)
        last = np.arange(len(before)) - np.repeat(np.cumsum(tails) - tails, tails) + itemsets.last[before] + 1
        together = itemsets.together[before] & (self.chunk[last] == self.chunk[itemsets.last[before]])
        return _Itemsets(last, itemsets.name[before] * self.items + self.item[last], together)


class _Itemsets(NamedTuple):
    """Itemsets in rows: the entry of the last item, a number for the items, and whether one chunk has them all."""

    last: Ints
    name: Ints
    together: Mask

    def renamed(self, names: Ints) -> "_Itemsets":
        """Return those with one of `names`, renamed to its index there."""
        place, there = places_in(names, self.name)
        return _Itemsets(self.last[there], place[there], self.together[there])


def _firsts(held: _Sets, piece: int) -> Iterator[slice]:
    """Yield ranges of first items: itemsets with different first items are independent."""
    tails = held.end - np.arange(len(held.end))
    return cost_runs(np.bincount(held.item, tails, minlength=held.items), piece)


def _exposed(held: _Sets, by_row: _Sets, by_class: _Sets, first: slice, k: int, m: int) -> Ints:
    """Count the itemsets that begin within a range of items and are exposed by row, exposed by class, and protected."""
    counts = np.zeros(3, np.int64)
    in_held, in_row, in_class = (sets.singles(first) for sets in (held, by_row, by_class))
    for _ in range(2, m + 1):
        in_held, in_row, in_class = (
            sets.grown(itemsets) for sets, itemsets in ((held, in_held), (by_row, in_row), (by_class, in_class))
        )
        names, name, support = np.unique(in_held.name, return_inverse=True, return_counts=True)
        in_held = in_held._replace(name=name)
        # Numbers of names grow with every item, so that they are replaced by places before the next.
        in_row, in_class = in_row.renamed(names), in_class.renamed(names)
        rare = support < k
        true = _parted(held, in_held, rare)
        exposed = _parted(by_class, in_class, rare)
        counted = _parted(by_row, in_row, rare), exposed[among(exposed, true)], true
        counts += [len(distinct(named % max(1, len(names)))) for named in counted]
    return counts


def _parted(sets: _Sets, itemsets: _Itemsets, rare: Mask) -> Ints:
    """Return the rare itemsets that no chunk shows, once for every class of rows: `class * names + name`, ascending."""
    parted = rare[itemsets.name] & ~itemsets.together
    return distinct(sets.of_class[sets.row[itemsets.last[parted]]] * len(rare) + itemsets.name[parted])


def _measure(attacked: AttackResult[StoredDisassociation]) -> MetricResult:
    release, rows = attacked.release.published, attacked.release.with_ground_truth(TrueRows)
    if rows is None:
        return [], UNKNOWN.format("breakage")
    given = rows.assigned_units(attacked.assignments)
    broken = transaction_breakage_of(rows, given)
    figures = _shares("transaction_breakage", broken.row, broken.by_class, broken.records)
    # What a release protects depends on its k and m: a file that does not say them has no protected itemsets.
    if release.k is None or release.m is None:
        return figures, None
    sets = km_breakage_of(rows, given, k=release.k, m=release.m)
    return [*figures, *_shares("km_breakage", sets.row, sets.by_class, sets.protected)], None


def _shares(name: str, by_row: int, by_class: int, whole: int) -> list[MetricValue]:
    counts = {name: by_row, f"{name}_class": by_class}
    return [(POOLED, title, count / whole if whole else None, count, whole) for title, count in counts.items()]


FAMILY = Family(
    name="breakage",
    about="Records and itemsets that re-association exposes",
    metrics=metrics_of("breakage"),
    measure=_measure,
    fits=CHUNKS,
    rule_forms=frozenset({"reassociate"}),
)
