"""Candidates: ways to publish that are tried, in the order of trying, and those not applicable, with the reason."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Any, NamedTuple

__all__ = ["Candidate", "Inputs", "Untried", "candidates_for", "not_applicable"]

KS, SIZES = (11, 5, 3), (1_000, 200, 50, 5_000)
BOUNDS = ((5, 3), (11, 3), (5, 2), (11, 2))
"""k and m of generalisation."""
HIERARCHIES = ("popularity", "cooccurrence")
PARTS = 10
COUNTS = ("itemsets", "synthetic")
"""The kinds of methods for readers who only count: they publish no record of a person."""
PLAIN = ("suppression", "generalisation", "disassociation", "coat", *COUNTS)
"""The kinds of methods, the plainest first: it wins where nothing else differs."""


@dataclass(frozen=True)
class Candidate:
    """A way to publish: what a scenario says under `anonymise`, and a rule that is attacked with at the least cost."""

    kind: str
    name: str
    anonymise: Mapping[str, Any]
    attack: str

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
    """The owner's inputs in addition to the data: hierarchies, and constraints of COAT, as paths."""

    hierarchies: Sequence[str] = ()
    constraints: str | None = None
    hierarchy_format: str = "paths"


def candidates_for(records: int, inputs: Inputs) -> list[Candidate]:
    """List the candidates for so many records: one of every method comes before the second of any."""
    lanes = (
        list(_disassociated(records)), list(_cut(inputs)), list(_in_parts()), list(_coat(inputs)),
        list(_suppressed()), list(_counts()),
    )  # fmt: skip
    return [candidate for candidate in chain.from_iterable(zip_longest(*lanes)) if candidate is not None]


def _disassociated(records: int) -> Iterator[Candidate]:
    for size in SIZES:
        for k in KS:
            if k <= size <= records // 4:
                settings = {
                    "method": "disassociation", "k": k, "m": 2, "max_cluster": size, "cover": "cure", "totals": True,
                }  # fmt: skip
                yield Candidate("disassociation", f"disassociation k = {k}, clusters of {size:,}", settings, "cover")


def _cut(inputs: Inputs) -> Iterator[Candidate]:
    trees: list[tuple[str, Mapping[str, str]]] = [(by, {"by": by}) for by in HIERARCHIES]
    trees = [*((name, {"file": name, "format": inputs.hierarchy_format}) for name in inputs.hierarchies), *trees]
    for k, m in BOUNDS:
        for name, tree in trees:
            settings = {"method": "cut", "k": k, "m": m, "hierarchy": tree}
            yield Candidate("generalisation", f"cut k = {k}, m = {m}, by {name}", settings, "km_violation")


def _in_parts() -> Iterator[Candidate]:
    settings = {"method": "lra", "k": 5, "m": 2, "parts": PARTS, "hierarchy": {"by": "popularity"}}
    yield Candidate("generalisation", f"lra k = 5, m = 2, {PARTS} parts", settings, "km_violation")


def _coat(inputs: Inputs) -> Iterator[Candidate]:
    for k in (5, 11) if inputs.constraints else ():
        settings = {"method": "coat", "k": k, "privacy": {"file": inputs.constraints}, "utility": "all"}
        yield Candidate("coat", f"coat k = {k}", settings, "km_violation")


def _suppressed() -> Iterator[Candidate]:
    settings = {"method": "suppression", "suppress": "items", "k": 5, "m": 2}
    yield Candidate("suppression", "suppression of items k = 5, m = 2", settings, "km_violation")


def _counts() -> Iterator[Candidate]:
    for k in (11, 5):
        settings = {"method": "itemsets", "k": k, "m": 3}
        yield Candidate("itemsets", f"table of itemsets, supports >= {k}", settings, "differenced")
    yield Candidate("synthetic", "synthetic records", {"method": "synthetic"}, "copies")


def not_applicable(records: int, inputs: Inputs) -> list[Untried]:
    """List the ways that do not apply, with the reason."""
    untried = []
    large = [size for size in SIZES if size > records // 4]
    if large:
        sizes = ", ".join(f"{size:,}" for size in sorted(large))
        untried.append(Untried(f"clusters of {sizes}", "above a quarter of the records"))
    if inputs.constraints is None:
        untried.append(Untried("COAT", "no constraints given"))
    if not inputs.hierarchies:
        untried.append(Untried("your hierarchy", "none given"))
    return untried
