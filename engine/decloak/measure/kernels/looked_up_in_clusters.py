"""Whom somebody finds who looks people up in a disassociated release, and what further item is guessed of each.

A row shows its anchor. Of each later chunk it has each sub-record with a chance: as published times / n,
after an attack what it gave. Chunks are taken to be independent. A person of whom X is known is behind a row with a
weight w: 0 where X says otherwise of the anchor, else the product over the chunks of q, the chance that the row has a
sub-record with all that X has of the chunk. Candidates are rows with a weight; the probability on the right one is its
share of all weight. The chance of a further item is its mean over the rows by their weights, given X.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from decloak.arrays import Floats, Ints, Mask
from decloak.data.assignment import ChunkNumber
from decloak.data.disassociated import Chunk, Disassociated
from decloak.lazy import sparse
from decloak.measure.kernels.looked_up import LookedUp, right_guesses
from decloak.rules.reassociate.shared import shared_places

__all__ = ["Given", "Laid", "laid_out", "looked_up_in_clusters"]

Given = Mapping[tuple[int, ChunkNumber, tuple[str, ...]], Mapping[int, float]]
"""The rows that units were given to, by cluster, chunk and items in order, each with its probability."""

LEAST = 1e-12
"""A smaller weight is none."""


class Pieces(NamedTuple):
    """The sub-records of a later chunk: the chance of a row to have each, and sub-records × items of the cluster.

    Those of the term chunk are `apart`: each is a chunk of its own.
    """

    chunk: ChunkNumber
    units: tuple[tuple[str, ...], ...]
    chance: Floats
    holds: Floats

    @property
    def apart(self) -> bool:
        return self.chunk == "T"


class Laid(NamedTuple):
    """A cluster: the numbers of its items, rows × items of the anchors, the class of each row, and its later chunks."""

    items: Ints
    anchors: Floats
    of_row: Ints
    first: Floats
    pieces: tuple[Pieces, ...]


def laid_out(release: Disassociated, number: Mapping[str, int]) -> list[Laid]:
    """The clusters of a release, items by number."""
    shared = shared_places(release)
    return [_laid(release, place, shared[place], number) for place in range(len(release.clusters))]


def _laid(release: Disassociated, place: int, shared: Mapping[str, str], number: Mapping[str, int]) -> Laid:
    cluster = release.clusters[place]
    later = [*_later(release, place, shared)]
    first_items = cluster.record_chunks[0].items if cluster.record_chunks else ()
    names = sorted({*first_items, *(item for _, chances in later for unit in chances for item in unit)})
    column = {name: at for at, name in enumerate(names)}

    def holds(sets: Sequence[Sequence[str]]) -> Floats:
        matrix = np.zeros((len(sets), len(names)))
        for row, items in enumerate(sets):
            matrix[row, [column[item] for item in items]] = 1
        return matrix

    pieces = tuple(
        Pieces(chunk, tuple(chances), np.array([*chances.values()]), holds([*chances])) for chunk, chances in later
    )
    anchors = [*cluster.anchors]
    alike: dict[frozenset[str], int] = {}
    of_row = np.array([alike.setdefault(frozenset(anchor), len(alike)) for anchor in anchors], np.int64)
    first = holds([first_items])[0]
    return Laid(np.array([number[name] for name in names], np.int64), holds(anchors), of_row, first, pieces)


def _later(
    release: Disassociated, place: int, shared: Mapping[str, str]
) -> Iterator[tuple[ChunkNumber, Mapping[tuple[str, ...], float]]]:
    """The later chunks of a cluster: the chance that a row has each sub-record, or each term."""
    cluster = release.clusters[place]
    for j, chunk in enumerate(cluster.record_chunks):
        if j:
            yield j, _chances(chunk, cluster.size)
    if cluster.term_chunk:
        chance = min((release.k or 2) - 1, cluster.size) / cluster.size
        yield "T", {(term,): chance for term in cluster.term_chunk}
    for at, joint in enumerate(release.joints):
        size = sum(release.clusters[other].size for other in joint.clusters)
        for j, chunk in enumerate(joint.shared_chunks) if place in joint.clusters else ():
            name = f"S{at}.{j}"
            chances = _chances(chunk, size)
            fitting = {unit: chance for unit, chance in chances.items() if {*map(shared.get, unit)} == {name}}
            if fitting:
                yield name, fitting


def _chances(chunk: Chunk, rows: int) -> dict[tuple[str, ...], float]:
    counts = Counter(tuple(sorted(subrecord)) for subrecord in chunk.subrecords)
    return {unit: times / rows for unit, times in sorted(counts.items())}


def looked_up_in_clusters(
    clusters: Sequence[Laid],
    known: "sparse.csr_array[Any]",
    own: tuple[Ints, Ints],
    held: "sparse.csr_array[Any]",
    given: Given | None = None,
) -> LookedUp:
    """Look people up by known items; `known` is people × items, `held` likewise what they truly have.

    `own` is everybody's cluster and row; `given` what an attack gave.
    """
    people = known.shape[0]
    total, right, scores = np.zeros(people), np.zeros(people), np.zeros(known.shape)
    candidates, many = np.zeros(people, np.int64), known.sum(axis=1)
    for number, cluster in enumerate(clusters):
        there = np.zeros(known.shape[1])
        there[cluster.items] = 1
        some = np.flatnonzero(known @ there == many)
        if not len(some):
            continue
        weight, expected = _weighed(cluster, known[some][:, cluster.items].toarray(), _rows(number, cluster, given))
        total[some] += weight.sum(axis=1)
        candidates[some] += (weight > LEAST).sum(axis=1)
        scores[some[:, None], cluster.items] += expected
        here = own[0][some] == number
        right[some[here]] = weight[here, own[1][some[here]]]
    found = np.where(right > LEAST, right / np.maximum(total, LEAST), 0.0)
    return LookedUp(candidates, found, right <= LEAST, right_guesses(scores, known.toarray() > 0, held.toarray() > 0))


def _rows(number: int, cluster: Laid, given: Given | None) -> list[Floats]:
    """The chance of each row to have each sub-record, of every later chunk: the same for rows of one anchor."""
    rows = len(cluster.of_row)
    size = np.bincount(cluster.of_row)
    chances = []
    for piece in cluster.pieces:
        chance = np.repeat(piece.chance[:, None], rows, axis=1)
        for u, unit in enumerate(piece.units if given is not None else ()):
            gifts = given.get((number, piece.chunk, unit)) if given is not None else None
            if gifts is not None:
                by_row = _of_gifts(gifts, float(piece.chance[u]) * rows, rows)
                chance[u] = (np.bincount(cluster.of_row, by_row) / size)[cluster.of_row]
        chances.append(chance)
    return chances


def _of_gifts(gifts: Mapping[int, float], times: float, rows: int) -> Floats:
    """What is given for certain is given to nobody else; of the rest others have what the given rows leave."""
    p = np.array([*gifts.values()])
    left = 0.0 if (p == 1).all() else max(0.0, times - float(p.sum())) / max(1, rows - len(p))
    chance = np.full(rows, min(left, 1.0))
    chance[[*gifts]] = p
    return chance


def _weighed(cluster: Laid, known: Floats, chances: Sequence[Floats]) -> tuple[Floats, Floats]:
    """The weight of each row for each person, and the expected number of candidates with each item, by weight."""
    weight = ((known * cluster.first) @ cluster.anchors.T == (known * cluster.first).sum(axis=1)[:, None]).astype(float)
    fits = []
    for piece, chance in zip(cluster.pieces, chances, strict=True):
        if piece.apart:
            knows = known @ piece.holds.T > 0
            _weigh_apart(weight, knows, np.minimum(chance, 1.0))
            fits.append((knows, weight))
            continue
        in_chunk = known * piece.holds.any(axis=0)
        match = (in_chunk @ piece.holds.T == in_chunk.sum(axis=1)[:, None]).astype(float)
        fit = np.where((in_chunk.sum(axis=1) > 0)[:, None], np.minimum(match @ chance, 1.0), 1.0)
        weight *= fit
        fits.append((match, fit))
    expected = weight @ cluster.anchors
    for piece, chance, (match, fit) in zip(cluster.pieces, chances, fits, strict=True):
        if piece.apart:
            by_unit = np.where(match, weight.sum(axis=1)[:, None], weight @ chance.T)
        else:
            by_unit = (weight / np.where(fit > 0, fit, 1.0)) @ chance.T * match
        expected += by_unit @ piece.holds
    return weight, expected


def _weigh_apart(weight: Floats, knows: Mask, chance: Floats) -> None:
    """Multiply the weights by the chances of all that is known of each person."""
    person, unit = np.nonzero(knows)
    rank = np.arange(len(person)) - np.searchsorted(person, person)
    for place in range(rank.max(initial=-1) + 1):
        at = rank == place
        weight[person[at]] *= chance[unit[at]]
