"""What a rule file may say: one pydantic model per form. A key nothing here names is an error."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from decloak.errors import DecloakError

__all__ = [
    "AnyRule", "EliminateRule", "ItemsetsRule", "QueryRule", "ReassociateRule", "RuleTest", "TestCase", "is_path",
]  # fmt: skip

RuleName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,40}$", description="lower case, digits, underscores")]
Sql = Annotated[str, Field(min_length=1, max_length=20_000)]
Formula = Annotated[str | int | float, Field(description="a formula over the columns it may name")]


def is_path(rule: str) -> bool:
    """Whether a rule is named by its file, and not as one that comes with decloak."""
    return rule.endswith((".yaml", ".yml")) or "/" in rule


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class _Rule(_Model):
    rule: RuleName
    about: str = Field(min_length=1, description="what the rule does, the first sentence short enough for a list")
    reference: str | None = Field(None, description="where it was published")
    because: str = Field(min_length=1, description="the sentence that explains one finding; {column} is filled in")


class QueryRule(_Rule):
    """SQL over the graph in named steps, once or to a fixpoint."""

    form: Literal["query"]
    derives: str = Field(description="the relation it derives, with its columns: cover(cluster, item)")
    let: dict[RuleName, Sql] = Field(default_factory=dict, description="named steps, each may read those above it")
    facts: Sql | None = Field(None, description="the facts, one row each")
    start: Sql | None = Field(None, description="the facts of the first round")
    repeat: Sql | None = Field(None, description="further facts from `last_round` and those found so far")
    evidence: list[RuleName] = Field(default_factory=list, description="steps whose rows lie behind a fact")

    @model_validator(mode="after")
    def _once_or_repeated(self) -> "QueryRule":
        both = self.start is not None and self.repeat is not None
        if (self.facts is not None) == both or (self.start is None) != (self.repeat is None):
            raise DecloakError("a query gives its facts once or repeats", hint="write facts:, or start: and repeat:")
        return self


class EliminateRule(_Rule):
    """Strike members from generalised items by their distance to the context."""

    form: Literal["eliminate"]
    cells: Sql = Field(description="SELECT giving table, row, col, d and any further numeric columns")
    weigh: Formula = Field("d", description="the weighted distance of a cell")
    redistribute: Literal["none", "all", "lower_cluster"] = Field(
        "none", description="who shares the weight of a struck cell"
    )
    groups: list[Literal["table", "row", "col"]] = Field(description="which cells are compared with each other")
    suspicion: Formula = Field(description="largest, largest_gap, random, or a formula over w")
    threshold: Formula = Field("none", description="a formula taken once, before the first round, or none")
    strike: Literal["once", "all", "in_order", "heaviest", "coin"] = Field(description="what goes in a round")


class ReassociateRule(_Rule):
    """Give the sub-records and terms of a disassociated cluster to its records."""

    form: Literal["reassociate"]
    units: list[Literal["term", "subrecord"]] = Field(
        ["term", "subrecord"], min_length=1, description="the units `combine` is for; others go by the mean"
    )
    combine: Literal["mean", "upper_half", "best", "bayes"] | None = Field(
        None, description="how the scores of a unit with the items of an anchor make one value"
    )
    give: Literal["k - 1", "multiplicity"] = Field("k - 1", description="to how many records a term goes")
    match: Literal["best", "assignment", "random"] = Field(
        "best", description="each unit on its own, all sub-records of a chunk at once, or by chance"
    )
    consistent: bool = Field(False, description="rule out what the algorithm could not have published")


class ItemsetsRule(_Rule):
    """Count the supports of itemsets."""

    form: Literal["itemsets"]
    of: Sql = Field(description="SELECT giving the number of a set and an item of it: set, item")
    size: str = Field(pattern=r"^1\.\.(m|[1-9])$", description="how many items: 1..m")
    support: str = Field(pattern=r"^1\.\.(k-1|[1-9][0-9]*)$", description="in how many sets: 1..k-1")
    report: Literal["minimal", "all", "count"] = Field("minimal", description="which of them are findings")

    @property
    def open(self) -> tuple[str, ...]:
        """Which of k and m the rule leaves to the scenario."""
        return tuple(name for name, text in (("k", self.support), ("m", self.size)) if name in text)


AnyRule = Annotated[QueryRule | EliminateRule | ReassociateRule | ItemsetsRule, Field(discriminator="form")]


class Grid(_Model):
    """A distance table as rows of numbers under column names; null is unscored."""

    columns: list[str] = Field(min_length=1)
    rows: dict[str, list[float | None]] = Field(min_length=1)

    @model_validator(mode="after")
    def _even(self) -> "Grid":
        for name, values in self.rows.items():
            if len(values) != len(self.columns):
                raise DecloakError(f"row '{name}' has {len(values)} values for {len(self.columns)} columns")
        return self


class Settings(_Model):
    """What a scenario would set beside the rule's name."""

    threshold: float | None = None
    ratio: float = 1.0
    seed: int = 0
    k: int | None = None
    m: int | None = None


class TornCluster(_Model):
    """A cluster: how many records, the sub-records of its record chunks, its terms."""

    size: int
    chunks: list[list[list[str]]] = Field(default_factory=list)
    terms: list[str] = Field(default_factory=list)


class TestCase(_Model):
    """A tiny graph in, the expected findings out."""

    case: str = Field(description="what the case shows")
    given: dict[str, Grid | list[dict[str, str | int | float | None]]] = Field(
        default_factory=dict, description="relations and their rows"
    )
    clusters: list[TornCluster] = Field(default_factory=list, description="reassociate: the release")
    scores: list[tuple[str, str, float]] = Field(default_factory=list, description="reassociate: distances of items")
    settings: Settings = Field(default_factory=Settings, alias="with")
    expect: list[list[str] | dict[str, str | int | float | None]] = Field(
        description="eliminate: [row, column] in the order struck; others: the facts, in any order (reassociate: "
        "{cluster, chunk, unit, rows}, unit and rows as text)"
    )


class RuleTest(_Model):
    """The sibling test of a rule."""

    rule: RuleName
    cases: list[TestCase] = Field(min_length=1)
