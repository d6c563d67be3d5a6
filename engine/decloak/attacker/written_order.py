"""Tests for an order of members in brackets, or of items in chunks, that reveals original items.

A generalised item has the same members wherever it is published. If brackets list these members in several orders, an
order may depend on the record: a publisher who writes the original member first has hidden nothing. Two tests look for
this.

- *One member is moved.* Without the member at one place the others agree with one order. If the order of a bracket of w
  members were random, the others would agree with a probability of 1 / (w - 1)!.
- *Some members are at a place more often than others.* In brackets in random order each of w members is at a place with
  the same probability. X is the sum over generalised items of chi-squared for the counts of their members, with w - 1
  degrees of freedom each.

Each place is tested from the left and from the right, corrected for the number of places. A place that passes is where
the original members may be. One order for each set of members reveals nothing about a single record.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from math import exp, factorial, log
from typing import NamedTuple

import numpy as np

from decloak.data.dataset import Dataset
from decloak.data.disassociated import Disassociated
from decloak.data.published import Published

LEVEL = 1e-4
"""Largest probability of a finding in a release whose brackets are in random order."""
PLACES = 8
"""Places that are tested from either side."""
CELLS = 1 << 20
"""Pairs of members that are compared at once."""
MOVED_SHARE = 0.95
"""Smallest share of brackets whose other members are in the usual order, for one member to count as moved."""

MEMBERS_BY_ORDER = "members_by_order"
"""What the store notes `RevealedMembers` of a release by: it keeps one order of the members of a label itself."""

Members = tuple[str, ...]
Orders = Mapping[frozenset[str], Counter[Members]]
"""Counts of each order in which the same members are written."""


class MovedMember(NamedTuple):
    """A place in brackets that depends on the record, counted from 0, or from -1 at the right. It has the number of
    tested brackets, and the probability of this finding in random order.
    """

    place: int
    brackets: int
    p: float

    @property
    def called(self) -> str:
        """Return the place in words."""
        words = {0: "first", -1: "last"}
        side = "from the left" if self.place >= 0 else "from the right"
        return words.get(self.place, f"at place {self.place + 1 if self.place >= 0 else -self.place} {side}")


def moved_member(brackets: Iterable[Members]) -> MovedMember | None:
    """Return the place in `brackets` where a member seems to depend on the record; None where no place does."""
    orders: dict[frozenset[str], Counter[Members]] = defaultdict(Counter)
    for members in brackets:
        if len(members) > 1:
            orders[frozenset(members)][members] += 1
    # A label that is always written in one order cannot depend on the record.
    varying = {members: counts for members, counts in orders.items() if len(counts) > 1}
    if not varying:
        return None
    places = _places(max(map(len, varying)))
    for test in (_p_moved, _p_uneven):  # one moved member makes other places uneven as well
        # A bracket of two members has the same two places from both sides: the left one is named.
        found = [_test_place(varying, place, test) for place in places]
        best = min(found, key=lambda one: (one.p, abs(one.place + 0.5), -one.place))
        p = 2 * len(places) * best.p  # corrected for all places and both tests
        if p <= LEVEL:
            return best._replace(p=p)
    return None


class RevealedMembers(NamedTuple):
    """People with an original member at a place that depends on their records, and so many in a random order."""

    people: int
    baseline: float


def revealed_members(release: Published, original: Dataset) -> RevealedMembers | None:
    """Count the people of `original` of whom the order of members in brackets of `release` reveals an item.

    The place is the one with the most original members. It is compared with random assignments of the brackets' orders
    to the records with the same members. The result is 0 if a random assignment has the same number with a probability
    above `LEVEL`. Return None where all brackets have their members in one order.
    """
    if not orders_vary(release):
        return None
    several = Counter(map(frozenset, release.generalised))
    varying = {members for members, orders in several.items() if orders > 1 and len(members) > 1}
    true_items = dict(zip(original.labels, map(frozenset, original.transactions), strict=True))
    brackets = [
        (label, element, true_items[label].intersection(element))
        for label, row in zip(release.labels, release.transactions, strict=True)
        for element in row
        if isinstance(element, tuple) and frozenset(element) in varying
    ]
    places = _places(max(map(len, varying), default=0))
    p, place = min(((_p_right(brackets, place), place) for place in places), default=(1.0, 0))
    if p * len(places) > LEVEL:
        return RevealedMembers(0, 0.0)
    revealed = {label for label, members, true in brackets if _has(members, place) and members[place] in true}
    hidden: dict[str, float] = defaultdict(lambda: 1.0)
    for label, members, true in brackets:
        hidden[label] *= 1 - len(true) / len(members) if _has(members, place) else 1
    return RevealedMembers(len(revealed), sum(1 - chance for chance in hidden.values()))


Bracket = tuple[str, Members, frozenset[str]]
"""The label of a record, the members as they are written, and the original ones."""


def _p_right(brackets: Sequence[Bracket], place: int) -> float:
    """Return the probability that randomly assigned orders have this number of original members at `place`.

    It is the tail of a binomial distribution with the same mean, an upper bound for the sum of draws without
    replacement (Hoeffding 1956 and 1963).
    """
    from scipy.stats import binom

    right, shown, true_of = 0, Counter[tuple[frozenset[str], str]](), Counter[tuple[frozenset[str], str]]()
    sizes = Counter[frozenset[str]]()
    for _, members, true in brackets:
        if _has(members, place):
            same = frozenset(members)
            right += members[place] in true
            shown[same, members[place]] += 1
            true_of.update((same, member) for member in true)
            sizes[same] += 1
    expected = sum(times * true_of[key] / sizes[key[0]] for key, times in shown.items())
    return float(binom.sf(right - 1, sizes.total(), expected / sizes.total())) if right > expected else 1.0


def _has(members: Members, place: int) -> bool:
    return -len(members) <= place < len(members)


def _places(widest: int) -> list[int]:
    """Return the places that are looked at in brackets of up to `widest` members, from either side."""
    return [place for n in range(min(PLACES, widest)) for place in (n, -1 - n)]


def orders_vary(release: Published) -> bool:
    """Return whether some brackets list the same members in several orders."""
    return len(release.generalised) > len(set(map(frozenset, release.generalised)))


def _test_place(varying: Orders, place: int, test: Callable[[Orders, int], float]) -> MovedMember:
    """Test a place in the brackets that are wide enough."""
    least = place + 1 if place >= 0 else -place
    fitting = {members: counts for members, counts in varying.items() if len(members) >= least}
    return MovedMember(place, sum(counts.total() for counts in fitting.values()), test(fitting, place))


def _p_moved(fitting: Orders, place: int) -> float:
    """Return the probability that random orders leave the other members in one order in so many brackets."""
    logs, kept, brackets = 0.0, 0, 0
    for members, counts in fitting.items():
        rests: Counter[Members] = Counter()
        for order, times in counts.items():
            rests[_drop_place(order, place)] += times
        usual, most = _usual(rests, members), counts.total()
        kept, brackets = kept + usual, brackets + most
        # The order that most pairs have is chosen among all w!; which brackets are in another order among all of these.
        # The bound adds up all orders and may exceed 1, which no probability does.
        logs += min(0.0, log(factorial(len(members))) - usual * log(factorial(len(members) - 1)))
        logs += (most - usual) * log(most + 1)
    return exp(min(0.0, logs)) if brackets and kept >= MOVED_SHARE * brackets else 1.0


def _usual(rests: Counter[Members], members: frozenset[str]) -> int:
    """Return in how many brackets each two of `members` have the order that most of `rests` have, or one of two."""
    # Four bytes: numpy takes five times as long for sums of eight.
    number, times = {member: at for at, member in enumerate(members)}, np.array(list(rests.values()), np.int32)
    place = np.full((len(rests), len(members)), -1, np.int32)
    for row, rest in enumerate(rests):
        place[row, [number[member] for member in rest]] = np.arange(len(rest))
    usual = np.ones(len(rests), np.bool_)
    # Some members with all others at a time: a bracket may have thousands.
    step = max(1, CELLS // place.size)
    for begin in range(0, len(members), step):
        one, other = place[:, begin : begin + step, None], place[:, None, :]
        # 1 where the member comes before the other, -1 where it comes after it, 0 where one of the two is missing.
        order = np.sign(other - one) * ((one >= 0) & (other >= 0))
        lead = np.sign(np.einsum("i,ijk->jk", times, order))
        usual &= (order * lead >= 0).all(axis=(1, 2))
    return int(times[usual].sum())


def _drop_place(order: Members, place: int) -> Members:
    at = place if place >= 0 else len(order) + place
    return order[:at] + order[at + 1 :]


def _p_uneven(fitting: Orders, place: int) -> float:
    """Return the probability that random orders have counts of members at a place that are as uneven."""
    from scipy.stats import chi2

    x, freedom = 0.0, 0
    for members, counts in fitting.items():
        at: Counter[str] = Counter()
        for order, times in counts.items():
            at[order[place]] += times
        expected = counts.total() / len(members)
        if expected >= 1:
            x += sum((at[member] - expected) ** 2 / expected for member in members)
            freedom += len(members) - 1
    return float(chi2.sf(x, freedom)) if freedom else 1.0


def order_notes(release: object) -> Iterator[str]:
    """Yield a warning for each order inside `release` that may reveal which items are original."""
    if isinstance(release, Published):
        yield from _bracket_notes(release)
    elif isinstance(release, Disassociated):
        yield from _chunk_notes(release)


def _bracket_notes(release: Published) -> Iterator[str]:
    if orders_vary(release):
        found = moved_member(element for row in release.transactions for element in row if isinstance(element, tuple))
        if found is not None:
            yield (
                "WARNING: the order of the members of generalised items depends on the record. In "
                f"{found.brackets:,} brackets the member that is written {found.called} may be the original one (in "
                f"random order with a probability of {found.p:.1g}); write the members in the order of their names"
            )
        else:
            yield (
                "WARNING: several orders of the same members occur, and the order may depend on the record. Write the "
                "members in the order of their names"
            )


def _chunk_notes(release: Disassociated) -> Iterator[str]:
    chunks = [chunk for cluster in release.clusters for chunk in cluster.record_chunks]
    chunks += [chunk for joint in release.joints for chunk in joint.shared_chunks]
    unsorted = sum(not all(map(_ascending, chunk.subrecords)) for chunk in chunks)
    terms = sum(not _ascending(cluster.term_chunk) for cluster in release.clusters)
    for count, of, what in (
        (unsorted, len(chunks), "chunks list the items of sub-records"),
        (terms, len(release.clusters), "clusters list their terms"),
    ):
        if count:
            yield (
                f"WARNING: {count:,} of {of:,} {what} in another order than that of their names, which may depend on "
                "the records; write them in the order of their names"
            )


def _ascending(items: Sequence[str]) -> bool:
    return all(one <= other for one, other in pairwise(items))
