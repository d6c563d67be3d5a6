"""Questions about known items of people, answered by clusters, some of them at a time; and assignments at random."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from types import ModuleType
from typing import NamedTuple

import numpy as np

from decloak.arrays import Floats, Ints, Mask
from decloak.compiled import try_import
from decloak.counting.blocks import some_numbers
from decloak.counting.itemsets import distinct
from decloak.data.assignment import AssignmentArrays, AssignmentList, RowLists
from decloak.data.content import Cluster
from decloak.data.disassociated import Disassociated
from decloak.data.formats.cluster_files import ClusterArrays
from decloak.data.rows import runs
from decloak.measure.kernels.candidate_index import CandidateIndex
from decloak.measure.kernels.chunk_guesses import ClusterIndex
from decloak.measure.kernels.estimate.chunks import ChunkEstimates
from decloak.measure.kernels.estimate.figures import FOUND

ENOUGH = FOUND * (1 + 1e-9)
"""The share of its estimate that the weight of a record must exceed, as for records in memory."""

_ONE = np.uint64(1)


@try_import
def loops() -> ModuleType:
    """Return the compiled loops over clusters."""
    from decloak.measure.kernels import accuracy_loops

    return accuracy_loops


def search_all(
    sets: Ints, some: ClusterArrays, names: Sequence[str], assigned: AssignmentArrays | None, first: int, draw: int = 0
) -> tuple[Ints, Ints] | None:  # fmt: skip
    """Return `hits` and `row` of a `SetSearch` over all clusters of a file, by compiled loops; None without these.

    A row has its anchor and what is `assigned` to it, at random with a `draw` above 0. Without assignments it may have
    all other items of its cluster. `names` are those of the codes in `sets`, and rows are numbered from `first`.
    """
    if (compiled := loops()) is None:
        return None
    code = {name: at for at, name in enumerate(names)}
    of = np.array([code[name] for name in some.names] or [0], np.int32)
    given = AssignmentArrays.of(()) if assigned is None else assigned
    units = np.array([code[name] for name in given.names] or [0], np.int64)[given.items.rows]
    order = np.argsort(sets[:, 0], kind="stable")
    begin = np.searchsorted(sets[order, 0], np.arange(len(names) + 1))
    found = np.zeros((2, len(sets)), np.int64)
    hits, row = found[0].copy(), found[1].copy()
    compiled.search_rows(
        some.sizes, some.chunks, some.lists, of[some.items], some.subs, some.entries, of[some.held], some.terms,
        of[some.term], assigned is None, given.cluster, given.items.start, units, given.given.start, given.given.rows,
        draw, sets[order], begin, first, hits, row,
    )  # fmt: skip
    found[:, order] = hits, row
    return found[0], found[1]


class SetSearch:
    """A search for the rows that may have each of `sets`: three codes below `items`, which may repeat.

    `hits` counts the rows up to 2. `row` has the number of the row, where there is one.
    """

    def __init__(self, sets: Ints, items: int) -> None:
        self.sets, self.hits = sets, np.zeros(len(sets), np.int64)
        self.row = np.zeros(len(sets), np.int64)
        self._order = np.argsort(sets[:, 0], kind="stable")
        self._begin = np.searchsorted(sets[self._order, 0], np.arange(items + 1))
        self._place = np.full(items, -1, np.int64)

    def search(self, items: Ints, cells: Mask, first: int = 0) -> None:
        """Search a cluster: `cells` says which row may have which of its `items`; rows are numbered from `first`.

        >>> search = SetSearch(np.array([[0, 1, 1], [0, 2, 2], [0, 0, 0]]), 3)
        >>> search.search(np.array([0, 1]), np.array([[True, True], [False, True]]))
        >>> search.hits.tolist()
        [1, 0, 2]
        """
        self._place[items] = np.arange(len(items))
        which = self._order[runs(self._begin[items], self._begin[items + 1])[0]]
        which = which[self.hits[which] < 2]
        place = self._place[self.sets[which]]
        there = (place >= 0).all(axis=1)
        which, place = which[there], place[there]
        self._place[items] = -1
        rows = cells.shape[1]
        packed = np.zeros((len(items), -(-rows // 64) * 8), np.uint8)
        packed[:, : -(-rows // 8)] = np.packbits(cells, axis=1, bitorder="little")
        words = packed.view(np.uint64)
        candidates = words[place[:, 0]] & words[place[:, 1]] & words[place[:, 2]]
        count = np.bitwise_count(candidates).sum(axis=1, dtype=np.int64)
        alone = np.flatnonzero(count == 1)
        if len(alone):
            word = (candidates[alone] != 0).argmax(axis=1)
            bit = np.bitwise_count(candidates[alone, word] - _ONE).astype(np.int64)
            self.row[which[alone]] += first + word * 64 + bit
        self.hits[which] = np.minimum(self.hits[which] + count, 2)

    def search_release(self, release: Disassociated, listed: AssignmentList, names: Sequence[str], first: int) -> None:
        """Search all clusters of `release`: rows have their anchors, and what is `listed`; see `search_all`."""
        code = {name: at for at, name in enumerate(names)}
        units = RowLists.of([[code[item] for item in items] for _, items in listed.kinds])
        ends = np.searchsorted(listed.cluster, np.arange(len(release.clusters) + 1))
        place = np.full(len(names), -1, np.int64)
        for at, cluster in enumerate(release.clusters):
            items = np.array([code[item] for item in cluster.items], np.int64)
            place[items] = np.arange(len(items))
            cells, some = anchor_cells(cluster, code, items, others=False), np.arange(ends[at], ends[at + 1])
            given, own = listed.given.select(some), units.select(listed.kind[some])
            entry, of = runs(own.start[given.list_of_row], own.start[given.list_of_row + 1])
            cells[place[own.rows[entry]], given.rows[of]] = True
            self.search(items, cells, first)
            first += cluster.size


def at_random(listed: AssignmentList, sizes: Ints, random: np.random.Generator) -> AssignmentList:
    """Return the assignments `listed` to `random` rows: as many for each unit, of the `sizes` of the clusters."""
    owner, size = listed.given.list_of_row, sizes[listed.cluster]
    rows = random.integers(size[owner])
    left = np.arange(len(rows))
    while len(left):
        # A row that a unit has twice is drawn again: so any rows are as likely.
        keys = owner[left] * (int(sizes.max()) + 1) + rows[left]
        order = np.argsort(keys, kind="stable")
        twice = left[order[1:][keys[order[1:]] == keys[order[:-1]]]]
        rows[twice] = random.integers(size[owner[twice]])
        left = left[np.isin(owner[left], owner[twice])]
    return AssignmentList(listed.cluster, listed.kind, listed.kinds, listed.given._replace(rows=rows))


def drawn_in_turn(listed: AssignmentList, sizes: Ints, state: int) -> tuple[AssignmentList, int]:
    """Return the assignments `listed` to the rows that compiled loops draw from `state` on, and the next state.

    `sizes` are those of the clusters.
    """
    drawn, all_bits = list[list[int]](), (1 << 64) - 1
    for size, rows in zip(sizes[listed.cluster].tolist(), listed.given.lengths.tolist(), strict=True):
        taken: dict[int, None] = {}
        while len(taken) < rows:
            state = state + 0x9E3779B97F4A7C15 & all_bits
            value = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 & all_bits
            value = (value ^ value >> 27) * 0x94D049BB133111EB & all_bits
            taken[(value ^ value >> 31) % size] = None
        drawn.append(list(taken))
    return AssignmentList(listed.cluster, listed.kind, listed.kinds, RowLists.of(drawn)), state


class Questions(NamedTuple):
    """Questions about all clusters: sets of items, random items with the weights of records, and pairs of items."""

    sets: Ints
    itemsets: Sequence[Ints]
    weights: Sequence[Floats]
    pairs: Sequence[tuple[str, str]]


class Found(NamedTuple):
    """Answers of some clusters: the rows that may have each set, up to 2; the estimates of random items; the items that
    pairs imply, None where no cluster may have both.
    """

    hits: Ints
    estimates: Sequence[Floats]
    implied: Sequence[frozenset[str] | None]


def both_implied(one: frozenset[str] | None, other: frozenset[str] | None) -> frozenset[str] | None:
    """Return the items that follow in two groups of clusters, None where neither may have the pair."""
    return other if one is None else one if other is None else one & other


def _index_clusters(some: ClusterArrays, numbers: Ints, code: Mapping[str, int]) -> CandidateIndex:
    """Return an index of the items of `code` that the clusters from the first to the last of `numbers` show."""
    of = np.array([code[name] for name in some.names] or [0], np.int64)
    span, entries = slice(int(numbers[0]), int(numbers[-1]) + 2), []
    for start, items in ((some.lists[some.chunks[span]], some.items), (some.terms[span], some.term)):
        cluster = np.repeat(np.arange(len(numbers)), np.diff(start))
        entries.append(cluster * len(code) + of[items[start[0] : start[-1]]])
    return CandidateIndex.of(len(numbers), len(code), np.concatenate(entries))


def search_clusters(
    some: ClusterArrays, whole: Disassociated, names: Sequence[str], asked: Questions, hits: Ints | None = None
) -> Found:
    """Answer the questions `asked` by the clusters `some` of a file, whose items have `names`.

    `whole` is the release without its clusters. `hits` are the rows that may have the sets, if they are known.
    """

    def released(numbers: Ints) -> Disassociated:
        """Return the release of the clusters `numbers`: only those that a question needs are made by name."""
        return replace(whole, clusters=tuple(some.select(numbers).clusters()))

    code = {name: at for at, name in enumerate(names)}
    search = SetSearch(asked.sets, len(names))
    estimates = [np.zeros(items.shape[1]) for items in asked.itemsets]
    implied: list[frozenset[str] | None] = [None] * len(asked.pairs)
    pairs = np.array([[code[one], code[other]] for one, other in asked.pairs], np.int64).reshape(-1, 2)
    open_pairs = np.ones(len(pairs), np.bool_)
    for numbers in some_numbers(some.sizes):
        going = [np.flatnonzero(weight > sums * ENOUGH) for weight, sums in zip(asked.weights, estimates, strict=True)]
        itemsets = [items[:, some_people] for items, some_people in zip(asked.itemsets, going, strict=True)]
        for cluster in some.select(numbers).clusters() if hits is None else ():
            items = np.array([code[item] for item in cluster.items], np.int64)
            search.search(items, anchor_cells(cluster, code, items, others=True))
        showing = _index_clusters(some, numbers, code)
        having = np.concatenate([numbers[:0], *map(showing.candidates_of_any, itemsets)])
        estimator = ChunkEstimates.of(released(numbers[distinct(having)]), code)
        for sums, some_people, one in zip(estimates, going, itemsets, strict=True):
            sums[some_people] += estimator.supports(one)
        index = ClusterIndex(released(numbers[showing.candidates_of_any(pairs[open_pairs].T)]))
        for at in np.flatnonzero(open_pairs).tolist():
            implied[at] = both_implied(implied[at], index.implied(asked.pairs[at], None))
            open_pairs[at] = implied[at] is None or bool(implied[at])
    return Found(search.hits if hits is None else hits, estimates, implied)


def anchor_cells(cluster: Cluster, code: Mapping[str, int], items: Ints, *, others: bool) -> Mask:
    """Return which row of `cluster` has which of its `items` in its anchor; with `others` it may have all others."""
    cells = np.zeros((len(items), cluster.size), np.bool_)
    first = cluster.record_chunks[0] if cluster.record_chunks else None
    if others:
        cells[len(first.items) if first else 0 :] = True
    if first:
        place = {item: at for at, item in enumerate(first.items)}
        lengths = list(map(len, first.subrecords))
        held = np.fromiter((place[item] for item in chain.from_iterable(first.subrecords)), np.int64, sum(lengths))
        cells[held, np.repeat(np.arange(len(lengths)), lengths)] = True
    return cells
