"""Candidates: ways to publish that are tried, in the order of trying, and those not applicable, with the reason."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, product, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from decloak.digest import Config

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

    @property
    def plainness(self) -> int:
        return PLAIN.index(self.kind)


class Untried(NamedTuple):
    """A way that was not tried, and the reason."""

    name: str
    reason: str


class Inputs(NamedTuple):
    """The owner's inputs in addition to the data: hierarchies, and constraints of COAT, as paths.

    `sensitive` lists sensitive items. `relate` is the measure of relatedness in the scenario. `columns` are the columns
    of the data whose values are items. `readers` need records, counts, or any of the two.
    """

    hierarchies: Sequence[str] = ()
    constraints: str | None = None
    hierarchy_format: str = "paths"
    sensitive: Sequence[str] = ()
    relate: Any = None
    columns: Sequence[str] = ()
    readers: str = "any"


def candidates_for(records: int, inputs: Inputs) -> list[Candidate]:
    """List the candidates for so many records: one of every method comes before the second of any."""
    of_records = (
        _disassociated(records), _cut(inputs), _in_parts(), _coat(inputs), _suppressed(), _diverse(inputs),
    )  # fmt: skip
    lanes = [*(of_records if inputs.readers != "counts" else ()), *([_counts()] if inputs.readers != "records" else [])]
    return [candidate for candidate in chain.from_iterable(zip_longest(*lanes)) if candidate is not None]


def _disassociated(records: int) -> Iterator[Candidate]:
    for size in SIZES:
        for k in KS:
            if k <= size <= records // 4:
                settings = {
                    "method": "disassociation", "k": k, "m": 2, "max_cluster": size, "cover": "cure", "totals": True,
                }  # fmt: skip
                yield Candidate("disassociation", f"disassociation k = {k}, clusters of {size:,}", settings, "cover")


def _trees(inputs: Inputs) -> list[tuple[str, Config]]:
    """Return the hierarchies to generalise in, by their names."""
    given = [(Path(name).name, {"file": name, "format": inputs.hierarchy_format}) for name in inputs.hierarchies]
    related = [] if inputs.relate is None else [("relatedness", {"by": "relatedness", "relate": inputs.relate})]
    return [*given, *related, *((by, {"by": by}) for by in HIERARCHIES)]


def _cut(inputs: Inputs) -> Iterator[Candidate]:
    for k, m in BOUNDS:
        for name, tree in _trees(inputs):
            settings = {"method": "cut", "k": k, "m": m, "hierarchy": tree}
            yield Candidate("generalisation", f"cut k = {k}, m = {m}, by {name}", settings, FEW_RECORDS)


def _in_parts() -> Iterator[Candidate]:
    settings = {"method": "lra", "k": 5, "m": 2, "parts": PARTS, "hierarchy": {"by": "popularity"}}
    yield Candidate("generalisation", f"lra k = 5, m = 2, {PARTS} parts", settings, FEW_RECORDS)
    settings = {"method": "partition", "k": 5, "hierarchy": {"by": "popularity"}}
    yield Candidate("generalisation", "partition k = 5", settings, FEW_RECORDS)


def _diverse(inputs: Inputs) -> Iterator[Candidate]:
    for name, tree in _trees(inputs) if inputs.sensitive else ():
        settings = {"method": "diversity", "l": 3, "m": 2, "sensitive": list(inputs.sensitive), "hierarchy": tree}
        yield Candidate("generalisation", f"diversity l = 3, m = 2, by {name}", settings, FEW_RECORDS)


def _coat(inputs: Inputs) -> Iterator[Candidate]:
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


def not_applicable(records: int, inputs: Inputs) -> list[Untried]:
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
    lacking = {  # the most important ones first, because a screen has few lines
        "attackers who know what items mean": inputs.relate is None and "no relate in a scenario",
        "4 known items": "3 are the most",
        "COAT": inputs.constraints is None and "no constraints",
        "diversity": not inputs.sensitive and "no sensitive items",
        "your hierarchy": not inputs.hierarchies and "none given",
    }
    return [*(Untried(name, reason) for name, reason in lacking.items() if reason), *untried]
