"""How surely what was cut off a record is put back to it: by the release alone, by an attack, and by chance.

A unit of a record is what a later chunk of its cluster shows of it, or one of its terms. Published `times` for n rows
it is of a row with the chance times / n, as far as the release tells. An attack that gives it to a of the rows of an
anchor gives it to each of the records behind that anchor, s in number, with the chance a / s.
"""

from collections import Counter
from typing import NamedTuple

import numpy as np

from decloak.arrays import Floats, Ints
from decloak.counting.ascending import places_in
from decloak.data.disassociated import Disassociated
from decloak.measure.kernels.true_rows import Given, TrueRows, Unit, crossed

__all__ = ["PutBack", "Released", "possible", "put_back", "reconstructed_at_random", "released"]


class Released(NamedTuple):
    """Of each unit that a row truly has: the row, how many items it is, and the chance that it is of the row, as far as
    the release tells.
    """

    row: Ints
    items: Ints
    right: Floats


class PutBack(NamedTuple):
    """Of the same units the chance that an attack put them back there, and that as many rows drawn at random would be
    right; NaN where the attack gave the unit to nobody.
    """

    attacked: Floats
    by_chance: Floats


def released(rows: TrueRows, true: Ints) -> Released:
    """How surely the release alone tells of some of the units that rows truly have."""
    unit, row = np.divmod(true, max(1, rows.rows))
    chances = _published(rows.release, set(rows.cluster[row].tolist()))
    numbers, of_number = np.unique(unit, return_inverse=True)
    named = [rows.named_units[number] for number in numbers.tolist()]
    right = np.array([chances[name] for name in named], np.float64)
    items = np.array([len(names) for *_, names in named], np.int64)
    return Released(row, items[of_number], right[of_number])


def put_back(rows: TrueRows, given: Given, true: Ints) -> PutBack:
    """How surely an attack puts these back, by what it gave."""
    unit, row = np.divmod(true, max(1, rows.rows))
    classes = len(rows.class_sizes)
    looked_at = np.zeros(classes, np.bool_)
    looked_at[rows.of_row[row]] = True
    of_row = rows.of_row[given.row]
    asked_for = looked_at[of_row]
    key, a = np.unique(given.unit[given.assignment[asked_for]] * classes + of_row[asked_for], return_counts=True)
    share = a / rows.class_sizes[key % max(1, classes)]
    place, there = places_in(key, unit * classes + rows.of_row[row])
    attacked = np.where(there, np.append(share, 0.0)[place], 0.0)
    by_chance = np.full(len(rows.named_units) + 1, np.nan)
    by_chance[given.unit] = given.times / rows.sizes[given.cluster]
    by_chance = by_chance[:-1][unit] if len(unit) else np.zeros(0)
    return PutBack(np.where(np.isnan(by_chance), np.nan, attacked), by_chance)


def _published(release: Disassociated, clusters: set[int]) -> dict[Unit, float]:
    """The chance that a row of some clusters has a unit, by the number of rows that it is of and that it may be of."""
    chances: dict[Unit, float] = {}
    for number in clusters:
        cluster = release.clusters[number]
        for j, chunk in enumerate(cluster.record_chunks):
            for items, times in Counter(tuple(sorted(subrecord)) for subrecord in chunk.subrecords).items():
                chances[number, j, items] = times / cluster.size
        for term in cluster.term_chunk:
            chances[number, "T", (term,)] = min((release.k or 2) - 1, cluster.size) / cluster.size
    for at, joint in enumerate(release.joints):
        size = sum(release.clusters[number].size for number in joint.clusters)
        for j, chunk in enumerate(joint.shared_chunks):
            for items, times in Counter(tuple(sorted(subrecord)) for subrecord in chunk.subrecords).items():
                for number in clusters.intersection(joint.clusters):
                    chances[number, f"S{at}.{j}", items] = times / size
    return chances


def possible(rows: TrueRows) -> Ints:
    """What each row may hold as published: its anchor, and whatever else its cluster publishes, as items of rows."""
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
    return np.concatenate((rows.shown, elsewhere))


def reconstructed_at_random(rows: TrueRows, given: Given, rng: np.random.Generator) -> Ints:
    """The items of rows when every unit is given to as many rows of its cluster at random, their anchors' included."""
    size = rows.sizes[given.cluster]
    assignment = np.repeat(np.arange(len(size)), size)
    within = np.arange(len(assignment)) - np.repeat(np.cumsum(size) - size, size)
    # Numbers from 0 to 1 keep the assignments apart, and shuffle the rows of each.
    order = np.argsort(assignment + rng.random(len(assignment)))
    chosen = order[within < given.times[assignment]]  # after the sort the n-th of an assignment stands where it stood
    drawn = assignment[chosen]
    row = rows.first[given.cluster[drawn]] + within[chosen]
    return np.concatenate((rows.shown, crossed(row, given.begin[drawn], given.end[drawn], given.item, rows.items)))
