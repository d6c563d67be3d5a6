"""Exposure of people drawn from records whose clusters are in files: the definitions are those of `exposure_chunks`.

Each task searches the clusters of one file for the known items of all people. A question leaves the search when its
answer is certain. Only the clusters of the people themselves are compared with the records behind them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain, combinations

import numpy as np

from decloak.anonymisers.parts import NodeCoding
from decloak.arrays import Floats, Ints, Mask
from decloak.counting.blocks import merge_blocks, scan
from decloak.counting.signatures import Signatures, mixed, signature_sums
from decloak.data.disassociated import Disassociated
from decloak.data.formats.blocks import Block, Blocks
from decloak.data.rows import CodedRows
from decloak.figures import MOST_KNOWN
from decloak.measure.exposure_cluster_files import (
    OwnClusters,
    PeoplePlaces,
    attack_file,
    count_own,
    locate_people,
    search_file,
)
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
from decloak.measure.kernels.cluster_search import (
    ENOUGH,
    Found,
    Questions,
    both_implied,
)
from decloak.measure.kernels.random_attack import draws_for
from decloak.parallel import gather_tasks
from decloak.releases.stored import PartedDisassociation

UNSURE = "links with certainty are not measured, because attacks on clusters in files state no probabilities"


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
    notes = [] if count == drawn.everybody else [DRAWN.format(count, drawn.everybody, seed)]
    return [*figures.figures(), *_exposed(drawn)], "; ".join([*notes, UNSURE])


def _exposed(drawn: "_Drawn") -> Iterator[MetricValue]:
    """Yield the people whose records are found by random known items."""
    ways = zip(drawn.original.exposed, drawn.release.exposed, drawn.random, strict=True)
    for size, (original, release, items) in enumerate(ways, 1):
        if of := int((items[-1] >= 0).sum()):
            for ending, count in (("original", original), ("release", release)):
                yield POOLED, f"exposed_{size}_{ending}", count, count, of


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
    def places(self) -> list[PeoplePlaces]:
        """The people by file."""
        return self._located[0]

    @cached_property
    def _located(self) -> tuple[list[PeoplePlaces], list[Ints]]:
        """The people by file, and the items of each person from which an attacker of the release knows some."""
        shared = (self.names, self.people.places)
        found = gather_tasks(locate_people, [(one, self.held.truth(one.path), *shared) for one in self.blocks])
        code = {name: at for at, name in enumerate(self.names)}
        records = [np.zeros(0, np.int64)] * len(self.people.places)
        for places, _ in found:
            for person, record in zip(places.person.tolist(), places.records, strict=True):
                records[person] = np.array([code[name] for name in record], np.int64)
        start = np.cumsum([0, *map(len, records)])
        rows = CodedRows(start, np.concatenate([start[:0], *records]), range(len(code)))
        return [places for places, _ in found], rarest_items(rows, np.sum([one for _, one in found], axis=0))

    @cached_property
    def own(self) -> OwnClusters:
        """What people's own clusters show of them."""
        tasks = [
            (number, block, self.whole, places, self.names, [items[:, places.person] for items in self.random])
            for number, (block, places) in enumerate(zip(self.blocks, self.places, strict=True))
        ]
        by_file = gather_tasks(count_own, tasks)
        guessed, shown = sum(one.guessed for one in by_file), sum(one.shown for one in by_file)
        person = np.concatenate([one.person for one in by_file])
        order = np.argsort(person)
        first = np.concatenate([one.first for one in by_file])[order]
        alike = np.concatenate([one.alike for one in by_file])[order]
        weights = np.concatenate([one.weights for one in by_file], axis=1)[:, order]
        return OwnClusters(guessed, shown, person[order], first, alike, weights)

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
        hits, estimates, implied = search_file(self.blocks[0], self.whole, self.names, asked)
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
        tasks = [(block, self.whole, self.names, rest) for block in self.blocks[1:]]
        merged = list(implied)
        for one in gather_tasks(search_file, tasks):  # the sum of floats depends on their order
            hits[sets] += one.hits
            for estimate, some, more in zip(estimates, people, one.estimates, strict=True):
                estimate[some] += more
            for at, items in zip(open_pairs, one.implied, strict=True):
                merged[at] = both_implied(merged[at], items)
        return Found(hits, estimates, merged)


def _after(drawn: _Drawn, held: PartedDisassociation, key: str) -> list[tuple[list[float], float]]:
    """Return how many people are singled out, and have an item known or guessed, after the attack `key`.

    The results of attacks that assign as much at random follow.
    """
    if key in drawn.after:
        return drawn.after[key]
    tasks = [
        (number, block, drawn.whole, places, drawn.names, held.findings(block.path, key), drawn.sets[0],
         draws_for(len(drawn.people.places)))
        for number, (block, places) in enumerate(zip(drawn.blocks, drawn.places, strict=True))
    ]  # fmt: skip
    found = gather_tasks(attack_file, tasks)
    results = drawn.after[key] = []
    _, place, person, _ = drawn.sets
    for files in zip(*found, strict=True):
        hits = np.sum([one.hits for one in files], axis=0)[place]
        row = np.sum([np.where(one.hits == 1, one.row, 0) for one in files], axis=0)[place]
        first = drawn.own.first[person]
        right = (hits == 1) & (row >= first) & (row < first + drawn.own.alike[person])
        results.append((drawn.count(right, 1 / drawn.own.alike), float(sum(one.guessed for one in files))))
    return results
