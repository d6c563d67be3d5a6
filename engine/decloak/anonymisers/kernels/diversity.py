"""l^m-diversity: an attacker with m items of a person infers any sensitive item with a probability of at most 1/l.

Records are the generalised items, in the tree, and separately the hidden ones: sensitive items, which are published as
they are. A set c of 1 to m nodes of the cut is a violation if more than one in l of the records with all of c have a
sensitive item s: sup(c + s) · l > sup(c). Raising the cut may make a set violate that did not before, so one pass is
not enough. The cheapest choice of nodes above it cures the first violation (fewer nodes first, then by their labels),
or one of its nodes is raised a step. This is repeated until no violation is left. Supports of nodes do not change with
the cut, so only sets with a new node need to be checked again.
"""

from collections.abc import Iterator, Sequence
from functools import partial, reduce
from heapq import heappop, heappush
from typing import NamedTuple, TypeAlias

import numpy as np

from decloak.anonymisers.kernels.count_tree import extended
from decloak.anonymisers.kernels.raised_cut import Raised, cure, ranks
from decloak.anonymisers.kernels.records import entries_of, starts
from decloak.arrays import Ints
from decloak.checks import check_whole, longest
from decloak.data.hierarchy import Hierarchy
from decloak.errors import DecloakError
from decloak.lazy import sparse

PIECE = 1 << 21
"""Largest number of entries of a product, unless a single set of nodes has more."""

Records: TypeAlias = "sparse.csr_array"


def diversity(
    tree: Hierarchy,
    records: Records,
    hidden: Sequence[Sequence[str]],
    l: int,  # noqa: E741 (the word of the paper)
    m: int,
) -> Ints:
    """Return a cut of `tree`, as ascending nodes, in which `m` nodes give a sensitive item a probability of at most 1/l
    (`l`).

    `hidden` are the sensitive items of every one of the `records`. The search is a heuristic: if it raises the cut to
    the root, there may still be a lower cut that is diverse.

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
    """The current cut, and the violations found so far, the first ones first."""

    def __init__(self, tree: Hierarchy, records: Records, hidden: Records, l: int) -> None:  # noqa: E741
        self._tree, self._hidden, self._l = tree, hidden, l
        self._holding = extended(tree, records)
        self._columns = sparse.csc_array(self._holding)
        self._rank = ranks(tree, np.diff(self._columns.indptr))
        # Violations are cured in the order of labels, so the queue has the ranks of labels.
        self._by_label = np.argsort(np.array(tree.labels, dtype=object), kind="stable")
        self._place = np.argsort(self._by_label)
        self._waiting: list[tuple[int, tuple[int, ...]]] = []
        self.raised = Raised(tree, tree.occurrences(records))

    def cure_all(self, size: int) -> None:
        """Raise the cut until no set of 1 to `size` nodes violates, given that smaller sets do not."""
        self._enqueue(_violating(self._holding, self._hidden, self.raised.cut, size, self._l))
        while self._waiting:
            _, label_ranks = heappop(self._waiting)
            itemset = self._by_label[list(label_ranks)].tolist()
            # The cure of another itemset has cured this one too.
            if any(map(self.raised.dead, itemset)):
                continue
            # Where no choice of nodes is diverse, a step up changes which sets there are.
            new = cure(self.raised, self._rank, itemset, 1, self._is_diverse) or (self._step(itemset),)
            for node in new:
                self.raised.commit(node)
            for node in new:
                self._find_violations(node, size)

    def _find_violations(self, node: int, most: int) -> None:
        """Find the violations that contain a node."""
        cut, rows = self.raised.cut, self._rows(node)
        holding, hidden = self._holding[rows], self._hidden[rows]
        for size in range(most):
            itemsets = _violating(holding, hidden, cut[cut != node], size, self._l)
            self._enqueue(np.column_stack((np.full(len(itemsets), node), itemsets)))

    def _enqueue(self, itemsets: Ints) -> None:
        for label_ranks in np.sort(self._place[itemsets]).tolist():
            heappush(self._waiting, (len(label_ranks), tuple(label_ranks)))

    def _rows(self, node: int) -> Ints:
        start, end = self._columns.indptr[[node, node + 1]]
        return self._columns.indices[start:end].astype(np.int64)

    def _is_diverse(self, itemset: tuple[int, ...]) -> int:
        rows = reduce(partial(np.intersect1d, assume_unique=True), map(self._rows, itemset))
        return int(self._largest_group(rows) * self._l <= len(rows))

    def _largest_group(self, rows: Ints) -> int:
        """Return the largest number of the records with the same sensitive item."""
        chosen = np.zeros(self._hidden.shape[0], np.int64)
        chosen[rows] = 1
        return int((chosen @ self._hidden).max(initial=0))

    def _step(self, itemset: Sequence[int]) -> int:
        """Return the parent of one of the nodes, the cheapest to commit."""
        tree, raised = self._tree, self.raised
        above = [int(tree.parent[node]) for node in itemset if node]
        if not above:
            rows = self._rows(0)
            most = f"{self._largest_group(rows)} of {len(rows)} records have the same sensitive item"
            hint = "lower l, or use fewer sensitive items. The search is heuristic, so a lower cut may exist"
            raise DecloakError(f"infeasible: {most}, l is {self._l}", hint=hint)
        return min(above, key=lambda node: (raised.extra(node), tree.leaves[node], self._rank[node]))


def _matrix(hidden: Sequence[Sequence[str]]) -> Records:
    """Return a matrix of records × sensitive items, 1 where a record has one."""
    code = {item: number for number, item in enumerate(sorted(set().union(*hidden)))}
    indices = np.array([code[item] for row in hidden for item in set(row)], np.int64)
    shape = (len(hidden), len(code))
    return sparse.csr_array(
        (np.ones(len(indices), np.int64), indices, starts([len(set(row)) for row in hidden])), shape
    )


class _Occurrences(NamedTuple):
    """Sets of columns and their occurrences: set g in records `record[start[g]:start[g + 1]]`.

    The columns after the last one of the set in a record begin at `after` in the indices of the matrix.
    """

    sets: Ints
    start: Ints
    record: Ints
    after: Ints


def _violating(holding: Records, hidden: Records, nodes: Ints, size: int, l: int) -> Ints:  # noqa: E741
    """Return the sets of `size` nodes, one per row, where more than one in l of the records have the same sensitive
    item.
    """
    l = min(l, hidden.shape[0] + 1)  # noqa: E741 (no different; the products of a larger one would not fit)
    # The set of no nodes: here all records have the new node already.
    if size == 0:
        return np.empty((int(hidden.sum(axis=0).max(initial=0) * l > hidden.shape[0]), 0), np.int64)
    columns = sparse.csr_array(holding[:, nodes])
    columns.sort_indices()
    columns.data = np.ones(columns.nnz, np.int64)
    records = np.arange(columns.shape[0])
    nothing = _Occurrences(np.empty((1, 0), np.int64), np.array([0, len(records)]), records, columns.indptr[:-1])
    parts = [_too_certain(columns, hidden, part, l) for part in _grown(columns, hidden, nothing, size)]
    violating: Ints = nodes[np.concatenate([np.empty((0, size), np.int64), *parts])]
    return violating


def _grown(columns: Records, hidden: Records, occurrences: _Occurrences, size: int) -> Iterator[_Occurrences]:
    """Yield the sets of `size` - 1 columns in a record with a sensitive item, in parts of bounded cost."""
    lengths, secrets = np.diff(columns.indptr)[occurrences.record], np.diff(hidden.indptr)[occurrences.record]
    last = occurrences.sets.shape[1] == size - 1
    total = starts(np.add.reduceat(lengths * (1 + secrets) if last else lengths, occurrences.start[:-1]))
    begin = 0
    while begin < len(occurrences.sets):
        end = max(begin + 1, int(np.searchsorted(total, total[begin] + PIECE, side="right")) - 1)
        part = _chosen(occurrences, np.arange(begin, end))
        if last:
            yield part
        else:
            yield from _grown(columns, hidden, _extended(columns, hidden, part), size)
        begin = end


def _extended(columns: Records, hidden: Records, occurrences: _Occurrences) -> _Occurrences:
    """Return the sets with one more column, without those in no record with a sensitive item: they cannot violate."""
    tails = columns.indptr[occurrences.record + 1] - occurrences.after
    entries, row = (
        entries_of(occurrences.after, tails),
        np.repeat(np.arange(len(occurrences.sets)), np.diff(occurrences.start)),
    )
    key = np.repeat(row, tails) * columns.shape[1] + columns.indices[entries]
    order = np.argsort(key, kind="stable")
    key = key[order]
    first = np.flatnonzero(np.diff(key, prepend=-1))
    sets = np.column_stack((occurrences.sets[key[first] // columns.shape[1]], key[first] % columns.shape[1]))
    grown = _Occurrences(
        sets, np.append(first, len(key)), np.repeat(occurrences.record, tails)[order], entries[order] + 1
    )
    secret = np.diff(hidden.indptr)[grown.record] > 0
    return _chosen(grown, np.flatnonzero(np.add.reduceat(secret, first))) if len(first) else grown


def _chosen(occurrences: _Occurrences, sets: Ints) -> _Occurrences:
    """Return some of the sets with their occurrences."""
    lengths = np.diff(occurrences.start)[sets]
    entries = entries_of(occurrences.start[sets], lengths)
    return _Occurrences(
        occurrences.sets[sets], starts(lengths), occurrences.record[entries], occurrences.after[entries]
    )


def _too_certain(columns: Records, hidden: Records, occurrences: _Occurrences, l: int) -> Ints:  # noqa: E741
    """Return the sets with one more column that violate.

    Their last column is counted by products, in all of their records and in those with each sensitive item s, a row for
    every set and s.
    """
    wide, items = columns.shape[1], max(1, hidden.shape[1])
    secrets = np.diff(hidden.indptr)[occurrences.record]
    number = np.repeat(np.arange(len(occurrences.sets)), np.diff(occurrences.start))
    secret = np.repeat(number, secrets) * items + hidden.indices[entries_of(hidden.indptr[occurrences.record], secrets)]
    whole = _restrict(number, occurrences.record, len(occurrences.sets), columns)
    certain = _restrict(secret, np.repeat(occurrences.record, secrets), len(occurrences.sets) * items, columns).tocoo()
    later = np.flatnonzero(certain.col > _last(occurrences)[certain.row // items])
    row, column = certain.row[later] // items, certain.col[later]
    broken = certain.data[later] * l > whole[row, column]
    key = np.unique(row[broken] * np.int64(wide) + column[broken])
    return np.column_stack((occurrences.sets[key // wide], key % wide))


def _restrict(number: Ints, record: Ints, rows: int, columns: Records) -> Records:
    among = sparse.csr_array((np.ones(len(number), np.int64), (number, record)), (rows, columns.shape[0]))
    return sparse.csr_array(among @ columns)


def _last(occurrences: _Occurrences) -> Ints:
    return occurrences.sets[:, -1] if occurrences.sets.shape[1] else np.array([-1])
