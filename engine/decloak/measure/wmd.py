"""How far reconstructed records are from the true ones: the word mover's distance.

A set of a words and one of b words give each word the weight 1/a and 1/b. A unit of weight moved from one word to
another costs the Euclidean distance of their vectors. The distance is the cost of the cheapest way to move everything.
Weights are multiplied by a b here, so that they are whole numbers.

Exact short cuts. A word of both sets stays, up to its smaller weight: a detour is never cheaper (triangle inequality).
The relaxed bound moves every word of one set to the nearest of the other. If exactly the required weight arrives, the
bound is the distance. Otherwise the problem is solved: a small one as an assignment of words copied by their weights, a
large one as a linear programme, by POT if it is installed.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from decloak.arrays import Floats, Ints
from decloak.data.formats.delimited import read_number, records
from decloak.data.formats.lines import FilePath, read_lines
from decloak.errors import DecloakError, quote
from decloak.figures import metrics_of
from decloak.lazy import sparse
from decloak.measure.accuracy import reconstructed
from decloak.measure.family import CHUNKS, POOLED, AttackResult, Family, MetricResult
from decloak.releases.stored import UNKNOWN, StoredDisassociation
from decloak.yaml.section import ConfigSection, File

COPIES = 200
"""Copies of words to assign, at most; beyond, a linear programme is faster."""


class MeanDistance(NamedTuple):
    """The mean over the compared records, or None; other records have no word that every attack can use."""

    mean: float | None
    compared: int
    skipped: int


class _Vectors:
    """Word vectors, all of one length."""

    def __init__(self, vectors: Mapping[str, ArrayLike]) -> None:
        read = [_vector(word, vector) for word, vector in vectors.items()]
        for word, vector in zip(vectors, read, strict=True):
            if len(vector) != len(read[0]):
                message = f"the vector of {quote(word)} has {len(vector)} numbers, others {len(read[0])}"
                raise DecloakError(message, hint="take all vectors from one source")
        self._number = {word: number for number, word in enumerate(vectors)}
        self._array = np.array(read, dtype=np.float64)

    def known(self, words: Iterable[str]) -> frozenset[int]:
        return frozenset(self._number[word] for word in words if word in self._number)

    def distances(self, rows: Sequence[int], columns: Sequence[int]) -> Floats:
        """Return the distance of every word in `rows` to every word in `columns`."""
        apart = self._array[rows, None] - self._array[None, columns]
        return np.asarray(np.sqrt(np.square(apart).sum(axis=2)))


def _vector(word: str, vector: ArrayLike) -> Floats:
    try:
        read = np.asarray(vector, dtype=np.float64)
    except (TypeError, ValueError):
        read = np.empty((0, 0))
    if read.ndim != 1 or not len(read) or not np.isfinite(read).all():
        raise DecloakError(f"the vector of {quote(word)} is not a list of numbers", hint="give each word a vector")
    return read


def mean_distance(
    records: Sequence[Collection[str]],
    rebuilt: Sequence[Collection[str]],
    vectors: Mapping[str, ArrayLike],
    anchors: Sequence[Collection[str]] | None = None,
) -> MeanDistance:
    """Return the mean distance between `records` and their reconstructions `rebuilt`; words without a vector are
    dropped.

    It compares the records that have a word in `vectors`, and whose anchors have one: every reconstruction contains the
    anchor. So all attacks on a release are compared over the same records. Without `anchors` the reconstructions
    replace them.

    >>> mean_distance([["a"], ["?"]], [["b"], ["b"]], {"a": [0, 0], "b": [3, 4]})
    MeanDistance(mean=5.0, compared=1, skipped=1)
    """
    anchors = rebuilt if anchors is None else anchors
    if not len(records) == len(rebuilt) == len(anchors):
        message = f"{len(records)} records have {len(rebuilt)} reconstructions and {len(anchors)} anchors"
        raise DecloakError(message, hint="give one of each")
    space = _Vectors(vectors)
    # Equal pairs are computed once, because one may take a linear programme.
    done: dict[tuple[frozenset[int], frozenset[int]], float] = {}
    distances = []
    for record, reconstruction, anchor in zip(records, rebuilt, anchors, strict=True):
        pair = space.known(record), space.known(reconstruction)
        if pair[0] and space.known(anchor):
            if pair not in done:
                done[pair] = _distance(*pair, space)
            distances.append(done[pair])
    return MeanDistance(
        math.fsum(distances) / len(distances) if distances else None, len(distances), len(records) - len(distances)
    )


def _distance(a: frozenset[int], b: frozenset[int], vectors: _Vectors) -> float:
    # Words of both sets move nothing, as far as their weights agree.
    sources = {word: len(b) - len(a) * (word in b) for word in sorted(a)}
    targets = {word: len(a) - len(b) * (word in a) for word in sorted(b)}
    sources, targets = ({word: weight for word, weight in side.items() if weight > 0} for side in (sources, targets))
    # Both sets have the same words, then the weights agree as well: nothing moves.
    if not sources:
        return 0.0
    supply, demand = (np.array(list(side.values()), dtype=np.int64) for side in (sources, targets))
    cost = vectors.distances(list(sources), list(targets))
    relaxed = _relaxed(cost, supply, demand)
    return (_cheapest(cost, supply, demand) if relaxed is None else relaxed) / (len(a) * len(b))


def _relaxed(cost: Floats, supply: Ints, demand: Ints) -> float | None:
    """Return the cost if every word moves to, or comes from, the nearest, where that meets demand and supply; else
    None.
    """
    for way, sent, due in ((cost, supply, demand), (cost.T, demand, supply)):
        nearest = way.argmin(axis=1)
        if np.array_equal(np.bincount(nearest, sent, minlength=len(due)), due):
            return float(way.min(axis=1) @ sent)
    return None


def _cheapest(cost: Floats, supply: Ints, demand: Ints) -> float:
    from scipy.optimize import linear_sum_assignment

    # Weights without a common factor need fewer copies.
    unit = int(np.gcd.reduce(np.concatenate((supply, demand))))
    if supply.sum() // unit <= COPIES:
        copies = np.repeat(np.repeat(cost, supply // unit, axis=0), demand // unit, axis=1)
        return float(copies[linear_sum_assignment(copies)].sum()) * unit
    return _programmed(cost, supply, demand)


def _programmed(cost: Floats, supply: Ints, demand: Ints) -> float:
    from scipy.optimize import linprog

    if find_spec("ot"):
        import ot  # type: ignore[import-not-found, import-untyped, unused-ignore]

        whole = int(supply.sum())
        return float(ot.emd2(supply / whole, demand / whole, cost)) * whole
    n, m = cost.shape
    rows = sparse.kron(sparse.eye_array(n), np.ones((1, m)))
    columns = sparse.kron(np.ones((1, n)), sparse.eye_array(m))
    moved: Any = sparse.vstack((rows, columns))
    solution = linprog(cost.ravel(), A_eq=moved, b_eq=np.concatenate((supply, demand)))
    if solution.fun is None:
        raise RuntimeError(f"no transport of {n} words to {m}: {solution.message}")
    return float(solution.fun)


Records = Sequence[Collection[str]]


class WmdSettings(ConfigSection):
    """Word vectors for the word mover's distance."""

    FILES = ("vectors",)
    vectors: File
    """Word vectors (GloVe or word2vec), or a CSV file without a header: an item, then the numbers of its vector."""


def _measure(attacked: AttackResult[StoredDisassociation], *, vectors: str) -> MetricResult:
    release, rows = attacked.release.published, attacked.release.rows
    if rows is None:
        return [], UNKNOWN.format("wmd")
    rebuilt = reconstructed(release, rows.of_row, attacked.assignments)
    anchors = reconstructed(release, rows.of_row, [])
    known = _vectors(attacked.folder / vectors, rebuilt, rows.records)
    distance = mean_distance(rows.records, rebuilt, known, anchors)
    return [(POOLED, "wmd", distance.mean, None, distance.compared)], None


def _vectors(path: FilePath, *transactions: Records) -> Mapping[str, Sequence[float]]:
    """Return the vectors of items, from a file of them, or from the word vectors of their words."""
    from decloak.relate.vectors_file import is_vectors_file
    from decloak.relate.word_vectors import vectors_of

    if is_vectors_file(path):
        items = {item for rows in transactions for row in rows for item in row}
        return {item: vector.tolist() for item, vector in vectors_of(path, sorted(items)).items()}
    # Vectors by item are taken as they are; a file of words above is asked for the words of each item.
    vectors = {}
    for line, (name, *numbers) in records(read_lines(path)):
        try:
            vectors[name] = [read_number(number) for number in numbers]
        except ValueError:
            raise line.error("a vector that is not all numbers", "write an item, then its numbers") from None
    return vectors


FAMILY = Family(
    name="wmd",
    about="Distance of reconstructed records from the original ones",
    metrics=metrics_of("wmd"),
    measure=_measure,
    fits=CHUNKS,
    settings=WmdSettings,
    rule_forms=frozenset({"reassociate"}),
)
