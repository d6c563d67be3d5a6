"""Expected assignment: each row has a unit with a probability, and the probabilities add up to the published numbers.

Row r of a cluster has unit u with probability p(u, r). Rows of one anchor are indistinguishable. z(u, r) is the value
of the unit with the row's anchor, in log odds up to a constant of the unit. A row has at most one sub-record of a
chunk, so that

    p(u, r) = l(u) exp z(u, r) / (1 + sum over the units v of u's chunk of l(v) exp z(v, r))

and l(u) is such that the sum of p(u, r) over the rows is the number of times u was published; terms are chunks of their
own. It is the distribution of largest entropy around z with these sums. The number of rows of a term is hidden; it is
expected from published supports. Items differ in frequency, and rare ones are the most common, with a density x^-1
(1-x)^(b-1) over the share x of records. So an item of a cluster of n records has support s with probability
proportional to C(n, s) B(s, n-s+b). b maximises the likelihood of the supports in record chunks, and of the number of
terms, which have 1 to k-1. Items that every record of a cluster has are left out: clusters are made by them.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from decloak.arrays import Floats, Ints
from decloak.data.content import Chunk, Cluster, JointCluster
from decloak.data.disassociated import Disassociated
from decloak.rules.reassociate.consistent import CoverLimits, cover_rules
from decloak.rules.reassociate.scores import ClusterBatch, add_lines

__all__ = ["TermRows", "expectation", "term_counts", "term_rows", "term_supports"]

ROUNDS = 200
CLOSE = 1e-5
"""Largest deviation of the sums, as a share of their target."""

LARGEST = 1e12
"""Largest scale of a unit's odds."""

RULINGS = 20
"""Number of times that rows excluded by the algorithm are searched again."""

WIDEST = 1e4
GRID = np.geomspace(0.1, WIDEST, 121)
"""Values of b that are tried: each is less than a tenth above the one before."""


class TermRows(NamedTuple):
    """The expected number of rows with a term: `of_term` by cluster and term, or else `of_size` by size of the
    cluster.
    """

    of_size: Mapping[int, float]
    of_term: Mapping[tuple[int, str], float]

    def expected(self, batch: ClusterBatch) -> Floats:
        """Return the expected number of rows of each unit of `batch` that is a term, of others the published one."""
        of_size = np.array([self.of_size[size] for size in batch.records.tolist()])
        rows = np.where(batch.is_term, of_size[batch.owner], batch.times)
        for case, units in batch.by_case() if self.of_term else ():
            for at, unit in enumerate(case.units, units.start):
                rows[at] = self.of_term.get((case.number, unit.items[0]), rows[at]) if unit.chunk == "T" else rows[at]
        return rows


def term_counts(supports: Mapping[int, Floats]) -> dict[int, float]:
    """Return the expected number of records with a term, by the size of the cluster, from the
    probabilities `supports`.
    """
    return {n: float(chances @ np.arange(1, len(chances) + 1)) for n, chances in supports.items()}


def term_rows(release: Disassociated, supports: Mapping[int, Floats]) -> TermRows:
    """Return the expected numbers of rows with the terms of `release`, from the probabilities `supports`.

    A published total fixes how many rows have an item as a term. Each cluster with the term has one of them. The others
    are divided like the expected numbers above one.
    """
    of_size = term_counts(supports)
    if not release.totals:
        return TermRows(of_size, {})
    hidden = Counter(dict(release.totals))
    chunks = (chunk for part in (release.clusters, release.joints) for each in part for chunk in _chunks(each))
    hidden.subtract(item for chunk in chunks for subrecord in chunk.subrecords for item in subrecord)
    totals = dict(release.totals)
    homes: dict[str, list[int]] = {}
    for number, cluster in enumerate(release.clusters):
        for term in cluster.term_chunk:
            if term in totals:
                homes.setdefault(term, []).append(number)
    of_term = {}
    for term, numbers in homes.items():
        sizes = [release.clusters[number].size for number in numbers]
        weights = [max(0.0, of_size[size] - 1) for size in sizes]
        whole, left = sum(weights), max(0, hidden[term] - len(numbers))
        for number, size, weight in zip(numbers, sizes, weights, strict=True):
            share = weight / whole if whole else 1 / len(numbers)
            of_term[number, term] = min(float(size), 1 + left * share)
    return TermRows(of_size, of_term)


def _chunks(part: Cluster | JointCluster) -> Sequence[Chunk]:
    return part.record_chunks if isinstance(part, Cluster) else part.shared_chunks


def term_supports(release: Disassociated, k: int) -> dict[int, Floats]:
    """Return the probability of a term of `release` to be in 1, 2, ... records, at most `k`-1, by the size of the
    cluster.
    """
    supports, terms = _supports(release)
    likelihood = np.zeros(len(GRID))
    for n in {*terms, *(n for n, _ in supports)}:
        logs = _log_chances(n)
        seen = Counter({s: count for (size, s), count in supports.items() if size == n})
        for s, count in seen.items():
            likelihood += count * logs[:, s - 1]
        if terms[n]:
            likelihood += terms[n] * np.logaddexp.reduce(logs[:, : k - 1], axis=1)
    at = int(likelihood.argmax())
    return {n: _chances(_log_chances(n)[at, : k - 1]) for n in {cluster.size for cluster in release.clusters}}


def _supports(release: Disassociated) -> tuple[Counter[tuple[int, int]], Counter[int]]:
    """Count the items of record chunks by support and size of the cluster, and the terms by size of the cluster."""
    supports: Counter[tuple[int, int]] = Counter()
    terms: Counter[int] = Counter()
    for cluster in release.clusters:
        terms[cluster.size] += len(cluster.term_chunk)
        for chunk in cluster.record_chunks:
            counts = Counter(item for subrecord in chunk.subrecords for item in subrecord)
            supports.update((cluster.size, s) for s in counts.values() if s < cluster.size)
    return supports, terms


def _log_chances(n: int) -> Floats:
    """Return ln P(s | n) for s = 1 to n-1 (1 for n = 1), a row for each b."""
    from scipy.special import betaln, gammaln  # 0.1 s that a run with stored results saves

    s, b = np.arange(1, max(2, n)), GRID[:, None]
    logs = betaln(s, np.maximum(n - s, 0) + b) - gammaln(s + 1) - gammaln(n - s + 1)
    return np.asarray(logs - np.logaddexp.reduce(logs, axis=1, keepdims=True))


def _chances(logs: Floats) -> Floats:
    chances = np.exp(logs - logs.max())
    return np.asarray(chances / chances.sum())


def expectation(
    batch: ClusterBatch, values: Floats, targets: Floats, ruled_out: Mapping[int, CoverLimits] | None = None
) -> Floats:
    """Return p of every unit of `batch` and every anchor of its cluster, from `values` and `targets`, the rows of each
    unit.

    With `ruled_out` no row is empty, and covered items are together in as few rows as the algorithm allows.
    """
    with np.errstate(invalid="ignore"):
        # A constant per unit does not matter, because its scale is fitted: the largest odds are set to 1.
        odds = np.exp(values - values.max(axis=1, keepdims=True))
    odds = np.nan_to_num(odds)  # a unit that no row can have
    filled = None if ruled_out is None else _EmptyRows.of(batch)
    p = _shares(odds, batch.sizes[batch.owner], targets, batch.chunk, filled)
    limits = [] if ruled_out is None else list(_limits(batch, ruled_out))
    for _ in range(RULINGS if limits else 0):
        if not _lower_odds(limits, p, odds):
            break
        p = _shares(odds, batch.sizes[batch.owner], targets, batch.chunk, filled)
    return p


class _EmptyRows(NamedTuple):
    """The rows that show nothing: units that may be in one, the anchor of these rows, and the chunks by case.

    `first` has the first unit of each chunk of the batch.
    """

    unit: Ints
    anchor: Ints
    owner: Ints
    chunk: Ints
    column: Ints
    case: Ints
    first: Ints

    @classmethod
    def of(cls, batch: ClusterBatch) -> "_EmptyRows":
        anchor = batch.empty[batch.owner]
        unit = np.flatnonzero(anchor >= 0)
        first = np.flatnonzero(np.diff(batch.chunk, prepend=-1))
        chunk = np.flatnonzero(anchor[first] >= 0)
        case = batch.owner[first][chunk]
        return cls(unit, anchor[unit], batch.owner[unit], chunk, anchor[first][chunk], case, first)

    def fill(self, p: Floats, none: Floats) -> None:
        """Change `p` to what it is given that a row that shows nothing has something: divide by that probability.

        `p` and `none` have an anchor in each line, and `none` the probability that no unit of a unit's chunk is there.
        """
        nothing = np.bincount(self.case, np.log(none[self.column, self.first[self.chunk]]))
        share = np.maximum(-np.expm1(nothing), CLOSE)
        p[self.anchor, self.unit] /= share[self.owner]
        np.minimum(p, 1.0, out=p)


def _shares(odds: Floats, sizes: Floats, targets: Floats, chunk: Ints, filled: _EmptyRows | None) -> Floats:
    """Return p by scaling every unit's odds until its rows add up."""
    # An anchor in each line: numpy goes through the many units of a batch at once, not through a few anchors.
    odds, sizes = np.ascontiguousarray(odds.T), np.ascontiguousarray(sizes.T)
    lengths = np.bincount(chunk)
    rivals = np.flatnonzero(lengths[chunk] > 1)  # most units are terms, alone in their chunk
    starts = np.flatnonzero(np.diff(chunk[rivals], prepend=-1))
    of_rival = np.repeat(np.arange(len(starts)), lengths[lengths > 1])
    p, none, product = np.empty_like(odds), np.empty_like(odds), odds * sizes
    reach = add_lines(product)
    # The start gives each unit its number of rows as if units did not compete; the rounds correct it.
    scale = np.divide(targets, reach, out=np.zeros_like(targets), where=reach > 0)
    for _ in range(ROUNDS):
        np.multiply(scale, odds, out=p)
        np.add(p, 1, out=none)
        if len(rivals):
            none[:, rivals] = (np.add.reduceat(p[:, rivals], starts, axis=1) + 1)[:, of_rival]
        np.divide(1, none, out=none)
        p *= none
        if filled is not None:
            filled.fill(p, none)
        total = add_lines(np.multiply(p, sizes, out=product))
        if (np.abs(total - targets) <= CLOSE * targets).all():
            break
        # Where every row has a unit of the chunk there is no finite scale that leaves none over.
        scale = np.minimum(scale * np.divide(targets, total, out=np.ones_like(total), where=total > 0), LARGEST)
    return np.ascontiguousarray(p.T)


class _Limit(NamedTuple):
    """A rule of the algorithm: at most `high` rows are in these cells of units and anchors of `sizes` rows."""

    cells: tuple[Ints, ...]
    sizes: Floats
    high: int


def _limits(batch: ClusterBatch, ruled_out: Mapping[int, CoverLimits]) -> Iterator[_Limit]:
    for at, (case, units) in enumerate(batch.by_case()):
        for rule in cover_rules(case, ruled_out[case.number]):
            cells = np.ix_(np.flatnonzero(rule.units) + units.start, np.flatnonzero(rule.anchors))
            yield _Limit(cells, batch.sizes[at, : len(case.rows.anchors)][rule.anchors], rule.high)


def _lower_odds(limits: Sequence[_Limit], p: Floats, odds: Floats) -> bool:
    """Lower the odds where more rows join a covered item than the algorithm allows; return True if there were such."""
    broken = False
    for cells, sizes, high in limits:
        joined = float((p[cells] * sizes).sum())
        if joined > high * (1 + 1e-3):
            # The factor for odds with which about `high` of these rows are joined, at most.
            rows = int(sizes.sum())
            q, t = min(joined / rows, 1 - CLOSE), min(high / rows, 0.5)
            odds[cells] *= min(high / joined, t * (1 - q) / (q * (1 - t)))
            broken = True
    return broken
