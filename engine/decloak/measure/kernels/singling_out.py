"""Singling out: people for whom a few known items have one candidate record only, their own.

A person is *singled out* if there is one candidate for the known items, and it is the person's own record. Records of
one equivalence class are indistinguishable: if the candidate is in the person's class, the person is found with the
probability 1 / size of the class. Two known items *imply* a third if all their candidates certainly have it.

Targets are people of whom an attacker knows itemsets of one, two and three items. Very many people are represented by a
sample: the largest that WORK allows, drawn with a seed that depends only on the number of records. All releases of the
same data have the same people. If a person has more than MOST_ITEMS items, an attacker knows the items with the lowest
support. An item of a person is the number `person * items + item`. People are numbered in the order of the sample.

Rows of one equivalence class show the same. The *signature* of a record is a word of bits, some of which each of its
elements sets pseudo-randomly. Records that show the same have the same signature, and few others have it. So few
records are compared in full, however many there are.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decloak.arrays import Ints
from decloak.counting.itemsets import among, distinct, kinds_of
from decloak.data.rows import CodedRows
from decloak.figures import MOST_KNOWN
from decloak.measure.kernels.candidate_index import CandidateIndex

__all__ = ["SinglingOutSearch", "Targets", "classes_of", "keep_rarest_items", "sample_rows", "sample_targets"]

MOST_ITEMS = 24
"""Items of a person from which the known items are taken."""
WORK = 200_000_000
"""Bytes of bit sets that a search would read if no window ended it early."""
FEWEST = 1_000
"""People in a sample, at least: this number gives a share to within three points."""


class Itemsets(NamedTuple):
    """Distinct itemsets of one size, a column each; `person` knows the itemset at index `itemset`. All are 32-bit."""

    distinct: Ints
    person: Ints
    itemset: Ints


class Targets:
    """Target people: the row index of each one's own record, and their items."""

    def __init__(self, rows: Ints, items: int, known: Ints) -> None:
        self.rows = rows
        self.items = max(1, items)
        self.known = known

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def itemsets(self) -> list[Itemsets]:
        """Return the itemsets that may be known of the people, by size from 1."""
        return [self._itemsets(size) for size in range(1, MOST_KNOWN + 1)]

    def _itemsets(self, size: int) -> Itemsets:
        person, item = np.divmod(self.known, self.items)
        lengths = np.bincount(person, minlength=len(self))
        start = np.cumsum(lengths) - lengths
        keys, owners = [np.zeros(0, np.int64)], [np.zeros(0, np.int32)]
        for length in np.unique(lengths[lengths >= size]).tolist():
            group = np.flatnonzero(lengths == length)
            places = np.array(list(combinations(range(length), size)))
            key = np.zeros((len(group), len(places)), np.int64)
            for column in places.T:
                key *= self.items
                key += item[start[group][:, None] + column]
            keys.append(key.ravel())
            owners.append(np.repeat(group.astype(np.int32), len(places)))
        key, person = np.concatenate(keys), np.concatenate(owners)
        del keys, owners
        # Common itemsets are searched once for all people who have them.
        order = np.argsort(key, kind="stable")
        key = key[order]
        fresh = np.ones(len(key), np.bool_)
        fresh[1:] = key[1:] != key[:-1]
        itemset = np.empty(len(key), np.int32)
        itemset[order] = np.cumsum(fresh, dtype=np.int32) - 1
        del order
        key = key[fresh]
        columns = np.empty((size, len(key)), np.int32)
        for column in columns[::-1]:
            key, column[:] = np.divmod(key, self.items)
        return Itemsets(columns, person, itemset)


def sample_targets(lengths: Ints, records: int) -> Ints:
    """Choose the people to attack: all of them, or a sample where a search for all would take more than WORK bytes.

    `lengths` are the numbers of items of the people, and `records` is the number of records to search. Return the row
    indices of the chosen people, ascending.
    """
    people = len(lengths)
    if not people:
        return np.zeros(0, np.int64)
    counts = np.bincount(np.minimum(lengths, MOST_ITEMS))
    sets = [sum(comb(n, size) for size in range(1, MOST_KNOWN + 1)) + n for n in range(len(counts))]
    # The work of a search is the number of itemsets of a person times the bytes of one bit set.
    each = float(counts @ np.array(sets)) / people
    most = max(FEWEST, int(WORK / max(1.0, each * (records / 8))))
    if people <= most:
        return np.arange(people)
    return np.sort(np.random.default_rng(people).choice(people, most, replace=False))


def sample_rows(lengths: Ints, places: Ints) -> Ints:
    """Choose people by their original records, so that all releases of the same data are measured on the same people.

    `lengths` are the numbers of items of the original records, and `places` has the original record behind each row of
    a release. Return the row indices of the chosen people, ascending.
    """
    chosen = np.zeros(len(lengths), np.bool_)
    chosen[sample_targets(lengths, len(places))] = True
    return np.flatnonzero(chosen[places])


def keep_rarest_items(known: Ints, items: int, support: Ints) -> Ints:
    """Return the `known` items of people, at most MOST_ITEMS of each: those with the lowest `support`, in their order.

    `items` is the number of different items.
    """
    person, item = np.divmod(known, max(1, items))
    order = np.lexsort((item, support[item], person))
    lengths = np.bincount(person)
    rank = np.arange(len(known)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return known if len(known) == 0 or lengths.max() <= MOST_ITEMS else np.sort(known[order[rank < MOST_ITEMS]])


CLAIMS = 1 << 19
"""Claims that an itemset implies an item, checked at a time, and those of one itemset more: bounds the memory."""


@dataclass(frozen=True, eq=False)
class SinglingOutSearch:
    """A search for target people among the records that may have the known items."""

    may: CandidateIndex
    targets: Targets

    @cached_property
    def _unique_candidates(self) -> list[Ints]:
        """Return the only candidate for each single item and each pair: in one pass, as each pass takes its time."""
        single, pair = (sets.distinct for sets in self.targets.itemsets[:2])
        both = self.may.unique_candidate(np.concatenate((np.repeat(single, 2, axis=0), pair), axis=1))
        return [both[: single.shape[1]], both[single.shape[1] :]]

    def expected_singled_out(self, classes: Ints | None = None) -> list[float]:
        """Return the number of people expected to be singled out with up to 1, 2 and 3 of their items.

        `classes` has the equivalence class of each record. Without it all records differ. -1 is the class of an absent
        record.

        >>> may = CandidateIndex.of(3, 2, np.array([0, 2, 3, 5]))
        >>> SinglingOutSearch(may, Targets(np.arange(3), 2, np.array([0, 2, 3, 5]))).expected_singled_out()
        [0.0, 1.0, 1.0]
        """
        of_record = np.arange(self.may.records) if classes is None else classes
        own = of_record[self.targets.rows]
        chance = 1 / np.bincount(of_record[of_record >= 0])[own] if len(own) else np.zeros(0)
        found = np.zeros(len(self.targets), np.bool_)
        expected = []
        for size, sets in enumerate(self.targets.itemsets):
            # A person found with fewer items needs no further search.
            left = ~found[sets.person]
            person, itemset = sets.person[left], sets.itemset[left]
            candidate = (self._unique_candidates[size] if size < 2 else self._look_up_triples(sets, itemset))[itemset]
            alone = candidate >= 0
            right = of_record[candidate[alone]] == own[person[alone]]
            found[person[alone][right]] = True
            expected.append(float(chance[found].sum()))
        return expected

    def _look_up_triples(self, sets: Itemsets, itemset: Ints) -> Ints:
        """Return the only candidate for some of the itemsets, -1 for the others."""
        looked_for = np.zeros(sets.distinct.shape[1], np.bool_)
        looked_for[itemset] = True
        only = np.full(len(looked_for), -1, np.int64)
        only[looked_for] = self.may.unique_candidate(sets.distinct[:, looked_for])
        return only

    def implied(self, shows: CandidateIndex, shown: Ints) -> int:
        """Return the number of people for whom two known items imply a third.

        `shows` is the index of the items that records certainly have. `shown` are the items that people's records
        certainly have, in the form of the known items: only these can be implied.

        >>> both = CandidateIndex.of(2, 3, np.arange(6))
        >>> SinglingOutSearch(both, Targets(np.arange(2), 3, np.arange(6))).implied(both, np.arange(6))
        2
        """
        targets, sets = self.targets, self.targets.itemsets[1]
        many = np.bincount(shown // targets.items, minlength=len(targets))
        # The only candidate for two items implies each further item that its record shows.
        # If the person's record is the only candidate for two items, and certainly has further ones, these are implied
        # at once.
        alone = self._unique_candidates[1][sets.itemset] == targets.rows[sets.person]
        told = np.zeros(len(targets), np.bool_)
        told[sets.person[alone & (many[sets.person] > _count_certain(sets, targets, shown))]] = True
        left = np.flatnonzero(~told[sets.person])
        left = left[np.argsort(sets.itemset[left], kind="stable")]
        # All claims of an itemset stay together: many people share itemsets, and each claim is checked once.
        begin = np.cumsum(many[sets.person[left]]) - many[sets.person[left]]
        begin = begin[np.searchsorted(sets.itemset[left], sets.itemset[left])]
        for part in np.split(left, np.flatnonzero(np.diff(begin // CLAIMS)) + 1):
            part = part[~told[sets.person[part]]]
            told[self._told_by_claims(shows, shown, sets.person[part], sets.itemset[part])] = True
        return int(told.sum())

    def _told_by_claims(self, shows: CandidateIndex, shown: Ints, person: Ints, itemset: Ints) -> Ints:
        """Return the people of `person` for whom the pair at the same index of `itemset` implies a third item."""
        targets, pairs = self.targets, self.targets.itemsets[1].distinct
        many = np.bincount(shown // targets.items, minlength=len(targets))
        begin, each = (np.cumsum(many) - many)[person], many[person]
        place = np.arange(each.sum()) + np.repeat(begin - np.cumsum(each) + each, each)
        third, whose = shown[place] % targets.items, np.repeat(person, each)
        itemset = np.repeat(itemset.astype(np.int64), each)
        further = (pairs[:, itemset] != third).all(axis=0)
        claim = itemset[further] * targets.items + third[further]
        claims = distinct(claim)
        of_claim, implied_item = np.divmod(claims, targets.items)
        follows = self.may.implies(shows, pairs[:, of_claim], implied_item)
        of_person: Ints = whose[further][among(claim, claims[follows])]
        return of_person


def _count_certain(sets: Itemsets, targets: Targets, shown: Ints) -> Ints:
    """Return the number of items of each known itemset that the record certainly has."""
    number = np.zeros(len(sets.person), np.int64)
    for item in sets.distinct:
        number += among(sets.person.astype(np.int64) * targets.items + item[sets.itemset], shown)
    return number


Words = NDArray[np.uint64]

BITS = (4, 1)
"""Bits that an element sets in a signature, and in a second one, for records with so many elements that all bits are
set.
"""


def classes_of(rows: CodedRows[object], some: Ints) -> Ints:
    """Return a class number for each row of `rows` that shows the same as one of the rows `some`; -1 for other rows.

    >>> classes_of(CodedRows.of(["ab", "c", "ba", "c"]), np.array([0])).tolist()
    [0, -1, 0, -1]
    """
    rng = np.random.default_rng(len(rows.names))
    bits = [rng.integers(0, 64, (len(rows.names), number)).astype(np.uint64) for number in BITS]
    of_element = [np.bitwise_or.reduce(np.left_shift(np.uint64(1), each), axis=1) for each in bits]
    looked_for = [np.unique(_signatures(rows.select(some), words)) for words in of_element]
    places, first = [np.zeros(0, np.int64)], 0
    for block in rows.blocks():
        # Signatures are compared first: only rows with the signature of a target are compared in full.
        there = np.arange(len(block))
        for words, signatures in zip(of_element, looked_for, strict=True):
            there = there[np.isin(_signatures(block.select(there), words), signatures)]
        places.append(first + there)
        first += len(block)
    likely = np.concatenate(places)
    kind = kinds_of(rows.select(likely).matrix(np.arange(len(rows.names)), len(rows.names)))
    asked_for = np.unique(kind[np.searchsorted(likely, some)])
    classes = np.full(len(rows), -1, np.int64)
    same = np.isin(kind, asked_for)
    classes[likely[same]] = np.searchsorted(asked_for, kind[same])
    return classes


def _signatures(rows: CodedRows[object], words: Words) -> Words:
    """Return the signature of every row."""
    signatures = np.zeros(len(rows), np.uint64)
    filled = rows.lengths > 0
    if filled.any():
        signatures[filled] = np.bitwise_or.reduceat(words[rows.codes], rows.start[:-1][filled])
    return signatures
