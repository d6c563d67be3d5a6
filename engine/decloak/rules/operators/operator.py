"""The contract of a rule form, and the types that its operator works with.

An operator is one object for each form of rule files. decloak calls it in this order: `derives` and `compile` check a
rule file, `traits` says what a scenario must give the rule, `run` attacks, `confidence` and `coverage` rate
the findings, `write_views` makes the views that explain them in SQL, `earlier` lets other rules read them, `explain`
and `comparison` answer `decloak explain`. The defaults suit rules whose findings are facts of a relation of their own.
"""

import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar, get_args

from decloak.data.assignment import AssignmentList
from decloak.data.forms import FormName
from decloak.data.knowledge_levels import Control, KnowledgeLevel
from decloak.digest import digest
from decloak.errors import DecloakError, quote
from decloak.rules.because import nodes_named, sentence_sql
from decloak.rules.coverage import Confidence, Coverage
from decloak.rules.model import RuleModel, Settings, TestCase
from decloak.rules.operators.attacker_view import AttackerView, PortableInputs
from decloak.store import evidence, findings
from decloak.store.attackers_database import AttackersDatabase, Earlier
from decloak.store.evidence import Comparison, ScoredItem
from decloak.store.relations import COVER_COLUMNS, NODES, Derives, taken
from decloak.store.results import RunAttack
from decloak.store.sandbox import Derived, Sandbox
from decloak.yaml.source import Source

Model = TypeVar("Model", bound=RuleModel)
Compiled = TypeVar("Compiled")
Found = TypeVar("Found", bound="Result")

Value = str | int | float | bytes | None
"""A value of a column, as SQLite returns it."""

Writer = Callable[[sqlite3.Connection, int, int], None]
"""Writes the findings of an attack on a release, both given by their id."""


class Result(ABC):
    """Findings of a rule that are not written to the store yet."""

    notes: Sequence[str] = ()
    """Sentences that the run prints next to the findings."""
    in_files: int | None = None
    """The number of findings in files beside the store; None if the store has them."""

    @property
    def idle_reason(self) -> str | None:
        """Reason why the rule had nothing to work on; None if it worked, so that no finding is a result too."""
        return None

    def assigned(self) -> AssignmentList | None:
        """Return the assignments as the store will read them back; None where they have to be read."""
        return None

    def with_store_ids(self, rule: "Rule", database: AttackersDatabase) -> "Result":
        """Replace the ids of the attacker's `database` by ids of the store, for the findings of `rule`; return it."""
        return self

    @abstractmethod
    def write(self, connection: sqlite3.Connection, attack: int, release: int) -> None:
        """Write the findings of `attack` on `release`, both given by their id, through `connection`."""

    def writer(self) -> Writer:
        """Return a function that writes the findings; it carries no more than that, so processes can exchange it."""
        return self.write

    @abstractmethod
    def test_findings(self, case: TestCase) -> Sequence[tuple[str, ...]] | Sequence[dict[str, Value]]:
        """Return the findings as a test `case` expects them: members in order, or facts in any order."""


@dataclass(frozen=True)
class DerivedFacts(Result):
    """Facts of a relation that a rule derives."""

    derives: Derives
    facts: Sequence[Derived]

    def with_store_ids(self, rule: "Rule", database: AttackersDatabase) -> "Result":
        rows = database.numbering.facts(rule.nodes, self.derives.columns, (fact.values for fact in self.facts))
        try:
            numbered = [Derived(fact.round, row) for fact, row in zip(self.facts, rows, strict=True)]
        except DecloakError as error:
            # The error is at the key that names the relation.
            key = "derives" if rule.source.value.get("derives") else "rule"
            raise rule.source.error((key,), error.message, error.hint) from None
        return replace(self, facts=numbered)

    def write(self, connection: sqlite3.Connection, attack: int, release: int) -> None:
        findings.write_facts(connection, attack, self.derives.name, self.derives.columns, self.facts)

    def test_findings(self, case: TestCase) -> Sequence[dict[str, Value]]:
        return [dict(zip(self.derives.columns, fact.values, strict=True)) for fact in self.facts]


@dataclass(frozen=True)
class NotRun(DerivedFacts):
    """Empty findings of a rule that failed in a run that goes on without it, with the reason."""

    idle_reason: str = ""
    notes: Sequence[str] = ()


class ExplanationRequest(NamedTuple):
    """The attack, its rule, the record and the item to explain; `sentence_of` gives the sentence of a finding."""

    connection: sqlite3.Connection
    attack: RunAttack
    derives: Derives
    transaction: str
    item: str
    sentence_of: Callable[[int], str]
    model: RuleModel


@dataclass(frozen=True)
class Explanation:
    """The decision of one attack about one member in one transaction."""

    attack: str
    finding: int | None
    sentence: str
    d: float | None
    weight: float | None
    generalised: str
    contexts: tuple[ScoredItem, ...]

    def as_json(self) -> dict[str, object]:
        """Return the explanation as a value that `json` can write."""
        return asdict(self) | {"contexts": [context._asdict() for context in self.contexts]}


@dataclass(frozen=True)
class RuleTraits:
    """Properties of a rule that decide what a scenario must give it, and how decloak reads its findings."""

    is_random: bool = False
    """True if a seed decides the findings."""
    needs_relatedness: bool = False
    """True if the rule finds nothing without scores of relatedness."""
    ranks_by_probability: bool = False
    """True if the value that ranks a finding is the probability that the finding is right."""
    is_reference: bool = False
    """True for an upper bound from the same knowledge as another rule: an audit needs only one of the two."""
    learns_from_release: bool = False
    """True if the rule learns from what the release shows of its own items."""
    learns_from_plain_items: bool = False
    """True if the rule learns from items that the release publishes ungeneralised."""
    by_cluster: bool = False
    """True if what the rule finds in a cluster depends on no other cluster, but for scores of relatedness."""
    controls: tuple[Control, ...] = ()
    """Negative controls that the rule supports: the same attack with permuted training data."""
    accepted_settings: frozenset[str] = frozenset()
    """The settings of an attack that change the findings: of threshold, ratio, k and m."""
    extra_knowledge: frozenset[KnowledgeLevel] = frozenset()
    """Knowledge that the rule needs in addition to scores of relatedness and the release."""

    def required_knowledge(self, sources: frozenset[KnowledgeLevel]) -> frozenset[KnowledgeLevel]:
        """Return the knowledge levels that the rule needs; `sources` are the sources of relatedness."""
        # A rule that learns from the release also weighs the scores of relatedness, where there are any.
        # A random rule works on tables that are made of scores, and ignores the scores.
        uses_scores = (self.needs_relatedness or self.learns_from_release) and not self.is_random
        release = frozenset({KnowledgeLevel.RELEASE}) if self.learns_from_release else frozenset[KnowledgeLevel]()
        return (sources if uses_scores else frozenset[KnowledgeLevel]()) | release | self.extra_knowledge


@dataclass(frozen=True, eq=False)
class RuleOf(Generic[Model, Compiled, Found]):
    """A rule of one form: the content of its file, and the result of checking its SQL and formulas."""

    operator: "Operator[Model, Compiled, Found]"
    model: Model
    source: Source = field(repr=False)
    text: str = field(repr=False)
    path: str
    derives: Derives
    reads: frozenset[str] = frozenset()
    """The relations that the rule reads; empty before decloak has checked it."""
    compiled: Compiled = None  # type: ignore[assignment]  # set when the rule is checked, before anything runs it

    @property
    def name(self) -> str:
        return self.model.rule

    @property
    def digest(self) -> str:
        return digest(self.text)

    @property
    def is_random(self) -> bool:
        return self.model.is_random

    @cached_property
    def traits(self) -> RuleTraits:
        return self.operator.traits(self)

    @cached_property
    def nodes(self) -> Mapping[str, str]:
        """Columns of the derived relation that hold ids of nodes, each with the kind of its nodes.

        A column holds the nodes that its name says, unless the sentence of the rule names them as another kind.
        """
        nodes = {column: column for column in self.derives.columns if column in NODES}
        # Item numbers of the attacker's database differ from those of the store, so breaches need a translation.
        if COVER_COLUMNS.issubset(self.derives.columns):
            nodes["covered"] = "item"
        return nodes | nodes_named(self.model.because)

    def place(self, *loc: str) -> str:
        """Return the file and line of the key at `loc`, for error messages."""
        return self.source.location(loc)

    def because_sql(self, table: str) -> str:
        """Return the sentence as SQL over `table`, a table or view that has the columns it names."""
        return sentence_sql(self.model.because, self.operator.sentence_columns(self.derives), table)

    def require(self, key: str, columns: Sequence[str], required: Sequence[str]) -> None:
        """Raise an error at `key` if the `columns` of its SQL lack a `required` one."""
        missing = [column for column in required if column not in columns]
        if missing:
            hint = f"select ... as {missing[0]}; it gives {', '.join(map(quote, columns))}"
            raise self.source.error((key,), f"the SQL gives no column {quote(missing[0])}", hint)


Rule = RuleOf[Any, Any, Any]
"""A rule of any form."""


class Operator(ABC, Generic[Model, Compiled, Found]):
    """One form of rules.

    `Model` is what a rule file of the form contains, `Compiled` the result of checking it, `Found` its findings.
    """

    model: type[Model]
    columns: tuple[str, ...] = ()
    """Columns of the relation that a rule derives, under the rule's own name."""
    sentence: tuple[str, ...] | None = None
    """Columns that the sentence of a rule may name; None for the round and the columns it derives."""
    findings_table: str | None = None
    """View of the findings that the sentence is about; None for the facts themselves."""
    fits: frozenset[FormName] = frozenset(FormName)
    """Published forms that the rules can attack."""
    ordered_findings: bool = False
    """True if the test of a rule expects findings in the order in which the rule made them."""

    @property
    def form(self) -> str:
        """Name of the form in rule files."""
        return str(get_args(self.model.model_fields["form"].annotation)[0])

    def derives(self, model: Model, source: Source) -> Derives:
        """Return the relation that a rule derives for others; raise an error in `source` if the name is taken."""
        # A rule that derived a relation of the release would hide it from all other rules.
        if problem := taken(model.rule):
            raise source.error(("rule",), f"{quote(model.rule)} {problem}", "choose another name")
        return Derives(model.rule, self.columns)

    def sentence_columns(self, derives: Derives) -> tuple[str, ...]:
        """Return the columns that the sentence of a rule that `derives` a relation may name."""
        return ("round", *derives.columns) if self.sentence is None else self.sentence

    def findings_sql(self, derives: Derives) -> str:
        """Return the findings that the sentence is about, as a table expression; `derives` is their relation."""
        return evidence.facts_sql(derives.name) if self.findings_table is None else self.findings_table

    @abstractmethod
    def compile(self, rule: RuleOf[Model, Compiled, Found], sandbox: Sandbox) -> Compiled:
        """Check the SQL of `rule` in a `sandbox` without rows, and its choices; return what `run` needs."""

    def traits(self, rule: RuleOf[Model, Compiled, Found]) -> RuleTraits:
        """Return the properties of a checked `rule`."""
        return RuleTraits()

    def relations_read(self, rule: RuleOf[Model, Compiled, Found], view: AttackerView) -> frozenset[str]:
        """Return the relations that `run` queries in the attacker's database, in addition to what `view` gives."""
        return rule.reads

    def portable_inputs(self, rule: RuleOf[Model, Compiled, Found], view: AttackerView) -> PortableInputs | None:
        """Return all that `run` needs of `view` as plain values; None for a rule that queries the database."""
        return None

    def prepare(self, rule: RuleOf[Model, Compiled, Found], view: AttackerView) -> None:
        """Compute what several attacks on a release share into the cache of `view`, before processes are forked."""

    @abstractmethod
    def run(self, rule: RuleOf[Model, Compiled, Found], view: AttackerView, settings: Settings) -> Found:
        """Attack with `rule` what the `view` shows, under `settings`; return the findings."""

    def confidence(
        self, rule: RuleOf[Model, Compiled, Found], result: Found, view: AttackerView, settings: Settings
    ) -> Confidence:
        """Return the probability that each finding of `result` is right, estimated from the `view` of the attacker."""
        return Confidence.CERTAIN

    def coverage(self, rule: RuleOf[Model, Compiled, Found], result: Found, view: AttackerView) -> Coverage | None:
        """Return for how much of what `run` needed there was a score; None for a rule that uses no scores."""
        return None

    def earlier(
        self,
        rule: RuleOf[Model, Compiled, Found],
        connection: sqlite3.Connection,
        attack: int,
        database: AttackersDatabase,
    ) -> Earlier:
        """Return the findings of an `attack` that ran before, as a relation of `database` for other rules to read."""
        facts = (fact.values for fact in findings.read_facts(connection, attack, rule.derives))
        return Earlier(rule.derives, database.numbering.derived(rule.nodes, rule.derives.columns, facts))

    def write_views(self, connection: sqlite3.Connection, rule: RuleOf[Model, Compiled, Found]) -> None:
        """Create or replace the views of `rule`: each finding with its sentence, and further views of the form."""
        findings.write_why_derived(connection, rule.name, rule.digest, rule.derives.name, rule.because_sql("x"))

    def explain(self, request: ExplanationRequest) -> Iterator[Explanation]:
        """Yield the explanations of one attack for the item and transaction of `request`."""
        yield from ()

    def as_query(self, rule: RuleOf[Model, Compiled, Found]) -> str:
        """Return the text of a query rule that makes the same attack as `rule`."""
        raise DecloakError(f"the rule {quote(rule.name)} has no relational form", hint="show it without --sql")

    def comparison(self, connection: sqlite3.Connection, derives: Derives, finding: int) -> Comparison | None:
        """Return the alternatives that the attack rejected for `finding`; None where the store does not say."""
        return None
