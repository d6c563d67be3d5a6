"""Tasks about people whose clusters are in files: each reads one file of the release, and returns small counts.

Only the clusters of the people themselves are compared with the records behind them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from decloak.arrays import Floats, Ints
from decloak.counting.blocks import some_numbers
from decloak.data.assignment import AssignmentList
from decloak.data.disassociated import Disassociated
from decloak.data.formats.blocks import Block
from decloak.data.formats.cluster_files import ClusterArrays, read_arrays, read_assignments, read_truth
from decloak.measure.exposure_chunks import ChunkPeople
from decloak.measure.kernels.chunk_guesses import assigned_candidates
from decloak.measure.kernels.cluster_search import (
    Found,
    Questions,
    SetSearch,
    at_random,
    drawn_in_turn,
    search_all,
    search_clusters,
)
from decloak.measure.kernels.estimate.chunks import ChunkEstimates
from decloak.measure.kernels.true_rows import TrueRows


class PeoplePlaces(NamedTuple):
    """The people behind the clusters of one file: cluster, row and record of each, without suppressed items."""

    person: Ints
    cluster: Ints
    row: Ints
    records: Sequence[tuple[str, ...]]


class OwnClusters(NamedTuple):
    """What people's own clusters show of them.

    `guessed` people have an item known or guessed. Of all their items, `shown` ones are in anchors. `first` numbers the
    first of the rows with the anchor of each `person`, and `alike` is the number of these rows. `weights` are those of
    the records for the random items of each size.
    """

    guessed: float
    shown: int
    person: Ints
    first: Ints
    alike: Ints
    weights: Floats


def locate_people(block: Block, truth: Path, names: Sequence[str], places: Ints) -> tuple[PeoplePlaces, Ints]:
    """Return the people at `places` behind one file, and the number of its records with each of `names`."""
    some, code = read_arrays(block), {name: at for at, name in enumerate(names)}
    behind = read_truth(truth, some)
    supports, held = np.zeros(len(names), np.int64), behind.records
    supports[[code[name] for name in held.names]] = np.bincount(held.codes, minlength=len(held.names))
    rows = np.flatnonzero(np.isin(behind.places, places))
    starts = np.cumsum(some.sizes) - some.sizes
    cluster = np.searchsorted(starts, rows, side="right") - 1
    records = list(held.select(rows))
    person = np.searchsorted(places, behind.places[rows])
    return PeoplePlaces(person, cluster, rows - starts[cluster], records), supports


class _Group(NamedTuple):
    """Clusters of people: their numbers in a batch, the people, and the rows with the records of the people only."""

    clusters: Ints
    who: Ints
    rows: TrueRows
    own: Ints


def _groups(some: ClusterArrays, whole: Disassociated, places: PeoplePlaces) -> Iterator[tuple[Ints, _Group]]:
    """Yield the numbers of clusters of a file, some at a time, and those of people."""
    for numbers in some_numbers(some.sizes):
        who = np.flatnonzero((places.cluster >= numbers[0]) & (places.cluster <= numbers[-1]))
        clusters, of = np.unique(places.cluster[who] - numbers[0], return_inverse=True)
        # Only these are needed by name: most clusters are of nobody who was drawn.
        chosen = tuple(some.select(numbers[clusters]).clusters())
        begins = np.cumsum([0, *(cluster.size for cluster in chosen)])
        own = begins[of] + places.row[who]
        records: list[tuple[str, ...]] = [()] * int(begins[-1])
        for row, person in zip(own.tolist(), who.tolist(), strict=True):
            records[row] = places.records[person]
        ranges = [range(begin, begin + cluster.size) for begin, cluster in zip(begins.tolist(), chosen, strict=False)]
        yield numbers, _Group(clusters, who, TrueRows(replace(whole, clusters=chosen), records, ranges), own)


def search_file(block: Block, whole: Disassociated, names: Sequence[str], asked: Questions) -> Found:
    """Answer the questions by the clusters of one file."""
    some = read_arrays(block)
    found = search_all(asked.sets, some, names, None, 0)
    return search_clusters(some, whole, names, asked, None if found is None else found[0])


def _first_rows(number: int, sizes: Ints) -> Ints:
    """Return the number of the first row of each cluster of the file `number`, and the end; files share no number."""
    return (number << 44) + np.append(0, np.cumsum(sizes))


def count_own(
    number: int, block: Block, whole: Disassociated, places: PeoplePlaces, names: Sequence[str], known: Sequence[Ints]
) -> OwnClusters:  # fmt: skip
    """Return what the clusters of one file show of the people behind them, with their `known` random items."""
    code = {name: at for at, name in enumerate(names)}
    guessed, shown = 0.0, 0
    firsts, alike = np.zeros_like(places.person), np.ones_like(places.person)
    weights = np.zeros((len(known), len(places.person)))
    some = read_arrays(block)
    first_rows = _first_rows(number, some.sizes)
    for numbers, group in _groups(some, whole, places):
        who, rows = group.who, group.rows
        if not len(who):
            continue
        people = ChunkPeople(rows, np.diff(np.searchsorted(rows.held, np.arange(rows.rows + 1) * rows.items)))
        guessed += people.guessed()
        shown += int(people.anchor_item_counts.sum())
        of = rows.of_row[group.own]
        cluster = rows.cluster[group.own]
        # Rows of one anchor follow each other, because the sub-records of a chunk are in order.
        row = np.searchsorted(rows.of_row, of) - rows.first[cluster]
        firsts[who] = first_rows[numbers[group.clusters[cluster]]] + row
        alike[who] = rows.class_sizes[of]
        estimator = ChunkEstimates.of(rows.release, code)
        for weight, itemsets in zip(weights, known, strict=True):
            weight[who] = estimator.weights(itemsets[:, who], group.own)
    return OwnClusters(guessed, shown, places.person, firsts, alike, weights)


class AfterAttack(NamedTuple):
    """Results of an attack in one file: the people with an item known or guessed; for each set of items the rows that
    may have it, up to 2, and the only one.
    """

    guessed: float
    hits: Ints
    row: Ints


def attack_file(
    number: int, block: Block, whole: Disassociated, places: PeoplePlaces, names: Sequence[str], findings: Path,
    sets: Ints, draws: int,
) -> list[AfterAttack]:  # fmt: skip
    """Return the results of the attack with these `findings` in one file, and of so many random `draws`."""
    random, some = np.random.default_rng([number, draws]), read_arrays(block)
    assigned = read_assignments(findings, some)
    guessed, first_rows = np.zeros(1 + draws), _first_rows(number, some.sizes).tolist()
    seeds = [0, *random.integers(1, 1 << 62, draws).tolist()]
    found = [search_all(sets, some, names, assigned, first_rows[0], seed) for seed in seeds]
    searches, states = [SetSearch(sets, len(names)) for _ in seeds], seeds.copy()
    for numbers, group in _groups(some, whole, places):
        begin, end, sizes = int(numbers[0]), int(numbers[-1]) + 1, some.sizes[numbers]
        needed = numbers if found[0] is None else numbers[:0]
        release = replace(whole, clusters=tuple(some.select(needed).clusters()))
        for at, search in enumerate(searches if found[0] is None else ()):
            way = assigned.in_clusters(begin, end)
            if at:
                way, states[at] = drawn_in_turn(way, sizes, states[at])
            search.search_release(release, way, names, first_rows[begin])
        if not len(group.who):
            continue
        listed = assigned.in_clusters(begin, end, group.clusters)
        for at, chosen in enumerate((listed, *(at_random(listed, sizes, random) for _ in range(draws)))):
            used, kind = np.unique(chosen.kind, return_inverse=True)
            own = np.searchsorted(group.clusters, chosen.cluster)
            chosen = AssignmentList(own, kind, [chosen.kinds[one] for one in used.tolist()], chosen.given)
            people = ChunkPeople(group.rows, np.zeros(group.rows.rows, np.int64))
            guessed[at] += people.guessed(assigned_candidates(group.rows, group.rows.assigned_units(chosen)))
    results = [one or (search.hits, search.row) for one, search in zip(found, searches, strict=True)]
    return [AfterAttack(float(one), *hits) for one, hits in zip(guessed, results, strict=True)]
