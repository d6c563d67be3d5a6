"""Assignments of sub-records to records: the result of an attack on a disassociated release."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from typing import Literal, NamedTuple, overload

import numpy as np

from decloak.arrays import Ints
from decloak.data.pairs import Pair
from decloak.data.rows import Coding, runs

ChunkNumber = int | str
"""The number of a record chunk from 0, "T" for the term chunk, "S0.1" for shared chunk 1 of joint cluster 0."""
ScoreDirection = Literal["larger", "smaller"]
"""The scores of more closely related items are the larger or the smaller ones."""
Kind = tuple[ChunkNumber, tuple[str, ...]]
"""A chunk, and the items of a unit of it by name: the same in any cluster."""
Unit = tuple[int, ChunkNumber, tuple[str, ...]]
"""A cluster, a chunk of it, and the unit's items by name."""


class Assignment(NamedTuple):
    """The rows that an attack assigns a sub-record to. Clusters, chunks and rows count from 0, the term chunk is "T", a
    unit is a tuple of items.
    """

    cluster: int
    chunk: ChunkNumber
    unit: tuple[str, ...]
    rows: tuple[int, ...]


class RowLists(NamedTuple):
    """Lists of rows: list i is `rows[start[i]:start[i + 1]]`."""

    start: Ints
    rows: Ints

    @classmethod
    def of(cls, lists: Sequence[Sequence[int]]) -> "RowLists":
        """Return `lists` as arrays.

        >>> RowLists.of([(3, 4), (), (1,)]).select(np.array([2, 0])).tuples()
        [(1,), (3, 4)]
        """
        start = np.cumsum([0, *map(len, lists)], dtype=np.int64)
        return cls(start, np.fromiter(chain.from_iterable(lists), np.int64, int(start[-1])))

    @classmethod
    def join(cls, parts: "Sequence[RowLists]") -> "RowLists":
        """Return the lists of all `parts`."""
        lengths = [part.lengths for part in parts]
        return cls(np.append(0, np.cumsum(np.concatenate(lengths))), np.concatenate([part.rows for part in parts]))

    @property
    def lengths(self) -> Ints:
        return np.diff(self.start)

    @property
    def list_of_row(self) -> Ints:
        """The list of each row."""
        return np.repeat(np.arange(len(self.start) - 1), self.lengths)

    def places(self, lists: Ints) -> Ints:
        """Return the places in `rows` of the rows of `lists`, list after list."""
        return runs(self.start[lists], self.start[lists + 1])[0]

    def select(self, lists: Ints) -> "RowLists":
        """Return the lists with the indices `lists`, in that order."""
        return RowLists(np.append(0, np.cumsum(self.lengths[lists])), self.rows[self.places(lists)])

    def tuples(self) -> list[tuple[int, ...]]:
        """Return each list as a tuple."""
        rows = self.rows.tolist()
        return [tuple(rows[begin:end]) for begin, end in pairwise(self.start.tolist())]


class AssignmentList(Sequence[Assignment]):
    """Assignments as arrays, and the rows among which several choices are equally likely.

    Assignment i gives the unit `kinds[kind[i]]` of the cluster `cluster[i]` to the rows of list i of `given`. `tied`
    has the equally likely rows of each; `given` contains a random choice of these, as many as the unit needs. `finding`
    numbers the rows of `given` in the order in which the attack found them.
    """

    def __init__(
        self,
        cluster: Ints,
        kind: Ints,
        kinds: Sequence[Kind],
        given: RowLists,
        tied: RowLists | None = None,
        finding: Ints | None = None,
    ) -> None:
        self.cluster, self.kind, self.kinds, self.given = cluster, kind, kinds, given
        self.tied = tied or RowLists(np.zeros(len(cluster) + 1, np.int64), np.zeros(0, np.int64))
        self.finding = np.arange(len(given.rows)) if finding is None else finding

    @classmethod
    def of(
        cls, assignments: Iterable[Assignment] = (), ties: Mapping[Unit, Sequence[int]] | None = None
    ) -> "AssignmentList":
        """Return `assignments` as arrays; `ties` has the equally likely rows by cluster, chunk and unit."""
        if isinstance(assignments, AssignmentList) and ties is None:
            return assignments
        listed, kinds = list(assignments), Coding[Kind]()
        return cls(
            np.array([one[0] for one in listed], np.int64),
            np.array([kinds[one[1:3]] for one in listed], np.int64),
            tuple(kinds),
            RowLists.of([one[3] for one in listed]),
            RowLists.of([(ties or {}).get(one[:3], ()) for one in listed]),
        )

    def __len__(self) -> int:
        return len(self.cluster)

    @overload
    def __getitem__(self, index: int) -> Assignment: ...
    @overload
    def __getitem__(self, index: slice) -> "AssignmentList": ...
    def __getitem__(self, index: int | slice) -> "Assignment | AssignmentList":
        chosen = self.select(np.arange(len(self))[index if isinstance(index, slice) else [index]])
        return chosen if isinstance(index, slice) else next(iter(chosen))

    def __iter__(self) -> Iterator[Assignment]:
        for cluster, kind, rows in zip(self.cluster.tolist(), self.kind.tolist(), self.given.tuples(), strict=True):
            chunk, items = self.kinds[kind]
            yield Assignment(cluster, chunk, items, rows)

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, AssignmentList | list) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # like a list

    @property
    def ties(self) -> dict[Unit, tuple[int, ...]]:
        """The equally likely rows by cluster, chunk and unit, of units that have such rows."""
        tied = zip(self, self.tied.tuples(), strict=True)
        return {assignment[:3]: rows for assignment, rows in tied if rows}

    def select(self, chosen: Ints) -> "AssignmentList":
        """Return the assignments with the indices `chosen`, in that order."""
        given, tied, finding = (
            self.given.select(chosen),
            self.tied.select(chosen),
            self.finding[self.given.places(chosen)],
        )
        return AssignmentList(self.cluster[chosen], self.kind[chosen], self.kinds, given, tied, finding)

    @property
    def places(self) -> Ints:
        """The place in the rows of `given` of each finding."""
        return np.argsort(self.finding)

    def by_finding(self, chosen: Ints | slice = slice(None)) -> "AssignmentList":
        """Return the assignments a row at a time, in the order of findings; with `chosen`, of these findings."""
        place = self.places[chosen]
        owner, row = self.given.list_of_row[place], self.given.rows[place]
        return AssignmentList(self.cluster[owner], self.kind[owner], self.kinds, RowLists(np.arange(len(row) + 1), row))

    def keys(self, numbers: Mapping[Kind, int]) -> Ints:
        """Return `cluster * len(numbers) + number` of each assignment; -1 for a kind without one of the `numbers`."""
        number = np.array([numbers.get(kind, -1) for kind in self.kinds], np.int64)[self.kind]
        return np.where(number < 0, -1, self.cluster * len(numbers) + number)


class AssignmentArrays(NamedTuple):
    """Assignments in the clusters of a file, ascending by cluster: the chunk (-1 for terms), the items as codes of
    `names`, and the rows of each.
    """

    names: Sequence[str]
    cluster: Ints
    chunk: Ints
    items: RowLists
    given: RowLists

    @classmethod
    def of(cls, batches: "Iterable[tuple[int, AssignmentList]]") -> "AssignmentArrays":
        """Return the assignments of `batches` of clusters, each with the number of its first cluster."""
        code, cluster, chunk = Coding[str](), list[Ints](), list[Ints]()
        # An empty start, because a file may have no assignments to join.
        items, given = [RowLists.of(())], [RowLists.of(())]
        for first, listed in batches:
            kinds = RowLists.of([[code[name] for name in names] for _, names in listed.kinds])
            chunks = np.array([-1 if name == "T" else int(name) for name, _ in listed.kinds], np.int64)
            cluster.append(first + listed.cluster)
            chunk.append(chunks[listed.kind])
            items.append(kinds.select(listed.kind))
            given.append(listed.given)
        nothing = np.zeros(0, np.int64)
        clusters, chunk_of = (np.concatenate([nothing, *part]) for part in (cluster, chunk))
        return cls(tuple(code), clusters, chunk_of, RowLists.join(items), RowLists.join(given))

    def in_clusters(self, first: int, last: int, only: Ints | None = None) -> AssignmentList:
        """Return the assignments in the clusters from `first` to `last`, or in `only` some of them, numbered from 0."""
        # Clusters ascend, so the assignments of a range of them are neighbours.
        some = np.arange(*np.searchsorted(self.cluster, (first, last)))
        if only is not None:
            some = some[np.isin(self.cluster[some] - first, only)]
        kinds = Coding[Kind]()
        named = (tuple(self.names[code] for code in codes) for codes in self.items.select(some).tuples())
        chunks = ("T" if chunk < 0 else chunk for chunk in self.chunk[some].tolist())
        kind = np.array([kinds[unit] for unit in zip(chunks, named, strict=True)], np.int64)
        return AssignmentList(self.cluster[some] - first, kind, tuple(kinds), self.given.select(some))


class PairScores(NamedTuple):
    """Relatedness of items by one measure: a score per pair, in either order. None, NaN and infinities are missing
    scores.

    `unrelated` is the score of items that have nothing in common. Without it, the mean of the scores is used.
    """

    scores: Mapping[Pair, float | None]
    closer: ScoreDirection = "larger"
    unrelated: float | None = None
