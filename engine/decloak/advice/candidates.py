"""Candidates: ways to publish that are tried, in the order of trying, and the decision between them.

The candidate with the lowest error of those that meet all criteria leads, or else the nearest one.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, product, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from decloak.digest import Config

if TYPE_CHECKING:  # the command line reads READERS alone
    from decloak.scenario.criteria import Criterion, Figures, Ranged, State

KS, SIZES = (11, 5, 3), (1_000, 200, 50, 5_000)
BOUNDS = ((5, 3), (11, 3), (5, 2), (11, 2))
"""k and m of generalisation."""
HIERARCHIES = ("popularity", "cooccurrence")
PARTS = 10
READERS = ("any", "records", "counts")
"""Readers need records, or only count; the first is the default."""
COUNTS = ("itemsets", "synthetic")
"""The kinds of methods for readers who only count: they publish no record of a person."""
FEW_RECORDS: Config = {"rule": "km_violation", "k": 5, "m": 2}
"""The attack of least cost on generalised records. Methods without a k or an m of their own need it with both."""
OF_ATTACKS = ("certain_links",)
"""Figures that only attacks have."""
PLAIN = ("suppression", "generalisation", "disassociation", "coat", *COUNTS)
"""The kinds of methods, the plainest first: it wins where nothing else differs."""


@dataclass(frozen=True)
class Candidate:
    """A way to publish: what a scenario says under `anonymise`, and a rule that is attacked with at the least cost."""

    kind: str
    name: str
    anonymise: Config
    attack: str | Config

    @property
    def of_counts(self) -> bool:
        """True if readers can count with the release, and get no record of a person."""
        return self.kind in COUNTS


class Untried(NamedTuple):
    """A way that was not tried, and the reason."""

    name: str
    reason: str


class OwnerInputs(NamedTuple):
    """The owner's inputs in addition to the data: hierarchies, and constraints of COAT, as paths.

    `sensitive` lists sensitive items. `relate` is the measure of relatedness in the scenario. `columns` are the columns
    of the data whose values are items. `readers` need records, counts, or any of the two.
    """

    hierarchies: Sequence[str] = ()
    constraints: str | None = None
    sensitive: Sequence[str] = ()
    relate: Any = None
    columns: Sequence[str] = ()
    readers: str = "any"


def candidates_for(records: int, inputs: OwnerInputs) -> list[Candidate]:
    """List the candidates for so many records: one of every method comes before the second of any."""
    of_records = (
        _disassociated(records), _cut(inputs), _in_parts(), _coat(inputs), _suppressed(), _diverse(inputs),
    )  # fmt: skip
    # A search that the budget ends has then seen every method once.
    lanes = [*(of_records if inputs.readers != "counts" else ()), *([_counts()] if inputs.readers != "records" else [])]
    return [candidate for candidate in chain.from_iterable(zip_longest(*lanes)) if candidate is not None]


def _disassociated(records: int) -> Iterator[Candidate]:
    for size in SIZES:
        for k in KS:
            # A quarter of the records leaves several clusters.
            if k <= size <= records // 4:
                settings = {
                    "method": "disassociation", "k": k, "m": 2, "max_cluster": size, "cover": "cure", "totals": True,
                }  # fmt: skip
                yield Candidate("disassociation", f"disassociation k = {k}, clusters of {size:,}", settings, "cover")


def _trees(inputs: OwnerInputs) -> list[tuple[str, Config]]:
    """Return the hierarchies to generalise in, by their names."""
    given = [(Path(name).name, {"file": name, "format": "paths"}) for name in inputs.hierarchies]
    # Hierarchies of the owner come first, because they say most of the data.
    related = [] if inputs.relate is None else [("relatedness", {"by": "relatedness", "relate": inputs.relate})]
    return [*given, *related, *((by, {"by": by}) for by in HIERARCHIES)]


def _cut(inputs: OwnerInputs) -> Iterator[Candidate]:
    for k, m in BOUNDS:
        for name, tree in _trees(inputs):
            settings = {"method": "cut", "k": k, "m": m, "hierarchy": tree}
            yield Candidate("generalisation", f"cut k = {k}, m = {m}, by {name}", settings, FEW_RECORDS)


def _in_parts() -> Iterator[Candidate]:
    settings = {"method": "lra", "k": 5, "m": 2, "parts": PARTS, "hierarchy": {"by": "popularity"}}
    yield Candidate("generalisation", f"lra k = 5, m = 2, {PARTS} parts", settings, FEW_RECORDS)
    settings = {"method": "partition", "k": 5, "hierarchy": {"by": "popularity"}}
    yield Candidate("generalisation", "partition k = 5", settings, FEW_RECORDS)


def _diverse(inputs: OwnerInputs) -> Iterator[Candidate]:
    for name, tree in _trees(inputs) if inputs.sensitive else ():
        settings = {"method": "diversity", "l": 3, "m": 2, "sensitive": list(inputs.sensitive), "hierarchy": tree}
        yield Candidate("generalisation", f"diversity l = 3, m = 2, by {name}", settings, FEW_RECORDS)


def _coat(inputs: OwnerInputs) -> Iterator[Candidate]:
    utility = {"columns": list(inputs.columns)} if inputs.columns else "all"
    for partner, k in product((None, "hard"), (5, 11) if inputs.constraints else ()):
        settings = {"method": "coat", "k": k, "privacy": {"file": inputs.constraints}, "utility": utility}
        chosen = {} if partner is None else {"partner": partner}
        name = f"coat k = {k}" + ("" if partner is None else f", {partner} partners")
        yield Candidate("coat", name, settings | chosen, FEW_RECORDS)


def _suppressed() -> Iterator[Candidate]:
    settings = {"method": "suppression", "suppress": "items", "k": 5, "m": 2}
    yield Candidate("suppression", "suppression of items k = 5, m = 2", settings, FEW_RECORDS)


def _counts() -> Iterator[Candidate]:
    for k in (11, 5):
        settings = {"method": "itemsets", "k": k, "m": 3}
        yield Candidate("itemsets", f"table of itemsets, supports >= {k}", settings, "differenced")
    yield Candidate("synthetic", "synthetic records", {"method": "synthetic"}, "copies")


def not_applicable(records: int, inputs: OwnerInputs) -> list[Untried]:
    """List the ways that do not apply, with the reason."""
    untried = []
    if inputs.readers == "records":
        untried.append(Untried("tables of itemsets, synthetic records", "readers need records"))
    if inputs.readers == "counts":
        return [Untried("methods that publish records", "readers only count")]
    large = [size for size in SIZES if size > records // 4]
    if large:
        sizes = ", ".join(f"{size:,}" for size in sorted(large))
        untried.append(Untried(f"clusters of {sizes}", "above a quarter of the records"))
    # The most important ones first, because a screen has few lines.
    lacking = {
        "attackers who know what items mean": inputs.relate is None and "no relate in a scenario",
        "4 known items": "3 are the most",
        "COAT": inputs.constraints is None and "no constraints",
        "diversity": not inputs.sensitive and "no sensitive items",
        "your hierarchy": not inputs.hierarchies and "none given",
    }
    return [*(Untried(name, reason) for name, reason in lacking.items() if reason), *untried]


NO_COUNTS, NO_RECORDS = 0.9, 0.99
"""The error from which no counts are left, and the share hidden from which a disassociated release has no records.

A generalised release may hide all of its items and still show labels.
"""


@dataclass(frozen=True)
class Tried:
    """A candidate and its figures. `attacks` are all that can run, or empty after the one of least cost alone.

    `sections` are those of the scenario that gave the figures.
    """

    candidate: Candidate
    figures: "Figures"
    sections: Config = field(default_factory=dict)
    attacks: Sequence[str] = ()
    run: int = 0
    """The run in the store."""

    @property
    def attacked(self) -> bool:
        """True if all attacks that can run were run."""
        return bool(self.attacks)

    @property
    def error(self) -> float:
        return self.figures["count_error"].value

    def exposed(self, known: int) -> "Ranged | None":
        """Return the people exposed with `known` items: after an attack, or by the release alone."""
        key = f"exposed_{known}"
        return self.figures.get(key, self.figures.get(f"{key}_release"))

    def states(self, criteria: Sequence["Criterion"]) -> "dict[str, State]":
        """Return the state of each criterion by its figure."""
        return {criterion.figure: criterion.state(self.figures) for criterion in criteria}

    def meets(self, criteria: Sequence["Criterion"]) -> bool:
        return all(state == "met" for state in self.states(criteria).values()) and not hides_everything(self)

    def costs(self, criteria: Sequence["Criterion"]) -> tuple[float, ...]:
        """Return what a better candidate has less of: the error, and each figure of a criterion in limits."""
        return (self.error, *(criterion.ratio(self.figures) for criterion in criteria))

    def distance(self, criteria: Sequence["Criterion"]) -> tuple[float, float]:
        """Return the largest figure in limits, then the error: the nearest candidate has the least."""
        return max(self.costs(criteria)[1:], default=0.0), self.error


def hides_everything(tried: Tried) -> bool:
    """Tell whether a release shows nothing that a reader could use."""
    hidden = tried.figures.get("hidden")
    split = tried.candidate.kind == "disassociation" and hidden is not None
    # Other forms show labels or counts, also where every item is hidden.
    return tried.error >= NO_COUNTS or (split and hidden is not None and hidden.value >= NO_RECORDS)


def dominates(one: Tried, other: Tried, criteria: Sequence["Criterion"]) -> bool:
    """Tell whether one candidate is at most as bad as another in every figure, and better in one."""
    costs, others = one.costs(criteria), other.costs(criteria)
    return all(a <= b for a, b in zip(costs, others, strict=True)) and costs != others


def undominated(tried: Sequence[Tried], criteria: Sequence["Criterion"]) -> list[Tried]:
    """Return the candidates that show something and are not dominated by another."""
    left = [one for one in tried if not hides_everything(one)]
    return [one for one in left if not any(dominates(other, one, criteria) for other in left)]


Differ = Callable[[Tried, Tried, int], bool]
"""Tells whether the errors of two candidates differ beyond chance, of so many pairs that are compared."""


def chosen(tried: Sequence[Tried], criteria: Sequence["Criterion"], differ: Differ) -> tuple[Tried | None, bool]:
    """Return the candidate to lead with, and whether it meets all criteria; None where each one hides everything.

    Candidates that meet all criteria come first, sorted by their error. Among errors that do not `differ` from the
    lowest, it is the candidate that exposes fewer people, then hides less, then has the plainer method. If none meets
    all criteria, the nearest one leads: its worst figure, in limits, is the smallest.
    """
    # A dominated candidate is never needed: another one is as good in everything.
    left = undominated(tried, criteria)
    meeting = [one for one in left if one.meets(criteria)]
    if meeting:
        first, *others = sorted(meeting, key=lambda one: one.error)
        # Errors within chance of each other say nothing, so that people decide.
        equal = [first, *(one for one in others if not differ(first, one, len(others)))]
        return min(equal, key=_among_equals), True
    if not left:
        return None, False
    return min(left, key=lambda one: one.distance(criteria)), False


def _among_equals(tried: Tried) -> tuple[float, float, int, float, str]:
    exposed = tried.exposed(3)
    hidden = tried.figures.get("hidden")
    return (
        0.0 if exposed is None else exposed.value,
        0.0 if hidden is None else hidden.value,
        PLAIN.index(tried.candidate.kind),
        tried.error,
        tried.candidate.name,
    )


def nearest_changes(lead: Tried, tried: Sequence[Tried]) -> list[Tried]:
    """Return the candidates that differ from the leading one in one setting."""
    own = lead.candidate.anonymise
    return [
        one
        for one in tried
        if one.candidate.anonymise.keys() == own.keys()
        and sum(one.candidate.anonymise[key] != own[key] for key in own) == 1
    ]
