"""A family of measures: its figures in words, its settings, the releases it fits, and its function.

A module of this folder has one beside its function, and `registry` lists them. Scenario keys, columns of tables and
help texts are derived from it.
"""

import sqlite3
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Generic, NamedTuple, TypeVar

from decloak.arrays import Floats
from decloak.data.assignment import AssignmentList
from decloak.data.dataset import Dataset
from decloak.data.formats.folder import Folder
from decloak.data.forms import FormName
from decloak.figures import Metric
from decloak.releases.stored import StoredRelease
from decloak.store.assigned import probabilities, read_assigned
from decloak.store.findings import idle
from decloak.store.relations import ELIMINATION_COLUMNS, Derives
from decloak.yaml.section import ConfigSection

POOLED = -1
"""The scope of a figure that pools all tables."""

MetricValue = tuple[int, str, float | None, float | None, float | None]
"""Scope, name, value, and the counts above and below the line of a ratio."""

MetricResult = tuple[list[MetricValue], str | None]
"""Figures, and why some are missing."""


class SlowValue(NamedTuple):
    """A small value that takes long to compute: `kept` has it at `key` once it is computed."""

    kept: dict[str, Any]
    key: str
    compute: Callable[[], object]

    @classmethod
    def of(cls, owner: object, *names: str) -> list["SlowValue"]:
        """Return the cached properties of `owner` with these names."""
        return [cls(vars(owner), name, partial(getattr, owner, name)) for name in names]


SETS = frozenset({FormName.SET_GENERALISED, FormName.GENERALISED, FormName.DISTANCES})
"""The forms whose records show generalised items."""

CHUNKS = frozenset({FormName.DISASSOCIATED})
"""The form whose records are split into chunks."""


@dataclass(frozen=True)
class Family:
    """Figures that are measured together.

    `measure` takes an `AttackResult` and the settings by name. `rule_forms` are the forms of rules whose findings it
    measures, None for any; `columns` are the columns that it needs in their relation. A family with `eliminates`
    measures every rule that eliminates members, also by the facts of a query. A family `of_release` has equal figures
    for all attacks. One that `depends_on_knowledge` is measured for each attacker. Each run measures a family that is
    `always_measured`, and a scenario lists it only for its settings. If the scenario lists none, a run measures those
    `by_default`. A family shown with `ways_in_columns` has a line per figure, with its ways side by side.
    `slow_values` takes what `measure` takes, and returns values of the release that serve every attack on it.
    """

    name: str
    about: str
    metrics: tuple[Metric, ...]
    measure: Callable[..., MetricResult]
    fits: frozenset[FormName]
    settings: type[ConfigSection] | None = None
    rule_forms: frozenset[str] | None = None
    eliminates: bool = False
    columns: frozenset[str] = frozenset()
    of_release: bool = False
    depends_on_knowledge: bool = False
    always_measured: bool = False
    by_default: bool = False
    ways_in_columns: bool = False
    slow_values: Callable[..., Sequence[SlowValue]] = lambda attacked, **settings: ()

    @property
    def lines(self) -> dict[str, dict[str, Metric]]:
        """Return the metric of each way by the ending of its key, for each key in the dictionary."""
        lines: dict[str, dict[str, Metric]] = {}
        for metric in self.metrics:
            lines.setdefault(metric.base, {})[metric.way] = metric
        return lines

    @property
    def required_settings(self) -> tuple[str, ...]:
        fields = {} if self.settings is None else self.settings.model_fields
        return tuple(name for name, field in fields.items() if field.is_required())

    @property
    def files(self) -> tuple[str, ...]:
        return () if self.settings is None else self.settings.FILES

    @property
    def depends_on_attack(self) -> bool:
        """Return whether it measures some attacks only."""
        return bool(self.rule_forms or self.columns or self.of_release)

    def blank_undefined(self, figures: Sequence[MetricValue]) -> list[MetricValue]:
        """Return the figures without the values that an idle attack cannot have: a zero would look like safety."""
        of_release = {metric.key for metric in self.metrics if metric.of_release}
        return [
            (scope, name, value if name in of_release else None, part, whole)
            for scope, name, value, part, whole in figures
        ]

    def applies_to(self, rule_form: str, columns: Collection[str]) -> bool:
        """Return whether it measures the findings of a rule, given by its form and the columns of its relation."""
        if self.eliminates:
            return rule_form == "eliminate" or ELIMINATION_COLUMNS.issubset(columns)
        return (self.rule_forms is None or rule_form in self.rule_forms) and self.columns.issubset(columns)


Held = TypeVar("Held", bound=StoredRelease, covariant=True)
Value = TypeVar("Value")


class SharedValues:
    """Values of one original data set, which its releases share; those of another data set replace them."""

    def __init__(self) -> None:
        self._original: Dataset | None = None
        self._values: dict[object, object] = {}

    def of(self, original: Dataset, work_out: Callable[[Dataset], Value]) -> Value:
        """Return the result of `work_out` for `original`, computed once for equal functions."""
        # Values of one data set at a time bound the memory.
        if self._original is not original:
            self._original, self._values = original, {}
        if work_out not in self._values:
            self._values[work_out] = work_out(original)
        return self._values[work_out]  # type: ignore[return-value]


@dataclass(frozen=True)
class AttackResult(Generic[Held]):
    """An attack of a number: what its rule derives, the release it was on, and where files of settings are."""

    connection: sqlite3.Connection
    number: int
    derives: Derives
    release: Held
    folder: Folder
    control: Callable[[], Dataset | None] = lambda: None
    """Truth: the records of people who are not in the data, where the scenario names a control."""
    listed: Collection[str] = ()
    """The families that the scenario lists: of others no figure is missed."""
    exclusive: Sequence[str] = ()
    """The columns of the data whose values are items, such as `sex=f`: two items of one column exclude each other."""
    assigned: AssignmentList | None = None
    """The assignments, while the attack still has them."""
    p: Floats | None = None
    """The probabilities of its findings, if there are assignments."""
    shared: SharedValues = field(default_factory=SharedValues)
    """Values of the original data, which other releases share."""

    @cached_property
    def idle(self) -> str | None:
        """Return why it had nothing to do, or None."""
        return idle(self.connection, self.number)

    @property
    def digest(self) -> str:
        """Return the key of its stage, which names the files of its findings."""
        return str(self.connection.execute("select digest from attack where id = ?", (self.number,)).fetchone()[0])

    @cached_property
    def assignments(self) -> AssignmentList:
        return read_assigned(self.connection, self.number) if self.assigned is None else self.assigned

    @cached_property
    def probabilities(self) -> Floats | None:
        """Return the probability of each finding, NaN where it is not known; None where the attack gives none."""
        return probabilities(self.connection, self.number) if self.assigned is None else self.p


Attacked = AttackResult[StoredRelease]
"""The result of an attack on a release of any form."""
