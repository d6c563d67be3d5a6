"""Whom somebody looks up: people of the original data, or people who are not in it, by what is known of each."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from decloak.arrays import Floats, Ints
from decloak.data.rows import CodedRows
from decloak.lazy import sparse
from decloak.measure.family import AttackedRelease
from decloak.measure.kernels.holders import Holders
from decloak.measure.kernels.known_items import LEVELS, Model, known_of, orders
from decloak.measure.kernels.looked_up import LookedUp, looked_up, right_guesses

__all__ = ["KnownPeople", "Lookup", "Population"]

MOST = 1_000
"""People that are looked up."""


@dataclass(frozen=True, eq=False)
class KnownPeople:
    """People by the number of the record, -1 of who has none; items known of each, a column each; what they have.

    Items are numbers of names of the originals, -1 of items that these do not have.
    """

    record: Ints
    items: Ints
    held: "sparse.csr_array[Any]"

    def held_by(self, number: Ints, items: int) -> "sparse.csr_array[Any]":
        """What they have, items by other numbers."""
        shape = (self.held.shape[0], items)
        return sparse.csr_array((self.held.data, number[self.held.indices], self.held.indptr), shape)

    @cached_property
    def guessable(self) -> int:
        """Of how many there is any more to be known."""
        known = np.array([len(set(column)) for column in self.items.T.tolist()], np.int64)
        return int((np.diff(self.held.indptr) > known).sum())


def _drawn(records: int) -> Ints:
    if records <= MOST:
        return np.arange(records)
    return np.sort(np.random.default_rng(records).choice(records, MOST, replace=False))


class Lookup(Protocol):
    """A release in which people are looked up."""

    def look(self, known: KnownPeople, done: Any = None) -> LookedUp:
        """Whom somebody finds in what is published, or after what an attack did."""

    def after(self, held: Any, attacked: AttackedRelease[Any], people: int) -> Iterator[Any]:
        """What an attack did, and then as much at random; nothing where it did nothing to go by."""


@dataclass(frozen=True, eq=False)
class Population:
    """The original records, and of some of the people what can be known of them, by level."""

    rows: CodedRows[str]
    model: Model

    @cached_property
    def support(self) -> Ints:
        """How many records have each item."""
        return np.bincount(self.rows.codes, minlength=len(self.rows.names)).astype(np.int64)

    @cached_property
    def people(self) -> dict[str, KnownPeople]:
        """Of whom so much can be known, by level."""
        return self._known(self.rows.take(self.drawn), self.drawn)

    @cached_property
    def drawn(self) -> Ints:
        """The people that stand for all, by the numbers of their records."""
        return _drawn(len(self.rows))

    def others(self, rows: CodedRows[str]) -> dict[str, KnownPeople]:
        """The same of people who are not in the data."""
        number = {name: place for place, name in enumerate(self.rows.names)}
        codes = np.array([number.get(name, -1) for name in rows.names], np.int64)
        some = rows.take(_drawn(len(rows)))
        kept = codes[some.codes] >= 0
        start = np.concatenate(([0], np.cumsum(kept)))[some.start]
        return self._known(CodedRows(start, codes[some.codes[kept]], self.rows.names), np.full(len(some), -1))

    def _known(self, rows: CodedRows[str], record: Ints) -> dict[str, KnownPeople]:
        by_name = np.argsort(np.argsort(np.array(self.rows.names, object)))  # draws do not go by the order of the file
        lists = [by_name[rows.codes[begin:end]] for begin, end in zip(rows.start[:-1], rows.start[1:], strict=True)]
        named = np.argsort(by_name)
        ordered = [named[items] for items in orders(lists, self.support[named], len(self.rows), self.model)]
        held = rows.matrix(np.arange(len(rows.names)), len(rows.names))
        levels = {}
        for name, level in LEVELS.items():
            known = known_of(ordered, level)
            levels[name] = KnownPeople(record[known.person], known.items, held[known.person])
        return levels

    @cached_property
    def _raw(self) -> tuple[Holders, "sparse.csr_array[Any]"]:
        kinds = len(self.rows.names)
        holders = Holders.standing(self.rows.start, self.rows.codes, kinds, list(np.arange(kinds)[:, None]))
        return holders, self.rows.matrix(np.arange(kinds), kinds).astype(np.float64)

    def look(self, known: KnownPeople) -> LookedUp:
        """Whom somebody finds in the originals themselves."""
        return looked_up(*self._raw, known.items, known.record, known.held)

    def most_frequent(self, known: KnownPeople) -> Floats:
        """How often a guess at the most frequent item that is not known is right, without any release."""
        mask = np.zeros(known.held.shape, np.bool_)
        mask[np.arange(len(mask)), known.items] = True
        scores = np.repeat(self.support[None].astype(np.float64), len(mask), axis=0)
        return right_guesses(scores, mask, known.held.toarray() > 0)
