"""What the sibling test of a rule may say, and how the findings of a case are compared with the expected ones."""

from collections.abc import Sequence
from typing import Any

from pydantic import Field, model_validator

from decloak.data.disassociated import Chunk, Cluster, Disassociated
from decloak.errors import DecloakError
from decloak.rules.model import Model, RuleName, Settings

__all__ = ["Grid", "RuleTest", "TestCase", "compare_facts", "compare_strikes", "joined"]


class Grid(Model):
    """A distance table as rows of numbers under column names; null is unscored."""

    columns: list[str] = Field(min_length=1)
    rows: dict[str, list[float | None]] = Field(min_length=1)

    @model_validator(mode="after")
    def _even(self) -> "Grid":
        for name, values in self.rows.items():
            if len(values) != len(self.columns):
                raise DecloakError(f"row '{name}' has {len(values)} values for {len(self.columns)} columns")
        return self


class CaseCluster(Model):
    """A cluster: how many records, the sub-records of its record chunks, its terms."""

    size: int
    chunks: list[list[list[str]]] = Field(default_factory=list)
    terms: list[str] = Field(default_factory=list)

    def published(self) -> Cluster:
        """The cluster as a release holds it."""
        chunks = tuple(
            Chunk(tuple(sorted({item for subrecord in chunk for item in subrecord})), tuple(map(tuple, chunk)))
            for chunk in self.chunks
        )
        return Cluster(self.size, chunks, tuple(self.terms))


class TestCase(Model):
    """A tiny graph in, the expected findings out."""

    case: str = Field(description="what the case shows")
    given: dict[str, Grid | list[dict[str, str | int | float | None]]] = Field(
        default_factory=dict, description="relations and their rows"
    )
    clusters: list[CaseCluster] = Field(default_factory=list, description="reassociate: the release")
    scores: list[tuple[str, str, float]] = Field(default_factory=list, description="reassociate: distances of items")
    settings: Settings = Field(default_factory=Settings, alias="with")
    expect: list[list[str] | dict[str, str | int | float | None]] = Field(
        description="eliminate: [row, column] in the order struck; others: the facts, in any order (reassociate: "
        "{cluster, chunk, unit, rows}, unit and rows as text)"
    )

    def release(self) -> Disassociated:
        """The disassociated release of the case."""
        return Disassociated(tuple(cluster.published() for cluster in self.clusters))

    def distances(self) -> dict[tuple[str, str], float | None]:
        """The scores of the case by pair."""
        return {(a, b): score for a, b, score in self.scores}


class RuleTest(Model):
    """The sibling test of a rule."""

    rule: RuleName
    cases: list[TestCase] = Field(min_length=1)


def compare_strikes(strikes: Sequence[tuple[str, ...]], expect: Sequence[Any]) -> str | None:
    """What is amiss with strikes, which are expected in this order; None where nothing is."""
    expected = [tuple(strike) for strike in expect]
    for number, (strike, other) in enumerate(zip(strikes, expected, strict=False), 1):
        if strike != other:
            return f"strike {number} is {joined(strike)}, expected {joined(other)}"
    if len(strikes) > len(expected):
        return f"{joined(strikes[len(expected)])} was struck as well"
    if len(expected) > len(strikes):
        return f"{joined(expected[len(strikes)])} was not struck"
    return None


def compare_facts(facts: Sequence[dict[str, Any]], expect: Sequence[Any], column: str) -> str | None:
    """What is amiss with facts, expected in any order; an expected fact may leave columns out."""
    rest = list(facts)
    for fact in sorted(expect, key=len, reverse=True):  # those that say most choose first
        if isinstance(fact, list):
            return f"write a fact as {{{column}: ...}}"
        match = next((one for one in rest if all(one.get(name) == value for name, value in fact.items())), None)
        if match is None:
            return f"{fact} was not found"
        rest.remove(match)
    return f"{rest[0]} was found as well" if rest else None


def joined(names: Sequence[Any]) -> str:
    """Names as a test writes them."""
    return ", ".join(map(str, names))
