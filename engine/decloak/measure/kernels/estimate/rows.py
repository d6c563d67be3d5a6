"""Estimates from records that show items, or labels that contain several items.

p(record, item): 1 if the record shows the item; 1 / n if a label of the record contains it and n of the members of the
label are left; else 0. If several elements of a record contain an item, the largest value counts. w(record, K): the
product of p over K. The estimate of K is the sum of w over the records.

p is `standing` times `members` plus `corrections`. The first (records × things) is the value of one member of each
thing, the second (things × items) is 0 or 1. Corrections (records × items) remove eliminated members and double counts
of overlapping things. So a label with thousands of members is never written out. Records that are the same are counted
once, with a `weight`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from decloak.arrays import Floats, Ints
from decloak.counting.itemsets import among, distinct, kinds_of, places_in
from decloak.data.content import Element, Elements
from decloak.data.rows import CodedRows, runs
from decloak.lazy import sparse
from decloak.measure.kernels.candidate_index import CandidateIndex
from decloak.measure.kernels.estimate.estimator import Matrix, batches, distinct_itemsets

__all__ = ["RowEstimates"]


ENTRIES = 1 << 22
"""Entries of the columns that are multiplied at the same time."""


@dataclass(frozen=True, eq=False)
class RowEstimates:
    """Records as matrices; `kind[record]` is the row of the matrices that a record has."""

    standing: Matrix
    members: Matrix
    corrections: Matrix
    weight: Floats
    kind: Ints

    @classmethod
    def of(
        cls, rows: CodedRows[Element], elements: Elements, eliminated: tuple[Ints, Ints] | None = None
    ) -> "RowEstimates":
        """Lay out `rows` of `elements` as matrices; `eliminated` are the records and items that an attack eliminated.

        Return the estimator.
        """
        shape = (len(elements.size), elements.items)
        start = np.append(elements.start, len(elements.item))
        members = sparse.csr_array((np.ones(len(elements.item)), elements.item, start), shape)
        standing = rows.matrix(np.arange(len(rows.names)), len(rows.names)).astype(np.float64)
        standing.sort_indices()
        gone = _eliminated(standing, elements, eliminated)
        corrections = _corrected(standing, elements, gone)
        own = np.diff(corrections.indptr) > 0
        kind = kinds_of(standing)
        kind[own] = kind.max(initial=0) + 1 + np.arange(own.sum())
        _, first, kind, weight = np.unique(kind, return_index=True, return_inverse=True, return_counts=True)
        return cls(standing[first], members, corrections[first], weight.astype(np.float64), kind)

    @property
    def items(self) -> int:
        return int(self.members.shape[1])

    @cached_property
    def _possible_records(self) -> Floats:
        """The number of kinds of records in which each item is possible, at most."""
        times = np.bincount(self.standing.indices, minlength=self.members.shape[0])
        shown: Floats = self.members.T @ times.astype(np.float64)
        return shown

    @cached_property
    def _uniform(self) -> tuple[Ints, Floats, CandidateIndex]:
        """The only thing of each item that has the same p in all records of it, -1 for other items and at the end.

        Then the value of each thing in records, and the index of the records of things.
        """
        things, items, held = self.members.shape[0], self.members.indices, self.standing.indices
        value, varied = np.zeros(things + 1), np.zeros(things + 1, np.bool_)
        value[held] = self.standing.data
        varied[held[self.standing.data != value[held]]] = True
        thing = np.full(self.items + 1, -1, np.int64)
        thing[items] = np.repeat(np.arange(things), np.diff(self.members.indptr))
        thing[varied[thing]] = -1
        thing[:-1][np.bincount(items, minlength=self.items) > 1] = -1
        thing[self.corrections.indices] = -1
        each = np.arange(things + 1)
        return thing, value, CandidateIndex(self.standing.indptr, held, things, each, each[:-1])

    def _columns(self, items: Ints) -> Matrix:
        """Items × records: p of some items."""
        standing, members, corrections = self._by_column
        p = members[items] @ standing
        p.sort_indices()
        if corrections.nnz:
            p = p + corrections[items]
            p.eliminate_zeros()
        return p

    @cached_property
    def _by_column(self) -> tuple[Matrix, Matrix, Matrix]:
        """The three matrices turned over, so that columns are read without the records that lack them."""
        return self.standing.T.tocsr(), self.members.T.tocsr(), self.corrections.T.tocsr()

    def _products(self, itemsets: Ints) -> Iterator[tuple[Ints, Matrix]]:
        """Yield some itemsets, and itemsets × kinds of records: the products of p."""
        there = np.flatnonzero((itemsets >= 0).all(axis=0))
        # Itemsets of frequent items cost more: batches are cut by their cost, not by their number.
        cost = np.cumsum(self._possible_records[itemsets[:, there]].sum(axis=0)) if len(there) else np.zeros(0)
        cuts = np.flatnonzero(np.diff(cost // ENTRIES)) + 1
        for part in np.split(there, cuts):
            if not len(part):
                continue
            items = distinct(itemsets[:, part].ravel())
            columns = self._columns(items)
            first, *others = np.searchsorted(items, itemsets[:, part])
            product = columns[first]
            for row in others:
                product = product.multiply(columns[row])
            yield part, product

    def supports(self, itemsets: Ints) -> Floats:
        """Estimate how many people have each of `itemsets`; return the numbers."""
        thing, value, index = self._uniform
        known, place = distinct_itemsets(thing[itemsets])
        there = np.flatnonzero((known >= 0).all(axis=0))
        of_things, p = np.zeros(known.shape[1]), value[known[:, there]].prod(axis=0)
        for at, records in index.find_candidates(known[:, there]):
            np.add.at(of_things, there[at], p[at] * self.weight[records])
        supports = of_things[place]
        others = np.flatnonzero(((itemsets >= 0) & (thing[itemsets] < 0)).any(axis=0))
        for part, product in self._products(itemsets[:, others]):
            supports[others[part]] = product @ self.weight
        return supports

    def weights(self, itemsets: Ints, records: Ints) -> Floats:
        """Return w(record, K) for one of `records` for each of `itemsets`."""
        weights = np.zeros(itemsets.shape[1])
        there = np.flatnonzero((itemsets >= 0).all(axis=0) & (records >= 0))
        for batch in batches(len(there)):
            part = there[batch]
            kind, place = np.unique(self.kind[records[part]], return_inverse=True)
            items = distinct(itemsets[:, part].ravel())
            p = (self.standing[kind] @ self.members[:, items] + self.corrections[kind][:, items]).toarray()
            weights[part] = p[place, np.searchsorted(items, itemsets[:, part])].prod(axis=0)
        return weights

    def extended(self, itemsets: Ints) -> tuple[Floats, Floats]:
        """Estimate the supports of `itemsets`, and of each with one more item: itemsets × items."""
        supports, extended = np.zeros(itemsets.shape[1]), np.zeros((itemsets.shape[1], self.items))
        for part, product in self._products(itemsets):
            supports[part] = product @ self.weight
            weighted = product.multiply(self.weight[None]).tocsr()
            expected = (weighted @ self.standing) @ self.members + weighted @ self.corrections
            extended[part] = expected.toarray()
        return supports, extended


def _things(standing: Matrix, elements: Elements, row: Ints, item: Ints) -> tuple[Ints, Ints]:
    """Return the entries of `standing` for items in rows, and the place of the row and item of each."""
    of_item, items = _by_item(elements)
    at, place = runs(np.searchsorted(items, item), np.searchsorted(items, item, side="right"))
    element = of_item[at]
    kinds = max(1, standing.shape[1])
    keys = np.repeat(np.arange(standing.shape[0]), np.diff(standing.indptr)) * kinds + standing.indices
    entry, there = places_in(keys, row[place] * kinds + element)
    return entry[there], place[there]


def _by_item(elements: Elements) -> tuple[Ints, Ints]:
    """Return the elements of items and the items, ascending by item."""
    element = np.repeat(np.arange(len(elements.size)), elements.size)
    order = np.argsort(elements.item, kind="stable")
    return element[order], elements.item[order]


def _eliminated(standing: Matrix, elements: Elements, eliminated: tuple[Ints, Ints] | None) -> Ints:
    """Set the values of `standing` to the value of one member; return the eliminated members, `row * items + item`."""
    left: Floats = elements.size[standing.indices].astype(np.float64)
    gone: Ints = np.zeros(0, np.int64)
    if eliminated is not None and len(eliminated[0]):
        cells = distinct(eliminated[0] * elements.items + eliminated[1])
        entry, place = _things(standing, elements, *np.divmod(cells, elements.items))
        label = ~elements.plain[standing.indices[entry]]
        left -= np.bincount(entry[label], minlength=len(left))
        gone = distinct(cells[place[label]])
    standing.data = 1 / np.maximum(left, 1)
    return gone


def _corrected(standing: Matrix, elements: Elements, gone: Ints) -> Matrix:
    """Return what p differs by from the sum over the things of a record: records × items."""
    several = np.flatnonzero(np.bincount(elements.item, minlength=elements.items) > 1)
    twice: Ints = np.zeros(0, np.int64)
    if len(several):
        shape = (len(elements.size), elements.items)
        start = np.append(elements.start, len(elements.item))
        ones = sparse.csr_array((np.ones(len(elements.item)), elements.item, start), shape)[:, several]
        there = sparse.csr_array((np.ones(standing.nnz), standing.indices, standing.indptr), standing.shape)
        counts = sparse.coo_array(there @ ones)
        over = counts.data > 1
        twice = np.sort(counts.row[over].astype(np.int64) * elements.items + several[counts.col[over]])
    cells = distinct(np.concatenate((gone, twice)))
    row, item = np.divmod(cells, elements.items)
    entry, place = _things(standing, elements, row, item)
    worth = standing.data[entry]
    # A plain item that the record shows stays: only what labels stand for is eliminated.
    kept = ~among(cells, gone)[place] | elements.plain[standing.indices[entry]]
    most = np.zeros(len(cells))
    np.maximum.at(most, place, np.where(kept, worth, 0.0))
    data = most - np.bincount(place, worth, len(cells))
    return sparse.coo_array((data, (row, item)), (standing.shape[0], elements.items)).tocsr()
