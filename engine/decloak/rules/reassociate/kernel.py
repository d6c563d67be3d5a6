"""The one re-association attack: give what was torn from the records of a disassociated release back to them.

Each cluster is attacked on its own. The value of a row for a unit comes from the scores of the unit's items with those
of the row's anchor in the first record chunk, never from what the attack has given it (`reassociate_scores`). The
rows are matched as the strategy says (`reassociate_match`), and made consistent if it says so.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from decloak.data.assignment import Assignment, ChunkNumber, Closer
from decloak.data.disassociated import Disassociated
from decloak.errors import DecloakError
from decloak.rules.reassociate.consistent import Limits, consistent, limits
from decloak.rules.reassociate.match import assign, best, by_chance
from decloak.rules.reassociate.scores import Array, Case, Scores, batches, read_scores, values
from decloak.rules.reassociate.strategy import Reassociation
from decloak.rules.reassociate.units import rows_of, units_of

__all__ = ["RowValues", "reassociate", "row_values"]

Known = Mapping[tuple[str, str], float | None]


class RowValues(NamedTuple):
    """What a unit's rows are ranked by: one number a row, larger is closer, -inf where no score is known."""

    cluster: int
    chunk: ChunkNumber
    unit: tuple[str, ...]
    values: tuple[float, ...]


def reassociate(
    release: Disassociated,
    scores: Known,
    strategy: Reassociation,
    *,
    closer: Closer = "larger",
    k: int | None = None,
    seed: int = 0,
    unrelated: float | None = None,
) -> list[Assignment]:
    """Return the rows of every unit, by cluster, chunk and unit.

    `scores` are of pairs of items, in either order; None, NaN and infinities are no score. `closer` says whether the
    larger or the smaller ones are of closer items. `k` replaces the release's own. `unrelated` is the score of items
    that have nothing in common, for `bayes`; without it, the mean of the scores. `seed` is for chance.

    >>> from decloak.data.disassociated import Chunk, Cluster
    >>> chunks = (Chunk(("a", "b"), (("a",), ("a",), ("b",))), Chunk(("c",), (("c",), ("c",))))
    >>> release = Disassociated((Cluster(3, chunks, ("d",)),), k=2)
    >>> aba = Reassociation.build(combine="mean")
    >>> reassociate(release, {("a", "c"): 0.9, ("b", "c"): 0.1, ("b", "d"): 0.5}, aba)[1]
    Assignment(cluster=0, chunk='T', unit=('d',), rows=(2,))
    """
    known = read_scores(scores, closer, _items(release), unrelated)
    k = release.k if k is None else k
    ruled_out = _limits(release, k) if strategy.consistent else None
    rows: dict[int, list[tuple[int, ...]]] = {}
    cases = list(_cases(release, strategy, k))
    for batch in batches(cases):
        found = iter(_matched(batch, strategy, known, seed, ruled_out))
        rows.update((case.number, [next(found) for _ in case.units]) for case in batch)
    return [
        Assignment(case.number, unit.chunk, unit.items, own)
        for case in cases
        for unit, own in zip(case.units, rows[case.number], strict=True)
    ]


def row_values(
    release: Disassociated,
    scores: Known,
    strategy: Reassociation,
    *,
    closer: Closer = "larger",
    k: int | None = None,
    unrelated: float | None = None,
) -> Iterator[RowValues]:
    """Yield what `reassociate` ranks the rows of every unit by, in its order."""
    known = read_scores(scores, closer, _items(release), unrelated)
    for case in _cases(release, strategy, release.k if k is None else k):
        of_row = np.array(case.rows.of_row)
        for unit, own in zip(case.units, values([case], strategy, known), strict=True):
            yield RowValues(case.number, unit.chunk, unit.items, tuple(own[of_row].tolist()))


def _items(release: Disassociated) -> list[str]:
    """Every item of a cluster's own chunks, in order."""
    found: set[str] = set()
    for cluster in release.clusters:
        found.update(
            cluster.term_chunk,
            *(subrecord for chunk in cluster.record_chunks for subrecord in chunk.subrecords),
        )
    return sorted(found)


def _cases(release: Disassociated, strategy: Reassociation, k: int | None) -> Iterator[Case]:
    for number, units in units_of(release, strategy, k):
        if units:
            yield Case(number, rows_of(release.clusters[number]), units)


def _limits(release: Disassociated, k: int | None) -> dict[int, Limits]:
    if k is None:
        raise DecloakError("the release does not say its k", hint="give k, or leave consistent out")
    return limits(release, k)


def _matched(
    batch: list[Case],
    strategy: Reassociation,
    scores: Scores,
    seed: int,
    ruled_out: Mapping[int, Limits] | None,
) -> list[tuple[int, ...]]:
    """The rows of every unit of a batch, cluster after cluster."""
    if strategy.match == "random":
        return by_chance(batch, seed)
    found = values(batch, strategy, scores)
    if strategy.match == "best":
        return best(batch, found)
    rows = assign(batch, found)
    return rows if ruled_out is None else _consistent(batch, found, rows, ruled_out)


def _consistent(
    batch: list[Case], found: Array, rows: list[tuple[int, ...]], ruled_out: Mapping[int, Limits]
) -> list[tuple[int, ...]]:
    first = 0
    for case in batch:
        own = slice(first, first + len(case.units))
        rows[own] = consistent(case, found[own, : len(case.rows.anchors)], rows[own], ruled_out[case.number])
        first = own.stop
    return rows
