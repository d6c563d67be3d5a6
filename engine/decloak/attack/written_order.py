"""What the order of members inside brackets, and of items inside chunks, reveals.

A generalised item has the same members wherever it is published. Where brackets list these members in several orders,
an order may depend on the record: whoever writes the original member first has hidden nothing. Two tests look for this.

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
from itertools import combinations, pairwise
from math import exp, factorial, log
from typing import NamedTuple

from decloak.data.disassociated import Chunk, Disassociated
from decloak.data.published import Published

__all__ = ["MovedMember", "moved_member", "order_notes"]

LEVEL = 1e-4
"""The probability of a finding in a release whose brackets are in random order, at most."""
PLACES = 8
"""Places that are tested from either side."""
KEPT = 0.95
"""The share of the brackets whose other members are in the usual order, at least, for one member to be moved."""

Members = tuple[str, ...]
Orders = Mapping[frozenset[str], Counter[Members]]
"""How often the same members are written in each order."""


class MovedMember(NamedTuple):
    """A place in brackets that depends on the record, counted from 0, from the right if below 0; the number of brackets
    that were tested, and the probability of as much in random order.
    """

    place: int
    brackets: int
    p: float

    @property
    def called(self) -> str:
        """The place in words."""
        words = {0: "first", -1: "last"}
        side = "from the left" if self.place >= 0 else "from the right"
        return words.get(self.place, f"at place {self.place + 1 if self.place >= 0 else -self.place} {side}")


def moved_member(brackets: Iterable[Members]) -> MovedMember | None:
    """Return the place of brackets where a member seems to depend on the record, None where no place does."""
    orders: dict[frozenset[str], Counter[Members]] = defaultdict(Counter)
    for members in brackets:
        if len(members) > 1:
            orders[frozenset(members)][members] += 1
    varying = {members: counts for members, counts in orders.items() if len(counts) > 1}
    if not varying:
        return None
    widest = max(map(len, varying))
    places = [place for n in range(min(PLACES, widest)) for place in (n, -1 - n)]
    for test in (_p_moved, _p_uneven):  # one moved member makes other places uneven as well
        # A bracket of two members has the same two places from both sides: the left one is named.
        found = [_tested(varying, place, test) for place in places]
        best = min(found, key=lambda one: (one.p, abs(one.place + 0.5), -one.place))
        p = 2 * len(places) * best.p  # corrected for all places and both tests
        if p <= LEVEL:
            return best._replace(p=p)
    return None


def _tested(varying: Orders, place: int, test: Callable[[Orders, int], float]) -> MovedMember:
    """Test a place in the brackets that have it."""
    least = place + 1 if place >= 0 else -place
    fitting = {members: counts for members, counts in varying.items() if len(members) >= least}
    return MovedMember(place, sum(counts.total() for counts in fitting.values()), test(fitting, place))


def _p_moved(fitting: Orders, place: int) -> float:
    """The probability that random orders leave the others in one order in so many brackets."""
    logs, kept, brackets = 0.0, 0, 0
    for members, counts in fitting.items():
        rests: Counter[Members] = Counter()
        for order, times in counts.items():
            rests[_without(order, place)] += times
        before = Counter[tuple[str, str]]()
        for rest, times in rests.items():
            before.update(dict.fromkeys(combinations(rest, 2), times))
        usual = sum(
            times
            for rest, times in rests.items()
            if all(before[a, b] >= before[b, a] for a, b in combinations(rest, 2))
        )
        most = counts.total()
        kept, brackets = kept + usual, brackets + most
        # The order that most pairs have is chosen among all w!; which brackets are in another order among all of these.
        logs += min(0.0, log(factorial(len(members))) - usual * log(factorial(len(members) - 1)))
        logs += (most - usual) * log(most + 1)
    return exp(min(0.0, logs)) if brackets and kept >= KEPT * brackets else 1.0


def _without(order: Members, place: int) -> Members:
    at = place if place >= 0 else len(order) + place
    return order[:at] + order[at + 1 :]


def _p_uneven(fitting: Orders, place: int) -> float:
    """The probability that random orders have as uneven counts of members at a place."""
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
    """Yield a warning for each order inside a release that may reveal which items are original."""
    if isinstance(release, Published):
        yield from _of_brackets(release)
    elif isinstance(release, Disassociated):
        yield from _of_chunks(release)


def _of_brackets(release: Published) -> Iterator[str]:
    if len(release.generalised) > len(set(map(frozenset, release.generalised))):
        written = (element for row in release.transactions for element in row if isinstance(element, tuple))
        found = moved_member(written)
        if found is not None:
            yield (
                "WARNING: the members of generalised items are in an order that depends on the record: in "
                f"{found.brackets:,} brackets the member that is written {found.called} may be the original one (in "
                f"random order with a probability of {found.p:.1g}); write the members in the order of their names"
            )
        else:
            yield (
                "WARNING: brackets list the same members in several orders, which may depend on the record; write the "
                "members in the order of their names"
            )


def _of_chunks(release: Disassociated) -> Iterator[str]:
    chunks = [chunk for cluster in release.clusters for chunk in cluster.record_chunks]
    chunks += [chunk for joint in release.joints for chunk in joint.shared_chunks]
    unsorted = sum(map(_disordered, chunks))
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


def _disordered(chunk: Chunk) -> bool:
    return not all(map(_ascending, chunk.subrecords))


def _ascending(items: Sequence[str]) -> bool:
    return all(one <= other for one, other in pairwise(items))
