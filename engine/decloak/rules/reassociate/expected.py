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
from collections.abc import Mapping, Sequence

import numpy as np
from scipy.special import betaln, gammaln

from decloak.arrays import Floats, Ints, Mask
from decloak.data.disassociated import Chunk, Cluster, Disassociated, JointCluster
from decloak.rules.reassociate.consistent import CoverLimits, cover_rules
from decloak.rules.reassociate.scores import ClusterCase
from decloak.rules.reassociate.units import TermRows

__all__ = ["expectation", "term_counts", "term_rows", "term_supports"]

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
    s, b = np.arange(1, max(2, n)), GRID[:, None]
    logs = betaln(s, np.maximum(n - s, 0) + b) - gammaln(s + 1) - gammaln(n - s + 1)
    return np.asarray(logs - np.logaddexp.reduce(logs, axis=1, keepdims=True))


def _chances(logs: Floats) -> Floats:
    chances = np.exp(logs - logs.max())
    return np.asarray(chances / chances.sum())


def expectation(
    batch: Sequence[ClusterCase], values: Floats, targets: Floats, ruled_out: Mapping[int, CoverLimits] | None = None
) -> Floats:
    """Return p of every unit of `batch` and every anchor of its cluster, from `values` and `targets`, the rows of each
    unit.

    With `ruled_out` no row is empty, and covered items are together in as few rows as the algorithm allows.
    """
    owner = np.repeat(np.arange(len(batch)), [len(case.units) for case in batch])
    group = _groups(batch)
    sizes, empty = np.zeros((len(batch), values.shape[1])), np.zeros((len(batch), values.shape[1]), np.bool_)
    for number, case in enumerate(batch):
        sizes[number, : len(case.rows.anchors)] = np.bincount(case.rows.of_row, minlength=len(case.rows.anchors))
        empty[number, : len(case.rows.anchors)] = [not anchor for anchor in case.rows.anchors]
    with np.errstate(invalid="ignore"):
        # A constant per unit does not matter, because its scale is fitted: the largest odds are set to 1.
        odds = np.exp(values - values.max(axis=1, keepdims=True))
    odds = np.nan_to_num(odds)  # a unit that no row can have
    if ruled_out is None:
        return _shares(odds, sizes[owner], targets, group, None)
    p = _shares(odds, sizes[owner], targets, group, (owner, empty))
    for _ in range(RULINGS):
        if not _apply_rules(batch, p, odds, ruled_out):
            break
        p = _shares(odds, sizes[owner], targets, group, (owner, empty))
    return p


def _groups(batch: Sequence[ClusterCase]) -> Ints:
    """Return the number of each unit's chunk; a term is a chunk of its own."""
    groups, number, last = [], -1, None
    for at, case in enumerate(batch):
        for unit in case.units:
            if unit.chunk == "T" or (at, unit.chunk) != last:
                number += 1
            last = at, unit.chunk
            groups.append(number)
    return np.array(groups, np.int64)


def _shares(odds: Floats, sizes: Floats, targets: Floats, group: Ints, filled: tuple[Ints, Mask] | None) -> Floats:
    """Return p by scaling every unit's odds until its rows add up."""
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    reach = (odds * sizes).sum(axis=1)
    # The start gives each unit its number of rows as if units did not compete; the rounds correct it.
    scale = np.divide(targets, reach, out=np.zeros_like(targets), where=reach > 0)
    p = np.zeros_like(odds)
    for _ in range(ROUNDS):
        weight = scale[:, None] * odds
        none = 1 / (1 + np.add.reduceat(weight, starts, axis=0))
        p = weight * none[group]
        if filled is not None:
            p = _never_empty(p, none, group[starts], starts, *filled)
        total = (p * sizes).sum(axis=1)
        if (np.abs(total - targets) <= CLOSE * targets).all():
            break
        # Where every row has a unit of the chunk there is no finite scale that leaves none over.
        scale = np.minimum(scale * np.divide(targets, total, out=np.ones_like(total), where=total > 0), LARGEST)
    return p


def _never_empty(p: Floats, none: Floats, groups: Ints, starts: Ints, owner: Ints, empty: Mask) -> Floats:
    """Return p given that a row that shows nothing has something: divided by the probability of that."""
    nothing = np.zeros(empty.shape)
    np.add.at(nothing, owner[starts], np.log(none[groups]))
    share = np.where(empty, np.maximum(-np.expm1(nothing), CLOSE), 1.0)
    return np.asarray(np.minimum(p / share[owner], 1.0))


def _apply_rules(batch: Sequence[ClusterCase], p: Floats, odds: Floats, ruled_out: Mapping[int, CoverLimits]) -> bool:
    """Lower the odds where more rows join a covered item than the algorithm allows; return True if there were such."""
    first, broken = 0, False
    for case in batch:
        units = slice(first, first + len(case.units))
        sizes = np.bincount(case.rows.of_row, minlength=len(case.rows.anchors))
        for rule in cover_rules(case, ruled_out[case.number]):
            cells = np.ix_(np.flatnonzero(rule.units) + first, np.flatnonzero(rule.anchors))
            joined = float((p[cells] * sizes[rule.anchors]).sum())
            if joined > rule.high * (1 + 1e-3):
                # The factor for odds with which about rule.high of these rows are joined, at most.
                rows = int(sizes[rule.anchors].sum())
                q, t = min(joined / rows, 1 - CLOSE), min(rule.high / rows, 0.5)
                odds[cells] *= min(rule.high / joined, t * (1 - q) / (q * (1 - t)))
                broken = True
        first = units.stop
    return broken
