"""Exposure of the records of a disassociated release: people singled out, items inferred and items implied.

People are rows: records behind the same anchor of a cluster cannot be distinguished. In the release a row may have the
items of its anchor and all items that its cluster publishes elsewhere. After an attack it may have the items of its
anchor and the assigned ones.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256

import numpy as np

from decloak.arrays import Floats, Ints, Mask
from decloak.counting.itemsets import among, distinct
from decloak.data.rows import CodedRows
from decloak.measure.exposure_figures import Change, RecordExposure, changes
from decloak.measure.family import Attacked, SlowValue
from decloak.measure.kernels.candidate_index import CandidateIndex
from decloak.measure.kernels.chunk_guesses import (
    Candidates,
    assigned_candidates,
    best_guesses,
    implied_in_chunks,
    possible_items,
    published_candidates,
    random_assignment,
)
from decloak.measure.kernels.random_attack import draws_for, expected_known
from decloak.measure.kernels.singling_out import (
    SinglingOutSearch,
    Targets,
    classes_of,
    keep_rarest_items,
    sample_rows,
    sample_targets,
)
from decloak.measure.kernels.true_rows import AssignedUnits, TrueRows
from decloak.releases.stored import StoredDisassociation

__all__ = ["ChunkPeople", "exposure_of_chunks", "implied_outside_chunks", "slow_values_of_chunks"]


def exposure_of_chunks(held: StoredDisassociation, attacked: Attacked) -> RecordExposure:
    """Measure a release, and an attack on it; return an empty result without ground truth."""
    people = held.cached(_people)
    if people is None:
        return RecordExposure(sum(cluster.size for cluster in held.published.clusters), changes())
    if attacked.idle or not attacked.assignments:
        return people.exposure(None, None)
    given = people.rows.assigned_units(attacked.assignments)
    p = attacked.probabilities
    if p is None or not np.isfinite(p).any():
        return people.exposure(given, None)
    return people.exposure(given, p[attacked.assignments.finding])


def slow_values_of_chunks(held: StoredDisassociation) -> list[SlowValue]:
    """Return the slow values of the people of a release."""
    people = held.cached(_people)
    names = ("singled_out_by_release", "implied", "raw", "guessed_by_release")
    return [] if people is None else SlowValue.of(people, *names)


def implied_outside_chunks(held: StoredDisassociation, others: CodedRows[str]) -> tuple[int, int]:
    """Return for how many of the `others` two items imply a third that they have, and the people counted."""
    chosen = sample_targets(others.lengths, sum(cluster.size for cluster in held.published.clusters))
    taken = others.select(chosen)
    items, support = max(1, len(others.names)), np.bincount(others.codes, minlength=len(others.names))
    person, item = np.divmod(
        keep_rarest_items(np.unique(taken.row_of_code * items + taken.codes), items, support), items
    )
    own = np.split(item, np.searchsorted(person, np.arange(1, len(chosen))))
    people = ((None, [others.names[code] for code in codes.tolist()]) for codes in own)
    return implied_in_chunks(held.published, people, outside=True), len(chosen)


def _people(held: StoredDisassociation) -> "ChunkPeople | None":
    rows = held.with_ground_truth(TrueRows)
    if rows is None or held.rows is None or held.original is None:
        return None
    cut = rows.records is not held.rows.records
    lengths = held.original.rows.lengths
    return ChunkPeople(rows, lengths, ChunkPeople(TrueRows(held.published, *held.rows), lengths) if cut else None)


@dataclass(frozen=True, eq=False)
class ChunkPeople:
    """The people of a release, for an attacker who knows a few of their items."""

    rows: TrueRows
    lengths: Ints
    """The number of items of each original record."""
    whole: "ChunkPeople | None" = None
    """The same people with the occurrences that the release suppressed, where there are any."""
    _baselines: dict[str, tuple[list[float], float]] = field(default_factory=dict)

    def exposure(self, given: AssignedUnits | None, p: Floats | None) -> RecordExposure:
        """Measure the release, and the assignments of an attack.

        `p` has the probability of each row that is `given`, NaN where it is not known.
        """
        after = baseline = None
        inferred = Change(None, self.guessed_by_release)
        if given is not None:
            after = self._count_singled_out([self._with_anchors(given.added)])
            baseline, at_random = self._baseline(given)
            # Guesses at a row go by what the rows of the same anchor are given: other rows need not be looked at.
            some = self._alike[given.row] & (True if p is None else np.isfinite(p))
            nearby = given._replace(row=given.row[some], assignment=given.assignment[some])
            by_attack = self.guessed(assigned_candidates(self.rows, nearby, None if p is None else p[some]))
            inferred = inferred._replace(after=by_attack, baseline=at_random)
        return RecordExposure(
            people=len(self.targets),
            singled_out=changes(self.raw[0], self.singled_out_by_release, after, baseline),
            inferred_own=inferred,
            implied=Change(self.raw[1], self.implied),
            hidden=self.hidden,
        )

    @cached_property
    def _target_rows(self) -> Ints:
        """Return the rows of the people counted."""
        return sample_rows(self.lengths, self.rows.record_of_row)

    @cached_property
    def _person(self) -> Ints:
        """The number of every row among those, -1 of the others."""
        person = np.full(self.rows.rows, -1, np.int64)
        person[self._target_rows] = np.arange(len(self._target_rows))
        return person

    @cached_property
    def _alike(self) -> Mask:
        """True for the rows of the release that show the same as one of those."""
        return np.isin(self.rows.of_row, self.rows.of_row[self._target_rows])

    @cached_property
    def _all_known(self) -> Ints:
        """The known items of these people."""
        row, item = np.divmod(self.rows.held, self.rows.items)
        person = self._person[row]
        return person[person >= 0] * self.rows.items + item[person >= 0]

    @cached_property
    def _known(self) -> Ints:
        """Return the items, without the items of people with very many, which the search leaves out."""
        return keep_rarest_items(self._all_known, self.rows.items, np.bincount(self.rows.held % self.rows.items))

    @cached_property
    def _place(self) -> Ints:
        """The number of every item among those, -1 of others."""
        items = np.unique(self._known % self.rows.items)
        place = np.full(self.rows.items, -1, np.int64)
        place[items] = np.arange(len(items))
        return place

    @cached_property
    def targets(self) -> Targets:
        """Those people, and their items by that number."""
        person, item = np.divmod(self._known, self.rows.items)
        items = max(1, int(self._place.max()) + 1)
        return Targets(self._target_rows, items, person * items + self._place[item])

    def _candidate_index(self, blocks: Iterable[Ints]) -> CandidateIndex:
        """Return the index of the items of rows in `blocks`, which ascend from block to block."""
        # In large clusters a record may have most items, so that only codes of four bytes are there of all.
        lengths, found = np.zeros(self.rows.rows, np.int64), [np.zeros(0, np.int32)]
        for entries in blocks:
            row, item = np.divmod(entries, self.rows.items)
            place = self._place[item]
            lengths += np.bincount(row[place >= 0], minlength=len(lengths))
            found.append(place[place >= 0].astype(np.int32))
        items = self.targets.items
        start, elements = np.append(0, np.cumsum(lengths)), np.concatenate(found)
        return CandidateIndex(start, elements, items, np.arange(items + 1), np.arange(items))

    @cached_property
    def raw(self) -> tuple[list[float], int]:
        """Return how many people the original data single out, and for how many two items imply a third."""
        if self.whole is not None:
            return self.whole.raw
        held = self._candidate_index([self.rows.held])
        row, item = np.divmod(self.rows.held, self.rows.items)
        start = np.searchsorted(row, np.arange(self.rows.rows + 1))
        search = SinglingOutSearch(held, self.targets)
        classes = classes_of(CodedRows(start, item, self.rows.names), self._target_rows)
        return search.expected_singled_out(classes), search.implied(held, self.targets.known)

    @cached_property
    def singled_out_by_release(self) -> list[float]:
        """Return how many people the release singles out with up to 1, 2 and 3 items."""
        return self._count_singled_out(possible_items(self.rows))

    def _with_anchors(self, added: Ints) -> Ints:
        """Return the items of the anchors of rows, and those `added` to rows, ascending."""
        return distinct(np.concatenate((self.rows.anchor_items, added)))

    def _count_singled_out(self, blocks: Iterable[Ints]) -> list[float]:
        return SinglingOutSearch(self._candidate_index(blocks), self.targets).expected_singled_out(self.rows.of_row)

    def _baseline(self, given: AssignedUnits) -> tuple[list[float], float]:
        """Measure random assignments: once for all attacks with equal assignments to equally many rows."""
        key = sha256(b"".join(map(bytes, (given.cluster, given.times, given.begin, given.end, given.item)))).hexdigest()
        if key not in self._baselines:
            rng = np.random.default_rng([self.rows.rows, len(given.row), len(given.cluster)])
            draws = [random_assignment(self.rows, given, rng) for _ in range(draws_for(len(self.targets)))]
            singled = [self._count_singled_out([self._with_anchors(draw)]) for draw in draws]
            nearby = [draw[self._alike[draw // self.rows.items]] for draw in draws]
            right = [self.guessed(Candidates(draw, np.ones(len(draw)))) for draw in nearby]
            self._baselines[key] = np.mean(singled, axis=0).tolist(), float(np.mean(right))
        return self._baselines[key]

    @cached_property
    def _hidden(self) -> Ints:
        """Return the items of these people that are published apart from their anchors, as items of rows."""
        entries, _ = self.rows.hidden
        return entries[self._person[entries // self.rows.items] >= 0]

    @cached_property
    def _published(self) -> Candidates:
        return published_candidates(self.rows, np.unique(self.rows.cluster[self._target_rows]).tolist())

    @cached_property
    def anchor_item_counts(self) -> Ints:
        """Return how many items the anchor shows of each person."""
        ours = (
            self._target_rows[self._all_known // self.rows.items] * self.rows.items + self._all_known % self.rows.items
        )
        shown = among(ours, np.sort(self.rows.anchor_items))
        return np.bincount(self._all_known[shown] // self.rows.items, minlength=len(self._target_rows))

    @cached_property
    def item_counts(self) -> Ints:
        """Return how many items each person has."""
        return np.bincount(self._all_known // self.rows.items, minlength=len(self._target_rows))

    @cached_property
    def guessed_by_release(self) -> float:
        """Return how many people have an item known, or guessed correctly at the first guess, before an attack."""
        return self.guessed()

    def guessed(self, given: Candidates | None = None) -> float:
        """Return how many people have an item known, or guessed correctly at the first guess, after an attack."""
        right = best_guesses(self.rows, self._hidden, self._published, given)
        person, everybody = self._person[self._hidden // self.rows.items], np.arange(len(self.item_counts))
        left_out = self.item_counts - self.anchor_item_counts - np.bincount(person, minlength=len(everybody))
        return expected_known(
            np.concatenate((person, everybody, everybody)),
            np.concatenate((np.ones(len(person), np.int64), self.anchor_item_counts, left_out)),
            np.concatenate((right, np.ones(len(everybody)), np.zeros(len(everybody)))),
            len(everybody),
        )

    @cached_property
    def implied(self) -> int:
        """Return for how many people two items imply a third."""
        names, cluster = self.rows.names, self.rows.cluster
        person, item = np.divmod(self._known, self.rows.items)
        own = np.split(item, np.searchsorted(person, np.arange(1, len(self._target_rows))))
        people = (
            (int(cluster[row]), [names[code] for code in items.tolist()])
            for row, items in zip(self._target_rows.tolist(), own, strict=False)
        )
        return implied_in_chunks(self.rows.release, people)

    @cached_property
    def hidden(self) -> float | None:
        """Return the share of item occurrences outside the anchors, or None without items."""
        held = (self.whole or self).item_counts
        return 1 - float(self.anchor_item_counts.sum() / held.sum()) if held.any() else None
