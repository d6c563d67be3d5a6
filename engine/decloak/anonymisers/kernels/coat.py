"""COAT: items are generalised with what utility constraints allow, only as far as privacy constraints ask.

Vocabulary, after Loukides et al. 2011. φ sends an item to its generalised item, the set of items published in its
place, or to none when it is suppressed; the generalised items part the items that are left. A record supports a set of
generalised items when it holds a member of each. The images of a privacy constraint p are the generalised items its
items are sent to. A set of images is rare when 1..k-1 records support it: it violates p.
UL(g) = (2^|g| - 1) / (2^|I| - 1) · sup(g) / |D|, 0 when |g| = 1; the loss of a release is the sum over its g.

While some p is violated, take the one of largest support (0 when an item of it is suppressed; ties: input order).
While p is violated: g = its image in a rare set that has the least support (ties: label). Merge g with the g' of the
same utility constraint for which the fewest sets of images of p stay rare, then UL(g ∪ g') is least, then the label
comes first; suppress g when it has no g'. Without the first of these keys the papers' own examples do not come out.

Items are numbered by name and a generalised item goes by its least member: the order of labels is that of numbers.
A pattern of p is the set of all the images that some record supports; p is satisfied when no pattern is rare.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from heapq import heappop, heappush
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np

from decloak.anonymisers.kernels.coat_partners import Seen, best_partner, seen_of
from decloak.anonymisers.kernels.coat_state import NOWHERE, Merging
from decloak.anonymisers.kernels.constraints import Constraints, item_names, privacy_constraints, utility_constraints
from decloak.anonymisers.kernels.rare_sets import rare_patterns
from decloak.arrays import Ints
from decloak.checks import check_whole
from decloak.data.content import Element
from decloak.data.dataset import Dataset
from decloak.data.formats.lines import FilePath
from decloak.data.forms import FormName
from decloak.data.ordering import Arranged
from decloak.data.published import Published
from decloak.data.share import Share
from decloak.errors import DecloakError, shown

__all__ = ["Coat", "CoatStep", "coat"]


class CoatStep(NamedTuple):
    """What was done for a privacy constraint: `item` was merged with `partner`, or suppressed, which has none."""

    done: Literal["merge", "suppress"]
    constraint: tuple[str, ...]
    item: tuple[str, ...]
    partner: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Coat:
    """What COAT made: φ of every item (None: suppressed), the loss UL, and every step in order."""

    form: ClassVar = FormName.SET_GENERALISED

    published: Published
    phi: Mapping[str, tuple[str, ...] | None]
    ul: Share
    trace: tuple[CoatStep, ...]
    method: str = field(default="coat", compare=False)
    parameters: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @property
    def suppressed(self) -> tuple[str, ...]:
        """The items that are published nowhere, in code point order."""
        return tuple(item for item, generalised in self.phi.items() if generalised is None)

    @property
    def transactions(self) -> Sequence[tuple[Element, ...]]:
        """The published transactions, empty where all items of one were suppressed."""
        return self.published.transactions

    @property
    def ids(self) -> Sequence[str]:
        """What they are called."""
        return self.published.ids

    def arranged(self) -> Arranged[Self]:
        """The same in an order that only what it shows decides, numbered from 1."""
        published, places, alike = self.published.arranged()
        return Arranged(replace(self, published=published), places, alike)

    def renumbered(self) -> Self:
        """The same with its rows numbered from 1."""
        return replace(self, published=self.published.renumbered())

    def write(self, path: FilePath, *, ids: bool = False) -> None:
        """Write what is published; of φ, the loss and the steps nothing."""
        self.published.write(path, ids=ids)


def coat(
    data: Dataset,
    privacy: Iterable[Sequence[str]],
    utility: Iterable[Sequence[str]],
    *,
    k: int,
    suppress: float = 1.0,
    items: Iterable[str] = (),
) -> Coat:
    """Generalise until every combination of items of a privacy constraint has support 0 or at least k.

    Utility constraints must not overlap; an item in none of them stays as it is or is suppressed. At most the share
    `suppress` of the items may be, else DecloakError. `items` names items of the domain that no transaction holds.

    >>> data = Dataset((("a", "d"), ("a", "b", "g"), ("c", "f"), ("e", "h")), ("1", "2", "3", "4"))
    >>> made = coat(data, [["a", "b"], ["e", "f"]], [["b", "d", "g"], ["c", "e", "f"]], k=2)
    >>> made.transactions
    (('a', ('b', 'd')), ('a', ('b', 'd'), 'g'), ('c', ('e', 'f')), (('e', 'f'), 'h'))
    >>> made.ul
    0.011764705882352941
    """
    _check(data, k, suppress)
    domain = sorted({*data.items, *item_names(list(items), "items")})
    protected = privacy_constraints(privacy, domain)
    allowed = utility_constraints(utility, domain)
    state = Merging(data.transactions, domain, allowed)
    trace = tuple(_protect(state, protected, k))
    phi = state.phi()
    release = Coat(_published(data, phi), phi, Share(state.loss()), trace)
    _check_suppressed(release, len(domain), suppress)
    return release


def _check(data: Dataset, k: int, suppress: float) -> None:
    check_whole(1, k=k)
    if isinstance(suppress, bool) or not isinstance(suppress, int | float) or not 0 <= suppress <= 1:
        raise DecloakError(f"suppress is {shown(suppress)}", hint="give a share of the items between 0 and 1")
    size = sum(map(bool, data.transactions))
    if k > size:
        hint = "give more data, or less k"
        raise DecloakError(f"{size} transactions with items cannot hide among k = {k}", hint=hint)


def _check_suppressed(release: Coat, size: int, suppress: float) -> None:
    count = len(release.suppressed)
    if count > Fraction(str(suppress)) * size:  # str, for 0.29 of 100 items are 29
        message = f"{count} of {size} items would have to be suppressed, more than the share {suppress}"
        hint = "allow more, give less k, or let utility constraints hold more of the protected items"
        raise DecloakError(message, hint=hint)


def _published(data: Dataset, phi: Mapping[str, tuple[str, ...] | None]) -> Published:
    elements: dict[str, Element] = {
        item: generalised if len(generalised) > 1 else item for item, generalised in phi.items() if generalised
    }
    rows = (
        tuple(dict.fromkeys(elements[item] for item in transaction if item in elements))
        for transaction in data.transactions
    )
    return Published(tuple(rows), data.labels, f"coat of {data.origin}")


class _Constraint(NamedTuple):
    """A privacy constraint: its items by name and by number."""

    names: tuple[str, ...]
    items: Ints
    place: str


def _protect(state: Merging, privacy: Constraints, k: int) -> Iterator[CoatStep]:
    """Satisfy one constraint after the other; what is done for one can violate another."""
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
    """The support of a violated constraint, None of a satisfied one."""
    seen = seen_of(state, p.items)
    if not len(rare_patterns(seen.patterns, seen.counts, k)):
        return None
    whole = NOWHERE not in state.phi_of[p.items]
    return int(seen.counts[seen.patterns == (1 << len(seen.images)) - 1].sum()) if whole else 0


def _satisfy(state: Merging, p: _Constraint, k: int) -> Iterator[tuple[CoatStep, int]]:
    """Merge and suppress until p is satisfied; each step with the generalised item that came of it, or went."""
    while (least := _weakest(state, seen := seen_of(state, p.items), k)) is not None:
        g = int(seen.images[least])
        name, partner = state.names(g), best_partner(state, seen, least, k, p.place)
        if partner is None:
            state.suppress(g)
            yield CoatStep("suppress", p.names, name), g
        else:
            partner_name = state.names(partner)
            yield CoatStep("merge", p.names, name, partner_name), state.merge(g, partner)


def _weakest(state: Merging, seen: Seen, k: int) -> int | None:
    """The index of the image of least support among those in rare sets, None when there are none."""
    rare = rare_patterns(seen.patterns, seen.counts, k)
    if not len(rare):
        return None
    held = np.bitwise_or.reduce(rare) >> np.arange(len(seen.images)) & 1
    return int(np.where(held, state.support[seen.images], state.size + 1).argmin())
