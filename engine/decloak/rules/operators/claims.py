"""The rule form `claims`: claims that hold in every data set with the published supports of an itemset table.

A group of items splits the records into cells: those with some items of the group and without the others. A data set
fits the table if its cells add up to every published support. The least and the largest number of records with a
pattern, over all data sets that fit, are the solutions of integer programs over the cells.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Literal, NamedTuple

import numpy as np
from pydantic import Field

from decloak.arrays import Floats, Ints
from decloak.errors import DecloakError, quote
from decloak.rules.model import RuleModel, Settings, Sql
from decloak.rules.operators.attacker_view import AttackerView
from decloak.rules.operators.operator import DerivedFacts, Operator, RuleOf
from decloak.store.sandbox import Derived, Sandbox

Supports = Mapping[frozenset[str], int]
"""The support of each published itemset; the empty one is in every record."""
CANDIDATES = 100_000
"""Groups that are compared before the groups with the smallest cells are searched."""


class CertainClaim(NamedTuple):
    """A certain claim: `least` to `most` records have all items of `has` and none of `lacks`."""

    has: tuple[str, ...]
    lacks: tuple[str, ...]
    least: int
    most: int


class Searched(NamedTuple):
    """The claims of a search, the number of groups searched, and of groups whose supports contradict each other."""

    claims: list[CertainClaim]
    groups: int
    contradictory: int


def certain_claims(supports: Supports, groups: Sequence[tuple[str, ...]], k: int) -> Searched:
    """Return the claims about 1 to k - 1 records (`k`) that hold in every data set with `supports`, for some `groups`.

    A claim about more items is left out if a claim about some of them holds.

    >>> supports = {frozenset(): 9, frozenset("a"): 6, frozenset("b"): 5, frozenset("ab"): 5}
    >>> certain_claims(supports, [("a", "b")], 3).claims
    [CertainClaim(has=('a',), lacks=('b',), least=1, most=1)]
    """
    found: dict[tuple[tuple[str, ...], tuple[str, ...]], CertainClaim] = {}
    contradictory = 0
    for group in groups:
        claims = _claims_of(supports, group, k)
        contradictory += claims is None
        found.update({(claim.has, claim.lacks): claim for claim in claims or ()})
    minimal = [claim for claim in found.values() if not any(key in found for key in _parts(claim))]
    minimal.sort(key=lambda claim: (len(claim.has) + len(claim.lacks), claim.has, claim.lacks))
    return Searched(minimal, len(groups), contradictory)


def _parts(claim: CertainClaim) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Yield the patterns of some of the items of a claim."""
    signed = [*((item, True) for item in claim.has), *((item, False) for item in claim.lacks)]
    for size in range(1, len(signed)):
        for part in combinations(signed, size):
            yield tuple(item for item, held in part if held), tuple(item for item, held in part if not held)


def _claims_of(supports: Supports, group: tuple[str, ...], k: int) -> list[CertainClaim] | None:
    """Return the claims about one group; None if no data set has its supports."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    size = len(group)
    cells = np.arange(1 << size)
    published = [subset for subset in _subsets(range(size)) if frozenset(group[at] for at in subset) in supports]
    # A cell is a number whose bits are the items that its records have.
    masks = np.array([sum(1 << at for at in subset) for subset in published])
    held = (cells[None, :] & masks[:, None]) == masks[:, None]
    counts = np.array([supports[frozenset(group[at] for at in subset)] for subset in published], float)
    fits = LinearConstraint(held.astype(float), counts, counts)
    patterns = [(has, lacks) for has, lacks in _patterns(size) if has | lacks]
    weights = np.array([((cells & has) == has) & ((cells & lacks) == 0) for has, lacks in patterns], float)
    still = np.ones(len(patterns), np.bool_)

    def solve(objective: Floats) -> Ints | None:
        solved = milp(
            objective, constraints=fits, integrality=np.ones(len(cells), np.int64), bounds=Bounds(0, counts[0])
        )
        # The solver works in floats, and whole numbers come back with rounding errors.
        return None if solved.x is None else np.rint(solved.x).astype(np.int64)

    claims = []
    for number, (has, lacks) in enumerate(patterns):
        if not still[number]:
            continue
        ends = []
        for sign in (1.0, -1.0):
            records = solve(sign * weights[number])
            if records is None:
                return None
            # Every solution is a data set: a pattern of no record or of k in any of them is no claim.
            values = weights @ records
            still &= (values >= 1) & (values < k)
            ends.append(int(values[number]))
            if not still[number]:
                break
        else:
            claims.append(CertainClaim(_named(group, has), _named(group, lacks), ends[0], ends[1]))
    return claims


def _named(group: tuple[str, ...], mask: int) -> tuple[str, ...]:
    return tuple(item for at, item in enumerate(group) if mask >> at & 1)


def _subsets(places: Sequence[int]) -> Iterator[tuple[int, ...]]:
    for size in range(len(places) + 1):
        yield from combinations(places, size)


def _patterns(size: int) -> Iterator[tuple[int, int]]:
    """Yield the patterns of a group as bit masks: present items and absent items, with fewer items first."""
    for places in _subsets(range(size)):
        for present in _subsets(places):
            has = sum(1 << at for at in present)
            yield has, sum(1 << at for at in places) - has


def candidate_groups(supports: Supports, size: int, most: int) -> tuple[list[tuple[str, ...]], int]:
    """Return the `most` groups of `size` items with small cells and published pairs, and how many were compared.

    Groups have fewer items where there are none of this size.

    The cells of a group are bounded by its supports. The group with the smallest bound above 0 comes first, because a
    small cell is what a claim needs.
    """
    pairs = [items for items in supports if len(items) == 2]
    named = {item for pair in pairs for item in pair}
    # An item without a support of its own may be in every record.
    items = sorted(named, key=lambda item: (supports.get(frozenset([item]), supports[frozenset()]), item))
    rank = {item: place for place, item in enumerate(items)}
    later: dict[str, set[str]] = {item: set() for item in items}
    for pair in pairs:
        first, second = sorted(pair, key=rank.__getitem__)
        later[first].add(second)
    groups: list[tuple[str, ...]] = []
    while size and not groups:
        groups = list(islice(_cliques(items, later, rank, size), CANDIDATES))
        size -= 1
    groups.sort(key=lambda group: (_smallest_bound(supports, group), [rank[item] for item in group]))
    return [tuple(sorted(group)) for group in groups[:most]], len(groups)


def _cliques(
    items: Sequence[str], later: Mapping[str, set[str]], rank: Mapping[str, int], size: int
) -> Iterator[tuple[str, ...]]:
    # The last one is taken first. Rare items come first, because only so many groups are compared.
    waiting: list[tuple[tuple[str, ...], set[str]]] = [((item,), later[item]) for item in reversed(items)]
    while waiting:
        group, common = waiting.pop()
        if len(group) == size:
            yield group
            continue
        for item in sorted(common, key=rank.__getitem__, reverse=True):
            waiting += [((*group, item), common & later[item])]


def _smallest_bound(supports: Supports, group: tuple[str, ...]) -> int:
    """Return the smallest upper bound above 0 of a cell of pairs and triples in the group."""
    best = supports[frozenset()]
    for size in (2, 3):
        for part in combinations(group, size):
            whole = supports.get(frozenset(part))
            if whole is None:
                continue
            for left_out in part:
                rest = supports.get(frozenset(part) - {left_out})
                if rest is not None and rest > whole:
                    best = min(best, rest - whole)
            best = min(best, whole)
    return best


SEARCHED = "{} of {:,} groups of {} items were searched for certain claims: those with the smallest cells"
CONTRADICTORY = "the supports of {} groups contradict each other, as rounded supports do, so nothing is certain of them"


class ClaimsRule(RuleModel):
    """Content of a claims rule file."""

    form: Literal["claims"]
    of: Sql = Field(description="SELECT giving the supports: set, support and item, whose item is null without items")
    least: Sql = Field(description="SELECT giving k: claims are about 1 to k - 1 records")
    size: int = Field(4, ge=1, le=5, description="how many items a group has")
    groups: int = Field(200, ge=1, le=10_000, description="how many groups are searched")


@dataclass(frozen=True)
class CertainClaims(DerivedFacts):
    """Certain claims, with notes on the extent of the search."""

    notes: tuple[str, ...] = ()
    idle: str | None = None

    @property
    def idle_reason(self) -> str | None:
        return self.idle


_Rule = RuleOf[ClaimsRule, None, CertainClaims]


class ClaimsOperator(Operator[ClaimsRule, None, CertainClaims]):
    """The form of rules that solve integer programs over the cells of itemsets."""

    model = ClaimsRule
    columns = ("has", "lacks", "least", "most")

    def compile(self, rule: _Rule, sandbox: Sandbox) -> None:
        rule.require("of", sandbox.columns(rule.model.of, rule.place("of")), ("set_number", "support", "item"))
        rule.require("least", sandbox.columns(rule.model.least, rule.place("least")), ("k",))

    def run(self, rule: _Rule, view: AttackerView, settings: Settings) -> CertainClaims:
        supports = _supports(rule, view.sandbox)
        if not any(supports):
            return CertainClaims(rule.derives, (), idle="this release has no itemset table")
        columns, rows = view.sandbox.select(rule.model.least, rule.place("least"))
        k = _whole(rows[0][columns.index("k")] if rows else None, "k", rule.place("least"))
        if frozenset() not in supports:
            raise DecloakError("the claims get no number of records", rule.place("of"), "give a set whose item is null")
        groups, compared = candidate_groups(supports, rule.model.size, rule.model.groups)
        searched = certain_claims(supports, groups, k)
        notes = [] if len(groups) == compared else [SEARCHED.format(len(groups), compared, rule.model.size)]
        if searched.contradictory:
            notes.append(CONTRADICTORY.format(searched.contradictory))
        facts = [
            Derived(1, (", ".join(claim.has), ", ".join(claim.lacks), claim.least, claim.most))
            for claim in searched.claims
        ]
        return CertainClaims(rule.derives, facts, tuple(notes))


def _supports(rule: _Rule, sandbox: Sandbox) -> dict[frozenset[str], int]:
    """Return the support of each published itemset."""
    columns, rows = sandbox.select(rule.model.of, rule.place("of"))
    number, support, item = (columns.index(name) for name in ("set_number", "support", "item"))
    items: dict[object, set[str]] = {}
    counts: dict[object, int] = {}
    for row in rows:
        held = items.setdefault(row[number], set())
        if row[item] is not None:
            held.add(str(row[item]))
        counts[row[number]] = _whole(row[support], "support", rule.place("of"))
    return {frozenset(items[one]): counts[one] for one in items}


def _whole(value: object, name: str, place: str) -> int:
    """Return `value`, which the SELECT at `place` gives as `name`; raise an error unless it is a whole number."""
    if not isinstance(value, int):
        raise DecloakError(f"the claims get {quote(value)} as {name}", place, "give a whole number")
    return value


CLAIMS = ClaimsOperator()
