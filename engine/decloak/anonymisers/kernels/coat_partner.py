"""COAT with partners that an attacker can hardly distinguish: a choice among the partners of about the least loss.

The fit of item i in record t is the mean closeness of i to the other items of t, 0 without any. The fits by each
measure are standardised and added. A record with g shows the best fit of its own members of g, and a partner g' would
add members with a mean fit. win(g, g') is the share of the records with g or g' whose own members fit better than the
added ones, ties half: an attacker who eliminates the worse fit is right there. `hard` takes the least win, `even` the
win nearest to 1/2. Partners that share no record with g come first: where both are in one record, nothing is added.

Fits are whole numbers of 1 / UNIT, so that sums and ties do not depend on the order of additions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Literal, get_args

import numpy as np

from decloak.anonymisers.kernels.coat_state import Merging, loss
from decloak.arrays import Floats, Ints, Mask
from decloak.data.dataset import Dataset
from decloak.data.pairs import ScoredPairs
from decloak.data.rows import CodedRows
from decloak.data.tables import Pair
from decloak.errors import DecloakError, quote
from decloak.lazy import sparse

__all__ = ["Closeness", "MergingApart", "PartnerChoice", "check_partner", "check_size", "compute_fits"]

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
        return int(partners[np.round(abs(wins - 0.5) if self.partner == "even" else wins, 9).argmin()])

    def _near_least(self, counts: Ints, supports: Ints) -> Mask:
        """Return True for the partners whose loss is at most `slack` times the least."""
        sizes = np.unique(counts).tolist()
        most = self.slack * min(loss(size, int(supports[counts == size].min())) for size in sizes)
        allowed = {size: min(self.size, int(most / loss(size, 1))) for size in sizes}
        return np.asarray(supports <= np.array([allowed[count] for count in counts.tolist()]))

    def wins(self, g: int, partners: Ints) -> Floats:
        """Return win(g, g') for each of `partners`."""
        mine = self.places[g]
        added = self.total[partners[:, None], self.record[mine]]
        twice = (1 + np.sign(self.best[mine] * self.count[partners, None] - added)).sum(axis=1)
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
