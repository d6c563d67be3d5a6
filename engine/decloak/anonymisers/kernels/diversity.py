"""l^m-diversity: whoever knows m items of a person is no surer than 1/l of any sensitive item.

Records are the items that are generalised, in the tree, and beside them what is hidden: sensitive items, which are
published as they are. A set c of 1..m nodes of the cut violates when of the records that hold all of c more than one
in l have a sensitive item s: sup(c + s) · l > sup(c). Raising the cut may make a set violate that did not before, so
one pass is not enough: the first violation (fewer nodes first, then by their labels) is cured by the cheapest choice
of nodes above it, or one of its nodes is raised a step, until there are none. Supports of nodes do not change with
the cut; so only sets with a node that is new in the cut have to be looked at again.
"""

from collections.abc import Iterator, Sequence
from functools import partial, reduce
from heapq import heappop, heappush
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from decloak.anonymisers.kernels.count_tree import extended
from decloak.anonymisers.kernels.raised_cut import Raised, cure, ranks
from decloak.anonymisers.kernels.records import entries_of, starts
from decloak.arrays import Ints
from decloak.checks import check_whole, longest
from decloak.data.hierarchy import Hierarchy
from decloak.errors import DecloakError
from decloak.lazy import sparse

__all__ = ["diversity"]

PIECE = 1 << 21
"""Entries of a product made at once, at most, unless a single set of nodes has more."""

Records: TypeAlias = "sparse.csr_array[Any]"


def diversity(
    tree: Hierarchy,
    records: Records,
    hidden: Sequence[Sequence[str]],
    l: int,  # noqa: E741 (the word of the paper)
    m: int,
) -> Ints:
    """A cut in which no m nodes tell a sensitive item with more certainty than one in l, as ascending nodes.

    `hidden` are the sensitive items of every record. The search is a heuristic: where it finds nothing but the root
    to violate, there may still be a lower cut that is diverse.

    >>> tree = Hierarchy.from_parents({"a1": "A", "a2": "A", "A": "ALL", "b": "ALL"})
    >>> found = diversity(tree, tree.code([["a1"], ["a2"], ["b"], ["b"]]), [["s"], [], [], []], 2, 1)
    >>> [tree.labels[node] for node in found]
    ['A', 'b']
    """
    check_whole(1, l=l, m=m)
    search = _Search(tree, records, _matrix(hidden), l)
    for size in range(1, longest(records, m) + 1):
        search.cure_all(size)
    return search.raised.cut


class _Search:
    """The cut as it is raised, and the violations found so far, the first ones first."""

    def __init__(self, tree: Hierarchy, records: Records, hidden: Records, l: int) -> None:  # noqa: E741
        self._tree, self._hidden, self._l = tree, hidden, l
        self._holding = extended(tree, records)
        self._columns = sparse.csc_array(self._holding)
        self._rank = ranks(tree, np.diff(self._columns.indptr))
        self._by_label = np.argsort(np.array(tree.labels, dtype=object), kind="stable")
        self._place = np.argsort(self._by_label)
        self._waiting: list[tuple[int, tuple[int, ...]]] = []
        self.raised = Raised(tree, tree.occurrences(records))

    def cure_all(self, size: int) -> None:
        """Raise the cut until no set of 1 to `size` nodes violates, when none of fewer does."""
        self._wait(_violating(self._holding, self._hidden, self.raised.cut, size, self._l))
        while self._waiting:
            _, places = heappop(self._waiting)
            itemset = self._by_label[list(places)].tolist()
            # The cure of another itemset has cured this one too.
            if any(map(self.raised.dead, itemset)):
                continue
            new = cure(self.raised, self._rank, itemset, 1, self._is_diverse) or (self._step(itemset),)
            for node in new:
                self.raised.commit(node)
            for node in new:
                self._look_at(node, size)

    def _look_at(self, node: int, most: int) -> None:
        """Find the violations that a node is part of."""
        cut, rows = self.raised.cut, self._rows(node)
        holding, hidden = self._holding[rows], self._hidden[rows]
        for size in range(most):
            itemsets = _violating(holding, hidden, cut[cut != node], size, self._l)
            self._wait(np.column_stack((np.full(len(itemsets), node), itemsets)))

    def _wait(self, itemsets: Ints) -> None:
        for places in np.sort(self._place[itemsets]).tolist():
            heappush(self._waiting, (len(places), tuple(places)))

    def _rows(self, node: int) -> Ints:
        start, end = self._columns.indptr[[node, node + 1]]
        return self._columns.indices[start:end].astype(np.int64)

    def _is_diverse(self, itemset: tuple[int, ...]) -> int:
        rows = reduce(partial(np.intersect1d, assume_unique=True), map(self._rows, itemset))
        return int(self._most_certain(rows) * self._l <= len(rows))

    def _most_certain(self, rows: Ints) -> int:
        """How many of some records have the sensitive item that most of them have."""
        chosen = np.zeros(self._hidden.shape[0], np.int64)
        chosen[rows] = 1
        return int((chosen @ self._hidden).max(initial=0))

    def _step(self, itemset: Sequence[int]) -> int:
        """The node above one of some nodes that is the cheapest to commit."""
        tree, raised = self._tree, self.raised
        above = [int(tree.parent[node]) for node in itemset if node]
        if not above:
            rows = self._rows(0)
            most = f"{self._most_certain(rows)} of {len(rows)} records have the same sensitive item"
            hint = "lower l, or leave some of them out; a lower cut may exist: the search is heuristic"
            raise DecloakError(f"infeasible: {most}, l is {self._l}", hint=hint)
        return min(above, key=lambda node: (raised.extra(node), tree.leaves[node], self._rank[node]))


def _matrix(hidden: Sequence[Sequence[str]]) -> Records:
    """Records × sensitive items, 1 where a record has one."""
    code = {item: number for number, item in enumerate(sorted(set().union(*hidden)))}
    indices = np.array([code[item] for row in hidden for item in set(row)], np.int64)
    shape = (len(hidden), len(code))
    return sparse.csr_array(
        (np.ones(len(indices), np.int64), indices, starts([len(set(row)) for row in hidden])), shape
    )


class _Places(NamedTuple):
    """Sets of columns and where they are held: set g by records `record[start[g]:start[g + 1]]`.

    What follows the last column of the set in a record begins at `after` in the indices of the matrix.
    """

    sets: Ints
    start: Ints
    record: NDArray[Any]
    after: NDArray[Any]


def _violating(holding: Records, hidden: Records, nodes: Ints, size: int, l: int) -> Ints:  # noqa: E741
    """The sets of `size` nodes, a row each, of whose records more than one in l have the same sensitive item."""
    l = min(l, hidden.shape[0] + 1)  # noqa: E741 (no different; the products of a larger one would not fit)
    if size == 0:
        return np.empty((int(hidden.sum(axis=0).max(initial=0) * l > hidden.shape[0]), 0), np.int64)
    columns = sparse.csr_array(holding[:, nodes])
    columns.sort_indices()
    columns.data = np.ones(columns.nnz, np.int64)
    records = np.arange(columns.shape[0])
    nothing = _Places(np.empty((1, 0), np.int64), np.array([0, len(records)]), records, columns.indptr[:-1])
    parts = [_too_certain(columns, hidden, part, l) for part in _grown(columns, hidden, nothing, size)]
    violating: Ints = nodes[np.concatenate([np.empty((0, size), np.int64), *parts])]
    return violating


def _grown(columns: Records, hidden: Records, places: _Places, size: int) -> Iterator[_Places]:
    """The sets of `size` - 1 columns that a record with a sensitive item holds, in parts of bounded cost."""
    lengths, secrets = np.diff(columns.indptr)[places.record], np.diff(hidden.indptr)[places.record]
    last = places.sets.shape[1] == size - 1
    total = starts(np.add.reduceat(lengths * (1 + secrets) if last else lengths, places.start[:-1]))
    begin = 0
    while begin < len(places.sets):
        end = max(begin + 1, int(np.searchsorted(total, total[begin] + PIECE, side="right")) - 1)
        part = _chosen(places, np.arange(begin, end))
        if last:
            yield part
        else:
            yield from _grown(columns, hidden, _extended(columns, hidden, part), size)
        begin = end


def _extended(columns: Records, hidden: Records, places: _Places) -> _Places:
    """The sets of one column more, without those that no record with a sensitive item holds: they cannot violate."""
    tails = columns.indptr[places.record + 1] - places.after
    entries, row = entries_of(places.after, tails), np.repeat(np.arange(len(places.sets)), np.diff(places.start))
    key = np.repeat(row, tails) * columns.shape[1] + columns.indices[entries]
    order = np.argsort(key, kind="stable")
    key = key[order]
    first = np.flatnonzero(np.diff(key, prepend=-1))
    sets = np.column_stack((places.sets[key[first] // columns.shape[1]], key[first] % columns.shape[1]))
    grown = _Places(sets, np.append(first, len(key)), np.repeat(places.record, tails)[order], entries[order] + 1)
    secret = np.diff(hidden.indptr)[grown.record] > 0
    return _chosen(grown, np.flatnonzero(np.add.reduceat(secret, first))) if len(first) else grown


def _chosen(places: _Places, sets: Ints) -> _Places:
    """Some of the sets with their places."""
    lengths = np.diff(places.start)[sets]
    entries = entries_of(places.start[sets], lengths)
    return _Places(places.sets[sets], starts(lengths), places.record[entries], places.after[entries])


def _too_certain(columns: Records, hidden: Records, places: _Places, l: int) -> Ints:  # noqa: E741
    """The sets of one column more that violate: their last column is counted by products, in all of their records and
    in those that have each sensitive item s, a row for every set and s.
    """
    wide, items = columns.shape[1], max(1, hidden.shape[1])
    secrets = np.diff(hidden.indptr)[places.record]
    number = np.repeat(np.arange(len(places.sets)), np.diff(places.start))
    secret = np.repeat(number, secrets) * items + hidden.indices[entries_of(hidden.indptr[places.record], secrets)]
    whole = _held_by(number, places.record, len(places.sets), columns)
    certain = _held_by(secret, np.repeat(places.record, secrets), len(places.sets) * items, columns).tocoo()
    later = np.flatnonzero(certain.col > _last(places)[certain.row // items])
    row, column = certain.row[later] // items, certain.col[later]
    broken = certain.data[later] * l > whole[row, column]
    key = np.unique(row[broken] * np.int64(wide) + column[broken])
    return np.column_stack((places.sets[key // wide], key % wide))


def _held_by(number: Ints, record: NDArray[Any], rows: int, columns: Records) -> Records:
    among = sparse.csr_array((np.ones(len(number), np.int64), (number, record)), (rows, columns.shape[0]))
    return sparse.csr_array(among @ columns)


def _last(places: _Places) -> Ints:
    return places.sets[:, -1] if places.sets.shape[1] else np.array([-1])
