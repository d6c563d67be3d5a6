"""People looked up in a disassociated release, as published and after an attack gave rows what was cut off."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from decloak.arrays import Ints
from decloak.data.assignment import Assignment
from decloak.lazy import sparse
from decloak.measure.family import AttackedRelease
from decloak.measure.kernels.by_chance import draws_for
from decloak.measure.kernels.looked_up import LookedUp
from decloak.measure.kernels.looked_up_in_clusters import Given, Laid, laid_out, looked_up_in_clusters
from decloak.measure.lookup import KnownPeople
from decloak.releases.held import HeldChunks
from decloak.store.probabilities import probable_gifts

__all__ = ["LookupInChunks"]


@dataclass(frozen=True, eq=False)
class LookupInChunks:
    """A release, which items it has, and the cluster and row of each record, -1 where there is none."""

    clusters: list[Laid]
    there: "np.ndarray[Any, np.dtype[np.bool_]]"
    sizes: list[int]
    place_of: tuple[Ints, Ints]

    @classmethod
    def of(cls, held: HeldChunks) -> "LookupInChunks":
        assert held.rows is not None
        assert held.original is not None
        number = {name: place for place, name in enumerate(held.original.rows.names)}
        items = {item for chunk in laid_items(held) for item in chunk}
        for item in sorted(items.difference(number)):
            number[item] = len(number)
        there = np.zeros(len(number), np.bool_)
        there[[number[item] for item in items]] = True
        place = np.full((2, len(held.original.rows)), -1, np.int64)
        for cluster, records in enumerate(held.rows.of_row):
            place[:, records] = np.full(len(records), cluster), np.arange(len(records))
        sizes = [cluster.size for cluster in held.published.clusters]
        return cls(laid_out(held.published, number), there, sizes, (place[0], place[1]))

    def look(self, known: KnownPeople, given: Given | None = None) -> LookedUp:
        """Look people up, as published or after what was given to rows."""
        items = len(self.there)
        mask = np.zeros((known.items.shape[1], items), np.bool_)
        for row in known.items:
            mask[np.arange(len(mask)), row] = True
        matrix = sparse.csr_array((mask & self.there).astype(np.float64))
        cluster, row = (np.where(known.record >= 0, place[known.record], -1) for place in self.place_of)
        held = known.held_by(np.arange(known.held.shape[1]), items)
        return looked_up_in_clusters(self.clusters, matrix, (cluster, row), held, given)

    def after(self, held: HeldChunks, attacked: AttackedRelease[Any], people: int) -> Iterator[Given]:
        """What an attack gave, and then as much given at random; nothing where it gives nothing."""
        gifts = attacked.assignments
        if attacked.idle or not gifts:
            return
        sure = [(gift.assignment, gift.probability) for gift in probable_gifts(held.connection, attacked.number)]
        given = _given(sure or [(gift, 1.0) for gift in gifts])
        yield given
        rng = np.random.default_rng([len(given), sum(map(len, given.values()))])
        for _ in range(draws_for(people)):
            yield {unit: self._at_random(unit[0], rows, rng) for unit, rows in given.items()}

    def _at_random(self, cluster: int, rows: Mapping[int, float], rng: np.random.Generator) -> Mapping[int, float]:
        """As many rows of the cluster, as surely."""
        drawn = rng.permutation(self.sizes[cluster])[: len(rows)]
        return dict(zip(drawn.tolist(), rows.values(), strict=True))


def laid_items(held: HeldChunks) -> Iterator[Iterable[str]]:
    """The items that clusters and joint clusters publish."""
    yield from (cluster.items for cluster in held.published.clusters)
    yield from (chunk.items for joint in held.published.joints for chunk in joint.shared_chunks)


def _given(gifts: Iterable[tuple[Assignment, float]]) -> Given:
    """By unit the rows that it was given to; its items in order."""
    by_unit: dict[Any, dict[int, float]] = {}
    for (cluster, chunk, unit, rows), probability in gifts:
        by_unit.setdefault((cluster, chunk, tuple(sorted(unit))), {}).update(dict.fromkeys(rows, probability))
    return by_unit
