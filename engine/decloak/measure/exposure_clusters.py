"""Exposure of people drawn from records whose clusters are in files: the definitions are those of `exposure_chunks`.

Each task searches the clusters of one file for the known items of all people. A question leaves the search when its
answer is certain. Only the clusters of the people themselves are compared with the records behind them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain, combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np

from decloak.anonymisers.parts import NodeCoding
from decloak.arrays import Floats, Ints, Mask
from decloak.counting.blocks import merge_blocks, scan, some_clusters
from decloak.counting.signatures import Signatures, mixed, signature_sums
from decloak.data.assignment import AssignmentList, RowLists
from decloak.data.disassociated import Disassociated
from decloak.data.formats.blocks import Block, Blocks
from decloak.data.formats.cluster_files import read_assignments, read_sizes, read_truth
from decloak.data.rows import CodedRows, runs
from decloak.figures import MOST_KNOWN
from decloak.measure.exposure_chunks import ChunkPeople
from decloak.measure.exposure_figures import Change, RecordExposure, changes
from decloak.measure.exposure_parts import (
    DRAWN,
    Answers,
    Form,
    People,
    answers,
    draw_people,
    patterns,
    random_items,
    rarest_items,
)
from decloak.measure.family import POOLED, Attacked, MetricResult, MetricValue
from decloak.measure.kernels.chunk_guesses import assigned_candidates
from decloak.measure.kernels.cluster_search import (
    ENOUGH,
    Found,
    Questions,
    SetSearch,
    anchor_cells,
    at_random,
    both_implied,
    search_clusters,
)
from decloak.measure.kernels.estimate.chunks import ChunkEstimates
from decloak.measure.kernels.random_attack import draws_for
from decloak.measure.kernels.true_rows import TrueRows
from decloak.parallel import merge_tasks
from decloak.releases.stored import PartedDisassociation


def measure_clusters(attacked: Attacked, held: PartedDisassociation, targets: int, seed: int) -> MetricResult:
    """Return the figures of exposure of `held`, and of the attack on it, with a note.

    `targets` is the number of people to draw, and `seed` decides the draw.
    """
    drawn = held.cached(_Draw(targets, seed))
    after = baseline = None
    inferred = Change(None, drawn.own.guessed)
    if attacked.idle is None:
        (after, guessed), *random = _after(drawn, held, attacked.digest)
        baseline = np.mean([singled for singled, _ in random], axis=0).tolist()
        inferred = inferred._replace(after=guessed, baseline=float(np.mean([one for _, one in random])))
    count, original, release = len(drawn.people.places), drawn.original, drawn.release
    figures = RecordExposure(
        people=count,
        singled_out=changes(original.singled_out, release.singled_out, after, baseline),
        inferred_own=inferred,
        implied=Change(original.implied, release.implied),
        hidden=1 - drawn.own.shown / len(drawn.people.rows.codes) if len(drawn.people.rows.codes) else None,
    )
    note = None if count == drawn.everybody else DRAWN.format(count, drawn.everybody, seed)
    return [*figures.figures(), *_exposed(drawn)], note


def _exposed(drawn: "_Drawn") -> Iterator[MetricValue]:
    """Yield the people whose records are found by random known items."""
    ways = zip(drawn.original.exposed, drawn.release.exposed, drawn.random, strict=True)
    for size, (original, release, items) in enumerate(ways, 1):
        if of := int((items[-1] >= 0).sum()):
            for ending, count in (("original", original), ("release", release)):
                yield POOLED, f"exposed_{size}_{ending}", count, count, of


class _Places(NamedTuple):
    """The people behind the clusters of one file: cluster, row and record of each, without suppressed items."""

    person: Ints
    cluster: Ints
    row: Ints
    records: Sequence[tuple[str, ...]]


class _Own(NamedTuple):
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


@dataclass(frozen=True)
class _Draw:
    """The number of people to draw, and the seed. A release computes its figures once for equal settings."""

    targets: int
    seed: int

    def __call__(self, held: PartedDisassociation) -> "_Drawn":
        """Draw people from the original records of `held`, and return them."""
        assert held.original is not None
        scanned, blocks = scan(held.original), held.original.blocks
        names = sorted(scanned.supports)
        coding = NodeCoding(names, np.arange(len(names)), np.full(len(names), -1, np.int64))
        signed: Signatures = np.zeros(len(names), np.uint64)
        for _ in range(2):
            sums: Signatures = np.zeros(len(names), np.uint64)
            merge_blocks(_sign, blocks, (coding, signed), partial(np.add, sums, out=sums))
            signed = mixed(signed + sums)
        people = draw_people(blocks, coding, scanned.records, signed, self.targets, self.seed)
        supports = np.array([scanned.supports[name] for name in names], np.int64)
        random = [np.full((size, len(people.places)), -1, np.int64) for size in range(1, MOST_KNOWN + 1)]
        for items in random:
            items[:, people.rows.lengths >= len(items)] = random_items(people, len(items), self.seed)
        return _Drawn(held, names, supports, people, random, int(scanned.records.sum()))


def _sign(blocks: Blocks, numbers: range, coding: NodeCoding, items: Signatures) -> Signatures:
    """Return the sums of one round of signatures over some blocks."""
    sums: Signatures = np.zeros(len(items), np.uint64)
    for number in numbers:
        sets = coding.read(blocks, number)
        sums += signature_sums(sets.start, sets.codes, items)
    return sums


@dataclass(frozen=True, eq=False)
class _Drawn:
    """People drawn from the original records, and what the original data and the release show of them.

    `names` are those of all items, with their `supports`. `random` has random items by number and person, -1 of people
    with fewer items.
    """

    held: PartedDisassociation
    names: Sequence[str]
    supports: Ints
    people: People
    random: Sequence[Ints]
    everybody: int
    after: dict[str, list[tuple[list[float], float]]] = field(default_factory=dict)
    """Results of attacks by their keys."""

    @property
    def blocks(self) -> Sequence[Block]:
        """The files of the release."""
        return self.held.blocks.blocks

    @cached_property
    def whole(self) -> Disassociated:
        """The release without its clusters."""
        published = self.held.published
        return Disassociated((), k=published.k, m=published.m, cover=published.cover)

    @cached_property
    def original(self) -> Answers:
        """The people that the original data expose."""
        assert self.held.original is not None
        code = np.arange(len(self.names), dtype=np.int32)
        form = Form(self.held.original.blocks, self.names, code, np.ones(len(code), np.bool_), self.supports)
        return answers(
            form, rarest_items(self.people.rows, self.supports), [one[:, one[-1] >= 0] for one in self.random]
        )

    @cached_property
    def places(self) -> list[_Places]:
        """The people by file."""
        return self._located[0]

    @cached_property
    def _located(self) -> tuple[list[_Places], list[Ints]]:
        """The people by file, and the items of each person from which an attacker of the release knows some."""
        found: list[tuple[int, _Places, Ints]] = []
        shared = (self.names, self.people.places)
        merge_tasks(
            _locate, [(at, one, self.held.truth(one.path), *shared) for at, one in enumerate(self.blocks)], found.append
        )
        found.sort(key=lambda one: one[0])
        code, records = (
            {name: at for at, name in enumerate(self.names)},
            [np.zeros(0, np.int64)] * len(self.people.places),
        )
        for _, places, _ in found:
            for person, record in zip(places.person.tolist(), places.records, strict=True):
                records[person] = np.array([code[name] for name in record], np.int64)
        start = np.cumsum([0, *map(len, records)])
        rows = CodedRows(start, np.concatenate([start[:0], *records]), range(len(code)))
        return [places for _, places, _ in found], rarest_items(rows, np.sum([one[2] for one in found], axis=0))

    @cached_property
    def own(self) -> _Own:
        """What people's own clusters show of them."""
        found: list[tuple[int, _Own]] = []
        tasks = [
            (number, block, self.whole, places, self.names, [items[:, places.person] for items in self.random])
            for number, (block, places) in enumerate(zip(self.blocks, self.places, strict=True))
        ]
        merge_tasks(_count_own, tasks, found.append)
        by_file = [one for _, one in sorted(found, key=lambda one: one[0])]
        guessed, shown = sum(one.guessed for one in by_file), sum(one.shown for one in by_file)
        person = np.concatenate([one.person for one in by_file])
        order = np.argsort(person)
        first = np.concatenate([one.first for one in by_file])[order]
        alike = np.concatenate([one.alike for one in by_file])[order]
        weights = np.concatenate([one.weights for one in by_file], axis=1)[:, order]
        return _Own(guessed, shown, person[order], first, alike, weights)

    @cached_property
    def sets(self) -> tuple[Ints, Ints, Ints, Ints]:
        """The different sets of known items; and for each set of a person the place among these, person and size."""
        known = self._located[1]
        asked = [patterns(len(items)) for items in known]
        sets = np.concatenate(
            [np.zeros((0, 3), np.int64), *(items[one[0]] for items, one in zip(known, asked, strict=True))]
        )
        size = np.concatenate([np.zeros(0, np.int64), *(one[1] for one in asked)])
        person = np.repeat(np.arange(len(known)), [len(one[1]) for one in asked])
        different, place = np.unique(sets, axis=0, return_inverse=True)
        return different, place.reshape(-1), person, size

    def count(self, alone: Mask, worth: Floats | None = None) -> list[float]:
        """Return how many people are singled out with up to 1, 2 and 3 items.

        `alone` says of which sets one row may have all items, a row of the person. A person counts as `worth`, or 1.
        """
        _, _, person, size = self.sets
        people = [np.unique(person[alone & (size <= known)]) for known in range(1, MOST_KNOWN + 1)]
        return [float(len(some) if worth is None else worth[some].sum()) for some in people]

    @cached_property
    def release(self) -> Answers:
        """The people that the release exposes."""
        pairs = [
            [(self.names[one], self.names[other]) for one, other in combinations(sorted(items.tolist()), 2)]
            for items in self._located[1]
        ]
        asked = Questions(
            self.sets[0], self.random, list(self.own.weights), list(dict.fromkeys(chain.from_iterable(pairs)))
        )
        found = self._search(asked)
        implied = {pair for pair, items in zip(asked.pairs, found.implied, strict=True) if items}
        exposed = [
            int((weight > estimate * ENOUGH).sum())
            for weight, estimate in zip(asked.weights, found.estimates, strict=True)
        ]
        told = sum(not implied.isdisjoint(own) for own in pairs)
        return Answers(self.count((found.hits == 1)[self.sets[1]]), told, exposed)

    def _search(self, asked: Questions) -> Found:
        """Answer questions by all files. Most are answered by the first file, so that few go to the tasks."""
        hits, estimates, implied = _search_file(0, self.blocks[0], self.whole, self.names, asked)[1]
        sets = np.flatnonzero(hits < 2)
        people = [
            np.flatnonzero(weight > estimate * ENOUGH)
            for weight, estimate in zip(asked.weights, estimates, strict=True)
        ]
        open_pairs = [at for at, items in enumerate(implied) if items is None or items]
        rest = Questions(
            asked.sets[sets],
            [items[:, some] for items, some in zip(asked.itemsets, people, strict=True)],
            [weight[some] for weight, some in zip(asked.weights, people, strict=True)],
            [asked.pairs[at] for at in open_pairs],
        )
        found: list[tuple[int, Found]] = []
        tasks = [(at, block, self.whole, self.names, rest) for at, block in enumerate(self.blocks[1:], 1)]
        merge_tasks(_search_file, tasks, found.append)
        merged = list(implied)
        for _, one in sorted(found, key=lambda one: one[0]):  # the sum of floats depends on their order
            hits[sets] += one.hits
            for estimate, some, more in zip(estimates, people, one.estimates, strict=True):
                estimate[some] += more
            for at, items in zip(open_pairs, one.implied, strict=True):
                merged[at] = both_implied(merged[at], items)
        return Found(hits, estimates, merged)


def _locate(number: int, block: Block, truth: Path, names: Sequence[str], places: Ints) -> tuple[int, _Places, Ints]:
    """Return `number`, the people at `places` behind one file, and the number of its records with each of `names`."""
    behind, code = read_truth(truth), {name: at for at, name in enumerate(names)}
    supports, held = np.zeros(len(names), np.int64), behind.records
    supports[[code[name] for name in held.names]] = np.bincount(held.codes, minlength=len(held.names))
    rows = np.flatnonzero(np.isin(behind.places, places))
    starts = np.cumsum(read_sizes(block)) - read_sizes(block)
    cluster = np.searchsorted(starts, rows, side="right") - 1
    records = list(held.select(rows))
    return (
        number,
        _Places(np.searchsorted(places, behind.places[rows]), cluster, rows - starts[cluster], records),
        supports,
    )


class _Group(NamedTuple):
    """Clusters of people: their numbers in a batch, the people, and the rows with the records of the people only."""

    clusters: Ints
    who: Ints
    rows: TrueRows
    own: Ints


def _groups(
    number: int, block: Block, whole: Disassociated, places: _Places
) -> Iterator[tuple[Disassociated, int, _Group]]:
    """Yield the batches of the clusters of a file, the number of the first cluster, and the clusters of people."""
    first = 0
    for some in some_clusters(block):
        release = replace(whole, clusters=some.clusters)
        who = np.flatnonzero((places.cluster >= first) & (places.cluster < first + len(some.clusters)))
        clusters, of = np.unique(places.cluster[who] - first, return_inverse=True)
        chosen = [some.clusters[at] for at in clusters.tolist()]
        begins = np.cumsum([0, *(cluster.size for cluster in chosen)])
        own = begins[of] + places.row[who]
        records: list[tuple[str, ...]] = [()] * int(begins[-1])
        for row, person in zip(own.tolist(), who.tolist(), strict=True):
            records[row] = places.records[person]
        ranges = [range(begin, begin + cluster.size) for begin, cluster in zip(begins.tolist(), chosen, strict=False)]
        yield (
            release,
            first,
            _Group(clusters, who, TrueRows(replace(whole, clusters=tuple(chosen)), records, ranges), own),
        )
        first += len(some.clusters)


def _search_file(
    number: int, block: Block, whole: Disassociated, names: Sequence[str], asked: Questions
) -> tuple[int, Found]:  # fmt: skip
    """Answer the questions by the clusters of one file."""
    return number, search_clusters(
        (replace(whole, clusters=some.clusters) for some in some_clusters(block)), names, asked
    )


def _row_number(number: int, cluster: Ints | int, row: Ints | int) -> Ints:
    """Return a number for the `row` of a `cluster` of the file `number`, among all."""
    return np.asarray((np.int64(number) << 22 | cluster) << 22 | row)


def _count_own(
    number: int, block: Block, whole: Disassociated, places: _Places, names: Sequence[str], known: Sequence[Ints]
) -> tuple[int, _Own]:  # fmt: skip
    """Return what the clusters of one file show of the people behind them, with their `known` random items."""
    code = {name: at for at, name in enumerate(names)}
    guessed, shown = 0.0, 0
    firsts, alike = np.zeros_like(places.person), np.ones_like(places.person)
    weights = np.zeros((len(known), len(places.person)))
    for _, first, group in _groups(number, block, whole, places):
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
        firsts[who] = _row_number(number, first + group.clusters[cluster], row)
        alike[who] = rows.class_sizes[of]
        estimator = ChunkEstimates.of(rows.release, code)
        for weight, itemsets in zip(weights, known, strict=True):
            weight[who] = estimator.weights(itemsets[:, who], group.own)
    return number, _Own(guessed, shown, places.person, firsts, alike, weights)


class _AfterFile(NamedTuple):
    """Results of an attack in one file: the people with an item known or guessed; for each set of items the rows that
    may have it, up to 2, and the only one.
    """

    guessed: float
    hits: Ints
    row: Ints


def _after(drawn: _Drawn, held: PartedDisassociation, key: str) -> list[tuple[list[float], float]]:
    """Return how many people are singled out, and have an item known or guessed, after the attack `key`.

    The results of attacks that assign as much at random follow.
    """
    if key in drawn.after:
        return drawn.after[key]
    found: list[tuple[int, list[_AfterFile]]] = []
    tasks = [
        (number, block, drawn.whole, places, drawn.names, held.findings(block.path, key), drawn.sets[0],
         draws_for(len(drawn.people.places)))
        for number, (block, places) in enumerate(zip(drawn.blocks, drawn.places, strict=True))
    ]  # fmt: skip
    merge_tasks(_attack_file, tasks, found.append)
    results = drawn.after[key] = []
    _, place, person, _ = drawn.sets
    for files in zip(*(one for _, one in sorted(found, key=lambda one: one[0])), strict=True):
        hits = np.sum([one.hits for one in files], axis=0)[place]
        row = np.sum([np.where(one.hits == 1, one.row, 0) for one in files], axis=0)[place]
        first = drawn.own.first[person]
        right = (hits == 1) & (row >= first) & (row < first + drawn.own.alike[person])
        results.append((drawn.count(right, 1 / drawn.own.alike), float(sum(one.guessed for one in files))))
    return results


def _attack_file(
    number: int, block: Block, whole: Disassociated, places: _Places, names: Sequence[str], findings: Path, sets: Ints,
    draws: int,
) -> tuple[int, list[_AfterFile]]:  # fmt: skip
    """Return the results of the attack with these `findings` in one file, and of so many random `draws`."""
    code, random = {name: at for at, name in enumerate(names)}, np.random.default_rng([number, draws])
    searches, guessed = [SetSearch(sets, len(names)) for _ in range(1 + draws)], np.zeros(1 + draws)
    assigned = read_assignments(findings)
    for release, first, group in _groups(number, block, whole, places):
        listed = assigned.between(first, first + len(release.clusters))
        sizes = np.array([cluster.size for cluster in release.clusters], np.int64)
        ways = [listed, *(at_random(listed, sizes, random) for _ in range(draws))]
        units = RowLists.of([[code[item] for item in items] for _, items in listed.kinds])
        ends = np.searchsorted(listed.cluster, np.arange(len(release.clusters) + 1))
        place = np.full(len(names), -1, np.int64)
        for at, cluster in enumerate(release.clusters):
            items = np.array([code[item] for item in cluster.items], np.int64)
            place[items] = np.arange(len(items))
            anchors = anchor_cells(cluster, code, items, others=False)
            for way, search in zip(ways, searches, strict=True):
                cells, some = anchors.copy(), np.arange(ends[at], ends[at + 1])
                given, own = way.given.select(some), units.select(way.kind[some])
                entry, of = runs(own.start[given.list_of_row], own.start[given.list_of_row + 1])
                cells[place[own.rows[entry]], given.rows[of]] = True
                search.search(items, cells, int(_row_number(number, first + at, 0)))
        if len(group.who):
            people = ChunkPeople(group.rows, np.zeros(group.rows.rows, np.int64))
            for at, way in enumerate(ways):
                chosen = way.select(np.flatnonzero(np.isin(way.cluster, group.clusters)))
                used, kind = np.unique(chosen.kind, return_inverse=True)
                kinds = [way.kinds[one] for one in used.tolist()]
                own_clusters = np.searchsorted(group.clusters, chosen.cluster)
                chosen = AssignmentList(own_clusters, kind, kinds, chosen.given)
                guessed[at] += people.guessed(assigned_candidates(group.rows, group.rows.assigned_units(chosen)))
    return number, [_AfterFile(float(g), s.hits, s.row) for g, s in zip(guessed, searches, strict=True)]
