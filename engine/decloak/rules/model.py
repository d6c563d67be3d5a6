"""Content of rule files that all forms share, and of the test file of a rule.

A form adds keys of its own in its operator; an unknown key is an error.

The relational form of a rule is the same attack as a query rule, which a user can read, run and change.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from textwrap import indent
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator

from decloak.arrays import Floats
from decloak.data.content import Chunk, Cluster
from decloak.data.disassociated import Disassociated
from decloak.data.knowledge_levels import Control
from decloak.digest import JsonObject
from decloak.errors import DecloakError, quote, suggest
from decloak.store.relations import Derives


@contextmanager
def with_location(place: str | None) -> Iterator[None]:
    """Add `place` to errors inside the context that have no location."""
    try:
        yield
    except DecloakError as error:
        # A place that the error has already is more exact.
        raise DecloakError(error.message, error.place or place, error.hint) from None


def check_choice(text: str, choices: tuple[Any, ...], place: str | None = None) -> Any:
    """Return `text` if it is one of `choices`; raise an error at `place` otherwise."""
    if text not in choices:
        hint = suggest(str(text), choices) or f"choices are {', '.join(choices)}"
        raise DecloakError(f"unknown choice {quote(text)}", place, hint)
    return text


RuleName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,40}$", description="lower case, digits, underscores")]
RuleId = Annotated[str, Field(pattern=r"^[a-z][a-z0-9]*(-[a-z0-9]+)+$", max_length=60, description="as decloak-0012")]
Status = Literal["experimental", "stable", "deprecated"]
Todo = Literal["miss", "false alarm"]
Sql = Annotated[str, Field(min_length=1, max_length=20_000)]
Formula = Annotated[str | int | float, Field(description="a formula over the columns it may name")]


def is_path(rule: str) -> bool:
    """Return True if `rule` names a file, and not a bundled rule."""
    return rule.endswith((".yaml", ".yml")) or "/" in rule


class Model(BaseModel):
    """A part of a rule file or of the test of a rule."""

    # An unknown key is an error, so that a misspelt key is not silently ignored.
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)


class Settings(Model):
    """Settings of a rule in a scenario; `seed` is for random rules, `k` and `m` for itemsets, `control` for rules that
    learn.
    """

    threshold: float | None = None
    ratio: float = 1.0
    seed: int = 0
    k: int | None = None
    m: int | None = None
    control: Control | None = None


REQUIRED = {
    "reference": "add such as reference: Smith (2020), section 3",
    "wrong_when": "add such as wrong_when: Few records have two known items.",
}
"""Keys that every rule file needs, with the remedy. Rule texts in older stores lack them."""


class RuleModel(Model):
    """Content of every rule file, whatever its form."""

    rule: RuleName
    id: RuleId | None = Field(None, description="a name that stays the same when the rule is renamed")
    status: Status = Field("experimental", description="stable: findings change only with a major version of the rule")
    about: str = Field(min_length=1, description="what the rule does, the first sentence short enough for a list")
    reference: str | None = Field(None, min_length=1, description="where it was published, or who wrote it")
    wrong_when: str | None = Field(None, min_length=1, description="when the attack misleads")
    related: list[RuleName] = Field(default_factory=list, description="rules to compare it with")
    because: str = Field(min_length=1, description="the sentence that explains one finding; {column} is filled in")
    form: str

    @property
    def is_random(self) -> bool:
        """True if a seed decides what the rule finds."""
        return False

    @property
    def steps(self) -> Mapping[str, str]:
        """The SQL of the named steps of a rule, in order."""
        return {}

    @property
    def evidence_steps(self) -> Sequence[str]:
        """The steps that have the evidence for a fact."""
        return ()


class Grid(Model):
    """A distance table as rows of numbers under column names; null is unscored."""

    columns: list[str] = Field(min_length=1)
    rows: dict[str, list[float | None]] = Field(min_length=1)

    @model_validator(mode="after")
    def _check_widths(self) -> "Grid":
        for name, values in self.rows.items():
            if len(values) != len(self.columns):
                raise DecloakError(f"row '{name}' has {len(values)} values for {len(self.columns)} columns")
        return self


class CaseCluster(Model):
    """A cluster in a test: its number of records, the sub-records of its record chunks, its terms."""

    size: int
    chunks: list[list[list[str]]] = Field(default_factory=list)
    terms: list[str] = Field(default_factory=list)

    def published(self) -> Cluster:
        """Return the cluster as a release has it."""
        chunks = tuple(
            Chunk(tuple(sorted({item for subrecord in chunk for item in subrecord})), tuple(map(tuple, chunk)))
            for chunk in self.chunks
        )
        return Cluster(self.size, chunks, tuple(self.terms))


class TestCase(Model):
    """A small graph with the expected findings."""

    case: str = Field(description="what the case shows")
    todo: Todo | None = Field(None, description="a known error of the rule: `expect` has the right result")
    relations: dict[str, Grid | list[dict[str, str | int | float | None]]] = Field(
        default_factory=dict, alias="given", description="relations and their rows"
    )
    clusters: list[CaseCluster] = Field(default_factory=list, description="reassociate: the release")
    scores: list[tuple[str, str, float]] = Field(default_factory=list, description="reassociate: distances of items")
    added: Grid | None = Field(None, description="eliminate with learn: the probabilities that members were added")
    settings: Settings = Field(default_factory=Settings, alias="with")
    expect: list[list[str] | dict[str, str | int | float | None]] = Field(
        description="eliminate: [row, column] in their order; others: the facts, in any order (reassociate: "
        "{cluster, chunk, unit, rows}, unit and rows as text)"
    )
    notes: list[str] | None = Field(None, description="the notes of the rule for the run, in their order")

    @property
    def kind(self) -> str:
        """Return what the case is about: a test, or a known error of the rule."""
        return "test" if self.todo is None else f"known {self.todo}"

    def release(self) -> Disassociated:
        """Return the disassociated release of the case."""
        return Disassociated(tuple(cluster.published() for cluster in self.clusters))

    def probabilities(self) -> dict[int, Floats]:
        """Return the probabilities of the case by the number of the table."""
        return {} if self.added is None else {0: np.array(list(self.added.rows.values()), float)}

    def distances(self) -> dict[tuple[str, str], float | None]:
        """Return the scores of the case by pair."""
        return {(a, b): score for a, b, score in self.scores}


class RuleTest(Model):
    """The test file of a rule."""

    rule: RuleName
    cases: list[TestCase] = Field(min_length=1)
    undecided: dict[str, str] = Field(
        default_factory=dict, description="clauses that no case can decide, each with the reason (--coverage)"
    )


def test_schema() -> JsonObject:
    """Return the JSON Schema of the test files of rules, for editors."""
    schema = RuleTest.model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "decloak rule test"}


def join_names(names: Iterable[object]) -> str:
    """Return `names` as a test file writes them."""
    return ", ".join(map(str, names))


class RelationalForm(NamedTuple):
    """An attack as SQL: named `steps`, and the SQL of the `facts` that it `derives`.

    An attack in rounds has a `state`: `start` makes it, and `repeat` makes the next one from `last_round`. `given` are
    relations that SQL cannot make, with their meaning. `because` explains a fact.
    """

    derives: Derives
    steps: Mapping[str, str]
    facts: str
    because: str
    state: Derives | None = None
    start: str = ""
    repeat: str = ""
    given: Mapping[str, str] = {}

    def text(self, model: RuleModel) -> str:
        """Return the form as the text of a query rule; `model` is the attack."""
        about, derives = f"The attack {model.rule} as SQL.", _signature(self.derives)
        head = {"rule": self.derives.name, "form": "query", "about": about, "reference": model.reference or "decloak",
                "wrong_when": model.wrong_when or f"As for {model.rule}.", "derives": derives}  # fmt: skip
        lines = [f"# Given: {meaning}" for meaning in self.given.values()]
        # A JSON string is a YAML string too, whatever characters the rule has in it.
        lines += [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in head.items()]
        lines += ["let:", *(f"  {name}: |\n{indent(sql, '    ')}" for name, sql in self.steps.items())]
        if self.state is not None:
            lines += [f"state: {_signature(self.state)}", _block("start", self.start), _block("repeat", self.repeat)]
        return "\n".join([*lines, _block("facts", self.facts), f"because: {json.dumps(self.because)}"])


def _signature(derives: Derives) -> str:
    return f"{derives.name}({', '.join(derives.columns)})"


def _block(key: str, sql: str) -> str:
    return f"{key}: |\n{indent(sql, '  ')}"
