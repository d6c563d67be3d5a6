"""The risk card of a release whose transactions show generalised items: who is singled out, what is inferred.

People are rows of the release, items have numbers. An item of a row is the number `row * items + item`, one of a person
that is asked for likewise.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from decloak.counting.ascending import Ints, among, distinct
from decloak.counting.itemsets import kinds_of
from decloak.data.rows import CodedRows, Coding
from decloak.measure.family import AttackedRelease
from decloak.measure.kernels.by_chance import random_strikes
from decloak.measure.kernels.crowd import Crowd, asked, rarest
from decloak.measure.kernels.guesses import guessed
from decloak.measure.kernels.holders import Holders
from decloak.measure.kernels.singled import implied, singled_out
from decloak.measure.risk_figures import Change, Risk, changes
from decloak.releases.held import HeldSets
from decloak.store.outcomes import TrueTable

__all__ = ["risk_of_sets"]

Mask = NDArray[np.bool_]


def risk_of_sets(held: HeldSets, attacked: AttackedRelease[Any]) -> Risk:
    """What a release tells, and after an attack on it."""
    people = held.kept(_People.of)
    done = None if attacked.idle else _done(held, attacked)
    if done is None:
        return _risk(people, None, [])
    tables, strikes = done
    counts = [int(mask.sum()) for mask in strikes]
    draws = random_strikes([table.scored for table in tables], counts, len(people.crowd))
    return _risk(people, people.struck(tables, strikes), [people.struck(tables, draw) for draw in draws])


def _done(held: HeldSets, attacked: AttackedRelease[Any]) -> tuple[list[TrueTable], list[Mask]] | None:
    """What an attack struck of every table, None where it is none that strikes."""
    struck = held.outcomes(attacked.number, attacked.derives)
    done = [(outcome.table, outcome.order >= 0) for outcome in struck]
    return ([table for table, _ in done], [mask for _, mask in done]) if done else None


class _Struck(NamedTuple):
    """Items, and the row that each was struck in."""

    items: Ints
    rows: Ints


def _risk(people: "_People", after: _Struck | None, by_chance: Sequence[_Struck]) -> Risk:
    if people.raw is None and not len(people.crowd.known):
        return Risk(len(people.crowd), changes())  # nobody is shown to have anything: a zero would pass for safety
    hidden = people.hidden
    inferred = Change()
    if hidden is not None:
        guessed_after = None if after is None else hidden.guessed(after)
        inferred = Change(hidden.people, hidden.guessed(), guessed_after, _mean(list(map(hidden.guessed, by_chance))))
    return Risk(
        people=len(people.crowd),
        singled=changes(
            None if people.raw is None else people.raw.singled,
            people.singled_before,
            None if after is None else people.singled(after),
            np.mean([people.singled(struck) for struck in by_chance], axis=0).tolist() if by_chance else None,
        ),
        inferred=inferred,
        implied=people.implied,
        implied_raw=None if people.raw is None else people.raw.implied,
        hidden=None if hidden is None else hidden.share,
    )


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


class _Elements:
    """What stands in rows by number: the items of each element, and the elements of each item."""

    def __init__(self, names: Sequence[Any], further: Sequence[str]) -> None:
        self.number: Coding[str] = Coding()
        sets = [(name,) if isinstance(name, str) else tuple(name) for name in names]
        self.item = np.array([self.number[item] for items in sets for item in items], np.int64)
        self.further = np.array([self.number[item] for item in further], np.int64)
        self.size = np.array(list(map(len, sets)), np.int64)
        self.plain = np.array([isinstance(name, str) for name in names], np.bool_)
        self.start = np.cumsum(self.size) - self.size
        self.items = max(1, len(self.number))

    @cached_property
    def having(self) -> list[Ints]:
        """The elements of each item."""
        element = np.repeat(np.arange(len(self.size)), self.size)
        order = np.argsort(self.item, kind="stable")
        return np.split(element[order], np.searchsorted(self.item[order], np.arange(1, self.items)))

    def members(self, elements: Ints) -> tuple[Ints, Ints]:
        """The items of some elements, and the place of the element among those."""
        size = self.size[elements]
        place = np.repeat(np.arange(len(elements)), size)
        within = np.arange(len(place)) - np.repeat(np.cumsum(size) - size, size)
        return self.item[self.start[elements][place] + within], place


@dataclass(frozen=True, eq=False)
class _Hidden:
    """What is hidden of the people asked for: members of generalised elements, by the thing that stands for them.

    Of a thing is known whose it is, and how many of its members are meant; of everybody, how many items are `shown` and
    `left_out`; `share` is what is not shown, of all that their records hold.
    """

    items: int
    cell: Ints
    thing: Ints
    meant: Mask
    person: Ints
    shown: Ints
    left_out: Ints
    share: float

    @cached_property
    def people(self) -> int:
        """Of how many anything is there to be guessed."""
        return int((self._held > 0).sum())

    @cached_property
    def _meant(self) -> Ints:
        return np.bincount(self.thing[self.meant], minlength=len(self.person))

    @cached_property
    def _held(self) -> Ints:
        meant = np.bincount(self.person, self._meant, len(self.shown)).astype(np.int64)
        held: Ints = self.shown + self.left_out + meant
        return held

    def guessed(self, struck: _Struck | None = None) -> float:
        """Of how many people a guess at an item is right, when so much was struck."""
        left = np.ones(len(self.cell), np.bool_)
        if struck is not None:
            left = ~among(self.cell, np.sort(struck.rows * self.items + struck.items))
        members = np.bincount(self.thing[left], minlength=len(self.person))
        right = np.bincount(self.thing[left & self.meant], minlength=len(self.person)) / np.maximum(members, 1)
        everybody = np.arange(len(self.shown))
        person = np.concatenate((self.person, everybody, everybody))
        items = np.concatenate((self._meant, self.shown, self.left_out))
        chances = np.concatenate((right, np.ones(len(everybody)), np.zeros(len(everybody))))
        return guessed(person, items, chances, len(everybody))


@dataclass(frozen=True, eq=False)
class _People:
    """Whom a release is of, as somebody sees it who knows a few of their items.

    `place` is the number of an item among those that can be known, -1 of others.
    """

    elements: _Elements
    place: Ints
    crowd: Crowd
    may: Holders
    classes: Ints
    raw: "_Raw | None"
    implied: int
    hidden: _Hidden | None

    @classmethod
    def of(cls, held: HeldSets) -> "_People":
        """Without the originals somebody knows what a record shows for certain."""
        rows = held.published.rows.compact
        true = None if held.behind is None else held.behind.rows.compact
        elements, classes = _Elements(rows.names, () if true is None else true.names), _alike(rows)
        plainly = np.bincount(rows.row[elements.plain[rows.codes]], minlength=len(rows))
        people = asked(plainly if true is None else true.lengths, len(rows))
        taken = rows.take(people)
        plain = elements.plain[taken.codes]
        shown = distinct(taken.row[plain] * elements.items + elements.item[elements.start[taken.codes[plain]]])
        known, support = shown, np.bincount(elements.item[elements.start[rows.codes]], minlength=elements.items)
        hidden = None
        if true is not None:
            took = true.take(people)
            known = distinct(took.row * elements.items + elements.further[took.codes])
            support = np.bincount(elements.further[true.codes], minlength=elements.items)
            hidden = _hidden(elements, taken, people, known, shown)
        raw = None if true is None else _Raw.of(people, rarest(known, elements.items, support), elements, true)
        # What no record shows, or may hold, cannot be looked for.
        known = rarest(known[among(known % elements.items, np.unique(elements.item))], elements.items, support)
        shown = shown[among(shown, known)]
        items = np.unique(known % elements.items)
        place = np.full(elements.items, -1, np.int64)
        place[items] = np.arange(len(items))
        crowd = Crowd(people, len(items), _placed(known, place))
        having = [elements.having[item] for item in items.tolist()]
        of_elements = _holders(rows, having)
        may = of_elements.any_of(having)
        shows = of_elements.any_of([of_item[elements.plain[of_item]] for of_item in having])
        told = implied(may, shows, crowd, _placed(shown, place))
        return cls(elements, place, crowd, may, classes, raw, told, hidden)

    def struck(self, tables: Sequence[TrueTable], masks: Sequence[Mask]) -> _Struck:
        """What was struck of tables."""
        items, rows = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for table, mask in zip(tables, masks, strict=True):
            numbers = np.array([self.elements.number.get(member, -1) for member in table.members], np.int64)
            row, column = np.nonzero(mask & (numbers >= 0))
            items.append(numbers[column])
            rows.append(table.places[row])
        return _Struck(np.concatenate(items), np.concatenate(rows))

    def singled(self, struck: _Struck) -> list[float]:
        """How many are singled out by 1, 2 and 3 items, when so much was struck."""
        place = self.place[struck.items]
        return singled_out(self.may.without(place[place >= 0], struck.rows[place >= 0]), self.crowd, self.classes)

    @cached_property
    def singled_before(self) -> list[float]:
        """The same as published."""
        return singled_out(self.may, self.crowd, self.classes)


class _Raw(NamedTuple):
    """Whom the raw data tell of."""

    singled: list[float]
    implied: int

    @classmethod
    def of(cls, people: Ints, known: Ints, elements: _Elements, true: CodedRows[str]) -> "_Raw":
        items, classes = np.unique(known % elements.items), _alike(true)  # told apart before what else takes memory
        place = np.full(elements.items, -1, np.int64)
        place[items] = np.arange(len(items))
        crowd = Crowd(people, len(items), _placed(known, place))
        raw = _by_blocks(true, place[elements.further], len(items))
        return cls(singled_out(raw, crowd, classes), implied(raw, raw, crowd, crowd.known))


def _placed(known: Ints, place: Ints) -> Ints:
    """Items of people by the places of the items."""
    person, item = np.divmod(known, len(place))
    return person * max(1, int(place.max()) + 1) + place[item]


def _holders(rows: CodedRows[Any], groups: Sequence[Ints]) -> Holders:
    """The rows of names that are in any group."""
    grouped = np.zeros(len(rows.names), np.bool_)
    grouped[np.concatenate([np.zeros(0, np.int64), *groups])] = True
    return _by_blocks(rows, np.where(grouped, np.arange(len(rows.names)), -1), len(rows.names))


def _by_blocks(rows: CodedRows[Any], number: Ints, items: int) -> Holders:
    """Which rows have names of a number, -1 of none: so many rows at a time, each a whole number of words."""
    words, first = np.zeros((items, -(-len(rows) // 64)), "<u8"), 0
    for block in rows.blocks():
        item = number[block.codes]
        part = Holders.of(len(block), items, item[item >= 0], block.row[item >= 0]).words
        words[:, first : first + part.shape[1]] = part
        first += part.shape[1]
    return Holders(words, len(rows))


def _alike(rows: CodedRows[Any]) -> Ints:
    """A number for each row, the same of rows that show the same."""
    return kinds_of(rows.matrix(np.arange(len(rows.names)), len(rows.names)))


def _hidden(elements: _Elements, taken: CodedRows[Any], people: Ints, true: Ints, shown: Ints) -> _Hidden:
    """What is hidden of some people, given what their records show and truly hold."""
    generalised = ~elements.plain[taken.codes]
    person = taken.row[generalised]
    item, thing = elements.members(taken.codes[generalised].astype(np.int64))
    of_person = person[thing] * elements.items + item
    covered = np.concatenate((shown, of_person))
    truly_shown = shown[among(shown, true)]
    shown_of, left_out = (
        np.bincount(entries // elements.items, minlength=len(people)).astype(np.int64)
        for entries in (truly_shown, true[~among(true, np.sort(covered))])
    )
    share = 1 - len(truly_shown) / len(true) if len(true) else 0.0
    cell = people[person][thing] * elements.items + item
    return _Hidden(elements.items, cell, thing, among(of_person, true), person, shown_of, left_out, share)
