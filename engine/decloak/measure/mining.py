"""Loss of multiple-level mining in a generalised release: ML², dML², and the top itemsets.

D at level i replaces each item, and each published label, by the highest node above it of level i or less. Level i
hides labels above it. FI_i(D) are the sets of nodes, of any size, that `minsup` or more records then have. D' is the
release, h the level of the root, which itself is left out of the sums over i. ML² = 1 - Σ|FI_i(D')| / Σ|FI_i(D)|. dML²
counts the levels by which a set of FI_i(D) has to be raised until it is in FI_j(D'). The paper's Formula 2 takes the
mean over all sets, its experiments over sets outside FI_i(D').
"""

import math
from collections.abc import Sequence, Set
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from pydantic import Field

from decloak.arrays import Ints, Mask
from decloak.checks import check_whole
from decloak.counting.frequent import frequent, row_numbers
from decloak.data.dataset import Dataset
from decloak.data.exact_ratio import ExactRatio
from decloak.data.generalised import Generalised
from decloak.data.hierarchy import Hierarchy
from decloak.errors import DecloakError, quote, suggest
from decloak.figures import metrics_of
from decloak.lazy import sparse
from decloak.measure.family import POOLED, SETS, AttackResult, Family, MetricResult, MetricValue
from decloak.measure.utility import Records, tkd
from decloak.releases.stored import UNKNOWN, StoredSetRelease
from decloak.yaml.section import ConfigSection

MOST = 1_000_000
"""Frequent itemsets of one level, at most; with more of them the threshold is too low to be useful."""

Sets = Ints
"""Sets of nodes, one per row, descending; -1 pads rows."""


class Level(NamedTuple):
    """Numbers of frequent itemsets at a level of the hierarchy, in the original data and in the release."""

    level: int
    original: int
    published: int


class Ml2(NamedTuple):
    """Loss of multiple-level mining; a mean over an empty set is None."""

    ml2: ExactRatio | None
    levels: tuple[Level, ...]
    dml2_eq2: ExactRatio | None
    dml2_experiments: ExactRatio | None


def least_support(share: float | Fraction, records: int) -> int:
    """Return the smallest number of `records` that is at least a `share` of them, and at least 1.

    >>> least_support(0.07, 100)
    7
    """
    # Through its text the share is exact: as floats, 0.07 * 100 is more than 7.
    return max(1, math.ceil(Fraction(str(share)) * records))


def ml2(tree: Hierarchy, original: Dataset, release: Generalised, minsup: int) -> Ml2:
    """Compare the itemsets that `minsup` or more records of `original` and `release` have, at every level of
    `tree`.

    Items outside the hierarchy that are published unchanged, such as sensitive ones, are left out of both. Return the
    loss.
    """
    check_whole(1, minsup=minsup)
    height = int(tree.level[0])
    lifts = [_lift(tree, level) for level in range(height + 1)]
    beside = {label for label, members in release.members.items() if label not in tree.number and members == (label,)}
    data, published = _leaves(tree, original, beside), _labels(tree, release, beside)
    # The root is frequent in any data, so that its level is left out.
    frequent_sets = [_frequent(data, lift, minsup) for lift in lifts[:-1]]
    # A set may be found again as the root only, so that its level is kept here.
    kept = [_frequent(published, lift, minsup) for lift in lifts]
    levels = tuple(Level(level, len(frequent_sets[level]), len(kept[level])) for level in range(height))
    moved = np.concatenate([_levels_lifted(sets, level, lifts, kept) for level, sets in enumerate(frequent_sets)])
    return Ml2(
        _ratio(len(moved) - sum(level.published for level in levels), len(moved)),
        levels,
        _ratio(int(moved.sum()), len(moved)),
        _ratio(int(moved.sum()), int(np.count_nonzero(moved))),
    )


def _ratio(part: int, whole: int) -> ExactRatio | None:
    return ExactRatio(Fraction(part, whole)) if whole else None


def _lift(tree: Hierarchy, level: int) -> Ints:
    """Return the node of each node at a level, -1 where it is not seen; and -1 once more, for the padding of rows."""
    low = tree.level <= level
    # The highest nodes that are low enough: the parent of each is above the level.
    tops = np.flatnonzero(low & np.append(True, tree.level[tree.parent[1:]] > level))
    return np.append(np.where(low, tree.above(tops)[tree.first], -1), -1)


def _leaves(tree: Hierarchy, original: Dataset, beside: Set[str]) -> "sparse.csr_array":
    records = tree.code(_leave_out(beside, original.transactions))
    shape = (records.shape[0], len(tree.labels))
    return sparse.csr_array((records.data, tree.leaf[records.indices], records.indptr), shape)


def _labels(tree: Hierarchy, release: Generalised, beside: Set[str]) -> "sparse.csr_array":
    """Return records × nodes of the release."""
    for label, members in release.members.items():
        if label in beside:
            continue
        if label not in tree.number:
            hint = suggest(label, tree.labels[:5000]) or "give the hierarchy that the release was made with"
            raise DecloakError(f"the label {quote(label)} is not in the hierarchy", release.origin, hint)
        if set(tree.members(tree.number[label])) != set(members):
            message = f"the label {quote(label)} has other items than in the hierarchy"
            raise DecloakError(message, release.origin, "give the hierarchy that the release was made with")
    rows = _leave_out(beside, release.transactions)
    nodes = [tree.number[label] for row in rows for label in row]
    start = np.cumsum([0, *map(len, rows)])
    shape = (len(rows), len(tree.labels))
    return sparse.csr_array((np.ones(len(nodes), np.int8), np.array(nodes, np.int64), start), shape)


def _leave_out(names: Set[str], rows: Sequence[Sequence[str]]) -> Sequence[Sequence[str]]:
    return [[name for name in row if name not in names] for row in rows] if names else rows


def _frequent(records: "sparse.csr_array", lift: Ints, minsup: int) -> Sets:
    """Return the sets of nodes that `minsup` records have at a level."""
    record = np.repeat(np.arange(records.shape[0]), np.diff(records.indptr))
    node = lift[records.indices]
    cells = (record[node >= 0], node[node >= 0])
    seen = sparse.csr_array((np.ones(len(cells[0]), np.int64), cells), records.shape)
    blocks: list[Ints] = []
    for block in frequent(seen, minsup):
        blocks.append(block)
        if sum(map(len, blocks)) > MOST:
            message = f"more than {MOST:,} itemsets are in {minsup} records or more"
            raise DecloakError(message, hint="raise the threshold")
    width = max((block.shape[1] for block in blocks), default=0)
    return np.concatenate([_pad_sets(block[:, ::-1], width) for block in blocks] or [np.empty((0, 0), np.int64)])


def _pad_sets(sets: Sets, width: int) -> Sets:
    return np.pad(sets, ((0, 0), (0, width - sets.shape[1])), constant_values=-1)


def _levels_lifted(sets: Sets, level: int, lifts: Sequence[Ints], kept: Sequence[Sets]) -> Ints:
    """Return the number of levels up at which each set is frequent in the release; one more than there are if it never
    is.
    """
    moved = np.full(len(sets), len(lifts) - level)
    remaining = np.arange(len(sets))
    for above in range(level, len(lifts)):
        # A set is searched one level higher only if it is in none below: most are found at once.
        there = _is_among(_sets_at_level(sets[remaining], lifts[above]), kept[above])
        moved[remaining[there]] = above - level
        remaining = remaining[~there]
    return moved


def _sets_at_level(sets: Sets, lift: Ints) -> Sets:
    """Return sets at a level; nodes that are the same there become one."""
    # Equal nodes are neighbours after sorting, and all but one of them become padding.
    nodes = np.sort(lift[sets], axis=1)[:, ::-1]
    same = np.diff(nodes, axis=1, prepend=-2) == 0
    return np.sort(np.where(same, -1, nodes), axis=1)[:, ::-1]


def _is_among(sets: Sets, among: Sets) -> Mask:
    width = max(sets.shape[1], among.shape[1])
    number = row_numbers(np.concatenate((_pad_sets(sets, width), _pad_sets(among, width))))
    return np.isin(number[: len(sets)], number[len(sets) :])


def tkd_labels(release: Generalised, records: Records, top: int) -> float | None:
    """Return the share of the `top` most frequent itemsets of `records` that `release` loses.

    The share is defined as in `tkd_chunks`. Labels with several items rank with the others, and equal no item.
    """
    plain = {label for label, members in release.members.items() if members == (label,)}
    # No name has a zero character, so that no label is taken for the item of the same name.
    rows = [[label if label in plain else f"\0{label}" for label in row] for row in release.transactions]
    return tkd(rows, records, top)


class MiningSettings(ConfigSection):
    """The frequent itemsets of a generalised release."""

    support: float = Field(0.01, gt=0, le=1)
    """The share of the records that hold a frequent itemset."""
    top: int = Field(100, ge=1)
    """How many of the most frequent itemsets are compared."""


def _measure(attacked: AttackResult[StoredSetRelease], *, support: float, top: int) -> MetricResult:

    release = attacked.release
    published, original, tree = release.labels, release.behind, release.tree
    if original is None:
        return [], UNKNOWN.format("what mining finds")
    figures: list[MetricValue] = [(POOLED, "tkd", tkd_labels(published, original.transactions, top), None, None)]
    # Levels are those of the hierarchy; without one there still are the most frequent labels to compare.
    if tree is None:
        return figures, "ML2 needs the hierarchy that the release was generalised in"
    levels = ml2(tree, original, published, least_support(support, len(original.transactions)))
    values = {"ml2": levels.ml2, "dml2": levels.dml2_eq2, "dml2_lost": levels.dml2_experiments}
    figures += [(POOLED, name, None if value is None else float(value), None, None) for name, value in values.items()]
    return figures, None


FAMILY = Family(
    name="mining",
    about="Frequent itemsets that a generalised release loses",
    metrics=metrics_of("mining"),
    measure=_measure,
    fits=SETS,
    settings=MiningSettings,
    of_release=True,
)
