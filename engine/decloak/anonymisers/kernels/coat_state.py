"""State of COAT: items merged into generalised items step by step, and the records that support them.

Items are numbered by name, and a generalised item is identified by its least member. A set of generalised items is a
bit mask, the lowest bit for the first of them.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from decloak.arrays import Ints

__all__ = ["NOWHERE", "Merging", "loss"]


NOWHERE = -1
"""The number of no generalised item."""


class Merging:
    """The current φ, and the occurrences of items: for each its record, and the generalised item.

    If a record has several members of a generalised item, all occurrences but one are NOWHERE.
    """

    def __init__(
        self, transactions: Sequence[Sequence[str]], domain: Sequence[str], utility: Sequence[Sequence[str]]
    ) -> None:
        number = {item: code for code, item in enumerate(domain)}
        records = [sorted({number[item] for item in transaction}) for transaction in transactions]
        lengths = np.array([len(record) for record in records], np.int64)
        n = len(domain)
        self.domain, self.number, self.size = domain, number, len(records)
        self.start = np.concatenate(([0], np.cumsum(lengths)))
        self.record = np.repeat(np.arange(len(records)), lengths)
        self.image = np.array([code for record in records for code in record], np.int64)
        self.support = np.bincount(self.image, minlength=n)
        self.places = np.split(np.argsort(self.image, kind="stable"), np.cumsum(self.support)[:-1])
        self.members = [[code] for code in range(n)]
        self.count = np.ones(n, np.int64)
        self.phi_of = np.arange(n)
        self.utility = np.full(n, NOWHERE)
        for index, constraint in enumerate(utility):
            self.utility[[number[item] for item in constraint]] = index
        self._holds = np.zeros(len(records), np.int64)

    def names(self, g: int) -> tuple[str, ...]:
        """Return the members of the generalised item `g`."""
        return tuple(self.domain[code] for code in sorted(self.members[g]))

    def partners(self, g: int) -> Ints:
        """Return the other generalised items in the utility constraint of `g`."""
        alive = self.phi_of == np.arange(len(self.phi_of))
        alive[g] = False
        return np.flatnonzero(alive & (self.utility == self.utility[g]) & (self.utility != NOWHERE))

    def choose(self, g: int, partners: Ints, supports: Ints, together: Ints) -> int:
        """Return the partner of `g` with the least loss, the first of several.

        `supports` and `together` are the records with either and with both.
        """
        counts = self.count[g] + self.count[partners]
        choices = []
        for count in np.unique(counts).tolist():
            # Among equal sizes the rarest is sufficient.
            here = np.flatnonzero(counts == count)
            rarest = here[supports[here].argmin()]
            choices.append((loss(count, int(supports[rarest])), int(partners[rarest])))
        return min(choices)[1]

    def merge(self, g: int, partner: int) -> int:
        """Replace `g` and `partner` by their union; return its number."""
        # A generalised item goes by its least member, so that the order of labels stays that of numbers.
        g, partner = sorted((g, partner))
        mine, its = self.places[g], self.places[partner]
        self._holds[self.record[mine]] = 1
        # A record that holds members of both supports the union once.
        new = self._holds[self.record[its]] == 0
        self._holds[self.record[mine]] = 0
        self.image[its] = np.where(new, g, NOWHERE)
        self.places[g] = np.concatenate((mine, its[new]))
        self.support[g] = len(self.places[g])
        self.phi_of[self.members[partner]] = g
        self.members[g] += self.members[partner]
        self.count[g] = len(self.members[g])
        return g

    def suppress(self, g: int) -> None:
        """Suppress all items of `g`. Its occurrences stay, but no item is sent to it any more."""
        self.phi_of[self.members[g]] = NOWHERE

    def items_of_records(self, records: Ints) -> tuple[Ints, Ints]:
        """Return the generalised items of `records`, including suppressed ones, and for each the index of its
        record.
        """
        # Entries of all records at once, without a loop over the records.
        lengths = self.start[records + 1] - self.start[records]
        index = np.repeat(np.arange(len(records)), lengths)
        ends = np.cumsum(lengths)
        held = self.image[np.arange(len(index)) + (self.start[records] - ends + lengths)[index]]
        return held[held != NOWHERE], index[held != NOWHERE]

    def supporting_records(self, images: Ints) -> tuple[Ints, Ints]:
        """Return the distinct records that support one of `images`, and the set of images of each."""
        holders = [self.record[self.places[g]] for g in images]
        for bit, records in enumerate(holders):
            self._holds[records] |= 1 << bit
        records = np.concatenate([self.record[:0], *holders])
        sets = self._holds[records]
        # The work array must be zero before the next call: clearing it all would take time by all records.
        self._holds[records] = 0
        # A record occurs once per image that it supports; the lowest of its images keeps it.
        first = (sets & -sets) == np.repeat(1 << np.arange(len(holders)), self.support[images])
        return records[first], sets[first]

    def phi(self) -> dict[str, tuple[str, ...] | None]:
        """Return φ: the generalised item of every item, None if suppressed."""
        names: dict[int, tuple[str, ...] | None] = {g: self.names(g) for g in set(self.phi_of.tolist()) - {NOWHERE}}
        return {item: names.get(g) for item, g in zip(self.domain, self.phi_of.tolist(), strict=True)}

    def loss(self) -> Fraction:
        """Return UL of the release."""
        kept = set(self.phi_of.tolist()) - {NOWHERE}
        lost = sum(loss(int(self.count[g]), int(self.support[g])) for g in kept if self.count[g] > 1)
        return Fraction(lost, loss(len(self.domain), self.size))


def loss(count: int, support: int) -> int:
    """Return UL of a generalised item of `count` items and `support`, without the common factor; exact for any number
    of items.
    """
    return ((1 << count) - 1) * support
