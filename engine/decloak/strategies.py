"""Hypothesis strategies for testing an anonymiser or an attack: data, hierarchies and releases of every form::

    from hypothesis import given
    from decloak.guarantees import keeps_km
    from decloak.strategies import cases

    @given(cases())
    def test_my_anonymiser(case):
        release = mine(case.transactions, case.hierarchy, case.k, case.m)
        keeps_km(release, case.k, case.m, case.transactions)

Needs the package hypothesis, which decloak itself does not.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

from decloak import guarantees
from decloak.anonymisers.registry import anonymise
from decloak.data.forms import FormName, Release
from decloak.data.hierarchy import Hierarchy
from decloak.errors import DecloakError, suggest

try:
    from hypothesis import reject
    from hypothesis import strategies as st
    from hypothesis.stateful import RuleBasedStateMachine, rule
except ModuleNotFoundError:
    message = "decloak.strategies needs the package hypothesis; pip install hypothesis"
    raise ModuleNotFoundError(message, name="hypothesis") from None

__all__ = ["Case", "IncrementalReleases", "Released", "cases", "hierarchies", "items", "releases", "transactions"]

Transactions = list[list[str]]
LONGEST = 6
"""Largest number of items in a transaction."""


class Case(NamedTuple):
    """Transactions with parameters. At least k transactions are not empty, or none.

    The hierarchy is over all items that are not sensitive.
    """

    transactions: Transactions
    hierarchy: Hierarchy
    k: int
    m: int
    sensitive: tuple[str, ...] = ()

    @property
    def items(self) -> list[str]:
        """The items of the transactions, sorted."""
        return sorted({item for row in self.transactions for item in row})


class Released(NamedTuple):
    """A case, a release of it, and the method that made the release."""

    case: Case
    release: Any
    method: str


def items(most: int = 8) -> st.SearchStrategy[list[str]]:
    """Return a strategy for at least two and at most `most` different names of items."""
    return st.integers(2, most).map(lambda count: [f"i{number}" for number in range(count)])


@st.composite
def transactions(
    draw: st.DrawFn, names: Sequence[str], most: int = 12, *, least: int = 0, skew: float = 0, empty: bool = True
) -> Transactions:
    """Return transactions over `names`, made with `draw`: `least` to `most`, including empty ones if `empty`.

    A draw takes item number r with a weight of r to the power of -`skew`: 0 is uniform, 1 is Zipf's law.
    """
    weights = [(len(names) / rank) ** skew for rank in range(1, len(names) + 1)]
    urn = [name for name, weight in zip(names, weights, strict=True) for _ in range(round(weight / weights[-1]))]
    shortest, longest = 0 if empty else 1, min(len(names), LONGEST)
    row = st.lists(st.sampled_from(urn), unique=True, min_size=shortest, max_size=longest)
    return draw(st.lists(row, min_size=least, max_size=most))


@st.composite
def hierarchies(draw: st.DrawFn, names: Collection[str]) -> Hierarchy:
    """Return any hierarchy over `names`, made with `draw`: groups of uneven size and depth, some of a single node."""
    level, parents, number = list(names), dict[str, str](), 0
    while len(level) > 1 or not parents:
        size = draw(st.integers(1 if number < 3 else 2, max(2, len(level))))
        group, level = level[:size], level[size:]
        number += 1
        parents |= dict.fromkeys(group, f"n{number}")
        level.append(f"n{number}")
    order = {name: position for position, name in enumerate(names)}
    return Hierarchy.from_parents(dict(sorted(parents.items(), key=lambda edge: order.get(edge[0], len(order)))))


@st.composite
def cases(
    draw: st.DrawFn, most_items: int = 8, most: int = 12, *, skew: float = 0, sensitive: int = 0, least_k: int = 1
) -> Case:
    """Return data, a hierarchy, k and m that some release can meet, made with `draw`.

    - `most_items`, `most`: the largest numbers of items and transactions.
    - `skew`: as in `transactions`.
    - `sensitive`: the number of sensitive items. Each has a transaction, and none is in the hierarchy.
    - `least_k`: the least k. Above 1, no transaction is empty and there are at least k.
    """
    names, hidden = draw(items(most_items)), tuple(f"s{number}" for number in range(sensitive))
    rows = draw(
        transactions([*names, *hidden], most, least=least_k if least_k > 1 else 0, skew=skew, empty=least_k < 2)
    )
    rows += [[name] for name in hidden if not any(name in row for row in rows)]
    filled = sum(map(bool, rows))
    k, m = draw(st.integers(least_k, max(least_k, filled))), draw(st.integers(1, 3))
    return Case(rows, draw(hierarchies(names)), k, m, hidden)


class _Maker(NamedTuple):
    """A method as a function of a case and k, and the guarantee of its releases; None if it has none."""

    make: Callable[[Case, int], Release]
    keeps: Callable[[Case, Any], None] | None


def _km(method: str) -> _Maker:
    return _Maker(
        lambda case, k: anonymise(case.transactions, method, k=k, m=case.m, hierarchy=case.hierarchy),
        lambda case, release: guarantees.keeps_km(release, case.k, case.m, case.transactions),
    )


def _each(names: Iterable[str]) -> list[list[str]]:
    return [[name] for name in names]


_METHODS: dict[str, dict[str, _Maker]] = {
    FormName.GENERALISED: {name: _km(name) for name in ("cut", "aa", "da", "lra", "vpa")},
    FormName.SET_GENERALISED: {
        "coat": _Maker(
            lambda case, k: anonymise(
                case.transactions, "coat", k=k, privacy=_each(case.items), utility=[case.items]
            ),
            lambda case, release: guarantees.keeps_coat(
                release, case.k, _each(case.items), [case.items], case.transactions
            ),
        ),
        "suppression": _Maker(
            lambda case, k: anonymise(case.transactions, "suppression", k=k, m=case.m, suppress="items"),
            lambda case, release: guarantees.keeps_km(release, case.k, case.m),
        ),
    },
    FormName.DISASSOCIATED: {
        "disassociation": _Maker(
            lambda case, k: anonymise(case.transactions, "disassociation", k=k, m=case.m),
            lambda case, release: guarantees.keeps_disassociation(release, case.k, case.m, case.transactions),
        )
    },
    FormName.ITEMSETS: {
        "itemsets": _Maker(
            lambda case, k: anonymise(case.transactions, "itemsets", k=k, m=case.m),
            lambda case, release: guarantees.keeps_cells(release, case.k, "refuse", case.transactions),
        )
    },
    FormName.SYNTHETIC: {
        "synthetic": _Maker(lambda case, k: anonymise(case.transactions, "synthetic", parts=2, seed=k), None)
    },
}  # fmt: skip


def releases(form: str, *, valid: bool = True, skew: float = 0) -> st.SearchStrategy[Released]:
    """Return a strategy for releases of a published `form`, with their cases.

    `form` is generalised, set-generalised, disassociated, itemset-table or synthetic. A release that is not `valid` is
    near-valid: it meets its guarantee for k - 1, states k, and violates it. Synthetic records have no guarantee.
    `skew` is as in `transactions`.
    """
    makers = _METHODS.get(form, {})
    if not makers or not (valid or all(maker.keeps for maker in makers.values())):
        hint = suggest(form, _METHODS) or f"forms are {', '.join(_METHODS)}"
        raise DecloakError(f"no {'valid' if valid else 'near-valid'} releases of the form {form!r}", hint=hint)
    return _released(makers, valid, skew)


@st.composite
def _released(draw: st.DrawFn, makers: Mapping[str, _Maker], valid: bool, skew: float) -> Released:
    case = draw(cases(skew=skew, least_k=2 if valid else 3))
    method = draw(st.sampled_from(sorted(makers)))
    make, keeps = makers[method]
    release: Any = make(case, case.k if valid else case.k - 1)
    if not release.ids:  # a table without itemsets, which no file can hold
        return reject()
    if valid:
        return Released(case, release, method)
    stated = {"k": case.k} if hasattr(release, "k") else {}
    release = replace(release, parameters={**release.parameters, "k": case.k}, **stated)
    try:
        if keeps is not None:
            keeps(case, release)
    except AssertionError:
        return Released(case, release, method)
    return reject()


class IncrementalReleases(RuleBasedStateMachine):
    """A stateful test of releases of growing data. Derive a class with `publish`, and run its `TestCase`.

    Each release must keep k^m-anonymity. So must the records that came since the release before, for an attacker who
    has both.
    """

    k: ClassVar[int] = 2
    m: ClassVar[int] = 2
    most_items: ClassVar[int] = 3

    def __init__(self) -> None:
        super().__init__()
        self.transactions: Transactions = []
        self._earlier: Any = None

    def publish(self, transactions: Transactions) -> object:
        """Return a release of all `transactions` so far: a release, or rows of labels."""
        raise NotImplementedError

    @rule(data=st.data())
    def grow(self, data: st.DataObject) -> None:
        """Add records and publish, once there are k. Check the release, and its difference from the one before."""
        names = [f"i{number}" for number in range(self.most_items)]
        self.transactions += data.draw(transactions(names, 3, least=1, empty=False), "new records")
        if len(self.transactions) < self.k:
            return
        later: Any = self.publish([list(row) for row in self.transactions])
        guarantees.keeps_km(later, self.k, self.m)
        if self._earlier is not None:
            guarantees.keeps_km_between(self._earlier, later, self.k, self.m)
        self._earlier = later
