"""Curing the surest guesses: the items that an attacker is surest of leave the record chunks of a release.

    python benchmarks/effect_surest.py FILE... [--seeds N] [--targets N] [--sure P] [--how HOW] [--records N]

A random half of FILE is published by disassociation with k = 11, m = 2, clusters of at most 1,000, `cover: cure` and
totals. The other half is the control. The owner guesses one more item of each person of the published half from one to
three known items, as an attacker does. A guess is sure from the probability P on. For each right and sure guess, the
cluster that adds most to it counts a point for the guessed item. The items with most points per occurrence move to the
term chunks of their clusters, up to a share of all occurrences, in five rounds. With `--how suppress` they are left
out of the clusters, and of the totals. With `--how recluster` the records of such a cluster with such an item go to
other clusters at random, up to a share of all records. Then all chunks are made anew. `--records` takes the first
records of a file.

The table has the share of occurrences, or of records, that was moved, the error of counts of one to three items, and
the inference advantage over the surest 1% and 5% of guesses with its 95% interval, for one to three known items
together. `plain` is the attacker of the family
`exposure`. `knows` also knows the cure: where an item is in the term chunk, as many of its hidden occurrences as fit go
to the known items. The known items of the attackers are drawn with another seed than those of the owner.
"""

import argparse
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from decloak.anonymisers.kernels import disassociation
from decloak.anonymisers.kernels.disassociation import disassociate
from decloak.arrays import Floats, Ints
from decloak.data.dataset import Dataset
from decloak.data.disassociated import Cluster, Disassociated
from decloak.measure.kernels.estimate.chunks import ChunkEstimates
from decloak.measure.kernels.estimate.counts import (
    count_errors,
    drawn_people,
    drawn_queries,
    known_items,
    plain_records,
    signatures,
)
from decloak.measure.kernels.estimate.estimator import Matrix, batches, estimates_of
from decloak.measure.kernels.estimate.figures import guess_advantage, surest
from effect_absent import records

K = 11
ROUNDS = 5
SHARES = (0.0, 0.005, 0.02, 0.05, 0.1)
KNOWN = (1, 2, 3)
EVALUATED, OWNED = 0, 1
"""Seeds of the known items of the attackers, and of the owner."""


class Rows:
    """The rows of each item in the chunk of a cluster that has it, as bits, and the chunk, -1 for the term chunk."""

    def __init__(self, release: Disassociated, number: dict[str, int]) -> None:
        self.sizes = [cluster.size for cluster in release.clusters]
        self.of: list[dict[int, tuple[int, int]]] = []
        for cluster in release.clusters:
            held: dict[int, tuple[int, int]] = {number[item]: (-1, 0) for item in cluster.term_chunk}
            for place, chunk in enumerate(cluster.record_chunks):
                bits = dict.fromkeys(chunk.items, 0)
                for row, subrecord in enumerate(chunk.subrecords):
                    for item in subrecord:
                        bits[item] |= 1 << row
                held |= {number[item]: (place, rows) for item, rows in bits.items()}
            self.of.append(held)

    def contribution(self, cluster: int, items: Sequence[int]) -> float:
        """The estimate of the records with all items in a cluster, 0 if a record chunk does not show all of them."""
        held, rows = self.of[cluster], dict[int, int]()
        for item in items:
            place, bits = held.get(item, (-1, 0))
            if place < 0:
                return 0.0
            rows[place] = rows.get(place, bits) & bits
        n = self.sizes[cluster]
        return float(n * np.prod([bits.bit_count() / n for bits in rows.values()]))


def guesses(estimate: Callable[[Ints], tuple[Floats, Floats]], itemsets: Ints, held: Matrix) -> tuple[Floats, ...]:
    """The guessed item, its probability, and whether it is right, for each person."""
    parts = []
    for batch in batches(itemsets.shape[1]):
        supports, extended = estimate(itemsets[:, batch])
        extended[np.arange(len(extended)), itemsets[:, batch]] = 0
        guess = extended.argmax(axis=1)
        best = extended[np.arange(len(extended)), guess]
        right = held[batch].toarray()[np.arange(len(guess)), guess] > 0
        parts.append((guess, np.where(best > 0, best / np.maximum(supports, 1e-300), 0), right & (best > 0)))
    return tuple(np.concatenate(one) for one in zip(*parts, strict=True))


def plain(release: Disassociated, number: dict[str, int]) -> Callable[[Ints], tuple[Floats, Floats]]:
    return ChunkEstimates.of(release, number).extended


def knows(release: Disassociated, number: dict[str, int]) -> Callable[[Ints], tuple[Floats, Floats]]:
    """The same with the hidden occurrences of terms given to the known items, as many as fit."""
    base, estimator, rows = plain(release, number), ChunkEstimates.of(release, number), Rows(release, number)

    def estimate(itemsets: Ints) -> tuple[Floats, Floats]:
        supports, extended = base(itemsets)
        for at, cluster in enumerate(release.clusters):
            terms = np.array([number[item] for item in cluster.term_chunk], np.int64)
            have = np.array([rows.contribution(at, known) for known in itemsets.T.tolist()])
            tau = estimator.tau[terms]
            some = np.flatnonzero(have)
            fit = np.minimum(have[some, None], tau) - have[some, None] * np.minimum(1, tau / cluster.size)
            extended[some[:, None], terms] += fit
        return supports, extended

    return estimate


def move(release: Disassociated, moves: set[tuple[int, str]], *, suppress: bool) -> Disassociated:
    """The release with some items of some clusters in the term chunk, or without them."""

    def without(cluster: Cluster, gone: set[str]) -> Cluster:
        chunks = []
        for chunk in cluster.record_chunks:
            items = tuple(item for item in chunk.items if item not in gone)
            kept = (tuple(item for item in one if item not in gone) for one in chunk.subrecords)
            if items:
                chunks.append(replace(chunk, items=items, subrecords=tuple(one for one in kept if one)))
        terms = () if suppress else gone
        return replace(cluster, record_chunks=tuple(chunks), term_chunk=tuple(sorted({*cluster.term_chunk, *terms})))

    of: dict[int, set[str]] = {}
    for cluster, item in moves:
        of.setdefault(cluster, set()).add(item)
    return replace(
        release, clusters=tuple(without(one, of[at]) if at in of else one for at, one in enumerate(release.clusters))
    )


class Owner:
    """Who publishes the records, and knows which record is behind which row."""

    def __init__(self, mine: Dataset, way: str) -> None:
        self.mine, self.way, self.chance = mine, way, random.Random(0)
        size = min(1000, len(mine.rows) // 4)
        self.settings: dict[str, Any] = {"k": K, "m": 2, "max_cluster": size, "cover": "cure", "totals": True}
        first = disassociate(mine, **self.settings)
        self.release, self.clusters = first.release, [list(ids) for ids in first.truth]

    @property
    def size(self) -> int:
        """All that can be moved: records, or occurrences."""
        return len(self.mine.rows) if self.way == "recluster" else int(self.mine.rows.lengths.sum())

    def change(self, moves: set[tuple[int, str]]) -> None:
        """Move items of clusters."""
        if self.way != "recluster":
            self.release = move(self.release, moves, suppress=self.way == "suppress")
            if self.way == "suppress":
                self.release = replace(self.release, totals=self.totals(moves))
            return
        before = [list(ids) for ids in self.clusters]
        for at, item in sorted(moves):
            for number in [number for number in before[at] if item in self.mine.transactions[number]]:
                if number in self.clusters[at]:
                    self.clusters[at].remove(number)
                    self.chance.choice([one for place, one in enumerate(self.clusters) if place != at]).append(number)
        with patch.object(disassociation, "horizontal", lambda *_: [sorted(ids) for ids in self.clusters if ids]):
            made = disassociate(self.mine, **self.settings)
        self.release, self.clusters = made.release, [list(ids) for ids in made.truth]

    def totals(self, moves: set[tuple[int, str]]) -> tuple[tuple[str, int], ...]:
        """The published totals without what left the release."""
        gone = Counter(
            item for at, item in moves for number in self.clusters[at] if item in self.mine.transactions[number]
        )
        left = ((item, count - gone[item]) for item, count in self.release.totals)
        return tuple((item, count) for item, count in left if count >= K)


def cure(owner: Owner, number: dict[str, int], people: Matrix, most: int, sure: float) -> int:
    """Change the release in the owner's rounds, and return how many occurrences or records were moved."""
    names, moved = list(number), 0
    drawn = [
        (places, known_items(people[places], signatures(people), places, known, OWNED))
        for known in KNOWN
        for places in [drawn_people(np.diff(people.indptr), known + 1, None, OWNED)]
    ]
    for turn in range(ROUNDS if most else 0):
        rows, estimate = Rows(owner.release, number), plain(owner.release, number)
        points: Counter[tuple[int, int]] = Counter()
        for places, itemsets in drawn:
            guess, p, right = guesses(estimate, itemsets, people[places])
            for person in np.flatnonzero((p >= sure) & right).tolist():
                items = [*itemsets[:, person].tolist(), int(guess[person])]
                shares = [rows.contribution(at, items) for at in range(len(rows.sizes))]
                if max(shares) > 0:
                    points[int(np.argmax(shares)), items[-1]] += 1
        support = {key: rows.of[key[0]][key[1]][1].bit_count() for key in points}
        budget, moves = most * (turn + 1) // ROUNDS, set[tuple[int, str]]()
        for key in sorted(points, key=lambda key: (-points[key] / support[key], key)):
            if moved + support[key] <= budget:
                moved += support[key]
                moves.add((key[0], names[key[1]]))
        owner.change(moves)
    return moved


def measured(data: Dataset, seed: int, targets: int, sure: float, how: str, shares: Sequence[float]) -> Iterator[str]:
    order = list(range(len(data.rows)))
    random.Random(seed).shuffle(order)
    half = len(order) // 2
    inside, outside = (data.rows.select(np.array(part)) for part in (order[:half], order[half:]))
    mine = Dataset.of(list(inside))
    first = Owner(mine, how).release
    shown = {item for cluster in first.clusters for item in cluster.items}
    number = {item: code for code, item in enumerate(sorted(shown))}
    sides = {}
    for way, rows in (("release", inside), ("control", outside)):
        columns = np.array([number.get(name, len(number)) for name in rows.names], np.int64)
        matrix = rows.matrix(columns, len(number) + 1)[:, : len(number)]
        sides[way] = matrix.tocsr().astype(np.float64)
    items = signatures(sides["release"])
    truth = plain_records(sides["release"])
    for share in shares:
        owner = Owner(mine, how)
        moved = cure(owner, number, sides["release"], int(share * owner.size), sure)
        release = owner.release
        estimator = ChunkEstimates.of(release, number)
        errors = []
        for size in KNOWN:
            queries = drawn_queries(sides["release"], items, size, 1000, EVALUATED)
            exact = estimates_of(truth, queries)
            errors.append(count_errors(estimates_of(estimator, queries), exact, 0.001 * half).mean())
        for name, attacker in (("plain", plain), ("knows", knows)):
            found: dict[str, list[tuple[Floats, Floats]]] = {}
            for way, people in sides.items():
                for known in KNOWN:
                    places = drawn_people(np.diff(people.indptr), known + 1, targets, EVALUATED)
                    itemsets = known_items(people[places], items, places, known, EVALUATED)
                    _, p, right = guesses(attacker(release, number), itemsets, people[places])
                    found.setdefault(way, []).append((p, right.astype(float)))
            pooled = {
                way: tuple(np.concatenate(one) for one in zip(*parts, strict=True)) for way, parts in found.items()
            }
            cells = []
            for part in (0.01, 0.05, 1.0):
                gain = guess_advantage(*(surest(p, right, part) for p, right in pooled.values()))
                cells.append(
                    "    -          " if gain is None else f"{gain.value:.2f} ({gain.low:.2f}-{gain.high:.2f})"
                )
            yield f"{share:6.1%} {moved / owner.size:7.2%}  {np.mean(errors):.3f}  {name}  " + "  ".join(cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--targets", type=int, default=3000)
    parser.add_argument("--sure", type=float, default=0.5)
    parser.add_argument("--how", choices=("move", "suppress", "recluster"), default="move")
    parser.add_argument("--records", type=int)
    parser.add_argument("--shares", type=float, nargs="+", default=SHARES)
    arguments = parser.parse_args()
    for file in arguments.files:
        data = Dataset.of(dict.fromkeys(row) for row in islice(records(file), arguments.records))
        for seed in range(arguments.seeds):
            print(
                f"{file.name}, split {seed}, {arguments.how}\n"
                "budget   moved  error  who    surest 1%         surest 5%         all",
                flush=True,
            )
            for line in measured(data, seed, arguments.targets, arguments.sure, arguments.how, arguments.shares):
                print(line, flush=True)


if __name__ == "__main__":
    main()
