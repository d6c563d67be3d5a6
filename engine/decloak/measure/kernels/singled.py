"""Whom somebody finds who knows a few items of a person: records that alone may hold them.

A person is *singled out* where there is one candidate for what is known, and it is the person's own record. Records of
one class cannot be told apart: where the one candidate is of the person's class, the person is found with the
probability 1 / size of the class. What a record *shows* it holds for certain: two known items *imply* a third that all
their candidates show.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from decloak.arrays import Ints
from decloak.counting.ascending import among, distinct
from decloak.measure.kernels.crowd import Crowd, Itemsets
from decloak.measure.kernels.holders import Holders

__all__ = ["Search"]


@dataclass(frozen=True, eq=False)
class Search:
    """Somebody who looks for people among the records that may hold what is known of them."""

    may: Holders
    crowd: Crowd

    @cached_property
    def _only(self) -> list[Ints]:
        """The one candidate for each single item and for each pair: of both at once, as each pass takes its time."""
        single, pair = (sets.distinct for sets in self.crowd.itemsets[:2])
        both = self.may.only(np.concatenate((np.repeat(single, 2, axis=0), pair), axis=1))
        return [both[: single.shape[1]], both[single.shape[1] :]]

    def singled_out(self, classes: Ints | None = None) -> list[float]:
        """How many people are expected to be found by up to 1, 2 and 3 of their items.

        `classes` says which records cannot be told apart, without it none; -1 is of nobody's record.

        >>> may = Holders.of(3, 2, np.array([0, 0, 1, 1]), np.array([0, 1, 1, 2]))
        >>> Search(may, Crowd(np.arange(3), 2, np.array([0, 2, 3, 5]))).singled_out()
        [0.0, 1.0, 1.0]
        """
        of_record = np.arange(self.may.records) if classes is None else classes
        own = of_record[self.crowd.rows]
        chance = 1 / np.bincount(of_record[of_record >= 0])[own] if len(own) else np.zeros(0)
        found = np.zeros(len(self.crowd), np.bool_)
        expected = []
        for size, sets in enumerate(self.crowd.itemsets):
            left = ~found[sets.person]
            person, itemset = sets.person[left], sets.itemset[left]
            candidate = (self._only[size] if size < 2 else self._looked_up(sets, itemset))[itemset]
            alone = candidate >= 0
            right = of_record[candidate[alone]] == own[person[alone]]
            found[person[alone][right]] = True
            expected.append(float(chance[found].sum()))
        return expected

    def _looked_up(self, sets: Itemsets, itemset: Ints) -> Ints:
        """The one candidate for some of the itemsets, -1 for the others."""
        looked_for = np.zeros(sets.distinct.shape[1], np.bool_)
        looked_for[itemset] = True
        only = np.full(len(looked_for), -1, np.int64)
        only[looked_for] = self.may.only(sets.distinct[:, looked_for])
        return only

    def implied(self, shows: Holders, shown: Ints) -> int:
        """Of how many people two known items imply a third.

        `shown` are the items that people's records show for certain, as the crowd's are known: none but these are
        implied.

        >>> both = Holders.of(2, 3, np.array([0, 0, 1, 1, 2, 2]), np.array([0, 1] * 3))
        >>> Search(both, Crowd(np.arange(2), 3, np.arange(6))).implied(both, np.arange(6))
        2
        """
        crowd, sets = self.crowd, self.crowd.itemsets[1]
        many = np.bincount(shown // crowd.items, minlength=len(crowd))
        # Who is the one candidate for two items, and shows more than these, is told of without a further look.
        alone = self._only[1][sets.itemset] == crowd.rows[sets.person]
        told = np.zeros(len(crowd), np.bool_)
        told[sets.person[alone & (many[sets.person] > _among_shown(sets, crowd, shown))]] = True
        person, itemset = sets.person[~told[sets.person]], sets.itemset[~told[sets.person]]
        begin, each = (np.cumsum(many) - many)[person], many[person]
        place = np.arange(each.sum()) + np.repeat(begin - np.cumsum(each) + each, each)
        third, itemset, whose = shown[place] % crowd.items, np.repeat(itemset, each), np.repeat(person, each)
        further = (sets.distinct[:, itemset] != third).all(axis=0)
        claim = itemset[further] * crowd.items + third[further]
        claims = distinct(claim)
        of_claim, implied_item = np.divmod(claims, crowd.items)
        follows = self.may.imply(shows, sets.distinct[:, of_claim], implied_item)
        told[whose[further][among(claim, claims[follows])]] = True
        return int(told.sum())


def _among_shown(sets: Itemsets, crowd: Crowd, shown: Ints) -> Ints:
    """How many items of each person's itemsets are among those that the record shows."""
    number = np.zeros(len(sets.person), np.int64)
    for item in sets.distinct:
        number += among(sets.person * crowd.items + item[sets.itemset], shown)
    return number
