"""Exposure of the records of a release with generalised items: people singled out, items inferred and items implied.

People are rows of the release, and items have numbers. The item `item` of the row `row` is the number
`row * items + item`; an item of a person is numbered in the same way.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from decloak.arrays import Ints, Mask
from decloak.counting.itemsets import among, distinct
from decloak.data.content import Elements
from decloak.data.rows import CodedRows
from decloak.measure.estimates import EliminatedCells, eliminated_cells, eliminations_of
from decloak.measure.exposure_figures import Change, RecordExposure, changes
from decloak.measure.family import Attacked
from decloak.measure.kernels.candidate_index import CandidateIndex
from decloak.measure.kernels.random_attack import expected_known, random_eliminations
from decloak.measure.kernels.singling_out import (
    SinglingOutSearch,
    Targets,
    classes_of,
    keep_rarest_items,
    sample_rows,
    sample_targets,
)
from decloak.releases.stored import StoredSetRelease
from decloak.store.outcomes import TrueTable
from decloak.store.records import read_origins

__all__ = ["RawExposure", "exposure_of_sets", "hidden_items", "implied_outside_sets"]

NOBODY = -2
"""The row of a person without a record. -1 is the row where there is no candidate, or more than one."""


def exposure_of_sets(held: StoredSetRelease, attacked: Attacked) -> RecordExposure:
    """Measure a release, and an attack on it."""
    people = held.cached(_People.of)
    done = eliminations_of(held, attacked)
    if done is None:
        return _exposure(people, None, [])
    tables, eliminations = done
    counts = [int(mask.sum()) for mask in eliminations]
    draws = random_eliminations([table.scored for table in tables], counts, len(people.search.targets))
    return _exposure(
        people, people.eliminated(tables, eliminations), [people.eliminated(tables, draw) for draw in draws]
    )


def implied_outside_sets(held: StoredSetRelease, others: CodedRows[str]) -> tuple[int, int]:
    """Return for how many of the `others` two items imply a third that they have, and the people counted."""
    people = held.cached(_People.of)
    chosen = sample_targets(others.lengths, people.search.may.records)
    taken, items = others.select(chosen), people.search.targets.items
    number = np.array([people.elements.number.get(name, -1) for name in others.names], np.int64)
    place = np.where(number >= 0, people.place[number], -1)[taken.codes]
    known = np.unique(taken.row_of_code[place >= 0] * items + place[place >= 0])
    support = np.bincount(known % items, minlength=items)
    # No record is theirs: a single candidate says nothing of them.
    targets = Targets(np.full(len(chosen), NOBODY), items, keep_rarest_items(known, items, support))
    return SinglingOutSearch(people.search.may, targets).implied(people.shows, targets.known), len(chosen)


def _exposure(people: "_People", after: EliminatedCells | None, by_chance: Sequence[EliminatedCells]) -> RecordExposure:
    targets = people.search.targets
    if people.raw is None and not len(targets.known):
        return RecordExposure(len(targets), changes())  # no record shows an item: a zero would look like protection
    hidden = people.hidden
    inferred = Change()
    if hidden is not None:
        guessed_after = None if after is None else hidden.expected_known(after)
        inferred = Change(
            None, hidden.expected_known(), guessed_after, _mean(list(map(hidden.expected_known, by_chance)))
        )
    return RecordExposure(
        people=len(targets),
        singled_out=changes(
            None if people.raw is None else people.raw.singled,
            people.singled_out_by_release,
            None if after is None else people.count_singled_out(after),
            np.mean([people.count_singled_out(cells) for cells in by_chance], axis=0).tolist() if by_chance else None,
        ),
        inferred_own=inferred,
        implied=Change(None if people.raw is None else people.raw.implied, people.implied),
        hidden=None if hidden is None else hidden.share,
    )


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


@dataclass(frozen=True, eq=False)
class _Hidden:
    """The hidden items of some people: members of generalised items, by their generalised item.

    Each generalised item has its person and its number of original members. Each person has the numbers `shown` and
    `left_out`. `share` is the hidden share of all item occurrences, if there are any.
    """

    items: int
    cell: Ints
    thing: Ints
    meant: Mask
    person: Ints
    shown: Ints
    left_out: Ints
    share: float | None

    @cached_property
    def _original_member_counts(self) -> Ints:
        return np.bincount(self.thing[self.meant], minlength=len(self.person))

    @cached_property
    def _item_counts(self) -> Ints:
        meant = np.bincount(self.person, self._original_member_counts, len(self.shown)).astype(np.int64)
        held: Ints = self.shown + self.left_out + meant
        return held

    def expected_known(self, eliminated: EliminatedCells | None = None) -> float:
        """Return how many people have an item known, or guessed correctly at the first guess, after an attack."""
        left = np.ones(len(self.cell), np.bool_)
        if eliminated is not None:
            left = ~among(self.cell, eliminated.rows * self.items + eliminated.items)
        members = np.bincount(self.thing[left], minlength=len(self.person))
        right = np.bincount(self.thing[left & self.meant], minlength=len(self.person)) / np.maximum(members, 1)
        everybody = np.arange(len(self.shown))
        person = np.concatenate((self.person, everybody, everybody))
        items = np.concatenate((self._original_member_counts, self.shown, self.left_out))
        chances = np.concatenate((right, np.ones(len(everybody)), np.zeros(len(everybody))))
        return expected_known(person, items, chances, len(everybody))


@dataclass(frozen=True, eq=False)
class _People:
    """The people of a release, for an attacker who knows a few of their items.

    `place` is the number of an item among the items that an attacker can know, or -1.
    """

    elements: Elements
    place: Ints
    search: SinglingOutSearch
    classes: Ints
    raw: "RawExposure | None"
    shows: CandidateIndex
    implied: int
    hidden: _Hidden | None

    @classmethod
    def of(cls, held: StoredSetRelease) -> "_People":
        """Arrange a release; without the originals, the items that a record shows are known."""
        rows = held.published.rows.with_used_names
        true = None if held.behind is None else held.behind.rows.with_used_names
        elements = Elements(rows.names, () if true is None else true.names)
        if held.original is None or (places := read_origins(held.connection, held.number)) is None:
            people = sample_targets(_count_plain_names(rows, elements.plain), len(rows))
        else:
            people = sample_rows(held.original.rows.lengths, places)
        classes, taken = classes_of(rows, people), rows.select(people)
        plain = elements.plain[taken.codes]
        shown = distinct(taken.row_of_code[plain] * elements.items + elements.item[elements.start[taken.codes[plain]]])
        known, support = shown, _supports(rows, elements.item[elements.start], elements.items)
        hidden = None
        if true is not None:
            took = true.select(people)
            known = distinct(took.row_of_code * elements.items + elements.further[took.codes])
            support = _supports(true, elements.further, elements.items)
            hidden = hidden_items(elements, taken, people, known, shown)
        raw = (
            None
            if true is None
            else RawExposure.of(people, keep_rarest_items(known, elements.items, support), elements, true)
        )
        # What no record shows, or may hold, cannot be looked for.
        known = keep_rarest_items(
            known[among(known % elements.items, np.unique(elements.item))], elements.items, support
        )
        shown = shown[among(shown, known)]
        items = np.unique(known % elements.items)
        place = np.full(elements.items, -1, np.int64)
        place[items] = np.arange(len(items))
        targets = Targets(people, len(items), _items_by_place(known, place))
        having = [elements.elements_of_item[item] for item in items.tolist()]
        may, shows = (
            CandidateIndex.from_elements(rows.start, rows.codes, len(rows.names), groups)
            for groups in (having, [of_item[elements.plain[of_item]] for of_item in having])
        )
        search = SinglingOutSearch(may, targets)
        told = search.implied(shows, _items_by_place(shown, place))
        return cls(elements, place, search, classes, raw, shows, told, hidden)

    def eliminated(self, tables: Sequence[TrueTable], masks: Sequence[Mask]) -> EliminatedCells:
        """Return the members of tables that an attack eliminated."""
        return eliminated_cells(self.elements.number, tables, masks)

    def count_singled_out(self, eliminated: EliminatedCells) -> list[float]:
        """Return how many people are singled out with up to 1, 2 and 3 items after an attack."""
        place = self.place[eliminated.items]
        left = self.search.may.excluding(place[place >= 0], eliminated.rows[place >= 0])
        return SinglingOutSearch(left, self.search.targets).expected_singled_out(self.classes)

    @cached_property
    def singled_out_by_release(self) -> list[float]:
        """Return how many people the release singles out with up to 1, 2 and 3 items."""
        return self.search.expected_singled_out(self.classes)


class RawExposure(NamedTuple):
    """Exposure in the original data."""

    singled: list[float]
    implied: int

    @classmethod
    def of(cls, people: Ints, known: Ints, elements: Elements, true: CodedRows[str]) -> "RawExposure":
        items, classes = np.unique(known % elements.items), classes_of(true, people)
        place = np.full(elements.items, -1, np.int64)
        place[items] = np.arange(len(items))
        targets = Targets(people, len(items), _items_by_place(known, place))
        item = place[elements.further]
        named = np.argsort(item, kind="stable")
        having = np.split(named, np.searchsorted(item[named], np.arange(len(items) + 1)))[1:-1]
        raw = CandidateIndex.from_elements(true.start, true.codes, len(true.names), having)
        search = SinglingOutSearch(raw, targets)
        return cls(search.expected_singled_out(classes), search.implied(raw, targets.known))


def _items_by_place(known: Ints, place: Ints) -> Ints:
    """Items of people by the places of the items."""
    person, item = np.divmod(known, len(place))
    return person * max(1, int(place.max()) + 1) + place[item]


def _count_plain_names(rows: CodedRows[object], plain: Mask) -> Ints:
    """How many names of every row are plain."""
    counts = [np.bincount(block.row_of_code[plain[block.codes]], minlength=len(block)) for block in rows.blocks()]
    return np.concatenate([np.zeros(0, np.int64), *counts])


def _supports(rows: CodedRows[object], item: Ints, items: int) -> Ints:
    """How many rows have each item, by the item of each name: so many rows at a time."""
    counts, supports = np.zeros(len(rows.names), np.int64), np.zeros(items, np.int64)
    for block in rows.blocks():
        counts += np.bincount(block.codes, minlength=len(counts))
    np.add.at(supports, item, counts)
    return supports


def hidden_items(elements: Elements, taken: CodedRows[object], people: Ints, true: Ints, shown: Ints) -> _Hidden:
    """Return the hidden items of some people, from their published and their original records."""
    generalised = ~elements.plain[taken.codes]
    person = taken.row_of_code[generalised]
    item, thing = elements.members(taken.codes[generalised].astype(np.int64))
    of_person = person[thing] * elements.items + item
    covered = np.concatenate((shown, of_person))
    truly_shown = shown[among(shown, true)]
    shown_of, left_out = (
        np.bincount(entries // elements.items, minlength=len(people)).astype(np.int64)
        for entries in (truly_shown, true[~among(true, np.sort(covered))])
    )
    share = 1 - len(truly_shown) / len(true) if len(true) else None
    cell = people[person][thing] * elements.items + item
    return _Hidden(elements.items, cell, thing, among(of_person, true), person, shown_of, left_out, share)
