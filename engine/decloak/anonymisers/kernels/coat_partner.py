"""State and partners of COAT: items merged step by step, and a choice among the partners of about the least loss.

Items are numbered by name, and a generalised item is identified by its least member. A set of generalised items is a
bit mask, the lowest bit for the first of them.

An attacker can hardly distinguish the chosen partners. The fit of item i in record t is the mean closeness of i to the
other items of t, 0 without any. The fits by each measure are standardised and added. A record with g shows the best fit
of its own members of g, and a partner g' would add members with a mean fit. win(g, g') is the share of the records with
g or g' whose own members fit better than the added ones, ties half: an attacker who eliminates the worse fit is right
there. `hard` takes the least win, `even` the win nearest to 1/2. Partners that share no record with g come first: where
both are in one record, nothing is added.

Fits are whole numbers of 1 / UNIT, so that sums and ties do not depend on the order of additions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Literal, get_args

import numpy as np

from decloak.arrays import Floats, Ints, Mask
from decloak.data.dataset import Dataset
from decloak.data.pairs import Pair, ScoredPairs
from decloak.data.rows import CodedRows, runs
from decloak.errors import DecloakError, quote
from decloak.lazy import sparse

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
        # Zeros between calls: a new array for each step would take time by all records.
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
        entries, index = runs(self.start[records], self.start[records + 1])
        held = self.image[entries]
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


PartnerChoice = Literal["hard", "even"]
Closeness = Mapping[Pair, float | None]
"""The closeness of pairs of items, larger for closer ones."""

UNIT = 1 << 20
MOST_FITS = 1 << 25
"""Largest number of fits, and of pairs of items: each takes some 25 bytes."""
PSEUDO_COUNT = 0.05
"""Added to both numbers of records in a lift, which is so never 0."""


class MergingApart(Merging):
    """Items merged with the partners that an attacker can hardly distinguish.

    `total` has the sum of the fits of the members of each generalised item, in each record. `best` has the best fit of
    the record's own members, for each occurrence.
    """

    def __init__(
        self,
        transactions: Sequence[Sequence[str]],
        domain: Sequence[str],
        utility: Sequence[Sequence[str]],
        *,
        fits: Ints,
        partner: PartnerChoice,
        slack: float,
    ) -> None:
        super().__init__(transactions, domain, utility)
        self.partner, self.slack = partner, Fraction(str(slack))
        self.total, self.best = fits, fits[self.image, self.record]

    def choose(self, g: int, partners: Ints, supports: Ints, together: Ints) -> int:
        """Return the partner of `g` with the least win, or the win nearest to 1/2, among those of about the least loss.

        `supports` and `together` are the records with either and with both.
        """
        near_least = self._near_least(self.count[g] + self.count[partners], supports)
        apart = near_least & (together == 0)
        partners = partners[apart if apart.any() else near_least]
        wins = self.wins(g, partners)
        # Rounded, so that the order of a sum decides no tie.
        return int(partners[np.round(abs(wins - 0.5) if self.partner == "even" else wins, 9).argmin()])

    def _near_least(self, counts: Ints, supports: Ints) -> Mask:
        """Return True for the partners whose loss is at most `slack` times the least."""
        sizes = np.unique(counts).tolist()
        most = self.slack * min(loss(size, int(supports[counts == size].min())) for size in sizes)
        # Losses of many items are beyond any array: each is turned into the largest support that it allows.
        allowed = {size: min(self.size, int(most / loss(size, 1))) for size in sizes}
        return np.asarray(supports <= np.array([allowed[count] for count in counts.tolist()]))

    def wins(self, g: int, partners: Ints) -> Floats:
        """Return win(g, g') for each of `partners`."""
        mine = self.places[g]
        added = self.total[partners[:, None], self.record[mine]]
        twice = (1 + np.sign(self.best[mine] * self.count[partners, None] - added)).sum(axis=1)
        # Occurrences that a union has taken in show nothing more.
        shown = np.flatnonzero(self.image >= 0)
        one = 1 + np.sign(self.best[shown] * self.count[g] - self.total[g, self.record[shown]])
        twice += np.bincount(self.image[shown], one, len(self.total)).astype(np.int64)[partners]
        return np.asarray(twice / (2 * (self.support[g] + self.support[partners])))

    def merge(self, g: int, partner: int) -> int:
        """Replace `g` and `partner` by their union; return its number."""
        g, partner = sorted((g, partner))
        mine, its = self.places[g], self.places[partner]
        _, at, other = np.intersect1d(self.record[mine], self.record[its], return_indices=True)
        self.best[mine[at]] = np.maximum(self.best[mine[at]], self.best[its[other]])
        self.total[g] += self.total[partner]
        return super().merge(g, partner)


def check_partner(partner: object, slack: object, *, unused: bool) -> None:
    """Raise an error for an unknown choice of `partner` or a bad `slack`, and for settings that would be `unused`."""
    if partner not in (None, *get_args(PartnerChoice)):
        raise DecloakError(f"partner is {quote(partner)}", hint="give hard or even, or leave it out")
    if isinstance(slack, bool) or not isinstance(slack, int | float) or not 1 <= slack < math.inf:
        raise DecloakError(f"slack is {quote(slack)}", hint="give a number of at least 1")
    if partner is None and (unused or slack != 1):
        hint = "give partner='hard' or partner='even', or leave them out"
        raise DecloakError("near, population and slack are for a choice of partners", hint=hint)


def check_size(items: int, records: int) -> None:
    """Raise an error if the fits of so many `items` in so many `records` would take too much memory."""
    if max(items, records) * items > MOST_FITS:
        message = f"{items} items and {records} records are too many to choose partners by their fit"
        raise DecloakError(message, hint="leave out 'partner', or publish fewer items or a sample of the records")


def compute_fits(data: Dataset, domain: Sequence[str], near: Sequence[Closeness], population: Dataset | None) -> Ints:
    """Return the fit of every item of `domain` in every record of `data`.

    `near` has the closeness of pairs by each measure. The lift in `population` is one more measure, if it is given.
    """
    check_size(len(domain), len(data.rows))
    held = _item_matrix(data.rows, domain)
    total = np.zeros((len(domain), len(data.rows)))
    for closeness in _measures(near, domain, population):
        known = np.isfinite(closeness)
        np.fill_diagonal(known, False)
        fit = held @ np.where(known, closeness, 0.0)
        others = held @ known.astype(np.float64)
        fit = np.divide(fit, others, out=np.zeros_like(fit), where=others > 0)
        deviation = fit.std()
        # Equal fits give no information, whatever rounding makes of their deviation.
        total += ((fit - fit.mean()) / deviation).T if deviation > 1e-12 else 0.0
    return np.rint(total * UNIT).astype(np.int64)


def _measures(near: Sequence[Closeness], domain: Sequence[str], population: Dataset | None) -> Iterator[Floats]:
    """Yield the closeness of all pairs of items of `domain` by each measure, NaN for none."""
    for scores in near:
        try:
            one_way = ScoredPairs.of(scores).block(domain, domain)
        except (TypeError, ValueError, AttributeError):
            hint = "give a mapping from pairs of items to numbers, or a list of such mappings"
            raise DecloakError("the closeness in near= is no table of scores", hint=hint) from None
        yield np.where(np.isfinite(one_way), one_way, one_way.T)
    if population is not None:
        held = _item_matrix(population.rows, domain).astype(np.float64)
        together = (held.T @ held).toarray()
        support = together.diagonal()
        by_chance = np.outer(support, support) / max(1, len(population.rows))
        yield np.log((together + PSEUDO_COUNT) / (by_chance + PSEUDO_COUNT))


def _item_matrix(rows: CodedRows[str], domain: Sequence[str]) -> sparse.csr_array:
    number = {item: code for code, item in enumerate(domain)}
    column = np.array([number.get(name, len(domain)) for name in rows.names], np.int64)
    return rows.matrix(column, len(domain) + 1)[:, : len(domain)]
