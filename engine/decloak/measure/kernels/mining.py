"""What mining at every level of the hierarchy still finds in a generalised release: ML², dML², and the top itemsets.

D at level i has in place of each item the highest node above it of level i or less; of a published label likewise, and
labels above level i are not seen at level i. FI_i(D) are the sets of nodes, of whatever size, that `minsup` records or
more hold then; D' is what is published, h the level of the root, which itself is left out of the sums over i.
ML² = 1 - Σ|FI_i(D')| / Σ|FI_i(D)|. For every set of FI_i(D), dML² counts the levels it has to be lifted until it is in
FI_j(D'), over all sets (the paper's Formula 2), and over those that are not in FI_i(D') (its experiments).
"""

import math
from collections.abc import Sequence, Set
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from decloak.arrays import Ints, Mask
from decloak.checks import check_whole
from decloak.counting.frequent import frequent, row_numbers
from decloak.data.dataset import Dataset
from decloak.data.generalised import Generalised
from decloak.data.hierarchy import Hierarchy
from decloak.data.share import Share
from decloak.errors import DecloakError, nearest, shown
from decloak.measure.kernels.utility import Records, tkd

__all__ = ["MOST", "Level", "Ml2", "least_support", "ml2", "tkd_labels"]

MOST = 1_000_000
"""Frequent itemsets of one level; with more of them the threshold is too low to tell anything."""

Sets = Ints
"""Sets of nodes, one a row, descending; -1 fills rows up."""


class Level(NamedTuple):
    """How many itemsets are frequent at a level of the hierarchy, in the data and as published."""

    level: int
    original: int
    published: int


class Ml2(NamedTuple):
    """What multiple level mining loses; a mean over nothing is None."""

    ml2: Share | None
    levels: tuple[Level, ...]
    dml2_eq2: Share | None
    dml2_experiments: Share | None


def least_support(share: float | Fraction, records: int) -> int:
    """The least number of records that is at least a share of them, and at least 1.

    >>> least_support(0.07, 100)
    7
    """
    return max(1, math.ceil(Fraction(str(share)) * records))


def ml2(tree: Hierarchy, original: Dataset, release: Generalised, minsup: int) -> Ml2:
    """Compare the itemsets that `minsup` transactions or more hold, at every level.

    Items beside the hierarchy that are published as they are, such as sensitive ones, are left out of both.
    """
    check_whole(1, minsup=minsup)
    height = int(tree.level[0])
    lifts = [_lift(tree, level) for level in range(height + 1)]
    beside = {label for label, members in release.members.items() if label not in tree.number and members == (label,)}
    data, published = _leaves(tree, original, beside), _labels(tree, release, beside)
    frequent_sets = [_frequent(data, lift, minsup) for lift in lifts[:-1]]
    kept = [_frequent(published, lift, minsup) for lift in lifts]
    levels = tuple(Level(level, len(frequent_sets[level]), len(kept[level])) for level in range(height))
    moved = np.concatenate([_moved(sets, level, lifts, kept) for level, sets in enumerate(frequent_sets)])
    return Ml2(
        _ratio(len(moved) - sum(level.published for level in levels), len(moved)),
        levels,
        _ratio(int(moved.sum()), len(moved)),
        _ratio(int(moved.sum()), int(np.count_nonzero(moved))),
    )


def _ratio(part: int, whole: int) -> Share | None:
    return Share(Fraction(part, whole)) if whole else None


def _lift(tree: Hierarchy, level: int) -> Ints:
    """What every node is at a level, -1 where it is not seen; and -1 once more, for what fills a row up."""
    low = tree.level <= level
    tops = np.flatnonzero(low & np.append(True, tree.level[tree.parent[1:]] > level))
    return np.append(np.where(low, tree.above(tops)[tree.first], -1), -1)


def _leaves(tree: Hierarchy, original: Dataset, beside: Set[str]) -> sparse.csr_array[Any]:
    records = tree.code(_without(beside, original.transactions))
    shape = (records.shape[0], len(tree.labels))
    return sparse.csr_array((records.data, tree.leaf[records.indices], records.indptr), shape)


def _labels(tree: Hierarchy, release: Generalised, beside: Set[str]) -> sparse.csr_array[Any]:
    """Records × nodes, of the release."""
    for label, members in release.members.items():
        if label in beside:
            continue
        if label not in tree.number:
            hint = nearest(label, tree.labels[:5000]) or "give the hierarchy that the release was made with"
            raise DecloakError(f"the label {shown(label)} is not in the hierarchy", release.origin, hint)
        if set(tree.members(tree.number[label])) != set(members):
            message = f"the label {shown(label)} stands for other items than in the hierarchy"
            raise DecloakError(message, release.origin, "give the hierarchy that the release was made with")
    rows = _without(beside, release.transactions)
    nodes = [tree.number[label] for row in rows for label in row]
    start = np.cumsum([0, *map(len, rows)])
    shape = (len(rows), len(tree.labels))
    return sparse.csr_array((np.ones(len(nodes), np.int8), np.array(nodes, np.int64), start), shape)


def _without(names: Set[str], rows: Sequence[Sequence[str]]) -> Sequence[Sequence[str]]:
    return [[name for name in row if name not in names] for row in rows] if names else rows


def _frequent(records: sparse.csr_array[Any], lift: Ints, minsup: int) -> Sets:
    """The sets of nodes that `minsup` records hold when they are seen from a level."""
    record = np.repeat(np.arange(records.shape[0]), np.diff(records.indptr))
    node = lift[records.indices]
    cells = (record[node >= 0], node[node >= 0])
    seen = sparse.csr_array((np.ones(len(cells[0]), np.int64), cells), records.shape)
    blocks: list[Ints] = []
    for block in frequent(seen, minsup):
        blocks.append(block)
        if sum(map(len, blocks)) > MOST:
            message = f"more than {MOST:,} itemsets are in {minsup} transactions or more"
            raise DecloakError(message, hint="raise the threshold")
    return _filled(blocks)


def _filled(blocks: Sequence[Ints]) -> Sets:
    width = max((block.shape[1] for block in blocks), default=0)
    return np.concatenate([_wide(block[:, ::-1], width) for block in blocks] or [np.empty((0, 0), np.int64)])


def _wide(sets: Sets, width: int) -> Sets:
    return np.pad(sets, ((0, 0), (0, width - sets.shape[1])), constant_values=-1)


def _moved(sets: Sets, level: int, lifts: Sequence[Ints], kept: Sequence[Sets]) -> Ints:
    """How many levels up each set is frequent as published; one more than there are when it never is."""
    moved = np.full(len(sets), len(lifts) - level)
    remaining = np.arange(len(sets))
    for above in range(level, len(lifts)):
        # A set is looked for a level higher only while it is in none below: most are found at once.
        there = _among(_lifted(sets[remaining], lifts[above]), kept[above])
        moved[remaining[there]] = above - level
        remaining = remaining[~there]
    return moved


def _lifted(sets: Sets, lift: Ints) -> Sets:
    """Sets at a level; nodes that are the same there are one."""
    nodes = np.sort(lift[sets], axis=1)[:, ::-1]
    same = np.diff(nodes, axis=1, prepend=-2) == 0
    return np.sort(np.where(same, -1, nodes), axis=1)[:, ::-1]


def _among(sets: Sets, among: Sets) -> Mask:
    width = max(sets.shape[1], among.shape[1])
    number = row_numbers(np.concatenate((_wide(sets, width), _wide(among, width))))
    return np.isin(number[: len(sets)], number[len(sets) :])


def tkd_labels(release: Generalised, records: Records, top: int) -> float | None:
    """The share of the `top` most frequent itemsets of the records that are not among those of the release.

    As `tkd_chunks` has it; labels that stand for several items rank with the others, and are none of the items.
    """
    plain = {label for label, members in release.members.items() if members == (label,)}
    # No name has a zero character, so that no label is taken for the item of the same name.
    rows = [[label if label in plain else f"\0{label}" for label in row] for row in release.transactions]
    return tkd(rows, records, top)
