"""What an operator is: one object per form of rule files, which knows all that differs between the forms.

An operator is asked in this order: `derives` and `compile` check a rule file, `heeds`, `fits`, `by_chance` and
`by_relatedness` say what a scenario must give it, `run` attacks, its result is written, `write_views` says why in
SQL, `show` lets other rules read the findings, `explain` and `evidence_steps` answer `decloak explain`. What stands
in the base class is what holds of rules whose findings are facts of a relation of their own.
"""

import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Generic, TypeVar, get_args

from decloak.data.assignment import Closer
from decloak.data.disassociated import Disassociated
from decloak.data.forms import FormName
from decloak.digest import digest
from decloak.errors import shown
from decloak.rules.because import sentence_sql
from decloak.rules.cases import TestCase, compare_facts
from decloak.rules.model import RuleModel, Settings
from decloak.store import evidence, findings
from decloak.store.derivation import Derived
from decloak.store.evidence import Context
from decloak.store.relations import Derives
from decloak.store.results import RunAttack
from decloak.store.sandbox import Sandbox
from decloak.yaml.source import Source

__all__ = ["CheckedRule", "Explanation", "Facts", "Operator", "Result", "Rule", "RuleText", "Sight"]

ModelT = TypeVar("ModelT", bound=RuleModel)
CompiledT = TypeVar("CompiledT")


@dataclass(frozen=True)
class Sight:
    """What an attack may see; the release and the scores are read only by an attack that calls for them.

    The scores are of pairs of items, `closer` says whether smaller or larger ones are of closer items.
    """

    sandbox: Sandbox
    release: Callable[[], Disassociated] = lambda: Disassociated(())
    scores: Callable[[], Mapping[tuple[str, str], float | None]] = dict
    closer: Closer = "smaller"


class Result(ABC):
    """What a rule found, not yet written anywhere."""

    @abstractmethod
    def write(self, connection: sqlite3.Connection, attack: int, release: int) -> None:
        """Write it as the findings of an attack on a release, both given by number."""

    @abstractmethod
    def fault(self, case: TestCase) -> str | None:
        """What a case of the rule's test finds amiss with it, None where the case passes."""


@dataclass(frozen=True)
class Facts(Result):
    """Facts of a relation that a rule derives."""

    derives: Derives
    facts: Sequence[Derived]

    def write(self, connection: sqlite3.Connection, attack: int, release: int) -> None:
        findings.write_facts(connection, attack, self.derives.name, self.derives.columns, self.facts)

    def fault(self, case: TestCase) -> str | None:
        columns = self.derives.columns
        facts = [dict(zip(columns, fact.values, strict=True)) for fact in self.facts]
        return compare_facts(facts, case.expect, columns[0])


@dataclass(frozen=True)
class Explanation:
    """What one attack made of one member in one transaction."""

    attack: str
    finding: int | None
    sentence: str
    d: float | None
    weight: float | None
    generalised: str
    contexts: tuple[Context, ...]

    def as_json(self) -> dict[str, Any]:
        """It as plain values."""
        return asdict(self) | {"contexts": [context._asdict() for context in self.contexts]}


@dataclass(frozen=True, eq=False)
class RuleText(Generic[ModelT, CompiledT]):
    """A rule as its text says it; its SQL and formulas are not checked yet."""

    operator: "Operator[ModelT, CompiledT]"
    model: ModelT
    source: Source = field(repr=False)
    text: str = field(repr=False)
    path: str
    derives: Derives

    @property
    def name(self) -> str:
        return self.model.rule

    @property
    def digest(self) -> str:
        return digest(self.text)

    def place(self, *loc: str) -> str:
        """Where a key is written."""
        return self.source.place(loc)

    def because_sql(self, table: str) -> str:
        """The sentence as SQL over a table or view that has the columns it names."""
        return sentence_sql(self.model.because, self.operator.sentence_columns(self.derives), table)

    def require(self, key: str, columns: Sequence[str], required: Sequence[str]) -> None:
        """Refuse SQL whose columns lack a required one."""
        missing = [column for column in required if column not in columns]
        if missing:
            hint = f"select ... as {missing[0]}; it gives {', '.join(map(shown, columns))}"
            raise self.source.error((key,), f"the SQL gives no column {shown(missing[0])}", hint)


@dataclass(frozen=True, eq=False)
class CheckedRule(RuleText[ModelT, CompiledT]):
    """A rule whose SQL and formulas are sound: the relations it reads, and what its operator made of it."""

    reads: frozenset[str]
    compiled: CompiledT

    @property
    def random(self) -> bool:
        """Whether it goes by chance, so that a seed decides what it finds."""
        return self.operator.by_chance(self)


Rule = CheckedRule[Any, Any]
"""A checked rule of any form."""


class Operator(ABC, Generic[ModelT, CompiledT]):
    """One form of rules."""

    model: type[ModelT]
    """What a rule file of the form may say."""
    columns: tuple[str, ...] = ()
    """What a rule derives, under its own name."""
    fits: frozenset[FormName] = frozenset(FormName)
    """The published forms it can attack."""

    @property
    def form(self) -> str:
        """What a rule file calls the form."""
        return str(get_args(self.model.model_fields["form"].annotation)[0])

    def derives(self, model: ModelT, source: Source) -> Derives:
        """The relation that a rule gives to others, refused where it cannot be one."""
        return Derives(model.rule, self.columns)

    def sentence_columns(self, derives: Derives) -> tuple[str, ...]:
        """What the sentence of a rule may name."""
        return ("round", *derives.columns)

    @abstractmethod
    def compile(self, rule: RuleText[ModelT, CompiledT], sandbox: Sandbox) -> CompiledT:
        """Check the SQL of a rule in a sandbox without rows, and its choices; what comes of it is for `run`."""

    def by_chance(self, rule: CheckedRule[ModelT, CompiledT]) -> bool:
        """Whether a seed decides what a rule finds."""
        return False

    def by_relatedness(self, rule: CheckedRule[ModelT, CompiledT]) -> bool:
        """Whether a rule finds nothing where nobody says how items are related."""
        return False

    def heeds(self, rule: CheckedRule[ModelT, CompiledT]) -> frozenset[str]:
        """The settings of an attack that a rule takes notice of: of threshold, ratio, k and m."""
        return frozenset()

    @abstractmethod
    def run(self, rule: CheckedRule[ModelT, CompiledT], sight: Sight, settings: Settings) -> Result:
        """Attack."""

    def show(self, sandbox: Sandbox, attack: int, derives: Derives) -> None:
        """Let a rule read what an earlier attack found."""
        findings.show_facts(sandbox, attack, derives)

    def findings_sql(self, derives: Derives) -> str:
        """The findings that the sentence is about, as a table expression."""
        return evidence.facts_sql(derives.name)

    def write_views(self, connection: sqlite3.Connection, rule: CheckedRule[ModelT, CompiledT]) -> None:
        """(Re)make the views of a rule: each finding with its sentence, and what else is worth seeing."""
        findings.write_why_derived(connection, rule.name, rule.digest, rule.derives.name, rule.because_sql("x"))

    def explain(
        self, connection: sqlite3.Connection, attack: RunAttack, transaction: str, item: str, say: Callable[[int], str]
    ) -> Iterator[Explanation]:
        """Why an attack found something of an item in a transaction, or not; `say` gives a finding's sentence."""
        yield from ()

    def evidence_steps(self, model: ModelT) -> Sequence[str]:
        """The steps whose rows lie behind a fact."""
        return ()

    def retrace(self, model: ModelT, sandbox: Sandbox) -> None:
        """Make the steps of a rule again."""
