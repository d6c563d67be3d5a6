"""Hypothesis strategies for testing an anonymiser or an attack: data, hierarchies and releases of every form.

Example::

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
from decloak.damages import (
    IN_CLUSTERS,
    IN_TABLES,
    Case,
    Damage,
    break_utility,
    disguise_sensitive,
    reveal_sensitive,
    show_member,
    show_suppressed,
)
from decloak.data.forms import FormName, Release
from decloak.data.hierarchy import Hierarchy
from decloak.data.published import Published
from decloak.errors import DecloakError, suggest

try:
    from hypothesis import reject
    from hypothesis import strategies as st
    from hypothesis.stateful import RuleBasedStateMachine, rule
except ModuleNotFoundError:
    message = "decloak.strategies needs the package hypothesis; pip install hypothesis"
    raise ModuleNotFoundError(message, name="hypothesis") from None

__all__ = [
    "Case",
    "IncrementalReleases",
    "Released",
    "cases",
    "faults",
    "hierarchies",
    "items",
    "releases",
    "transactions",
]

Transactions = list[list[str]]
LONGEST = 6
"""Largest number of items in a record."""


class Released(NamedTuple):
    """A case, a release of it, and the method that made the release. A near-valid release has a `fault`."""

    case: Case
    release: Any
    method: str
    fault: str = ""


def items(most: int = 8) -> st.SearchStrategy[list[str]]:
    """Return a strategy for at least two and at most `most` different names of items."""
    return st.integers(2, most).map(lambda count: [f"i{number}" for number in range(count)])


@st.composite
def transactions(
    draw: st.DrawFn, names: Sequence[str], most: int = 12, *, least: int = 0, skew: float = 0, empty: bool = True
) -> Transactions:
    """Return records over `names`, made with `draw`: `least` to `most`, including empty ones if `empty`.

    A draw takes item number r with a weight of r to the power of -`skew`: 0 is uniform, 1 is Zipf's law.
    """
    weights = [(len(names) / rank) ** skew for rank in range(1, len(names) + 1)]
    # Hypothesis draws evenly, so that frequent names are in the urn more often.
    urn = [name for name, weight in zip(names, weights, strict=True) for _ in range(round(weight / weights[-1]))]
    shortest, longest = 0 if empty else 1, min(len(names), LONGEST)
    row = st.lists(st.sampled_from(urn), unique=True, min_size=shortest, max_size=longest)
    return draw(st.lists(row, min_size=least, max_size=most))


@st.composite
def hierarchies(draw: st.DrawFn, names: Collection[str]) -> Hierarchy:
    """Return any hierarchy over `names`, made with `draw`: groups of uneven size and depth, some of a single node."""
    level, parents, number = list(names), dict[str, str](), 0
    while len(level) > 1 or not parents:
        # Groups of one node only at first: a hierarchy of them would never come to an end.
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
    - `sensitive`: the number of sensitive items. Each has a record, and none is in the hierarchy.
    - `least_k`: the least k. Above 1, no record is empty and there are at least k.
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
    """A method as a function of a case, the guarantee of its releases, and ways to damage them."""

    make: Callable[[st.DrawFn, Case], tuple[Case, Release]]
    keeps: Callable[[Case, Any], None] | None = None
    damages: Mapping[str, Damage] = {}
    bounds: Sequence[str] = ("k", "m")
    """The parameters that a near-valid release meets only for one less."""

    @property
    def faults(self) -> list[str]:
        """The kinds of near-valid releases."""
        return [*(f"{bound} - 1" for bound in self.bounds if self.keeps), *self.damages]


def _draw_sets(draw: st.DrawFn, case: Case) -> tuple[Case, Published]:
    """Return records of items and sets that may overlap, each record at least k times, and originals for them."""
    label = st.sets(st.sampled_from(case.items), min_size=1, max_size=3).map(lambda items: tuple(sorted(items)))
    kinds = draw(st.lists(st.sets(label, min_size=1, max_size=3).map(sorted), min_size=1, max_size=3))
    shown = [kind for kind in kinds for _ in range(draw(st.integers(case.k, case.k + 1)))]
    original = [sorted({draw(st.sampled_from(element)) for element in row}) for row in shown]
    rows = tuple(tuple(element[0] if len(element) == 1 else element for element in row) for row in shown)
    parameters = {"k": case.k, "m": case.m}
    ids = tuple(str(number) for number in range(1, len(rows) + 1))
    return case._replace(transactions=original), Published(rows, ids, method="drawn", parameters=parameters)


def _of(make: Callable[[Case], Release]) -> Callable[[st.DrawFn, Case], tuple[Case, Release]]:
    """Return `make` as a function of a case that draws nothing."""
    return lambda _, case: (case, make(case))


def _km(method: str) -> _Maker:
    return _Maker(
        _of(lambda case: anonymise(case.transactions, method, k=case.k, m=case.m, hierarchy=case.hierarchy)),
        lambda case, release: guarantees.keeps_km(release, case.k, case.m, case.transactions),
        {"shown item": show_member},
    )


def _each(names: Iterable[str]) -> list[list[str]]:
    return [[name] for name in names]


_METHODS: dict[str, dict[str, _Maker]] = {
    FormName.GENERALISED: {
        **{name: _km(name) for name in ("cut", "aa", "da", "lra", "vpa")},
        "diversity": _Maker(
            _of(
                lambda case: anonymise(
                    case.transactions, "diversity", l=2, m=case.m, sensitive=case.sensitive, hierarchy=case.hierarchy
                )
            ),
            lambda case, release: guarantees.keeps_l_diversity(
                release, 2, case.m, case.sensitive, case.transactions
            ),
            {"revealed sensitive item": reveal_sensitive, "disguised sensitive item": disguise_sensitive},
            ("m",),
        ),
    },
    FormName.SET_GENERALISED: {
        "coat": _Maker(
            _of(
                lambda case: anonymise(
                    case.transactions, "coat", k=case.k, privacy=_each(case.items), utility=[case.items],
                    order="recorded",
                )
            ),
            lambda case, release: guarantees.keeps_coat(
                release, case.k, _each(case.items), [case.items], case.transactions
            ),
            {"shown item": show_suppressed, "utility": break_utility},
            ("k",),
        ),
        "suppression": _Maker(
            _of(
                lambda case: anonymise(
                    case.transactions, "suppression", k=case.k, m=case.m, suppress="items", order="recorded"
                )
            ),
            lambda case, release: guarantees.keeps_km(release, case.k, case.m),
            {"shown item": show_suppressed},
        ),
        "drawn": _Maker(
            _draw_sets,
            lambda case, release: guarantees.keeps_km(release, case.k, case.m),
            {"shown item": show_suppressed},
            ("k",),
        ),
    },
    FormName.DISASSOCIATED: {
        "disassociation": _Maker(
            _of(lambda case: anonymise(case.transactions, "disassociation", k=case.k, m=case.m)),
            lambda case, release: guarantees.keeps_disassociation(release, case.k, case.m, case.transactions),
            IN_CLUSTERS,
        )
    },
    FormName.ITEMSETS: {
        "itemsets": _Maker(
            _of(lambda case: anonymise(case.transactions, "itemsets", k=case.k, m=case.m)),
            lambda case, release: guarantees.keeps_cells(release, case.k, "refuse", case.transactions),
            IN_TABLES,
            ("k",),
        )
    },
    FormName.SYNTHETIC: {
        "synthetic": _Maker(_of(lambda case: anonymise(case.transactions, "synthetic", parts=2, seed=case.k)))
    },
}  # fmt: skip


def faults(form: str) -> list[str]:
    """Return the kinds of near-valid releases of a published `form`, for `releases(form, fault=KIND)`."""
    return list(dict.fromkeys(fault for maker in _makers(form).values() for fault in maker.faults))


def _makers(form: str) -> Mapping[str, _Maker]:
    if form not in _METHODS:
        hint = suggest(form, _METHODS) or f"forms are {', '.join(_METHODS)}"
        raise DecloakError(f"no releases of the form {form!r}", hint=hint)
    return _METHODS[form]


def releases(
    form: str, *, valid: bool = True, skew: float = 0, fault: str | None = None
) -> st.SearchStrategy[Released]:
    """Return a strategy for releases of a published `form`, with their cases.

    - `form`: generalised, set-generalised, disassociated, itemset-table or synthetic.
    - `valid`: a release that is not valid is near-valid. It violates its guarantee in one way. Synthetic records have
      no guarantee.
    - `skew`: as in `transactions`.
    - `fault`: the kind of near-valid releases, any by default. `faults(form)` lists them. Releases with the fault
      "k - 1" meet their guarantee for k - 1, and state k.
    """
    makers = _makers(form)
    kinds = [(name, kind) for name, maker in makers.items() for kind in maker.faults if fault in (None, kind)]
    if valid and fault is None:
        kinds = [(name, "") for name in makers]
    if not kinds:
        hint = suggest(fault or "", faults(form)) or f"faults are {', '.join(faults(form)) or 'none'}"
        raise DecloakError(f"no near-valid releases of the form {form!r}", hint=hint)
    return _released(makers, kinds, skew)


@st.composite
def _released(draw: st.DrawFn, makers: Mapping[str, _Maker], kinds: Sequence[tuple[str, str]], skew: float) -> Released:
    method, fault = draw(st.sampled_from(kinds))
    maker = makers[method]
    case = draw(cases(skew=skew, least_k=3 if fault == "k - 1" else 2, sensitive=method == "diversity"))
    if fault == "m - 1":
        # From 2, so that m - 1 is a guarantee.
        case = case._replace(m=draw(st.integers(2, 3)))
    bound = fault.removesuffix(" - 1") if fault.endswith(" - 1") else None
    weaker = case if bound is None else case._replace(**{bound: getattr(case, bound) - 1})
    try:
        made, release = maker.make(draw, weaker)
    except DecloakError:  # no release is diverse
        return reject()
    if not release.ids:  # a table without itemsets, which no file can hold
        return reject()
    if not fault:
        return Released(made, release, method)
    damaged = (made._replace(k=case.k, m=case.m), _stating(release, case)) if bound else None
    if fault in maker.damages:
        damaged = maker.damages[fault](lambda options: draw(st.sampled_from(options)), made, release)
    if damaged is None:
        return reject()
    try:
        # Some damaged releases still meet their guarantee: these are no examples.
        if maker.keeps is not None:
            maker.keeps(*damaged)
    except AssertionError:
        return Released(*damaged, method, fault)
    return reject()


def _stating(release: Any, case: Case) -> Any:
    """Return `release` with the k and m of a `case` in place of its own."""
    bounds = {"k": case.k, "m": case.m}
    stated = {name: bound for name, bound in bounds.items() if hasattr(release, name)}
    changed = {name: bound for name, bound in bounds.items() if name in release.parameters}
    return replace(release, parameters={**release.parameters, **changed}, **stated)


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
        # A copy, because the method under test may change its argument.
        later: Any = self.publish([list(row) for row in self.transactions])
        guarantees.keeps_km(later, self.k, self.m)
        if self._earlier is not None:
            guarantees.keeps_km_between(self._earlier, later, self.k, self.m)
        self._earlier = later
