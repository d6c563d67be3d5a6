"""Rows of a disassociated release with their original records, and the assignments of an attack, as arrays.

Rows are numbered through all clusters, and so are classes (the rows of one anchor); items are numbered in the order of
their names. An item of a row is the number `row * items + item`. Items of classes and clusters have numbers of the same
kind, so that the items of rows can be looked up. A unit is truly in a row when the record, restricted to the items of
the unit's chunk, is the unit.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, chain, pairwise
from typing import NamedTuple

import numpy as np

from decloak.arrays import Floats, Ints, Mask
from decloak.counting.itemsets import among, distinct, kinds_of, places_in
from decloak.data.assignment import Assignment, AssignmentList, ChunkNumber, Kind, RowLists
from decloak.data.content import Cluster
from decloak.data.disassociated import Disassociated
from decloak.data.pairs import first_occurrences
from decloak.data.rows import CodedRows, runs
from decloak.errors import DecloakError
from decloak.lazy import sparse
from decloak.rules.reassociate.shared import is_shared, shared_places
from decloak.rules.reassociate.units import rows_of_cluster

Records = Sequence[Collection[str]]
Truth = Sequence[Sequence[int]]
"""The row index of the record of every row of every cluster."""
TERM, NOWHERE, SHARED = -1, -2, -3
"""The chunk of an item in the term chunk, of an item that its cluster never publishes, and of an item in the first
shared chunk. Further shared chunks are below.
"""


class AssignedUnits(NamedTuple):
    """Assignments of an attack as arrays.

    For each assignment: the cluster, the unit (-1 for one that no row truly has), the number of rows (`times`), and its
    items from `begin` to `end` of `item`. For each assigned row: `row` and `assignment`. `added` are the items of rows
    that were assigned. `shared` says whether any unit is of a shared chunk.
    """

    cluster: Ints
    unit: Ints
    times: Ints
    row: Ints
    assignment: Ints
    added: Ints
    begin: Ints
    end: Ints
    item: Ints
    shared: bool
    spread: "Spread"


class Spread(NamedTuple):
    """The same assignments, with the places that equally likely rows share spread over these rows: row, assignment, and
    the fraction of an assignment, `part` of `whole`.
    """

    row: Ints
    assignment: Ints
    part: Ints
    whole: Ints


class TrueRows:
    """A release, and the row index of the record of every row; the first row of a cluster is `first[cluster]`.

    `held` are the items of rows in their records, `anchors` the items of classes, both ascending.
    """

    def __init__(self, release: Disassociated, records: Records, truth: Truth) -> None:
        _check(release, records, truth)
        self.release, self.records = release, records
        self.sizes = np.array([cluster.size for cluster in release.clusters], np.int64)
        self.first = np.append(0, np.cumsum(self.sizes))
        coded = CodedRows.of(records).with_used_names
        self.names = sorted(set(coded.names).union(*map(_published, release.clusters)))
        self.items = max(1, len(self.names))
        self._code = {name: code for code, name in enumerate(self.names)}
        self.cluster = np.repeat(np.arange(len(self.sizes)), self.sizes)
        # Records in the order of rows, so that the items of row i are those of its own record.
        self.record_of_row = np.array(list(chain.from_iterable(truth)), np.int64)
        behind = coded.select(self.record_of_row)
        self.held = distinct(behind.row_of_code * self.items + self._codes(coded.names)[behind.codes])
        self._last_assigned: tuple[Sequence[Assignment], AssignedUnits] | None = None

    @classmethod
    def of_truth(cls, release: Disassociated, records: Records) -> "TrueRows":
        """Return the rows of `release`, with the `records` behind the rows of all clusters."""
        ends = list(accumulate((cluster.size for cluster in release.clusters), initial=0))
        return cls(release, records, [range(*pair) for pair in pairwise(ends)])

    @property
    def rows(self) -> int:
        return int(self.first[-1])

    def _codes(self, names: Iterable[str]) -> Ints:
        return np.array([self._code[name] for name in names], np.int64)

    def _coded(self, sets: Sequence[Collection[str]]) -> Ints:
        owner = np.repeat(np.arange(len(sets)), list(map(len, sets)))
        return owner * self.items + self._codes(chain.from_iterable(sets))

    @cached_property
    def _classes(self) -> tuple[Ints, Ints]:
        """Return the class of every row, and the items of the classes' anchors."""
        clusters = list(map(rows_of_cluster, self.release.clusters))
        before = np.append(0, np.cumsum([len(rows.anchors) for rows in clusters], dtype=np.int64))[:-1]
        of_row = np.array(list(chain.from_iterable(rows.of_row for rows in clusters)), np.int64)
        of_row += np.repeat(before, self.sizes)
        return of_row, self._coded([anchor for rows in clusters for anchor in rows.anchors])

    @property
    def of_row(self) -> Ints:
        return self._classes[0]

    @property
    def anchors(self) -> Ints:
        return self._classes[1]

    @cached_property
    def anchor_items(self) -> Ints:
        """Return the items of the anchors of rows."""
        return self._anchors_of(np.arange(self.rows))

    def _anchors_of(self, row: Ints) -> Ints:
        start = np.searchsorted(self.anchors, np.arange(len(self.class_sizes) + 1) * self.items)
        of_row = self.of_row[row]
        return crossed(row, start[of_row], start[of_row + 1], self.anchors % self.items, self.items)

    def in_class(self, entries: Ints) -> Ints:
        """Return items of rows as items of the classes of these rows; `entries` are items of rows."""
        row, item = np.divmod(entries, self.items)
        return self.of_row[row] * self.items + item

    def with_anchors(self, entries: Ints) -> Ints:
        """Return `entries`, items of rows, and the items of the anchors of these rows."""
        anchors = self._anchors_of(distinct(entries // self.items))
        return distinct(np.concatenate((entries, anchors)))

    @cached_property
    def class_sizes(self) -> Ints:
        return np.bincount(self.of_row)

    @cached_property
    def _chunks(self) -> tuple[Ints, Ints]:
        """Return the items of clusters, ascending, and the chunk of each; an item is in one chunk."""
        cluster, item, chunk = published_items(self.release, self._code)
        # np.unique keeps the first index of a key: in reversed order that is the last chunk with the item.
        key, first = np.unique((cluster * self.items + item)[::-1], return_index=True)
        return key, chunk[::-1][first]

    def chunk_of(self, entries: Ints) -> Ints:
        """Return the record chunk, TERM, or NOWHERE of each of `entries`, items of rows."""
        return self._chunk_among(*self._chunks, entries)

    def _chunk_among(self, key: Ints, chunk: Ints, entries: Ints) -> Ints:
        """Return the chunk of each of `entries`, items of rows, by the chunks of items of clusters, or NOWHERE."""
        row, item = np.divmod(entries, self.items)
        place, there = places_in(key, self.cluster[row] * self.items + item)
        return np.where(there, np.append(chunk, NOWHERE)[place], NOWHERE)

    def part_of(self, entries: Ints) -> Ints:
        """Return the chunk of each of `entries`, items of rows, also if it is a shared chunk."""
        chunk = self.chunk_of(entries)
        _, key, shared = self._shared
        return np.where(chunk == NOWHERE, self._chunk_among(key, shared, entries), chunk)

    @cached_property
    def parts(self) -> int:
        """Return a number above the spread of `part_of`, so that parts differ modulo it."""
        most = max((len(cluster.record_chunks) for cluster in self.release.clusters), default=0)
        return most + len(self._shared[0]) - SHARED

    @cached_property
    def hidden(self) -> tuple[Ints, Ints]:
        """Return the items that are published apart from the anchors of their rows, and the chunk of each."""
        chunk = self.part_of(self.held)
        apart = (chunk != 0) & (chunk != NOWHERE)
        return self.held[apart], chunk[apart]

    @cached_property
    def _units(self) -> tuple[dict[Kind, int], Ints, Ints]:
        """Return the kinds of units that rows truly have, the key of each unit, and their rows: `unit * rows + row`,
        ascending.

        A key is `cluster * kinds + kind`. Units of shared chunks are included.
        """
        taken_off, chunk = self.hidden
        row, item = np.divmod(taken_off, self.items)
        # The items of a row in a record chunk are one unit, each of its terms is one.
        order = np.lexsort((item, chunk, row))
        row, item, chunk = row[order], item[order], chunk[order]
        begins = np.ones(len(row), np.bool_)
        begins[1:] = (row[1:] != row[:-1]) | (chunk[1:] != chunk[:-1]) | (chunk[1:] == TERM)
        starts = np.flatnonzero(begins)
        # Many rows have the same unit, so that names are written once for each kind.
        ends = np.append(starts, len(item))
        same = kinds_of(sparse.csr_array((np.ones(len(item), np.int8), item, ends), (len(starts), self.items)))
        named = same * self.parts + chunk[starts] % self.parts
        _, first, kind = np.unique(named, return_index=True, return_inverse=True)
        kinds = {
            (self._name(part), tuple(self.names[code] for code in item[begin:end].tolist())): number
            for number, (part, begin, end) in enumerate(
                zip(chunk[starts[first]].tolist(), starts[first].tolist(), ends[first + 1].tolist(), strict=True)
            )
        }
        keys = self.cluster[row[starts]] * len(kinds) + kind
        units = first_occurrences([keys])
        order = np.argsort(units)
        unit = order[np.searchsorted(units[order], keys)]
        return kinds, units, np.sort(unit * self.rows + row[starts])

    @cached_property
    def _shared(self) -> tuple[list[str], Ints, Ints]:
        """Return the names of shared chunks; the items of clusters that are in one, ascending, and
        the chunk of each.
        """
        entries = [
            (cluster * self.items + self._code[item], chunk)
            for cluster, named in enumerate(shared_places(self.release))
            for item, chunk in named.items()
            if item in self._code
        ]
        names = sorted({chunk for _, chunk in entries})
        place = {chunk: SHARED - at for at, chunk in enumerate(names)}
        keys, chunks = zip(*sorted((key, place[chunk]) for key, chunk in entries), strict=True) if entries else ((), ())
        return names, np.array(keys, np.int64), np.array(chunks, np.int64)

    def _name(self, chunk: int) -> ChunkNumber:
        return "T" if chunk == TERM else chunk if chunk > 0 else self._shared[0][SHARED - chunk]

    @cached_property
    def _of_shared(self) -> Mask:
        kinds, units, _ = self._units
        shared = np.array([is_shared(chunk) for chunk, _ in kinds], np.bool_)
        return shared[units % max(1, len(kinds))][self.true // max(1, self.rows)]

    @property
    def own_units(self) -> int:
        """Return the number of rows of units without those of shared chunks."""
        return int((~self._of_shared).sum())

    def reachable(self, *, shared: bool) -> Ints:
        """Return the number of rows of units of each cluster that an attack could have assigned.

        It counts the units of clusters with anchors, and with `shared` also the units of shared chunks.
        """
        anchored = np.array([bool(cluster.record_chunks) for cluster in self.release.clusters], np.bool_)
        cluster = self.cluster[self.true % max(1, self.rows)]
        counted = np.where(self._of_shared, shared, anchored[cluster])
        return np.bincount(cluster[counted], minlength=len(self.sizes))

    @property
    def true(self) -> Ints:
        """Return the rows of units: `unit * rows + row`, ascending."""
        return self._units[2]

    @cached_property
    def _times(self) -> tuple[Ints, Ints, Ints]:
        """Return the number of rows that truly have each unit, and 0 at the end; the classes of units, and their
        numbers of rows.
        """
        unit, row = np.divmod(self.true, max(1, self.rows))
        counted = np.unique(unit * len(self.class_sizes) + self.of_row[row], return_counts=True)
        return np.append(np.bincount(unit), 0), *counted

    @property
    def shares(self) -> "sparse.csr_array":
        """Return the share of every class that truly has each unit: a row for each unit, a column for each class."""
        times, key, count = self._times
        unit, of_class = np.divmod(key, max(1, len(self.class_sizes)))
        shape = len(times) - 1, len(self.class_sizes)
        return sparse.csr_array((count / self.class_sizes[of_class], (unit, of_class)), shape)

    @property
    def home(self) -> Ints:
        """Return the cluster of every class."""
        home = np.zeros(len(self.class_sizes), np.int64)
        home[self.of_row] = self.cluster
        return home

    def true_times(self, units: Ints) -> Ints:
        """Return the number of rows that truly have each of `units`; -1 is a unit that none has."""
        times: Ints = self._times[0][units]
        return times

    def true_in_class(self, units: Ints, classes: Ints) -> Ints:
        """Return the number of rows of each of `classes` that truly have the unit at the same index of `units`."""
        _, key, times = self._times
        place, there = places_in(key, units * len(self.class_sizes) + classes)
        return np.where(there, np.append(times, 0)[place], 0)

    def units(self, assignments: Iterable[Assignment]) -> Ints:
        """Return the unit of each of `assignments`, -1 for one that no row truly has."""
        kinds, units, _ = self._units
        order = np.argsort(units)
        place, there = places_in(units[order], AssignmentList.of(assignments).keys(kinds))
        return np.where(there, np.append(order, -1)[place], -1)

    def assigned_units(self, assignments: Sequence[Assignment]) -> AssignedUnits:
        """Return `assignments` as arrays; the last ones are cached, because several measures ask for them in turn."""
        if self._last_assigned is None or self._last_assigned[0] is not assignments:
            self._last_assigned = assignments, self._lay_out_assignments(AssignmentList.of(assignments))
        return self._last_assigned[1]

    def _lay_out_assignments(self, listed: AssignmentList) -> AssignedUnits:
        cluster, unit, times, assignment = (
            listed.cluster,
            self.units(listed),
            listed.given.lengths,
            listed.given.list_of_row,
        )
        row = self.given_rows(listed)
        kinds = RowLists.of([[self._code[item] for item in items] for _, items in listed.kinds])
        items = kinds.select(listed.kind)
        begin, end, item = items.start[:-1], items.start[1:], items.rows
        added = crossed(row, begin[assignment], end[assignment], item, self.items)
        # Kinds that no assignment uses do not count.
        shared = any(is_shared(listed.kinds[kind][0]) for kind in np.unique(listed.kind).tolist())
        spread = self._spread(listed, row, assignment)
        return AssignedUnits(cluster, unit, times, row, assignment, distinct(added), begin, end, item, shared, spread)

    def given_rows(self, listed: AssignmentList) -> Ints:
        """Return each row that is assigned in `listed`, numbered through all clusters."""
        rows: Ints = listed.given.rows + self.first[listed.cluster][listed.given.list_of_row]
        return rows

    def right_of_equals(self, gifts: Iterable[Assignment], attacked: AssignmentList) -> Floats:
        """Return the probability that each of `gifts`, of one row each, is right, given what an attacker can
        distinguish.

        It is the share of the rows with the same anchor that truly have the unit, or of the rows of equal probability
        in what was `attacked`.
        """
        listed = AssignmentList.of(gifts)
        given = self.given_rows(listed)
        right = self._share_right(self.units(listed), given)
        tied = np.flatnonzero(attacked.tied.lengths)
        if not len(tied) or not len(listed):
            return right
        sharing = attacked.select(tied)
        numbers = {kind: number for number, kind in enumerate({*sharing.kinds, *listed.kinds})}
        keys = sharing.keys(numbers)
        order = np.argsort(keys)
        place, there = places_in(keys[order], listed.keys(numbers))
        rows, owner = (
            sharing.tied.rows + self.first[sharing.cluster][sharing.tied.list_of_row],
            sharing.tied.list_of_row,
        )
        shares = self._share_right(self.units(sharing)[owner], rows)
        mean = np.array([part.mean() for part in np.split(shares, sharing.tied.start[1:-1])])
        at = order[place[there]]
        equal = among(at * self.rows + given[there], np.sort(owner * self.rows + rows))
        right[np.flatnonzero(there)[equal]] = mean[at[equal]]
        return right

    def _share_right(self, units: Ints, rows: Ints) -> Floats:
        class_of = self.of_row[rows]
        return np.asarray(self.true_in_class(units, class_of) / self.class_sizes[class_of])

    def _spread(self, listed: AssignmentList, row: Ints, assignment: Ints) -> Spread:
        """Return the assignments with those among rows that share places spread over all of these."""
        once = np.ones(len(row), np.int64)
        many, of_tied = listed.tied.lengths, listed.tied.list_of_row
        if not len(of_tied):
            return Spread(row, assignment, once, once)
        tied = listed.tied.rows + self.first[listed.cluster][of_tied]
        among_tied = np.isin(assignment * self.rows + row, of_tied * self.rows + tied)
        places = np.bincount(assignment[among_tied], minlength=len(listed))
        sure = ~among_tied
        return Spread(
            np.concatenate((row[sure], tied)),
            np.concatenate((assignment[sure], of_tied)),
            np.concatenate((once[sure], places[of_tied])),
            np.concatenate((once[sure], many[of_tied])),
        )


def crossed(row: Ints, begin: Ints, end: Ints, item: Ints, items: int) -> Ints:
    """Return the items from `begin` to `end` of `item` for each of the rows `row`, as items of rows; `items` is their
    number.
    """
    place, of_row = runs(begin, end)
    entries: Ints = row[of_row] * items + item[place]
    return entries


def published_items(release: Disassociated, number: Mapping[str, int]) -> tuple[Ints, Ints, Ints]:
    """Return what clusters of `release` publish outside shared chunks: cluster, `number` of the item, chunk or TERM."""
    of_cluster = [len(cluster.record_chunks) for cluster in release.clusters]
    lists = [chunk.items for cluster in release.clusters for chunk in cluster.record_chunks]
    lists += [cluster.term_chunk for cluster in release.clusters]
    each = np.arange(len(of_cluster))
    cluster = np.concatenate((np.repeat(each, of_cluster), each))
    chunk = np.concatenate((runs(np.zeros_like(each), np.array(of_cluster, np.int64))[0], np.full_like(each, TERM)))
    lengths = list(map(len, lists))
    item = np.array(list(map(number.__getitem__, chain.from_iterable(lists))), np.int64)
    return np.repeat(cluster, lengths), item, np.repeat(chunk, lengths)


def _published(cluster: Cluster) -> set[str]:
    return {*cluster.items, *chain.from_iterable(cluster.anchors)}


def _check(release: Disassociated, records: Records, truth: Truth) -> None:
    """Raise an error unless the truth has one record for every row, each record once."""
    if [len(rows) for rows in truth] != [cluster.size for cluster in release.clusters]:
        raise DecloakError("the truth does not have a record for every row", hint="is it of another release?")
    if sorted(number for rows in truth for number in rows) != list(range(len(records))):
        raise DecloakError(f"the truth does not name each of {len(records)} records once", hint="records count from 0")
