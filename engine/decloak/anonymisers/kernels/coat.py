"""COAT: items are generalised as utility constraints allow, and only as far as privacy constraints require.

Vocabulary, after Loukides et al. 2011. φ sends an item to its generalised item, the set of items published in its
place, or to none when it is suppressed. The generalised items are a partition of the remaining items. A record supports
a set of generalised items when it holds a member of each. The images of a privacy constraint p are the generalised
items its items are sent to. A set of images is rare when 1..k-1 records support it: it violates p. UL(g) = (2^|g| - 1)
/ (2^|I| - 1) · sup(g) / |D|, 0 when |g| = 1; the loss of a release is the sum over its g.

While some p is violated, take the one of largest support (0 when an item of it is suppressed; ties: input order). While
p is violated: g = its image in a rare set that has the least support (ties: label). Merge g with a g' of the same
utility constraint: the one with the fewest rare sets of images of p, then the least UL(g ∪ g'), then the first label or
the choice of `coat_partner`. Suppress g when it has no g'. Without the first of these keys the papers' own examples do
not come out.

Items are numbered by name. A generalised item has the number of its least member, so labels are in order of numbers. A
pattern of p is the set of all the images that some record supports; p is satisfied when no pattern is rare.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from heapq import heappop, heappush
from typing import Literal, NamedTuple

import numpy as np

from decloak.anonymisers.kernels.coat_partner import (
    NOWHERE,
    Closeness,
    Merging,
    MergingApart,
    PartnerChoice,
    check_partner,
    compute_fits,
)
from decloak.anonymisers.kernels.constraints import (
    PIECE,
    Constraints,
    item_names,
    privacy_constraints,
    rare_patterns,
    rare_sets,
    too_many,
    utility_constraints,
)
from decloak.arrays import Ints
from decloak.checks import check_whole
from decloak.data.content import Element
from decloak.data.dataset import Dataset
from decloak.data.exact_ratio import ExactRatio
from decloak.data.published import Published
from decloak.errors import DecloakError, quote

MOST_WORK = 1 << 37
"""Largest number of products in one step before a constraint is refused: some ten seconds."""


class ConstraintSupport(NamedTuple):
    """The support of a constraint in the records: its images, the records that support any, and the set that each
    supports.

    Then the patterns, which are the distinct sets, and the number of records of each.
    """

    images: Ints
    records: Ints
    sets: Ints
    patterns: Ints
    counts: Ints


def constraint_support(state: Merging, items: Ints) -> ConstraintSupport:
    """Return the support of a constraint over `items` in the current `state`."""
    images = np.unique(state.phi_of[items])
    images = images[images != NOWHERE]
    records, sets = state.supporting_records(images)
    return ConstraintSupport(images, records, sets, *np.unique(sets, return_counts=True))


def best_partner(state: Merging, seen: ConstraintSupport, least: int, k: int, place: str) -> int | None:
    """Return the best partner of g, the image at index `least` of `seen`, in `state` for `k`; None if no utility
    constraint allows any. `place` is for errors.
    """
    g = int(seen.images[least])
    partners = state.partners(g)
    if not len(partners):
        return None
    items, _ = state.items_of_records(state.record[state.places[g]])
    together = np.bincount(items, minlength=len(state.domain))[partners]
    support = state.support[g] + state.support[partners] - together
    # The union alone is a set too, which `_still_rare` leaves out.
    still_rare = _still_rare(state, seen, least, partners, k, place) + (support < k)
    # The first key alone leaves ties: these go by the loss, then by the label or by the choice of the state.
    best = still_rare == still_rare.min()
    return state.choose(g, partners[best], support[best], together[best])


def _still_rare(state: Merging, seen: ConstraintSupport, least: int, partners: Ints, k: int, place: str) -> Ints:
    """Return for each partner g' the number of sets of images, without {g ∪ g'}, that are rare after merging.

    Sets R without g and g' stay the same, and the records that support R and g or g' support R ∪ {g ∪ g'}. Far partners
    have equal counts, in the last column.
    """
    beside = _other_images(state, seen, least, partners)
    bit_of = {int(image): 1 << bit for bit, image in enumerate(seen.images)}
    # A partner that is no image of the constraint is in none of the sets.
    bits = np.array([*(bit_of.get(g, 0) for g in partners[beside.near].tolist()), 0])
    total = np.zeros(len(bits), np.int64)
    work = 0
    for columns, counts in beside.blocks():
        for sets, rare in rare_sets(beside.patterns, counts, k, place):
            without = sets[:, None] & bits[columns] == 0
            # A set is rare with g ∪ g' by the records of either, and without it by all records.
            total[columns] += (rare[:, :-1] & without).sum(axis=0) + (rare[:, -1:] & without).sum(axis=0)
            work += len(sets) * counts.size
            if work > MOST_WORK:
                raise too_many(place)
    still_rare = np.full(len(partners), total[-1])
    still_rare[beside.near] = total[:-1]
    return still_rare


class _OtherImages(NamedTuple):
    """The patterns of the images other than g, and the number of records of each: with g, in all, and with a partner of
    g.

    `near` are the partners in a record of some pattern, and the images, by their index. For each there is a cell, the
    pattern and the index among the near, for each record that has it without g.
    """

    patterns: Ints
    with_g: Ints
    in_all: Ints
    near: Ints
    cells: tuple[Ints, Ints]

    def blocks(self) -> Iterator[tuple[slice, Ints]]:
        """Yield columns of counts in the support of g or g', in blocks: the near ones, then all others.

        The column of all records is appended to every block.
        """
        height, width = len(self.patterns), len(self.near) + 1
        step = max(1, PIECE // max(1, height))
        row, column = self.cells
        for begin in range(0, width, step):
            end = min(begin + step, width)
            here = (column >= begin) & (column < end)
            cell = row[here] * (end - begin) + column[here] - begin
            counts = np.bincount(cell, minlength=height * (end - begin)).reshape(height, end - begin)
            yield slice(begin, end), np.column_stack((counts + self.with_g[:, None], self.in_all))


def _other_images(state: Merging, seen: ConstraintSupport, least: int, partners: Ints) -> _OtherImages:
    remaining = seen.sets & ~(1 << least)
    nonempty = remaining != 0
    patterns, pattern = np.unique(remaining[nonempty], return_inverse=True)
    has_g = remaining[nonempty] != seen.sets[nonempty]
    index = np.full(len(state.domain), NOWHERE)
    index[partners] = np.arange(len(partners))
    items, record = state.items_of_records(seen.records[nonempty][~has_g])
    partner = index[items]
    near = np.setdiff1d(np.concatenate((partner, index[seen.images])), NOWHERE)
    is_partner = partner != NOWHERE
    cells = pattern[~has_g][record[is_partner]], np.searchsorted(near, partner[is_partner])
    size = len(patterns)
    return _OtherImages(
        patterns, np.bincount(pattern[has_g], minlength=size), np.bincount(pattern, minlength=size), near, cells
    )


class CoatStep(NamedTuple):
    """A step for a privacy constraint: `item` was merged with `partner`, or suppressed if there is none."""

    done: Literal["merge", "suppress"]
    constraint: tuple[str, ...]
    item: tuple[str, ...]
    partner: tuple[str, ...] | None = None


@dataclass(frozen=True, repr=False)
class Coat(Published):
    """The result of COAT: the release, φ of every item (None: suppressed), the loss UL, and every step in order."""

    phi: Mapping[str, tuple[str, ...] | None] = field(default_factory=dict)
    ul: ExactRatio = field(default=ExactRatio(0))
    trace: tuple[CoatStep, ...] = ()

    @property
    def published(self) -> Published:
        """The release alone."""
        return Published(self.transactions, self.labels, self.origin)

    @property
    def suppressed(self) -> tuple[str, ...]:
        """The suppressed items, in code point order."""
        return tuple(item for item, generalised in self.phi.items() if generalised is None)


def coat(
    data: Dataset,
    privacy: Iterable[Sequence[str]],
    utility: Iterable[Sequence[str]],
    *,
    k: int,
    suppress: float = 1.0,
    items: Iterable[str] = (),
    partner: PartnerChoice | None = None,
    near: Closeness | Sequence[Closeness] = (),
    population: Dataset | Iterable[Iterable[str]] | None = None,
    slack: float = 1.0,
) -> Coat:
    """Return `data` generalised until every combination of items of a constraint of `privacy` has support 0 or at least
    `k`.

    Constraints of `utility` must be disjoint; an item in none of them is kept or suppressed. At most the share
    `suppress` of the items may be suppressed, else DecloakError. `items` names items of the domain that no record
    has.

    With `partner`, an item is generalised with the partner that an attacker can distinguish least: `hard` is the one
    whose items fit the records best, `even` the one whose items fit as well as the original ones. The fit is the
    closeness to other items by `near`, one or more mappings from pairs of items to numbers, and by the lift in
    `population`. Without both, it is the lift in `data`. `slack` is the largest loss of a partner, as a
    multiple of the least.

    >>> data = Dataset((("a", "d"), ("a", "b", "g"), ("c", "f"), ("e", "h")), ("1", "2", "3", "4"))
    >>> made = coat(data, [["a", "b"], ["e", "f"]], [["b", "d", "g"], ["c", "e", "f"]], k=2)
    >>> made.transactions
    (('a', ('b', 'd')), ('a', ('b', 'd'), 'g'), ('c', ('e', 'f')), (('e', 'f'), 'h'))
    >>> made.ul
    0.011764705882352941
    """
    _check(data, k, suppress)
    check_partner(partner, slack, unused=bool(near) or population is not None)
    domain = sorted({*data.items, *item_names(list(items), "items")})
    protected = privacy_constraints(privacy, domain)
    allowed = utility_constraints(utility, domain)
    if partner is None:
        state = Merging(data.transactions, domain, allowed)
    else:
        measures = [near] if isinstance(near, Mapping) else list(near)
        others = Dataset.of(population) if population is not None else None if measures else data
        fits = compute_fits(data, domain, measures, others)
        state = MergingApart(data.transactions, domain, allowed, fits=fits, partner=partner, slack=slack)
    trace = tuple(_protect(state, protected, k))
    phi = state.phi()
    origin, loss = f"coat of {data.origin}", ExactRatio(state.loss())
    release = Coat(_rows(data, phi), data.labels, origin, method="coat", phi=phi, ul=loss, trace=trace)
    _check_suppressed(release, len(domain), suppress)
    return release


def _check(data: Dataset, k: int, suppress: float) -> None:
    check_whole(1, k=k)
    if isinstance(suppress, bool) or not isinstance(suppress, int | float) or not 0 <= suppress <= 1:
        raise DecloakError(f"suppress is {quote(suppress)}", hint="give a share of the items between 0 and 1")
    size = sum(map(bool, data.transactions))
    if k > size:
        hint = "give more data, or less k"
        raise DecloakError(f"{size} records with items cannot hide among k = {k}", hint=hint)


def _check_suppressed(release: Coat, size: int, suppress: float) -> None:
    count = len(release.suppressed)
    if count > Fraction(str(suppress)) * size:  # str, for 0.29 of 100 items are 29
        message = f"{count} of {size} items would have to be suppressed, more than the share {suppress}"
        hint = "allow more, give less k, or let utility constraints hold more of the protected items"
        raise DecloakError(message, hint=hint)


def _rows(data: Dataset, phi: Mapping[str, tuple[str, ...] | None]) -> tuple[tuple[Element, ...], ...]:
    elements: dict[str, Element] = {
        item: generalised if len(generalised) > 1 else item for item, generalised in phi.items() if generalised
    }
    return tuple(
        tuple(dict.fromkeys(elements[item] for item in transaction if item in elements))
        for transaction in data.transactions
    )


class _Constraint(NamedTuple):
    """A privacy constraint: its items by name and by number."""

    names: tuple[str, ...]
    items: Ints
    place: str


def _protect(state: Merging, privacy: Constraints, k: int) -> Iterator[CoatStep]:
    """Yield the steps that satisfy one constraint after the other; a step for one can violate another."""
    constraints = [
        _Constraint(names, np.array([state.number[item] for item in names]), f"privacy constraint {number}")
        for number, names in enumerate(privacy, 1)
    ]
    users: dict[int, list[int]] = {}
    for number, p in enumerate(constraints):
        for item in p.items.tolist():
            users.setdefault(item, []).append(number)
    support: dict[int, int | None] = {}
    queue: list[tuple[int, int]] = []  # an entry is old unless `support` says the same
    doubtful: Iterable[int] = range(len(privacy))
    while True:
        for number in doubtful:
            support[number] = count = _violated(state, constraints[number], k)
            if count is not None:
                heappush(queue, (-count, number))
        while queue and support[queue[0][1]] != -queue[0][0]:
            heappop(queue)
        if not queue:
            return
        changed = set()
        for step, g in _satisfy(state, constraints[queue[0][1]], k):
            yield step
            changed.add(g)
        # Only a constraint with an item that is published otherwise now can have come to be violated, or satisfied.
        doubtful = {user for g in changed for item in state.members[g] for user in users.get(item, ())}


def _violated(state: Merging, p: _Constraint, k: int) -> int | None:
    """Return the support of a violated constraint, None of a satisfied one."""
    seen = constraint_support(state, p.items)
    if not len(rare_patterns(seen.patterns, seen.counts, k)):
        return None
    whole = NOWHERE not in state.phi_of[p.items]
    return int(seen.counts[seen.patterns == (1 << len(seen.images)) - 1].sum()) if whole else 0


def _satisfy(state: Merging, p: _Constraint, k: int) -> Iterator[tuple[CoatStep, int]]:
    """Yield merges and suppressions until p is satisfied, each with the resulting or suppressed generalised item."""
    while (least := _weakest(state, seen := constraint_support(state, p.items), k)) is not None:
        g = int(seen.images[least])
        name, partner = state.names(g), best_partner(state, seen, least, k, p.place)
        if partner is None:
            state.suppress(g)
            yield CoatStep("suppress", p.names, name), g
        else:
            partner_name = state.names(partner)
            yield CoatStep("merge", p.names, name, partner_name), state.merge(g, partner)


def _weakest(state: Merging, seen: ConstraintSupport, k: int) -> int | None:
    """Return the index of the image of least support among those in rare sets, None if there are none."""
    rare = rare_patterns(seen.patterns, seen.counts, k)
    if not len(rare):
        return None
    held = np.bitwise_or.reduce(rare) >> np.arange(len(seen.images)) & 1
    # More than any support, so that no image outside the rare sets is taken.
    return int(np.where(held, state.support[seen.images], state.size + 1).argmin())
