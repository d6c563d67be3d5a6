"""Best guesses at the items that a disassociated release hides of its rows: by the release, by an attack, and at
random.

    part        a later record chunk, a shared chunk or the term chunk: it hides some items of a row
    candidate   an item that a part may hide of a row, with a weight: how likely the row is to have it
    group       the rows with the same candidates: those of a cluster for the release, those of one anchor for an attack

An attacker who knows the cluster and the anchor of a row makes one guess at a part: a candidate with the largest
weight. Candidates with equal weights share the guess, so that n of them are each guessed with the probability 1 / n.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

import numpy as np

from decloak.arrays import Floats, Ints
from decloak.counting.itemsets import places_in
from decloak.measure.kernels.true_rows import AssignedUnits, TrueRows, crossed
from decloak.rules.reassociate.shared import shared_places

__all__ = [
    "Candidates",
    "assigned_candidates",
    "best_guesses",
    "possible_items",
    "published_candidates",
    "random_assignment",
]

AT_ONCE = 1 << 18
"""Rows of assignments that are shuffled at a time, about: bounds the memory."""


class Candidates(NamedTuple):
    """Items that rows may have: an item of the row that represents its group, and the weight."""

    entry: Ints
    weight: Floats


class _Best(NamedTuple):
    """The candidates to guess: ascending keys of group, part and item, and the probability that each is guessed."""

    key: Ints
    share: Floats
    part: Ints
    """Ascending keys of group and part that have any."""


def published_candidates(rows: TrueRows) -> Candidates:
    """Return the candidates of each cluster of `rows`, with the share of its rows that has them.

    The first row of a cluster represents it. Any term of a cluster is in equally many rows, as far as the release
    shows.
    """
    code = {name: number for number, name in enumerate(rows.names)}
    found = [
        (int(rows.first[cluster]) * rows.items + code[item], weight)
        for cluster, item, weight in _published(rows)
        if rows.sizes[cluster]
    ]
    entry, weight = zip(*found, strict=True) if found else ((), ())
    return Candidates(np.array(entry, np.int64), np.array(weight, np.float64))


def _published(rows: TrueRows) -> Iterator[tuple[int, str, float]]:
    for number, cluster in enumerate(rows.release.clusters):
        for chunk in cluster.record_chunks[1:]:
            for item, times in Counter(chain.from_iterable(chunk.subrecords)).items():
                yield number, item, times / max(1, cluster.size)
        for item in cluster.term_chunk:
            yield number, item, 1.0
    places = shared_places(rows.release) if rows.release.joints else []
    for at, joint in enumerate(rows.release.joints):
        size = sum(rows.release.clusters[number].size for number in joint.clusters)
        for j, chunk in enumerate(joint.shared_chunks):
            for item, times in Counter(chain.from_iterable(chunk.subrecords)).items():
                for number in joint.clusters:
                    if places[number].get(item) == f"S{at}.{j}":  # not published elsewhere by the cluster itself
                        yield number, item, times / max(1, size)


def assigned_candidates(rows: TrueRows, given: AssignedUnits, weight: Floats | None = None) -> Candidates:
    """Return what an attack has `given` to `rows` as candidates; `weight` is the probability of
    each assignment, or 1.
    """
    of_gift = given.assignment
    begin, end = given.begin[of_gift], given.end[of_gift]
    entry = crossed(given.row, begin, end, given.item, rows.items)
    return Candidates(entry, np.repeat(np.ones(len(of_gift)) if weight is None else weight, end - begin))


def random_assignment(rows: TrueRows, given: AssignedUnits, rng: np.random.Generator) -> Ints:
    """Return items of `rows` when each unit of `given` goes to random rows of its cluster, drawn with `rng`."""
    size = rows.sizes[given.cluster]
    number, within = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for part in np.split(np.arange(len(size)), np.flatnonzero(np.diff(np.cumsum(size) // AT_ONCE)) + 1):
        assignment = np.repeat(part, size[part])
        place = np.arange(len(assignment)) - np.repeat(np.cumsum(size[part]) - size[part], size[part])
        # Numbers from 0 to 1 keep the assignments apart, and shuffle the rows of each.
        order = np.argsort(assignment + rng.random(len(assignment)))
        # After the sort the n-th row of an assignment stands where it stood.
        chosen = order[place < given.times[assignment]]
        number.append(assignment[chosen])
        within.append(place[chosen])
    drawn = np.concatenate(number)
    row = rows.first[given.cluster[drawn]] + np.concatenate(within)
    return crossed(row, given.begin[drawn], given.end[drawn], given.item, rows.items)


def best_guesses(rows: TrueRows, hidden: Ints, candidates: Candidates, given: Candidates | None = None) -> Floats:
    """Return for each hidden item of a row the probability that the one guess at its part is right.

    `rows` are the rows of the release. `hidden` are items of rows, all that a part hides of a row or none of them.
    `candidates` are the candidates of the release. `given` are the candidates of an attack, which decide if it has any
    for the part and the anchor. A guess is right if the row has the guessed item.
    """
    right = _chance_right(rows, hidden, rows.cluster, candidates)
    if given is not None:
        by_attack = _chance_right(rows, hidden, rows.of_row, given)
        right = np.where(np.isnan(by_attack), right, by_attack)
    return np.nan_to_num(right)


def _chance_right(rows: TrueRows, hidden: Ints, group: Ints, candidates: Candidates) -> Floats:
    """Return the probability that the guess at the part of each hidden item is right; NaN without any candidate."""
    best = _best(rows, group, candidates)
    part = _part(rows, group, hidden)
    place, there = places_in(best.key, part * rows.items + hidden % rows.items)
    share = np.where(there, np.append(best.share, 0.0)[place], 0.0)
    # All items that the part hides of the row are right guesses.
    # The guess is right if it names any item that the part hides of the row.
    own, of_hidden = np.unique(_part(rows, np.arange(rows.rows), hidden), return_inverse=True)
    right = np.bincount(of_hidden, share, len(own))[of_hidden]
    _, reached = places_in(best.part, part)
    return np.where(reached, right, np.nan)


def _part(rows: TrueRows, group: Ints, entries: Ints) -> Ints:
    """Return a number for the part of each item of a row within the group of the row."""
    chunk = rows.part_of(entries)
    return (group[entries // rows.items] * rows.parts) + chunk % rows.parts


def _best(rows: TrueRows, group: Ints, candidates: Candidates) -> _Best:
    key = _part(rows, group, candidates.entry) * rows.items + candidates.entry % rows.items
    keys, of_key = np.unique(key, return_inverse=True)
    # Rounding makes equal weights equal, whatever the order of the sums.
    weight = np.round(np.bincount(of_key, candidates.weight, len(keys)), 12)
    part, first, of_part = np.unique(keys // rows.items, return_index=True, return_inverse=True)
    highest = np.maximum.reduceat(weight, first) if len(first) else weight
    top = weight == highest[of_part]
    share = 1 / np.bincount(of_part[top], minlength=len(part))[of_part[top]]
    return _Best(keys[top], share, part)


def possible_items(rows: TrueRows) -> Ints:
    """Return the items that each of `rows` may have as published: its anchor, and everything else its cluster
    publishes.
    """
    code = {name: number for number, name in enumerate(rows.names)}
    further: list[set[str]] = [
        {*cluster.term_chunk, *(item for chunk in cluster.record_chunks[1:] for item in chunk.items)}
        for cluster in rows.release.clusters
    ]
    for joint in rows.release.joints:
        for number in joint.clusters:
            further[number].update(item for chunk in joint.shared_chunks for item in chunk.items)
    item = np.array([code[item] for items in further for item in sorted(items)], np.int64)
    end = np.cumsum(list(map(len, further)), dtype=np.int64)
    begin = np.append(0, end)[:-1]
    elsewhere = crossed(np.arange(rows.rows), begin[rows.cluster], end[rows.cluster], item, rows.items)
    return np.concatenate((rows.anchor_items, elsewhere))
